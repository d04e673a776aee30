#pragma once

// Included by host code and by every kernel, so that both choose alike, bit for bit.
// Nothing here but <cstdint> and arithmetic on unsigned 32- and 64-bit integers.

#include <cstdint>

#if defined(__CUDACC__)
#define EPLB_HOST_DEVICE __host__ __device__
#else
#define EPLB_HOST_DEVICE
#endif

namespace eplb {

/// How a row picks one of its expert's replicas.
enum class ReplicaChoice : std::uint8_t {
  kHash,    ///< vLLM's published hash of the row number alone.
  kSalted,  ///< Ours: spread over rows and over ranks, with a start of its own an expert.
  kShares,  ///< Ours: by shares learnt from the load that is planned on (LayerShares).
  kExact,   ///< The best split of each forward's own counts: the simulator's, to compare with.
  /// As kSalted, over the replicas in the row's own NVLink domain where there are any: the maps of
  /// its ranks have no others (LayerMap::nearest). SGLang's "static" dispatch is of this kind.
  kNearest,
};

/// Whether a choice takes all replicas that a map has of an expert alike.
[[nodiscard]] EPLB_HOST_DEVICE constexpr bool is_even(ReplicaChoice choice) {
  return choice != ReplicaChoice::kShares && choice != ReplicaChoice::kExact;
}

/// What a choice may depend on. `row` is the row of topk_ids on this rank, not the flat offset.
struct ReplicaKey {
  std::uint32_t row;
  std::uint32_t rank;
  std::uint32_t layer;
  std::uint32_t expert;
};

/// A count of replicas to divide by often. A division takes a kernel longer than all the rest of a
/// choice, so it is done once a count: quotients come from a product with the reciprocal, which is
/// too small by less than one part in 2^32 of any dividend, and one step of correction.
struct ReplicaCount {
  std::uint32_t count;
  std::uint32_t reciprocal;  ///< floor((2^32 - 1) / count).

  [[nodiscard]] static EPLB_HOST_DEVICE constexpr ReplicaCount of(std::uint32_t count) {
    return {count, count > 0U ? 0xFFFFFFFFU / count : 0U};
  }

  struct Division {
    std::uint32_t quotient;
    std::uint32_t remainder;
  };

