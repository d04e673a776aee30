// Goal: files are found where they are said to be, and errors in them name them.
// Method: a folder of the test's own, with a scenario, models and hardware.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "config_text.hpp"
#include "temp_folder.hpp"

namespace eplb::config::test {
namespace {

using eplb::test::TempFolder;

constexpr std::string_view kModel =
    "{moe_layers: 2, hidden: 8, moe_intermediate: 8, logical_experts: 4, top_k: 1,"
    " weight_format: bf16}\n";

/// A scenario with this model and a shipped machine.
std::string scenario(std::string_view model) {
  return "model: " + std::string(model) +
         "\nhardware: h200-hgx8\nparallel: {ranks: 2}\nserving: {requests_per_rank: 1}\n";
}

LoadOptions options_of(const TempFolder& folder) {
  LoadOptions options = options_with();
  options.config_dirs = {folder.path(), EPLB_SOURCE_DIR "/configs"};
  return options;
}

std::string said(const TempFolder& folder, std::string_view model) {
  const std::filesystem::path file = folder.write("s.yaml", scenario(model));
  const std::string text = problems(load_config(file, options_of(folder)));
  const std::string prefix = file.string();
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

TEST_CASE("a scenario that is not there, is a folder, or is too large is refused") {
  const TempFolder folder;
  const auto refused = [&](const std::filesystem::path& path) {
    return problems(load_config(path, options_of(folder)));
  };
  CHECK(refused("/none.yaml") ==
        "/none.yaml:1:1: error: cannot be opened: No such file or directory\n");
  CHECK(refused(folder.path()) ==
        folder.path().string() + ":1:1: error: is a directory, not a file\n");
  CHECK(refused("/dev/zero") == "/dev/zero:1:1: error: has more than 4194304 bytes\n");
  CHECK(refused("/dev/null") == "/dev/null:1:1: error: the file is empty\n");
  CHECK(refused("") == ":1:1: error: cannot be opened: No such file or directory\n");
}

TEST_CASE("a name is sought in the folders in their order, and names the model") {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path() / "models");
  static_cast<void>(folder.write("models/mine.yaml", kModel));
  static_cast<void>(folder.write("models/kimi-k2.yaml", kModel));
  const auto model_of = [&](std::string_view model) {
    return load_config(folder.write("s.yaml", scenario(model)), options_of(folder))->scenario.model;
  };
  CHECK(model_of("mine").name == "mine");
  CHECK(model_of("kimi-k2").hidden == 8);
  CHECK(model_of("kimi-k3").hidden == 3584);
  CHECK(model_of(kModel.substr(0, kModel.size() - 1)).name.empty());
}

TEST_CASE("a path is relative to the file that it stands in") {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path() / "sub");
  static_cast<void>(folder.write("sub/m.yaml", kModel));
  static_cast<void>(folder.write("m.yaml", kModel));
  CHECK(said(folder, "sub/m.yaml") == "");
  CHECK(said(folder, "m.yaml") == "");
  CHECK(said(folder, folder.path().string() + "/sub/m.yaml") == "");
}

TEST_CASE("a model that is not there is refused") {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path() / "models");
  static_cast<void>(folder.write("models/mine.yaml", kModel));
  static_cast<void>(folder.write("models/notes.txt", "no model"));
  CHECK(said(folder, "min") == ":1:8: error: model: unknown model \"min\", did you mean mine?\n");
  CHECK(said(folder, "a-model-of-my-own").find(", mine, olmoe-1b-7b, ") != std::string::npos);
  CHECK(said(folder, "a-model-of-my-own").find("notes") == std::string::npos);
  const std::string missing = folder.path().string() + "/m.yaml";
  CHECK(said(folder, "m.yaml") ==
        ":1:8: error: model: " + missing + " cannot be opened: No such file or directory\n");
  CHECK(said(folder, "./models") ==
        ":1:8: error: model: " + folder.path().string() + "/./models is a directory, not a file\n");
  CHECK(said(folder, "\"a\\0b.yaml\"") ==
        ":1:8: error: model: must be a name, a path or a mapping, got the text \"a\\x00b.yaml\"\n");
  CHECK(said(folder, "''") ==
        ":1:8: error: model: must be a name, a path or a mapping, got the text \"\"\n");
}

TEST_CASE("without any folder to look in, no name is known") {
  LoadOptions nowhere = options_with();
  nowhere.config_dirs = {"/nowhere"};
  CHECK(problems(load_config_text({.text = kLegal, .name = "t.yaml", .directory = {}}, nowhere)) ==
        "t.yaml:2:11: error: hardware: unknown hardware \"h200-hgx8\", none is known\n");
}

TEST_CASE("what is wrong in a model's file is named at its place there") {
  const TempFolder folder;
  const auto with_model = [&](std::string_view text) {
    const std::filesystem::path file = folder.write("m.yaml", text);
    const std::string lines = said(folder, "m.yaml");
    CHECK(lines.starts_with(file.string()));
    return lines.substr(file.string().size());
  };
  CHECK(with_model("moe_layers: 2\ntopk: 3\n")
            .find(":2:1: error: model.topk: unknown key, did you mean top_k?\n") !=
        std::string::npos);
  CHECK(with_model("moe_layers: 2\n")
            .find(":1:1: error: model.weight_format: is missing, must be one of bf16, ") !=
        std::string::npos);
  CHECK(with_model("moe_layers: [\n") ==
        ":1:13: error: model: not valid YAML: end of sequence flow not found\n");
  CHECK(with_model("") == ":1:1: error: model: must not be empty\n");
  CHECK(with_model("other.yaml\n")
            .starts_with(":1:1: error: model: must be a mapping of name, source, moe_layers, "));
  CHECK(with_model("{moe_layers: 2, hidden: 8, moe_intermediate: 8,\n logical_experts: 4, top_k: 5,"
                   " weight_format: bf16}\n") ==
        ":2:29: error: model.top_k: must be at most logical_experts (4), got 5\n");
}

TEST_CASE("a path of an override is relative to the current directory") {
  const TempFolder folder;
  const std::filesystem::path file = folder.write("m.yaml", kModel);
  static_cast<void>(folder.write("s.yaml", scenario("kimi-k2")));
  LoadOptions options = options_of(folder);
  options.overrides = {"model=" + std::filesystem::relative(file).string()};
  const LoadResult result = load_config(folder.path() / "s.yaml", options);
  CHECK(problems(result) == "");
  CHECK(result->scenario.model.name == "m");
}

}  // namespace
}  // namespace eplb::config::test
