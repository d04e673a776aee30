// Goal: what is shipped in configs/ is complete, sourced, and says what the published tables say.
// Method: load every model and machine; compare with the reference's figures, retyped here.
#include <doctest/doctest.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config_text.hpp"

namespace eplb::config::test {
namespace {

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& file :
       std::filesystem::directory_iterator(EPLB_SOURCE_DIR "/configs/" + folder)) {
    names.push_back(file.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

sim::Scenario scenario_of(const std::vector<std::string>& overrides) {
  const LoadResult result = load(kLegal, overrides);
  REQUIRE(problems(result) == "");
  return result->scenario;
}

TEST_CASE("experts of the shipped models have the published sizes, in MB") {
  const std::map<std::string, double> megabytes = {
      {"deepseek-v3", 44.05},    {"deepseek-v4-flash", 13.4},
      {"deepseek-v4-pro", 35.1}, {"deepseek-v4.1-flash", 18.80},
      {"glm-5", 75.5},           {"gpt-oss-120b", 13.2},
      {"kimi-k2", 44.05},        {"kimi-k3", 17.5},
      {"olmoe-1b-7b", 12.58},    {"qwen3-235b", 37.7}};
  std::vector<std::string> listed;
  for (const auto& name_and_size : megabytes) {
    const std::string& name = name_and_size.first;
    CAPTURE(name);
    const ModelOptions model = scenario_of({"model=" + name}).model;
    CHECK(static_cast<double>(bytes_per_expert(model)) / 1e6 ==
          doctest::Approx(name_and_size.second).epsilon(0.004));
    CHECK(model.name == name);
    listed.push_back(name);
  }
  CHECK(names_in("models") == listed);
}

TEST_CASE("shipped models have the published shapes") {
  const auto shape_of_model = [](const std::string& name) {
    const ModelOptions model = scenario_of({"model=" + name}).model;
    return std::vector<std::int32_t>{model.moe_layers, model.logical_experts, model.top_k,
                                     model.expert_groups};
  };
  using Shape = std::vector<std::int32_t>;
  CHECK(shape_of_model("deepseek-v3") == Shape{58, 256, 8, 8});
  CHECK(shape_of_model("deepseek-v4-flash") == Shape{43, 256, 6, 1});
  CHECK(shape_of_model("deepseek-v4-pro") == Shape{61, 384, 6, 1});
  CHECK(shape_of_model("deepseek-v4.1-flash") == Shape{40, 384, 6, 1});
  CHECK(shape_of_model("glm-5") == Shape{75, 256, 8, 1});
  CHECK(shape_of_model("gpt-oss-120b") == Shape{36, 128, 4, 1});
  CHECK(shape_of_model("kimi-k2") == Shape{60, 384, 8, 1});
  CHECK(shape_of_model("kimi-k3") == Shape{92, 896, 16, 1});
  CHECK(shape_of_model("olmoe-1b-7b") == Shape{16, 64, 8, 1});
  CHECK(shape_of_model("qwen3-235b") == Shape{94, 128, 8, 1});
}

TEST_CASE(
    "every shipped model says where it comes from, and every machine where each figure does") {
  for (const std::string& name : names_in("models")) {
    CAPTURE(name);
    const YAML::Node file = YAML::LoadFile(EPLB_SOURCE_DIR "/configs/models/" + name + ".yaml");
    CHECK(file["source"].as<std::string>().size() > 20);
    CHECK(file["name"].as<std::string>() == name);
  }
  for (const std::string& name : names_in("hardware")) {
    CAPTURE(name);
    const YAML::Node file = YAML::LoadFile(EPLB_SOURCE_DIR "/configs/hardware/" + name + ".yaml");
    const std::size_t texts = file["calibration"].IsDefined() ? 2 : 1;
    CHECK(file["sources"].size() == file.size() - texts);
    for (const auto& figure : file) {
      const auto key = figure.first.as<std::string>();
      CAPTURE(key);
      if (key != "sources" && key != "calibration") {
        CHECK(file["sources"][key].as<std::string>("").size() > 10);
      }
    }
  }
}

TEST_CASE("shipped machines load, and have the published domains and copy rates") {
  CHECK(names_in("hardware") ==
        std::vector<std::string>{"b200-hgx8", "gb200-nvl72", "gb300-nvl72", "h200-hgx8"});
  const auto hardware = [](const std::string& name) {
    return scenario_of({"hardware=" + name}).hardware;
  };
  CHECK(hardware("gb200-nvl72").gpus_per_domain == 72);
  CHECK(hardware("gb300-nvl72").gpus_per_node == 4);
  CHECK(hardware("b200-hgx8").gpus_per_domain == 8);
  CHECK(hardware("h200-hgx8").peer_copy_bandwidth_gb_per_s == 395);
  CHECK(hardware("h200-hgx8").fp4_tflops == 0);

  // 470 MB in 100 copies: the published 294 GB/s follows from the two figures of the file.
  const sim::HardwareOptions gb200 = hardware("gb200-nvl72");
  const double seconds =
      470e6 / (gb200.peer_copy_bandwidth_gb_per_s * 1e9) + 100 * gb200.peer_copy_start_us * 1e-6;
  CHECK(470e6 / seconds / 1e9 == doctest::Approx(294).epsilon(0.005));
}

TEST_CASE("every shipped scenario loads without a note") {
  for (const char* name : {"quickstart", "gb200-dep16", "gb200-dep32", "h200-ep8"}) {
    CAPTURE(name);
    const LoadResult result =
        load_config(EPLB_SOURCE_DIR "/configs/" + std::string(name) + ".yaml", options_with());
    CHECK(problems(result) == "");
    CHECK(result->notes.empty());
    CHECK(result->scenario.run.compare_off);
  }
}

TEST_CASE("the published serving setups are those of the publication") {
  const auto setup = [](const char* name) {
    return load_config(EPLB_SOURCE_DIR "/configs/" + std::string(name) + ".yaml", options_with())
        ->scenario;
  };
  const sim::Scenario dep16 = setup("gb200-dep16");
  CHECK(dep16.parallel.ranks == 16);
  CHECK(dep16.eplb.num_redundant_experts == 16);
  CHECK(dep16.serving.requests_per_rank == 72);
  const sim::Scenario dep32 = setup("gb200-dep32");
  CHECK(dep32.parallel.ranks == 32);
  CHECK(dep32.eplb.num_redundant_experts == 32);
  CHECK(dep32.serving.requests_per_rank == 128);
  for (const sim::Scenario& scenario : {dep16, dep32}) {
    CHECK(scenario.model.name == "deepseek-v4.1-flash");
    CHECK(scenario.serving.tokens_per_request == 6);
    CHECK(scenario.serving.accepted_tokens == 4.74);
    // Derived in docs/validation.md, and checked there against what it was derived from.
    CHECK(scenario.serving.other_kernels_base_ms == 3.99);
    CHECK(scenario.serving.other_kernels_per_request_ms == 0.1285);
    CHECK(scenario.serving.rank_imbalance == 0.127);
    CHECK(scenario.serving.boundary_idle_ms == 0.27);
    CHECK(std::get<sim::LognormalRouting>(scenario.workload.routing).sigma == 0.51);
    CHECK(scenario.eplb.window_size == 1000);
    CHECK(scenario.eplb.step_interval == 3000);
    CHECK(scenario.eplb.use_async);
  }
}

TEST_CASE("the search of the published setup has its base, but for the steps of a run") {
  const auto before_run = [](const char* name) {
    const LoadResult result = load_config(EPLB_SOURCE_DIR "/configs/" + std::string(name) + ".yaml",
                                          any_policy_options());
    REQUIRE(problems(result) == "");
    return result->canonical_yaml.substr(0, result->canonical_yaml.find("\nrun:\n"));
  };
  CHECK(before_run("search-gb200-dep32") == before_run("gb200-dep32"));
}

TEST_CASE("the quick start moves over four of OLMoE's six domains and more") {
  const auto result = load_config(EPLB_SOURCE_DIR "/configs/quickstart.yaml", options_with());
  REQUIRE(problems(result) == "");
  const auto& routing = std::get<sim::DomainsRouting>(result->scenario.workload.routing);
  REQUIRE(routing.domains.size() == 6);
  CHECK(routing.domains[0].name == "arxiv");
  CHECK(routing.domains[0].counts.row(0).sum() == 1671168);
  CHECK(routing.domains[4].name == "tulu");
  CHECK(routing.domains[4].counts.row(2).sum() == 1641944);
  CHECK(routing.schedule.size() == 3);
}

TEST_CASE("the shipped counts are of OLMoE's three sampled layers") {
  for (const char* text : {"c4", "wikipedia"}) {
    const auto scenario = scenario_of(
        {"model.moe_layers=3", "model.logical_experts=64", "workload.routing.kind=counts",
         std::string("workload.routing.file=") + EPLB_SOURCE_DIR "/configs/workloads/olmoe-" +
             text + ".json"});
    const auto& routing = std::get<sim::CountsRouting>(scenario.workload.routing);
    REQUIRE(routing.windows.size() == 1);
    CHECK(routing.windows[0].rows() == 3);
    CHECK(routing.windows[0].row(1).sum() == 1671168);
  }
}

}  // namespace
}  // namespace eplb::config::test
