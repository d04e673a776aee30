#include "eplb/gpu/run/content_check.hpp"

#include <cstddef>

#include "eplb/gpu/error.hpp"
#include "eplb/gpu/memory/row_digest.hpp"

namespace eplb::gpu {
namespace {

std::size_t places(const Shape& shape) {
  return static_cast<std::size_t>(shape.layer_count) *
         static_cast<std::size_t>(shape.slots_per_rank());
}

}  // namespace

ContentCheck::ContentCheck(const Shape& shape, RankId rank)
    : rank_(rank),
      slots_(shape.slots_per_rank()),
      experts_(places(shape)),
      found_(places(shape)),
      expected_(places(shape)) {}

void ContentCheck::fill(std::span<const LayerWeights> layers, const Placement& placement,
                        cudaStream_t stream) const {
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const LayerId id{static_cast<std::int32_t>(layer)};
    const auto experts = placement.layer(id).on_rank(rank_);
    for (std::int32_t slot = 0; slot < slots_; ++slot) {
      const LogicalExpertId expert = experts[static_cast<std::size_t>(slot)];
      if (expert != kNoExpert) {
        fill_row(layers[layer].tensors(), {.layer = id, .expert = expert, .row = slot}, stream);
      }
    }
  }
  EPLB_CUDA(cudaStreamSynchronize(stream));
}

ContentFindings ContentCheck::check(std::span<const LayerWeights> layers,
                                    const Placement& placement, std::int32_t sample_stride,
                                    std::int64_t round, cudaStream_t stream) {
  const DigestOptions options{.row_count = slots_,
                              .sample_stride = sample_stride,
                              .sample_start = static_cast<std::int32_t>(round % sample_stride)};
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const LayerId id{static_cast<std::int32_t>(layer)};
    const std::size_t first = layer * static_cast<std::size_t>(slots_);
    std::size_t place = first;
    for (const LogicalExpertId expert : placement.layer(id).on_rank(rank_)) {
      experts_.span()[place++] = expert.value;
    }
    digest_rows(layers[layer].tensors(), options, found_.data() + first, stream);
    digest_expected(layers[layer].tensors(), id, experts_.data() + first, options,
                    expected_.data() + first, stream);
  }
  found_.fetch(stream);
  expected_.fetch(stream);
  EPLB_CUDA(cudaStreamSynchronize(stream));
  ContentFindings findings;
  for (std::size_t place = 0; place < found_.size(); ++place) {
    if (experts_.span()[place] == kNoExpert.value) {
      continue;
    }
    ++findings.rows_checked;
    if (found_.fetched()[place] != expected_.fetched()[place]) {
      if (findings.rows_wrong++ == 0) {
        findings.wrong_layer = LayerId{static_cast<std::int32_t>(place) / slots_};
        findings.wrong_slot = LocalSlot{static_cast<std::int32_t>(place) % slots_};
      }
    }
  }
  return findings;
}

}  // namespace eplb::gpu
