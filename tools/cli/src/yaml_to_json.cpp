#include "yaml_to_json.hpp"

#include <yaml-cpp/yaml.h>

#include <nlohmann/json.hpp>

namespace eplb::cli {
namespace {

using Json = nlohmann::ordered_json;

Json scalar_to_json(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  const bool is_quoted = node.Tag() == "!";
  // A JSON number, true, false and null are written as in YAML; "010" and "yes" are not JSON.
  const Json value = is_quoted ? Json(Json::value_t::discarded)
                               : Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_primitive() && !value.is_string() && !value.is_discarded() ? value : Json(text);
}

// NOLINTNEXTLINE(misc-no-recursion): a tree is walked, as deep as our own schema.
Json node_to_json(const YAML::Node& node) {
  Json json;
  switch (node.Type()) {
    case YAML::NodeType::Map:
      json = Json::object();
      for (const auto& entry : node) {
        json[entry.first.Scalar()] = node_to_json(entry.second);
      }
      break;
    case YAML::NodeType::Sequence:
      json = Json::array();
      for (const YAML::Node& item : node) {
        json.push_back(node_to_json(item));
      }
      break;
    case YAML::NodeType::Scalar:
      json = scalar_to_json(node);
      break;
    case YAML::NodeType::Null:
    case YAML::NodeType::Undefined:
      break;
  }
  return json;
}

}  // namespace

Json yaml_to_json(const std::string& yaml) {
  return node_to_json(YAML::Load(yaml));
}

}  // namespace eplb::cli
