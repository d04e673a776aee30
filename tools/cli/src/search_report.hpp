#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "eplb/config/config.hpp"
#include "eplb/placement/search/search.hpp"
#include "search_candidates.hpp"
#include "search_statistics.hpp"

namespace eplb::cli {

/// All that `eplb search` reports. A function of the configuration alone: how many threads and
/// processes there were, and what a journal knew, leaves no trace in it.
struct SearchReport {
  const config::ResolvedConfig& config;
  std::string config_file;
  const CandidateList& candidates;
  placement::SearchOutcome outcome;
  std::size_t run_count = 0;  ///< That the result rests on, each once.
};

/// A member of the front, beside the base on the seeds that confirm it, or where there are none on
/// those that chose it.
struct FrontRow {
  std::size_t candidate = 0;  ///< In CandidateList::all; 0 is the base itself.
  std::optional<double> stays;
  std::vector<Advantage> advantages;  ///< By objective, in the order of the options.
};

[[nodiscard]] std::vector<FrontRow> front_rows(const SearchReport& report);

/// The place in `front`, which must not be empty, of the best by one objective, the first of
/// equals.
[[nodiscard]] std::size_t best_row(const SearchReport& report, const std::vector<FrontRow>& front,
                                   std::size_t objective);

/// As the configuration calls it.
[[nodiscard]] std::string_view method_name(const SearchReport& report);

/// The stable form for programs, schema "eplb.search/1", keys in a fixed order (docs/search.md).
[[nodiscard]] nlohmann::ordered_json search_json(const SearchReport& report);

/// The same for people.
void print_search(const SearchReport& report, std::ostream& out);

}  // namespace eplb::cli
