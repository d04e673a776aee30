#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "eplb/core/options.hpp"
#include "eplb/placement/options.hpp"
#include "eplb/sim/options.hpp"
#include "eplb/sim/program/program.hpp"
#include "scalar.hpp"

namespace eplb::config {

/// Text for people: checked, not kept.
struct FreeText {};

/// A mapping from keys of the same table to FreeText: where each figure comes from.
struct FigureSources {};

/// A section or list with tables of its own, which workload.cpp reads.
struct ReadByHand {
  std::string_view type;  ///< What it is, in words.
};

/// Text that is one of a few words of another program, or none.
template <typename S>
struct Word {
  std::string S::*text;
  std::span<const std::string_view> words;
};

/// The same in one struct of values.
struct WordPlace {
  std::string* text;
  std::span<const std::string_view> words;
};

/// Where a key's value is kept, whatever struct it is in.
///
/// NOTE [places] Some 45 structs have tables. What looks at values takes places, which know no
/// struct, so that it is compiled once and not for each, which takes half a minute a source.
using Place =
    std::variant<bool*, std::int32_t*, std::int64_t*, std::uint64_t*, double*, std::string*,
                 std::optional<std::int32_t>*, std::optional<std::int64_t>*, std::optional<double>*,
                 std::vector<std::int32_t>*, sim::KernelKind*, WeightFormat*, ReplicaChoice*,
                 Communicator*, Handshake*, OnFailure*, sim::Noise*, NixlPath*, HostCollectives*,
                 LoadCounting*, ReplicaMapping*, sim::Port*, sim::LostWhile*,
                 placement::SearchMethod*, WordPlace, FreeText, FigureSources, ReadByHand>;

template <typename T, typename S>
S struct_of(T S::*member);

template <auto Pointer, typename S>
Place place_at(S& values) {
  return &(values.*Pointer);
}

/// As in `kPlace<&Options::steps>`: what finds the member in its struct, or in one that inherits
/// it.
template <auto Pointer, typename S = decltype(struct_of(Pointer))>
inline constexpr auto kPlace = &place_at<Pointer, S>;

/// Where a key's value is kept in its struct.
template <typename S>
using Member = std::variant<Place (*)(S& values), Word<S>, FreeText, FigureSources, ReadByHand>;

/// One key of a struct: all that parsing it, printing it and documenting it needs.
template <typename S>
struct Field {
  std::string_view key;  ///< A dot makes a section of its own: `other_kernels_ms.base`.
  Member<S> member;
  std::string_view unit = {};
  Range range = {};  ///< Of numbers.
  bool required = false;
  /// What holds when the key is not given, where that is not the struct's own initial value.
  std::string_view default_help = {};
  std::string_view help;
};

template <typename S>
using Fields = std::span<const Field<S>>;

/// One of several structs, told by the key `kind`.
template <typename S>
struct Kind {
  std::string_view name;
  Fields<S> fields;
  std::string_view help;
};

[[nodiscard]] Fields<ModelOptions> model_fields();
[[nodiscard]] Fields<sim::HardwareOptions> hardware_fields();
[[nodiscard]] Fields<ParallelOptions> parallel_fields();
[[nodiscard]] Fields<EngineOptions> engine_fields();
[[nodiscard]] Fields<sim::ServingOptions> serving_fields();
[[nodiscard]] Fields<sim::WorkloadOptions> workload_fields();
[[nodiscard]] Fields<EplbOptions> eplb_fields();
[[nodiscard]] Fields<TriggerOptions> trigger_fields();
[[nodiscard]] Fields<sim::RunOptions> run_fields();

using RoutingKinds =
    std::tuple<Kind<sim::UniformRouting>, Kind<sim::ZipfRouting>, Kind<sim::LognormalRouting>,
               Kind<sim::PowerLawRouting>, Kind<sim::CountsRouting>, Kind<sim::DomainsRouting>>;
[[nodiscard]] RoutingKinds routing_kinds();

using DriftKinds = std::tuple<Kind<sim::NoDrift>, Kind<sim::WalkDrift>, Kind<sim::SwitchDrift>,
                              Kind<sim::BurstDrift>>;
[[nodiscard]] DriftKinds drift_kinds();

[[nodiscard]] Fields<sim::Program> program_fields();
[[nodiscard]] Fields<sim::HostThread> host_thread_fields();
/// Keys of `run` beside a program.
[[nodiscard]] Fields<sim::RunOptions> program_run_fields();

/// The operations of a host thread; each is a mapping from its name to its keys.
using OperationKinds =
    std::tuple<Kind<sim::LaunchOp>, Kind<sim::CopyOp>, Kind<sim::RecordOp>, Kind<sim::WaitOp>,
               Kind<sim::SyncOp>, Kind<sim::LockOp>, Kind<sim::UnlockOp>, Kind<sim::SetOp>,
               Kind<sim::AwaitOp>, Kind<sim::BarrierOp>, Kind<sim::SendOp>, Kind<sim::RecvOp>,
               Kind<sim::SleepOp>, Kind<sim::RepeatOp>>;
[[nodiscard]] OperationKinds operation_kinds();

/// Keys of one entry in `parallel.scale`.
[[nodiscard]] Fields<ScaleEvent> scale_fields();

[[nodiscard]] Fields<sim::FaultOptions> fault_fields();

/// Keys of one entry in each of the lists below `faults`.
[[nodiscard]] Fields<sim::FailedLinks> failed_links_fields();
[[nodiscard]] Fields<sim::SlowPort> slow_port_fields();
[[nodiscard]] Fields<sim::Straggler> straggler_fields();
[[nodiscard]] Fields<sim::HostStall> host_stall_fields();
[[nodiscard]] Fields<sim::LostRank> lost_rank_fields();

[[nodiscard]] Fields<placement::SearchOptions> search_fields();

/// An axis of a search that is written as a range: from, from + step, ... or from, from x factor,
/// ...
struct AxisRange {
  double from = 0;
  double to = 0;  ///< The last value is not beyond it.
  std::optional<double> step = std::nullopt;
  std::optional<double> factor = std::nullopt;
};

[[nodiscard]] Fields<AxisRange> axis_range_fields();

/// Keys of one phase in the schedule of a DomainsRouting.
[[nodiscard]] Fields<sim::DomainsRouting::Phase> phase_fields();

inline constexpr double kStepsMax = 1e7;
inline constexpr Range kSteps = {.min = 1, .max = kStepsMax};

/// A domain's share in a phase.
inline constexpr Range kShare = {.min = 0, .max = 1e9};

}  // namespace eplb::config
