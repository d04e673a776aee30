#include "scenarios.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <vector>

namespace eplb::placement {
namespace {

using Products =
    Eigen::MatrixXd;  ///< Scalar products between parts of the history, [parts, parts].
using PartWeights = Eigen::VectorXd;  ///< A weighted sum of parts, [parts], oldest first.

constexpr Eigen::Index kLeadingMax = kDirectionsMax;

/// Leading components that a smoothed forecast keeps, at least; at most kLeadingMax.
constexpr Eigen::Index kLeadingMin = 3;

/// Steps of the history that a reversion must be seen in to be believed by half.
constexpr double kDoubtedSteps = 4;

/// Parts that a subspace of four components is fitted to before its forecasts are compared.
constexpr Eigen::Index kFittedPartsMin = 4;

/// A part with each layer's load as multiples of its mean expert; a layer without load is even.
RealLoadMatrix relative(const RealLoadMatrix& part) {
  RealLoadMatrix shares(part.rows(), part.cols());
  for (Eigen::Index layer = 0; layer < part.rows(); ++layer) {
    const double largest = part.row(layer).maxCoeff();
    if (!(largest > 0)) {
      shares.row(layer).setOnes();
      continue;
    }
    double sum = 0;  // Of loads up to 1, so that even the largest numbers have a sum.
    for (Eigen::Index expert = 0; expert < part.cols(); ++expert) {
      shares(layer, expert) = part(layer, expert) / largest;
      sum += shares(layer, expert);
    }
    const double scale = static_cast<double>(part.cols()) / sum;
    for (Eigen::Index expert = 0; expert < part.cols(); ++expert) {
      shares(layer, expert) *= scale;
    }
  }
  return shares;
}

/// Newest parts that are of the problem's size and sound; older ones may be of another life.
std::vector<RealLoadMatrix> usable_history(const PolicyProblem& problem, std::int32_t part_count) {
  std::vector<RealLoadMatrix> parts;
  for (auto part = problem.history.rbegin();
       part != problem.history.rend() && std::ssize(parts) < part_count; ++part) {
    if (part->rows() != problem.shape.layer_count || part->cols() != problem.shape.expert_count ||
        !part->allFinite() || (part->array() < 0).any()) {
      break;
    }
    parts.push_back(relative(*part));
  }
  std::ranges::reverse(parts);
  return parts;
}

double product(const RealLoadMatrix& left, const RealLoadMatrix& right) {
  // Four sums side by side, since each addition of one sum would wait for the last.
  std::array<double, 4> sums{};
  const Eigen::Index size = left.size();
  for (Eigen::Index cell = 0; cell < size; ++cell) {
    sums[static_cast<std::size_t>(cell % 4)] += left.data()[cell] * right.data()[cell];
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

Products products_of(const std::vector<RealLoadMatrix>& parts) {
  const auto count = std::ssize(parts);
  Products products(count, count);
  for (std::ptrdiff_t row = 0; row < count; ++row) {
    for (std::ptrdiff_t column = 0; column <= row; ++column) {
      products(row, column) =
          product(parts[static_cast<std::size_t>(row)], parts[static_cast<std::size_t>(column)]);
      products(column, row) = products(row, column);
    }
  }
  return products;
}

/// Leading principal components of the first `count` parts: eigenvectors of their products about
/// the mean, [count, leading], the strongest first.
struct Components {
  Eigen::MatrixXd vectors;
  Eigen::VectorXd strengths;
};

Components leading_components(const Products& products, Eigen::Index count) {
  const Eigen::MatrixXd centring =
      Eigen::MatrixXd::Identity(count, count) -
      Eigen::MatrixXd::Constant(count, count, 1.0 / static_cast<double>(count));
  const Eigen::MatrixXd about_mean =
      centring.lazyProduct(products.topLeftCorner(count, count)).lazyProduct(centring);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(about_mean);
  const Eigen::Index leading = std::min(kLeadingMax, count - 1);
  return {.vectors = solver.eigenvectors().rightCols(leading).rowwise().reverse(),
          .strengths = solver.eigenvalues().tail(leading).reverse()};
}

PartWeights newest_part(Eigen::Index count) {
  return PartWeights::Unit(count, count - 1);
}

/// Forecasts of the part after the first `count` ones, to be compared: the newest part, and its
/// place along some of the leading components with the rest averaged away. As many for any count.
std::vector<PartWeights> forecasts(const Products& products, Eigen::Index count) {
  std::vector<PartWeights> all{newest_part(count)};
  const Components components = leading_components(products, count);
  PartWeights place = PartWeights::Constant(count, 1.0 / static_cast<double>(count));
  for (Eigen::Index index = 0; index < kLeadingMax; ++index) {
    if (index < components.vectors.cols()) {
      const auto vector = components.vectors.col(index);
      place += vector(count - 1) * (vector - PartWeights::Constant(count, vector.mean()));
    }
    if (index + 1 >= kLeadingMin) {
      all.push_back(place);
    }
  }
  return all;
}

/// Distance of a forecast, made from the parts before `next`, from that part.
double distance(const Products& products, const PartWeights& forecast, Eigen::Index next) {
  PartWeights error = PartWeights::Zero(next + 1);
  error.head(next) = -forecast;
  error(next) += 1;
  const PartWeights image = products.topLeftCorner(next + 1, next + 1).lazyProduct(error);
  return std::sqrt(std::max(0.0, error.dot(image)));
}

/// The kind of forecast that has erred least. Distances, not their squares, are summed: one abrupt
/// change, which nothing foretells, must not outweigh all the rest. Of equals the first one.
PartWeights best_forecast(const Products& products) {
  const Eigen::Index count = products.rows();
  std::vector<PartWeights> last = forecasts(products, count);
  std::vector<double> errors(last.size(), 0);
  for (Eigen::Index next = kFittedPartsMin; next < count; ++next) {
    const std::vector<PartWeights> told = forecasts(products, next);
    for (std::size_t kind = 0; kind < told.size(); ++kind) {
      errors[kind] += distance(products, told[kind], next);
    }
  }
  return std::move(
      last[static_cast<std::size_t>(std::ranges::min_element(errors) - errors.begin())]);
}

/// Share of the way back to the mean of what was before that the load goes from one part to the
/// next, by least squares: near 0 where it stays where it has gone, near 1 where it only visits. A
/// few steps tell little, so that it is doubted while there are few.
double reversion(const Products& products) {
  double along = 0;
  double whole = 0;
  for (Eigen::Index next = 2; next < products.rows(); ++next) {
    PartWeights back = PartWeights::Zero(next + 1);
    back.head(next).setConstant(1.0 / static_cast<double>(next));
    back(next - 1) -= 1;
    PartWeights gone = PartWeights::Zero(next + 1);
    gone(next - 1) = -1;
    gone(next) = 1;
    const PartWeights image = products.topLeftCorner(next + 1, next + 1).lazyProduct(back);
    along += gone.dot(image);
    whole += back.dot(image);
  }
  const auto steps = static_cast<double>(std::max<Eigen::Index>(0, products.rows() - 2));
  return whole > 0 ? std::clamp(along / whole, 0.0, 1.0) * steps / (steps + kDoubtedSteps) : 0;
}

/// From 0, the load stays where it has gone, to 1, it only visits.
double visiting(const Products& products) {
  // A third of the way back in one part is a visit for sure.
  const double share = std::min(1.0, 3 * reversion(products));
  return share * share;
}

/// The usual step along a component from one part to the next: root mean square where the load
/// reverts, so that rare large steps count. Where it stays, they lie behind it and a median says
/// what the next step is like; `reverting` goes from 0 to 1.
double usual_step(const Eigen::Ref<const Eigen::VectorXd>& component, double reverting) {
  constexpr double kDeviationsPerMedian = 1.4826;  // Of the size of a normal variable.
  std::vector<double> sizes;
  double squares = 0;
  for (Eigen::Index part = 1; part < component.size(); ++part) {
    sizes.push_back(std::abs(component(part) - component(part - 1)));
    squares += sizes.back() * sizes.back();
  }
  const double root_mean_square = std::sqrt(squares / static_cast<double>(sizes.size()));
  std::ranges::sort(sizes);
  const double typical = std::min(root_mean_square, kDeviationsPerMedian * sizes[sizes.size() / 2]);
  return typical + reverting * (root_mean_square - typical);
}

/// How far each scenario goes from the forecast, as weighted sums of parts.
std::vector<PartWeights> displacements(const Products& products, double reverting,
                                       const ScenarioOptions& options) {
  const Eigen::Index count = products.rows();
  std::vector<PartWeights> steps;
  if (count < 2) {
    return steps;
  }
  const Components components = leading_components(products, count);
  const Eigen::Index wanted =
      std::min<Eigen::Index>(options.direction_count, components.vectors.cols());
  for (Eigen::Index index = 0; index < wanted; ++index) {
    if (!(components.strengths(index) > 0)) {
      break;
    }
    const auto vector = components.vectors.col(index);
    steps.emplace_back(options.reach * usual_step(vector, reverting) *
                       (vector - PartWeights::Constant(count, vector.mean())));
  }
  return steps;
}

RealLoadMatrix weighted_sum(const std::vector<RealLoadMatrix>& parts, const PartWeights& weights) {
  RealLoadMatrix sum = RealLoadMatrix::Zero(parts.front().rows(), parts.front().cols());
  for (std::size_t part = 0; part < parts.size(); ++part) {
    sum += weights(static_cast<Eigen::Index>(part)) * parts[part];
  }
  return sum;
}

}  // namespace

Foresight foresee(const PolicyProblem& problem, const ScenarioOptions& options) {
  const std::vector<RealLoadMatrix> parts = usable_history(problem, options.history_parts);
  const Products products = products_of(parts);
  const RealLoadMatrix forecast = weighted_sum(parts, best_forecast(products));
  const double unit = static_cast<double>(problem.shape.rank_count) /
                      static_cast<double>(problem.shape.expert_count);
  Foresight foresight{.load = std::vector<Scenarios>(static_cast<std::size_t>(forecast.size())),
                      .visiting = visiting(products)};
  std::vector<Scenarios>& foreseen = foresight.load;
  for (std::size_t cell = 0; cell < foreseen.size(); ++cell) {
    foreseen[cell].fill(std::max(0.0, forecast.data()[cell]) * unit);
  }
  std::size_t scenario = kScenarioCount;
  for (const PartWeights& weights : displacements(products, foresight.visiting, options)) {
    const RealLoadMatrix step = weighted_sum(parts, weights);
    scenario -= 2;
    for (std::size_t cell = 0; cell < foreseen.size(); ++cell) {
      foreseen[cell][scenario] = std::max(0.0, foreseen[cell][0] - step.data()[cell] * unit);
      foreseen[cell][scenario + 1] = foreseen[cell][0] + step.data()[cell] * unit;
      foreseen[cell][scenario + 1] = std::max(0.0, foreseen[cell][scenario + 1]);
    }
  }
  return foresight;
}

}  // namespace eplb::placement
