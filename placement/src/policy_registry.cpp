#include "eplb/placement/policy_registry.hpp"

#include <algorithm>
#include <utility>

#include "eplb/placement/registry.hpp"

namespace eplb::placement {
namespace {

bool is_built_in(std::string_view name) {
  return std::ranges::find(policy_names(), name) != policy_names().end();
}

}  // namespace

Result<void> PolicyRegistry::add(std::string name, Factory factory) {
  if (name.empty() || name.find_first_of(":,= ") != std::string::npos) {
    return fail(
        ErrorCode::kInvalidArgument,
        "a policy's name must be a word without colon, comma and equals sign, got '" + name + "'");
  }
  if (is_built_in(name) || added_.contains(name)) {
    return fail(ErrorCode::kInvalidArgument, "there is a policy '" + name + "' already");
  }
  added_.emplace(std::move(name), std::move(factory));
  return {};
}

std::vector<std::string> PolicyRegistry::names() const {
  std::vector<std::string> names(policy_names().begin(), policy_names().end());
  for (const auto& [name, factory] : added_) {
    names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

Result<std::unique_ptr<PlacementPolicy>> PolicyRegistry::make(std::string_view spec) const {
  const std::size_t colon = std::min(spec.find(':'), spec.size());
  const std::string_view name = spec.substr(0, colon);
  if (is_built_in(name)) {
    return make_policy(spec);
  }
  if (const auto found = added_.find(name); found != added_.end()) {
    return found->second(spec.substr(std::min(colon + 1, spec.size())));
  }
  std::string message = "unknown policy '" + std::string(name) + "', allowed are";
  std::string_view before = " ";
  for (const std::string& allowed : names()) {
    message += std::string(before) + allowed;
    before = ", ";
  }
  return fail(ErrorCode::kInvalidArgument, message);
}

}  // namespace eplb::placement
