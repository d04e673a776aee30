#include "domains.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "fields.hpp"
#include "words.hpp"

namespace eplb::config {
namespace {

constexpr std::string_view kMixRule =
    "must be a mapping that gives some domain a share above 0, got ";

std::vector<std::string_view> domain_names(const sim::DomainsRouting& routing) {
  std::vector<std::string_view> names;
  for (const sim::DomainsRouting::Domain& domain : routing.domains) {
    names.push_back(domain.name);
  }
  return names;
}

/// Shares by domain, [domains], of the mapping `mix`, whose key is `mix_key`. A domain's name may
/// hold a dot, so the mapping is read here and not as a section.
std::vector<double> read_mix(const Yaml& mix, const std::string& mix_key,
                             const sim::DomainsRouting& routing, Reading& reading) {
  const std::vector<std::string_view> names = domain_names(routing);
  std::vector<double> shares(names.size(), 0.0);
  double share_sum = 0;
  if (mix.kind != YamlKind::kMapping) {
    reading.reject(mix.at, mix_key, std::string(kMixRule) + describe(mix));
    return shares;
  }
  for (const Yaml& child : mix.children) {
    const std::string key = mix_key + "." + child.key;
    double share = 0;
    if (ScalarError error = read_scalar(child, kShare, share); error.has_value()) {
      reading.reject(child.at, key, *error);
      share = 1;  // Whatever it should be, the mix is not empty for that.
    }
    share_sum += share;
    const auto name = std::ranges::find(names, child.key);
    if (name != names.end()) {
      shares[static_cast<std::size_t>(name - names.begin())] = share;
    } else if (!names.empty()) {
      reading.reject(child.key_at, key, unknown("domain", child.key, names));
    }
  }
  if (share_sum == 0) {
    reading.reject(mix.at, mix_key, std::string(kMixRule) + "none");
  }
  return shares;
}

}  // namespace

void read_schedule(const Section& routing_section, sim::DomainsRouting& routing, Reading& reading) {
  const std::string key = routing_section.key_of("schedule");
  const Yaml* schedule = find(*routing_section.yaml, "schedule");
  if (schedule == nullptr || !reading.sound({key})) {
    return;
  }
  if (schedule->kind != YamlKind::kList || schedule->children.empty()) {
    reading.reject(schedule->at, key,
                   "must be a list of at least one phase, got " + describe(*schedule));
    return;
  }
  for (const Yaml& item : schedule->children) {
    const Section section{.key = key + "[" + std::to_string(routing.schedule.size()) + "]",
                          .yaml = &item};
    auto phase = read_fields<sim::DomainsRouting::Phase>(section, phase_fields(), reading);
    const Yaml* mix = find(item, "mix");
    if (mix != nullptr && reading.sound({section.key_of("mix")})) {
      phase.shares = read_mix(*mix, section.key_of("mix"), routing, reading);
    }
    routing.schedule.push_back(std::move(phase));
  }
}

}  // namespace eplb::config
