// Goal: content and digests are what the host computes; tickets are done when their work is and not
// before; queues copy, wait and fail as the core expects. Method: one device; a gate that holds a
// stream until the host lets it go; every byte downloaded and compared.
#include <array>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "eplb/gpu/memory/expert_content.hpp"
#include "eplb/gpu/memory/row_digest.hpp"
#include "eplb/gpu/memory/vmm_heap.hpp"
#include "eplb/gpu/timing.hpp"
#include "eplb/gpu/transport/copy_engine_transport.hpp"
#include "eplb/gpu/transport/stream_queue.hpp"
#include "eplb/gpu/transport/timeline.hpp"
#include "peer_cases.hpp"
#include "rank_fixture.hpp"

namespace eplb::gpu::test {
namespace {

using env::Completion;

/// Goes straight through once, so that nothing has to be loaded while a gate is closed.
void load_gate(Gate& gate, const Stream& stream) {
  gate.close(stream.get());
  gate.open();
  stream.synchronize();
}

std::uint64_t digest_by_host(const std::vector<std::vector<std::byte>>& tensors, std::size_t stride,
                             std::size_t start) {
  std::uint64_t sum = 0;
  for (std::size_t tensor = 0; tensor < tensors.size(); ++tensor) {
    const std::vector<std::byte>& content = tensors[tensor];
    const std::size_t word_count = (content.size() + 7) / 8;
    for (std::size_t index = start; index < word_count; index += stride) {
      std::uint64_t word = 0;
      for (std::size_t byte = 0; byte < 8 && index * 8 + byte < content.size(); ++byte) {
        word |= static_cast<std::uint64_t>(content[index * 8 + byte]) << (8 * byte);
      }
      sum += digest_term(word, tensor, index);
    }
  }
  return sum;
}

std::unique_ptr<VmmHeap> heap_of(const PeerGroup& group) {
  Result<std::unique_ptr<VmmHeap>> heap = VmmHeap::create(group);
  if (!heap) {
    throw std::runtime_error(heap.error().message);
  }
  return std::move(*heap);
}

FixtureOptions small_layers(Ownership ownership) {
  return {.slot_count = 4,
          .landing_rows = 6,
          .tensor_bytes = {{70'000, 4096, 0, 13}, {1 << 20}},
          .ownership = ownership,
          .misalignment_bytes = ownership == Ownership::kEngine ? 1 : 0};
}

}  // namespace

void test_content(Checks& checks, const RankSetting& /*setting*/) {
  const Stream stream;
  const std::array<std::int64_t, 4> sizes{1 << 20, 37, 0, 4099};
  std::vector<DeviceBuffer<std::byte>> buffers;
  std::vector<WeightTensor> tensors;
  for (const std::int64_t size : sizes) {
    // The second tensor begins at an odd address.
    const std::int64_t shift = size == 37 ? 3 : 0;
    buffers.emplace_back(static_cast<std::size_t>(2 * size + shift));
    buffers.back().fill_bytes(0, stream.get());
    tensors.push_back(
        {.base = buffers.back().data() + shift, .row_bytes = size, .row_stride_bytes = size});
  }
  const LayerId layer{5};
  const std::array<std::int32_t, 2> experts{77, 300};
  for (std::int32_t row = 0; row < 2; ++row) {
    fill_row(tensors,
             {.layer = layer,
              .expert = LogicalExpertId{experts[static_cast<std::size_t>(row)]},
              .row = row},
             stream.get());
  }
  std::vector<std::vector<std::vector<std::byte>>> rows(2);
  for (std::size_t row = 0; row < 2; ++row) {
    for (std::size_t tensor = 0; tensor < sizes.size(); ++tensor) {
      rows[row].push_back(expected_tensor(layer, experts[row], tensor, sizes[tensor]));
      std::vector<std::byte> actual(static_cast<std::size_t>(sizes[tensor]));
      if (!actual.empty()) {
        EPLB_CUDA(cudaMemcpyAsync(actual.data(),
                                  tensors[tensor].base + static_cast<std::int64_t>(row) *
                                                             tensors[tensor].row_stride_bytes,
                                  actual.size(), cudaMemcpyDefault, stream.get()));
        stream.synchronize();
      }
      checks.expect(actual == rows[row][tensor], "content of tensor " + std::to_string(tensor));
    }
  }

  const PinnedBuffer<std::int32_t> host_experts(2);
  host_experts.span()[0] = experts[0];
  host_experts.span()[1] = experts[1];
  const FetchedBuffer<std::uint64_t> digests(2);
  const FetchedBuffer<std::uint64_t> expected(2);
  for (const std::int32_t stride : {1, 16}) {
    const DigestOptions options{.first_row = 0,
                                .row_count = 2,
                                .sample_stride = stride,
                                .sample_start = stride == 1 ? 0 : 3};
    digest_rows(tensors, options, digests.data(), stream.get());
    digest_expected(tensors, layer, host_experts.data(), options, expected.data(), stream.get());
    digests.fetch(stream.get());
    expected.fetch(stream.get());
    stream.synchronize();
    for (std::size_t row = 0; row < 2; ++row) {
      const std::uint64_t by_host = digest_by_host(rows[row], static_cast<std::size_t>(stride),
                                                   static_cast<std::size_t>(options.sample_start));
      checks.expect(digests.fetched()[row] == by_host, "digest of stored rows");
      checks.expect(expected.fetched()[row] == by_host, "digest of expected rows");
    }
  }

  const std::uint64_t intact = digest_by_host(rows[0], 1, 0);
  EPLB_CUDA(cudaMemsetAsync(tensors[3].base + 4098, ~static_cast<int>(rows[0][3][4098]) & 0xFF, 1,
                            stream.get()));
  digest_rows(tensors, {.first_row = 0, .row_count = 2}, digests.data(), stream.get());
  digests.fetch(stream.get());
  stream.synchronize();
  checks.expect(digests.fetched()[0] != intact, "the last byte of a row counts");
  checks.expect(digests.fetched()[1] == digest_by_host(rows[1], 1, 0), "in its own row alone");
  bool refused = false;
  try {
    digest_rows(tensors, {.first_row = 0, .row_count = 1, .sample_stride = 0}, digests.data(),
                stream.get());
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  checks.expect(refused, "a stride of 0 is refused");
}

void test_timeline(Checks& checks, const RankSetting& /*setting*/) {
  const Stream one;
  const Stream other;
  Gate gate;
  load_gate(gate, one);
  Timeline timeline({one.get(), other.get()});
  checks.expect(timeline.poll({}) == Completion::kDone, "no operation is done");
  checks.expect(timeline.poll({1}) == Completion::kPending, "nor is what was not given out");

  gate.close(one.get());
  const env::Ticket first = timeline.next();
  timeline.mark(first);
  other.synchronize();
  checks.expect(timeline.poll(first) == Completion::kPending, "one stream of two is not enough");
  const env::Ticket second = timeline.next();
  timeline.fail(second);
  timeline.mark(second);
  checks.expect(timeline.poll(second) == Completion::kPending, "what will fail has not ended yet");
  checks.expect(timeline.will_fail(second) && !timeline.will_fail(first), "which is known before");
  const env::Ticket third = timeline.next();
  timeline.mark(third);
  timeline.check();
  checks.expect(timeline.poll(first) == Completion::kPending, "a slow stream is no failed one");
  gate.open();
  checks.expect(wait_for(timeline, third) == Completion::kDone, "the third is done");
  checks.expect(timeline.poll(first) == Completion::kDone, "and with it the first");
  checks.expect(timeline.poll(second) == Completion::kFailed, "the second has failed");
  checks.expect(!gate.gave_up(), "the gate was opened in time");

  load_gate(gate, one);
  gate.close(one.get());
  const env::Ticket fourth = timeline.next();
  timeline.mark(fourth);
  timeline.fail_pending();
  gate.open();
  checks.expect(wait_for(timeline, fourth) == Completion::kFailed, "what was pending fails");
  const env::Ticket fifth = timeline.next();
  timeline.break_off();
  checks.expect(timeline.poll(fifth) == Completion::kFailed, "no mark is needed to break off");
  checks.expect(timeline.poll(third) == Completion::kDone, "what was done stays done");
}

void test_queues(Checks& checks, const RankSetting& setting) {
  for (const Ownership ownership : {Ownership::kOurs, Ownership::kEngine}) {
    const std::unique_ptr<VmmHeap> heap = heap_of(setting.group);
    RankFixture rank(*heap, setting.group, small_layers(ownership));
    rank.prepare();
    const Stream forward_stream;
    const Stream migration_stream;
    StreamQueue forward(rank.memory(), forward_stream.get(),
                        {.device = 0, .local_copies = LocalCopies::kKernel});
    StreamQueue migration(rank.memory(), migration_stream.get(),
                          {.device = 0, .local_copies = LocalCopies::kCopyEngines});
    const RankId own{0};
    Gate gate;
    load_gate(gate, migration_stream);

    for (const LayerId layer : {LayerId{0}, LayerId{1}}) {
      // Once ungated, for whatever has to be loaded.
      forward.copy(std::array{RowCopy{slot_of(layer, own, 0), landing_of(own, 5)}});
      checks.expect(wait_for(forward, forward.signal()) == Completion::kDone, "a first copy");
      rank.poison_landing();

      gate.close(migration_stream.get());
      migration.copy(std::array{RowCopy{slot_of(layer, own, 2), landing_of(own, 4)},
                                RowCopy{slot_of(layer, own, 0), landing_of(own, 1)}});
      const env::Ticket landed = migration.signal();
      forward.wait(migration, landed);
      forward.copy(std::array{RowCopy{landing_of(own, 4), slot_of(layer, own, 1)},
                              RowCopy{landing_of(own, 1), slot_of(layer, own, 3)}});
      const env::Ticket committed = forward.signal();
      // Time for a queue that does not wait to show it.
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      checks.expect(forward.poll(committed) == Completion::kPending, "a queue waits for another");
      gate.open();
      checks.expect(wait_for(forward, committed) == Completion::kDone, "and then goes on");
      checks.expect(migration.poll(landed) == Completion::kDone, "so the other is done");
      checks.expect(!gate.gave_up(), "the gate was opened in time");
      rank.expect_landing(checks, 4, layer, first_occupant(own, 2));
      rank.expect_landing(checks, 1, layer, first_occupant(own, 0));
      rank.expect_poison(checks, 0);
      rank.expect_poison(checks, 5);
      rank.expect_slot(checks, layer, 0, first_occupant(own, 0));
      rank.expect_slot(checks, layer, 1, first_occupant(own, 2));
      rank.expect_slot(checks, layer, 2, first_occupant(own, 2));
      rank.expect_slot(checks, layer, 3, first_occupant(own, 0));
    }

    forward.copy({});
    checks.expect(wait_for(forward, forward.signal()) == Completion::kDone, "no copies at all");
    forward.wait(migration, {1'000'000});
    checks.expect(wait_for(forward, forward.signal()) == Completion::kDone,
                  "a ticket that was not given out is no wait");
    const env::Ticket good = forward.signal();
    forward.copy(std::array{RowCopy{slot_of(LayerId{0}, own, 99), landing_of(own, 0)}});
    const env::Ticket bad = forward.signal();
    checks.expect(wait_for(forward, good) == Completion::kDone, "before a bad copy all is well");
    checks.expect(wait_for(forward, bad) == Completion::kFailed, "after it nothing is");
    checks.expect(forward.failure().has_value() &&
                      forward.failure()->message.find("slot 99") != std::string::npos,
                  "and the queue says why");
    migration.wait(forward, bad);
    checks.expect(wait_for(migration, migration.signal()) == Completion::kFailed,
                  "what waits for a failed ticket fails");
  }
}

void test_capture(Checks& checks, const RankSetting& setting) {
  const std::unique_ptr<VmmHeap> heap = heap_of(setting.group);
  RankFixture rank(*heap, setting.group, small_layers(Ownership::kEngine));
  rank.prepare();
  const Stream queue_stream;
  const Stream captured;
  const HostClock clock;
  const RankId own{0};
  StreamQueue queue(rank.memory(), queue_stream.get(),
                    {.device = 0, .local_copies = LocalCopies::kCopyEngines});
  CopyEngineTransport transport(rank.memory(), clock, {.device = 0});
  launch_nothing(captured.get());
  captured.synchronize();

  EPLB_CUDA(cudaStreamBeginCapture(captured.get(), cudaStreamCaptureModeGlobal));
  launch_nothing(captured.get());
  std::thread beside([&] {
    queue.copy(std::array{RowCopy{slot_of(LayerId{0}, own, 1), landing_of(own, 1)}});
    checks.expect(wait_for(queue, queue.signal()) == Completion::kDone, "a queue beside a capture");
    queue.check();
    const Result<env::Ticket> pushed =
        transport.start(std::array{RowCopy{slot_of(LayerId{1}, own, 2), landing_of(own, 2)}});
    checks.expect(pushed && wait_for(transport, *pushed) == Completion::kDone,
                  "a transport beside a capture");
    transport.check();
    transport.cancel();
  });
  beside.join();
  cudaGraph_t graph = nullptr;
  checks.expect(cudaStreamEndCapture(captured.get(), &graph) == cudaSuccess && graph != nullptr,
                "the capture in global mode has survived");
  if (graph != nullptr) {
    EPLB_CUDA(cudaGraphDestroy(graph));
  }
  rank.expect_landing(checks, 1, LayerId{0}, first_occupant(own, 1));
  rank.expect_landing(checks, 2, LayerId{1}, first_occupant(own, 2));
}

void test_memory(Checks& checks, const RankSetting& setting) {
  const std::unique_ptr<VmmHeap> heap = heap_of(setting.group);
  RankFixture rank(*heap, setting.group, small_layers(Ownership::kOurs));
  DeviceMemory& memory = rank.memory();
  const RankId own = setting.group.rank;
  checks.expect(memory.taken_bytes() == 0, "nothing is taken at first");

  env::MemoryLayout wrong = rank.layout();
  if (own.value == 1) {
    wrong.row_bytes[0] += 1;
  }
  const Result<void> refused = memory.reserve(wrong);
  checks.expect(!refused && refused.error().code == (own.value == 1 ? ErrorCode::kInvalidArgument
                                                                    : ErrorCode::kPeerFailed),
                "one rank's layout is wrong, and none reserves");
  checks.expect(!refused && refused.error().message.find("an expert of layer 0 has 74110 bytes") !=
                                std::string::npos,
                "and all say why: " + (refused ? "" : refused.error().message));
  checks.expect(memory.taken_bytes() == 0, "nothing is left taken");

  env::MemoryLayout huge = rank.layout();
  huge.landing_rows = 1 << 20;
  const Result<void> exhausted = memory.reserve(huge);
  checks.expect(!exhausted && exhausted.error().code == ErrorCode::kResourceExhausted &&
                    exhausted.error().message.find("are free") != std::string::npos,
                "what does not fit is refused with the bytes");

  rank.prepare();
  // Our weights: rows of 74,240 and 1,048,576 bytes, four of each; the pool: six of the wider.
  constexpr std::int64_t kWeightsBytes = 4'491'264;
  constexpr std::int64_t kPoolBytes = 6'291'456;
  checks.expect(heap->taken_bytes() >= kPoolBytes, "the pool fits in what is taken");
  checks.expect(memory.taken_bytes() == heap->taken_bytes() + kWeightsBytes, "all is accounted");
  checks.expect(heap->bases().size() == 2 && heap->bases()[0] != heap->bases()[1],
                "both ranks' pools have addresses here");

  checks.expect(memory.reserve(rank.layout()).has_value(), "reserved anew, without a release");
  rank.expect_slot(checks, LayerId{0}, 3, first_occupant(own, 3));
  memory.release();
  checks.expect(memory.taken_bytes() == 0, "a release gives all back");
  bool threw = false;
  try {
    static_cast<void>(memory.rows());
  } catch (const std::logic_error&) {
    threw = true;
  }
  checks.expect(threw, "no rows after it");
  rank.prepare();
  rank.expect_slot(checks, LayerId{1}, 0, first_occupant(own, 0));
  barrier(setting.group);
}

}  // namespace eplb::gpu::test
