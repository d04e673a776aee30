// Goal: the launcher tells processes their place, passes on what they print and what it is told,
// and leaves none behind. Method: small shell commands and processes that wait to be ended.
#include "eplb/group/local_launch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <thread>

#include "joined_ranks.hpp"
#include "launched.hpp"

namespace eplb::test {
namespace {

group::LaunchOptions shell(std::int32_t count, const std::string& script, const Output& output) {
  group::LaunchOptions options;
  options.process_count = count;
  options.command = {"sh", "-c", script};
  options.output = output.file();
  options.errors = output.file();
  return options;
}

std::vector<std::string> sorted_lines(const Output& output) {
  std::vector<std::string> lines = output.lines();
  std::ranges::sort(lines);
  return lines;
}

/// The numbers behind `word` in the lines that have it.
std::vector<pid_t> pids_after(const std::string& word, const Output& output) {
  std::vector<pid_t> pids;
  for (const std::string& line : output.lines()) {
    if (const std::size_t found = line.find(word); found != std::string::npos) {
      pids.push_back(std::stoi(line.substr(found + word.size())));
    }
  }
  return pids;
}

/// Whether a process runs; one that has ended but was not waited for does not.
bool runs(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string number;
  std::string name;
  std::string state;
  file >> number >> name >> state;
  return !state.empty() && state != "Z" && state != "X";
}

TEST_CASE("launch: each process is told its place") {
  const Output output;
  const group::LaunchEnd end = group::launch_local(process_launch(3, {"place"}, output)).value();
  CHECK(end.first_failed == -1);
  CHECK(sorted_lines(output) ==
        std::vector<std::string>{"[0] 0 of 3, 0 of 3", "[1] 1 of 3, 1 of 3", "[2] 2 of 3, 2 of 3"});
}

TEST_CASE("launch: output comes by whole lines with the process' number, errors too") {
  const Output output;
  group::LaunchOptions options =
      shell(2, "printf 'one '; echo $COLOUR; echo to errors >&2; printf unended", output);
  options.environment = {{"COLOUR", "green"}};
  CHECK(group::launch_local(options).value().first_failed == -1);
  CHECK(sorted_lines(output) == std::vector<std::string>{"[0] one green", "[0] to errors",
                                                         "[0] unended", "[1] one green",
                                                         "[1] to errors", "[1] unended"});
}

TEST_CASE(
    "launch: after a failure the others may end by themselves, and are killed if they do not") {
  const Output output;
  group::LaunchOptions options = shell(3,
                                       "case $EPLB_PROCESS in 0) sleep 0.2;; 1) exit 7;;"
                                       " 2) trap '' TERM; sleep 60;; esac",
                                       output);
  options.grace_ms = 1'000;
  const group::LaunchEnd end = group::launch_local(options).value();
  CHECK(end.first_failed == 1);
  CHECK(end.interrupted_by == 0);
  CHECK(end.processes[0].ok());
  CHECK(end.processes[1].exit_status == 7);
  CHECK(!end.processes[1].was_killed);
  CHECK(end.processes[2].signal == SIGKILL);
  CHECK(end.processes[2].was_killed);
}

TEST_CASE("launch: a signal is handed on to all processes") {
  for (const int signal : {SIGTERM, SIGINT}) {
    const Output output;
    const pthread_t launching = ::pthread_self();
    std::thread sender([&] {
      if (eventually([&] { return pids_after("waits as ", output).size() == 3; })) {
        ::pthread_kill(launching, signal);
      }
    });
    const group::LaunchEnd end = group::launch_local(process_launch(3, {"wait"}, output)).value();
    sender.join();
    CHECK(end.interrupted_by == signal);
    for (const group::ProcessEnd& process : end.processes) {
      CHECK(process.signal == signal);
      CHECK(!process.was_killed);
    }
  }
}

TEST_CASE("launch: processes die with a launcher that is killed") {
  const Output output;
  std::vector<pid_t> waiting;
  std::thread killer([&] {
    const bool all_wait = eventually([&] {
      waiting = pids_after("waits as ", output);
      return waiting.size() == 3;
    });
    if (all_wait) {
      ::kill(pids_after("launches as ", output).front(), SIGKILL);
    }
  });
  const group::LaunchEnd end =
      group::launch_local(process_launch(1, {"launch", "3"}, output)).value();
  killer.join();
  CHECK(end.processes.front().signal == SIGKILL);
  REQUIRE(waiting.size() == 3);
  for (const pid_t pid : waiting) {
    CHECK(eventually([&] { return !runs(pid); }));
  }
}

TEST_CASE("launch: what a process has started and left behind is killed too") {
  const Output output;
  const group::LaunchEnd end =
      group::launch_local(shell(1, "sleep 60 & echo started $!", output)).value();
  CHECK(end.processes.front().ok());
  const std::vector<pid_t> pids = pids_after("started ", output);
  REQUIRE(pids.size() == 1);
  CHECK(eventually([&] { return !runs(pids.front()); }));
}

TEST_CASE("launch: a command that cannot be run says so, and so does none") {
  group::LaunchOptions options;
  options.process_count = 2;
  options.command = {"/nowhere/eplb-no-such-program"};
  const auto missing = group::launch_local(options);
  REQUIRE(!missing);
  CHECK(missing.error().code == ErrorCode::kInvalidArgument);
  CHECK(missing.error().message ==
        "/nowhere/eplb-no-such-program cannot be run: No such file or directory");
  options.command.clear();
  CHECK(group::launch_local(options).error().message ==
        "a launch needs a command and at least one process");
}

}  // namespace
}  // namespace eplb::test
