#include "eplb/placement/registry.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "deepseek_policy.hpp"
#include "default_policy.hpp"
#include "eplb/placement/policy_options.hpp"
#include "flash_policy.hpp"
#include "linear_policy.hpp"
#include "local_first_policy.hpp"
#include "newest_parts_policy.hpp"
#include "robust_policy.hpp"
#include "snake_policy.hpp"
#include "static_policy.hpp"
#include "swift_policy.hpp"
#include "trtllm_policy.hpp"

namespace eplb::placement {
namespace {

using PolicyPointer = std::unique_ptr<PlacementPolicy>;

/// Far more than any window has.
constexpr std::int32_t kPartsMax = 1024;

enum class Purpose : std::uint8_t { kServing, kResearch };

struct Entry {
  std::string_view name;
  PolicyPointer (*make)(PolicyOptions& options);  ///< Reads the options that the policy has.
  Purpose purpose = Purpose::kServing;
};

template <typename Policy>
PolicyPointer make_plain(PolicyOptions&) {
  return std::make_unique<Policy>();
}

template <typename Policy>
PolicyPointer make_windowed(PolicyOptions& options) {
  std::int32_t windows = kPartsMax;
  options.read_count("windows", 1, kPartsMax, windows);
  PolicyPointer policy = std::make_unique<Policy>();
  return windows == kPartsMax ? std::move(policy)
                              : std::make_unique<NewestPartsPolicy>(std::move(policy), windows);
}

PolicyPointer make_flash(PolicyOptions& options) {
  FlashOptions chosen;
  options.read_number("risk", 0, 10, chosen.risk);
  options.read_count("groups", 1, 64, chosen.groups);
  options.read_count("reach", 0, 1024, chosen.reach);
  return std::make_unique<FlashPolicy>(chosen);
}

PolicyPointer make_swift(PolicyOptions& options) {
  std::int32_t even_shares = 0;
  options.read_count("even_shares", 0, 1, even_shares);
  return std::make_unique<SwiftPolicy>(even_shares == 1 ? SwiftShares::kEven
                                                        : SwiftShares::kPublished);
}

PolicyPointer make_robust_with(std::string_view name, RobustOptions chosen,
                               PolicyOptions& options) {
  options.read_number("price", 0, 1, chosen.price);
  options.read_number("rank_price", 0, 1, chosen.rank_price);
  options.read_number("second_price", 0, 1, chosen.second_price_share);
  options.read_count("directions", 0, kDirectionsMax, chosen.scenarios.direction_count);
  options.read_number("reach", 0, 100, chosen.scenarios.reach);
  options.read_count("history", 1, kPartsMax, chosen.scenarios.history_parts);
  options.read_count("fresh_starts", 0, kFreshStartsMax, chosen.fresh_starts);
  constexpr std::array<std::string_view, 3> kObjectives{"tokens", "cost", "auto"};
  auto objective = static_cast<std::size_t>(chosen.objective);
  options.read_word("objective", kObjectives, objective);
  chosen.objective = static_cast<Objective>(objective);
  options.read_number("step_tokens", 0, 1e9, chosen.step_tokens);
  options.read_number("topology", 0, 10, chosen.topology_price);
  options.read_number("max_moved", 0, 1, chosen.max_moved_share);
  return std::make_unique<RobustPolicy>(name, chosen);
}

constexpr std::string_view kFrugal = "frugal";
constexpr std::string_view kRobust = "robust";

PolicyPointer make_frugal(PolicyOptions& options) {
  return make_robust_with(kFrugal, frugal_options(), options);
}

PolicyPointer make_robust(PolicyOptions& options) {
  return make_robust_with(kRobust, {}, options);
}

constexpr std::array kEntries{
    Entry{DeepseekPolicy::kName, &make_windowed<DeepseekPolicy>},
    Entry{DefaultPolicy::kName, &make_windowed<DefaultPolicy>},
    Entry{FlashPolicy::kName, &make_flash, Purpose::kResearch},
    Entry{kFrugal, &make_frugal},
    Entry{LinearPolicy::kName, &make_plain<LinearPolicy>},
    Entry{LocalFirstPolicy::kName, &make_windowed<LocalFirstPolicy>, Purpose::kResearch},
    Entry{kRobust, &make_robust},
    Entry{SnakePolicy::kName, &make_windowed<SnakePolicy>, Purpose::kResearch},
    Entry{StaticPolicy::kName, &make_windowed<StaticPolicy>, Purpose::kResearch},
    Entry{SwiftPolicy::kName, &make_swift, Purpose::kResearch},
    Entry{TrtllmPolicy::kName, &make_windowed<TrtllmPolicy>}};

constexpr auto kNames = [] {
  std::array<std::string_view, kEntries.size()> names;
  std::ranges::transform(kEntries, names.begin(), &Entry::name);
  return names;
}();

}  // namespace

std::span<const std::string_view> policy_names() {
  return kNames;
}

bool is_for_research(std::string_view name) {
  const auto found = std::ranges::find(kEntries, name, &Entry::name);
  return found != kEntries.end() && found->purpose == Purpose::kResearch;
}

Result<std::unique_ptr<PlacementPolicy>> make_policy(std::string_view spec) {
  const std::size_t colon = std::min(spec.find(':'), spec.size());
  const std::string_view name = spec.substr(0, colon);
  const auto found = std::ranges::find(kEntries, name, &Entry::name);
  if (found == kEntries.end()) {
    std::string message = "unknown policy '" + std::string(name) + "', allowed are";
    for (const std::string_view allowed : kNames) {
      message += (allowed == kNames.front() ? " " : ", ") + std::string(allowed);
    }
    return fail(ErrorCode::kInvalidArgument, message);
  }
  auto options = PolicyOptions::parse(name, spec.substr(std::min(colon + 1, spec.size())));
  if (!options) {
    return tl::unexpected(std::move(options).error());
  }
  PolicyPointer policy = found->make(*options);
  if (auto read = options->finish(); !read) {
    return tl::unexpected(std::move(read).error());
  }
  return policy;
}

}  // namespace eplb::placement
