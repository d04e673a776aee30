#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "eplb/formats/kernel_table.hpp"
#include "json_text.hpp"
#include "text.hpp"
#include "text_file.hpp"

namespace eplb::formats {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kCountMax = 9007199254740992.0;  // 2^53

/// A document that is read key by key; the first thing that is wrong is kept.
class Document {
 public:
  explicit Document(std::string_view source) : source_(source) {}

  std::optional<Json> parse(std::string_view text) {
    try {
      return Json::parse(text);
    } catch (const Json::parse_error& error) {
      const std::size_t at = error.byte > 0 ? error.byte - 1 : 0;
      problem_ = concat(
          {source_, ":", line_and_column(text, std::min(at, text.size())), ": error: is no JSON"});
    }
    return std::nullopt;
  }

  void note(std::string_view where, std::string_view what) {
    if (problem_.empty()) {
      problem_ = concat({source_, ": error: ", where, ": ", what});
    }
  }

  std::string text(const Json& object, const std::string& where, const char* key) {
    const auto value = object.is_object() ? object.find(key) : object.end();
    if (value == object.end() || !value->is_string()) {
      note(where + key, "must be a text");
      return {};
    }
    return value->get<std::string>();
  }

  std::int32_t positive(const Json& object, const std::string& where, const char* key) {
    const auto value = object.is_object() ? object.find(key) : object.end();
    if (value == object.end() || !value->is_number_integer() || value->get<double>() < 1 ||
        value->get<double>() > 1 << 24) {
      note(where + key, "must be a whole number from 1 to 16777216");
      return 1;
    }
    return value->get<std::int32_t>();
  }

  std::vector<double> numbers(const Json& object, const std::string& where, const char* key,
                              bool whole) {
    const auto value = object.is_object() ? object.find(key) : object.end();
    std::vector<double> out;
    if (value == object.end() || !value->is_array()) {
      note(where + key, "must be a list of numbers");
      return out;
    }
    out.reserve(value->size());
    for (const Json& one : *value) {
      const double number = one.is_number() ? one.get<double>() : -1;
      if (!(number >= 0 && number < kCountMax) || (whole && number != std::trunc(number))) {
        note(where + key + "[" + std::to_string(out.size()) + "]",
             whole ? "must be a whole number from 0" : "must be a number from 0");
      }
      out.push_back(number);
    }
    return out;
  }

  KernelCounts counts(const Json& object, const std::string& where) {
    KernelCounts out;
    if (!object.is_object()) {
      note(where, "must be an object of lists of counts");
      return out;
    }
    for (const auto& item : object.items()) {
      const std::vector<double> values = numbers(object, where, item.key().c_str(), true);
      out[item.key()].assign(values.begin(), values.end());
    }
    return out;
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  std::string_view source_;
  std::string problem_;
};

void read_series(const Json& series, const std::string& where, const KernelRow& shape,
                 Document& document, std::vector<KernelRow>& rows) {
  KernelRow row = shape;
  row.device = document.text(series, where, "device");
  row.ranks = document.positive(series, where, "ranks");
  row.distribution = document.text(series, where, "distribution");
  const std::vector<double> tokens = document.numbers(series, where, "tokens_per_rank", true);
  const std::vector<double> latencies = document.numbers(series, where, "latency_us", false);
  if (tokens.size() != latencies.size()) {
    document.note(where + "latency_us", "must have as many numbers as tokens_per_rank");
    return;
  }
  if (row.experts % row.ranks != 0) {
    document.note(where + "ranks", "must divide the experts");
  }
  for (std::size_t index = 0; index < tokens.size(); ++index) {
    row.line = static_cast<std::int64_t>(rows.size()) + 1;
    row.tokens_per_rank = static_cast<std::int64_t>(tokens[index]);
    row.latency_us = latencies[index];
    rows.push_back(row);
  }
}

}  // namespace

Result<KernelCounts> parse_kernel_counts(std::string_view text, std::string_view source_name) {
  Document document(source_name);
  const auto json = document.parse(text);
  KernelCounts counts = json.has_value() ? document.counts(*json, "") : KernelCounts{};
  if (!document.problem().empty()) {
    return fail(ErrorCode::kInvalidArgument, document.problem());
  }
  return counts;
}

Result<KernelCounts> read_kernel_counts(const std::filesystem::path& path) {
  const auto text = read_text(path);
  return text ? parse_kernel_counts(*text, path.string()) : tl::unexpected(text.error());
}

Result<KernelMeasurements> parse_kernel_measurements(std::string_view text,
                                                     std::string_view source_name) {
  Document document(source_name);
  const auto json = document.parse(text);
  KernelMeasurements measurements;
  if (json.has_value()) {
    measurements.source = document.text(*json, "", "source");
    measurements.licence = document.text(*json, "", "licence");
    const Json model = json->value("model", Json::object());
    const KernelRow shape{.device = {},
                          .hidden = document.positive(model, "model.", "hidden"),
                          .intermediate = document.positive(model, "model.", "intermediate"),
                          .experts = document.positive(model, "model.", "experts"),
                          .top_k = document.positive(model, "model.", "top_k"),
                          .distribution = {}};
    const Json series = json->value("series", Json::array());
    for (std::size_t index = 0; index < series.size(); ++index) {
      read_series(series[index], "series[" + std::to_string(index) + "].", shape, document,
                  measurements.rows);
    }
    measurements.counts = document.counts(json->value("counts", Json::object()), "counts.");
  }
  if (!document.problem().empty()) {
    return fail(ErrorCode::kInvalidArgument, document.problem());
  }
  return measurements;
}

Result<KernelMeasurements> read_kernel_measurements(const std::filesystem::path& path) {
  const auto text = read_text(path);
  return text ? parse_kernel_measurements(*text, path.string()) : tl::unexpected(text.error());
}

}  // namespace eplb::formats
