#include "eplb/sim/trial/swarm.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "eplb/core/communicator.hpp"
#include "eplb/core/env/fault_points.hpp"
#include "eplb/sim/random_stream.hpp"

namespace eplb::sim {
namespace {

constexpr std::int64_t kUs = 1'000;
constexpr std::int64_t kMs = 1'000'000;

/// A forward lasts a millisecond here, give or take (trial.cpp).
constexpr double kDeadlineMs = 40;

/// So many that all watchdogs have had their time.
constexpr std::int64_t kStepsWithoutHelper = 280;

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed, "swarm") {}

  /// In [least, most].
  std::int32_t between(std::int32_t least, std::int32_t most) {
    const auto count = static_cast<std::uint64_t>(most - least) + 1;
    return least + static_cast<std::int32_t>(random_.below(count));
  }

  bool one_in(std::uint64_t count) { return random_.below(count) == 0; }

  DelayRange delay(std::int64_t least_ns, std::int64_t most_ns) {
    return {.least_ns = least_ns,
            .most_ns = least_ns + static_cast<std::int64_t>(random_.below(
                                      static_cast<std::uint64_t>(most_ns - least_ns) + 1))};
  }

  /// The same, and in some worlds with rare long ones.
  DelayRange delay(std::int64_t least_ns, std::int64_t most_ns, std::int64_t tail_ns) {
    DelayRange range = delay(least_ns, most_ns);
    if (one_in(3)) {
      range.tail_ns = tail_ns;
      range.tail = {.value = between(1, 60)};
    }
    return range;
  }

  RankEvent event(const Swarm& swarm) {
    return {.rank = between(0, swarm.shape.rank_count - 1),
            .step = between(1, static_cast<std::int32_t>(swarm.fault_steps))};
  }

 private:
  RandomStream random_;
};

void draw_group(Draw& draw, Swarm& swarm) {
  Shape& shape = swarm.shape;
  shape.rank_count = draw.between(2, 6);
  const std::int32_t slots = shape.rank_count * draw.between(1, 4);
  shape.expert_count = draw.one_in(4) ? slots : draw.between(std::max(1, slots / 2), slots);
  shape.redundant_slot_count = slots - shape.expert_count;
  shape.layer_count = draw.one_in(12) ? 0 : draw.between(1, 6);
  for (std::int32_t layer = 0; layer < shape.layer_count; ++layer) {
    swarm.row_bytes.push_back(draw.one_in(4) ? 2000 : 1000);
  }
  switch (draw.between(0, 3)) {
    case 0:
    case 1:
      swarm.transport = {.side = env::TransferSide::kSender};
      swarm.eplb.communicator = Communicator::kSymmMem;
      break;
    case 2:
      swarm.transport = {.side = env::TransferSide::kReceiver};
      swarm.eplb.communicator = Communicator::kNixl;
      break;
    default:
      swarm.transport = {.side = env::TransferSide::kBoth, .host_staged = true};
      swarm.eplb.communicator = Communicator::kTorchGloo;
      break;
  }
}

void draw_options(Draw& draw, Swarm& swarm) {
  EplbOptions& eplb = swarm.eplb;
  eplb.num_redundant_experts = swarm.shape.redundant_slot_count;
  eplb.window_size = draw.between(1, 12);
  eplb.step_interval = draw.one_in(4) ? draw.between(1, 4) : draw.between(4, 24);
  eplb.window_parts = draw.between(1, std::min(4, eplb.window_size));
  eplb.history_parts = eplb.window_parts + draw.between(0, 4);
  if (draw.one_in(6)) {
    eplb.window_half_life_steps = draw.between(1, 8);
  }
  eplb.use_async = !draw.one_in(4);
  eplb.log_balancedness = draw.one_in(2);
  eplb.log_balancedness_interval = draw.between(1, 5);
  eplb.migration_batching_enabled = !draw.one_in(4);
  if (swarm.eplb.communicator == Communicator::kSymmMem && draw.one_in(5)) {
    eplb.handshake = Handshake::kBarriers;
  }
  const std::int32_t slots = swarm.shape.slots_per_rank();
  if (!draw.one_in(3)) {
    eplb.landing_rows = slots + draw.between(0, 2 * slots);
  }
  if (draw.one_in(3)) {
    eplb.layers_in_flight = draw.between(1, 3);
  }
  if (draw.one_in(4)) {
    eplb.max_commit_bytes_per_step = draw.between(1, 4000);
  }
  eplb.commit_lead_steps = draw.between(0, 3);
  eplb.deadline_ms = kDeadlineMs;
  eplb.on_failure = draw.one_in(4) ? OnFailure::kRaise : OnFailure::kKeepServing;
}

