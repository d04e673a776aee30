#include "eplb/group/recorded_calls.hpp"

#include <bit>
#include <tuple>

#include "eplb/core/digest.hpp"

namespace eplb::group::call {
namespace {

/// Of all that a plan follows from, but the topology and the prices, which never change.
std::uint64_t digest_of(const PlanRequest& request) {
  const Shape& shape = request.shape;
  Digest digest;
  for (const std::int64_t value :
       {request.rearrangement, std::int64_t{shape.layer_count}, std::int64_t{shape.expert_count},
        std::int64_t{shape.redundant_slot_count}, std::int64_t{shape.rank_count},
        std::int64_t{request.window_part_count}, std::int64_t{request.schedule.landing_rows},
        std::int64_t{request.schedule.batching ? 1 : 0},
        std::int64_t{request.schedule.one_row_batches ? 1 : 0},
        std::int64_t{request.schedule.every_layer ? 1 : 0},
        std::int64_t{request.schedule.first_landing_row}}) {
    digest.add(value);
  }
  digest.add(request.schedule.row_bytes);
  for (const RankId rank : request.staying.value_or(std::vector<RankId>())) {
    digest.add(rank.value);
  }
  digest.add(std::bit_cast<std::int64_t>(request.window_steps));
  if (request.trigger.has_value()) {
    digest.add(request.trigger->rearrangements_since_move);
  }
  for (const auto& part : request.history) {
    for (const double load : part->reshaped<Eigen::RowMajor>()) {
      digest.add(std::bit_cast<std::int64_t>(load));
    }
  }
  for (const LayerPlacement& layer : request.current->layers()) {
    for (const LogicalExpertId expert : layer.occupants()) {
      digest.add(expert.value);
    }
  }
  if (request.current_shares != nullptr) {
    for (const LayerShares& layer : *request.current_shares) {
      for (const std::uint16_t units : layer.units()) {
        digest.add(units);
      }
    }
  }
  return digest.value();
}

auto parts_of(const Reserve& reserve) {
  return std::tie(reserve.layout.slots_per_rank, reserve.layout.landing_rows,
                  reserve.layout.row_bytes);
}

auto parts_of(const ClosePass& pass) {
  return std::tie(pass.step, pass.use.record, pass.use.log, pass.use.dummy);
}

auto parts_of(const Publish& publish) {
  return std::tie(publish.layer, *publish.map, publish.epoch);
}

auto parts_of(const Record& made) {
  const env::TraceRecord& record = made.record;
  return std::tie(record.time_ns, record.rank, record.event, record.subject, record.value);
}

}  // namespace

bool operator==(const Reserve& left, const Reserve& right) {
  return parts_of(left) == parts_of(right);
}

bool operator==(const ClosePass& left, const ClosePass& right) {
  return parts_of(left) == parts_of(right);
}

bool operator==(const Publish& left, const Publish& right) {
  return parts_of(left) == parts_of(right);
}

bool operator==(const Submit& left, const Submit& right) {
  return digest_of(*left.request) == digest_of(*right.request);
}

bool operator==(const Record& left, const Record& right) {
  return parts_of(left) == parts_of(right);
}

}  // namespace eplb::group::call
