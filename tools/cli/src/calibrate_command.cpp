#include "calibrate_command.hpp"

#include <fmt/core.h>

#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>

#include "calibrate_report.hpp"
#include "config_arguments.hpp"
#include "eplb/cli/output_file.hpp"
#include "eplb/cli/progress.hpp"
#include "hardware_lookup.hpp"
#include "kernel_layers.hpp"

namespace eplb::cli {
namespace {

constexpr std::string_view kName = "calibrate";

CommandSyntax syntax() {
  return {.name = kName,
          .usage = "--from FILE [--counts FILE] [--hardware NAME] [options]",
          .about =
              "Fits the figures of the expert kernel to measured times, and writes the hardware "
              "file that has\nthem. The fit sees the balanced rows of one device; all others are "
              "held out, and the report\nsays how well they are predicted. FILE is a CSV (device, "
              "ep, tokens_per_rank, hidden, inter,\nexperts, top_k, distribution, latency_us), or "
              "measurements as in configs/measurements.",
          .example =
              "  eplb calibrate --from configs/measurements/deepseek-v4-megamoe.json "
              "--hardware gb200-nvl72\n"
              "  eplb calibrate --from mine.csv --counts mine.json --hardware b200-hgx8 --out "
              "mine.yaml",
          .positionals = {},
          .options = {{.name = "from", .value_name = "FILE", .help = "the measured times"},
                      {.name = "counts",
                       .value_name = "FILE",
                       .help = "tokens of each expert, by experts/epN/tT/distribution; balanced "
                               "rows need none"},
                      {.name = "hardware",
                       .value_name = "NAME",
                       .help = "hardware to start from, whose device's rows are fitted; without "
                               "it, that of each device of the table"},
                      {.name = "out",
                       .value_name = "FILE",
                       .help = "where to write the hardware file; - is the standard output"},
                      {.name = "machine",
                       .value_name = "TEXT",
                       .help = "what the times were measured on, for the file"},
                      {.name = "date",
                       .value_name = "YYYY-MM-DD",
                       .help = "the day to write into the file (today)"},
                      {.name = "bootstrap",
                       .value_name = "N",
                       .help = "fits of resampled rows, for the intervals (200)"},
                      configs_option(),
                      json_option()}};
}

struct Inputs {
  formats::KernelMeasurements measurements;
  std::vector<sim::MeasuredLayer> layers;
  std::set<std::string> devices;
};

Result<Inputs> read_inputs(const std::string& from, const std::optional<std::string>& counts) {
  auto measurements = read_measurements(from, counts);
  if (!measurements) {
    return tl::unexpected(std::move(measurements).error());
  }
  auto layers = measured_layers(*measurements);
  if (!layers) {
    return tl::unexpected(std::move(layers).error());
  }
  Inputs inputs{
      .measurements = *std::move(measurements), .layers = *std::move(layers), .devices = {}};
  for (const sim::MeasuredLayer& layer : inputs.layers) {
    inputs.devices.insert(layer.device);
  }
  return inputs;
}

std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ", ") + word;
  }
  return text;
}

/// Which device of the table a hardware file is of.
std::optional<std::string> device_of(const config::HardwareFile& file,
                                     const std::set<std::string>& devices) {
  for (const std::string& device : devices) {
    if (config::names_device(device, file.options.device)) {
      return device;
    }
  }
  return std::nullopt;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm day{};
  ::gmtime_r(&now, &day);
  return fmt::format("{:04}-{:02}-{:02}", day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
}

using HardwareByDevice = std::map<std::string, config::HardwareFile>;

/// The devices to fit, with the hardware that each fit starts from: the one that was asked for, or
/// all of the table that have a file.
Result<HardwareByDevice> chosen(const Inputs& inputs, const std::optional<std::string>& hardware,
                                const HardwareByDevice& known, const config::LoadOptions& options) {
  if (!hardware.has_value()) {
    if (known.empty()) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("no hardware file names a device of the table ({}): choose one to "
                              "start from with --hardware",
                              joined(inputs.devices)));
    }
    return known;
  }
  auto file = hardware_file(*hardware, options);
  if (!file) {
    return tl::unexpected(std::move(file).error());
  }
  const auto device = device_of(*file, inputs.devices);
  if (!device.has_value()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the table has no row of {}, only of {}", file->options.device,
                            joined(inputs.devices)));
  }
  return HardwareByDevice{{*device, *std::move(file)}};
}

