#pragma once

#include <cstdint>
#include <vector>

#include "eplb/core/options.hpp"
#include "eplb/core/result.hpp"
#include "eplb/sim/options.hpp"

namespace eplb::sim {

/// Copies between ranks of an otherwise idle machine, one rank a GPU.
struct CopyStudy {
  struct Pair {
    std::int32_t from = 0;
    std::int32_t to = 0;
  };

  HardwareOptions hardware;
  Communicator communicator = Communicator::kSymmMem;
  NixlPath nixl_path = NixlPath::kAuto;
  std::vector<Pair> pairs = {};   ///< Each sends all of its bytes at once with the others.
  std::int64_t bytes = 0;         ///< Of a pair,
  std::int64_t copies = 1;        ///< in so many equal copies,
  std::int32_t copy_streams = 1;  ///< dealt to so many streams of the issuing rank,
  bool batched_copies = false;    ///< by one call or a call each.
  std::int32_t rank_count = 2;
};

/// Time in us from the first call until the last byte has arrived. kInvalidArgument if the ranks do
/// not fit the hardware.
[[nodiscard]] Result<double> copies_us(const CopyStudy& study);

}  // namespace eplb::sim
