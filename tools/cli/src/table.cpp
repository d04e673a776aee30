#include "eplb/cli/table.hpp"

#include <algorithm>
#include <cstddef>
#include <ostream>

namespace eplb::cli {

void Table::print(std::ostream& out) const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column) {
      const std::string padding(widths[column] - row[column].size(), ' ');
      line += column == 0 ? "" : "  ";
      line += columns_[column] == Align::kLeft ? row[column] + padding : padding + row[column];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

}  // namespace eplb::cli
