#include "sensitivity.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

namespace eplb::cli {
namespace {

// What a configuration allows.
constexpr double kRateMax = 1e6;
constexpr double kTimeMax = 1e6;
constexpr double kSpreadMax = 10;
constexpr double kExponentMax = 20;
constexpr double kRequestsMax = 1 << 20;
constexpr double kAssignmentsMax = std::numeric_limits<std::int32_t>::max();

/// One number of a scenario that can be moved.
struct Parameter {
  std::string_view name;
  /// Multiplies the number, within what is legal, and returns what it is then; none where the
  /// scenario has no such number, or 0.
  std::optional<double> (*scale)(sim::Scenario& scenario, double factor);
};

std::optional<double> scaled(double& value, double factor, double value_max) {
  if (value <= 0) {
    return std::nullopt;
  }
  value = std::min(value * factor, value_max);
  return value;
}

std::optional<double> scaled(std::optional<double>& value, double factor, double value_max) {
  return value.has_value() ? scaled(*value, factor, value_max) : std::nullopt;
}

/// A step's assignments of experts to rows must stay countable.
double requests_per_rank_max(const sim::Scenario& scenario) {
  std::int32_t top_k = scenario.model.top_k;
  for (const ModelOptions& draft : scenario.drafts) {
    top_k = std::max(top_k, draft.top_k);
  }
  const double per_request =
      static_cast<double>(scenario.parallel.ranks) * top_k * scenario.serving.tokens_per_request;
  return std::min(kRequestsMax, std::floor(kAssignmentsMax / per_request));
}

std::optional<double> scale_requests(sim::Scenario& scenario, double factor) {
  const double wanted = std::round(scenario.serving.requests_per_rank * factor);
  const double requests = std::clamp(wanted, 1.0, requests_per_rank_max(scenario));
  scenario.serving.requests_per_rank = static_cast<std::int32_t>(requests);
  return requests;
}

/// The number in a kind of routing; none where the scenario's is of another kind.
template <typename Routing>
std::optional<double> scale_routing(sim::Scenario& scenario, double Routing::*number, double factor,
                                    double value_max) {
  auto* const routing = std::get_if<Routing>(&scenario.workload.routing);
  return routing != nullptr ? scaled(routing->*number, factor, value_max) : std::nullopt;
}

constexpr std::array kParameters = std::to_array<Parameter>({
    {.name = "hardware.hbm_bandwidth_gb_per_s",
     .scale =
         [](sim::Scenario& scenario, double factor) {
           return scaled(scenario.hardware.hbm_bandwidth_gb_per_s, factor, kRateMax);
         }},
    {.name = "hardware.arithmetic_efficiency",
     .scale =
         [](sim::Scenario& scenario, double factor) {
           return scaled(scenario.hardware.arithmetic_efficiency, factor, 1);
         }},
    {.name = "hardware.nvlink_bandwidth_gb_per_s",
     .scale =
         [](sim::Scenario& scenario, double factor) {
           return scaled(scenario.hardware.nvlink_bandwidth_gb_per_s, factor, kRateMax);
         }},
    {.name = "hardware.expert_layer_start_us",
     .scale =
         [](sim::Scenario& scenario, double factor) {
           return scaled(scenario.hardware.expert_layer_start_us, factor, kTimeMax);
         }},
    {.name = "hardware.expert_row_bandwidth_gb_per_s",
     .scale =
         [](sim::Scenario& scenario, double factor) {
           return scaled(scenario.hardware.expert_row_bandwidth_gb_per_s, factor, kRateMax);
         }},
    {.name = "hardware.peer_copy_bandwidth_gb_per_s",
     .scale =
         [](sim::Scenario& scenario, double factor) {
           return scaled(scenario.hardware.peer_copy_bandwidth_gb_per_s, factor, kRateMax);
         }},
    {.name = "serving.other_kernels_ms.base",
     .scale =
         [](sim::Scenario& scenario, double factor) {
           return scaled(scenario.serving.other_kernels_base_ms, factor, kTimeMax);
         }},
    {.name = "serving.other_kernels_ms.per_request",
     .scale =
         [](sim::Scenario& scenario, double factor) {
           return scaled(scenario.serving.other_kernels_per_request_ms, factor, kTimeMax);
         }},
    {.name = "serving.requests_per_rank", .scale = scale_requests},
    {.name = "serving.rank_imbalance",
     .scale =
         [](sim::Scenario& scenario,
            double factor) { return scaled(scenario.serving.rank_imbalance, factor, kSpreadMax); }},
    {.name = "workload.routing.sigma",
     .scale =
         [](sim::Scenario& scenario, double factor) {
           return scale_routing(scenario, &sim::LognormalRouting::sigma, factor, kSpreadMax);
         }},
    // Zipf's and the power law's: a workload has one kind of routing.
    {.name = "workload.routing.exponent",
     .scale =
         [](sim::Scenario& scenario, double factor) {
           return scale_routing(scenario, &sim::ZipfRouting::exponent, factor, kExponentMax);
         }},
    {.name = "workload.routing.exponent",
     .scale =
         [](sim::Scenario& scenario, double factor) {
           return scale_routing(scenario, &sim::PowerLawRouting::exponent, factor, kExponentMax);
         }},
});

struct Movable {
  const Parameter* parameter = nullptr;
  double value = 0;
};

std::vector<Movable> movable_parameters(sim::Scenario scenario) {
  std::vector<Movable> movable;
  movable.reserve(kParameters.size());
  for (const Parameter& parameter : kParameters) {
    if (const auto value = parameter.scale(scenario, 1); value.has_value()) {
      movable.push_back({.parameter = &parameter, .value = *value});
    }
  }
  return movable;
}

double spread(std::initializer_list<double> values) {
  return std::max(values) - std::min(values);
}

/// How the runs lie in their batch: by parameter, then below or above its value, then without EPLB
/// or with it, then by seed.
class Layout {
 public:
  Layout(std::size_t parameter_count, std::size_t seed_count)
      : parameter_count_(parameter_count), seed_count_(seed_count) {}

