// Goal: a core with a bug in it is found out.
// Method: trials, seed after seed, until one breaks a promise or an assertion. Exit 0 if one did.

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "eplb/core/assert.hpp"
#include "eplb/sim/trial/trial.hpp"

namespace {

std::uint64_t seed_at_hand = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): for
                                 // the handler, which is called without any context.

void report_assertion(const eplb::AssertionFailure& failure) {
  std::printf("caught after %llu seeds: assertion %s\n",
              static_cast<unsigned long long>(seed_at_hand), failure.condition);
  std::fflush(stdout);
  std::_Exit(EXIT_SUCCESS);
}

}  // namespace

int main(int argument_count, char** arguments) {
  const std::uint64_t seeds = argument_count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 1000;
  eplb::set_assertion_handler(&report_assertion);
  for (seed_at_hand = 1; seed_at_hand <= seeds; ++seed_at_hand) {
    const eplb::sim::TrialResult result = eplb::sim::run_trial(eplb::sim::draw_swarm(seed_at_hand));
    if (!result.violations.empty()) {
      std::printf("caught after %llu seeds: %s\n", static_cast<unsigned long long>(seed_at_hand),
                  result.violations.front().what.c_str());
      return EXIT_SUCCESS;
    }
  }
  std::printf("survived %llu seeds\n", static_cast<unsigned long long>(seeds));
  return EXIT_FAILURE;
}
