#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "eplb/config/config.hpp"
#include "reading.hpp"
#include "section.hpp"
#include "yaml.hpp"

namespace eplb::config {

/// What a model is called in a scenario: `model` for the target, `model[1]` for its first draft.
[[nodiscard]] std::string model_key(std::size_t index);

/// Where the scenario has a list of models, leaves the first as its `model`, so that all rules and
/// overrides find it there, and returns the others.
[[nodiscard]] std::vector<Yaml> take_drafts(Yaml& scenario, Reading& reading);

/// Puts files' mappings in the place of their names, for all models.
void include_models(Yaml& scenario, std::vector<Yaml>& drafts, const LoadOptions& options,
                    Reading& reading);

/// Reads the models that take_drafts returned.
[[nodiscard]] std::vector<ModelOptions> read_drafts(const std::vector<Yaml>& drafts,
                                                    Reading& reading);

}  // namespace eplb::config
