#include "models.hpp"

#include <utility>

#include "fields.hpp"
#include "lookup.hpp"

namespace eplb::config {
namespace {

constexpr IncludeKind kModel = {.noun = "model", .folder = "models", .has_name = true};

/// More than any engine has; a text of many names would otherwise read as many files.
constexpr std::size_t kModelsMax = 8;

}  // namespace

std::string model_key(std::size_t index) {
  return "model" + (index == 0 ? std::string() : "[" + std::to_string(index) + "]");
}

std::vector<Yaml> take_drafts(Yaml& scenario, Reading& reading) {
  Yaml* models = find(scenario, model_key(0));
  if (models == nullptr || models->kind != YamlKind::kList) {
    return {};
  }
  if (models->children.empty() || models->children.size() > kModelsMax) {
    reading.reject(models->at, model_key(0),
                   "must list at least 1 and at most " + std::to_string(kModelsMax) +
                       " models, got " + std::to_string(models->children.size()));
    return {};
  }
  std::vector<Yaml> items = std::move(models->children);
  items.front().key = std::move(models->key);
  items.front().key_at = models->key_at;
  *models = std::move(items.front());
  items.erase(items.begin());
  for (std::size_t index = 0; index < items.size(); ++index) {
    reading.set_position(model_key(index + 1), items[index].at);
  }
  return items;
}

void include_models(Yaml& scenario, std::vector<Yaml>& drafts, const LoadOptions& options,
                    Reading& reading) {
  if (Yaml* target = find(scenario, model_key(0)); target != nullptr) {
    include_file(*target, model_key(0), kModel, options, reading);
  }
  for (std::size_t index = 0; index < drafts.size(); ++index) {
    include_file(drafts[index], model_key(index + 1), kModel, options, reading);
  }
}

std::vector<ModelOptions> read_drafts(const std::vector<Yaml>& drafts, Reading& reading) {
  std::vector<ModelOptions> models;
  for (const Yaml& draft : drafts) {
    const Section section{.key = model_key(models.size() + 1), .yaml = &draft};
    models.push_back(read_fields<ModelOptions>(section, model_fields(), reading));
  }
  return models;
}

}  // namespace eplb::config