  [[nodiscard]] std::size_t run_count() const { return parameter_count_ * 4 * seed_count_; }

  [[nodiscard]] std::size_t parameter(std::size_t run) const { return run / (4 * seed_count_); }

  [[nodiscard]] bool above(std::size_t run) const { return run / (2 * seed_count_) % 2 == 1; }

  [[nodiscard]] bool with_eplb(std::size_t run) const { return run / seed_count_ % 2 == 1; }

  [[nodiscard]] std::size_t seed(std::size_t run) const { return run % seed_count_; }

  [[nodiscard]] Gain gain(std::span<const sim::SimulationResult> runs, std::size_t parameter,
                          bool above) const {
    const auto both = runs.subspan((2 * parameter + (above ? 1 : 0)) * 2 * seed_count_);
    return paired_gain(both.first(seed_count_), both.subspan(seed_count_, seed_count_));
  }

 private:
  std::size_t parameter_count_;
  std::size_t seed_count_;
};

}  // namespace

Result<std::vector<ParameterEffect>> parameter_effects(const sim::Scenario& scenario,
                                                       const ArmComparison& comparison,
                                                       const BatchOptions& options) {
  const ArmResult& best = comparison.arms[comparison.best];
  const std::vector<Movable> movable = movable_parameters(scenario);
  const Layout layout(movable.size(), comparison.seeds.size());
  const RunBatch batch{
      .run_count = layout.run_count(),
      .step_total = scenario.run.steps * static_cast<std::int64_t>(layout.run_count()),
      .scenario_of = [&](std::size_t run) {
        const double factor = layout.above(run) ? 1 + kSensitivityShare : 1 - kSensitivityShare;
        sim::Scenario moved =
            arm_scenario(scenario, layout.with_eplb(run) ? std::optional(best.arm) : std::nullopt,
                         comparison.seeds[layout.seed(run)]);
        static_cast<void>(movable[layout.parameter(run)].parameter->scale(moved, factor));
        return moved;
      }};
  const auto results = simulate_batch(batch, options);
  if (!results) {
    return tl::unexpected(results.error());
  }
  std::vector<ParameterEffect> effects;
  effects.reserve(movable.size());
  for (std::size_t index = 0; index < movable.size(); ++index) {
    const Gain low = layout.gain(*results, index, false);
    const Gain high = layout.gain(*results, index, true);
    effects.push_back({.parameter = std::string(movable[index].parameter->name),
                       .value = movable[index].value,
                       .low = low,
                       .high = high,
                       .swing = spread({low.mean, best.gain.mean, high.mean})});
  }
  std::ranges::stable_sort(effects, std::ranges::greater(), &ParameterEffect::swing);
  return effects;
}

}  // namespace eplb::cli
