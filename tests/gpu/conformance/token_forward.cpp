#include "token_forward.hpp"

#include <algorithm>
#include <string>

#include "eplb/gpu/bounded_wait.hpp"
#include "eplb/gpu/map_and_record.hpp"

namespace eplb::gpu::test {
namespace {

/// The kernel loads neighbouring ids at once, so each layer's begin at a multiple of this.
constexpr std::size_t kRoomUnit = 64;

}  // namespace

// Page-locked memory comes and goes only if the device stands still, so there is always more of it
// than was needed so far.
void TokenForward::make_room(const LoadMatrix& tokens) {
  const auto most = static_cast<std::size_t>(tokens.rowwise().sum().maxCoeff());
  if (most < room_) {
    return;
  }
  room_ = (2 * most / kRoomUnit + 1) * kRoomUnit;
  const std::size_t size = static_cast<std::size_t>(shape_.layer_count) * room_;
  experts_.emplace(size);
  slots_.emplace(size);
}

TokenDeal TokenForward::run(const LoadMatrix& tokens,
                            const std::function<LayerMapping(LayerId)>& mapping_of) {
  make_room(tokens);
  std::vector<std::size_t> token_counts;
  token_counts.reserve(static_cast<std::size_t>(shape_.layer_count));
  for (std::int32_t layer = 0; layer < shape_.layer_count; ++layer) {
    std::size_t next = first_of(layer);
    for (std::int32_t expert = 0; expert < shape_.expert_count; ++expert) {
      for (std::int64_t token = 0; token < tokens(layer, expert); ++token) {
        experts_->span()[next++] = expert;
      }
    }
    token_counts.push_back(next - first_of(layer));
    map_and_record<std::int64_t>({.logical_ids = experts_->data() + first_of(layer),
                                  .slot_ids = slots_->data() + first_of(layer),
                                  .row_count = static_cast<std::int32_t>(token_counts.back()),
                                  .top_k = 1,
                                  .mapping = mapping_of(LayerId{layer})},
                                 stream_);
  }
  end_.record(stream_);
  wait_for_device("a forward has not ended", [this] { return end_.is_past(); });
  TokenDeal deal{.experts = LoadMatrix::Constant(shape_.layer_count, shape_.slot_count(), -1),
                 .faults = {}};
  for (std::int32_t layer = 0; layer < shape_.layer_count; ++layer) {
    read_back(layer, token_counts[static_cast<std::size_t>(layer)], deal);
  }
  return deal;
}

void TokenForward::read_back(std::int32_t layer, std::size_t token_count, TokenDeal& deal) const {
  const auto experts = experts_->span().subspan(first_of(layer), token_count);
  const auto slots = slots_->span().subspan(first_of(layer), token_count);
  for (std::size_t token = 0; token < token_count; ++token) {
    const std::int64_t slot = slots[token];
    const std::string what =
        "layer " + std::to_string(layer) + ": a token of expert " + std::to_string(experts[token]);
    if (slot < 0 || slot >= shape_.slot_count()) {
      deal.faults.push_back(what + " went to slot " + std::to_string(slot));
      continue;
    }
    std::int64_t& expected = deal.experts(layer, slot);
    if (expected >= 0 && expected != experts[token]) {
      deal.faults.push_back(what + " shares slot " + std::to_string(slot) + " with one of expert " +
                            std::to_string(expected));
    }
    expected = experts[token];
  }
}

}  // namespace eplb::gpu::test
