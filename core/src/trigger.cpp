#include "eplb/core/trigger.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "eplb/core/assert.hpp"
#include "eplb/core/layer_migration.hpp"
#include "eplb/core/migration_cost.hpp"
#include "expected_layer_time.hpp"
#include "load_forecast.hpp"

namespace eplb {
namespace {

class Trigger {
 public:
  Trigger(const PolicyProblem& problem, const TriggerProblem& trigger)
      : problem_(problem),
        trigger_(trigger),
        layer_time_(problem.costs.layer),
        window_(window_load(problem)) {}

  /// Whether the layer is to become `proposed`, another than it is.
  [[nodiscard]] bool migrates(LayerId layer, const LayerPlacement& proposed) {
    ++verdict_.proposed_layers;
    const std::int64_t since_move = trigger_.rearrangements_since_move[layer.index()];
    if (since_move > 0 && since_move <= trigger_.options.cool_down) {
      ++verdict_.declined_layers;
      ++verdict_.cooling_layers;
      return false;
    }
    const LayerPlacement& current = problem_.current->layer(layer);
    const double price_ns =
        trigger_.options.price * migration_ns(problem_.costs.migration,
                                              plan_layer_migration(layer, current, proposed),
                                              proposed, trigger_.row_bytes[layer.index()]);
    const Prediction prediction = predict(layer, proposed);
    const auto steps = static_cast<double>(trigger_.horizon_steps);
    const double margin_ns = trigger_.options.hysteresis * prediction.time_ns;
    const bool pays = steps * (prediction.gain_ns - margin_ns) > price_ns;
    (pays ? verdict_.gain_ns : verdict_.declined_gain_ns) += steps * prediction.gain_ns;
    (pays ? verdict_.price_ns : verdict_.declined_price_ns) += price_ns;
    verdict_.declined_layers += pays ? 0 : 1;
    return pays;
  }

  [[nodiscard]] const TriggerVerdict& verdict() const { return verdict_; }

 private:
  /// Of one forward.
  struct Prediction {
    double time_ns = 0;  ///< As the layer is.
    double gain_ns = 0;  ///< What it takes less as it is proposed; may be negative.
  };

  [[nodiscard]] Prediction predict(LayerId layer, const LayerPlacement& proposed) {
    LayerForecast forecast = forecast_layer(problem_.history, layer.value);
    const double picks = window_.row(layer.value).sum() / problem_.window_steps;
    forecast.shares *= picks;
    for (ShareRow& error : forecast.errors) {
      error *= picks;
    }
    const ExpectedTokens tokens{
        .layer = layer,
        .by_expert = {forecast.shares.data(), static_cast<std::size_t>(forecast.shares.size())},
        .doubts = forecast.errors};
    const double time_ns = layer_time_.ns(problem_.current->layer(layer), tokens);
    return {.time_ns = time_ns, .gain_ns = time_ns - layer_time_.ns(proposed, tokens)};
  }

  const PolicyProblem& problem_;
  const TriggerProblem& trigger_;
  ExpectedLayerTime layer_time_;
  RealLoadMatrix window_;
  TriggerVerdict verdict_;
};

}  // namespace

SelectedLayers select_layers(const PolicyProblem& problem, const Placement& proposed,
                             const TriggerProblem& trigger) {
  EPLB_ASSERT(problem.current != nullptr);
  EPLB_ASSERT(problem.current->shape() == proposed.shape());
  EPLB_ASSERT(problem.window_steps > 0);
  Trigger asked(problem, trigger);
  Placement selected = *problem.current;
  for (std::int32_t index = 0; index < proposed.shape().layer_count; ++index) {
    const LayerId layer{index};
    if (selected.layer(layer) != proposed.layer(layer) &&
        asked.migrates(layer, proposed.layer(layer))) {
      selected = std::move(selected).with_layer(layer, proposed.layer(layer));
    }
  }
  return {.placement = std::move(selected), .verdict = asked.verdict()};
}

}  // namespace eplb
