#pragma once

#include <cstdint>
#include <vector>

#include "eplb/sim/group/carrier.hpp"
#include "eplb/sim/random_stream.hpp"
#include "eplb/sim/trial/swarm.hpp"

namespace eplb::sim {

/// Times and failures as a swarm has them. Each kind draws from a stream of its own.
class ChaosTiming final : public GroupTiming, public FlightTiming {
 public:
  explicit ChaosTiming(const Swarm& swarm);

  /// What happens at a step of the trial is due from then on.
  void set_step(std::int64_t step) { step_ = step; }

  /// From now on nothing fails, and nothing is late.
  void heal() { healed_ = true; }

  [[nodiscard]] std::int64_t message_ns(RankId from, RankId to) override;
  [[nodiscard]] bool repeats_message() override;
  [[nodiscard]] Flight transfer(const RowCopy& copy, std::int64_t bytes,
                                std::int64_t now_ns) override;
  [[nodiscard]] bool refuses_transfer(RankId rank) override;
  [[nodiscard]] Flight local_copy(const RowCopy& copy, std::int64_t bytes,
                                  std::int64_t now_ns) override;
  [[nodiscard]] std::int64_t publish_ns(RankId rank) override;
  [[nodiscard]] std::int64_t read_back_ns(RankId rank, std::int64_t bytes) override;
  [[nodiscard]] std::int64_t plan_ns(RankId rank, std::int32_t layer_count) override;
  [[nodiscard]] bool refuses_memory(RankId rank) override;
  [[nodiscard]] std::int64_t host_ns(RankId rank) override;
  [[nodiscard]] std::int64_t poll_ns(RankId rank) override;

 private:
  /// A link that carries nothing for a while.
  struct Clog {
    RankId from;
    RankId to;
    std::int64_t begin_ns;
    std::int64_t end_ns;
  };

  [[nodiscard]] std::int64_t draw(RandomStream& random, const DelayRange& range) const;
  [[nodiscard]] bool happens(RandomStream& random, PerMille share) const;
  [[nodiscard]] bool due(const std::optional<RankEvent>& event, RankId rank) const;

  Swarm swarm_;
  RandomStream network_;
  RandomStream copies_;
  RandomStream hosts_;
  RandomStream planners_;
  std::vector<Clog> clogs_;
  std::int64_t step_ = 0;
  bool healed_ = false;
};

}  // namespace eplb::sim