void draw_serving(Draw& draw, Swarm& swarm) {
  swarm.fault_steps = draw.between(20, 120);
  swarm.load = static_cast<TrialLoad>(draw.one_in(3) ? draw.between(2, 4) : draw.between(0, 1));
  swarm.profile_steps = draw.between(0, 2);
  swarm.dummy = {.value = draw.one_in(2) ? draw.between(1, 400) : 0};
  const auto some_step = [&] {
    return std::int64_t{draw.between(1, static_cast<std::int32_t>(swarm.fault_steps))};
  };
  if (draw.one_in(4) && swarm.eplb.communicator != Communicator::kSymmMem) {
    const std::int32_t slots = swarm.shape.slots_per_rank();
    const std::int32_t least = (swarm.shape.expert_count + slots - 1) / slots;
    for (std::int32_t count = draw.between(1, 2); count > 0; --count) {
      swarm.sizes.push_back({.step = some_step(), .ranks = draw.between(std::max(2, least), 7)});
    }
    std::ranges::sort(swarm.sizes, {}, &SizeChange::step);
  }
  if (draw.one_in(6)) {
    swarm.sleep_step = some_step();
  }
}

void draw_delays(Draw& draw, Swarm& swarm) {
  swarm.message = draw.delay(1 * kUs, 400 * kUs, 6 * kMs);
  swarm.transfer = draw.delay(5 * kUs, 1500 * kUs, 20 * kMs);
  swarm.local_copy = draw.delay(1 * kUs, 300 * kUs, 5 * kMs);
  swarm.read_back = draw.delay(1 * kUs, 500 * kUs, 8 * kMs);
  swarm.plan = draw.delay(10 * kUs, 3 * kMs, 30 * kMs);
  swarm.host = draw.delay(0, 100 * kUs, 10 * kMs);
  swarm.poll = draw.delay(0, 200 * kUs, 4 * kMs);
}

void draw_faults(Draw& draw, Swarm& swarm) {
  if (draw.one_in(3)) {
    swarm.repeated_message = {.value = draw.between(1, 300)};
  }
  if (draw.one_in(4)) {
    swarm.failed_transfer = {.value = draw.between(1, 60)};
  }
  if (draw.one_in(6)) {
    swarm.refused_transfer = {.value = draw.between(1, 60)};
  }
  if (draw.one_in(4)) {
    swarm.slow_links = draw.between(1, 6);
  }
  if (draw.one_in(8)) {
    swarm.refused_plan = {.rank = draw.between(0, swarm.shape.rank_count - 1),
                          .step = draw.between(1, 4)};
  }
  if (draw.one_in(8)) {
    swarm.different_plan = {.rank = draw.between(0, swarm.shape.rank_count - 1),
                            .step = draw.between(1, 4)};
  }
  // At most one of those that may end the group: what comes after the first says nothing.
  switch (draw.between(0, 29)) {
    case 0:
    case 1:
      swarm.stalled_host = draw.event(swarm);
      break;
    case 2:
    case 3:
      if (swarm.sizes.empty() && !swarm.sleep_step) {
        swarm.dead_helper = draw.event(swarm);  // Else the world waits for its own dead helper.
        swarm.fault_steps = swarm.dead_helper->step + kStepsWithoutHelper;
      }
      break;
    case 4:
    case 5:
      swarm.failed_commit = draw.event(swarm);
      break;
    case 6:
    case 7:
      swarm.lost_rank = draw.event(swarm);
      break;
    case 8:
      swarm.refused_memory = draw.between(0, swarm.shape.rank_count - 1);
      break;
    default:
      break;
  }
  for (std::uint32_t point = 0; point < env::kFaultPointCount; ++point) {
    if (draw.one_in(4)) {
      swarm.fault_points |= 1U << point;
    }
  }
}

/// In one world of six nothing is late and nothing fails: what is promised without faults is held
/// to there, no hold above all.
void calm_down(Swarm& swarm) {
  swarm.message = {.least_ns = 1 * kUs, .most_ns = 50 * kUs};
  swarm.transfer = {.least_ns = 5 * kUs, .most_ns = 100 * kUs};
  swarm.local_copy = {.least_ns = 1 * kUs, .most_ns = 20 * kUs};
  swarm.read_back = {.least_ns = 1 * kUs, .most_ns = 50 * kUs};
  swarm.plan = {.least_ns = 10 * kUs, .most_ns = 200 * kUs};
  swarm.host = {.least_ns = 0, .most_ns = 20 * kUs};
  swarm.poll = {.least_ns = 0, .most_ns = 10 * kUs};
}

/// Prices are such that with these loads some layers pay and some do not.
void draw_trigger(Draw& draw, Swarm& swarm) {
  if (!draw.one_in(3)) {
    return;
  }
  TriggerOptions trigger;
  if (draw.one_in(2)) {
    trigger.horizon_steps = draw.between(1, 40);
  }
  trigger.price = draw.one_in(3) ? 0 : draw.between(1, 16) / 4.0;
  trigger.hysteresis = draw.between(0, 8) / 64.0;
  trigger.cool_down = draw.one_in(2) ? 0 : draw.between(1, 3);
  swarm.eplb.trigger = trigger;
}

std::string text_of(const DelayRange& range) {
  std::string text = fmt::format("{} to {} us", range.least_ns / kUs, range.most_ns / kUs);
  if (range.tail_ns > 0) {
    text += fmt::format(", {} of 1000 up to {} us", range.tail.value, range.tail_ns / kUs);
  }
  return text;
}

