// Goal: rows hold what was copied into them, and every way in which two users of a row may meet is
// caught, while their legal neighbours are not. Method: two ranks of one layer with two slots and
// two landing rows, each case with its own order of begins and ends.
#include "eplb/sim/group/row_store.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "rows.hpp"

namespace eplb::sim {
namespace {

using test::landing_row;
using test::weights_row;

constexpr RowContent kExpertFive{.layer = 0, .expert = 5, .version = 1};
constexpr RowContent kExpertSix{.layer = 0, .expert = 6, .version = 1};

struct Store {
  EventEngine engine;
  Violations violations;
  RowStore rows{engine, violations, 2};

  Store() {
    for (const RankId rank : {RankId{0}, RankId{1}}) {
      rows.reserve(rank, {.slots_per_rank = 2, .landing_rows = 2, .row_bytes = {1000}});
    }
    rows.set(weights_row(0, 0, 0), kExpertFive);
    rows.set(weights_row(0, 0, 1), kExpertSix);
  }

  /// What was seen so far, in order.
  [[nodiscard]] std::vector<std::string> seen() const {
    std::vector<std::string> texts;
    for (const Violation& violation : violations.list()) {
      texts.push_back(violation.what);
    }
    return texts;
  }
};

using Texts = std::vector<std::string>;

const RowCopy kPush{.source = weights_row(0, 0, 0), .destination = landing_row(1, 0)};

TEST_CASE("a copy's destination holds nothing while it is written, then what the source holds") {
  Store store;
  store.rows.set(landing_row(1, 0), kExpertSix);
  store.rows.begin_copy(kPush);
  CHECK(store.rows.content(landing_row(1, 0)) == kNoContent);
  CHECK(store.rows.content(weights_row(0, 0, 0)) == kExpertFive);
  store.rows.end_copy(kPush, false);
  CHECK(store.rows.content(landing_row(1, 0)) == kExpertFive);
  CHECK_FALSE(store.violations.any());
}

TEST_CASE("a failed copy leaves nothing behind") {
  Store store;
  store.rows.set(landing_row(1, 0), kExpertSix);
  store.rows.begin_copy(kPush);
  store.rows.end_copy(kPush, true);
  CHECK(store.rows.content(landing_row(1, 0)) == kNoContent);
}

TEST_CASE("a row that is read while it is written is caught") {
  Store store;
  store.rows.begin_copy(kPush);
  store.rows.begin_copy({.source = landing_row(1, 0), .destination = weights_row(1, 0, 0)});
  CHECK(store.seen() == Texts{"rank 1, landing row 0: read while it is written"});
}

TEST_CASE("a row that is written while it is read is caught") {
  Store store;
  store.rows.begin_copy(kPush);
  store.rows.begin_copy({.source = weights_row(0, 0, 1), .destination = weights_row(0, 0, 0)});
  CHECK(store.seen() == Texts{"rank 0, layer 0 slot 0: written while it is read"});
}

TEST_CASE("two copies into one row at once are caught") {
  Store store;
  store.rows.begin_copy(kPush);
  store.rows.begin_copy({.source = weights_row(0, 0, 1), .destination = landing_row(1, 0)});
  CHECK(store.seen() == Texts{"rank 1, landing row 0: written by two copies at once"});
}

TEST_CASE("weights that are written while a forward uses them are caught, whichever came first") {
  const RowCopy commit{.source = landing_row(1, 0), .destination = weights_row(1, 0, 1)};
  Store forward_first;
  forward_first.rows.begin_forward(RankId{1});
  forward_first.rows.begin_copy(commit);
  CHECK(forward_first.seen() == Texts{"rank 1, layer 0 slot 1: written while a forward uses it"});

  Store copy_first;
  copy_first.rows.begin_copy(commit);
  copy_first.rows.begin_forward(RankId{1});
  CHECK(copy_first.seen() == Texts{"rank 1: a forward began while its weights are written"});
}

TEST_CASE("rows that were never reserved, or are out of range, are caught") {
  Store store;
  store.rows.begin_copy({.source = weights_row(0, 0, 2), .destination = landing_row(1, 0)});
  store.rows.begin_copy({.source = weights_row(0, 0, 0), .destination = landing_row(1, 2)});
  store.rows.begin_copy({.source = weights_row(0, 0, 0), .destination = landing_row(1, -1)});
  CHECK(store.seen() == Texts{"rank 0, layer 0 slot 2: copied though not reserved",
                              "rank 1, landing row 2: copied though not reserved",
                              "rank 1, landing row -1: copied though not reserved"});
}

TEST_CASE("released rows are gone with their content, and come back empty") {
  Store store;
  store.rows.release(RankId{0});
  CHECK(store.rows.content(weights_row(0, 0, 0)) == kNoContent);
  store.rows.begin_copy(kPush);
  store.rows.begin_forward(RankId{0});
  CHECK(store.seen() == Texts{"rank 0, layer 0 slot 0: copied though not reserved",
                              "rank 0: a forward began without its weights"});
  store.rows.end_copy(kPush, false);
  store.rows.reserve(RankId{0}, {.slots_per_rank = 2, .landing_rows = 2, .row_bytes = {1000}});
  CHECK(store.rows.content(weights_row(0, 0, 0)) == kNoContent);
}

TEST_CASE("memory that is released under a copy is caught at both of its ends") {
  for (const RankId rank : {RankId{0}, RankId{1}}) {
    Store store;
    store.rows.begin_copy(kPush);
    store.rows.release(rank);
    CHECK(store.seen() ==
          Texts{"rank " + std::to_string(rank.value) + " released its memory under a copy"});
  }
}

TEST_CASE("legal neighbours are left alone") {
  Store store;
  SUBCASE("several copies read one row") {
    store.rows.begin_copy(kPush);
    store.rows.begin_copy({.source = weights_row(0, 0, 0), .destination = landing_row(1, 1)});
  }
  SUBCASE("a landing row is written and weights are read while forwards run") {
    store.rows.begin_forward(RankId{0});
    store.rows.begin_forward(RankId{1});
    store.rows.begin_copy(kPush);
  }
  SUBCASE("another rank's forward is no matter") {
    store.rows.begin_forward(RankId{0});
    store.rows.begin_copy({.source = landing_row(1, 0), .destination = weights_row(1, 0, 0)});
  }
  SUBCASE("a row is written as soon as its reader has ended, and read after its writer") {
    store.rows.begin_copy(kPush);
    store.rows.end_copy(kPush, false);
    store.rows.begin_copy({.source = weights_row(0, 0, 1), .destination = weights_row(0, 0, 0)});
    store.rows.begin_copy({.source = landing_row(1, 0), .destination = weights_row(1, 0, 0)});
  }
  SUBCASE("weights are written between two forwards") {
    const RowCopy commit{.source = landing_row(1, 0), .destination = weights_row(1, 0, 0)};
    store.rows.begin_forward(RankId{1});
    store.rows.end_forward(RankId{1});
    store.rows.begin_copy(commit);
    store.rows.end_copy(commit, false);
    store.rows.begin_forward(RankId{1});
  }
  SUBCASE("memory is released when its copies have ended") {
    store.rows.begin_copy(kPush);
    store.rows.end_copy(kPush, true);
    store.rows.release(RankId{0});
    store.rows.release(RankId{1});
  }
  CHECK(store.seen().empty());
}

TEST_CASE("a row knows its bytes, and a rank its landing rows") {
  EventEngine engine;
  Violations violations;
  RowStore rows(engine, violations, 1);
  rows.reserve(RankId{0}, {.slots_per_rank = 1, .landing_rows = 3, .row_bytes = {1000, 2000}});
  CHECK(rows.row_bytes(weights_row(0, 1, 0)) == 2000);
  CHECK(rows.landing_rows(RankId{0}) == 3);
}

}  // namespace
}  // namespace eplb::sim
