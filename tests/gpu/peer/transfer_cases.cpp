// Goal: whatever the heap, the transport and the direction, each row lands whole at its place and
// nothing else is touched. Method: ranks in one process and in several, on as many devices as there
// are; engines' tensors and rows of ours; the measured layer, and one of odd sizes at odd
// addresses; rows land in another order than they are sent, tickets are polled in another than they
// were given.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "eplb/gpu/memory/nccl_heap.hpp"
#include "eplb/gpu/memory/vmm_heap.hpp"
#include "eplb/gpu/transport/copy_engine_transport.hpp"
#include "eplb/gpu/transport/host_staged_transport.hpp"
#include "eplb/gpu/transport/nccl_transport.hpp"
#include "peer_cases.hpp"
#include "rank_fixture.hpp"

namespace eplb::gpu::test {
namespace {

using env::Completion;

enum class Direction : std::uint8_t { kOneWay, kAllWays };

/// The setting with a device of its own, as far as there are enough.
PeerGroup with_device(const PeerGroup& group) {
  int device_count = 0;
  EPLB_CUDA(cudaGetDeviceCount(&device_count));
  PeerGroup placed = group;
  placed.device = group.rank.value % device_count;
  EPLB_CUDA(cudaSetDevice(placed.device));
  return placed;
}

FixtureOptions layers_to_move(Ownership ownership) {
  return {.slot_count = kLayerExperts,
          .landing_rows = kLayerExperts + 1,
          .tensor_bytes = {measured_expert(), {13, 0, 4099, 128, 65'537}, {1}},
          .ownership = ownership,
          .misalignment_bytes = ownership == Ownership::kEngine ? 1 : 0};
}

/// Slot s goes to row (7 s + 3) mod 25 of the next rank: each row once.
std::int32_t landing_row(std::int32_t slot) {
  return (7 * slot + 3) % kLayerExperts;
}

std::vector<RowCopy> copies_of(LayerId layer, std::int32_t rank_count, Direction direction) {
  std::vector<RowCopy> copies;
  const std::int32_t sender_count = direction == Direction::kOneWay ? 1 : rank_count;
  for (std::int32_t slot = 0; slot < kLayerExperts; ++slot) {
    for (std::int32_t rank = 0; rank < sender_count; ++rank) {
      const RankId receiver{(rank + 1) % rank_count};
      copies.push_back(
          {slot_of(layer, RankId{rank}, slot), landing_of(receiver, landing_row(slot))});
    }
  }
  return copies;
}

/// Moves one layer in three starts and compares every landing row of this rank.
template <typename Transport>
void move_layer(Checks& checks, const PeerGroup& group, const RankFixture& rank,
                Transport& transport, LayerId layer, Direction direction) {
  rank.poison_landing();
  barrier(group);
  const std::vector<RowCopy> copies = copies_of(layer, group.rank_count, direction);
  const std::span<const RowCopy> all = copies;
  const std::size_t third = all.size() / 3;
  std::vector<env::Ticket> tickets;
  for (const std::span<const RowCopy> part :
       {all.first(third), all.subspan(third, third), all.subspan(2 * third)}) {
    const Result<env::Ticket> started = transport.start(part);
    checks.expect(started.has_value(), started ? "started" : started.error().message);
    tickets.push_back(started.value_or(env::Ticket{}));
  }
  std::ranges::reverse(tickets);
  for (const env::Ticket ticket : tickets) {
    checks.expect(wait_for(transport, ticket) == Completion::kDone, "a ticket is done");
  }
  barrier(group);
  const RankId sender{(group.rank.value + group.rank_count - 1) % group.rank_count};
  const bool receives = direction == Direction::kAllWays || sender.value == 0;
  for (std::int32_t slot = 0; slot < kLayerExperts; ++slot) {
    if (receives) {
      rank.expect_landing(checks, landing_row(slot), layer, first_occupant(sender, slot));
    } else {
      rank.expect_poison(checks, landing_row(slot));
    }
  }
  rank.expect_poison(checks, kLayerExperts);
  barrier(group);
}

template <typename Transport>
void move_all(Checks& checks, const PeerGroup& group, const RankFixture& rank,
              Transport& transport) {
  for (std::int32_t layer = 0; layer < 3; ++layer) {
    for (const Direction direction : {Direction::kOneWay, Direction::kAllWays}) {
      move_layer(checks, group, rank, transport, LayerId{layer}, direction);
    }
  }
  const Result<env::Ticket> none = transport.start({});
  checks.expect(none && transport.poll(*none) == Completion::kDone, "no copies are done at once");
  const RankId next{(group.rank.value + 1) % group.rank_count};
  const Result<env::Ticket> bad = transport.start(
      std::array{RowCopy{slot_of(LayerId{0}, group.rank, 99), landing_of(next, 0)}});
  checks.expect(!bad && bad.error().code == ErrorCode::kInvalidArgument, "no such slot is refused");
}

void push_with(Checks& checks, const PeerGroup& group, SymmetricHeap& heap) {
  const HostClock clock;
  for (const Ownership ownership : {Ownership::kEngine, Ownership::kOurs}) {
    RankFixture rank(heap, group, layers_to_move(ownership));
    rank.prepare();
    CopyEngineTransport transport(rank.memory(), clock, {.device = group.device});
    move_all(checks, group, rank, transport);
    // No rank's memory goes while another still has work on it.
    rank.memory().release();
    barrier(group);
  }
}

std::unique_ptr<VmmHeap> open_heap(const PeerGroup& group, HandleKind kind) {
  Result<std::unique_ptr<VmmHeap>> heap = VmmHeap::create(group, kind);
  if (!heap) {
    throw std::runtime_error(heap.error().message);
  }
  return std::move(*heap);
}

/// One end of a pair starts, the other never does; after the cancel both work again.
template <typename Transport>
void cancel_one_end(Checks& checks, const PeerGroup& group, const RankFixture& rank,
                    Transport& transport) {
  const LayerId layer{0};
  rank.poison_landing();
  barrier(group);
  env::Ticket ticket;
  if (group.rank.value == 0) {
    const Result<env::Ticket> started =
        transport.start(copies_of(layer, group.rank_count, Direction::kOneWay));
    ticket = started.value_or(env::Ticket{});
    // Long enough for what can go to have gone, and of no matter to the outcome.
    for (int poll = 0; poll < 10'000; ++poll) {
      static_cast<void>(transport.poll(ticket));
    }
    checks.expect(transport.poll(ticket) == Completion::kPending, "one end alone waits");
  }
  barrier(group);
  transport.cancel();
  checks.expect(wait_for(transport, ticket) ==
                    (group.rank.value == 0 ? Completion::kFailed : Completion::kDone),
                "what is cancelled fails");
  barrier(group);
  move_layer(checks, group, rank, transport, layer, Direction::kAllWays);
}

/// A clock that stands still until it is set.
class StillClock final : public env::Clock {
 public:
  [[nodiscard]] std::int64_t now_ns() const override { return now_ns_; }

  void advance(std::int64_t by_ns) { now_ns_ += by_ns; }

 private:
  std::int64_t now_ns_ = 0;
};

HostStagedOptions staging(const PeerGroup& group) {
  return {.device = group.device, .rank_count = group.rank_count};
}

bool refuse_without_nccl(Checks& checks, const Result<void>& result, const std::string& what) {
  if (result) {
    return false;
  }
  std::printf("  nccl: %s: %s\n", what.c_str(), result.error().message.c_str());
  checks.expect(result.error().code == ErrorCode::kUnsupported ||
                    result.error().code == ErrorCode::kPeerFailed,
                "NCCL is refused with a reason");
  return true;
}

}  // namespace

std::size_t staging_bytes(std::int32_t rank_count) {
  return static_cast<std::size_t>(
      HostStagedTransport::shared_bytes({.device = 0, .rank_count = rank_count}));
}

void test_vmm_threads(Checks& checks, const RankSetting& setting) {
  const PeerGroup group = with_device(setting.group);
  const std::unique_ptr<VmmHeap> heap = open_heap(group, HandleKind::kAuto);
  push_with(checks, group, *heap);
  RankFixture rank(*heap, group, layers_to_move(Ownership::kEngine));
  rank.prepare();
  checks.expect(heap->handle_kind() == HandleKind::kAuto, "one process hands nothing over");
  barrier(group);
}

void test_vmm_files(Checks& checks, const RankSetting& setting) {
  const PeerGroup group = with_device(setting.group);
  const std::unique_ptr<VmmHeap> heap = open_heap(group, HandleKind::kPosixFile);
  push_with(checks, group, *heap);
  RankFixture rank(*heap, group, layers_to_move(Ownership::kEngine));
  rank.prepare();
  checks.expect(heap->handle_kind() == HandleKind::kPosixFile, "handed over as files");
  barrier(group);
}

void test_vmm_fabric(Checks& checks, const RankSetting& setting) {
  const PeerGroup group = with_device(setting.group);
  const std::unique_ptr<VmmHeap> heap = open_heap(group, HandleKind::kFabric);
  if (const Result<void> reserved = heap->reserve(1 << 20, {}); !reserved) {
    std::printf("  fabric: %s\n", reserved.error().message.c_str());
    checks.expect(reserved.error().code == ErrorCode::kUnsupported ||
                      reserved.error().code == ErrorCode::kPeerFailed,
                  "fabric memory is refused with a reason");
    return;
  }
  checks.expect(heap->handle_kind() == HandleKind::kFabric, "handed over as fabric memory");
  barrier(group);
  push_with(checks, group, *heap);
}

void test_rate_limit(Checks& checks, const RankSetting& setting) {
  const PeerGroup group = with_device(setting.group);
  const std::unique_ptr<VmmHeap> heap = open_heap(group, HandleKind::kAuto);
  RankFixture rank(*heap, group, layers_to_move(Ownership::kOurs));
  rank.prepare();
  barrier(group);
  StillClock clock;
  // Rows of 18.8 MB go in batches of at most 8 MiB: three a row, at 1 byte a nanosecond.
  CopyEngineTransport transport(rank.memory(), clock,
                                {.device = group.device, .rate_limit_gb_per_s = 1.0});
  const LayerId layer{0};
  const RankId next{(group.rank.value + 1) % group.rank_count};
  const auto row_to = [&](std::int32_t row) {
    return std::array{RowCopy{slot_of(layer, group.rank, row), landing_of(next, row)}};
  };
  const Result<env::Ticket> first = transport.start(row_to(0));
  constexpr std::int64_t kBatchNs = 8 << 20;
  for (int batch = 0; batch < 2; ++batch) {
    for (int poll = 0; poll < 1000; ++poll) {
      static_cast<void>(transport.poll(*first));
    }
    checks.expect(transport.poll(*first) == Completion::kPending, "a batch waits for its time");
    clock.advance(kBatchNs);
  }
  checks.expect(wait_for(transport, *first) == Completion::kDone,
                "the last batch has had its time");

  const Result<env::Ticket> second = transport.start(row_to(1));
  const Result<env::Ticket> third = transport.start(row_to(2));
  transport.cancel();
  checks.expect(wait_for(transport, *second) == Completion::kFailed, "what is held back fails");
  checks.expect(wait_for(transport, *third) == Completion::kFailed, "and so does the next");
  barrier(group);
  const RankId sender{(group.rank.value + group.rank_count - 1) % group.rank_count};
  rank.expect_landing(checks, 0, layer, first_occupant(sender, 0));
  rank.expect_poison(checks, 2);
  barrier(group);
}

void test_host_staged(Checks& checks, const RankSetting& setting) {
  const PeerGroup group = with_device(setting.group);
  const std::unique_ptr<VmmHeap> heap = open_heap(group, HandleKind::kPosixFile);
  RankFixture rank(*heap, group, layers_to_move(Ownership::kEngine));
  rank.prepare();
  const Result<std::unique_ptr<HostStagedTransport>> small = HostStagedTransport::create(
      rank.memory(), group.rank, setting.shared.first(4096), staging(group));
  checks.expect(!small && small.error().code == ErrorCode::kInvalidArgument,
                "too little shared memory is refused");
  const Result<std::unique_ptr<HostStagedTransport>> transport =
      HostStagedTransport::create(rank.memory(), group.rank, setting.shared, staging(group));
  checks.expect(transport.has_value(), transport ? "created" : transport.error().message);
  if (transport) {
    move_all(checks, group, rank, **transport);
    cancel_one_end(checks, group, rank, **transport);
    cancel_one_end(checks, group, rank, **transport);
  }
  barrier(group);
}

void test_nccl_window(Checks& checks, const RankSetting& setting) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): this process has one thread, and must use no multicast.
  setenv("NCCL_NVLS_ENABLE", "0", 1);
  const PeerGroup group = with_device(setting.group);
  Result<std::unique_ptr<NcclHeap>> heap = NcclHeap::create(group);
  if (!heap) {
    checks.expect(heap.error().code == ErrorCode::kUnsupported, heap.error().message);
    return;
  }
  constexpr std::size_t kBytes = 1 << 20;
  for (int turn = 0; turn < 2; ++turn) {
    if (refuse_without_nccl(checks, (*heap)->reserve(kBytes, {}), "heap of one rank")) {
      return;
    }
    const Stream stream;
    std::vector<std::byte> read(kBytes);
    EPLB_CUDA(cudaMemsetAsync((*heap)->bases().front(), 0x5A, kBytes, stream.get()));
    EPLB_CUDA(cudaMemcpyAsync(read.data(), (*heap)->bases().front(), kBytes, cudaMemcpyDefault,
                              stream.get()));
    stream.synchronize();
    checks.expect(read == std::vector<std::byte>(kBytes, std::byte{0x5A}),
                  "the window is memory of this rank");
    (*heap)->release();
  }
}

void test_nccl(Checks& checks, const RankSetting& setting) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): this process has one thread, and must use no multicast.
  setenv("NCCL_NVLS_ENABLE", "0", 1);
  const PeerGroup group = with_device(setting.group);
  Result<std::unique_ptr<NcclHeap>> heap = NcclHeap::create(group);
  if (refuse_without_nccl(checks, heap.map([](const auto&) {}), "library")) {
    return;
  }
  if (refuse_without_nccl(checks, (*heap)->reserve(1 << 20, {}), "heap")) {
    return;
  }
  checks.expect((*heap)->taken_bytes() == 2 << 20, "a window takes whole pages");
  push_with(checks, group, **heap);

  RankFixture rank(**heap, group, layers_to_move(Ownership::kEngine));
  rank.prepare();
  Result<std::unique_ptr<NcclTransport>> transport =
      NcclTransport::create(rank.memory(), group, {});
  checks.expect(transport.has_value(), transport ? "created" : transport.error().message);
  if (transport) {
    move_all(checks, group, rank, **transport);
    cancel_one_end(checks, group, rank, **transport);
    barrier(group);
    transport->reset();
  }
  rank.memory().release();
  barrier(group);
}

}  // namespace eplb::gpu::test
