#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eplb/core/result.hpp"

namespace eplb::placement {

/// What stands behind a policy's name, "key=value,key=value". Readers take what they know; `finish`
/// tells what was wrong.
class PolicyOptions {
 public:
  /// kInvalidArgument if a part is not "key=value" or a key comes twice.
  [[nodiscard]] static Result<PolicyOptions> parse(std::string_view policy, std::string_view text);

  /// Sets `target` if the option is given.
  void read_number(std::string_view key, double min, double max, double& target);
  void read_count(std::string_view key, std::int32_t min, std::int32_t max, std::int32_t& target);

  /// Sets `target` to the place of the word that the option is.
  void read_word(std::string_view key, std::span<const std::string_view> words,
                 std::size_t& target);

  /// kInvalidArgument with the first option that no reader knew, or whose value was out of range.
  [[nodiscard]] Result<void> finish() const;

 private:
  explicit PolicyOptions(std::string_view policy) : policy_(policy) {}

  /// The option's value, taken off the unread ones; none if it is not given.
  [[nodiscard]] std::optional<std::string> take(std::string_view key);
  void note_problem(std::string_view key, std::string_view value, const std::string& rule);

  std::string policy_;
  std::vector<std::pair<std::string, std::string>> unread_;
  std::vector<std::string> known_;
  std::string problem_;
};

}  // namespace eplb::placement
