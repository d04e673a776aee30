// Goal: `eplb check` prints a configuration as it is understood, which is one itself. Method: its
// output is fed back to it.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "run_eplb.hpp"
#include "scenario_file.hpp"
#include "temp_folder.hpp"

namespace eplb {
namespace {

using Json = nlohmann::ordered_json;

TEST_CASE("what check prints is a configuration that check understands alike") {
  const test::TempFolder folder;
  const std::string file = folder.write("tiny.yaml", test::kScenario).string();
  const test::Outcome first = test::run_eplb({"check", file, "--set", "run.seed=7"});
  REQUIRE(first.code == 0);
  CHECK(first.out.find("seed: 7") != std::string::npos);
  CHECK(first.out.find("# 10 slots, 5 a rank; an expert is 0.20 MB") != std::string::npos);
  const std::string again = folder.write("again.yaml", first.out).string();
  CHECK(test::run_eplb({"check", again}).out == first.out);
}

TEST_CASE("check gives programs the configuration with its types") {
  const test::TempFolder folder;
  const std::string file = folder.write("tiny.yaml", test::kScenario).string();
  const test::Outcome outcome = test::run_eplb({"check", file, "--json", "-"});
  REQUIRE(outcome.code == 0);
  const Json json = Json::parse(outcome.out);
  CHECK(json["schema"] == "eplb.check/1");
  CHECK(json["config"]["model"]["name"] == "tiny");
  CHECK(json["config"]["parallel"]["ranks"] == 2);
  CHECK(json["config"]["eplb"]["enabled"] == true);
  CHECK(json["config"]["workload"]["routing"]["exponent"] == 1);
  CHECK(json["notes"].empty());
}

TEST_CASE("check says what a trigger comes to on the machine") {
  const test::TempFolder folder;
  const std::string file = folder.write("tiny.yaml", test::kScenario).string();
  const test::Outcome outcome = test::run_eplb({"check", file, "--set", "eplb.trigger.price=10",
                                                "--set", "eplb.use_async=false", "--json", "-"});
  REQUIRE(outcome.code == 0);
  const Json json = Json::parse(outcome.out);
  CHECK(json["config"]["eplb"]["trigger"]["price"] == 10);
  const Json& trigger = json["trigger"];
  CHECK(trigger["horizon_steps"] == 20);
  // 0.196608 MB at 100 GB/s are 1.97 us, and each of its two tensors takes a start of 5 us.
  CHECK(trigger["wire_us_per_expert"].get<double>() >= 10 * 1.966);
  CHECK(trigger["wire_us_per_expert"].get<double>() <= 10 * (1.967 + 10));
  // Read and written at 1000 GB/s.
  CHECK(trigger["commit_us_per_expert"].get<double>() == doctest::Approx(10 * 0.393216));
  CHECK(trigger["commit_us_per_layer"].get<double>() == doctest::Approx(10 * 2));
  const std::string text = test::run_eplb({"check", file, "--set", "eplb.trigger={}"}).out;
  CHECK(text.find("# trigger: gains are taken to last 20 steps; an expert that moves costs") !=
        std::string::npos);
  CHECK(text.find("\n  trigger:\n    horizon_steps: none\n") != std::string::npos);
  const test::Outcome without = test::run_eplb({"check", file, "--json", "-"});
  CHECK(Json::parse(without.out)["trigger"] == nullptr);
}

TEST_CASE("check says what follows: the communicator, the landing rows and the cap on NCCL") {
  const test::TempFolder folder;
  const std::string file = folder.write("tiny.yaml", test::kScenario).string();
  const auto out = [&](std::vector<std::string> overrides) {
    std::vector<std::string> arguments = {"check", file};
    for (std::string& one : overrides) {
      arguments.insert(arguments.end(), {"--set", std::move(one)});
    }
    const test::Outcome outcome = test::run_eplb(arguments);
    CHECK(outcome.code == 0);
    return outcome.out;
  };
  // One layer of 5 slots a rank; an expert is 3 x 256 x 128 x 2 bytes.
  CHECK(out({}).find("# communicator symm_mem; 5 landing rows a rank, 0.001 GB\nmodel:") !=
        std::string::npos);
  CHECK(out({"eplb.landing_rows=6000", "hardware.gpus_per_domain=1"})
            .find("# communicator torch_gloo; 6000 landing rows a rank, 1.180 GB\nmodel:") !=
        std::string::npos);
  CHECK(out({"eplb.use_async=false", "eplb.communicator=pynccl"})
            .find("# communicator pynccl; 5 landing rows a rank, 0.001 GB\n"
                  "# NCCL_MAX_CTAS=8, or NCCL and the engine's kernels can lock up\n"
                  "# hazard (order): could hang on another schedule\n") != std::string::npos);
  CHECK(out({"eplb.use_async=false", "eplb.communicator=pynccl", "engine.moe_sms=124"})
            .find("can lock up\nmodel:") != std::string::npos);
  const std::string without = out({"eplb.enabled=false"});
  CHECK(without.find("# communicator") == std::string::npos);
  CHECK(without.find("landing rows") == std::string::npos);
}

TEST_CASE("check counts the pipeline stages that have no layers, and the rows of the fullest one") {
  const test::TempFolder folder;
  const std::string file = folder.write("tiny.yaml", test::kScenario).string();
  const auto out = [&](const std::string& layers, const std::string& stages) {
    return test::run_eplb({"check", file, "--set", "model.moe_layers=" + layers, "--set",
                           "parallel.pipeline_stages=" + stages})
        .out;
  };
  CHECK(out("3", "5").find("# 2 of 5 pipeline stages have no MoE layers\n"
                           "# communicator symm_mem; 5 landing rows a rank") != std::string::npos);
  CHECK(out("3", "3").find("no MoE layers") == std::string::npos);
  // An eighth of 5 slots in 17 layers, of which the fullest of 2 stages has 9.
  CHECK(out("17", "1").find("; 11 landing rows a rank") != std::string::npos);
  CHECK(out("17", "2").find("; 6 landing rows a rank") != std::string::npos);
  CHECK(out("17", "2").find("weights 0.009 GB a rank") != std::string::npos);
}

TEST_CASE("check gives programs what follows, and null for what there is not") {
  const test::TempFolder folder;
  const std::string file = folder.write("tiny.yaml", test::kScenario).string();
  const auto json_of = [&](std::vector<std::string> overrides) {
    std::vector<std::string> arguments = {"check", file, "--json", "-"};
    for (std::string& one : overrides) {
      arguments.insert(arguments.end(), {"--set", std::move(one)});
    }
    return Json::parse(test::run_eplb(arguments).out);
  };
  const Json plain = json_of({});
  CHECK(plain["communicator"] == "symm_mem");
  CHECK(plain["landing_rows"] == 5);
  CHECK(plain["nccl_max_ctas"].is_null());
  const Json nccl = json_of({"eplb.use_async=false", "eplb.communicator=torch_nccl",
                             "engine.nccl_max_ctas=4", "eplb.landing_rows=7"});
  CHECK(nccl["communicator"] == "torch_nccl");
  CHECK(nccl["landing_rows"] == 7);
  CHECK(nccl["nccl_max_ctas"] == 4);
  const Json off = json_of({"eplb.enabled=false"});
  CHECK(off["communicator"].is_null());
  CHECK(off["landing_rows"].is_null());
}

TEST_CASE("check prints a list of models as a configuration that it understands alike") {
  const test::TempFolder folder;
  const std::string file = folder.write("tiny.yaml", test::kScenario).string();
  const std::string model =
      "{name: m, moe_layers: 1, hidden: 8, moe_intermediate: 8, logical_experts: 8, top_k: 1,"
      " weight_format: bf16}";
  const std::string models = "model=[" + model + ", " + model + "]";
  const test::Outcome first = test::run_eplb({"check", file, "--set", models});
  REQUIRE(first.code == 0);
  const std::string again = folder.write("again.yaml", first.out).string();
  CHECK(test::run_eplb({"check", again}).out == first.out);
  const Json json = Json::parse(test::run_eplb({"check", again, "--json", "-"}).out);
  CHECK(json["config"]["model"][1]["name"] == "m");
}

TEST_CASE("check says that redundancy counts as none where EPLB is off") {
  const test::TempFolder folder;
  const std::string file = folder.write("tiny.yaml", test::kScenario).string();
  const test::Outcome outcome = test::run_eplb({"check", file, "--set", "eplb.enabled=false"});
  CHECK(outcome.code == 0);
  CHECK(outcome.err.find("warning: ") != std::string::npos);
}

TEST_CASE("check refuses redundancy that does not divide, and names the nearest that does") {
  const test::TempFolder folder;
  const std::string file = folder.write("tiny.yaml", test::kScenario).string();
  const test::Outcome outcome =
      test::run_eplb({"check", file, "--set", "eplb.num_redundant_experts=3"});
  CHECK(outcome.code == 2);
  CHECK(outcome.err.find("the nearest legal redundancy is 4") != std::string::npos);
}

}  // namespace
}  // namespace eplb
