#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "eplb/core/policy.hpp"
#include "eplb/core/result.hpp"

namespace eplb::placement {

/// Policies by name: those of this library, and what its user adds. A value; whoever makes policies
/// from text is handed one.
class PolicyRegistry {
 public:
  /// Makes a policy from what stands behind its name and the colon; PolicyOptions reads
  /// "key=value,...". kInvalidArgument with what is wrong.
  using Factory = std::function<Result<std::unique_ptr<PlacementPolicy>>(std::string_view options)>;

  /// kInvalidArgument if the name is empty, taken, or has one of ":,=" or a space in it.
  [[nodiscard]] Result<void> add(std::string name, Factory factory);

  /// Ascending.
  [[nodiscard]] std::vector<std::string> names() const;

  /// As make_policy, of all names.
  [[nodiscard]] Result<std::unique_ptr<PlacementPolicy>> make(std::string_view spec) const;

 private:
  std::map<std::string, Factory, std::less<>> added_;
};

}  // namespace eplb::placement
