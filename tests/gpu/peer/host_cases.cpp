// Goal: what decides where bytes go, and how files and chunks change hands, without any device.
// Method: tiny rows at made-up addresses, whose pieces are written down; two ends of one ring in
// turn; real files between real processes.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "eplb/gpu/memory/exchange.hpp"
#include "eplb/gpu/memory/rank_weights.hpp"
#include "memory/file_handover.hpp"
#include "peer_cases.hpp"
#include "run/fault_drill.hpp"
#include "transport/host_mailbox.hpp"
#include "transport/staged_orders.hpp"

namespace eplb::gpu::test {
namespace {

constexpr std::int64_t kBlock = 0x100000;

/// An address that nobody reads or writes.
std::byte* address(std::int64_t number) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): pieces are compared, never followed.
  return reinterpret_cast<std::byte*>(number);
}

/// Rank 1 of 2, with an engine's layer 0 of tensors of 256, 0 and 100 bytes and our layer 1 of 200
/// and 56 bytes; 4 slots and 3 landing rows of 512 bytes.
RankWeights made_up_weights() {
  std::vector<LayerWeights> layers;
  layers.push_back(*LayerWeights::of_tensors({
      {.base = address(kBlock), .row_bytes = 256, .row_stride_bytes = 256},
      {.base = nullptr, .row_bytes = 0, .row_stride_bytes = 0},
      {.base = address(2 * kBlock + 1), .row_bytes = 100, .row_stride_bytes = 160},
  }));
  const std::array<std::int64_t, 2> tensor_bytes{200, 56};
  layers.push_back(*LayerWeights::of_rows(address(3 * kBlock), tensor_bytes));
  return {RankId{1},
          4,
          std::move(layers),
          {.bases = {address(8 * kBlock), address(9 * kBlock)},
           .row_stride_bytes = 512,
           .row_count = 3}};
}

RowAddress slot(std::int32_t layer, std::int32_t row, std::int32_t rank = 1) {
  return {.region = RegionId{layer}, .rank = RankId{rank}, .row = row};
}

RowAddress landing(std::int32_t row, std::int32_t rank) {
  return {.region = kLandingRegion, .rank = RankId{rank}, .row = row};
}

void expect_pieces(Checks& checks, const RankWeights& weights, const std::vector<RowCopy>& copies,
                   const std::vector<CopyPiece>& expected, const std::string& what) {
  std::vector<CopyPiece> pieces;
  for (const RowCopy& copy : copies) {
    checks.expect(weights.append_pieces(copy, pieces).has_value(), what + ": refused");
  }
  checks.expect(pieces == expected, what);
}

void expect_refused(Checks& checks, const RankWeights& weights, const RowCopy& copy,
                    const std::string& words) {
  std::vector<CopyPiece> pieces;
  const Result<void> appended = weights.append_pieces(copy, pieces);
  checks.expect(!appended && appended.error().code == ErrorCode::kInvalidArgument &&
                    appended.error().message.find(words) != std::string::npos && pieces.empty(),
                "refused with: " + words);
}

}  // namespace

