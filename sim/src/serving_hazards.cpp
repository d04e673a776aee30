#include "eplb/sim/serving_hazards.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "eplb/core/communicator.hpp"
#include "eplb/sim/machine.hpp"

namespace eplb::sim {
namespace {

/// A cooperative expert kernel has one CTA on every SM, whose shared memory leaves no room for
/// another like it: as on the H200 of docs/hangs.md. Assumed of other devices.
constexpr std::int32_t kExpertSmemKb = 200;
constexpr std::int32_t kExpertThreads = 512;

/// NCCL's CTAs, each on an SM of its own, and how many there are without a cap. Assumed, on the
/// safe side: NCCL chooses by topology, and no document says what its CTAs hold.
constexpr std::int32_t kNcclSmemKb = 128;
constexpr std::int32_t kNcclThreads = 512;
constexpr std::int32_t kNcclCtas = 32;

/// Operations that NCCL keeps in one launch of a group (pytorch issue 174288).
constexpr std::int64_t kNcclGroupMax = 256;

bool is_cooperative(const EngineOptions& engine) {
  return engine.moe_backend == kMegaMoe || engine.all2all == kDeepEpLowLatency;
}

/// What moves the weights, and with how many CTAs where that is NCCL: the cap, the user's own
/// number, or NCCL's choice.
struct Movers {
  Communicator communicator;
  std::int32_t nccl_ctas;
};

Movers movers_of(const Scenario& scenario) {
  const auto topology = topology_of(scenario.hardware, scenario.parallel);
  const EplbGroup group = group_of(scenario, topology ? topology->domain_count() : 1);
  const auto cap = nccl_cta_cap(scenario.eplb, group);
  return {.communicator = resolve_communicator(scenario.eplb, group),
          .nccl_ctas = cap ? *cap : own_nccl_max_ctas(scenario.engine).value_or(kNcclCtas)};
}

LaunchOp expert_kernel(const Scenario& scenario) {
  const bool mega = scenario.engine.moe_backend == kMegaMoe;
  if (is_cooperative(scenario.engine)) {
    return {.stream = "forward",
            .kind = KernelKind::kGangRendezvous,
            .name = mega ? "Mega MoE" : "DeepEP low latency",
            .ctas = scenario.engine.moe_sms.value_or(scenario.hardware.sm_count),
            .threads = kExpertThreads,
            .smem_kb = kExpertSmemKb,
            .us = 200,
            .group = "experts"};
  }
  return {.stream = "forward",
          .kind = KernelKind::kRendezvous,
          .name = "all-to-all of the tokens",
          .ctas = kNcclCtas,
          .threads = kNcclThreads,
          .smem_kb = kNcclSmemKb,
          .us = 50,
          .group = "tokens"};
}

}  // namespace

Program serving_program(const Scenario& scenario) {
  Program program{
      .ranks = std::min(scenario.parallel.ranks, 2),
      .processor = {.sm_count = scenario.hardware.sm_count,
                    .ctas_per_sm = scenario.hardware.ctas_per_sm,
                    .threads_per_sm = scenario.hardware.threads_per_sm,
                    .registers_per_sm = scenario.hardware.registers_per_sm,
                    .shared_memory_per_sm_kb = scenario.hardware.shared_memory_per_sm_kb}};
  const Movers movers = movers_of(scenario);
  for (std::int32_t rank = 0; rank < program.ranks; ++rank) {
    HostThread thread{.rank = rank, .name = "engine"};
    thread.operations.push_back({expert_kernel(scenario)});
    if (is_nccl(movers.communicator)) {
      thread.operations.push_back({LaunchOp{.stream = "migration",
                                            .kind = KernelKind::kRendezvous,
                                            .name = "NCCL send and receive of weights",
                                            .ctas = movers.nccl_ctas,
                                            .threads = kNcclThreads,
                                            .smem_kb = kNcclSmemKb,
                                            .us = 500,
                                            .group = "weights"}});
    } else {
      thread.operations.push_back({CopyOp{.stream = "migration", .us = 500}});
    }
    thread.operations.push_back({expert_kernel(scenario)});
    program.threads.push_back(std::move(thread));
  }
  return program;
}

std::vector<Hazard> serving_hazards(const Scenario& scenario) {
  if (!scenario.eplb.enabled || scenario.parallel.ranks < 2) {
    return {};
  }
  std::vector<Hazard> hazards = find_hazards(serving_program(scenario));
  const Shape shape = shape_of(scenario.model, scenario.parallel, scenario.eplb);
  const std::int64_t tensors = tensors_per_expert(scenario.model.weight_format);
  // Every slot of a rank may be sent and received in one layer.
  const std::int64_t operations = 2 * tensors * shape.slots_per_rank();
  const bool grouped = !scenario.eplb.migration_batching_enabled;
  if (is_nccl(movers_of(scenario).communicator) && grouped && operations > kNcclGroupMax) {
    hazards.push_back(
        {.kind = "library",
         .explanation =
             {{.rank = 0,
               .operation = fmt::format("an NCCL group of up to {} sends and receives", operations),
               .holds = "the launches that NCCL has cut it into, in its own order",
               .waits_for = "the matching operations, which rank 1 may have in a later launch"},
              {.rank = 1,
               .operation = "its own group, cut up in another order",
               .holds = "the launches in front",
               .waits_for = "the matching operations of rank 0"}},
         .advice = fmt::format("keep groups at {} operations or fewer in an order that all ranks "
                               "share: eplb.migration_batching_enabled: true",
                               kNcclGroupMax)});
  }
  return hazards;
}

}  // namespace eplb::sim
