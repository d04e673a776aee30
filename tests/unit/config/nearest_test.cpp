// Goal: the distance between two words is the number of slips that part them. Method: values worked
// out by hand.
#include "eplb/config/nearest.hpp"

#include <doctest/doctest.h>

namespace eplb::config {
namespace {

TEST_CASE("edit distance counts insertions, deletions, replacements and exchanges") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("plan", "plan") == 0);
  CHECK(edit_distance("plan", "plam") == 1);
  CHECK(edit_distance("plan", "paln") == 1);
  CHECK(edit_distance("plan", "lan") == 1);
  CHECK(edit_distance("plan", "plaan") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("ca", "abc") == 3);
}

}  // namespace
}  // namespace eplb::config
