#include "eplb/sim/trial/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "chaos_timing.hpp"
#include "checker.hpp"
#include "eplb/sim/group/elastic_group.hpp"
#include "scatter_policy.hpp"
#include "trial_fault_points.hpp"
#include "trial_load.hpp"

namespace eplb::sim {
namespace {

constexpr std::int64_t kUs = 1'000;
constexpr std::int64_t kMs = 1'000'000;

/// No world that ends at all needs as much.
constexpr std::int64_t kTimeLimitNs = 60'000 * kMs;
constexpr std::uint64_t kEventLimit = 5'000'000;

/// What a trigger weighs: a nanosecond a token, about a hundred for a row of a thousand bytes.
constexpr PolicyCosts kCosts{
    .layer = {.ns_per_assignment = 1},
    .migration = {.wire_ns_per_byte = 0.05, .commit_ns_per_byte = 0.05, .commit_start_ns = 10}};

/// What the group does between two steps, while all ranks wait.
enum class Pause : std::uint8_t { kNone, kDrain, kVacate, kFinish };

class Trial final : private Serving, private EventHandler {
 public:
  explicit Trial(const Swarm& swarm)
      : swarm_(swarm),
        timing_(swarm),
        carrier_(engine_, timing_),
        checker_(swarm, engine_, violations_),
        trace_(checker_),
        policy_(swarm.seed),
        random_(swarm.seed, "trial"),
        tokens_(swarm),
        faults_(swarm),
        group_({.engine = engine_,
                .timing = timing_,
                .carrier = carrier_,
                .violations = violations_,
                .trace_sink = trace_,
                .policy = policy_,
                .serving = *this},
               {.rank_count = swarm.shape.rank_count, .traits = swarm.transport},
               Placement::initial(swarm.shape),
               [this](RankId /*rank*/) -> env::FaultPoints& { return faults_; }) {}

  TrialResult run() {
    start();
    while (!finished_ && !violations_.any()) {
      if (!engine_.run_next()) {
        violate("ends: nothing happens any more");
      } else if (engine_.now_ns() > kTimeLimitNs || engine_.handled_count() > kEventLimit) {
        violate(fmt::format("ends: somebody waits for ever ({})", standing()));
      }
    }
    trace_.add(static_cast<std::int64_t>(tokens_.unseed() ^ random_.bits()));
    return {.violations = violations_.list(),
            .end = end_,
            .steps = step_,
            .simulated_ns = engine_.now_ns(),
            .events = engine_.handled_count(),
            .digest = trace_.value(),
            .reached = std::move(checker_.reached())};
  }

 private:
  void violate(std::string what) { violations_.add(engine_.now_ns(), std::move(what)); }

  void start() {
    auto topology = Topology::create(
        {.rank_count = swarm_.shape.rank_count, .ranks_per_domain = swarm_.shape.rank_count});
    const auto created = group_->create_balancers({.options = swarm_.eplb,
                                                   .shape = swarm_.shape,
                                                   .topology = *topology,
                                                   .costs = kCosts,
                                                   .row_bytes = swarm_.row_bytes});
    if (!created) {
      if (!swarm_.refused_memory) {
        violate("start: " + created.error().message);
        return;
      }
      reached("memory refused at start");
      group_->rank(RankId{*swarm_.refused_memory}).exit();
      ++stopped_ranks_;
    }
    group_->load_weights(Placement::initial(swarm_.shape), version_);
    for (std::int32_t rank = 0; rank < group_->rank_count(); ++rank) {
      checker_.taken().push_back(std::make_shared<std::vector<LoadMatrix>>());
    }
    watch_ranks();
    group_->resume();
  }

  void reached(std::string what) { checker_.reached().insert(std::move(what)); }