Result<CalibrationReport> fit_device(const Inputs& inputs, const std::string& device,
                                     const config::HardwareFile& file,
                                     const HardwareByDevice& known, std::int32_t samples) {
  CalibrationRequest request{.layers = inputs.layers,
                             .device = device,
                             .start = file.options,
                             .others = {},
                             .bootstrap_samples = samples};
  for (const auto& other : known) {
    if (other.first != device) {
      request.others.emplace_back(other.first, other.second.options);
    }
  }
  auto calibration = calibrate(request);
  if (!calibration) {
    return fail(calibration.error().code,
                fmt::format("{}: {}", device, calibration.error().message));
  }
  CalibrationReport report{.file = file, .device = device, .calibration = *std::move(calibration)};
  report.file.options = report.calibration.fitted;
  for (const sim::FittedFigure& figure : report.calibration.figures) {
    report.file.sources[std::string(figure.parameter->key)] = fmt::format(
        "fitted, see calibration; nine fits of ten of resampled rows give {:.4g} to {:.4g}",
        figure.low, figure.high);
  }
  return report;
}

Result<std::vector<CalibrationReport>> fit_all(const Inputs& inputs,
                                               const std::optional<std::string>& hardware,
                                               const config::LoadOptions& options,
                                               std::int32_t samples) {
  const auto known = hardware_of_devices(inputs.devices, options);
  if (!known) {
    return tl::unexpected(known.error());
  }
  const auto files = chosen(inputs, hardware, *known, options);
  if (!files) {
    return tl::unexpected(files.error());
  }
  std::vector<CalibrationReport> reports;
  reports.reserve(files->size());
  for (const auto& file : *files) {
    auto report = fit_device(inputs, file.first, file.second, *known, samples);
    if (!report) {
      return tl::unexpected(std::move(report).error());
    }
    reports.push_back(*std::move(report));
  }
  return reports;
}

}  // namespace

ExitCode run_calibrate(std::span<const std::string> arguments, const Streams& streams) {
  auto values = parse_command_line(syntax(), arguments, streams);
  if (!values) {
    return values.error();
  }
  const std::string from = values->required_text("from");
  const std::optional<std::string> counts = values->text("counts");
  const std::optional<std::string> hardware = values->text("hardware");
  const std::optional<std::string> out_target = values->text("out");
  const std::optional<std::string> json_target = values->text("json");
  const std::string machine = values->text("machine").value_or("");
  const std::string date = values->text("date").value_or(today());
  const std::int32_t samples =
      values->integer("bootstrap", {.min = 1, .max = 10000, .fallback = 200});
  if (values->report_problems(streams)) {
    return ExitCode::kUsage;
  }
  const auto refuse = [&](const Error& error) {
    print_error(streams, kName, error.message);
    return ExitCode::kUsage;
  };
  auto json = OutputFile::open(json_target, streams.out);
  auto out_file = OutputFile::open(out_target, streams.out);
  if (!json || !out_file) {
    return refuse(json ? out_file.error() : json.error());
  }
  const auto inputs = read_inputs(from, counts);
  if (!inputs) {
    return refuse(inputs.error());
  }
  Progress progress(streams);
  progress.show("fitting");
  auto reports = fit_all(*inputs, hardware, load_options(*values), samples);
  progress.clear();
  if (!reports) {
    return refuse(reports.error());
  }
  if (out_file->wanted() && reports->size() > 1) {
    return refuse({.code = ErrorCode::kInvalidArgument,
                   .message = fmt::format("the table has rows of {}: choose whose file --out is "
                                          "with --hardware",
                                          joined(inputs->devices)),
                   .site = {}});
  }
  for (CalibrationReport& report : *reports) {
    report.file.calibration = calibration_summary(
        report, {.source = inputs->measurements.source, .machine = machine, .date = date});
    if (!json->takes_standard_output() && !out_file->takes_standard_output()) {
      print_calibration(report, streams.out);
    }
  }
  const auto written = out_file->write(
      [&](std::ostream& out) { out << config::hardware_yaml(reports->front().file); });
  if (!written) {
    return refuse(written.error());
  }
  const auto json_written = json->write(calibrations_json(*reports));
  return json_written ? ExitCode::kDone : refuse(json_written.error());
}

}  // namespace eplb::cli
