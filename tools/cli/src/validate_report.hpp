#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>

#include "table_validation.hpp"
#include "validation.hpp"

namespace eplb::cli {

[[nodiscard]] nlohmann::ordered_json validation_json(const Validation& validation);
void print_validation(const Validation& validation, std::ostream& out);

[[nodiscard]] nlohmann::ordered_json table_json(const TablePrediction& prediction);
void print_table_prediction(const TablePrediction& prediction, std::ostream& out);

}  // namespace eplb::cli