  /// What the checker sees of each rank.
  void watch_ranks() {
    for (std::int32_t index = 0; index < group_->rank_count(); ++index) {
      const RankId rank{index};
      group_->rank(rank).recorder().keep_taken(checker_.taken()[rank.index()].get());
      group_->rank(rank).planner().inspect(
          [this, rank](const PlanRequest& request, SimPlanDesk::Answer& answer) {
            checker_.on_plan_request(rank, request);
            checker_.on_verdict(answer);
            spoil(rank, request, answer);
          });
    }
  }

  void spoil(RankId rank, const PlanRequest& request, SimPlanDesk::Answer& answer) {
    const auto hits = [&](const std::optional<RankEvent>& event) {
      return event && !healed_ && event->rank == rank.value && event->step == request.rearrangement;
    };
    if (hits(swarm_.refused_plan)) {
      answer = fail(ErrorCode::kInternal, "the policy refuses, as this world has it");
    }
    if (hits(swarm_.different_plan) && answer) {
      auto other = std::make_shared<MigrationSchedule>(**answer);
      ++other->digest;
      if (!other->layers.empty()) {
        other->layers.pop_back();
      }
      answer = std::shared_ptr<const MigrationSchedule>(std::move(other));
    }
  }

  // --- Serving ---

  void forward_ready() override {
    if (pause_ == Pause::kFinish) {
      checker_.check_forward(*group_, version_);
      finished_ = true;
      return;
    }
    profile_ = profiled_ < swarm_.profile_steps;
    profiled_ += profile_ ? 1 : 0;
    timing_.set_step(step_ + 1);
    checker_.check_forward(*group_, version_);
    const Shape& shape = group_.balancer()->placement().shape();
    kinds_.clear();
    counts_.clear();
    for (std::int32_t rank = 0; rank < group_->rank_count(); ++rank) {
      const bool dummy =
          !profile_ && random_.below(1000) < static_cast<std::uint64_t>(swarm_.dummy.value);
      kinds_.push_back(profile_ ? StepKind::kProfile
                                : (dummy ? StepKind::kDummy : StepKind::kReal));
      RankCounts counts = tokens_.draw(group_->rank(RankId{rank}), shape, step_);
      checker_.check_counts(*group_, RankId{rank}, counts);
      if (group_->rank(RankId{rank}).recorder().gate()) {
        group_->rank(RankId{rank}).recorder().count(counts.logical, counts.physical);
      }
      if (kinds_.back() == StepKind::kReal) {
        counts_.push_back(std::move(counts));
      }
    }
    if (!profile_) {
      checker_.expect_balancedness(step_, shape, counts_);
    }
    const auto jitter_ns = static_cast<std::int64_t>(random_.below(400 * kUs));
    group_->begin_forward(800 * kUs + jitter_ns);
    strike();
    watch_for_stall();
  }

  /// A rearrangement that nobody works on any more has to end, or to be aborted, by the deadlines.
  void watch_for_stall() {
    const std::size_t ended = group_.balancer()->rearrangements().size();
    if (!helper_is_dead_ || ended != ended_at_death_ || group_.idle()) {
      ended_at_death_ = ended;
      stalled_since_ns_ = engine_.now_ns();
    } else if (engine_.now_ns() - stalled_since_ns_ >
               5 * std::llround(swarm_.eplb.deadline_ms * 1e6)) {
      violate(fmt::format("ends: a rearrangement neither ends nor aborts ({})", standing()));
    }
  }

  /// What is due at this step, somewhere within its forward.
  void strike() {
    const auto due = [this](const std::optional<RankEvent>& event) {
      return event && !healed_ && event->step == step_ + 1 && event->rank < group_->rank_count();
    };
    if (due(swarm_.lost_rank)) {
      const auto later_ns = static_cast<std::int64_t>(random_.below(1200 * kUs));
      engine_.schedule(engine_.now_ns() + later_ns, Phase::kStart, *this, kLoseRank);
    }
    if (due(swarm_.dead_helper)) {
      group_->rank(RankId{swarm_.dead_helper->rank}).let_helper_die();
      helper_is_dead_ = true;
    }
  }

