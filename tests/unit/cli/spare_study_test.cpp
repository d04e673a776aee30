// Goal: the study of unequal spare slots says what they would bring. Method: two ranks and four
// experts, worked by hand, planned by the default policy.
#include "spare_study.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "eplb/placement/registry.hpp"
#include "plan.hpp"

namespace eplb::cli {
namespace {

SpareStudy study_of(const RealLoadMatrix& load, std::int32_t redundant) {
  const Topology topology = Topology::create({.rank_count = 2, .ranks_per_node = 2}).value();
  const auto policy = placement::make_policy("default").value();
  return study_spares({.shape = {.layer_count = static_cast<std::int32_t>(load.rows()),
                                 .expert_count = 4,
                                 .redundant_slot_count = redundant,
                                 .rank_count = 2},
                       .topology = topology,
                       .history = std::span(&load, 1),
                       .current = nullptr,
                       .costs = {}},
                      *policy)
      .value();
}

TEST_CASE("spare slots go to the layer that gains, and to none that does not") {
  // Three copies of a third leave six slots of 1; an even layer needs none.
  const SpareStudy study = study_of(test::load_of({{3, 1, 1, 1}, {1, 1, 1, 1}}), 2);
  CHECK(study.equal == doctest::Approx(1));
  CHECK(study.dealt == doctest::Approx(1));
  CHECK(study.spares_by_layer == std::vector<std::int32_t>{2, 0});
}

TEST_CASE("ranks with unequal slots balance what equal ones cannot") {
  // Two slots each: 3 + 1 and 1 + 1, of a mean of 3. With three and one: 3, and 1 + 1 + 1.
  const SpareStudy study = study_of(test::load_of({{3, 1, 1, 1}}), 0);
  CHECK(study.equal == doctest::Approx(0.75));
  CHECK(study.uneven == doctest::Approx(1));
  CHECK(study.slots_min == 1);
  CHECK(study.slots_max == 3);
  CHECK(study.dealt == doctest::Approx(0.75));  // There are none to deal.
  CHECK(study.spares_by_layer == std::vector<std::int32_t>{0});
}

TEST_CASE("the study says so in words and in JSON, and refuses no load") {
  const SpareStudy study = study_of(test::load_of({{3, 1, 1, 1}, {1, 1, 1, 1}}), 2);
  CHECK(spare_study_json(study)["spares_by_layer"] == std::vector<std::int32_t>{2, 0});
  std::ostringstream out;
  print_spare_study(
      study, {.layer_count = 2, .expert_count = 4, .redundant_slot_count = 2, .rank_count = 2},
      out);
  CHECK(out.str().find("0 to 2 a layer, 2 of 4 used") != std::string::npos);
  const RealLoadMatrix none = RealLoadMatrix::Zero(1, 4);
  const Topology topology = Topology::create({.rank_count = 2}).value();
  const auto policy = placement::make_policy("default").value();
  CHECK_FALSE(study_spares({.shape = {.layer_count = 1, .expert_count = 4, .rank_count = 2},
                            .topology = topology,
                            .history = std::span(&none, 1),
                            .current = nullptr,
                            .costs = {}},
                           *policy)
                  .has_value());
}

}  // namespace
}  // namespace eplb::cli
