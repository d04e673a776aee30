#include "eplb/formats/kernel_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "json_text.hpp"
#include "text.hpp"
#include "text_file.hpp"

namespace eplb::formats {
namespace {

struct Cell {
  std::string_view text;
  std::size_t column = 1;  ///< In the line, in bytes, from 1.
};

std::vector<Cell> cells_of(std::string_view line) {
  std::vector<Cell> cells;
  std::size_t begin = 0;
  while (begin <= line.size()) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    cells.push_back({.text = line.substr(begin, end - begin), .column = begin + 1});
    begin = end + 1;
  }
  return cells;
}

enum ColumnIndex : std::size_t {
  kDevice,
  kRanks,
  kTokens,
  kHidden,
  kIntermediate,
  kExperts,
  kTopK,
  kDistribution,
  kLatency,
  kColumnCount
};

constexpr std::array<std::string_view, kColumnCount> kColumns{
    "device",  "ep",    "tokens_per_rank", "hidden",    "inter",
    "experts", "top_k", "distribution",    "latency_us"};

/// One line of the table, and what is wrong with it.
class LineReader {
 public:
  LineReader(std::string_view source, std::int64_t line, std::vector<Cell> cells,
             const std::array<std::size_t, kColumnCount>& columns)
      : source_(source), line_(line), cells_(std::move(cells)), columns_(columns) {}

  std::string word(ColumnIndex column) {
    const Cell& cell = cells_[columns_[column]];
    if (cell.text.empty()) {
      note(cell, column, "must be a word, got nothing");
    }
    return std::string(cell.text);
  }

  template <typename Integer>
  Integer whole(ColumnIndex column, Integer most) {
    const Cell& cell = cells_[columns_[column]];
    Integer value = 0;
    const char* const end = cell.text.data() + cell.text.size();
    const auto [stopped, error] = std::from_chars(cell.text.data(), end, value);
    if (error != std::errc() || stopped != end || value < 1 || value > most) {
      note(cell, column,
           concat({"must be a whole number from 1 to ", std::to_string(most), ", got ",
                   printable(cell.text)}));
    }
    return value;
  }

  double positive(ColumnIndex column) {
    const Cell& cell = cells_[columns_[column]];
    double value = 0;
    const char* const end = cell.text.data() + cell.text.size();
    const auto [stopped, error] = std::from_chars(cell.text.data(), end, value);
    if (error != std::errc() || stopped != end || !std::isfinite(value) || value <= 0) {
      note(cell, column, concat({"must be a number above 0, got ", printable(cell.text)}));
    }
    return value;
  }

  [[nodiscard]] const std::optional<Error>& problem() const { return problem_; }

 private:
  void note(const Cell& cell, ColumnIndex column, std::string_view what) {
    if (!problem_.has_value()) {
      problem_ = fail(ErrorCode::kInvalidArgument,
                      concat({source_, ":", std::to_string(line_), ":", std::to_string(cell.column),
                              ": error: ", kColumns[column], ": ", what}))
                     .value();
    }
  }

  std::string_view source_;
  std::int64_t line_;
  std::vector<Cell> cells_;
  const std::array<std::size_t, kColumnCount>& columns_;
  std::optional<Error> problem_;
};

tl::unexpected<Error> fail_at_line(std::string_view source, std::int64_t line,
                                   std::string_view what) {
  return fail(ErrorCode::kInvalidArgument,
              concat({source, ":", std::to_string(line), ":1: error: ", what}));
}

/// Lines without their ends; a last empty one is none.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

constexpr std::int32_t kWidthMax = 1 << 17;
constexpr std::int32_t kExpertsMax = 1 << 14;
constexpr std::int32_t kRanksMax = 1024;
constexpr std::int64_t kTokensMax = std::int64_t{1} << 24;

Result<KernelRow> read_row(LineReader& reader, std::string_view source, std::int64_t line) {
  KernelRow row{.line = line,
                .device = reader.word(kDevice),
                .ranks = reader.whole<std::int32_t>(kRanks, kRanksMax),
                .tokens_per_rank = reader.whole<std::int64_t>(kTokens, kTokensMax),
                .hidden = reader.whole<std::int32_t>(kHidden, kWidthMax),
                .intermediate = reader.whole<std::int32_t>(kIntermediate, kWidthMax),
                .experts = reader.whole<std::int32_t>(kExperts, kExpertsMax),
                .top_k = reader.whole<std::int32_t>(kTopK, kExpertsMax),
                .distribution = reader.word(kDistribution),
                .latency_us = reader.positive(kLatency)};
  if (reader.problem().has_value()) {
    return tl::unexpected(*reader.problem());
  }
  if (row.experts % row.ranks != 0) {
    return fail_at_line(source, line,
                        concat({"ep: ", std::to_string(row.ranks), " ranks do not divide ",
                                std::to_string(row.experts), " experts"}));
  }
  if (row.top_k > row.experts) {
    return fail_at_line(source, line, "top_k: must be at most experts");
  }
  return row;
}

}  // namespace

std::string counts_key(const KernelRow& row) {
  return concat({std::to_string(row.experts), "/ep", std::to_string(row.ranks), "/t",
                 std::to_string(row.tokens_per_rank), "/", row.distribution});
}

Result<std::vector<KernelRow>> parse_kernel_table(std::string_view text,
                                                  std::string_view source_name) {
  const std::vector<std::string_view> lines = lines_of(text);
  if (lines.empty()) {
    return fail_at_line(source_name, 1, "the file is empty, its first line must name the columns");
  }
  const std::vector<Cell> heads = cells_of(lines.front());
  std::array<std::size_t, kColumnCount> columns{};
  for (std::size_t column = 0; column < kColumns.size(); ++column) {
    const auto head = std::ranges::find(heads, kColumns[column], &Cell::text);
    if (head == heads.end()) {
      return fail_at_line(
          source_name, 1,
          concat({"column ", kColumns[column],
                  " is missing; needed are device, ep, tokens_per_rank, hidden, inter, experts, "
                  "top_k, distribution, latency_us"}));
    }
    columns[column] = static_cast<std::size_t>(head - heads.begin());
  }
  std::vector<KernelRow> rows;
  rows.reserve(lines.size());
  for (std::size_t index = 1; index < lines.size(); ++index) {
    const auto line = static_cast<std::int64_t>(index + 1);
    if (lines[index].empty()) {
      continue;
    }
    std::vector<Cell> cells = cells_of(lines[index]);
    if (cells.size() != heads.size()) {
      const std::string given = std::to_string(cells.size());
      const std::string named = std::to_string(heads.size());
      return fail_at_line(
          source_name, line,
          concat({"has ", given, " cells where the first line names ", named, " columns"}));
    }
    LineReader reader(source_name, line, std::move(cells), columns);
    auto row = read_row(reader, source_name, line);
    if (!row) {
      return tl::unexpected(std::move(row).error());
    }
    rows.push_back(*std::move(row));
  }
  return rows;
}

Result<std::vector<KernelRow>> read_kernel_table(const std::filesystem::path& path) {
  const auto text = read_text(path);
  return text ? parse_kernel_table(*text, path.string()) : tl::unexpected(text.error());
}

}  // namespace eplb::formats
