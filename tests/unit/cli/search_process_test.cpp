// Goal: a search that is killed with SIGKILL goes on as if nothing had happened, and several
// processes give the result of one, byte for byte. Method: the program itself, started as a person
// starts it.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "run_eplb.hpp"
#include "search_scenario.hpp"
#include "temp_folder.hpp"

namespace eplb {
namespace {

constexpr const char* kProgram = EPLB_BINARY_DIR "/eplb";

/// Starts the program with what it prints thrown away; gives its process.
pid_t start(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{kProgram};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  const pid_t process = ::fork();
  if (process == 0) {
    static_cast<void>(::close(STDOUT_FILENO));
    ::execv(kProgram, pointers.data());
    ::_exit(127);
  }
  return process;
}

std::ptrdiff_t line_count(const std::string& file) {
  const std::string text = test::read_file(file);
  return std::count(text.begin(), text.end(), '\n');
}

TEST_CASE("a search that is killed in the middle goes on to the same result") {
  const test::TempFolder folder;
  const std::string file = folder.write("tiny.yaml", test::search_scenario(2000)).string();
  const std::string journal = (folder.path() / "j.jsonl").string();
  constexpr std::ptrdiff_t kLines = 4;  // The first of which says whose they are.
  const pid_t process = start({"search", file, "--journal", journal, "--threads", "1"});
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (line_count(journal) < kLines && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  REQUIRE(::kill(process, SIGKILL) == 0);
  int status = 0;
  REQUIRE(::waitpid(process, &status, 0) == process);
  REQUIRE(WIFSIGNALED(status));  // Else it had ended, and nothing was interrupted.
  const std::ptrdiff_t before = line_count(journal);
  CHECK(before >= kLines);

  const test::Outcome resumed =
      test::run_eplb({"search", file, "--journal", journal, "--json", "-"});
  const test::Outcome whole = test::run_eplb({"search", file, "--json", "-"});
  CHECK(resumed.err == "");
  CHECK(whole.code == 0);
  CHECK(resumed.out == whole.out);
  CHECK(line_count(journal) > before);
}

TEST_CASE("a journal that another search is writing is not taken") {
  const test::TempFolder folder;
  const std::string file = folder.write("tiny.yaml", test::search_scenario(20000)).string();
  const std::string journal = (folder.path() / "j.jsonl").string();
  const pid_t process = start({"search", file, "--journal", journal, "--threads", "1"});
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (line_count(journal) < 1 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const test::Outcome outcome = test::run_eplb({"search", file, "--journal", journal});
  ::kill(process, SIGKILL);
  int status = 0;
  REQUIRE(::waitpid(process, &status, 0) == process);
  CHECK(outcome.code == 2);
  CHECK(outcome.err == journal + ": error: another search is writing it\n");
}

#ifdef EPLB_MPIEXEC

/// Runs a command line of the shell; gives its exit code.
int shell(const std::string& command) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe,cert-env33-c): no other thread starts processes
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Open MPI will not run as root, as tests in a container do, nor on more processes than cores.
std::string mpirun(int processes, const std::string& arguments) {
  return "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
         "OMPI_MCA_rmaps_base_oversubscribe=1 " EPLB_MPIEXEC " -np " +
         std::to_string(processes) + " " + kProgram + " " + arguments;
}

TEST_CASE("four processes of mpirun give the result of one") {
  const test::TempFolder folder;
  const std::string file = folder.write("tiny.yaml", test::search_scenario()).string();
  const std::string json = (folder.path() / "mpi.json").string();
  const std::string table = (folder.path() / "mpi.txt").string();
  const std::string journal = (folder.path() / "mpi.jsonl").string();
  REQUIRE(shell(mpirun(4, "search " + file + " --threads 1 --json " + json + " --journal " +
                              journal + " >" + table)) == 0);
  const std::string alone = (folder.path() / "alone.json").string();
  const test::Outcome outcome = test::run_eplb({"search", file, "--json", alone});
  CHECK(outcome.code == 0);
  CHECK(test::read_file(json) == test::read_file(alone));
  CHECK(test::read_file(table) == outcome.out);
  // One process has written down what all have done, and nobody has to do it again.
  const test::Outcome again = test::run_eplb({"search", file, "--journal", journal, "--json", "-"});
  CHECK(again.out == test::read_file(alone));
}

TEST_CASE("processes of mpirun end together, and one of them says what is wrong") {
  const test::TempFolder folder;
  const std::string file = folder.write("bad.yaml", "model: 1\n").string();
  const std::string errors = (folder.path() / "errors.txt").string();
  CHECK(shell(mpirun(3, "search " + file + " 2>" + errors)) == 2);
  const std::string text = test::read_file(errors);
  const std::string message = "bad.yaml:1:8: error: model: ";
  CHECK(text.find(message) != std::string::npos);
  CHECK(text.find(message) == text.rfind(message));
}

#else

TEST_CASE("search by mpirun is not tested: built without MPI") {
  MESSAGE("EPLB_MPI is off, or there is no mpirun");
}

#endif

}  // namespace
}  // namespace eplb