  void end_forward() override {
    if (end_) {
      violate("ends: a forward ended after the group had");
    }
    if (profile_) {
      return;
    }
    ++step_;
    if (!healed_ && step_ >= swarm_.fault_steps) {
      heal();
    }
    choose_pause();
  }

  void heal() {
    healed_ = true;
    helper_is_dead_ = false;
    timing_.heal();
    faults_.heal();
    ended_before_heal_ = completed_rearrangements();
    for (std::int32_t rank = 0; rank < group_->rank_count(); ++rank) {
      group_->rank(RankId{rank}).revive_helper();
    }
  }

  /// Rearrangements that have ended well; an empty one counts, an aborted one does not.
  [[nodiscard]] std::int64_t completed_rearrangements() {
    return std::ranges::count_if(group_.balancer()->rearrangements(),
                                 [](const Rearrangement& r) { return !r.abort; });
  }

  void choose_pause() {
    if (pause_ != Pause::kNone) {
      return;
    }
    const bool sleeps = swarm_.sleep_step && *swarm_.sleep_step <= step_ && !slept_;
    const bool scales = next_size_ < swarm_.sizes.size() && swarm_.sizes[next_size_].step <= step_;
    if (sleeps || scales) {
      pause_ = Pause::kDrain;
    } else if (healed_ && completed_rearrangements() >= ended_before_heal_ + 2) {
      pause_ = Pause::kFinish;
    } else if (step_ > step_limit()) {
      violate(fmt::format("ends: no two rearrangements end after the faults ({})", standing()));
    }
  }

  [[nodiscard]] std::int64_t step_limit() const {
    const EplbOptions& eplb = swarm_.eplb;
    const std::int64_t layers = swarm_.shape.layer_count;
    return swarm_.fault_steps + 100 + std::int64_t{4} * eplb.step_interval +
           8 * (layers + 1) * (std::int64_t{2} * eplb.commit_lead_steps + 6);
  }

  [[nodiscard]] StepKind kind_of(RankId rank) override { return kinds_[rank.index()]; }

  [[nodiscard]] bool proceeds(RankId /*rank*/) override {
    if (pause_ == Pause::kNone || profile_) {
      return true;
    }
    if (++waiting_ranks_ == group_->rank_count()) {
      engine_.schedule(engine_.now_ns(), Phase::kStart, *this, kAllWait);
    }
    return false;
  }

  void stopped(RankId rank) override {
    const Failure& reason = group_->rank(rank).balancer().stop_reason();
    if (!reason) {
      violate(fmt::format("ends: rank {} stops without a reason", rank.value));
    }
    if (end_ && !(end_ == reason)) {
      violate(fmt::format(R"(ends: rank {} says "{}", others say "{}")", rank.value,
                          describe(reason), describe(end_)));
    }
    end_ = reason;
    reached(fmt::format("end: {}", to_string(reason.cause)));
    const bool raised = swarm_.eplb.on_failure == OnFailure::kRaise;
    if (!raised && !swarm_.may_end()) {
      violate("ends: the group ended without a fatal fault: " + describe(reason));
    }
    if (swarm_.calm()) {
      violate("calm: the group ended: " + describe(reason));
    }
    // A rank that waits in a forward for the others, with nobody to call progress, cannot be told.
    const std::int32_t deaf =
        helper_is_dead_ && !group_->rank(RankId{swarm_.dead_helper->rank}).stopped() ? 1 : 0;
    if (++stopped_ranks_ + deaf >= group_->rank_count()) {
      finished_ = true;
    }
  }

  // --- Between two steps ---

  static constexpr std::int64_t kAllWait = 0;
  static constexpr std::int64_t kLoseRank = 1;
  static constexpr std::int64_t kAwake = 2;

  void on_event(const Event& event) override {
    if (event.argument == kLoseRank) {
      reached("a rank lost");
      group_->rank(RankId{swarm_.lost_rank->rank}).lose();
      ++stopped_ranks_;
    } else if (event.argument == kAwake) {
      wake_up();
    } else if (!end_) {
      all_wait();
    }
  }