std::string text_of(const std::optional<RankEvent>& event) {
  return event ? fmt::format("rank {} at {}", event->rank, event->step) : "no";
}

std::string_view text_of(TrialLoad load) {
  switch (load) {
    case TrialLoad::kSpread:
      return "spread";
    case TrialLoad::kSwitching:
      return "switching";
    case TrialLoad::kOneExpert:
      return "one expert";
    case TrialLoad::kNone:
      return "none";
    case TrialLoad::kHuge:
      return "huge";
  }
  return {};
}

}  // namespace

bool Swarm::may_end() const {
  return stalled_host || dead_helper || failed_commit || lost_rank || refused_memory;
}

bool Swarm::calm() const {
  return !may_end() && message.tail_ns == 0 && message.most_ns <= 50 * kUs &&
         repeated_message.value == 0 && failed_transfer.value == 0 && refused_transfer.value == 0 &&
         slow_links == 0 && !refused_plan && !different_plan && fault_points == 0;
}

Swarm draw_swarm(std::uint64_t seed) {
  Draw draw(seed);
  Swarm swarm;
  swarm.seed = seed;
  draw_group(draw, swarm);
  draw_options(draw, swarm);
  draw_serving(draw, swarm);
  if (draw.one_in(6)) {
    calm_down(swarm);
  } else {
    draw_delays(draw, swarm);
    draw_faults(draw, swarm);
  }
  draw_trigger(draw, swarm);
  return swarm;
}

std::string describe(const Swarm& swarm) {
  const Shape& shape = swarm.shape;
  const EplbOptions& eplb = swarm.eplb;
  std::string text;
  const auto line = [&text](std::string_view name, const std::string& value) {
    text += fmt::format("  {}: {}\n", name, value);
  };
  line("group", fmt::format("{} layers of {} + {} experts on {} ranks", shape.layer_count,
                            shape.expert_count, shape.redundant_slot_count, shape.rank_count));
  line("window",
       fmt::format("{} steps in {} parts, every {} steps, half life {}", eplb.window_size,
                   eplb.window_parts, eplb.step_interval, eplb.window_half_life_steps.value_or(0)));
  line("protocol", fmt::format("{}, {}, {}, lead {}, on failure {}", to_string(eplb.communicator),
                               eplb.use_async ? "async" : "sync",
                               eplb.handshake == Handshake::kBarriers ? "barriers" : "statuses",
                               eplb.commit_lead_steps,
                               eplb.on_failure == OnFailure::kRaise ? "raise" : "keep serving"));
  line("limits",
       fmt::format("landing rows {}, layers in flight {}, commit bytes {}, batching {}",
                   eplb.landing_rows.value_or(0), eplb.layers_in_flight.value_or(0),
                   eplb.max_commit_bytes_per_step.value_or(0), eplb.migration_batching_enabled));
  line("trigger",
       eplb.trigger
           ? fmt::format("horizon {}, price {}, hysteresis {}, cool-down {}",
                         eplb.trigger->horizon_steps.value_or(eplb.step_interval),
                         eplb.trigger->price, eplb.trigger->hysteresis, eplb.trigger->cool_down)
           : "no");
  line("log",
       eplb.log_balancedness ? fmt::format("every {}", eplb.log_balancedness_interval) : "no");
  line("serving",
       fmt::format("{} steps with faults, {} profile steps, load {}, dummy {} of "
                   "1000",
                   swarm.fault_steps, swarm.profile_steps, text_of(swarm.load), swarm.dummy.value));
  for (const SizeChange& size : swarm.sizes) {
    line("scale", fmt::format("to {} ranks after step {}", size.ranks, size.step));
  }
  if (swarm.sleep_step) {
    line("sleep", fmt::format("after step {}", *swarm.sleep_step));
  }
  line("message", text_of(swarm.message));
  line("transfer", text_of(swarm.transfer));
  line("local copy", text_of(swarm.local_copy));
  line("read back", text_of(swarm.read_back));
  line("plan", text_of(swarm.plan));
  line("host", text_of(swarm.host));
  line("poll", text_of(swarm.poll));
  line("repeated messages, failed and refused transfers",
       fmt::format("{}, {}, {} of 1000", swarm.repeated_message.value, swarm.failed_transfer.value,
                   swarm.refused_transfer.value));
  line("slow links", fmt::format("{}", swarm.slow_links));
  line("stalled host", text_of(swarm.stalled_host));
  line("dead helper", text_of(swarm.dead_helper));
  line("failed commit", text_of(swarm.failed_commit));
  line("lost rank", text_of(swarm.lost_rank));
  line("refused plan", text_of(swarm.refused_plan));
  line("different plan", text_of(swarm.different_plan));
  line("refused memory",
       swarm.refused_memory ? fmt::format("rank {}", *swarm.refused_memory) : "no");
  line("fault points", fmt::format("{:06b}", swarm.fault_points));
  return text;
}

}  // namespace eplb::sim
