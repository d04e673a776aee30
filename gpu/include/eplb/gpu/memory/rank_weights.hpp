#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "eplb/core/ids.hpp"
#include "eplb/core/result.hpp"
#include "eplb/core/row_address.hpp"

namespace eplb::gpu {

/// One tensor of an expert, for all slots of a layer on a rank: a [slots, ...] tensor of any type,
/// seen as bytes. Slot s lies at base + s * row_stride_bytes. Device memory, not owned.
struct WeightTensor {
  std::byte* base = nullptr;
  std::int64_t row_bytes = 0;         ///< 0 for a tensor that this layer does without.
  std::int64_t row_stride_bytes = 0;  ///< At least row_bytes.
};

/// Where each tensor begins in a row of the landing pool: a multiple of this.
inline constexpr std::int64_t kTensorAlignment = 128;

/// Bytes of a row whose tensors lie behind one another, each at the next aligned offset; itself
/// rounded up, so that rows may follow each other.
[[nodiscard]] std::int64_t row_width(std::span<const std::int64_t> tensor_bytes);

/// A layer's weights on one rank, as tensors.
class LayerWeights {
 public:
  /// Tensors wherever an engine has them. kInvalidArgument if there is none, or one has no base, a
  /// negative size, or rows that overlap.
  [[nodiscard]] static Result<LayerWeights> of_tensors(std::vector<WeightTensor> tensors);

  /// Rows as the landing pool has them, from `base` on, aligned to kTensorAlignment: then a row is
  /// one copy, with the gaps between its tensors. kInvalidArgument as above.
  [[nodiscard]] static Result<LayerWeights> of_rows(std::byte* base,
                                                    std::span<const std::int64_t> tensor_bytes);

  [[nodiscard]] std::span<const WeightTensor> tensors() const { return tensors_; }

  /// Of a tensor in a landing row.
  [[nodiscard]] std::int64_t landing_offset(std::size_t tensor) const { return offsets_[tensor]; }

  /// Of a landing row of this layer, gaps included.
  [[nodiscard]] std::int64_t row_width_bytes() const { return row_width_bytes_; }

  /// Of all tensors of an expert, gaps left out.
  [[nodiscard]] std::int64_t content_bytes() const { return content_bytes_; }

  /// Whether slots have the layout of landing rows, gaps included.
  [[nodiscard]] bool is_of_rows() const { return is_of_rows_; }

 private:
  LayerWeights(std::vector<WeightTensor> tensors, bool is_of_rows);

  std::vector<WeightTensor> tensors_;
  std::vector<std::int64_t> offsets_;
  std::int64_t row_width_bytes_ = 0;
  std::int64_t content_bytes_ = 0;
  bool is_of_rows_;
};

/// Bytes that lie together at both ends of a copy.
struct CopyPiece {
  std::byte* destination = nullptr;
  const std::byte* source = nullptr;
  std::int64_t bytes = 0;

  friend bool operator==(const CopyPiece&, const CopyPiece&) = default;
};

/// Bytes of a row that lie together.
struct RowPart {
  std::byte* begin = nullptr;
  std::int64_t bytes = 0;
};

/// The landing pools of all ranks, as this process addresses them.
struct LandingPools {
  std::vector<std::byte*> bases;  ///< By rank; null where this process cannot write.
  std::int64_t row_stride_bytes = 0;
  std::int32_t row_count = 0;
};

/// Where this process finds rows: the weights of one rank, and landing rows.
class RankWeights {
 public:
  RankWeights(RankId rank, std::int32_t slot_count, std::vector<LayerWeights> layers,
              LandingPools landing);

  [[nodiscard]] RankId rank() const { return rank_; }

  [[nodiscard]] std::span<const LayerWeights> layers() const { return layers_; }

  [[nodiscard]] const LandingPools& landing() const { return landing_; }

  /// Appends what a copy is made of: the whole row where both ends have a landing row's layout,
  /// else each tensor that is not empty; a piece that continues the one before joins it. One end at
  /// least must be weights, which say what the row holds. kInvalidArgument, with nothing appended,
  /// for a row that is not there.
  [[nodiscard]] Result<void> append_pieces(const RowCopy& copy,
                                           std::vector<CopyPiece>& pieces) const;

  /// Appends one end of a copy, which must lie on this rank: each tensor of `layer` that is not
  /// empty, never joined, so that both ends of a pair cut a row alike wherever their tensors lie.
  [[nodiscard]] Result<void> append_parts(const RowAddress& end, LayerId layer,
                                          std::vector<RowPart>& parts) const;

 private:
  [[nodiscard]] Result<LayerId> layer_of(const RowCopy& copy) const;
  [[nodiscard]] Result<void> check(const RowAddress& address) const;
  [[nodiscard]] std::byte* tensor_at(const RowAddress& address, const LayerWeights& layer,
                                     std::size_t tensor) const;

  RankId rank_;
  std::int32_t slot_count_;
  std::vector<LayerWeights> layers_;
  LandingPools landing_;
};

/// The layer whose expert a copy carries: that of the end which is weights.
[[nodiscard]] LayerId carried_layer(const RowCopy& copy);

}  // namespace eplb::gpu