  void all_wait() {
    if (pause_ == Pause::kFinish) {
      finish();
      return;
    }
    if (pause_ == Pause::kDrain && !draining_) {
      draining_ = true;
      if (!group_.idle()) {
        reached("drained while rearranging");
      }
      group_.drain();
    }
    if (!group_.idle()) {
      go_on();
    } else if (!group_.drained()) {
      engine_.schedule(engine_.now_ns() + 100 * kUs, Phase::kStart, *this, kAllWait);
    } else if (swarm_.sleep_step && *swarm_.sleep_step <= step_ && !slept_) {
      fall_asleep();
    } else {
      change_size();
    }
  }

  void go_on() {
    waiting_ranks_ = 0;
    group_->resume();
  }

  void end_pause() {
    pause_ = Pause::kNone;
    draining_ = false;
    group_.resume_triggers();
    go_on();
  }

  void fall_asleep() {
    reached("sleep");
    slept_ = true;
    for (std::int32_t rank = 0; rank < group_->rank_count(); ++rank) {
      if (!group_->rank(RankId{rank}).balancer().release_memory()) {
        violate("sleep: a drained balancer does not release its memory");
      }
    }
    engine_.schedule(engine_.now_ns() + 5 * kMs, Phase::kStart, *this, kAwake);
  }

  void wake_up() {
    for (std::int32_t rank = 0; rank < group_->rank_count(); ++rank) {
      if (!group_->rank(RankId{rank}).balancer().reserve_memory()) {
        violate("sleep: memory is refused on waking up");
      }
    }
    ++version_;
    group_->load_weights(group_.balancer()->placement(), version_);
    end_pause();
  }

  /// Ranks leave and come at random places.
  void change_size() {
    const std::int32_t ranks = swarm_.sizes[next_size_].ranks;
    const std::int32_t before = group_->rank_count();
    const auto topology = Topology::create({.rank_count = ranks, .ranks_per_domain = ranks});
    if (pause_ == Pause::kDrain) {
      staying_.clear();
      for (std::int32_t rank = 0; rank < before; ++rank) {
        staying_.push_back(RankId{rank});
      }
      while (static_cast<std::int32_t>(staying_.size()) > ranks) {
        staying_.erase(staying_.begin() +
                       static_cast<std::ptrdiff_t>(random_.below(staying_.size())));
      }
    }
    if (static_cast<std::int32_t>(staying_.size()) < before && !vacated()) {
      pause_ = Pause::kVacate;
      if (const auto vacated = group_.vacate(staying_, *topology); !vacated) {
        violate("scale: " + vacated.error().message);
      }
      go_on();
      return;
    }
    reached(ranks < before ? "scale down" : "scale up");
    std::vector<RankId> places;
    places.reserve(static_cast<std::size_t>(ranks));
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      places.push_back(RankId{rank});
    }
    for (std::size_t left = places.size(); left > 1; --left) {
      std::swap(places[left - 1], places[random_.below(left)]);
    }
    RankMapping mapping(static_cast<std::size_t>(before), RankId{-1});
    Checker::Taken taken(static_cast<std::size_t>(ranks));
    for (std::size_t index = 0; index < staying_.size(); ++index) {
      mapping[staying_[index].index()] = places[index];
      taken[places[index].index()] = checker_.taken()[staying_[index].index()];
    }
    for (auto& of_rank : taken) {
      if (of_rank == nullptr) {
        of_rank = std::make_shared<std::vector<LoadMatrix>>();
      }
    }
    if (const auto rescaled = group_.rescale(mapping, *topology); !rescaled) {
      violate("scale: " + rescaled.error().message);
      return;
    }
    checker_.taken() = std::move(taken);
    checker_.forget_logs();
    watch_ranks();
    ++next_size_;
    end_pause();
  }

