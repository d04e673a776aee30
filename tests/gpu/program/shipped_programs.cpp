#include "shipped_programs.hpp"

#include <optional>
#include <string>
#include <utility>

namespace eplb::gpu::test {
namespace {

using program::AwaitOp;
using program::BarrierOp;
using program::CopyOp;
using program::HostThread;
using program::KernelKind;
using program::LaunchOp;
using program::LockOp;
using program::Operation;
using program::Program;
using program::RecordOp;
using program::RecvOp;
using program::RepeatOp;
using program::SendOp;
using program::SetOp;
using program::SleepOp;
using program::SyncOp;
using program::UnlockOp;
using program::WaitOp;

using Operations = std::vector<Operation>;

/// Whether a program is the one that hangs or its `-fixed` neighbour.
enum class Version { kHangs, kFixed };

/// What the files leave to their hardware, h200-hgx8, stands here too.
Program two_ranks(std::vector<HostThread> threads) {
  return {.ranks = 2, .copy_bandwidth_gb_per_s = 395, .threads = std::move(threads)};
}

HostThread host_thread(std::int32_t rank, std::string name, Operations operations) {
  return {.rank = rank, .name = std::move(name), .operations = std::move(operations)};
}

SyncOp sync_device() {
  return {.device = true};
}

CopyOp copy_row(std::optional<std::int32_t> to) {
  return {.stream = "migration", .bytes = 18'800'000, .to = to};
}

LaunchOp mega_moe(std::int32_t ctas) {
  return {.stream = "forward",
          .kind = KernelKind::kGangRendezvous,
          .name = "Mega-MoE",
          .ctas = ctas,
          .threads = 512,
          .smem_kb = 200,
          .us = 50,
          .group = "mega_moe"};
}

LaunchOp nccl_exchange(std::int32_t ctas, std::int32_t smem_kb) {
  return {.stream = "migration",
          .kind = KernelKind::kRendezvous,
          .name = "NCCL-exchange",
          .ctas = ctas,
          .threads = 512,
          .smem_kb = smem_kb,
          .us = 40,
          .group = "nccl"};
}

/// The forward's kernel comes late on rank 0, the worker's operations on rank 1.
Program forward_beside_worker(const LaunchOp& forward, double late_us,
                              const std::vector<Operations>& of_workers) {
  const SleepOp late{.us = late_us};
  Operations late_worker = of_workers[1];
  late_worker.insert(late_worker.begin(), Operation{late});
  return two_ranks({host_thread(0, "main", {{late}, {forward}, {sync_device()}}),
                    host_thread(0, "eplb-worker", of_workers[0]),
                    host_thread(1, "main", {{forward}, {sync_device()}}),
                    host_thread(1, "eplb-worker", late_worker)});
}

/// The migration by engine, between two barriers of the CPUs.
std::vector<Operations> copies_between_barriers() {
  const auto of_rank = [](std::int32_t to) -> Operations {
    return {{BarrierOp{.name = "rows-free"}},
            {copy_row(to)},
            {SyncOp{.stream = "migration"}},
            {BarrierOp{.name = "data-landed"}}};
  };
  return {of_rank(1), of_rank(0)};
}

std::vector<Operations> exchanges(const LaunchOp& exchange) {
  const Operations both{{exchange}, {SyncOp{.stream = "migration"}}};
  return {both, both};
}

Program balancer_stops_silently(Version version) {
  const bool is_fixed = version == Version::kFixed;
  Operations step{{LaunchOp{.stream = "forward", .name = "forward", .ctas = 132, .us = 500}},
                  {SyncOp{.stream = "forward"}},
                  {BarrierOp{.name = "readiness"}}};
  if (is_fixed) {
    step.push_back({SetOp{.flag = "consumed"}});
  }
  const RepeatOp steps{.times = is_fixed ? std::optional<std::int64_t>(20) : std::nullopt,
                       .body = step};
  const Operations worker{
      {copy_row(std::nullopt)}, {SyncOp{.stream = "migration"}}, {AwaitOp{.flag = "consumed"}}};
  return two_ranks({host_thread(0, "main", {{steps}}), host_thread(0, "eplb-worker", worker),
                    host_thread(1, "main", {{steps}}), host_thread(1, "eplb-worker", worker)});
}

Program lock_after_the_ready_flag(Version version) {
  const BarrierOp transfer{.name = "transfer"};
  const BarrierOp forward{.name = "forward"};
  Operations early{{LockOp{.mutex = "buffer"}}, {UnlockOp{.mutex = "buffer"}}};
  Operations late{{LockOp{.mutex = "buffer"}}, {SleepOp{.us = 50}}, {UnlockOp{.mutex = "buffer"}}};
  if (version == Version::kHangs) {
    return two_ranks(
        {host_thread(0, "main", {{transfer}, {forward}}), host_thread(0, "eplb-worker", early),
         host_thread(1, "main", {{forward}, {transfer}}), host_thread(1, "eplb-worker", late)});
  }
  early.push_back({SetOp{.flag = "ready"}});
  late.push_back({SetOp{.flag = "ready"}});
  const Operations agreed{
      {AwaitOp{.flag = "ready"}}, {BarrierOp{.name = "all-ready"}}, {transfer}, {forward}};
  return two_ranks({host_thread(0, "main", agreed), host_thread(0, "eplb-worker", early),
                    host_thread(1, "main", agreed), host_thread(1, "eplb-worker", late)});
}

Program lost_rendezvous_message(Version version) {
  Operations sender{{SendOp{.to = 1, .tag = "handle", .lost = true}}};
  if (version == Version::kFixed) {
    sender.push_back({SleepOp{.us = 200}});
    sender.push_back({SendOp{.to = 1, .tag = "handle"}});
  }
  Operations receiver{{SendOp{.to = 0, .tag = "handle"}}};
  const auto add_exchange = [](Operations& operations, std::int32_t peer) {
    operations.push_back({RecvOp{.from = peer, .tag = "handle"}});
    operations.push_back({copy_row(peer)});
    operations.push_back({sync_device()});
    operations.push_back({BarrierOp{.name = "exchanged"}});
  };
  add_exchange(sender, 1);
  add_exchange(receiver, 0);
  return two_ranks({host_thread(0, "main", sender), host_thread(1, "main", receiver)});
}

Program mega_moe_against_async_nccl(Version version) {
  const bool is_fixed = version == Version::kFixed;
  return forward_beside_worker(mega_moe(is_fixed ? 124 : 132), 30,
                               exchanges(nccl_exchange(is_fixed ? 8 : 24, 96)));
}

Program nccl_against_deepep(Version version) {
  const LaunchOp nccl{.stream = "comm",
                      .kind = KernelKind::kRendezvous,
                      .name = "NCCL-send-receive",
                      .ctas = 16,
                      .threads = 512,
                      .smem_kb = 96,
                      .us = 40,
                      .group = "nccl"};
  const LaunchOp deepep{.stream = "forward",
                        .kind = KernelKind::kGangRendezvous,
                        .name = "DeepEP-low-latency",
                        .ctas = version == Version::kFixed ? 116 : 132,
                        .threads = 1024,
                        .smem_kb = 160,
                        .us = 30,
                        .group = "deepep"};
  return two_ranks({host_thread(0, "worker", {{nccl}, {deepep}, {sync_device()}}),
                    host_thread(1, "worker", {{deepep}, {nccl}, {sync_device()}})});
}

Program nccl_max_ctas_without_room(Version version) {
  return forward_beside_worker(mega_moe(version == Version::kFixed ? 124 : 132), 30,
                               exchanges(nccl_exchange(8, 96)));
}

Program nccl_with_async_balancer(Version version) {
  const LaunchOp all_to_all{.stream = "forward",
                            .kind = KernelKind::kRendezvous,
                            .name = "all-to-all",
                            .ctas = 120,
                            .smem_kb = 160,
                            .us = 30,
                            .group = "all_to_all"};
  return forward_beside_worker(
      all_to_all, 25,
      version == Version::kFixed ? copies_between_barriers() : exchanges(nccl_exchange(24, 128)));
}

Program shared_event_as_baton(Version version) {
  const LaunchOp attention{.stream = "compute", .name = "attention", .ctas = 132, .us = 30};
  const LaunchOp copy_in{.stream = "dispatch", .name = "copy-in", .ctas = 4, .us = 20};
  const LaunchOp dispatch{.stream = "dispatch",
                          .kind = KernelKind::kRendezvous,
                          .name = "dispatch",
                          .ctas = 16,
                          .smem_kb = 64,
                          .us = 20,
                          .group = "dispatch",
                          .exclusive = "communicator"};
  LaunchOp combine = dispatch;
  combine.stream = "combine";
  combine.name = "combine";
  combine.group = "combine";
  const auto of_rank = [&](bool copies_in) -> Operations {
    const bool is_fixed = version == Version::kFixed;
    const std::string done = is_fixed ? "attention-done" : "baton";
    Operations operations{{attention},
                          {RecordOp{.stream = "compute", .event = done}},
                          {WaitOp{.stream = "dispatch", .event = done}}};
    if (!is_fixed) {
      operations.push_back({WaitOp{.stream = "combine", .event = done}});
    }
    if (copies_in) {
      operations.push_back({copy_in});
    }
    operations.push_back({dispatch});
    if (is_fixed) {
      operations.push_back({RecordOp{.stream = "dispatch", .event = "dispatch-done"}});
      operations.push_back({WaitOp{.stream = "combine", .event = "dispatch-done"}});
    }
    operations.push_back({combine});
    operations.push_back({sync_device()});
    return operations;
  };
  return two_ranks({host_thread(0, "main", of_rank(false)), host_thread(1, "main", of_rank(true))});
}

Program signal_pad_of_two_streams(Version version) {
  const LaunchOp earlier{.stream = "a", .name = "earlier-work", .ctas = 132, .us = 50};
  const LaunchOp first{.stream = "a",
                       .kind = KernelKind::kRendezvous,
                       .name = "all-reduce-first",
                       .ctas = 24,
                       .smem_kb = 32,
                       .us = 10,
                       .group = "all_reduce_first",
                       .exclusive = "signal-pad"};
  LaunchOp second = first;
  second.stream = "b";
  second.name = "all-reduce-second";
  second.group = "all_reduce_second";
  Operations operations{{first}};
  if (version == Version::kFixed) {
    operations.push_back({RecordOp{.stream = "a", .event = "done"}});
    operations.push_back({WaitOp{.stream = "b", .event = "done"}});
  }
  operations.push_back({second});
  operations.push_back({sync_device()});
  Operations behind_work = operations;
  behind_work.insert(behind_work.begin(), Operation{earlier});
  return two_ranks({host_thread(0, "main", operations), host_thread(1, "main", behind_work)});
}

Program spin_barrier_against_mega_moe(Version version) {
  if (version == Version::kFixed) {
    return forward_beside_worker(mega_moe(132), 30, copies_between_barriers());
  }
  const auto of_rank = [](std::int32_t to) -> Operations {
    const LaunchOp rows_free{.stream = "migration",
                             .kind = KernelKind::kRendezvous,
                             .name = "spin-rows-free",
                             .ctas = 1,
                             .threads = 32,
                             .smem_kb = 64,
                             .us = 5,
                             .group = "spin_rows-free"};
    LaunchOp data_landed = rows_free;
    data_landed.name = "spin-data-landed";
    data_landed.group = "spin_data-landed";
    return {{rows_free}, {copy_row(to)}, {data_landed}, {SyncOp{.stream = "migration"}}};
  };
  return forward_beside_worker(mega_moe(132), 30, {of_rank(1), of_rank(0)});
}

Program two_gpus_spin_barrier(Version version) {
  const LaunchOp barrier{.stream = "barrier",
                         .kind = KernelKind::kRendezvous,
                         .name = "spin-barrier",
                         .ctas = 1,
                         .threads = 32,
                         .smem_kb = 200,
                         .us = 5,
                         .group = "spin_barrier"};
  const LaunchOp cooperative{.stream = "forward",
                             .kind = KernelKind::kGangRendezvous,
                             .name = "cooperative",
                             .ctas = 132,
                             .threads = 256,
                             .smem_kb = 200,
                             .us = 20,
                             .group = "cooperative"};
  const Operations barrier_first{{barrier}, {cooperative}, {sync_device()}};
  const Operations cooperative_first{{cooperative}, {barrier}, {sync_device()}};
  return two_ranks(
      {host_thread(0, "main", barrier_first),
       host_thread(1, "main", version == Version::kFixed ? barrier_first : cooperative_first)});
}

Program two_threads_two_groups(Version version) {
  const LaunchOp point_to_point{.stream = "p2p",
                                .kind = KernelKind::kRendezvous,
                                .name = "point-to-point",
                                .ctas = 8,
                                .threads = 512,
                                .smem_kb = 64,
                                .us = 20,
                                .group = "p2p",
                                .exclusive = "proxy"};
  LaunchOp collective = point_to_point;
  collective.stream = "reduce";
  collective.name = "collective";
  collective.group = "collective";
  const bool is_fixed = version == Version::kFixed;
  const SleepOp late{.us = 20};
  Operations sender{{point_to_point}, {SyncOp{.stream = "p2p"}}};
  Operations reducer{{collective}, {SyncOp{.stream = "reduce"}}};
  if (is_fixed) {
    sender.push_back({SetOp{.flag = "sent"}});
    reducer.insert(reducer.begin(), Operation{AwaitOp{.flag = "sent"}});
  }
  Operations late_sender = sender;
  late_sender.insert(late_sender.begin(), Operation{late});
  Operations late_reducer = reducer;
  if (!is_fixed) {
    late_reducer.insert(late_reducer.begin(), Operation{late});
  }
  return two_ranks({host_thread(0, "sender", sender), host_thread(0, "reducer", late_reducer),
                    host_thread(1, "sender", late_sender), host_thread(1, "reducer", reducer)});
}

}  // namespace

std::vector<ShippedProgram> shipped_programs() {
  struct Pair {
    std::string name;
    std::string predicted;
    Program (*make)(Version);
  };

  const std::vector<Pair> pairs{
      {"balancer-stops-silently", "silent_stall", balancer_stops_silently},
      {"lock-after-the-ready-flag", "deadlock", lock_after_the_ready_flag},
      {"lost-rendezvous-message", "lost_message", lost_rendezvous_message},
      {"mega-moe-against-async-nccl", "deadlock", mega_moe_against_async_nccl},
      {"nccl-against-deepep", "deadlock", nccl_against_deepep},
      {"nccl-max-ctas-without-room", "deadlock", nccl_max_ctas_without_room},
      {"nccl-with-async-balancer", "deadlock", nccl_with_async_balancer},
      {"shared-event-as-baton", "deadlock", shared_event_as_baton},
      {"signal-pad-of-two-streams", "deadlock", signal_pad_of_two_streams},
      {"spin-barrier-against-mega-moe", "deadlock", spin_barrier_against_mega_moe},
      {"two-gpus-spin-barrier", "deadlock", two_gpus_spin_barrier},
      {"two-threads-two-groups", "deadlock", two_threads_two_groups},
  };
  std::vector<ShippedProgram> programs;
  programs.reserve(2 * pairs.size());
  for (const Pair& pair : pairs) {
    programs.push_back({pair.name, pair.predicted, pair.make(Version::kHangs)});
    programs.push_back({pair.name + "-fixed", "", pair.make(Version::kFixed)});
  }
  return programs;
}

}  // namespace eplb::gpu::test
