#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "eplb/core/env/load_recorder.hpp"
#include "eplb/core/env/map_publisher.hpp"
#include "eplb/core/placement.hpp"

namespace eplb::gpu {

struct PassFindings {
  std::int64_t passes_checked = 0;
  std::int64_t passes_wrong = 0;
  std::int64_t logged_checked = 0;  ///< Of them, those whose slots were counted too.
  std::int64_t wrong_step = -1;     ///< Of the first that was wrong.
};

/// Stands between a balancer and its recorder and publisher, and holds what comes back against what
/// it must be: each layer counts every pick once, and where slots were counted, they fold by that
/// step's map into the counts by logical expert.
class PassCheck final : public env::LoadRecorder, public env::MapPublisher {
 public:
  struct Options {
    std::int64_t picks_per_layer = 0;  ///< Of this rank, in a forward.
    Placement initial;
  };

  /// Both outlive it.
  PassCheck(env::LoadRecorder& recorder, env::MapPublisher& publisher, const Options& options);

  [[nodiscard]] bool counts_here() const override { return recorder_.counts_here(); }

  void set_recording(bool recording) override { recorder_.set_recording(recording); }

  void close_pass(std::int64_t step, env::PassUse use) override;
  [[nodiscard]] const env::RecordedPass* try_take() override;
  void publish(LayerId layer, const LayerMap& map, env::PlacementEpoch epoch) override;

  [[nodiscard]] const PassFindings& findings() const { return findings_; }

 private:
  /// The expert of each slot, by layer; -1 for none.
  using Occupants = std::vector<std::vector<std::int32_t>>;

  [[nodiscard]] bool is_right(const env::RecordedPass& pass) const;

  env::LoadRecorder& recorder_;
  env::MapPublisher& publisher_;
  std::int64_t picks_per_layer_;
  Occupants occupants_;
  std::map<std::int64_t, Occupants> logged_;  ///< As forwards found them, by step.
  PassFindings findings_;
};

}  // namespace eplb::gpu
