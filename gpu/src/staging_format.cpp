#include "eplb/gpu/staging.hpp"

namespace eplb::gpu {

std::int64_t staged_bytes(StagingFormat format, std::int64_t element_count) {
  switch (format) {
    case StagingFormat::kBf16:
      return 2 * element_count;
    case StagingFormat::kNvfp4:
      return element_count / 2;
    default:
      return element_count;
  }
}

std::int64_t scale_bytes(StagingFormat format, std::int64_t element_count) {
  switch (format) {
    case StagingFormat::kBf16:
      return 0;
    case StagingFormat::kNvfp4:
      return element_count / 16;
    default:  // A byte a group of 32, or four a group of 128.
      return element_count / 32;
  }
}

}  // namespace eplb::gpu
