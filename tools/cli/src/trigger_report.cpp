#include "trigger_report.hpp"

#include <fmt/core.h>

#include <ostream>
#include <string>

#include "eplb/cli/table.hpp"

namespace eplb::cli {
namespace {

constexpr double kMsPerNs = 1e-6;

/// Of one rearrangement, or of several.
struct Row {
  std::string start;
  std::int64_t proposed = 0;
  std::int64_t migrated = 0;
  std::int64_t declined = 0;
  double gain_ms = 0;
  double price_ms = 0;
  double declined_gain_ms = 0;
  double declined_price_ms = 0;

  Row& operator+=(const Row& other) {
    proposed += other.proposed;
    migrated += other.migrated;
    declined += other.declined;
    gain_ms += other.gain_ms;
    price_ms += other.price_ms;
    declined_gain_ms += other.declined_gain_ms;
    declined_price_ms += other.declined_price_ms;
    return *this;
  }
};

Row row_of(const Rearrangement& rearrangement) {
  const TriggerVerdict& verdict = *rearrangement.verdict;
  return {.start = fmt::format("{}", rearrangement.start_step),
          .proposed = rearrangement.proposed_layers,
          .migrated = rearrangement.committed_layers,
          .declined = verdict.declined_layers,
          .gain_ms = verdict.gain_ns * kMsPerNs,
          .price_ms = verdict.price_ns * kMsPerNs,
          .declined_gain_ms = verdict.declined_gain_ns * kMsPerNs,
          .declined_price_ms = verdict.declined_price_ns * kMsPerNs};
}

void add(Table& table, const Row& row) {
  table.add({row.start, fmt::format("{}", row.proposed), fmt::format("{}", row.migrated),
             fmt::format("{}", row.declined), fmt::format("{:.2f}", row.gain_ms),
             fmt::format("{:.2f}", row.price_ms), fmt::format("{:.2f}", row.declined_gain_ms),
             fmt::format("{:.2f}", row.declined_price_ms)});
}

}  // namespace

nlohmann::ordered_json trigger_json(const Rearrangement& rearrangement) {
  const TriggerVerdict& verdict = *rearrangement.verdict;
  return {{"proposed_layers", rearrangement.proposed_layers},
          {"migrated_layers", rearrangement.committed_layers},
          {"declined_layers", verdict.declined_layers},
          {"cooling_layers", verdict.cooling_layers},
          {"gain_ms", verdict.gain_ns * kMsPerNs},
          {"price_ms", verdict.price_ns * kMsPerNs},
          {"declined_gain_ms", verdict.declined_gain_ns * kMsPerNs},
          {"declined_price_ms", verdict.declined_price_ns * kMsPerNs}};
}

void print_trigger(std::span<const sim::RearrangementReport> reports, std::ostream& out) {
  constexpr std::size_t kRowsMax = 12;
  using Align = Table::Align;
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
               Align::kRight, Align::kRight, Align::kRight});
  table.add({"trigger at step", "proposed", "migrated", "stayed", "gain, ms", "price, ms",
             "declined gain", "and price"});
  Row total{.start = "all"};
  std::size_t asked = 0;
  for (const sim::RearrangementReport& report : reports) {
    if (!report.rearrangement.verdict.has_value()) {
      continue;
    }
    const Row row = row_of(report.rearrangement);
    total += row;
    if (++asked <= kRowsMax) {
      add(table, row);
    }
  }
  if (asked == 0) {
    return;
  }
  if (asked > kRowsMax) {
    table.add({fmt::format("{} more", asked - kRowsMax), "", "", "", "", "", "", ""});
  }
  add(table, total);
  out << "layers, and gains as predicted over the horizon:\n";
  table.print(out);
}

}  // namespace eplb::cli
