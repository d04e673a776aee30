// Goal: the ring keeps the newest records in order and says how many it has dropped, and the clock
// is the host's monotonic one. Method: records told apart by their subject; readings in between.
#include "eplb/group/trace_ring.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "allocation_count.hpp"
#include "eplb/group/monotonic_clock.hpp"
#include "print_vector.hpp"

namespace eplb::group {
namespace {

env::TraceRecord record_of(std::int64_t subject) {
  return {.time_ns = subject * 10,
          .rank = RankId{0},
          .event = env::TraceEvent::kStep,
          .subject = subject,
          .value = 0};
}

std::vector<std::int64_t> subjects_of(const TraceRing& ring) {
  std::vector<std::int64_t> subjects;
  for (const env::TraceRecord& record : ring.records()) {
    subjects.push_back(record.subject);
  }
  return subjects;
}

TEST_CASE("a trace ring keeps all records while it has room, and then the newest") {
  TraceRing ring(3);
  CHECK(ring.records().empty());
  ring.record(record_of(1));
  ring.record(record_of(2));
  CHECK(subjects_of(ring) == std::vector<std::int64_t>{1, 2});
  CHECK(ring.dropped() == 0);
  for (std::int64_t subject = 3; subject <= 8; ++subject) {
    ring.record(record_of(subject));
  }
  CHECK(subjects_of(ring) == std::vector<std::int64_t>{6, 7, 8});
  CHECK(ring.dropped() == 5);
  CHECK(ring.records().back().time_ns == 80);
}

TEST_CASE("to write into a trace ring allocates nothing") {
  TraceRing ring(4);
  const std::int64_t before = test::allocation_count();
  for (std::int64_t subject = 0; subject < 10; ++subject) {
    ring.record(record_of(subject));
  }
  CHECK(test::allocation_count() == before);
}

TEST_CASE("rows are on their way while a layer has started and not landed") {
  using enum env::TraceEvent;
  const auto at = [](std::int64_t time_ns, env::TraceEvent event, std::int64_t subject) {
    return env::TraceRecord{
        .time_ns = time_ns, .rank = RankId{0}, .event = event, .subject = subject, .value = 0};
  };
  const std::vector<env::TraceRecord> records{
      at(5, kLayerLanded, 9),  // Began before the first record.
      at(10, kTransferStarted, 0),
      at(12, kTransferStarted, 1),
      at(14, kTransferStarted, 0),
      at(20, kLayerLanded, 0),
      at(25, kStep, 3),
      at(30, kLayerLanded, 1),
      at(40, kLayerLanded, 2),  // Nothing of it was this rank's to send.
      at(50, kTransferStarted, 3),
      at(57, kLayerLanded, 3),
      at(60, kRearrangementEnd, 7),
      at(70, kTransferStarted, 4),
      at(75, kRearrangementEnd, 8),  // Given up.
      at(90, kTransferStarted, 5)};
  const std::vector<TransferTime> times = transfer_times(records);
  REQUIRE(times.size() == 2);
  CHECK(times[0].rearrangement == 7);
  CHECK(times[0].ns == 20 + 7);
  CHECK(times[1].rearrangement == 8);
  CHECK(times[1].ns == 5);
}

TEST_CASE("the monotonic clock tells the time of CLOCK_MONOTONIC") {
  const auto now_ns = [] {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  const MonotonicClock clock;
  const std::int64_t before_ns = now_ns();
  const std::int64_t told_ns = clock.now_ns();
  CHECK(told_ns >= before_ns);
  CHECK(told_ns <= now_ns());
}

}  // namespace
}  // namespace eplb::group
