#pragma once

#include <cstdint>
#include <string>

#include "checks.hpp"
#include "rank_world.hpp"

namespace eplb::gpu::test {

// On the host alone.
void test_pieces(Checks& checks, const RankSetting& setting);
void test_mailbox(Checks& checks, const RankSetting& setting);
void test_orders(Checks& checks, const RankSetting& setting);
void test_exchange(Checks& checks, const RankSetting& setting);  ///< Two ranks.
void test_handover(Checks& checks, const RankSetting& setting);  ///< Three processes.
void test_fault_drill(Checks& checks, const RankSetting& setting);

// On one device.
void test_content(Checks& checks, const RankSetting& setting);
void test_timeline(Checks& checks, const RankSetting& setting);
void test_queues(Checks& checks, const RankSetting& setting);
void test_capture(Checks& checks, const RankSetting& setting);
void test_memory(Checks& checks, const RankSetting& setting);      ///< Two ranks on one device.
void test_rate_limit(Checks& checks, const RankSetting& setting);  ///< Two ranks.

// On as many devices as there are; ranks share one if there is one alone.
void test_vmm_files(Checks& checks, const RankSetting& setting);
void test_vmm_fabric(Checks& checks, const RankSetting& setting);
void test_vmm_threads(Checks& checks, const RankSetting& setting);
void test_host_staged(Checks& checks, const RankSetting& setting);
void test_nccl_window(Checks& checks, const RankSetting& setting);  ///< One rank.
void test_nccl(Checks& checks, const RankSetting& setting);         ///< Two ranks.

/// Shared memory that test_host_staged wants.
[[nodiscard]] std::size_t staging_bytes(std::int32_t rank_count);

/// The layer that everything is measured with: 25 experts of four tensors.
inline constexpr std::int32_t kLayerExperts = 25;

struct BenchOptions {
  std::string json_path;  ///< Empty: none.
  int sample_count = 15;
};

/// Two ranks, a device each. Rank 0 prints and writes.
void run_bench(Checks& checks, const RankSetting& setting, const BenchOptions& options);

}  // namespace eplb::gpu::test