void test_pieces(Checks& checks, const RankSetting& /*setting*/) {
  const RankWeights weights = made_up_weights();
  checks.expect(weights.layers()[0].row_width_bytes() == 384, "width of 256 + 100 bytes");
  checks.expect(weights.layers()[0].content_bytes() == 356, "content of 256 + 100 bytes");
  checks.expect(weights.layers()[1].row_width_bytes() == 384, "width of 200 + 56 bytes");

  expect_pieces(checks, weights, {{slot(0, 2), landing(1, 0)}},
                {{address(8 * kBlock + 512), address(kBlock + 512), 256},
                 {address(8 * kBlock + 512 + 256), address(2 * kBlock + 1 + 320), 100}},
                "an engine's row, tensor by tensor, the empty one left out");
  expect_pieces(checks, weights, {{landing(2, 1), slot(1, 3)}},
                {{address(3 * kBlock + 1152), address(9 * kBlock + 1024), 384}},
                "a row of ours, as one piece");
  expect_pieces(checks, weights, {{slot(1, 0), slot(1, 2)}, {slot(1, 1), slot(1, 3)}},
                {{address(3 * kBlock + 768), address(3 * kBlock), 768}},
                "rows that are neighbours at both ends, as one piece");
  expect_pieces(checks, weights, {{slot(1, 1), slot(1, 2)}, {slot(1, 0), slot(1, 3)}},
                {{address(3 * kBlock + 768), address(3 * kBlock + 384), 384},
                 {address(3 * kBlock + 1152), address(3 * kBlock), 384}},
                "neighbours at one end alone stay apart");

  expect_refused(checks, weights, {landing(0, 1), landing(1, 1)}, "one end must be weights");
  expect_refused(checks, weights, {slot(2, 0), landing(1, 1)}, "of one of 2 layers");
  expect_refused(checks, weights, {slot(0, 4), landing(1, 1)}, "slot 4 of rank 1: there are 4");
  expect_refused(checks, weights, {slot(0, 0), landing(3, 1)}, "landing row 3");
  expect_refused(checks, weights, {slot(0, 0, 0), landing(0, 1)}, "out of reach");
  expect_refused(checks, weights, {slot(0, 0), slot(1, 0)}, "layers differ");

  std::vector<RowPart> parts;
  checks.expect(weights.append_parts(landing(1, 1), LayerId{0}, parts).has_value() &&
                    parts.size() == 2 && parts[1].begin == address(9 * kBlock + 512 + 256) &&
                    parts[1].bytes == 100,
                "an end's parts");
  checks.expect(!LayerWeights::of_tensors({}), "no tensors");
  checks.expect(
      !LayerWeights::of_tensors({{.base = address(kBlock), .row_bytes = 8, .row_stride_bytes = 7}}),
      "rows that overlap");
}

void test_mailbox(Checks& checks, const RankSetting& setting) {
  const MailboxShape shape{.chunk_bytes = 4096, .slot_count = 2};
  checks.expect(HostMailbox::bytes(shape) == 12288, "a header and two chunks in whole pages");
  HostMailbox writer(setting.shared.data(), shape);
  HostMailbox reader(setting.shared.data(), shape);

  checks.expect(writer.has_room(0) && writer.has_room(1) && !writer.has_room(2), "two slots");
  checks.expect(!reader.is_published(0), "empty at first");
  writer.set_generation(0, 7);
  *writer.content(0) = std::byte{42};
  writer.publish(1);
  checks.expect(reader.is_published(0) && !reader.is_published(1), "one chunk is published");
  checks.expect(reader.generation(0) == 7 && *reader.content(0) == std::byte{42}, "its content");
  checks.expect(!writer.has_room(2), "a slot is not free before it is given back");
  reader.give_back(1);
  checks.expect(writer.has_room(2) && !writer.has_room(3), "and is free then");
  checks.expect(writer.content(2) == writer.content(0), "the ring comes round");
  checks.expect(writer.content(1) - writer.content(0) == 4096, "chunks lie side by side");
}

void test_orders(Checks& checks, const RankSetting& /*setting*/) {
  using env::Completion;
  StagedOrders orders;
  const env::Ticket first = orders.open(2);
  const env::Ticket second = orders.open(1);
  const env::Ticket third = orders.open(1);
  checks.expect(orders.poll({}) == Completion::kDone, "no operation is done");
  orders.end_chunk(second, true);
  checks.expect(orders.poll(second) == Completion::kFailed, "the second fails before the first");
  orders.end_chunk(first, false);
  checks.expect(orders.poll(first) == Completion::kPending, "the first has a chunk left");
  orders.end_chunk(first, false);
  checks.expect(orders.poll(first) == Completion::kDone, "the first is done");
  checks.expect(orders.poll(second) == Completion::kFailed, "a failure is remembered");
  checks.expect(orders.poll(third) == Completion::kPending, "the third has not ended");
  orders.break_off();
  checks.expect(orders.poll(third) == Completion::kFailed, "what is pending fails in the end");
  checks.expect(orders.poll(first) == Completion::kDone, "what was done stays done");
}

