#include "calibrate_report.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "eplb/cli/run.hpp"
#include "eplb/cli/table.hpp"
#include "error_texts.hpp"

namespace eplb::cli {
namespace {

using Json = nlohmann::ordered_json;

void print_errors(const std::string& title, const std::vector<NamedErrors>& errors, Table& table) {
  for (const NamedErrors& one : errors) {
    table.add({title, one.name, fmt::format("{}", one.errors.rows),
               percent(one.errors.mean_absolute), signed_percent(one.errors.bias),
               signed_percent(one.errors.worst)});
  }
}

Json named_errors_json(const std::vector<NamedErrors>& errors) {
  Json json = Json::object();
  for (const NamedErrors& one : errors) {
    json[one.name] = errors_json(one.errors);
  }
  return json;
}

Json report_json(const CalibrationReport& report) {
  Json parameters = Json::array();
  for (const sim::FittedFigure& figure : report.calibration.figures) {
    parameters.push_back({{"key", std::string(figure.parameter->key)},
                          {"value", figure.value},
                          {"low", figure.low},
                          {"high", figure.high},
                          {"unit", std::string(figure.parameter->unit)}});
  }
  return {{"device", report.device},
          {"calibration", report.file.calibration},
          {"parameters", std::move(parameters)},
          {"fitted", errors_json(report.calibration.balanced)},
          {"held_out", named_errors_json(report.calibration.held_out)},
          {"left_out", named_errors_json(report.calibration.left_out_ranks)},
          {"other_devices", named_errors_json(report.calibration.other_devices)}};
}

}  // namespace

std::string calibration_summary(const CalibrationReport& report, const MeasurementOrigin& origin) {
  const Calibration& calibration = report.calibration;
  std::string text = fmt::format(
      "{} figures fitted on {} to the {} balanced rows of {} in {}{}: mean absolute error {} on "
      "them, bias {}, worst {}.",
      calibration.figures.size(), origin.date, calibration.balanced.rows, report.device,
      origin.source, origin.machine.empty() ? "" : ", measured on " + origin.machine,
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

void print_calibration(const CalibrationReport& report, std::ostream& out) {
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

nlohmann::ordered_json calibrations_json(const std::vector<CalibrationReport>& reports) {
  Json fits = Json::array();
  for (const CalibrationReport& report : reports) {
    fits.push_back(report_json(report));
  }
  return {{"schema", "eplb.calibrate/1"},
          {"version", std::string(version())},
          {"fits", std::move(fits)}};
}

}  // namespace eplb::cli
