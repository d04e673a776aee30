#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "eplb/core/communicator.hpp"
#include "eplb/core/options.hpp"
#include "eplb/core/result.hpp"

namespace eplb {

/// Far beyond any EP group, and small enough that no count of slots overflows.
inline constexpr std::int32_t kMaxRanks = 1 << 12;

inline constexpr std::int32_t kMaxCommitLeadSteps = 32;
inline constexpr double kMaxDeadlineMs = 1e7;
inline constexpr double kMaxCopyRateGbPerS = 1e5;
inline constexpr double kMaxTriggerPrice = 1e9;

/// One thing that is wrong with the options of a group.
struct OptionProblem {
  /// As a configuration spells them, `eplb.communicator` or `parallel.scale[0].ranks`: the one that
  /// the message is about, then the others that it depends on.
  std::vector<std::string> keys;
  std::string message;  ///< What is wrong, then what is allowed.
};

/// All that is wrong with a balancer's options in this group, and with how the group is spread. The
/// conditions are vLLM's (eplb-semantics 6.2), except that serving while weights move takes any
/// policy and that redundancy without a balancer is none rather than an error; and those of our own
/// options. Whether slots divide over ranks is for `validate` of the shape to say: what needs slots
/// is passed over where they do not.
[[nodiscard]] std::vector<OptionProblem> option_problems(const EplbOptions& options,
                                                         const EplbGroup& group);

/// kInvalidConfig with all of option_problems, or kInvalidArgument if the shape is illegal.
[[nodiscard]] Result<void> validate(const EplbOptions& options, const EplbGroup& group);

}  // namespace eplb
