#pragma once

#include <cstdint>

namespace eplb::gpu::program {

/// A kernel knows its peers by the bits of a word.
inline constexpr std::int32_t kRanksMax = 64;

/// What a kernel waits for while it spins.
enum class SpinWait : std::int32_t {
  kNothing,
  kRoom,       ///< For CTAs of its own that are not resident.
  kPeer,       ///< For all CTAs of a peer; all its own are resident.
  kExclusive,  ///< For what another launch holds.
};

/// What one launch tells of itself, in pinned memory. Written by its own CTAs alone; complete once
/// its stream is done. Times are of the GPU's %globaltimer, 0 where it did not happen.
struct LaunchRecord {
  std::int64_t begun_ns = 0;             ///< Its first CTA runs.
  std::int64_t resident_ns = 0;          ///< All its CTAs are resident; not of plain kernels.
  std::int64_t ended_ns = 0;             ///< Its last CTA is through.
  std::int64_t ran_out_ns = 0;           ///< Its limit ran out while it waited.
  std::int32_t kept_out = 0;             ///< A CTA came after the run was over.
  SpinWait waited = SpinWait::kNothing;  ///< For what, when its limit ran out.
  std::int32_t waited_for = -1;          ///< A peer's rank, or the launch that holds what it wants.
  std::int32_t resident_ctas = 0;        ///< When its limit ran out.
  std::int32_t resident_sms = 0;         ///< That those CTAs were on.
};

}  // namespace eplb::gpu::program
