// Goal: options behind a policy's name do what they say, and a wrong one is answered with what is
// allowed. Method: every kind of mistake once; what windows=N does, against the same parts alone.
#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "plan.hpp"

namespace eplb::test {
namespace {

std::string refusal_of(std::string_view spec) {
  const auto policy = placement::make_policy(spec);
  if (policy.has_value()) {
    return "";
  }
  CHECK(policy.error().code == ErrorCode::kInvalidArgument);
  return policy.error().message;
}

TEST_CASE("a policy with options bears its own name") {
  CHECK(placement::make_policy("robust:price=1e-4,reach=2").value()->name() == "robust");
  CHECK(placement::make_policy("default:windows=1").value()->name() == "default");
  CHECK(placement::make_policy("linear:").value()->name() == "linear");
}

TEST_CASE("an option that a policy does not have is refused with those that it has") {
  CHECK(refusal_of("default:price=1") ==
        "policy 'default': unknown option 'price', allowed are windows");
  CHECK(refusal_of("linear:windows=1") ==
        "policy 'linear': unknown option 'windows', it takes none");
  CHECK(refusal_of("robust:prize=1") ==
        "policy 'robust': unknown option 'prize', allowed are price, rank_price, second_price, "
        "directions, reach, history, fresh_starts, objective, step_tokens, topology, max_moved");
  CHECK(refusal_of("robust:objective=time") ==
        "policy 'robust': option 'objective' must be one of tokens, cost, auto, got 'time'");
}

TEST_CASE("an option out of range, or no number at all, is refused with the range") {
  CHECK(refusal_of("default:windows=0") ==
        "policy 'default': option 'windows' must be a whole number from 1 to 1024, got '0'");
  CHECK(refusal_of("robust:price=-1") ==
        "policy 'robust': option 'price' must be a number from 0 to 1, got '-1'");
  CHECK(refusal_of("robust:price=nan") ==
        "policy 'robust': option 'price' must be a number from 0 to 1, got 'nan'");
  CHECK(refusal_of("frugal:directions=5") ==
        "policy 'frugal': option 'directions' must be a whole number from 0 to 4, got '5'");
  CHECK(refusal_of("robust:history=") ==
        "policy 'robust': option 'history' must be a whole number from 1 to 1024, got ''");
}

TEST_CASE("what is no key and value, or comes twice, is refused") {
  CHECK(refusal_of("robust:fast") == "policy 'robust': options are key=value, got 'fast'");
  CHECK(refusal_of("robust:=1") == "policy 'robust': options are key=value, got '=1'");
  CHECK(refusal_of("robust:price=1,price=1") ==
        "policy 'robust': option 'price' is given more than once");
}

TEST_CASE("windows=1 plans on the newest part alone") {
  constexpr Shape kShape{
      .layer_count = 1, .expert_count = 4, .redundant_slot_count = 2, .rank_count = 3};
  const std::vector<RealLoadMatrix> history{load_of({{90, 1, 1, 1}}), load_of({{1, 2, 3, 40}})};
  const Topology topology = Topology::create({.rank_count = 3, .ranks_per_node = 3}).value();
  const PolicyProblem both{.shape = kShape,
                           .topology = topology,
                           .history = history,
                           .window_part_count = 2,
                           .costs = {}};
  for (const std::string policy : {"deepseek", "default", "trtllm"}) {
    CAPTURE(policy);
    const Placement newest = plan({.policy = policy, .shape = kShape}, history.back());
    const auto place = [&](const std::string& spec) {
      return placement::make_policy(spec).value()->place(both).value();
    };
    CHECK(place(policy + ":windows=1") == newest);
    CHECK(place(policy) != newest);
    CHECK(place(policy + ":windows=2") == place(policy));
  }
}

}  // namespace
}  // namespace eplb::test
