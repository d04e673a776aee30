#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace eplb::cli {

/// Text in aligned columns, for people. Cells are ASCII.
class Table {
 public:
  enum class Align : std::uint8_t { kLeft, kRight };

  explicit Table(std::vector<Align> columns) : columns_(std::move(columns)) {}

  /// Adds a row, of at most as many cells as there are columns.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  /// Columns two spaces apart, nothing after a line's last cell.
  void print(std::ostream& out) const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace eplb::cli
