#include "eplb/gpu/memory/rank_weights.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace eplb::gpu {
namespace {

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

std::string described(const RowAddress& address) {
  return (address.region == kLandingRegion
              ? "landing row "
              : "layer " + std::to_string(address.region.value) + " slot ") +
         std::to_string(address.row) + " of rank " + std::to_string(address.rank.value);
}

Result<void> check_tensor(const WeightTensor& tensor, std::size_t index) {
  const std::string name = "tensor " + std::to_string(index) + " of a layer";
  if (tensor.row_bytes < 0) {
    return fail(ErrorCode::kInvalidArgument,
                name + " has a row of " + std::to_string(tensor.row_bytes) + " bytes");
  }
  if (tensor.row_bytes > 0 && tensor.base == nullptr) {
    return fail(ErrorCode::kInvalidArgument, name + " has no memory");
  }
  if (tensor.row_stride_bytes < tensor.row_bytes) {
    return fail(ErrorCode::kInvalidArgument,
                name + " has rows that overlap: each has " + std::to_string(tensor.row_bytes) +
                    " bytes, and the next begins after " + std::to_string(tensor.row_stride_bytes));
  }
  return {};
}

void append(const CopyPiece& piece, std::vector<CopyPiece>& pieces) {
  if (piece.bytes == 0) {
    return;
  }
  if (!pieces.empty()) {
    CopyPiece& last = pieces.back();
    if (last.destination + last.bytes == piece.destination &&
        last.source + last.bytes == piece.source) {
      last.bytes += piece.bytes;
      return;
    }
  }
  pieces.push_back(piece);
}

}  // namespace

std::int64_t row_width(std::span<const std::int64_t> tensor_bytes) {
  std::int64_t width = 0;
  for (const std::int64_t bytes : tensor_bytes) {
    width = aligned(width) + bytes;
  }
  return aligned(width);
}

LayerWeights::LayerWeights(std::vector<WeightTensor> tensors, bool is_of_rows)
    : tensors_(std::move(tensors)), is_of_rows_(is_of_rows) {
  offsets_.reserve(tensors_.size());
  std::int64_t end = 0;
  for (const WeightTensor& tensor : tensors_) {
    offsets_.push_back(aligned(end));
    end = offsets_.back() + tensor.row_bytes;
    content_bytes_ += tensor.row_bytes;
  }
  row_width_bytes_ = aligned(end);
}

Result<LayerWeights> LayerWeights::of_tensors(std::vector<WeightTensor> tensors) {
  if (tensors.empty()) {
    return fail(ErrorCode::kInvalidArgument, "a layer without tensors");
  }
  for (std::size_t index = 0; index < tensors.size(); ++index) {
    if (const Result<void> checked = check_tensor(tensors[index], index); !checked) {
      return tl::unexpected(checked.error());
    }
  }
  return LayerWeights(std::move(tensors), false);
}

Result<LayerWeights> LayerWeights::of_rows(std::byte* base,
                                           std::span<const std::int64_t> tensor_bytes) {
  if (reinterpret_cast<std::uintptr_t>(base) % kTensorAlignment != 0) {
    return fail(ErrorCode::kInvalidArgument,
                "rows of weights begin at a multiple of " + std::to_string(kTensorAlignment));
  }
  const std::int64_t width = row_width(tensor_bytes);
  std::vector<WeightTensor> tensors;
  tensors.reserve(tensor_bytes.size());
  std::int64_t end = 0;
  for (const std::int64_t bytes : tensor_bytes) {
    const std::int64_t offset = aligned(end);
    tensors.push_back({.base = base == nullptr ? nullptr : base + offset,
                       .row_bytes = bytes,
                       .row_stride_bytes = width});
    end = offset + bytes;
  }
  Result<LayerWeights> layer = of_tensors(std::move(tensors));
  if (layer) {
    layer->is_of_rows_ = true;
  }
  return layer;
}

RankWeights::RankWeights(RankId rank, std::int32_t slot_count, std::vector<LayerWeights> layers,
                         LandingPools landing)
    : rank_(rank),
      slot_count_(slot_count),
      layers_(std::move(layers)),
      landing_(std::move(landing)) {}

