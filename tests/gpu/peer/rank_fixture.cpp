#include "rank_fixture.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "eplb/gpu/memory/expert_content.hpp"
#include "eplb/gpu/memory/row_digest.hpp"

namespace eplb::gpu::test {
namespace {

constexpr std::byte kPoison{0xEE};
constexpr std::int64_t kStridePadding = 160;

/// An engine's tensors lie apart, with room between their rows.
EngineWeights engine_weights(const FixtureOptions& options,
                             std::vector<DeviceBuffer<std::byte>>& buffers) {
  EngineWeights weights;
  for (const std::vector<std::int64_t>& layer : options.tensor_bytes) {
    std::vector<WeightTensor> tensors;
    for (const std::int64_t bytes : layer) {
      const std::int64_t stride = bytes + kStridePadding + options.misalignment_bytes;
      buffers.emplace_back(
          static_cast<std::size_t>(stride * options.slot_count + options.misalignment_bytes));
      tensors.push_back({.base = buffers.back().data() + options.misalignment_bytes,
                         .row_bytes = bytes,
                         .row_stride_bytes = stride});
    }
    weights.layers.push_back(std::move(tensors));
  }
  return weights;
}

void compare(Checks& checks, const std::vector<std::byte>& actual,
             const std::vector<std::byte>& expected, const std::string& what) {
  const auto [at, _] =
      std::mismatch(actual.begin(), actual.end(), expected.begin(), expected.end());
  checks.expect(actual.size() == expected.size() && at == actual.end(),
                what + ": byte " + std::to_string(at - actual.begin()) + " of " +
                    std::to_string(actual.size()) + " differs");
}

}  // namespace

std::vector<std::int64_t> measured_expert() {
  return {11'796'480, 737'280, 5'898'240, 368'640};
}

std::vector<std::byte> expected_tensor(LayerId layer, std::int32_t expert, std::size_t tensor,
                                       std::int64_t bytes) {
  const std::uint64_t seed = content_seed({.layer = static_cast<std::uint32_t>(layer.value),
                                           .expert = static_cast<std::uint32_t>(expert),
                                           .tensor = static_cast<std::uint32_t>(tensor)});
  const auto size = static_cast<std::size_t>(bytes);
  std::vector<std::byte> content(size);
  for (std::size_t begin = 0; begin < size; begin += sizeof(std::uint64_t)) {
    const std::uint64_t word = content_word(seed, begin / sizeof(std::uint64_t));
    std::memcpy(content.data() + begin, &word, std::min(sizeof(word), size - begin));
  }
  return content;
}

RankFixture::RankFixture(SymmetricHeap& heap, const PeerGroup& group, FixtureOptions options)
    : group_(group),
      options_(std::move(options)),
      memory_(options_.ownership == Ownership::kOurs
                  ? DeviceMemory(heap, group.rank, group.device,
                                 OwnWeights{.tensor_bytes = options_.tensor_bytes})
                  : DeviceMemory(heap, group.rank, group.device,
                                 engine_weights(options_, engine_buffers_))) {}

env::MemoryLayout RankFixture::layout() const {
  env::MemoryLayout layout{.slots_per_rank = options_.slot_count,
                           .landing_rows = options_.landing_rows,
                           .row_bytes = {}};
  for (const std::vector<std::int64_t>& tensors : options_.tensor_bytes) {
    layout.row_bytes.push_back(std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0}));
  }
  return layout;
}

void RankFixture::prepare() {
  if (const Result<void> reserved = memory_.reserve(layout()); !reserved) {
    throw std::runtime_error("reserve: " + reserved.error().message);
  }
  fill_slots();
  poison_landing();
}

void RankFixture::fill_slots() const {
  const std::span<const LayerWeights> layers = memory_.rows().layers();
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    for (std::int32_t slot = 0; slot < options_.slot_count; ++slot) {
      fill_row(layers[layer].tensors(),
               {.layer = LayerId{static_cast<std::int32_t>(layer)},
                .expert = LogicalExpertId{first_occupant(group_.rank, slot)},
                .row = slot},
               stream_.get());
    }
  }
  stream_.synchronize();
}

void RankFixture::poison_landing() const {
  const LandingPools& pools = memory_.rows().landing();
  EPLB_CUDA(cudaMemsetAsync(pools.bases[group_.rank.index()], static_cast<int>(kPoison),
                            static_cast<std::size_t>(pools.row_stride_bytes * pools.row_count),
                            stream_.get()));
  stream_.synchronize();
}

std::vector<std::byte> RankFixture::download(const std::byte* begin, std::int64_t bytes) const {
  std::vector<std::byte> content(static_cast<std::size_t>(bytes));
  if (bytes > 0) {
    EPLB_CUDA(
        cudaMemcpyAsync(content.data(), begin, content.size(), cudaMemcpyDefault, stream_.get()));
  }
  stream_.synchronize();
  return content;
}

std::vector<std::byte> RankFixture::download_landing(std::int32_t row) const {
  const LandingPools& pools = memory_.rows().landing();
  return download(pools.bases[group_.rank.index()] + row * pools.row_stride_bytes,
                  pools.row_stride_bytes);
}

void RankFixture::expect_landing(Checks& checks, std::int32_t row, LayerId layer,
                                 std::int32_t expert) const {
  const LayerWeights& weights = memory_.rows().layers()[layer.index()];
  std::vector<std::byte> actual = download_landing(row);
  std::vector<std::byte> expected(actual.size(), kPoison);
  if (weights.is_of_rows()) {
    // Gaps come along with rows of ours, and mean nothing.
    std::copy(actual.begin(), actual.begin() + weights.row_width_bytes(), expected.begin());
  }
  for (std::size_t tensor = 0; tensor < weights.tensors().size(); ++tensor) {
    const std::vector<std::byte> content =
        expected_tensor(layer, expert, tensor, weights.tensors()[tensor].row_bytes);
    std::ranges::copy(content, expected.begin() + weights.landing_offset(tensor));
  }
  compare(checks, actual, expected,
          "landing row " + std::to_string(row) + " of rank " + std::to_string(group_.rank.value) +
              ", layer " + std::to_string(layer.value) + " expert " + std::to_string(expert));
}

void RankFixture::expect_poison(Checks& checks, std::int32_t row) const {
  const std::vector<std::byte> actual = download_landing(row);
  compare(checks, actual, std::vector<std::byte>(actual.size(), kPoison),
          "untouched landing row " + std::to_string(row) + " of rank " +
              std::to_string(group_.rank.value));
}

void RankFixture::expect_slot(Checks& checks, LayerId layer, std::int32_t slot,
                              std::int32_t expert) const {
  const LayerWeights& weights = memory_.rows().layers()[layer.index()];
  for (std::size_t tensor = 0; tensor < weights.tensors().size(); ++tensor) {
    const WeightTensor& at = weights.tensors()[tensor];
    compare(checks, download(at.base + slot * at.row_stride_bytes, at.row_bytes),
            expected_tensor(layer, expert, tensor, at.row_bytes),
            "slot " + std::to_string(slot) + " of layer " + std::to_string(layer.value) +
                ", tensor " + std::to_string(tensor));
  }
}

}  // namespace eplb::gpu::test
