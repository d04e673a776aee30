#include "eplb/gpu/run/pass_check.hpp"

namespace eplb::gpu {

PassCheck::PassCheck(env::LoadRecorder& recorder, env::MapPublisher& publisher,
                     const Options& options)
    : recorder_(recorder), publisher_(publisher), picks_per_layer_(options.picks_per_layer) {
  occupants_.reserve(options.initial.layers().size());
  for (const LayerPlacement& layer : options.initial.layers()) {
    std::vector<std::int32_t> experts;
    experts.reserve(layer.occupants().size());
    for (const LogicalExpertId expert : layer.occupants()) {
      experts.push_back(expert.value);
    }
    occupants_.push_back(std::move(experts));
  }
}

void PassCheck::close_pass(std::int64_t step, env::PassUse use) {
  if (use.log) {
    logged_[step] = occupants_;
  }
  recorder_.close_pass(step, use);
}

const env::RecordedPass* PassCheck::try_take() {
  const env::RecordedPass* pass = recorder_.try_take();
  if (pass != nullptr && !pass->use.dummy) {
    ++findings_.passes_checked;
    findings_.logged_checked += pass->use.log ? 1 : 0;
    if (!is_right(*pass) && findings_.passes_wrong++ == 0) {
      findings_.wrong_step = pass->step;
    }
  }
  if (pass != nullptr) {
    logged_.erase(pass->step);
  }
  return pass;
}

bool PassCheck::is_right(const env::RecordedPass& pass) const {
  const bool recorded = pass.use.record;
  for (Eigen::Index layer = 0; recorded && layer < pass.logical.rows(); ++layer) {
    if (pass.logical.row(layer).sum() != picks_per_layer_) {
      return false;
    }
  }
  if (!pass.use.log) {
    return true;
  }
  const Occupants& occupants = logged_.at(pass.step);
  LoadMatrix folded = LoadMatrix::Zero(pass.logical.rows(), pass.logical.cols());
  for (Eigen::Index layer = 0; layer < pass.physical.rows(); ++layer) {
    for (Eigen::Index slot = 0; slot < pass.physical.cols(); ++slot) {
      const std::int32_t expert =
          occupants[static_cast<std::size_t>(layer)][static_cast<std::size_t>(slot)];
      if (expert >= 0) {
        folded(layer, expert) += pass.physical(layer, slot);
      } else if (pass.physical(layer, slot) != 0) {
        return false;
      }
    }
  }
  return folded == pass.logical && pass.rank_loads.sum() == pass.physical.sum();
}

void PassCheck::publish(LayerId layer, const LayerMap& map, env::PlacementEpoch epoch) {
  std::vector<std::int32_t>& occupants = occupants_[layer.index()];
  occupants.assign(occupants.size(), kNoExpert.value);
  for (std::int32_t expert = 0; expert < map.expert_count(); ++expert) {
    for (const std::int32_t slot : map.slots(LogicalExpertId{expert})) {
      occupants[static_cast<std::size_t>(slot)] = expert;
    }
  }
  publisher_.publish(layer, map, epoch);
}

}  // namespace eplb::gpu
