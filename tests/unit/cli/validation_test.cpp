// Goal: what `eplb calibrate` and `eplb validate` say of the shipped tables and figures is right,
// and no published figure can reach its own prediction. Method: the shipped files; the bars of the
// project; small tables of our own.
#include "validation.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "calibration.hpp"
#include "hardware_lookup.hpp"
#include "kernel_layers.hpp"
#include "run_eplb.hpp"
#include "scenario_runs.hpp"
#include "temp_folder.hpp"

namespace eplb::cli {
namespace {

using Json = nlohmann::ordered_json;

const std::string kConfigs = EPLB_SOURCE_DIR "/configs";
const std::string kTable = kConfigs + "/measurements/deepseek-v4-megamoe.json";

config::LoadOptions shipped() {
  config::LoadOptions options;
  options.config_dirs = {kConfigs};
  return options;
}

formats::KernelMeasurements measurements() {
  return formats::read_kernel_measurements(kTable).value();
}

Published published() {
  return read_published(kConfigs + "/published/vllm.yaml").value();
}

sim::PredictionErrors errors_where(const std::vector<PredictedKernel>& rows, const std::string& key,
                                   const std::string& value) {
  return errors_by(rows).at(key).at(value);
}

TEST_CASE("fitted to balanced rows alone, the shipped hardware predicts the others") {
  const auto table = predict_table(measurements(), shipped(), {}).value();
  for (const char* device : {"gb200", "gb300"}) {
    CAPTURE(device);
    const auto of_device = [&](bool balanced) {
      return errors_of(table.rows, [&](const formats::KernelRow& row) {
        return row.device == device && (row.distribution == kBalanced) == balanced;
      });
    };
    CHECK(of_device(true).mean_absolute < 0.06);
    CHECK(of_device(false).mean_absolute < 0.07);
    CHECK(of_device(false).rows >= 51);
  }
  for (const char* ranks : {"4", "8", "16", "32"}) {
    CAPTURE(ranks);
    CHECK(errors_where(table.rows, "ep", ranks).mean_absolute < 0.12);
  }
  // Nothing tells what was drawn for the sampled rows, nor for the longest skewed ones.
  CHECK(table.rows.size() + table.skipped.size() == 363);
  CHECK(table.skipped.front().why == "no counts under 384/ep4/t32768/power_law_1.01");
}

TEST_CASE("the shipped hardware has the figures that calibration finds") {
  for (const char* name : {"gb200-nvl72", "gb300-nvl72"}) {
    CAPTURE(name);
    const config::HardwareFile file = hardware_file(name, shipped()).value();
    const std::string device = name == std::string("gb200-nvl72") ? "gb200" : "gb300";
    const Calibration calibration = calibrate({.layers = measured_layers(measurements()).value(),
                                               .device = device,
                                               .start = file.options,
                                               .others = {},
                                               .bootstrap_samples = 1})
                                        .value();
    for (const sim::FitParameter& parameter : sim::expert_layer_parameters()) {
      const std::string key(parameter.key);
      CAPTURE(key);
      CHECK(parameter.get(calibration.fitted) ==
            doctest::Approx(parameter.get(file.options)).epsilon(0.002));
      CHECK(file.sources.at(key).starts_with("fitted"));
    }
    CHECK(calibration.balanced.mean_absolute < 0.06);
    for (const NamedErrors& left : calibration.left_out_ranks) {
      CAPTURE(left.name);
      CHECK(left.errors.mean_absolute < 0.12);
    }
  }
}

TEST_CASE("what is wrong breaks the fit") {
  const auto controls = negative_controls(measurements(), shipped()).value();
  REQUIRE(controls.size() == 3);
  for (const NegativeControl& control : controls) {
    CAPTURE(control.name);
    CHECK(control.mean_absolute < 0.07);
    CHECK(control.broken > 0.08);
    CHECK(control.breaks());
  }
}

/// Numbers of a text as they stand, and the doubles that they are.
std::set<double> numbers_in(const std::string& text) {
  std::set<double> numbers;
  std::string word;
  for (const char character : text + " ") {
    if (std::isdigit(static_cast<unsigned char>(character)) != 0 || character == '.' ||
        character == 'e' || character == '-') {
      word += character;
    } else if (!word.empty()) {
      std::istringstream stream(word);
      double number = 0;
      if (stream >> number) {
        numbers.insert(number);
      }
      word.clear();
    }
  }
  return numbers;
}

TEST_CASE("no scenario of a held-out row has its published value") {
  const Published all = published();
  std::set<std::string> fitted_keys;
  for (const PublishedInput& input : all.inputs) {
    fitted_keys.insert(input.key);
  }
  CHECK(fitted_keys.size() == 5);
  std::size_t held_out = 0;
  for (const RunFigure& one : all.runs) {
    const bool from_runs_alone = one.metric == RunMetric::kExpertLayer ||
                                 one.metric == RunMetric::kExpertLayerDrop ||
                                 one.metric == RunMetric::kLongestHold;
    if (!from_runs_alone || !one.figure.source_of.empty()) {
      continue;  // Fitted: it reads inputs.
    }
    ++held_out;
    config::LoadOptions options = shipped();
    options.overrides = one.run.overrides;
    const auto loaded = config::load_config(kConfigs + "/" + one.run.scenario + ".yaml", options);
    REQUIRE(loaded.has_value());
    const std::set<double> numbers = numbers_in(loaded->canonical_yaml);
    CAPTURE(one.figure.name);
    CHECK_FALSE(numbers.contains(one.figure.value));
    CHECK_FALSE(numbers.contains(100 * one.figure.value));
  }
  CHECK(held_out == 2);
  for (const CopyFigure& one : all.copies) {
    if (!one.figure.fitted) {
      const auto file = hardware_file(one.hardware, shipped()).value();
      config::HardwareFile figures = file;
      figures.sources.clear();
      figures.calibration.clear();
      CAPTURE(one.figure.name);
      CHECK_FALSE(numbers_in(hardware_yaml(figures)).contains(one.figure.value));
    }
  }
}

TEST_CASE("a row that reads an input is fitted, and a held-out one reads none") {
  Published few = published();
  std::erase_if(few.runs, [](const RunFigure& one) { return one.run.scenario != "gb200-dep16"; });
  few.orders.clear();
  few.counting_scenario.clear();
  for (RunFigure& one : few.runs) {
    one.run.overrides = {"run.steps=60", "run.warmup_steps=0", "eplb.step_interval=40",
                         "eplb.window_size=10"};
  }
  // The same kernel time, but not one that the skew was fitted to.
  few.runs.push_back(few.runs.front());
  few.runs.back().figure.source_of.clear();
  const Validation validation = validate_all({.configs = kConfigs,
                                              .load_options = shipped(),
                                              .published = few,
                                              .measurements = measurements(),
                                              .progress = [](const std::string& /*text*/) {}})
                                    .value();
  for (const ValidationRow& row : validation.rows) {
    CAPTURE(row.name);
    CAPTURE(row.quantity);
    if (row.group == "throughput") {
      CHECK(std::ranges::count(row.uses, "serving.accepted_tokens") == 1);
    }
    if (row.group == "step" || row.group == "throughput" || row.group == "throughput gain") {
      CHECK(row.fitted);
      CHECK(std::ranges::count(row.uses, "serving.other_kernels_ms") == 1);
    }
    if (row.group == "expert kernel, balanced") {
      CHECK(row.fitted);
    }
    if (row.group == "expert kernel, given counts" || row.group == "expert kernel, drawn counts") {
      CHECK_FALSE(row.fitted);
    }
  }
  const auto kernel_times = [&](bool fitted) {
    return std::ranges::count_if(validation.rows, [&](const ValidationRow& row) {
      return row.group == "expert layer while serving" && row.fitted == fitted;
    });
  };
  CHECK(kernel_times(true) == 3);
  CHECK(kernel_times(false) == 1);
}

TEST_CASE("errors of shares are differences, and a spread is two standard deviations") {
  ValidationRow row{.group = {}, .name = {}, .quantity = {}, .unit = "share", .published = 0.05};
  row.predicted = 0.07;
  CHECK(row.error() == doctest::Approx(0.02));
  CHECK_FALSE(row.inside().has_value());
  row.sd = 0.0101;
  CHECK(row.inside() == true);
  row.sd = 0.0099;
  CHECK(row.inside() == false);
  row.range = {0.01, 0.08};
  CHECK(row.inside() == true);
  row.unit = "ms";
  CHECK(row.error() == doctest::Approx(0.4));
}

TEST_CASE("an order holds only if every value is below the one before") {
  CHECK(ValidatedOrder{.claim = {}, .metric = {}, .values = {3, 2, 1}}.holds());
  CHECK_FALSE(ValidatedOrder{.claim = {}, .metric = {}, .values = {3, 3, 1}}.holds());
  CHECK_FALSE(ValidatedOrder{.claim = {}, .metric = {}, .values = {1, 2}}.holds());
}

TEST_CASE("a table of one's own is predicted, its rows without counts are named") {
  const test::TempFolder folder;
  const std::string table = (folder.path() / "t.csv").string();
  const std::string counts = (folder.path() / "c.json").string();
  std::ofstream(table)
      << "device,ep,tokens_per_rank,hidden,inter,experts,top_k,distribution,latency_us\n"
         "gb200,4,16,7168,3072,384,6,balanced,632.63\n"
         "gb200,4,16,7168,3072,384,6,mine,500\n"
         "gb200,4,32,7168,3072,384,6,mine,500\n"
         "mi300x,4,16,7168,3072,384,6,balanced,500\n";
  Json given;
  given["384/ep4/t16/mine"] = std::vector<int>(384, 1);
  std::ofstream(counts) << given;
  const auto outcome = test::run_eplb(
      {"validate", "--table", table, "--counts", counts, "--configs", kConfigs, "--json", "-"});
  REQUIRE(outcome.code == 0);
  const Json json = Json::parse(outcome.out);
  CHECK(json["rows_predicted"] == 2);
  // All experts are touched in both rows, by a token each.
  CHECK(json["rows"][0]["predicted_us"] == json["rows"][1]["predicted_us"]);
  CHECK(json["rows"][0]["error"].get<double>() == doctest::Approx(0).epsilon(0.03));
  REQUIRE(json["skipped"].size() == 2);
  CHECK(json["skipped"][0]["line"] == 4);
  CHECK(json["skipped"][0]["why"] == "no counts under 384/ep4/t32/mine");
  CHECK(json["skipped"][1]["why"] == "no hardware file names its device");
  CHECK(json["by"]["distribution"]["mine"]["rows"] == 1);
  CHECK(json["worst"][0]["distribution"] == "mine");
  CHECK(json["mape"].get<double>() ==
        doctest::Approx((std::abs(json["rows"][0]["error"].get<double>()) +
                         std::abs(json["rows"][1]["error"].get<double>())) /
                        2));
}

TEST_CASE("counts of other experts than a row's are refused") {
  const test::TempFolder folder;
  const std::string table = (folder.path() / "t.csv").string();
  const std::string counts = (folder.path() / "c.json").string();
  std::ofstream(table)
      << "device,ep,tokens_per_rank,hidden,inter,experts,top_k,distribution,latency_us\n"
         "gb200,4,16,7168,3072,384,6,mine,500\n";
  std::ofstream(counts) << R"({"384/ep4/t16/mine": [1, 2, 3]})";
  const auto outcome =
      test::run_eplb({"validate", "--table", table, "--counts", counts, "--configs", kConfigs});
  CHECK(outcome.code == 2);
  CHECK(outcome.err ==
        "eplb validate: error: counts of 384/ep4/t16/mine: must be one for each of 384 experts, "
        "got 3\n");
  CHECK(test::run_eplb({"validate", "--counts", counts}).code == 2);
}

TEST_CASE("calibrate writes a file that says how it was fitted, and loads") {
  const test::TempFolder folder;
  const std::string out = (folder.path() / "mine.yaml").string();
  const auto outcome = test::run_eplb({"calibrate", "--from", kTable, "--hardware", "gb300-nvl72",
                                       "--configs", kConfigs, "--out", out, "--date", "2026-11-30",
                                       "--machine", "a rack", "--bootstrap", "3", "--json", "-"});
  REQUIRE(outcome.code == 0);
  const Json json = Json::parse(outcome.out)["fits"][0];
  CHECK(json["device"] == "gb300");
  CHECK(json["parameters"].size() == 6);
  CHECK(json["fitted"]["rows"] == 57);
  CHECK(json["held_out"]["power_law_1.01"]["rows"] == 51);
  CHECK(json["left_out"].size() == 3);
  CHECK(json["other_devices"].contains("gb200"));
  const config::HardwareFile file = config::load_hardware(out, shipped()).value();
  CHECK(
      file.calibration.starts_with("6 figures fitted on 2026-11-30 to the 57 balanced rows of "
                                   "gb300 in "));
  CHECK(file.calibration.find("measured on a rack") != std::string::npos);
  CHECK(file.options.hbm_efficiency == json["parameters"][0]["value"].get<double>());
}

TEST_CASE("calibrate fits every device of a table, but writes one file") {
  const auto run = [](std::vector<std::string> options) {
    options.insert(options.begin(),
                   {"calibrate", "--from", kTable, "--configs", kConfigs, "--bootstrap", "1"});
    return test::run_eplb(options);
  };
  const auto both = run({"--json", "-"});
  REQUIRE(both.code == 0);
  const Json fits = Json::parse(both.out)["fits"];
  REQUIRE(fits.size() == 2);
  CHECK(fits[0]["device"] == "gb200");
  CHECK(fits[1]["device"] == "gb300");
  const auto ambiguous = run({"--out", "-"});
  CHECK(ambiguous.code == 2);
  CHECK(
      ambiguous.err ==
      "eplb calibrate: error: the table has rows of gb200, gb300: choose whose file --out is with "
      "--hardware\n");
  const auto other = run({"--hardware", "h200-hgx8"});
  CHECK(other.code == 2);
  CHECK(other.err ==
        "eplb calibrate: error: the table has no row of NVIDIA H200, only of gb200, gb300\n");
}

}  // namespace
}  // namespace eplb::cli
