#include "schema.hpp"

namespace eplb::config {
namespace {

using sim::Program;

constexpr Range kRank = {.min = 0, .max = 63};
constexpr Range kMicroseconds = {.min = 0, .max = 1e7};
constexpr Range kMilliseconds = {.min = 0.001, .max = 2000};
constexpr Range kTimes = {.min = 0, .max = 1e5};

constexpr std::array kProgramFields = std::to_array<Field<Program>>({
    {.key = "ranks",
     .member = kPlace<&Program::ranks>,
     .range = {.min = 1, .max = 64},
     .required = true,
     .help = "Ranks, one GPU each."},
    {.key = "max_connections",
     .member = kPlace<&Program::max_connections>,
     .range = {.min = 1, .max = 32},
     .help = "Hardware queues of a GPU (CUDA_DEVICE_MAX_CONNECTIONS); streams beyond share them in "
             "turn, and wait for each other."},
    {.key = "waiting_gang_blocks_later_kernels",
     .member = kPlace<&Program::waiting_gang_blocks_later_kernels>,
     .help =
         "Whether a gang that waits for room keeps later kernels from the SMs that become free; "
         "undocumented, so try both."},
    {.key = "host_operation_us",
     .member = kPlace<&Program::host_operation_us>,
     .unit = "us",
     .range = {.min = 0.5, .max = 1e6},
     .help = "What every operation costs its host thread."},
    {.key = "jitter_us",
     .member = kPlace<&Program::jitter_us>,
     .unit = "us",
     .range = kMicroseconds,
     .help = "A random delay of up to this much before each operation."},
    {.key = "watchdog_ms",
     .member = kPlace<&Program::watchdog_ms>,
     .unit = "ms",
     .range = kMilliseconds,
     .help = "What waits longer, while others go on, has stalled."},
    {.key = "run_ms",
     .member = kPlace<&Program::run_ms>,
     .unit = "ms",
     .range = kMilliseconds,
     .help = "A program that goes on for longer is left then."},
    {.key = "sweep_seeds",
     .member = kPlace<&Program::sweep_seeds>,
     .range = {.min = 0, .max = 10000},
     .help = "Runs with jitter that `eplb sim` adds, to say how many of them hang."},
    {.key = "sweep_jitter_us",
     .member = kPlace<&Program::sweep_jitter_us>,
     .unit = "us",
     .range = kMicroseconds,
     .help = "The jitter of these runs."},
    {.key = "threads",
     .member = ReadByHand{"a list of host threads"},
     .required = true,
     .help = "Host threads, as below."},
});

constexpr std::array kHostThreadFields = std::to_array<Field<sim::HostThread>>({
    {.key = "rank",
     .member = kPlace<&sim::HostThread::rank>,
     .range = kRank,
     .required = true,
     .help = "Whose process it belongs to; streams, events, mutexes and flags are the rank's."},
    {.key = "name",
     .member = kPlace<&sim::HostThread::name>,
     .required = true,
     .help = "For reports."},
    {.key = "do",
     .member = ReadByHand{"a list of operations"},
     .required = true,
     .help = "What it does, in order: operations as below, each a mapping from its name to its "
             "keys."},
});

constexpr Field<sim::RunOptions> kSeedField = {
    .key = "seed", .member = kPlace<&sim::RunOptions::seed>, .help = "Of the jitter."};
constexpr std::array kRunFields = {kSeedField};

constexpr std::array kLaunchFields = std::to_array<Field<sim::LaunchOp>>({
    {.key = "stream", .member = kPlace<&sim::LaunchOp::stream>, .required = true, .help = "Where."},
    {.key = "kind",
     .member = kPlace<&sim::LaunchOp::kind>,
     .help = "plain: CTAs come as room allows and end by themselves. gang: all CTAs at once, or "
             "none yet (cooperative launches). rendezvous: CTAs come as room allows, and it ends "
             "when those of all peers are resident (NCCL, spin barriers). gang_rendezvous: both "
             "(Mega MoE, DeepEP low latency)."},
    {.key = "name",
     .member = kPlace<&sim::LaunchOp::name>,
     .help = "For reports; else the group's."},
    {.key = "ctas",
     .member = kPlace<&sim::LaunchOp::ctas>,
     .range = {.min = 1, .max = 1 << 16},
     .help = "Thread blocks."},
    {.key = "threads",
     .member = kPlace<&sim::LaunchOp::threads>,
     .range = {.min = 1, .max = 1024},
     .help = "Threads of a CTA."},
    {.key = "registers",
     .member = kPlace<&sim::LaunchOp::registers>,
     .range = {.min = 1, .max = 255},
     .help = "Registers of a thread."},
    {.key = "smem_kb",
     .member = kPlace<&sim::LaunchOp::smem_kb>,
     .unit = "KiB",
     .range = {.min = 0, .max = 1 << 12},
     .help = "Shared memory of a CTA."},
    {.key = "us",
     .member = kPlace<&sim::LaunchOp::us>,
     .unit = "us",
     .range = kMicroseconds,
     .help = "How long it takes once it has all it needs; each CTA, if plain."},
    {.key = "group",
     .member = kPlace<&sim::LaunchOp::group>,
     .help = "Of a rendezvous: the n-th launch of a rank meets the n-th of each peer."},
    {.key = "ranks",
     .member = kPlace<&sim::LaunchOp::ranks>,
     .range = kRank,
     .default_help = "all",
     .help = "Ranks of the group."},
    {.key = "exclusive",
     .member = kPlace<&sim::LaunchOp::exclusive>,
     .help = "Something of the rank's that only one kernel at a time can hold, as a signal pad."},
});

constexpr std::array kCopyFields = std::to_array<Field<sim::CopyOp>>({
    {.key = "stream", .member = kPlace<&sim::CopyOp::stream>, .required = true, .help = "Where."},
    {.key = "us",
     .member = kPlace<&sim::CopyOp::us>,
     .unit = "us",
     .range = kMicroseconds,
     .help = "How long it takes; or give bytes."},
    {.key = "bytes",
     .member = kPlace<&sim::CopyOp::bytes>,
     .range = {.min = 0, .max = 1e12},
     .help = "What it moves, at the hardware's peer_copy_bandwidth_gb_per_s."},
    {.key = "to",
     .member = kPlace<&sim::CopyOp::to>,
     .range = kRank,
     .help = "Rank; for the reader."},
});

constexpr std::array kRecordFields = std::to_array<Field<sim::RecordOp>>({
    {.key = "stream", .member = kPlace<&sim::RecordOp::stream>, .required = true, .help = "Where."},
    {.key = "event", .member = kPlace<&sim::RecordOp::event>, .required = true, .help = "Which."},
});

constexpr std::array kWaitFields = std::to_array<Field<sim::WaitOp>>({
    {.key = "stream",
     .member = kPlace<&sim::WaitOp::stream>,
     .required = true,
     .help = "Which waits."},
    {.key = "event",
     .member = kPlace<&sim::WaitOp::event>,
     .required = true,
     .help = "For its last record so far; no wait if there is none, as in CUDA."},
});

constexpr std::array kSyncFields = std::to_array<Field<sim::SyncOp>>({
    {.key = "stream",
     .member = kPlace<&sim::SyncOp::stream>,
     .help = "Wait for what it holds so far;"},
    {.key = "event",
     .member = kPlace<&sim::SyncOp::event>,
     .help = "or for this event's last record;"},
    {.key = "device", .member = kPlace<&sim::SyncOp::device>, .help = "or for all on the GPU."},
});

constexpr std::array kLockFields =
    std::to_array<Field<sim::LockOp>>({{.key = "mutex",
                                        .member = kPlace<&sim::LockOp::mutex>,
                                        .required = true,
                                        .help = "Of the rank."}});
constexpr std::array kUnlockFields =
    std::to_array<Field<sim::UnlockOp>>({{.key = "mutex",
                                          .member = kPlace<&sim::UnlockOp::mutex>,
                                          .required = true,
                                          .help = "Of the rank."}});
constexpr std::array kSetFields =
    std::to_array<Field<sim::SetOp>>({{.key = "flag",
                                       .member = kPlace<&sim::SetOp::flag>,
                                       .required = true,
                                       .help = "Of the rank."}});
constexpr std::array kAwaitFields =
    std::to_array<Field<sim::AwaitOp>>({{.key = "flag",
                                         .member = kPlace<&sim::AwaitOp::flag>,
                                         .required = true,
                                         .help = "Of the rank."}});

constexpr std::array kBarrierFields = std::to_array<Field<sim::BarrierOp>>({
    {.key = "name",
     .member = kPlace<&sim::BarrierOp::name>,
     .required = true,
     .help = "The n-th arrival of a rank meets the n-th of the others."},
    {.key = "ranks",
     .member = kPlace<&sim::BarrierOp::ranks>,
     .range = kRank,
     .default_help = "all",
     .help = "Who meets."},
});

constexpr std::array kSendFields = std::to_array<Field<sim::SendOp>>({
    {.key = "to",
     .member = kPlace<&sim::SendOp::to>,
     .range = kRank,
     .required = true,
     .help = "Rank."},
    {.key = "tag", .member = kPlace<&sim::SendOp::tag>, .help = "Tells messages apart."},
    {.key = "lost", .member = kPlace<&sim::SendOp::lost>, .help = "It never arrives."},
});

constexpr std::array kRecvFields = std::to_array<Field<sim::RecvOp>>({
    {.key = "from",
     .member = kPlace<&sim::RecvOp::from>,
     .range = kRank,
     .required = true,
     .help = "Rank."},
    {.key = "tag", .member = kPlace<&sim::RecvOp::tag>, .help = "Of the message."},
});

constexpr std::array kSleepFields =
    std::to_array<Field<sim::SleepOp>>({{.key = "us",
                                         .member = kPlace<&sim::SleepOp::us>,
                                         .unit = "us",
                                         .range = kMicroseconds,
                                         .required = true,
                                         .help = "How long."}});

constexpr std::array kRepeatFields = std::to_array<Field<sim::RepeatOp>>({
    {.key = "times",
     .member = kPlace<&sim::RepeatOp::times>,
     .range = kTimes,
     .required = true,
     .help = "How often; none is for ever."},
    {.key = "do",
     .member = ReadByHand{"a list of operations"},
     .required = true,
     .help = "What is repeated."},
});

}  // namespace

Fields<Program> program_fields() {
  return kProgramFields;
}

Fields<sim::HostThread> host_thread_fields() {
  return kHostThreadFields;
}

Fields<sim::RunOptions> program_run_fields() {
  return kRunFields;
}

OperationKinds operation_kinds() {
  return {
      {.name = "launch", .fields = kLaunchFields, .help = "Starts a kernel."},
      {.name = "copy", .fields = kCopyFields, .help = "Copies with an engine, which needs no SM."},
      {.name = "record", .fields = kRecordFields, .help = "Records an event in a stream."},
      {.name = "wait", .fields = kWaitFields, .help = "Makes a stream wait for an event."},
      {.name = "sync", .fields = kSyncFields, .help = "The thread waits for its GPU."},
      {.name = "lock", .fields = kLockFields, .help = "Waits for a mutex and takes it."},
      {.name = "unlock", .fields = kUnlockFields, .help = "Gives a mutex back."},
      {.name = "set", .fields = kSetFields, .help = "Lets one await of a flag pass."},
      {.name = "await", .fields = kAwaitFields, .help = "Waits for a flag and takes it down."},
      {.name = "barrier", .fields = kBarrierFields, .help = "Waits on the CPU for other ranks."},
      {.name = "send", .fields = kSendFields, .help = "Sends a message without waiting."},
      {.name = "recv", .fields = kRecvFields, .help = "Waits for a message."},
      {.name = "sleep", .fields = kSleepFields, .help = "Does something else."},
      {.name = "repeat", .fields = kRepeatFields, .help = "Does some operations again."}};
}

}  // namespace eplb::config
