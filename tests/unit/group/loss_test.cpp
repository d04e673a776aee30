// Goal: ranks as real processes work together over their host's board, and the death of any of
// them, whatever it was doing, ends the group on all others with the same failure. Method:
// processes of their own, started by our launcher, which kill themselves; each says what it saw.
#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>

#include "eplb/core/ids.hpp"
#include "launched.hpp"

namespace eplb::test {
namespace {

constexpr std::int32_t kRanks = 8;

/// Long enough for the others to notice on a busy machine; those who do not are killed and seen.
constexpr std::int64_t kGraceMs = 15'000;

std::set<std::string> shared_files() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    names.insert(entry.path().string());
  }
  return names;
}

void check_noticed(std::int32_t victim, const std::vector<std::string>& arguments,
                   std::int32_t signal, std::int32_t exit_status) {
  CAPTURE(victim);
  const std::set<std::string> files_before = shared_files();
  const Output output;
  group::LaunchOptions options = process_launch(kRanks, arguments, output);
  options.grace_ms = kGraceMs;
  const group::LaunchEnd end = group::launch_local(options).value();
  CHECK(end.first_failed == victim);
  std::vector<std::string> expected;
  for (std::int32_t rank = 0; rank < kRanks; ++rank) {
    const group::ProcessEnd& process = end.processes[RankId{rank}.index()];
    CAPTURE(rank);
    CHECK(!process.was_killed);
    CHECK(process.signal == (rank == victim ? signal : 0));
    CHECK(process.exit_status == (rank == victim ? exit_status : 0));
    if (rank != victim) {
      expected.push_back("[" + std::to_string(rank) + "] rank " + std::to_string(victim) +
                         ": it was lost");
    }
  }
  std::vector<std::string> lines = output.lines();
  std::ranges::sort(lines);
  CHECK(lines == expected);
  CHECK(shared_files() == files_before);
}

TEST_CASE(
    "loss: eight processes see all statuses, the same bits of a sum, and part without a loss") {
  const Output output;
  const group::LaunchEnd end =
      group::launch_local(process_launch(kRanks, {"serve", "200"}, output)).value();
  CHECK(end.first_failed == -1);
  CHECK(end.processes.size() == kRanks);
  std::set<std::string> sums;
  for (const std::string& line : output.lines()) {
    sums.insert(line.substr(line.find(']') + 2));
  }
  CHECK(output.lines().size() == kRanks);
  REQUIRE(sums.size() == 1);
  CHECK(sums.begin()->starts_with("sum "));
  CHECK(sums.begin()->ends_with(" whole"));
}

TEST_CASE("loss: whichever rank is killed, all others name it") {
  for (std::int32_t victim = 0; victim < kRanks; ++victim) {
    check_noticed(victim, {"die", std::to_string(victim), "idle"}, SIGKILL, 0);
  }
}

TEST_CASE("loss: a rank killed while it posts or sums is named by all others") {
  check_noticed(3, {"die", "3", "posting"}, SIGKILL, 0);
  check_noticed(0, {"die", "0", "summing"}, SIGKILL, 0);
}

TEST_CASE("loss: a rank that exits without a goodbye is lost too") {
  check_noticed(5, {"fail", "5"}, 0, 3);
}

}  // namespace
}  // namespace eplb::test
