#include "eplb/sim/group/host_services.hpp"

#include <algorithm>
#include <utility>

#include "eplb/core/assert.hpp"

namespace eplb::sim {

Result<void> SimMemory::reserve(const env::MemoryLayout& layout) {
  if (timing_.refuses_memory(rank_)) {
    return fail(ErrorCode::kResourceExhausted, "no memory for the regions");
  }
  rows_.reserve(rank_, layout);
  return {};
}

SimMapPublisher::SimMapPublisher(SimQueue& forward, GroupTiming& timing, RankId rank,
                                 const Placement& initial)
    : forward_(forward), timing_(timing), rank_(rank), epochs_(initial.layers().size(), 0) {
  maps_.reserve(initial.layers().size());
  for (const LayerPlacement& layer : initial.layers()) {
    maps_.push_back(LayerMap::from(layer));
  }
}

void SimMapPublisher::publish(LayerId layer, const LayerMap& map, env::PlacementEpoch epoch) {
  forward_.call(timing_.publish_ns(rank_), [this, layer, map, epoch] {
    maps_[layer.index()] = map;
    epochs_[layer.index()] = epoch;
    ++change_count_;
  });
}

void SimLoadRecorder::count(LoadMatrix logical, LoadMatrix physical) {
  pass_.emplace(std::move(logical), std::move(physical));
}

void SimLoadRecorder::set_recording(bool recording) {
  if (gate_known_ && gate_ == recording) {
    violations_.add(engine_.now_ns(), "rank " + std::to_string(options_.rank.value) +
                                          ": the gate was written without a flip");
  }
  gate_known_ = true;
  gate_ = recording;
}

void SimLoadRecorder::close_pass(std::int64_t step, env::PassUse use) {
  auto pass = std::exchange(pass_, std::nullopt);
  if (!options_.counts_here || !(use.record || use.log)) {
    return;
  }
  if (!pass) {
    violations_.add(engine_.now_ns(), "rank " + std::to_string(options_.rank.value) +
                                          ": a pass is used whose gate was shut");
    return;
  }
  // 32 bits a count, as the device has them.
  const std::int64_t bytes = 4 * (pass->first.size() + (use.log ? pass->second.size() : 0));
  std::int64_t landed_ns = engine_.now_ns() + timing_.read_back_ns(options_.rank, bytes);
  if (!landings_.empty()) {
    landed_ns = std::max(landed_ns, landings_.back().landed_ns);
  }
  if (use.dummy) {
    pass->first.setZero();
    pass->second.setZero();
  }
  landings_.push_back({.landed_ns = landed_ns,
                       .pass = {.step = step,
                                .use = use,
                                .logical = std::move(pass->first),
                                .physical = use.log ? std::move(pass->second) : LoadMatrix{}}});
  engine_.schedule(landed_ns, Phase::kCompletion, *this, 0);
}

const env::RecordedPass* SimLoadRecorder::try_take() {
  if (landings_.empty() || landings_.front().landed_ns > engine_.now_ns()) {
    return nullptr;
  }
  handed_out_ = std::move(landings_.front().pass);
  landings_.pop_front();
  if (taken_ != nullptr && handed_out_.use.record && !handed_out_.use.dummy) {
    taken_->push_back(handed_out_.logical);
  }
  return &handed_out_;
}

void SimLoadRecorder::on_event(const Event& /*event*/) {
  host_.wake();
}

SimPlanDesk::Answer SimPlanDesk::answer(const PlanRequest& request) {
  const bool same =
      request_.has_value() && request_->rearrangement == request.rearrangement &&
      std::ranges::equal(request_->history, request.history,
                         [](const auto& a, const auto& b) { return *a == *b; }) &&
      *request_->current == *request.current && request_->trigger == request.trigger &&
      (request.current_shares == nullptr || *request_->current_shares == *request.current_shares);
  if (!same) {
    request_ = request;
    answer_ = plan_rearrangement(request, policy_);
  }
  return *answer_;
}

void SimPlanner::submit(PlanRequest request) {
  SimPlanDesk::Answer answer = desk_.answer(request);
  if (inspector_) {
    inspector_(request, answer);
  }
  std::int64_t ready_ns = engine_.now_ns() + timing_.plan_ns(rank_, request.shape.layer_count);
  if (!waiting_.empty()) {
    ready_ns = std::max(ready_ns, waiting_.back().ready_ns);
  }
  waiting_.push_back(
      {.ready_ns = ready_ns,
       .answer = {.rearrangement = request.rearrangement, .schedule = std::move(answer)}});
  engine_.schedule(ready_ns, Phase::kCompletion, *this, 0);
}

std::optional<env::PlanAnswer> SimPlanner::poll() {
  if (waiting_.empty() || waiting_.front().ready_ns > engine_.now_ns()) {
    return std::nullopt;
  }
  env::PlanAnswer answer = std::move(waiting_.front().answer);
  waiting_.pop_front();
  return answer;
}

}  // namespace eplb::sim