  /// Whether ranks that leave hold nothing any more.
  [[nodiscard]] bool vacated() {
    const Placement& placement = group_.balancer()->placement();
    for (const LayerPlacement& layer : placement.layers()) {
      for (std::int32_t rank = 0; rank < layer.rank_count(); ++rank) {
        const bool stays = std::ranges::find(staying_, RankId{rank}) != staying_.end();
        if (!stays && std::ranges::any_of(layer.on_rank(RankId{rank}), [](LogicalExpertId expert) {
              return expert != kNoExpert;
            })) {
          return false;
        }
      }
    }
    return pause_ == Pause::kVacate || placement.layers().empty();
  }

  void finish() {
    for (std::int32_t rank = 0; rank < group_->rank_count(); ++rank) {
      const auto mine = group_->rank(RankId{rank}).balancer().rearrangements();
      const auto first = group_.balancer()->rearrangements();
      // A rank that came later has seen only the last ones.
      const std::size_t common = std::min(mine.size(), first.size());
      for (std::size_t index = 1; index <= common; ++index) {
        const Rearrangement& a = mine[mine.size() - index];
        const Rearrangement& b = first[first.size() - index];
        if (a.start_step != b.start_step || a.end_step != b.end_step || !(a.abort == b.abort) ||
            a.committed_layers != b.committed_layers) {
          violate(
              fmt::format("agreement: rank {} reports another rearrangement than rank 0", rank));
        }
      }
      const bool may_hold = !swarm_.calm() || !swarm_.eplb.use_async ||
                            swarm_.eplb.commit_lead_steps == 0 || !swarm_.sizes.empty();
      // The first step holds for the start-up, which nobody has posted ahead.
      if (!may_hold && group_->rank(RankId{rank}).hold_count() > 1) {
        violate(fmt::format("calm: rank {} held {} times", rank,
                            group_->rank(RankId{rank}).hold_count()));
      }
    }
    // What the last step has committed may not be in place yet: the next forward is looked at.
    go_on();
  }

  /// Where every rank stands, for whoever has to find out why nothing moves.
  [[nodiscard]] std::string standing() {
    std::string text = fmt::format("step {}", step_);
    for (std::int32_t rank = 0; rank < group_->rank_count(); ++rank) {
      const SimRank& of_rank = group_->rank(RankId{rank});
      text += fmt::format(", rank {} {}", rank,
                          of_rank.lost()      ? "lost"
                          : of_rank.stopped() ? "stopped"
                                              : to_string(of_rank.balancer().state()));
    }
    return text;
  }

  const Swarm& swarm_;
  EventEngine engine_;
  Violations violations_;
  ChaosTiming timing_;
  FlightCarrier carrier_;
  Checker checker_;
  CheckedTrace trace_;
  ScatterPolicy policy_;
  RandomStream random_;
  TrialTokens tokens_;
  TrialFaultPoints faults_;
  ElasticGroup group_;

  std::int64_t step_ = 0;  ///< Steps ended, profile steps apart.
  std::int32_t profiled_ = 0;
  bool profile_ = false;
  std::vector<StepKind> kinds_;     ///< Of the forward at hand, by rank.
  std::vector<RankCounts> counts_;  ///< Of the same, of real tokens.
  std::int64_t version_ = 0;        ///< Of the weights: one more at each loading.
  bool healed_ = false;
  bool helper_is_dead_ = false;
  std::size_t ended_at_death_ = 0;  ///< Rearrangements that had ended when one was last seen to.
  std::int64_t stalled_since_ns_ = 0;
  std::int64_t ended_before_heal_ = 0;

  Pause pause_ = Pause::kNone;
  bool draining_ = false;
  bool slept_ = false;
  std::size_t next_size_ = 0;
  std::vector<RankId> staying_;
  std::int32_t waiting_ranks_ = 0;

  Failure end_;
  std::int32_t stopped_ranks_ = 0;
  bool finished_ = false;
};

}  // namespace

TrialResult run_trial(const Swarm& swarm) {
  return Trial(swarm).run();
}

}  // namespace eplb::sim
