// Goal: options that cannot work in a group are refused, for users without a configuration too, and
// what is at the edge is not. Method: a group that is fine, with one thing changed.
#include "eplb/core/option_rules.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <string>

namespace eplb {
namespace {

/// Four ranks of 3 slots: 8 experts in 5 layers and 4 redundant slots, in one NVLink domain.
struct Setup {
  EplbOptions options;
  EplbGroup group;

  Setup() {
    options.num_redundant_experts = 4;
    group.model.moe_layers = 5;
    group.model.logical_experts = 8;
    group.parallel.ranks = 4;
  }

  [[nodiscard]] std::string said() const {
    const Result<void> result = validate(options, group);
    return result.has_value() ? "" : result.error().message;
  }
};

std::string said_after(const std::function<void(Setup&)>& change) {
  Setup setup;
  change(setup);
  return setup.said();
}

TEST_CASE("the defaults are fine") {
  CHECK(Setup().said() == "");
}

TEST_CASE("all that is wrong is said at once, with the code of a configuration error") {
  Setup setup;
  setup.options.step_interval = 0;
  setup.options.commit_lead_steps = 33;
  const Result<void> result = validate(setup.options, setup.group);
  REQUIRE(!result.has_value());
  CHECK(result.error().code == ErrorCode::kInvalidConfig);
  CHECK(result.error().message ==
        "eplb.step_interval: must be at least 1, got 0; eplb.commit_lead_steps: must be at least 0 "
        "and at most 32, got 33");
}

TEST_CASE("an illegal shape is said alone, and what needs slots is passed over") {
  Setup setup;
  setup.options.num_redundant_experts = 3;
  setup.options.landing_rows = 1;
  CHECK(setup.said() ==
        "8 experts + 3 redundant cannot be divided over 4 ranks; the nearest legal redundancy is "
        "4");
  CHECK(option_problems(setup.options, setup.group).empty());
}

TEST_CASE("a problem names the key that it is about, then those that it depends on") {
  Setup setup;
  setup.options.communicator = Communicator::kPynccl;
  const auto problems = option_problems(setup.options, setup.group);
  REQUIRE(problems.size() == 1);
  CHECK(problems.front().keys == std::vector<std::string>{"eplb.communicator", "eplb.use_async"});
}

TEST_CASE("one rank has nothing to balance") {
  const auto one_rank = [](bool enabled) {
    return said_after([enabled](Setup& setup) {
      setup.group.parallel.ranks = 1;
      setup.options.enabled = enabled;
    });
  };
  CHECK(one_rank(true) ==
        "parallel.ranks: one rank has nothing to balance; use more ranks or set eplb.enabled to "
        "false");
  CHECK(one_rank(false) == "");
}

TEST_CASE("counts of steps, layers and bytes are at least one") {
  const auto with = [](auto EplbOptions::*member, auto value) {
    return said_after([&](Setup& setup) { setup.options.*member = value; });
  };
  CHECK(with(&EplbOptions::window_size, 0) == "eplb.window_size: must be at least 1, got 0");
  CHECK(with(&EplbOptions::step_interval, -1) == "eplb.step_interval: must be at least 1, got -1");
  CHECK(with(&EplbOptions::log_balancedness_interval, 0) ==
        "eplb.log_balancedness_interval: must be at least 1, got 0");
  CHECK(with(&EplbOptions::layers_in_flight, 0) ==
        "eplb.layers_in_flight: must be at least 1, got 0");
  CHECK(with(&EplbOptions::layers_in_flight, 1) == "");
  CHECK(with(&EplbOptions::max_commit_bytes_per_step, 0) ==
        "eplb.max_commit_bytes_per_step: must be at least 1, got 0");
  CHECK(with(&EplbOptions::max_commit_bytes_per_step, 1) == "");
}

TEST_CASE("a status has at most 32 steps to arrive") {
  const auto with = [](std::int32_t steps) {
    return said_after([&](Setup& setup) { setup.options.commit_lead_steps = steps; });
  };
  CHECK(with(0) == "");
  CHECK(with(32) == "");
  CHECK(with(-1) == "eplb.commit_lead_steps: must be at least 0 and at most 32, got -1");
}

TEST_CASE("a deadline is a time, and not for ever") {
  const auto with = [](double ms) {
    return said_after([&](Setup& setup) { setup.options.deadline_ms = ms; });
  };
  const std::string refused = "eplb.deadline_ms: must be above 0 and at most 10000000, got ";
  CHECK(with(1e-3) == "");
  CHECK(with(1e7) == "");
  CHECK(with(0) == refused + "0.000000");
  CHECK(with(1.1e7) == refused + "11000000.000000");
  CHECK(with(std::numeric_limits<double>::infinity()) == refused + "inf");
  CHECK(with(std::numeric_limits<double>::quiet_NaN()) == refused + "nan");
}

TEST_CASE("landing rows hold a layer of a rank") {
  const auto with = [](std::int32_t rows) {
    return said_after([&](Setup& setup) { setup.options.landing_rows = rows; });
  };
  CHECK(with(3) == "");
  CHECK(with(2) == "eplb.landing_rows: must hold a layer, so be at least 3 slots of a rank, got 2");
}

TEST_CASE("without EPLB its own options do not matter") {
  CHECK(said_after([](Setup& setup) {
          setup.options.enabled = false;
          setup.options.landing_rows = 1;
          setup.options.deadline_ms = 0;
          setup.options.communicator = Communicator::kPynccl;
        }) == "");
}

std::string said_of(Communicator communicator, bool use_async, std::int32_t domain_count,
                    bool elastic, bool nixl = false) {
  return said_after([&](Setup& setup) {
    setup.options.communicator = communicator;
    setup.options.use_async = use_async;
    setup.group.domain_count = domain_count;
    setup.group.engine.nixl = nixl;
    if (elastic) {
      setup.group.parallel.scale = {{.at_step = 1, .ranks = 3}};
    }
  });
}

TEST_CASE("NCCL moves no weights while a forward runs") {
  const std::string refused =
      " can lock up with the kernels of a forward; set eplb.use_async to false or use nixl, "
      "symm_mem or torch_gloo";
  CHECK(said_of(Communicator::kTorchNccl, true, 1, false) ==
        "eplb.communicator: torch_nccl" + refused);
  CHECK(said_of(Communicator::kPynccl, true, 1, false) == "eplb.communicator: pynccl" + refused);
  for (const bool elastic : {false, true}) {
    CHECK(said_of(Communicator::kTorchNccl, false, 2, elastic) == "");
    CHECK(said_of(Communicator::kPynccl, false, 2, elastic) == "");
  }
}

TEST_CASE("symmetric memory is of one domain and of a group that stays as it is") {
  CHECK(said_of(Communicator::kSymmMem, true, 1, false) == "");
  CHECK(said_of(Communicator::kSymmMem, false, 2, false) ==
        "eplb.communicator: symm_mem needs all ranks in one NVLink domain, these are in 2");
  for (const bool use_async : {false, true}) {
    CHECK(said_of(Communicator::kSymmMem, use_async, 1, true) ==
          "eplb.communicator: symm_mem is reserved once for all ranks, so it cannot serve an "
          "elastic group");
  }
}

TEST_CASE("an elastic group serves while weights move only by nixl") {
  const auto refused = [](const std::string& got) {
    return "eplb.communicator: must be nixl in an elastic group that serves while weights move, "
           "got " +
           got + "; or set eplb.use_async to false";
  };
  CHECK(said_of(Communicator::kAuto, true, 1, true) == refused("torch_gloo"));
  CHECK(said_of(Communicator::kTorchGloo, true, 1, true) == refused("torch_gloo"));
  CHECK(said_of(Communicator::kTorchNccl, true, 1, true) == refused("torch_nccl"));
  CHECK(said_of(Communicator::kNixl, true, 1, true) == "");
  CHECK(said_of(Communicator::kAuto, true, 1, true, /*nixl=*/true) == "");
  CHECK(said_of(Communicator::kAuto, false, 1, true) == "");
  CHECK(said_of(Communicator::kTorchGloo, false, 1, true) == "");
}

TEST_CASE("barriers are of symmetric memory only, whether chosen or by default") {
  const auto with_barriers = [](Communicator communicator, std::int32_t domain_count) {
    return said_after([&](Setup& setup) {
      setup.options.handshake = Handshake::kBarriers;
      setup.options.communicator = communicator;
      setup.group.domain_count = domain_count;
    });
  };
  const auto refused = [](const std::string& name) {
    return "eplb.handshake: barriers are of symm_mem only, and the communicator is " + name +
           "; use statuses";
  };
  CHECK(with_barriers(Communicator::kSymmMem, 1) == "");
  CHECK(with_barriers(Communicator::kAuto, 1) == "");
  CHECK(with_barriers(Communicator::kAuto, 2) == refused("torch_gloo"));
  CHECK(with_barriers(Communicator::kNixl, 1) == refused("nixl"));
}

TEST_CASE("data-parallel ranks divide the ranks") {
  const auto with = [](std::int32_t data_parallel) {
    return said_after([&](Setup& setup) { setup.group.parallel.data_parallel = data_parallel; });
  };
  for (const std::int32_t legal : {0, 1, 2, 4}) {
    CHECK(with(legal) == "");
  }
  CHECK(with(3) == "parallel.data_parallel: must divide parallel.ranks (4), got 3");
  CHECK(with(5) == "parallel.data_parallel: must be at most parallel.ranks (4), got 5");
  CHECK(with(-1) == "parallel.data_parallel: must be at least 0, got -1");
}

TEST_CASE("there may be more pipeline stages than layers, but not none") {
  const auto with = [](std::int32_t stages) {
    return said_after([&](Setup& setup) { setup.group.parallel.pipeline_stages = stages; });
  };
  CHECK(with(6) == "");
  CHECK(with(0) == "parallel.pipeline_stages: must be at least 1, got 0");
}

/// The group in sync mode, elastic.
std::string said_of_scale(
    std::vector<ScaleEvent> scale, const std::function<void(Setup&)>& change = [](Setup&) {}) {
  return said_after([&](Setup& setup) {
    setup.options.use_async = false;
    setup.group.parallel.scale = std::move(scale);
    change(setup);
  });
}

TEST_CASE("an elastic group has EPLB, one pipeline stage and no drafts") {
  CHECK(said_of_scale({{5, 3}}) == "");
  CHECK(said_of_scale({{5, 4}}, [](Setup& setup) { setup.options.enabled = false; }) ==
        "parallel.scale: an elastic group needs EPLB, which moves the experts; set eplb.enabled to "
        "true or leave parallel.scale out");
  CHECK(said_of_scale({{5, 3}}, [](Setup& setup) { setup.group.parallel.pipeline_stages = 2; }) ==
        "parallel.pipeline_stages: must be 1 in an elastic group, got 2");
  CHECK(said_of_scale({{5, 3}}, [](Setup& setup) { setup.group.draft_count = 1; }) ==
        "model[1]: an elastic group cannot have draft models");
}

TEST_CASE("a group scales at ascending steps, from the first on") {
  CHECK(said_of_scale({{1, 3}, {2, 4}, {9, 3}}) == "");
  CHECK(said_of_scale({{0, 3}}) == "parallel.scale[0].at_step: must be at least 1, got 0");
  CHECK(said_of_scale({{4, 3}, {4, 5}}) ==
        "parallel.scale[1].at_step: must be above the step of the entry before (4), got 4");
}

TEST_CASE("a group scales to ranks whose slots hold every expert and few enough replicas") {
  CHECK(said_of_scale({{5, 2}}) ==
        "parallel.scale[0].ranks: 2 ranks of 3 slots hold 6, fewer than the 8 experts");
  CHECK(said_of_scale({{5, 343}}) == "");
  CHECK(said_of_scale({{5, 344}}) ==
        "parallel.scale[0].ranks: 344 ranks of 3 slots hold 1032, of which 1024 are redundant, at "
        "most 1023 may be");
  const auto six_experts = [](Setup& setup) {
    setup.group.model.logical_experts = 6;
    setup.options.num_redundant_experts = 6;
  };
  CHECK(said_of_scale({{5, 2}}, six_experts) == "");
  CHECK(said_of_scale({{5, 343}}, six_experts) == "");  // 1029 slots, 1023 of them redundant
  const auto one_slot_each = [](Setup& setup) {
    setup.group.model.logical_experts = 3083;
    setup.options.num_redundant_experts = 1013;
    setup.group.parallel.ranks = 4096;
  };
  CHECK(said_of_scale({{5, 4096}}, one_slot_each) == "");
  const std::string refused = "parallel.scale[0].ranks: must be at least 2 and at most 4096, got ";
  CHECK(said_of_scale({{5, 4097}}, one_slot_each) == refused + "4097");
  CHECK(said_of_scale({{5, -1}}) == refused + "-1");
  CHECK(said_of_scale({{5, 1}}).starts_with(refused + "1; "));
}

TEST_CASE("ranks that serve the same requests join and leave together") {
  const auto halves = [](Setup& setup) { setup.group.parallel.data_parallel = 2; };
  CHECK(said_of_scale({{5, 6}}, halves) == "");
  CHECK(said_of_scale({{5, 3}}, halves) ==
        "parallel.scale[0].ranks: must be a multiple of the 2 ranks that serve the same requests, "
        "got 3");
}

TEST_CASE("a group has at most 4096 ranks") {
  const auto ranks = [](std::int32_t count) {
    return said_after([&](Setup& setup) {
      setup.group.model.logical_experts = 4 * count;
      setup.options.num_redundant_experts = 0;
      setup.group.parallel.ranks = count;
    });
  };
  CHECK(ranks(4096) == "");
  CHECK(ranks(4097) == "parallel.ranks: must be at least 1 and at most 4096, got 4097");
}

}  // namespace
}  // namespace eplb
