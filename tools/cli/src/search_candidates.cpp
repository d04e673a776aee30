#include "search_candidates.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "eplb/core/digest.hpp"
#include "eplb/placement/registry.hpp"
#include "eplb/placement/search/space.hpp"
#include "policies.hpp"
#include "yaml_to_json.hpp"

namespace eplb::cli {
namespace {

constexpr std::string_view kPolicyKey = "eplb.policy";
constexpr std::string_view kPolicyOption = "policy.";

/// The text of a YAML scalar; a list or mapping as it is written.
std::string plain_text(const std::string& yaml) {
  const nlohmann::ordered_json json = yaml_to_json(yaml);
  return json.is_string() ? json.get<std::string>() : yaml;
}

bool is_policy_option(const Setting& setting) {
  return setting.key.starts_with(kPolicyOption);
}

std::string with_option(const std::string& policy, const Setting& option) {
  return fmt::format("{}{}{}={}", policy, policy.find(':') == std::string::npos ? ':' : ',',
                     option.key.substr(kPolicyOption.size()), plain_text(option.value));
}

/// Whether the policy has the axis' option at all: it takes one of its values.
bool has_option(const std::string& policy, const placement::SearchAxis& axis) {
  return std::ranges::any_of(axis.values, [&](const std::string& value) {
    return known_policies()
        .make(with_option(policy, {.key = axis.key, .value = value}))
        .has_value();
  });
}

std::string policy_of(const std::vector<Setting>& settings, const std::string& own) {
  const auto found = std::ranges::find(settings, kPolicyKey, &Setting::key);
  return found == settings.end() ? own : plain_text(found->value);
}

std::vector<Setting> settings_at(const config::ResolvedConfig& base, std::int64_t point) {
  const std::vector<placement::SearchAxis>& axes = base.search->axes;
  const std::vector<std::size_t> values = placement::values_at(axes, point);
  std::vector<Setting> settings;
  settings.reserve(axes.size());
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    settings.push_back({.key = axes[axis].key, .value = axes[axis].values[values[axis]]});
  }
  const std::string policy = policy_of(settings, base.scenario.eplb.policy);
  for (const placement::SearchAxis& axis : axes) {
    if (axis.key.starts_with(kPolicyOption) && !has_option(policy, axis)) {
      std::erase_if(settings, [&](const Setting& setting) { return setting.key == axis.key; });
    }
  }
  return settings;
}

/// What a candidate of the search is, but for its being the same as another.
Candidate candidate_at(const config::ResolvedConfig& base, const CandidateSource& source,
                       std::int64_t point) {
  Candidate candidate{.settings = settings_at(base, point)};
  const config::LoadResult loaded = source.load(candidate.settings);
  if (loaded) {
    candidate.digest = loaded->digest;
  } else {
    const config::Diagnostic& first = loaded.error().front();
    candidate.problem = fmt::format("{}: {}", first.key, first.message);
  }
  return candidate;
}

}  // namespace

std::string to_string(const Setting& setting) {
  constexpr std::string_view kSection = "eplb.";
  const std::string_view key = setting.key;
  return fmt::format("{}={}", key.starts_with(kSection) ? key.substr(kSection.size()) : key,
                     plain_text(setting.value));
}

std::string to_string(const std::vector<Setting>& settings) {
  std::string text;
  for (const Setting& setting : settings) {
    text += (text.empty() ? "" : " ") + to_string(setting);
  }
  return text.empty() ? "base" : text;
}

config::LoadResult CandidateSource::load(const std::vector<Setting>& settings) const {
  config::LoadOptions options = options_;
  bool has_options = false;
  for (const Setting& setting : settings) {
    has_options = has_options || is_policy_option(setting);
    if (!is_policy_option(setting)) {
      options.settings.push_back(setting.key + "=" + setting.value);
    }
  }
  if (has_options) {
    std::string policy = policy_of(settings, "");
    if (policy.empty()) {
      config::LoadResult own = config::load_config(file_, options);
      if (!own) {
        return own;
      }
      policy = own->scenario.eplb.policy;
    }
    for (const Setting& setting : settings) {
      policy = is_policy_option(setting) ? with_option(policy, setting) : policy;
    }
    // Text in JSON's quotes is YAML, too.
    options.settings.push_back(fmt::format("{}={}", kPolicyKey, nlohmann::json(policy).dump()));
  }
  return config::load_config(file_, options);
}

CandidateList candidates_of(const config::ResolvedConfig& base, const CandidateSource& source) {
  CandidateList list{.all = {Candidate{.digest = base.digest}},
                     .judged = {0},
                     .space_size = placement::space_size(base.search->axes)};
  std::map<std::uint64_t, std::size_t> known{{base.digest, 0}};
  const std::uint64_t seed = digest_of("search", base.scenario.run.seed);
  for (const std::int64_t point : placement::candidate_points(*base.search, seed)) {
    Candidate candidate = candidate_at(base, source, point);
    if (candidate.problem.empty()) {
      const auto [first, is_new] = known.emplace(candidate.digest, list.all.size());
      if (is_new) {
        list.judged.push_back(list.all.size());
      } else {
        candidate.same_as = first->second;
      }
    }
    list.all.push_back(std::move(candidate));
  }
  return list;
}

}  // namespace eplb::cli
