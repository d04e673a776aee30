// Goal: a recording holds every call and its answer in order, and a replay tells the first place in
// which a balancer does something else. Method: rank 0 of two in a scripted world, through a
// rearrangement; then the recording spoiled in one place after another.
#include "eplb/group/recording.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "function_policy.hpp"
#include "scripted_environment.hpp"
#include "served_group.hpp"

namespace eplb::group {
namespace {

constexpr Shape kShape{
    .layer_count = 2, .expert_count = 4, .redundant_slot_count = 0, .rank_count = 2};

Balancer::Settings settings() {
  EplbOptions options;
  options.window_size = 4;
  options.step_interval = 8;
  return test::settings_of(kShape, options);
}

/// Rank 0 of two that have exchanged all their experts.
struct Recorded {
  Recorded() : world(RankId{0}, 2), recording(world.environment()) {
    world.recorder.logical = LoadMatrix::Ones(2, 4);
    world.recorder.physical = LoadMatrix::Ones(2, 4);
    balancer = recording.create(settings()).value();
    for (int step = 0; step < 8; ++step) {
      CHECK(recording.on_step(*balancer, StepKind::kReal) == StepDecision::kProceed);
      while (recording.progress(*balancer)) {
      }
      if (!world.planner.requests.empty() && !answered) {
        answered = true;
        world.planner.answer(world.planner.requests.front(),
                             test::rotated(Placement::initial(kShape)));
        while (recording.progress(*balancer)) {
        }
      }
    }
  }

  test::ScriptedEnvironment world;
  Recording recording;
  std::unique_ptr<Balancer> balancer;
  bool answered = false;
};

template <typename Call>
std::size_t first_of(const RecordedCalls& calls) {
  std::size_t index = 0;
  while (!std::holds_alternative<Made<Call>>(calls[index])) {
    ++index;
  }
  return index;
}

template <typename Call>
Made<Call>& made_at(RecordedCalls& calls, std::size_t index) {
  return std::get<Made<Call>>(calls[index]);
}

TEST_CASE("a replayed balancer makes the recorded calls and ends with the same placement") {
  Recorded recorded;
  const Placement exchanged = test::rotated(Placement::initial(kShape));
  REQUIRE(recorded.balancer->placement() == exchanged);
  const Result<Placement> replayed = replay(settings(), recorded.recording.calls());
  REQUIRE(replayed.has_value());
  CHECK(*replayed == exchanged);
}

TEST_CASE("a recording holds entries before their calls, and calls with their answers") {
  Recorded recorded;
  RecordedCalls calls = recorded.recording.calls();
  CHECK(first_of<call::Create>(calls) == 0);
  CHECK(made_at<call::Create>(calls, 0).answer);
  const std::size_t step = first_of<call::OnStep>(calls);
  CHECK(made_at<call::OnStep>(calls, step).answer == StepDecision::kProceed);
  CHECK(first_of<call::ClosePass>(calls) == step + 1);
  CHECK(made_at<call::TakePass>(calls, first_of<call::TakePass>(calls)).answer->logical ==
        LoadMatrix::Ones(2, 4));
  const std::size_t publish = first_of<call::Publish>(calls);
  CHECK(made_at<call::Publish>(calls, publish).call.epoch == 1);
  CHECK(*made_at<call::Publish>(calls, publish).call.map ==
        LayerMap::from(test::rotated(Placement::initial(kShape)).layer(LayerId{0})));
}

std::string difference_of(const RecordedCalls& calls) {
  const Result<Placement> replayed = replay(settings(), calls);
  return replayed ? "none" : replayed.error().message;
}

TEST_CASE("a replay names the first call that differs, is missing, or is one too many") {
  Recorded recorded;
  const RecordedCalls& calls = recorded.recording.calls();
  const std::size_t post = first_of<call::Post>(calls);
  const std::string at_post = "call " + std::to_string(post) + ": ";

  RecordedCalls other = calls;
  ++made_at<call::Post>(other, post).call.status.landed_layers;
  CHECK(difference_of(other) ==
        at_post + "ControlPlane::post with other values than were recorded");

  other = calls;
  other[post] = Made<call::Cancel>{};
  CHECK(difference_of(other) ==
        at_post + "ControlPlane::post where Transport::cancel was recorded");

  other = calls;
  other.resize(post);
  CHECK(difference_of(other) == at_post + "ControlPlane::post after the last recorded one");

  other = calls;
  const std::size_t step = first_of<call::OnStep>(calls);
  other.insert(other.begin() + static_cast<std::ptrdiff_t>(step), Made<call::Cancel>{});
  CHECK(difference_of(other) ==
        "call " + std::to_string(step) + ": Transport::cancel was recorded, and was not made");
}

TEST_CASE("a replay notices another answer of an entry, and a balancer that was never made") {
  Recorded recorded;
  RecordedCalls calls = recorded.recording.calls();
  const std::size_t step = first_of<call::OnStep>(calls);
  made_at<call::OnStep>(calls, step).answer = StepDecision::kHold;
  CHECK(difference_of(calls) ==
        "call " + std::to_string(step) + ": Balancer::on_step answers otherwise");

  calls = recorded.recording.calls();
  calls.pop_front();
  CHECK(difference_of(
            RecordedCalls(calls.begin() + static_cast<std::ptrdiff_t>(step) - 1, calls.end())) ==
        "call 0: Balancer::on_step before Balancer::create");
}

}  // namespace
}  // namespace eplb::group
