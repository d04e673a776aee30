// Goal: transfers that may fly together share a batch, and only those. Method: the patterns whose
// batches are known (a ring, a star, an exchange), one slot a rank unless said otherwise.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "eplb/core/layer_migration.hpp"
#include "transfers.hpp"

namespace eplb {
namespace {

using test::transfer;
using Transfers = std::vector<Transfer>;

TEST_CASE("no transfers make no batches") {
  CHECK(schedule_batches({}, 4).empty());
}

TEST_CASE("a ring of four ranks takes two batches") {
  const Transfers ring{transfer(0, 0, 1), transfer(1, 1, 2), transfer(2, 2, 3), transfer(3, 3, 0)};
  CHECK(schedule_batches(ring, 1) == std::vector<TransferBatch>{
                                         {transfer(0, 0, 1), transfer(2, 2, 3)},
                                         {transfer(1, 1, 2), transfer(3, 3, 0)},
                                     });
}

TEST_CASE("both directions of a pair share a batch") {
  const Transfers exchange{transfer(0, 2, 1), transfer(1, 1, 2), transfer(2, 0, 3),
                           transfer(3, 3, 0)};
  CHECK(schedule_batches(exchange, 1) ==
        std::vector<TransferBatch>{
            {transfer(2, 0, 3), transfer(1, 1, 2), transfer(0, 2, 1), transfer(3, 3, 0)},
        });
}

TEST_CASE("a rank that serves many receivers takes a batch for each") {
  const Transfers star{transfer(0, 0, 3), transfer(0, 0, 1), transfer(0, 0, 2)};
  CHECK(schedule_batches(star, 1) == std::vector<TransferBatch>{
                                         {transfer(0, 0, 1)},
                                         {transfer(0, 0, 2)},
                                         {transfer(0, 0, 3)},
                                     });
}

TEST_CASE("a rank that receives from many senders takes a batch for each") {
  const Transfers sink{transfer(0, 0, 3), transfer(1, 1, 3), transfer(2, 2, 3)};
  CHECK(schedule_batches(sink, 1).size() == 3);
}

TEST_CASE("all transfers of a pair stay together, in the order given") {
  // Four slots a rank: slots 0 to 3 are rank 0, 4 to 7 rank 1, 8 to 11 rank 2.
  const Transfers mixed{transfer(5, 3, 4), transfer(1, 0, 8), transfer(2, 2, 7), transfer(0, 1, 5)};
  CHECK(schedule_batches(mixed, 4) == std::vector<TransferBatch>{
                                          {transfer(5, 3, 4), transfer(2, 2, 7), transfer(0, 1, 5)},
                                          {transfer(1, 0, 8)},
                                      });
}

TEST_CASE("a pair takes the first batch in which both ends are free") {
  // (0,1), (0,2), (3,1), (3,2): the third fits neither batch 0 (1 is busy) but batch 1.
  const Transfers square{transfer(0, 0, 1), transfer(1, 0, 2), transfer(2, 3, 1),
                         transfer(3, 3, 2)};
  CHECK(schedule_batches(square, 1) == std::vector<TransferBatch>{
                                           {transfer(0, 0, 1), transfer(3, 3, 2)},
                                           {transfer(1, 0, 2), transfer(2, 3, 1)},
                                       });
}

}  // namespace
}  // namespace eplb
