#include "scale.hpp"

#include <string>

#include "fields.hpp"

namespace eplb::config {

std::vector<ScaleEvent> read_scale(const Section& parallel_section, Reading& reading) {
  std::vector<ScaleEvent> events;
  const std::string key = parallel_section.key_of("scale");
  const Yaml* scale =
      parallel_section.yaml == nullptr ? nullptr : find(*parallel_section.yaml, "scale");
  if (scale == nullptr || !reading.sound({key})) {
    return events;
  }
  if (scale->kind != YamlKind::kList) {
    reading.reject(scale->at, key,
                   "must be a list of entries with at_step and ranks, got " + describe(*scale));
    return events;
  }
  for (const Yaml& item : scale->children) {
    const Section entry{.key = key + "[" + std::to_string(events.size()) + "]", .yaml = &item};
    reading.set_position(entry.key, item.at);
    events.push_back(read_fields<ScaleEvent>(entry, scale_fields(), reading));
  }
  return events;
}

}  // namespace eplb::config
