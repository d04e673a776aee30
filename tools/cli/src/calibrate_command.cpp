#include "calibrate_command.hpp"

#include <fmt/core.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>

#include "calibration.hpp"
#include "config_arguments.hpp"
#include "eplb/cli/output_file.hpp"
#include "eplb/cli/progress.hpp"
#include "eplb/cli/run.hpp"
#include "eplb/cli/table.hpp"
#include "hardware_lookup.hpp"
#include "kernel_layers.hpp"

namespace eplb::cli {
namespace {

using Json = nlohmann::ordered_json;

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
                               "it, that of the table's only device"},
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

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string signed_percent(double share) {
  return fmt::format("{:+.1f} %", 100 * share);
}

struct Report {
  config::HardwareFile file;  ///< Of the fitted hardware.
  std::string device;
  Calibration calibration;
};

/// What the file says of its fit.
std::string summary(const Calibration& calibration, const std::string& device,
                    const std::string& source, const std::string& machine,
                    const std::string& date) {
  std::string text = fmt::format(
      "{} figures fitted on {} to the {} balanced rows of {} in {}{}: mean absolute error {} on "
      "them, bias {}, worst {}.",
      calibration.figures.size(), date, calibration.balanced.rows, device, source,
      machine.empty() ? "" : ", measured on " + machine,
      percent(calibration.balanced.mean_absolute), signed_percent(calibration.balanced.bias),
      signed_percent(calibration.balanced.worst));
  for (const NamedErrors& held : calibration.held_out) {
    text += fmt::format(" Held out, {}: {} of {} rows, worst {}.", held.name,
                        percent(held.errors.mean_absolute), held.errors.rows,
                        signed_percent(held.errors.worst));
  }
  if (!calibration.left_out_ranks.empty()) {
    text += " Each group size left out of the fit in turn:";
    for (const NamedErrors& left : calibration.left_out_ranks) {
      text += fmt::format("{} {} {}", &left == &calibration.left_out_ranks.front() ? "" : ",",
                          left.name, percent(left.errors.mean_absolute));
    }
    text += ".";
  }
  return text;
}

void print_errors(const std::string& title, const std::vector<NamedErrors>& errors, Table& table) {
  for (const NamedErrors& one : errors) {
    table.add({title, one.name, fmt::format("{}", one.errors.rows),
               percent(one.errors.mean_absolute), signed_percent(one.errors.bias),
               signed_percent(one.errors.worst)});
  }
}

void print_report(const Report& report, std::ostream& out) {
  using Align = Table::Align;
  const Calibration& calibration = report.calibration;
  out << fmt::format("eplb {} calibrate: the expert kernel of {}\n\n", version(),
                     report.file.options.device);
  Table figures({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  figures.add({"figure", "fitted", "5 %", "95 %", ""});
  for (const sim::FittedFigure& figure : calibration.figures) {
    figures.add({std::string(figure.parameter->key), fmt::format("{:.4g}", figure.value),
                 fmt::format("{:.4g}", figure.low), fmt::format("{:.4g}", figure.high),
                 std::string(figure.parameter->unit)});
  }
  figures.print(out);
  out << '\n';
  Table errors(
      {Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  errors.add({"", "rows", "count", "mean error", "bias", "worst"});
  print_errors("fitted", {{.name = "balanced", .errors = calibration.balanced}}, errors);
  print_errors("held out", calibration.held_out, errors);
  print_errors("left out", calibration.left_out_ranks, errors);
  print_errors("other device", calibration.other_devices, errors);
  errors.print(out);
}

Json errors_json(const sim::PredictionErrors& errors) {
  return {{"rows", errors.rows},
          {"mape", errors.mean_absolute},
          {"bias", errors.bias},
          {"worst", errors.worst}};
}

Json errors_json(const std::vector<NamedErrors>& errors) {
  Json json = Json::object();
  for (const NamedErrors& one : errors) {
    json[one.name] = errors_json(one.errors);
  }
  return json;
}

Json report_json(const Report& report) {
  Json parameters = Json::array();
  for (const sim::FittedFigure& figure : report.calibration.figures) {
    parameters.push_back({{"key", std::string(figure.parameter->key)},
                          {"value", figure.value},
                          {"low", figure.low},
                          {"high", figure.high},
                          {"unit", std::string(figure.parameter->unit)}});
  }
  return {{"schema", "eplb.calibrate/1"},
          {"version", std::string(version())},
          {"device", report.device},
          {"calibration", report.file.calibration},
          {"parameters", std::move(parameters)},
          {"fitted", errors_json(report.calibration.balanced)},
          {"held_out", errors_json(report.calibration.held_out)},
          {"left_out", errors_json(report.calibration.left_out_ranks)},
          {"other_devices", errors_json(report.calibration.other_devices)}};
}

Result<Report> work_out(const Inputs& inputs, const std::optional<std::string>& hardware,
                        const config::LoadOptions& options, std::int32_t samples) {
  const auto known = hardware_of_devices(inputs.devices, options);
  if (!known) {
    return tl::unexpected(known.error());
  }
  if (!hardware.has_value() && known->size() != 1) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the table has rows of {}: choose a device's hardware with --hardware",
                            joined(inputs.devices)));
  }
  auto file = hardware.has_value() ? hardware_file(*hardware, options)
                                   : Result<config::HardwareFile>(known->begin()->second);
  if (!file) {
    return tl::unexpected(file.error());
  }
  const auto device = device_of(*file, inputs.devices);
  if (!device.has_value()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the table has no row of {}, only of {}", file->options.device,
                            joined(inputs.devices)));
  }
  CalibrationRequest request{.layers = inputs.layers,
                             .device = *device,
                             .start = file->options,
                             .others = {},
                             .bootstrap_samples = samples};
  for (const auto& other : *known) {
    if (other.first != *device) {
      request.others.emplace_back(other.first, other.second.options);
    }
  }
  auto calibration = calibrate(request);
  if (!calibration) {
    return tl::unexpected(calibration.error());
  }
  Report report{
      .file = *std::move(file), .device = *device, .calibration = *std::move(calibration)};
  report.file.options = report.calibration.fitted;
  for (const sim::FittedFigure& figure : report.calibration.figures) {
    report.file.sources[std::string(figure.parameter->key)] = fmt::format(
        "fitted, see calibration; nine fits of ten of resampled rows give {:.4g} to "
        "{:.4g}",
        figure.low, figure.high);
  }
  return report;
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
  auto report = work_out(*inputs, hardware, load_options(*values), samples);
  progress.clear();
  if (!report) {
    return refuse(report.error());
  }
  report->file.calibration =
      summary(report->calibration, report->device, inputs->measurements.source, machine, date);
  if (!json->takes_standard_output() && !out_file->takes_standard_output()) {
    print_report(*report, streams.out);
  }
  const auto written =
      out_file->write([&](std::ostream& out) { out << config::hardware_yaml(report->file); });
  if (!written) {
    return refuse(written.error());
  }
  const auto json_written = json->write(report_json(*report));
  return json_written ? ExitCode::kDone : refuse(json_written.error());
}

}  // namespace eplb::cli
