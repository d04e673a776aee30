#include "eplb/core/option_rules.hpp"
#include "schema.hpp"

namespace eplb::config {
namespace {

constexpr Range kMoment = {.min = 0, .max = 1e9};
constexpr Range kRank = {.min = 0, .max = kMaxRanks - 1};

/// Every fault is one rank's.
template <typename Fault>
constexpr Field<Fault> rank_field() {
  return {.key = "rank",
          .member = kPlace<&Fault::rank, Fault>,
          .range = kRank,
          .required = true,
          .help = "Whose."};
}

/// From when it is there.
template <typename Fault>
constexpr Field<Fault> at_field() {
  return {.key = "at_ms",
          .member = kPlace<&Fault::at_ms, Fault>,
          .unit = "ms",
          .range = kMoment,
          .help = "From when on, in the run's own time."};
}

template <typename Fault>
constexpr Field<Fault> until_field() {
  return {.key = "until_ms",
          .member = kPlace<&Fault::until_ms, Fault>,
          .unit = "ms",
          .range = kMoment,
          .default_help = "the run's end",
          .help = "Until when."};
}

constexpr std::array kFaultFields = std::to_array<Field<sim::FaultOptions>>({
    {.key = "failed_links",
     .member = ReadByHand{"a list of entries"},
     .default_help = "[]",
     .help = "NVLink links that carry nothing; see below."},
    {.key = "slow_ports",
     .member = ReadByHand{"a list of entries"},
     .default_help = "[]",
     .help = "Ports that keep a share of their rate; see below."},
    {.key = "stragglers",
     .member = ReadByHand{"a list of entries"},
     .default_help = "[]",
     .help = "Hosts that are late at every step; see below."},
    {.key = "host_stalls",
     .member = ReadByHand{"a list of entries"},
     .default_help = "[]",
     .help = "Hosts that do nothing for a while; see below."},
    {.key = "lost_ranks",
     .member = ReadByHand{"a list of entries"},
     .default_help = "[]",
     .help = "Ranks whose processes end; the group ends with them. See below."},
});

constexpr std::array kFailedLinksFields = std::to_array<Field<sim::FailedLinks>>({
    rank_field<sim::FailedLinks>(),
    {.key = "links",
     .member = kPlace<&sim::FailedLinks::links>,
     .range = {.min = 1, .max = 1 << 10},
     .help = "How many; below hardware.nvlink_links."},
    at_field<sim::FailedLinks>(),
    until_field<sim::FailedLinks>(),
});

constexpr std::array kSlowPortFields = std::to_array<Field<sim::SlowPort>>({
    rank_field<sim::SlowPort>(),
    {.key = "port",
     .member = kPlace<&sim::SlowPort::port>,
     .help = "The GPU's NVLink port, or its first network card."},
    {.key = "share",
     .member = kPlace<&sim::SlowPort::share>,
     .range = {.min = 0, .max = 1, .above_min = true},
     .help = "What it keeps of its rate, both ways."},
    at_field<sim::SlowPort>(),
    until_field<sim::SlowPort>(),
});

constexpr std::array kStragglerFields = std::to_array<Field<sim::Straggler>>({
    rank_field<sim::Straggler>(),
    {.key = "late_us",
     .member = kPlace<&sim::Straggler::late_us>,
     .unit = "us",
     .range = {.min = 0, .max = 1e9},
     .required = true,
     .help = "How late its host is after each forward."},
    at_field<sim::Straggler>(),
    until_field<sim::Straggler>(),
});

constexpr std::array kHostStallFields = std::to_array<Field<sim::HostStall>>({
    rank_field<sim::HostStall>(),
    at_field<sim::HostStall>(),
    {.key = "duration_ms",
     .member = kPlace<&sim::HostStall::duration_ms>,
     .unit = "ms",
     .range = kMoment,
     .required = true,
     .help = "How long."},
});

constexpr std::array kLostRankFields = std::to_array<Field<sim::LostRank>>({
    rank_field<sim::LostRank>(),
    at_field<sim::LostRank>(),
    {.key = "while",
     .member = kPlace<&sim::LostRank::moment>,
     .help = "Its migration's state when it is lost, the first time from `at_ms` on."},
});

}  // namespace

Fields<sim::FaultOptions> fault_fields() {
  return kFaultFields;
}

Fields<sim::FailedLinks> failed_links_fields() {
  return kFailedLinksFields;
}

Fields<sim::SlowPort> slow_port_fields() {
  return kSlowPortFields;
}

Fields<sim::Straggler> straggler_fields() {
  return kStragglerFields;
}

Fields<sim::HostStall> host_stall_fields() {
  return kHostStallFields;
}

Fields<sim::LostRank> lost_rank_fields() {
  return kLostRankFields;
}

}  // namespace eplb::config
