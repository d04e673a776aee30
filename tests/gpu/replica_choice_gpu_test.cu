// Goal: a kernel picks the replicas that the host picks, bit for bit, and both pick the published
// ones. Method: the host and the device evaluate choose_replica, and the point that shares are
// compared with, for the same keys, a few million drawn ones and all corners; the device's answers
// for 16 replicas are held to the published row.
//
// Ends with 0 (equal), 1 (different, or the device failed) or 77 (no device: skipped). Needs
// nothing but CUDA and one header of core, so that a bare GPU machine can build it.
#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "eplb/core/replica_choice.hpp"

namespace eplb {
namespace {

constexpr int kSkipped = 77;
constexpr std::uint32_t kDrawnCases = 1U << 22U;
constexpr std::uint32_t kUint32Max = 0xFFFFFFFFU;

struct Case {
  ReplicaKey key;
  std::uint32_t replica_count;
};

struct Choices {
  std::uint32_t hashed;
  std::uint32_t salted;
  std::uint32_t point;
};

EPLB_HOST_DEVICE Choices choose_all(const Case& one) {
  return {.hashed = choose_replica(ReplicaChoice::kHash, one.key, one.replica_count),
          .salted = choose_replica(ReplicaChoice::kSalted, one.key, one.replica_count),
          .point = share_point(one.key)};
}

__global__ void choose_on_device(const Case* cases, Choices* choices, std::uint32_t case_count) {
  const std::uint32_t index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < case_count) {
    choices[index] = choose_all(cases[index]);
  }
}

/// Ends the program if a CUDA call failed.
void require(cudaError_t status, const char* call) {
  if (status != cudaSuccess) {
    std::fprintf(stderr, "%s: %s (%s)\n", call, cudaGetErrorName(status),
                 cudaGetErrorString(status));
    std::exit(EXIT_FAILURE);
  }
}

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) {
    require(cudaMalloc(&data_, count * sizeof(T)), "cudaMalloc");
  }

  ~DeviceArray() { cudaFree(data_); }

  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  [[nodiscard]] T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

/// xorshift64 (G. Marsaglia, 2003): enough to scatter keys, the same on every machine.
class Draw {
 public:
  /// A number in [0, bound).
  std::uint32_t below(std::uint64_t bound) {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return static_cast<std::uint32_t>((state_ >> 16U) % bound);
  }

 private:
  std::uint64_t state_ = 0x9E3779B97F4A7C15U;
};

/// All combinations of the values at which 32-bit arithmetic wraps or a count degenerates.
void add_corners(std::vector<Case>& cases) {
  constexpr std::array<std::uint32_t, 6> kEdges{
      0U, 1U, 0x7FFFFFFFU, 0x80000000U, kUint32Max - 1U, kUint32Max};
  constexpr std::array<std::uint32_t, 8> kCounts{0U,  1U,    2U,          3U,
                                                 33U, 1024U, 0x80000001U, kUint32Max};
  for (const std::uint32_t row : kEdges) {
    for (const std::uint32_t rank : kEdges) {
      for (const std::uint32_t layer : kEdges) {
        for (const std::uint32_t expert : kEdges) {
          for (const std::uint32_t count : kCounts) {
            cases.push_back({{row, rank, layer, expert}, count});
          }
        }
      }
    }
  }
}

/// Keys as serving has them: rows of a batch, ranks of a group, layers, experts, few replicas.
void add_drawn(std::vector<Case>& cases) {
  Draw draw;
  for (std::uint32_t index = 0; index < kDrawnCases; ++index) {
    const ReplicaKey key{.row = draw.below(1U << 17U),
                         .rank = draw.below(1024),
                         .layer = draw.below(128),
                         .expert = draw.below(1024)};
    cases.push_back({key, 1U + draw.below(64)});
  }
}

std::vector<Choices> run_on_device(const std::vector<Case>& cases) {
  const auto case_count = static_cast<std::uint32_t>(cases.size());
  const DeviceArray<Case> device_cases(cases.size());
  const DeviceArray<Choices> device_choices(cases.size());
  require(cudaMemcpy(device_cases.data(), cases.data(), cases.size() * sizeof(Case),
                     cudaMemcpyHostToDevice),
          "cudaMemcpy to the device");
  // Poison, so that an answer the kernel never wrote cannot pass for a choice.
  require(cudaMemset(device_choices.data(), 0xA5, cases.size() * sizeof(Choices)), "cudaMemset");
  constexpr std::uint32_t kBlockSize = 256;
  choose_on_device<<<(case_count + kBlockSize - 1) / kBlockSize, kBlockSize>>>(
      device_cases.data(), device_choices.data(), case_count);
  require(cudaGetLastError(), "choose_on_device");
  std::vector<Choices> choices(cases.size());
  require(cudaMemcpy(choices.data(), device_choices.data(), choices.size() * sizeof(Choices),
                     cudaMemcpyDeviceToHost),
          "cudaMemcpy to the host");
  return choices;
}

std::uint32_t count_differences(const std::vector<Case>& cases,
                                const std::vector<Choices>& choices) {
  std::uint32_t differences = 0;
  for (std::size_t index = 0; index < cases.size(); ++index) {
    const Choices host = choose_all(cases[index]);
    const Choices device = choices[index];
    if (host.hashed != device.hashed || host.salted != device.salted ||
        host.point != device.point) {
      const ReplicaKey& key = cases[index].key;
      if (differences++ == 0) {
        std::fprintf(stderr,
                     "row %u rank %u layer %u expert %u of %u replicas: the host picks %u (hash), "
                     "%u (salted) and point %u, the device %u, %u and %u\n",
                     key.row, key.rank, key.layer, key.expert, cases[index].replica_count,
                     host.hashed, host.salted, host.point, device.hashed, device.salted,
                     device.point);
      }
    }
  }
  return differences;
}

/// The published sequence of the hash for 16 replicas, on the device.
std::uint32_t count_unpublished() {
  constexpr std::array<std::uint32_t, 16> kPublished{0, 9, 2,  11, 4,  13, 6,  15,
                                                     8, 1, 10, 3,  12, 5,  14, 7};
  std::vector<Case> cases;
  for (std::uint32_t row = 0; row < kPublished.size(); ++row) {
    cases.push_back({{row, 0, 0, 0}, 16});
  }
  const std::vector<Choices> choices = run_on_device(cases);
  std::uint32_t differences = 0;
  for (std::size_t row = 0; row < kPublished.size(); ++row) {
    if (choices[row].hashed != kPublished[row]) {
      std::fprintf(stderr, "row %zu of 16 replicas: published %u, the device picks %u\n", row,
                   kPublished[row], choices[row].hashed);
      ++differences;
    }
  }
  return differences;
}

int run() {
  int device_count = 0;
  const cudaError_t status = cudaGetDeviceCount(&device_count);
  if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver) {
    std::printf("skipped: no device (%s)\n", cudaGetErrorString(status));
    return kSkipped;
  }
  require(status, "cudaGetDeviceCount");
  cudaDeviceProp properties{};
  require(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");

  std::vector<Case> cases;
  add_corners(cases);
  add_drawn(cases);
  const std::uint32_t differences = count_differences(cases, run_on_device(cases));
  const std::uint32_t unpublished = count_unpublished();
  std::printf("%s: %zu keys, %u differ from the host, %u from the published sequence\n",
              properties.name, cases.size(), differences, unpublished);
  return differences == 0 && unpublished == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace eplb

int main() {
  return eplb::run();
}
