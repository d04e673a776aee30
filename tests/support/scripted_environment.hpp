#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "eplb/core/env/environment.hpp"

namespace eplb::test {

/// An environment that a test drives by hand: time, landed counts, plans and transfers come when
/// the test says so, and every command of the balancer is kept.
class ScriptedEnvironment final : public env::Clock,
                                  public env::LoadRecorder,
                                  public env::Planner,
                                  public env::Transport,
                                  public env::MapPublisher,
                                  public env::TraceSink {
 public:
  [[nodiscard]] env::Environment environment() {
    return {*this, *this, *this, *this, *this, *this};
  }

  [[nodiscard]] std::int64_t now_ns() const override { return time_ns; }

  void set_recording(bool recording) override { gate.push_back(recording); }

  void close_pass(bool keep) override {
    kept.push_back(keep);
    if (keep) {
      landed_.push_back(pass);
    }
  }

  [[nodiscard]] const LoadMatrix* try_take() override {
    if (landed_.empty() || hold_back_loads) {
      return nullptr;
    }
    taken_ = landed_.front();
    landed_.pop_front();
    return &taken_;
  }

  void submit(const PolicyProblem& problem) override {
    windows.push_back(window_load(problem));
    history_sizes.push_back(problem.history.size());
  }

  [[nodiscard]] std::optional<Result<Placement>> poll() override {
    return std::exchange(plan, std::nullopt);
  }

  [[nodiscard]] env::Ticket start(const LayerMigration& layer) override {
    started.push_back(layer);
    return {static_cast<std::int64_t>(started.size())};
  }

  [[nodiscard]] bool has_landed(env::Ticket ticket) const override {
    return ticket.value <= landed_ticket_max;
  }

  void publish(LayerId layer, const LayerMap& /*map*/, env::PlacementEpoch epoch) override {
    published.emplace_back(layer.value, epoch);
  }

  void record(const env::TraceRecord& record) override { trace.push_back(record); }

  /// Records of one kind, in order.
  [[nodiscard]] std::int64_t count(env::TraceEvent event) const {
    return std::ranges::count(trace, event, &env::TraceRecord::event);
  }

  // What the test sets.
  std::int64_t time_ns = 0;
  LoadMatrix pass;                        ///< Counts of every forward.
  bool hold_back_loads = false;           ///< Kept passes have not landed yet.
  std::optional<Result<Placement>> plan;  ///< Ready plan.
  std::int64_t landed_ticket_max = 0;

  // What the balancer did.
  std::vector<bool> gate;
  std::vector<bool> kept;
  std::vector<RealLoadMatrix> windows;  ///< One a submitted plan.
  std::vector<std::size_t> history_sizes;
  std::vector<LayerMigration> started;
  std::vector<std::pair<std::int32_t, std::int64_t>> published;  ///< (layer, epoch).
  std::vector<env::TraceRecord> trace;

 private:
  std::deque<LoadMatrix> landed_;
  LoadMatrix taken_;
};

}  // namespace eplb::test
