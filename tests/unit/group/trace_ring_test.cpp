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
