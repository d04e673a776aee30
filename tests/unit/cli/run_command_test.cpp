// Goal: `eplb run` says what it lacks where it cannot run, and what is wrong before that. Method:
// the command in a build without CUDA, as the tests of the host are.
#include <doctest/doctest.h>

#include <string>

#include "run_eplb.hpp"
#include "scenario_file.hpp"
#include "temp_folder.hpp"

namespace eplb {
namespace {

TEST_CASE("eplb run without CUDA is not possible here, and says what would help") {
  const test::TempFolder folder;
  const std::string file = folder.write("tiny.yaml", test::kScenario).string();
  const test::Outcome outcome = test::run_eplb({"run", file});
  CHECK(outcome.code == 3);
  CHECK(outcome.err.find("built without CUDA") != std::string::npos);
  CHECK(outcome.err.find("-DEPLB_GPU=ON") != std::string::npos);
}

TEST_CASE("eplb run looks at its configuration first") {
  const test::TempFolder folder;
  const std::string file = folder.write("tiny.yaml", test::kScenario).string();
  const test::Outcome outcome = test::run_eplb({"run", file, "--set", "parallel.ranks_per_gpu=0"});
  CHECK(outcome.code == 2);
  CHECK(outcome.err.find("parallel.ranks_per_gpu") != std::string::npos);
}

}  // namespace
}  // namespace eplb
