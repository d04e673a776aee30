#include "validate_command.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "config_arguments.hpp"
#include "eplb/cli/output_file.hpp"
#include "eplb/cli/progress.hpp"
#include "kernel_layers.hpp"
#include "validate_report.hpp"

namespace eplb::cli {
namespace {

constexpr std::string_view kName = "validate";
constexpr std::string_view kPublished = "published/vllm.yaml";
constexpr std::string_view kMeasurements = "measurements/deepseek-v4-megamoe.json";

CommandSyntax syntax() {
  return {.name = kName,
          .usage = "[--table FILE [--counts FILE]] [options]",
          .about =
              "Predicts every published figure and every measured table that is shipped, and says "
              "how far off\neach prediction is, whether it was fitted or held out, and whether it "
              "is inside the published\nspread. With --table it predicts a table of kernel times "
              "of your own with the shipped hardware of\neach row's device; nothing is fitted. "
              "Exit code 1 if a bar is missed.",
          .example =
              "  eplb validate --json validation.json\n"
              "  eplb validate --table mine.csv --counts mine.json",
          .positionals = {},
          .options = {{.name = "table",
                       .value_name = "FILE",
                       .help = "a CSV: device, ep, tokens_per_rank, hidden, inter, experts, top_k, "
                               "distribution, latency_us; or measurements in JSON"},
                      {.name = "counts",
                       .value_name = "FILE",
                       .help = "tokens of each expert, by experts/epN/tT/distribution; rows "
                               "without are skipped, balanced ones need none"},
                      configs_option(),
                      json_option()}};
}

/// The directory of configurations that has the published figures.
std::optional<std::filesystem::path> configs_with_figures(const config::LoadOptions& options) {
  for (const std::filesystem::path& directory : options.config_dirs) {
    std::error_code error;
    if (std::filesystem::exists(directory / kPublished, error)) {
      return directory;
    }
  }
  return std::nullopt;
}

Result<Validation> validate_shipped(const config::LoadOptions& options, const Streams& streams) {
  const auto configs = configs_with_figures(options);
  if (!configs.has_value()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("no directory of configurations has {}", kPublished));
  }
  auto published = read_published(*configs / kPublished);
  if (!published) {
    return tl::unexpected(std::move(published).error());
  }
  auto measurements = read_measurements(*configs / kMeasurements, std::nullopt);
  if (!measurements) {
    return tl::unexpected(std::move(measurements).error());
  }
  Progress progress(streams);
  return validate_all({.configs = *configs,
                       .load_options = options,
                       .published = *std::move(published),
                       .measurements = *std::move(measurements),
                       .progress = [&](const std::string& text) { progress.show(text); }});
}

Result<TablePrediction> predict_given(const std::string& table,
                                      const std::optional<std::string>& counts,
                                      const config::LoadOptions& options) {
  const auto measurements = read_measurements(table, counts);
  if (!measurements) {
    return tl::unexpected(measurements.error());
  }
  return predict_table(*measurements, options, {});
}

}  // namespace

ExitCode run_validate(std::span<const std::string> arguments, const Streams& streams) {
  auto values = parse_command_line(syntax(), arguments, streams);
  if (!values) {
    return values.error();
  }
  const std::optional<std::string> table = values->text("table");
  const std::optional<std::string> counts = values->text("counts");
  const std::optional<std::string> json_target = values->text("json");
  if (counts.has_value() && !table.has_value()) {
    values->note_problem("--counts: belongs to --table, which is missing");
  }
  if (values->report_problems(streams)) {
    return ExitCode::kUsage;
  }
  const auto refuse = [&](const Error& error) {
    print_error(streams, kName, error.message);
    return ExitCode::kUsage;
  };
  auto json = OutputFile::open(json_target, streams.out);
  if (!json) {
    return refuse(json.error());
  }
  const config::LoadOptions options = load_options(*values);
  nlohmann::ordered_json document;
  bool holds = true;
  if (table.has_value()) {
    const auto prediction = predict_given(*table, counts, options);
    if (!prediction) {
      return refuse(prediction.error());
    }
    document = table_json(*prediction);
    if (!json->takes_standard_output()) {
      print_table_prediction(*prediction, streams.out);
    }
  } else {
    const auto validation = validate_shipped(options, streams);
    if (!validation) {
      return refuse(validation.error());
    }
    holds = validation->holds();
    document = validation_json(*validation);
    if (!json->takes_standard_output()) {
      print_validation(*validation, streams.out);
    }
  }
  const auto written = json->write(document);
  if (!written) {
    return refuse(written.error());
  }
  return holds ? ExitCode::kDone : ExitCode::kFailureFound;
}

}  // namespace eplb::cli