LayerId carried_layer(const RowCopy& copy) {
  const RegionId region =
      copy.source.region == kLandingRegion ? copy.destination.region : copy.source.region;
  return LayerId{region.value};
}

Result<LayerId> RankWeights::layer_of(const RowCopy& copy) const {
  const LayerId layer = carried_layer(copy);
  if (layer.value < 0 || layer.index() >= layers_.size()) {
    return fail(ErrorCode::kInvalidArgument, "a copy between " + described(copy.source) + " and " +
                                                 described(copy.destination) +
                                                 ": one end must be weights of one of " +
                                                 std::to_string(layers_.size()) + " layers");
  }
  const bool both_weights =
      copy.source.region != kLandingRegion && copy.destination.region != kLandingRegion;
  if (both_weights && copy.source.region != copy.destination.region) {
    return fail(ErrorCode::kInvalidArgument, "a copy from " + described(copy.source) + " to " +
                                                 described(copy.destination) +
                                                 ": layers differ in what a row holds");
  }
  return layer;
}

Result<void> RankWeights::check(const RowAddress& address) const {
  const bool lands = address.region == kLandingRegion;
  const std::int32_t row_count = lands ? landing_.row_count : slot_count_;
  if (address.row < 0 || address.row >= row_count) {
    return fail(ErrorCode::kInvalidArgument,
                described(address) + ": there are " + std::to_string(row_count));
  }
  const bool reachable = lands ? address.rank.value >= 0 &&
                                     address.rank.index() < landing_.bases.size() &&
                                     landing_.bases[address.rank.index()] != nullptr
                               : address.rank == rank_;
  if (!reachable) {
    return fail(ErrorCode::kInvalidArgument,
                described(address) + " is out of reach of rank " + std::to_string(rank_.value));
  }
  return {};
}

std::byte* RankWeights::tensor_at(const RowAddress& address, const LayerWeights& layer,
                                  std::size_t tensor) const {
  if (address.region == kLandingRegion) {
    return landing_.bases[address.rank.index()] + address.row * landing_.row_stride_bytes +
           layer.landing_offset(tensor);
  }
  const WeightTensor& weights = layer.tensors()[tensor];
  return weights.base + address.row * weights.row_stride_bytes;
}

Result<void> RankWeights::append_pieces(const RowCopy& copy, std::vector<CopyPiece>& pieces) const {
  const Result<LayerId> carried = layer_of(copy);
  if (!carried) {
    return tl::unexpected(carried.error());
  }
  for (const RowAddress& end : {copy.source, copy.destination}) {
    if (Result<void> checked = check(end); !checked) {
      return checked;
    }
  }
  const LayerWeights& layer = layers_[carried->index()];
  if (layer.is_of_rows()) {
    append({.destination = tensor_at(copy.destination, layer, 0),
            .source = tensor_at(copy.source, layer, 0),
            .bytes = layer.row_width_bytes()},
           pieces);
    return {};
  }
  for (std::size_t tensor = 0; tensor < layer.tensors().size(); ++tensor) {
    append({.destination = tensor_at(copy.destination, layer, tensor),
            .source = tensor_at(copy.source, layer, tensor),
            .bytes = layer.tensors()[tensor].row_bytes},
           pieces);
  }
  return {};
}

Result<void> RankWeights::append_parts(const RowAddress& end, LayerId layer,
                                       std::vector<RowPart>& parts) const {
  if (layer.value < 0 || layer.index() >= layers_.size()) {
    return fail(ErrorCode::kInvalidArgument, "no layer " + std::to_string(layer.value));
  }
  if (Result<void> checked = check(end); !checked) {
    return checked;
  }
  const LayerWeights& weights = layers_[layer.index()];
  for (std::size_t tensor = 0; tensor < weights.tensors().size(); ++tensor) {
    if (weights.tensors()[tensor].row_bytes > 0) {
      parts.push_back(
          {.begin = tensor_at(end, weights, tensor), .bytes = weights.tensors()[tensor].row_bytes});
    }
  }
  return {};
}

}  // namespace eplb::gpu
