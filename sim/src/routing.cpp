#include "eplb/sim/routing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <utility>

namespace eplb::sim {
namespace {

/// NOTE [share grain]: shares are whole multiples of this, far finer than any count can tell. The
/// last bits of exp and pow differ between processors; this keeps them out of the draws, so that a
/// seed gives the same bytes on all of them.
constexpr double kShareGrain = 0x1.0p-24;

/// A random order of [0, count): Fisher and Yates' shuffle.
std::vector<std::int32_t> random_order(RandomStream& random, std::int32_t count) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[random.below(left)]);
  }
  return order;
}

/// One layer's weights drawn by a synthetic kind of routing.
class WeightDrawer {
 public:
  WeightDrawer(RandomStream& random, std::int32_t expert_count)
      : random_(random), expert_count_(expert_count) {}

  Eigen::RowVectorXd operator()(const UniformRouting& /*unused*/) const {
    return Eigen::RowVectorXd::Ones(expert_count_);
  }

  Eigen::RowVectorXd operator()(const ZipfRouting& zipf) const {
    Eigen::RowVectorXd weights(expert_count_);
    std::int32_t popularity = 0;
    for (const std::int32_t expert : random_order(random_, expert_count_)) {
      weights(expert) = std::pow(++popularity, -zipf.exponent);
    }
    return weights;
  }

  Eigen::RowVectorXd operator()(const LognormalRouting& lognormal) const {
    return draw([&] { return std::exp(lognormal.sigma * random_.normal()); });
  }

  Eigen::RowVectorXd operator()(const PowerLawRouting& law) const {
    return draw([&] { return power_law_weight(law, random_.uniform()); });
  }

 private:
  template <typename Draw>
  [[nodiscard]] Eigen::RowVectorXd draw(Draw weight) const {
    Eigen::RowVectorXd weights(expert_count_);
    for (double& cell : weights) {
      cell = weight();
    }
    return weights;
  }

  /// Inverse of the distribution function of the density w^-a on [1, m].
  static double power_law_weight(const PowerLawRouting& law, double uniform) {
    const double power = 1 - law.exponent;
    if (std::abs(power) < 1e-9) {
      return std::pow(law.weight_max, uniform);
    }
    return std::pow(1 + uniform * (std::pow(law.weight_max, power) - 1), 1 / power);
  }

  RandomStream& random_;
  std::int32_t expert_count_;
};

/// Weights of measured domains in the proportions of a phase; each domain counts by its shares
/// alone, however many tokens it was measured on.
RealLoadMatrix mix_domains(const DomainsRouting& routing, const DomainsRouting::Phase& phase) {
  RealLoadMatrix mixed = RealLoadMatrix::Zero(routing.domains.front().counts.rows(),
                                              routing.domains.front().counts.cols());
  for (std::size_t domain = 0; domain < routing.domains.size(); ++domain) {
    const RealLoadMatrix& counts = routing.domains[domain].counts;
    for (Eigen::Index layer = 0; layer < counts.rows(); ++layer) {
      const double total = counts.row(layer).sum();
      if (total > 0) {
        mixed.row(layer) += phase.shares[domain] / total * counts.row(layer);
      }
    }
  }
  return mixed;
}

template <typename Routing>
constexpr bool kIsSynthetic =
    !std::is_same_v<Routing, CountsRouting> && !std::is_same_v<Routing, DomainsRouting>;

}  // namespace

RoutingModel::RoutingModel(const ModelOptions& model, WorkloadOptions workload, std::uint64_t seed)
    : expert_count_(model.logical_experts),
      top_k_(model.top_k),
      workload_(std::move(workload)),
      drift_random_(seed, "drift"),
      base_(RealLoadMatrix::Zero(model.moe_layers, model.logical_experts)),
      log_factors_(base_),
      shares_(base_) {
  RandomStream random(seed, "routing");
  const WeightDrawer draw_weights(random, model.logical_experts);
  std::vector<std::int32_t> in_place(static_cast<std::size_t>(model.logical_experts));
  std::iota(in_place.begin(), in_place.end(), 0);
  dealt_.assign(static_cast<std::size_t>(model.moe_layers), in_place);
  std::visit(
      [&](const auto& routing) {
        if constexpr (kIsSynthetic<std::decay_t<decltype(routing)>>) {
          for (std::int32_t layer = 0; layer < model.moe_layers; ++layer) {
            base_.row(layer) = draw_weights(routing);
          }
        }
      },
      workload_.routing);
}

const RealLoadMatrix& RoutingModel::shares_at(std::int64_t step) {
  const bool base_changed = base_changes_at(step);
  const bool drift_changed = drift_changes_at(step);
  if (step == 0 || base_changed || drift_changed) {
    rebuild_shares();
    ++version_;
  }
  return shares_;
}