  [[nodiscard]] EPLB_HOST_DEVICE constexpr Division divide(std::uint32_t dividend) const {
    const auto quotient =
        static_cast<std::uint32_t>((static_cast<std::uint64_t>(dividend) * reciprocal) >> 32U);
    const std::uint32_t remainder = dividend - quotient * count;
    return remainder >= count ? Division{quotient + 1U, remainder - count}
                              : Division{quotient, remainder};
  }
};

/// vLLM's choice (eplb-semantics 2.1): Knuth's multiplicative hash of the row, modulo the count.
/// For 2, 4 and 8 replicas it is exactly row mod count, and row 0 always picks replica 0.
[[nodiscard]] EPLB_HOST_DEVICE constexpr std::uint32_t hashed_replica(std::uint32_t row,
                                                                      ReplicaCount replicas) {
  return replicas.divide(row * 2654435769U).remainder;
}

/// A start in [0, 2^32) for a (layer, expert): the finalizer of MurmurHash3 (A. Appleby).
[[nodiscard]] EPLB_HOST_DEVICE constexpr std::uint32_t replica_salt(std::uint32_t layer,
                                                                    std::uint32_t expert) {
  std::uint32_t bits = layer * 0x9E3779B9U + expert + 1U;
  bits = (bits ^ (bits >> 16U)) * 0x85EBCA6BU;
  bits = (bits ^ (bits >> 13U)) * 0xC2B2AE35U;
  return bits ^ (bits >> 16U);
}

/// Our choice: round robin over rows, then over ranks, whose start turns from one block of
/// `replica_count` rows to the next. So
/// - the rows of a rank fall on the replicas as evenly as counts allow (they differ by at most 1);
/// - so do the ranks for any one row, however few rows there are;
/// - rows a fixed stride apart (the first of each speculative request) do not beat with the count:
///   the start turns by the golden ratio, the step that small multiples bring least near to itself.
[[nodiscard]] EPLB_HOST_DEVICE constexpr std::uint32_t salted_replica(ReplicaKey key,
                                                                      ReplicaCount replicas) {
  const ReplicaCount::Division row = replicas.divide(key.row);
  const std::uint32_t turn = replica_salt(key.layer, key.expert) + row.quotient * 2654435769U;
  const auto start =
      static_cast<std::uint32_t>((static_cast<std::uint64_t>(turn) * replicas.count) >> 32U);
  // A sum of three numbers below the count, modulo it.
  std::uint32_t replica = row.remainder + start;
  replica = replica >= replicas.count ? replica - replicas.count : replica;
  replica += replicas.divide(key.rank).remainder;
  return replica >= replicas.count ? replica - replicas.count : replica;
}

/// Parts that an expert's tokens are shared out in. One less than 2^16, so that shares, their
/// cumulative sums and the points below fit into 16 bits, a share of everything included.
inline constexpr std::uint32_t kShareUnits = 0xFFFF;

/// Where a row stands among an expert's share units, in [0, kShareUnits). Points of successive rows
/// lie as evenly as multiples of the golden ratio do; the step from rank to rank (0.5608 of all
/// units) was searched for, so that the rows of all ranks lie evenly together, however few a rank
/// has: about a third of the discrepancy of random points for 8 rows on 8 ranks.
[[nodiscard]] EPLB_HOST_DEVICE constexpr std::uint32_t share_point(ReplicaKey key) {
  const std::uint32_t turn =
      replica_salt(key.layer, key.expert) + key.row * 2654435769U + key.rank * 2408414787U;
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(turn) * kShareUnits) >> 32U);
}

/// Units of the first `replica + 1` of `count` replicas together, when all are alike; the first
/// ones have the units that are left over.
[[nodiscard]] EPLB_HOST_DEVICE constexpr std::uint32_t even_threshold(std::uint32_t replica,
                                                                      std::uint32_t count) {
  const std::uint32_t whole = kShareUnits / count;
  const std::uint32_t left = kShareUnits - whole * count;
  const std::uint32_t replicas = replica + 1U;
  return replicas * whole + (replicas < left ? replicas : left);
}

/// The replica whose units a point is among: replica k has those from thresholds[k - 1] up to
/// thresholds[k], where `thresholds` are cumulative units of all replicas but the last.
[[nodiscard]] EPLB_HOST_DEVICE constexpr std::uint32_t shared_replica(
    std::uint32_t point, const std::uint16_t* thresholds, std::uint32_t threshold_count) {
  std::uint32_t replica = 0;
  for (std::uint32_t index = 0; index < threshold_count; ++index) {
    replica += thresholds[index] <= point ? 1U : 0U;
  }
  return replica;
}

/// Replica in [0, max(count, 1)) of those that a map has, for the choices that take them alike.
/// Those that know shares need more than a count (LayerMap::replica); here they are taken for the
/// salted one.
[[nodiscard]] EPLB_HOST_DEVICE constexpr std::uint32_t choose_replica(ReplicaChoice choice,
                                                                      ReplicaKey key,
                                                                      ReplicaCount replicas) {
  if (replicas.count <= 1U) {
    return 0U;
  }
  return choice == ReplicaChoice::kHash ? hashed_replica(key.row, replicas)
                                        : salted_replica(key, replicas);
}

[[nodiscard]] EPLB_HOST_DEVICE constexpr std::uint32_t choose_replica(ReplicaChoice choice,
                                                                      ReplicaKey key,
                                                                      std::uint32_t replica_count) {
  return choose_replica(choice, key, ReplicaCount::of(replica_count));
}

}  // namespace eplb
