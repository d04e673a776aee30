// Goal: the communicator and the cap on NCCL's CTAs are those of the reference (eplb-semantics 5.4,
// 5.7, 6.1, 6.4). Method: all combinations of what they depend on, against tables written out here.
#include "eplb/core/communicator.hpp"

#include <doctest/doctest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace eplb {
namespace {

constexpr std::array kAll = {Communicator::kAuto,   Communicator::kSymmMem,
                             Communicator::kNixl,   Communicator::kTorchNccl,
                             Communicator::kPynccl, Communicator::kTorchGloo};

struct AutoCase {
  bool nixl;
  bool elastic;
  bool use_async;
  std::int32_t domain_count;
  std::string expected;
};

EplbGroup group_of(const AutoCase& one) {
  EplbGroup group{.engine = {.nixl = one.nixl}, .domain_count = one.domain_count};
  group.parallel.ranks = 4;
  if (one.elastic) {
    group.parallel.scale = {{.at_step = 1, .ranks = 8}};
  }
  return group;
}

TEST_CASE("communicators have the names of a configuration") {
  std::string names;
  for (const Communicator communicator : kAll) {
    names += std::string(to_string(communicator)) + " ";
  }
  CHECK(names == "auto symm_mem nixl torch_nccl pynccl torch_gloo ");
}

TEST_CASE("by default weights move by the best communicator that the group can have") {
  const std::vector<AutoCase> cases = {
      {true, false, true, 1, "nixl"},       {true, false, true, 2, "nixl"},
      {true, false, false, 1, "nixl"},      {true, false, false, 2, "nixl"},
      {true, true, true, 1, "nixl"},        {true, true, true, 2, "nixl"},
      {true, true, false, 1, "nixl"},       {true, true, false, 2, "nixl"},
      {false, false, true, 1, "symm_mem"},  {false, false, true, 2, "torch_gloo"},
      {false, false, false, 1, "symm_mem"}, {false, false, false, 2, "torch_gloo"},
      {false, true, true, 1, "torch_gloo"}, {false, true, true, 2, "torch_gloo"},
      {false, true, false, 1, "pynccl"},    {false, true, false, 2, "pynccl"},
  };
  for (const AutoCase& one : cases) {
    CAPTURE(one.nixl);
    CAPTURE(one.elastic);
    CAPTURE(one.use_async);
    CAPTURE(one.domain_count);
    EplbOptions options;
    options.use_async = one.use_async;
    CHECK(to_string(resolve_communicator(options, group_of(one))) == one.expected);
  }
}

TEST_CASE("a communicator that was chosen stays, but torch_nccl is pynccl in an elastic group") {
  for (const Communicator chosen : kAll) {
    if (chosen == Communicator::kAuto) {
      continue;
    }
    for (const bool elastic : {false, true}) {
      CAPTURE(elastic);
      EplbOptions options;
      options.communicator = chosen;
      const EplbGroup group = group_of({true, elastic, true, 2, ""});
      const bool promoted = elastic && chosen == Communicator::kTorchNccl;
      CHECK(to_string(resolve_communicator(options, group)) ==
            to_string(promoted ? Communicator::kPynccl : chosen));
    }
  }
}

/// What the cap depends on; the row that locks up by MegaMoE, from which the tests depart.
struct CapCase {
  bool enabled = true;
  bool use_async = false;
  Communicator communicator = Communicator::kPynccl;
  std::int32_t data_parallel = 4;
  std::string all2all = {};
  std::string moe_backend = "deep_gemm_mega_moe";
  std::string nccl_max_ctas = {};

