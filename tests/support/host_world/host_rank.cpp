#include "host_rank.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

#include "dealt_forward.hpp"

namespace eplb::test {
namespace {

constexpr std::size_t kTraceRecords = 1024;

/// Between two looks of a thread that waits.
void rest() {
  std::this_thread::sleep_for(std::chrono::microseconds(50));
}

}  // namespace

HostRank::HostRank(const Parts& parts, std::unique_ptr<group::BoardControlPlane> control_plane,
                   Options options)
    : parts_(parts),
      options_(std::move(options)),
      memory_(parts.rows, options_.rank),
      forward_(parts.rows, options_.seed),
      migration_(parts.rows, options_.seed + 1),
      transport_(parts.wire.transport(options_.rank)),
      control_plane_(std::move(control_plane)),
      recorder_(options_.seed + 2),
      maps_(forward_, Placement::initial(options_.settings.shape)),
      policy_(parts.policy),
      planner_(policy_),
      trace_(kTraceRecords),
      recording_(environment()) {
  memory_.refuses = options_.memory_refused;
}

HostRank::~HostRank() {
  lose();
}

env::Environment HostRank::environment() {
  return {.clock = clock_,
          .queues = {.forward = forward_, .migration = migration_},
          .memory = memory_,
          .transport = *transport_,
          .control_plane = *control_plane_,
          .load_recorder = recorder_,
          .map_publisher = maps_,
          .planner = planner_,
          .trace_sink = trace_,
          .fault_points = fault_points_};
}

Result<void> HostRank::start() {
  auto balancer = recording_.create(options_.settings);
  if (!balancer) {
    return tl::unexpected(balancer.error());
  }
  balancer_ = std::move(*balancer);
  parts_.rows.load(options_.rank, balancer_->placement());
  thread_ = std::make_unique<group::ProgressThread>(
      *balancer_,
      group::ProgressThread::Options{.busy_poll_ns = 100'000, .recording = &recording_});
  engine_ = std::make_unique<Worker>();
  return {};
}

void HostRank::begin(std::int64_t forwards) {
  ended_ = false;
  engine_->post([this, forwards] {
    run(forwards);
    ended_ = true;
  });
}

void HostRank::run(std::int64_t forwards) {
  for (std::int64_t forward = 0; forward < forwards && !lost_ && !stopped_; ++forward) {
    if (!run_forward()) {
      return;
    }
    const StepKind kind = parts_.kind(options_.rank, forwards_);
    const std::int64_t since_ns = clock_.now_ns();
    StepDecision decision = thread_->on_step(kind);
    while (decision == StepDecision::kHold && !lost_) {
      rest();
      decision = thread_->on_step(kind);
    }
    longest_hold_ns_ = std::max(longest_hold_ns_.load(), clock_.now_ns() - since_ns);
    if (decision == StepDecision::kStop) {
      stop();
    } else if (decision == StepDecision::kProceed) {
      ++forwards_;
    }
  }
}

// A forward that one rank has left never ends: then the balancer says why, if the rank lives. Nor
// is one ever begun on a queue that has failed.
bool HostRank::run_forward() {
  enum class Outcome : std::uint8_t { kPending, kServed, kLeft };
  const auto outcome = std::make_shared<std::atomic<Outcome>>(Outcome::kPending);
  forward_.append([this, outcome] {
    *outcome = serve() ? Outcome::kServed : Outcome::kLeft;
    return true;
  });
  constexpr std::int64_t kLooksPerQuestion = 40;
  for (std::int64_t look = 1; *outcome != Outcome::kServed && !lost_; ++look) {
    rest();
    if (look % kLooksPerQuestion == 0 && balancer_stopped()) {
      stop();
      return false;
    }
  }
  return *outcome == Outcome::kServed;
}

// On the forward queue. Each rank reads the slots that are its own, for the tokens of all.
bool HostRank::serve() {
  const bool counts = recorder_.gate();
  DealtForward dealt =
      deal_forward(parts_.tokens(options_.rank, forwards_), options_.settings.shape, options_.rank,
                   [this](LayerId layer) -> const LayerMap& { return maps_.map(layer); });
  if (!parts_.desk.dispatch(options_.rank, std::move(dealt.experts))) {
    return false;
  }
  check_slots();
  if (!parts_.desk.combine()) {
    return false;
  }
  if (counts) {
    recorder_.count(std::move(dealt.logical), std::move(dealt.physical));
  }
  return true;
}

void HostRank::check_slots() {
  const Shape& shape = options_.settings.shape;
  const std::int32_t first = options_.rank.value * shape.slots_per_rank();
  for (std::int32_t layer = 0; layer < shape.layer_count; ++layer) {
    for (std::int32_t row = 0; row < shape.slots_per_rank(); ++row) {
      std::int64_t checked = -1;
      for (std::int32_t sender = 0; sender < shape.rank_count; ++sender) {
        const std::int64_t expert = parts_.desk.sent(RankId{sender})(layer, first + row);
        if (expert >= 0 && expert != checked &&
            !parts_.rows.holds(options_.rank, LayerId{layer}, row,
                               LogicalExpertId{static_cast<std::int32_t>(expert)})) {
          faults_.push_back("forward " + std::to_string(forwards_) + " of rank " +
                            std::to_string(options_.rank.value) + ": layer " +
                            std::to_string(layer) + " row " + std::to_string(row) +
                            " does not hold expert " + std::to_string(expert));
        }
        checked = std::max(checked, expert);
      }
    }
  }
}

bool HostRank::balancer_stopped() {
  return thread_->with_balancer(
      [](Balancer& balancer) { return balancer.state() == MigrationState::kStopped; });
}

// The others are in a forward that this rank will never come to.
void HostRank::stop() {
  stopped_ = true;
  parts_.desk.abandon();
}

std::optional<Failure> HostRank::stopped() const {
  return stopped_ ? std::optional(balancer_->stop_reason()) : std::nullopt;
}

// The engine first, which may be in a forward that never ends, or ask a balancer that holds.
void HostRank::lose() {
  lost_ = true;
  parts_.desk.abandon();
  engine_.reset();
  thread_.reset();
  forward_.halt();
  migration_.halt();
}

bool HostRank::look(const std::function<void()>& at) {
  constexpr std::chrono::seconds kDeadline(20);
  const auto looked = std::make_shared<std::promise<void>>();
  forward_.append([looked, at] {
    at();
    looked->set_value();
    return true;
  });
  return looked->get_future().wait_for(kDeadline) == std::future_status::ready;
}

}  // namespace eplb::test
