// Goal: a layer's forecast is the mean of as many newest parts as would have foretold its past
// best. Method: two experts whose shares are written down, counts so large that their noise does
// not matter, errors worked by hand.
#include "load_forecast.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>
#include <vector>

namespace eplb {
namespace {

constexpr double kMany = 1e12;

/// One layer of two experts, part by part, from the first one's share.
std::vector<RealLoadMatrix> history_of(std::initializer_list<double> first_shares,
                                       double tokens = kMany) {
  std::vector<RealLoadMatrix> history;
  for (const double share : first_shares) {
    RealLoadMatrix part(1, 2);
    part << share * tokens, (1 - share) * tokens;
    history.push_back(part);
  }
  return history;
}

/// Of the first expert, newest first.
std::vector<double> errors_of(const LayerForecast& forecast) {
  std::vector<double> errors;
  for (const ShareRow& error : forecast.errors) {
    CHECK(error(1) == doctest::Approx(-error(0)));
    errors.push_back(error(0));
  }
  return errors;
}

void check_near(const std::vector<double>& values, const std::vector<double>& expected) {
  REQUIRE(values.size() == expected.size());
  for (std::size_t index = 0; index < values.size(); ++index) {
    CHECK(values[index] == doctest::Approx(expected[index]));
  }
}

TEST_CASE("a load that swings about its mean is foretold by many parts") {
  const LayerForecast forecast = forecast_layer(history_of({0.6, 0.4, 0.6, 0.4, 0.6}), 0);
  // One part before tells 0.2 too much or too little, two or four tell 0.1.
  CHECK(forecast.shares(0) == doctest::Approx(0.5));
  check_near(errors_of(forecast), {0.1});  // Of four parts, only the fifth was foretold.
}

TEST_CASE("a load that goes on moving is foretold by its newest part") {
  const LayerForecast forecast = forecast_layer(history_of({0.50, 0.51, 0.53, 0.56, 0.60}), 0);
  CHECK(forecast.shares(0) == doctest::Approx(0.60));
  check_near(errors_of(forecast), {0.04, 0.03, 0.02, 0.01});
}

TEST_CASE("where few and many parts tell as well, many are taken") {
  const LayerForecast forecast = forecast_layer(history_of({0.25, 0.25, 0.25, 0.25, 0.25}), 0);
  CHECK(forecast.shares(0) == doctest::Approx(0.25));
  check_near(errors_of(forecast), {0});
}

TEST_CASE("noise of the part that is foretold is no error of the forecast") {
  // Each step is 2 x 0.05^2 = 0.005 squared; of 200 tokens (1 - 1/2) / 200 = 0.0025 of it is noise.
  const LayerForecast half = forecast_layer(history_of({0.45, 0.5, 0.55}, 200), 0);
  const double noise = 0.5 * ((1 - 0.5) / 200 + (1 - 0.505) / 200);
  const double kept = std::sqrt((0.005 - noise) / 0.005);
  check_near(errors_of(half), {0.05 * kept, 0.05 * kept});
  const LayerForecast noisy = forecast_layer(history_of({0.45, 0.5, 0.55}, 50), 0);
  for (const double error : errors_of(noisy)) {
    CHECK(error == 0);
  }
}

TEST_CASE("parts without load are passed over, and one part alone is not doubted") {
  std::vector<RealLoadMatrix> history = history_of({0.25, 0.75});
  history.front().setZero();
  const LayerForecast forecast = forecast_layer(history, 0);
  CHECK(forecast.shares(0) == doctest::Approx(0.75));
  CHECK(forecast.errors.empty());
  const LayerForecast none =
      forecast_layer(std::vector<RealLoadMatrix>{RealLoadMatrix::Zero(1, 2)}, 0);
  CHECK(none.shares == ShareRow::Zero(2));
}

}  // namespace
}  // namespace eplb