void test_exchange(Checks& checks, const RankSetting& setting) {
  const std::int32_t rank = setting.group.rank.value;
  const Result<std::vector<std::int32_t>> all = exchange(setting.group, Result<std::int32_t>(rank));
  checks.expect(all.has_value() && *all == std::vector<std::int32_t>{0, 1}, "values by rank");

  const Result<void> standing =
      rank == 1 ? Result<void>(fail(ErrorCode::kResourceExhausted, "no room")) : Result<void>();
  const Result<void> agreed = agree(setting.group, standing);
  checks.expect(!agreed && agreed.error().code ==
                               (rank == 1 ? ErrorCode::kResourceExhausted : ErrorCode::kPeerFailed),
                "one rank's trouble is every rank's");
  checks.expect(!agreed && agreed.error().message == (rank == 1 ? "no room" : "rank 1: no room"),
                "in its words");
  checks.expect(agree(setting.group, {}).has_value(), "and the next round is a new one");
}

void test_handover(Checks& checks, const RankSetting& setting) {
  for (const bool tries_pidfd : {true, false}) {
    const auto rank = static_cast<std::uint8_t>(setting.group.rank.value);
    const FileDescriptor file(memfd_create("eplb-test", MFD_CLOEXEC));
    const auto content = static_cast<std::uint8_t>(10 + rank);
    checks.expect(write(file.get(), &content, 1) == 1, "a file of one byte");
    const Result<std::vector<FileDescriptor>> files =
        hand_over_files(setting.group, file.get(), {.tries_pidfd = tries_pidfd});
    checks.expect(files.has_value(),
                  files ? "handed over" : "handed over: " + files.error().message);
    if (!files) {
      continue;
    }
    for (std::size_t peer = 0; peer < files->size(); ++peer) {
      std::uint8_t read = 0;
      const bool has_file = (*files)[peer].get() >= 0;
      checks.expect(has_file == (peer != rank), "a file of each other process");
      checks.expect(
          !has_file || (pread((*files)[peer].get(), &read, 1, 0) == 1 && read == 10 + peer),
          "the file of rank " + std::to_string(peer));
    }
    barrier(setting.group);
  }
}

void test_fault_drill(Checks& checks, const RankSetting& /*setting*/) {
  const ServeFaults faults{
      .late_hosts = {{.rank = RankId{1}, .begin_ms = 0, .end_ms = 1e9, .late_us = 20'000}},
      .stalled_hosts = {{.rank = RankId{1}, .at_ms = 0, .duration_ms = 30}},
      .killed_ranks = {{.rank = RankId{1}, .at_ms = 0, .state = MigrationState::kMoving},
                       {.rank = RankId{1}, .at_ms = 1e9}}};
  const auto delay_ms = [](FaultDrill& drill) {
    const auto begin = std::chrono::steady_clock::now();
    drill.delay_host();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
        .count();
  };
  FaultDrill drill(faults, RankId{1});
  checks.expect(delay_ms(drill) >= 50, "late and stalled at once");
  const double late_ms = delay_ms(drill);
  checks.expect(late_ms >= 20 && late_ms < 50, "stalled once, late ever after");
  FaultDrill other(faults, RankId{0});
  checks.expect(delay_ms(other) < 20, "the other rank is in time");
  drill.look(MigrationState::kPlanning);  // Returns.
  other.look(MigrationState::kMoving);

  const auto ends_by = [&](RankId rank, MigrationState state) {
    const pid_t child = fork();
    if (child == 0) {
      FaultDrill(faults, rank).watch([state] { return state; });
      FaultDrill(faults, rank).look(state);
      std::_Exit(EXIT_SUCCESS);
    }
    int status = 0;
    checks.expect(waitpid(child, &status, 0) == child, "the child's end");
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  };
  checks.expect(ends_by(RankId{1}, MigrationState::kMoving) == SIGKILL, "killed while it moves");
  checks.expect(ends_by(RankId{1}, MigrationState::kIdle) == 0, "and in no other state");
  checks.expect(ends_by(RankId{0}, MigrationState::kMoving) == 0, "and no other rank");
}

}  // namespace eplb::gpu::test
