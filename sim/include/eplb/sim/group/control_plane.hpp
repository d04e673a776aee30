#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "eplb/core/env/control_plane.hpp"
#include "eplb/sim/event_engine.hpp"
#include "eplb/sim/group/group_timing.hpp"
#include "eplb/sim/group/group_trace.hpp"
#include "eplb/sim/group/host.hpp"

namespace eplb::sim {

class SimControlPlane;

/// What a group's ranks tell each other, on its way: messages that take their time, may overtake
/// each other and come twice.
class SimPost final : private EventHandler {
 public:
  /// `trace` may be null.
  SimPost(EventEngine& engine, GroupTiming& timing, GroupTrace* trace = nullptr)
      : engine_(engine), timing_(timing), trace_(trace) {}

  /// Every rank's end, in order of ranks, before anything is sent.
  void join(SimControlPlane& end) { ends_.push_back(&end); }

  void send_status(RankId from, const Status& status);
  void send_heartbeat(RankId from);
  void send_retired(RankId from, std::int64_t rearrangement, std::int32_t layers);
  void add_to_sum(RankId from, const env::SumKey& key, std::span<const double> values);
  void end_group(RankId from, const Failure& failure);

  /// The rank is gone; the others are told after a while.
  void lose(RankId rank);

 private:
  struct Retired {
    RankId rank;
    std::int64_t rearrangement;
    std::int32_t layers;
  };

  struct Letter {
    RankId from{-1};
    std::size_t to = 0;
    std::optional<Status> status = std::nullopt;
    std::optional<Retired> retired = std::nullopt;
    std::optional<env::SumKey> sum_key = std::nullopt;
    std::shared_ptr<const std::vector<double>> sum = nullptr;
    std::optional<Failure> end = std::nullopt;
  };

  void on_event(const Event& event) override;
  void send_to_all(RankId from, const Letter& letter, std::int64_t after_ns = 0);

  EventEngine& engine_;
  GroupTiming& timing_;
  GroupTrace* trace_;
  std::vector<SimControlPlane*> ends_;
  std::map<std::int64_t, Letter> letters_;
  std::int64_t next_letter_ = 0;
  /// Incomplete ones: a part a rank.
  std::map<env::SumKey, std::vector<std::optional<std::vector<double>>>> sums_;
  std::optional<Failure> ended_;
};

/// One rank's end: what has reached it.
class SimControlPlane final : public env::ControlPlane {
 public:
  SimControlPlane(SimPost& post, Host& host, RankId rank, std::int32_t rank_count)
      : post_(post),
        host_(host),
        rank_(rank),
        retired_(static_cast<std::size_t>(rank_count)),
        heard_ns_(static_cast<std::size_t>(rank_count), 0),
        rank_count_(rank_count) {}

  [[nodiscard]] RankId rank() const override { return rank_; }

  void post(const Status& status) override;
  [[nodiscard]] const Status* find(RankId rank, const RoundKey& key) const override;
  void post_retired(std::int64_t rearrangement, std::int32_t layers) override;
  [[nodiscard]] std::int32_t retired(RankId rank, std::int64_t rearrangement) const override;

  void post_heartbeat() override { post_.send_heartbeat(rank_); }

  [[nodiscard]] std::int64_t heard_ns(RankId rank) const override {
    return heard_ns_[rank.index()];
  }

  void start_sum(const env::SumKey& key, std::span<const double> values) override;
  [[nodiscard]] std::shared_ptr<const std::vector<double>> try_take_sum(
      const env::SumKey& key) override;
  void end_group(const Failure& failure) override;

  [[nodiscard]] std::optional<Failure> group_failure() const override { return failure_; }

  // What arrives.
  void hear(RankId from, std::int64_t now_ns) { heard_ns_[from.index()] = now_ns; }

  void receive_status(const Status& status);
  void receive_retired(RankId rank, std::int64_t rearrangement, std::int32_t layers);
  void receive_sum(const env::SumKey& key, std::shared_ptr<const std::vector<double>> sum);
  void receive_end(const Failure& failure);

 private:
  struct Retired {
    std::int64_t rearrangement = 0;
    std::int32_t layers = 0;
  };

  SimPost& post_;
  Host& host_;
  RankId rank_;
  std::map<RoundKey, std::vector<std::optional<Status>>> statuses_;  ///< By rank.
  std::vector<Retired> retired_;                                     ///< By rank.
  std::vector<std::int64_t> heard_ns_;                               ///< By rank.
  /// Null where it was taken, so that a message that comes again does not bring it back.
  std::map<env::SumKey, std::shared_ptr<const std::vector<double>>> sums_;
  std::optional<Failure> failure_;
  std::int32_t rank_count_;
};

}  // namespace eplb::sim
