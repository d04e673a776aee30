#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "search_report.hpp"

namespace eplb::cli {

/// How far a candidate is from the base by one objective, for people: `+0.52 +- 0.10 %`, with the
/// sign that the figure itself has, so that less memory is `-9.30 %`; `=` where it does not differ.
[[nodiscard]] std::string change_text(const Advantage& advantage,
                                      placement::SearchObjective objective);

/// `97.5 %`; never 0 or 100 % for what is not certain.
[[nodiscard]] std::string probability_text(double probability);

/// Which setting is better than the base, by how much, with what confidence and at what price.
[[nodiscard]] std::string search_sentence(const SearchReport& report,
                                          const std::vector<FrontRow>& front);

}  // namespace eplb::cli
