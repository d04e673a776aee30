#include "eplb/placement/registry.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "deepseek_policy.hpp"
#include "default_policy.hpp"
#include "linear_policy.hpp"
#include "trtllm_policy.hpp"

namespace eplb::placement {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<PlacementPolicy> (*make)();
};

template <typename Policy>
constexpr Entry entry() {
  return {Policy::kName,
          []() -> std::unique_ptr<PlacementPolicy> { return std::make_unique<Policy>(); }};
}

constexpr std::array kEntries{entry<DeepseekPolicy>(), entry<DefaultPolicy>(),
                              entry<LinearPolicy>(), entry<TrtllmPolicy>()};

constexpr auto kNames = [] {
  std::array<std::string_view, kEntries.size()> names;
  std::ranges::transform(kEntries, names.begin(), &Entry::name);
  return names;
}();

}  // namespace

std::span<const std::string_view> policy_names() {
  return kNames;
}

Result<std::unique_ptr<PlacementPolicy>> make_policy(std::string_view name) {
  const auto found = std::ranges::find(kEntries, name, &Entry::name);
  if (found != kEntries.end()) {
    return found->make();
  }
  std::string message = "unknown policy '" + std::string(name) + "', allowed are";
  for (const std::string_view allowed : kNames) {
    message += (allowed == kNames.front() ? " " : ", ") + std::string(allowed);
  }
  return fail(ErrorCode::kInvalidArgument, message);
}

}  // namespace eplb::placement