  [[nodiscard]] std::optional<std::int32_t> cap() const {
    EplbOptions options;
    options.enabled = enabled;
    options.use_async = use_async;
    options.communicator = communicator;
    EplbGroup group{
        .engine = {.all2all = all2all, .moe_backend = moe_backend, .nccl_max_ctas = nccl_max_ctas}};
    group.parallel.ranks = 4;
    group.parallel.data_parallel = data_parallel;
    return nccl_cta_cap(options, group);
  }
};

/// Each case with each value of one of its members.
template <typename T>
std::vector<CapCase> with_each(const std::vector<CapCase>& cases, T CapCase::*member,
                               const std::vector<T>& values) {
  std::vector<CapCase> all;
  for (const CapCase& one : cases) {
    for (const T& value : values) {
      all.push_back(one);
      all.back().*member = value;
    }
  }
  return all;
}

std::vector<CapCase> all_cases() {
  const std::vector<Communicator> communicators(kAll.begin(), kAll.end());
  std::vector<CapCase> cases = {CapCase{}};
  cases = with_each<bool>(cases, &CapCase::enabled, {false, true});
  cases = with_each<bool>(cases, &CapCase::use_async, {false, true});
  cases = with_each(cases, &CapCase::communicator, communicators);
  cases = with_each<std::int32_t>(cases, &CapCase::data_parallel, {1, 2});
  cases = with_each<std::string>(cases, &CapCase::all2all,
                                 {"", "deepep_high_throughput", "deepep_low_latency"});
  return with_each<std::string>(cases, &CapCase::moe_backend, {"triton", "deep_gemm_mega_moe"});
}

/// What locks up: a communicator of NCCL's beside kernels that need all SMs at once.
bool locks_up(const CapCase& one) {
  const bool nccl =
      one.communicator == Communicator::kTorchNccl || one.communicator == Communicator::kPynccl;
  const bool deepep = one.use_async && one.all2all == "deepep_low_latency";
  const bool mega_moe = one.moe_backend == "deep_gemm_mega_moe";
  return one.enabled && one.data_parallel > 1 && nccl && (deepep || mega_moe);
}

TEST_CASE("NCCL is capped where it can lock up with cooperative kernels, and only there") {
  const std::vector<CapCase> cases = all_cases();
  CHECK(cases.size() == 2 * 2 * 6 * 2 * 3 * 2);
  std::int32_t capped_count = 0;
  for (const CapCase& one : cases) {
    CAPTURE(one.enabled);
    CAPTURE(one.use_async);
    CAPTURE(to_string(one.communicator));
    CAPTURE(one.data_parallel);
    CAPTURE(one.all2all);
    CAPTURE(one.moe_backend);
    const std::optional<std::int32_t> expected = locks_up(one) ? std::optional(8) : std::nullopt;
    CHECK(one.cap() == expected);
    capped_count += one.cap().has_value() ? 1 : 0;
  }
  // Two communicators: MegaMoE with each of 3 all2alls in 2 modes, DeepEP alone in one.
  CHECK(capped_count == 2 * (3 * 2 + 1));
}

TEST_CASE("without a number of data-parallel ranks every rank is one") {
  CHECK(CapCase{.data_parallel = 0}.cap() == 8);
}

TEST_CASE("a positive number of the user's is kept, anything else is replaced") {
  const auto with = [](const char* value) { return CapCase{.nccl_max_ctas = value}.cap(); };
  CHECK(with("1") == 1);
  CHECK(with("16") == 16);
  CHECK(with("2147483647") == 2147483647);
  for (const char* other : {"", "0", "-4", "2147483648", "auto", "8x", " 8", "1e1", "+4"}) {
    CAPTURE(other);
    CHECK(with(other) == 8);
  }
}

TEST_CASE("a number of the user's makes no cap where none is needed") {
  CHECK(CapCase{.moe_backend = "triton", .nccl_max_ctas = "16"}.cap() == std::nullopt);
}

TEST_CASE("pynccl that an elastic group in sync mode has by default is capped") {
  EplbOptions options;
  options.use_async = false;
  CHECK(nccl_cta_cap(options, group_of({false, true, false, 1, ""})) == 8);
  CHECK(nccl_cta_cap(options, group_of({false, false, false, 1, ""})) == std::nullopt);
}

}  // namespace
}  // namespace eplb
