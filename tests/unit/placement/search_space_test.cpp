// Goal: a search's space is numbered and drawn from as it says. Method: small spaces, counted by
// hand; draws checked for being distinct, within, and the same again.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "eplb/placement/search/space.hpp"
#include "print_vector.hpp"

namespace eplb::placement {
namespace {

using Points = std::vector<std::int64_t>;
using Values = std::vector<std::size_t>;

SearchAxis axis(const std::string& key, std::size_t count) {
  return {.key = key, .values = std::vector<std::string>(count, "0")};
}

TEST_CASE("the last axis of a space runs fastest") {
  const std::vector<SearchAxis> axes{axis("a", 2), axis("b", 3)};
  CHECK(space_size(axes) == 6);
  CHECK(values_at(axes, 0) == Values{0, 0});
  CHECK(values_at(axes, 1) == Values{0, 1});
  CHECK(values_at(axes, 3) == Values{1, 0});
  CHECK(values_at(axes, 5) == Values{1, 2});
}

TEST_CASE("a space too large to count has the largest size there is") {
  CHECK(space_size(std::vector<SearchAxis>(7, axis("a", 1000))) ==
        std::numeric_limits<std::int64_t>::max());
  CHECK(space_size(std::vector<SearchAxis>(6, axis("a", 1000))) == 1'000'000'000'000'000'000);
}

TEST_CASE("a grid takes all points, and so does a draw of as many as there are") {
  SearchOptions options{.axes = {axis("a", 2), axis("b", 2)}};
  CHECK(candidate_points(options, 1) == Points{0, 1, 2, 3});
  options.method = SearchMethod::kRandom;
  options.candidates = 4;
  CHECK(candidate_points(options, 1) == Points{0, 1, 2, 3});
  options.candidates = 9;
  CHECK(candidate_points(options, 1) == Points{0, 1, 2, 3});
}

TEST_CASE("drawn points are distinct, within the space, the same for a seed and spread over it") {
  SearchOptions options{
      .axes = {axis("a", 10), axis("b", 10)}, .method = SearchMethod::kRandom, .candidates = 60};
  const Points points = candidate_points(options, 7);
  CHECK(points.size() == 60);
  CHECK(std::set<std::int64_t>(points.begin(), points.end()).size() == 60);
  CHECK(*std::ranges::min_element(points) >= 0);
  CHECK(*std::ranges::max_element(points) < 100);
  CHECK(std::ranges::count_if(points, [](std::int64_t point) { return point < 50; }) > 15);
  CHECK(std::ranges::count_if(points, [](std::int64_t point) { return point >= 50; }) > 15);
  CHECK(candidate_points(options, 7) == points);
  CHECK(candidate_points(options, 8) != points);
  // More draws go on where fewer have ended, so that a larger budget keeps what is known.
  options.candidates = 20;
  CHECK(candidate_points(options, 7) == Points(points.begin(), points.begin() + 20));
}

}  // namespace
}  // namespace eplb::placement