bool RoutingModel::base_changes_at(std::int64_t step) {
  if (const auto* counts = std::get_if<CountsRouting>(&workload_.routing)) {
    const auto window =
        static_cast<std::size_t>(step / counts->steps_per_window) % counts->windows.size();
    if (step > 0 && window == window_or_phase_) {
      return false;
    }
    window_or_phase_ = window;
    base_ = counts->windows[window];
    return true;
  }
  if (const auto* domains = std::get_if<DomainsRouting>(&workload_.routing)) {
    if (step < phase_end_step_) {
      return false;
    }
    window_or_phase_ = step == 0 ? 0 : (window_or_phase_ + 1) % domains->schedule.size();
    const DomainsRouting::Phase& phase = domains->schedule[window_or_phase_];
    phase_end_step_ += phase.steps;
    base_ = mix_domains(*domains, phase);
    return true;
  }
  return false;
}

bool RoutingModel::drift_changes_at(std::int64_t step) {
  if (step == 0) {
    return false;
  }
  if (const auto* drift = std::get_if<WalkDrift>(&workload_.drift)) {
    // A hundred moves a correlation time are as good as one a step, and far cheaper.
    const std::int64_t every_steps = std::max<std::int64_t>(1, drift->correlation_steps / 100);
    if (step % every_steps != 0) {
      return false;
    }
    walk(*drift, every_steps);
    return true;
  }
  if (const auto* drift = std::get_if<SwitchDrift>(&workload_.drift)) {
    if (step % drift->every_steps != 0) {
      return false;
    }
    deal_anew();
    return true;
  }
  if (const auto* drift = std::get_if<BurstDrift>(&workload_.drift)) {
    const std::int64_t since_burst = step % drift->every_steps;
    if (since_burst == drift->duration_steps) {
      log_factors_.setZero();
      return true;
    }
    if (since_burst == 0) {
      log_factors_.setZero();
      for (Eigen::Index layer = 0; layer < log_factors_.rows(); ++layer) {
        const auto expert = drift_random_.below(static_cast<std::uint64_t>(log_factors_.cols()));
        log_factors_(layer, static_cast<Eigen::Index>(expert)) = std::log(drift->factor);
      }
      return true;
    }
  }
  return false;
}

// NOTE [walk]: with x the deviation of a log weight from its layer's mean, x + f follows a
// stationary autoregression x' = rho x + sqrt(1 - rho^2) s z, where s is the layer's spread. Its
// spread stays s, its correlation after `correlation_steps` is 1/e.
void RoutingModel::walk(const WalkDrift& drift, std::int64_t every_steps) {
  const double rho =
      std::exp(-static_cast<double>(every_steps) / static_cast<double>(drift.correlation_steps));
  const double push = std::sqrt(1 - rho * rho);
  for (Eigen::Index layer = 0; layer < base_.rows(); ++layer) {
    constexpr double kLeastWeight = 1e-9;
    const Eigen::RowVectorXd logs =
        (base_.row(layer) / base_.row(layer).sum()).array().max(kLeastWeight).log();
    const Eigen::RowVectorXd deviations = logs.array() - logs.mean();
    const double spread = std::sqrt(deviations.squaredNorm() / static_cast<double>(logs.size()));
    for (Eigen::Index expert = 0; expert < base_.cols(); ++expert) {
      const double now = deviations(expert) + log_factors_(layer, expert);
      const double next = rho * now + push * spread * drift_random_.normal();
      log_factors_(layer, expert) = next - deviations(expert);
    }
  }
}

void RoutingModel::deal_anew() {
  for (std::vector<std::int32_t>& layer : dealt_) {
    layer = random_order(drift_random_, expert_count_);
  }
}

void RoutingModel::rebuild_shares() {
  const double share_max = 1.0 / top_k_;
  for (Eigen::Index layer = 0; layer < shares_.rows(); ++layer) {
    const std::vector<std::int32_t>& dealt = dealt_[static_cast<std::size_t>(layer)];
    for (Eigen::Index expert = 0; expert < shares_.cols(); ++expert) {
      const std::int32_t column = dealt[static_cast<std::size_t>(expert)];
      shares_(layer, expert) = base_(layer, column) * std::exp(log_factors_(layer, column));
    }
    normalise_shares(shares_.row(layer), share_max);
    shares_.row(layer) = (shares_.row(layer).array() / kShareGrain).floor() * kShareGrain;
  }
}

void normalise_shares(Eigen::Ref<Eigen::RowVectorXd> weights, double share_max) {
  if (!(weights.sum() > 0)) {
    weights.setConstant(1.0 / static_cast<double>(weights.size()));
    return;
  }
  using Mask = Eigen::Array<bool, 1, Eigen::Dynamic>;
  Mask capped = Mask::Constant(weights.size(), false);
  // Each round caps at least one more share, so there are at most `size` rounds.
  while (true) {
    const auto capped_count = static_cast<double>(capped.count());
    const double free_share = 1 - capped_count * share_max;
    const double free_weight = capped.select(0.0, weights.array()).sum();
    const double free_count = static_cast<double>(weights.size()) - capped_count;
    // Experts without weight share alike what no other expert may take.
    const Eigen::RowVectorXd scaled =
        free_weight > 0 ? (weights * (free_share / free_weight)).eval()
                        : Eigen::RowVectorXd::Constant(weights.size(), free_share / free_count);
    const Mask exceeds = !capped && scaled.array() > share_max;
    if (free_count <= 0 || !exceeds.any()) {
      weights = capped.select(share_max, scaled.array());
      return;
    }
    capped = capped || exceeds;
  }
}

}  // namespace eplb::sim
