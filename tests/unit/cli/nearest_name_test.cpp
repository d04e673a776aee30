// Goal: a slip of the keyboard finds the name that was meant, and nonsense finds none. Method:
// values worked out by hand.
#include "eplb/cli/nearest_name.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace eplb::cli {
namespace {

TEST_CASE("the nearest name is named if a third of the text at most is wrong") {
  const std::vector<std::string> names{"--loads", "--ranks", "--redundant"};
  CHECK(did_you_mean("--rank", names) == "; did you mean '--ranks'?");
  CHECK(did_you_mean("--lodas", names) == "; did you mean '--loads'?");
  CHECK(did_you_mean("--redundent", names) == "; did you mean '--redundant'?");
  CHECK(did_you_mean("--colour", names).empty());
  CHECK(did_you_mean("x", names).empty());
  CHECK(did_you_mean("", names).empty());
  CHECK(did_you_mean(std::string(1000, '-'), names).empty());
  CHECK(did_you_mean("--ranks", {}).empty());
}

TEST_CASE("of names equally near the first is named") {
  const std::vector<std::string> names{"abcx", "abcy"};
  CHECK(did_you_mean("abcz", names) == "; did you mean 'abcx'?");
}

}  // namespace
}  // namespace eplb::cli
