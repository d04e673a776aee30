#include "eplb/group/process_place.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <utility>

#include "eplb/core/digest.hpp"

namespace eplb::group {
namespace {

/// A launcher and how it calls what we need.
struct Dialect {
  Launcher launcher;
  const char* process;
  const char* process_count;
  const char* local_process;
  const char* local_process_count;
  std::array<const char*, 2> run_ids;  ///< All that are set are joined.
};

/// In the order in which they are asked: `torchrun` and our own launcher may themselves have been
/// started by mpirun or srun, whose variables their children inherit. Open MPI and Hydra may run
/// below Slurm.
constexpr std::array kDialects{
    Dialect{.launcher = Launcher::kEplb,
            .process = "EPLB_PROCESS",
            .process_count = "EPLB_PROCESS_COUNT",
            .local_process = "EPLB_LOCAL_PROCESS",
            .local_process_count = "EPLB_LOCAL_PROCESS_COUNT",
            .run_ids = {"EPLB_RUN_ID", nullptr}},
    Dialect{.launcher = Launcher::kTorchrun,
            .process = "RANK",
            .process_count = "WORLD_SIZE",
            .local_process = "LOCAL_RANK",
            .local_process_count = "LOCAL_WORLD_SIZE",
            .run_ids = {"TORCHELASTIC_RUN_ID", nullptr}},
    Dialect{.launcher = Launcher::kOpenMpi,
            .process = "OMPI_COMM_WORLD_RANK",
            .process_count = "OMPI_COMM_WORLD_SIZE",
            .local_process = "OMPI_COMM_WORLD_LOCAL_RANK",
            .local_process_count = "OMPI_COMM_WORLD_LOCAL_SIZE",
            .run_ids = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}},
    Dialect{.launcher = Launcher::kHydra,
            .process = "PMI_RANK",
            .process_count = "PMI_SIZE",
            .local_process = "MPI_LOCALRANKID",
            .local_process_count = "MPI_LOCALNRANKS",
            .run_ids = {nullptr, nullptr}},
    Dialect{.launcher = Launcher::kSlurm,
            .process = "SLURM_PROCID",
            .process_count = "SLURM_NTASKS",
            .local_process = "SLURM_LOCALID",
            .local_process_count = "SLURM_NTASKS_PER_NODE",
            .run_ids = {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
};

/// A whole number from `least` to `most`.
Result<std::int32_t> parse(const std::string& name, const std::string& text, std::int32_t least,
                           std::int32_t most) {
  std::int32_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < least || value > most) {
    return fail(ErrorCode::kInvalidArgument, name + "=" + text + ": must be a whole number from " +
                                                 std::to_string(least) + " to " +
                                                 std::to_string(most));
  }
  return value;
}

/// A number and the count that it must lie below, both set or neither.
struct Numbered {
  std::int32_t index = 0;
  std::int32_t count = 1;
};

Result<std::optional<Numbered>> read_pair(const EnvironmentLookup& lookup, const char* index_name,
                                          const char* count_name) {
  constexpr std::int32_t kProcessesMax = 1 << 20;
  const std::optional<std::string> index_text = lookup(index_name);
  const std::optional<std::string> count_text = lookup(count_name);
  if (!index_text && !count_text) {
    return std::nullopt;
  }
  if (!index_text || !count_text) {
    return fail(ErrorCode::kInvalidArgument,
                std::string(index_text ? index_name : count_name) + " is set but " +
                    (index_text ? count_name : index_name) +
                    " is not: a launcher sets both, a single process neither");
  }
  const Result<std::int32_t> count = parse(count_name, *count_text, 1, kProcessesMax);
  if (!count) {
    return tl::unexpected(count.error());
  }
  const Result<std::int32_t> index = parse(index_name, *index_text, 0, *count - 1);
  if (!index) {
    return tl::unexpected(index.error());
  }
  return Numbered{.index = *index, .count = *count};
}

/// Whether this process was numbered by the launcher. Slurm sets its variables in batch scripts
/// too, where no srun has started anything: only a step has a process number.
bool speaks(const Dialect& dialect, const EnvironmentLookup& lookup) {
  if (dialect.launcher == Launcher::kSlurm) {
    const std::optional<std::string> step = lookup("SLURM_STEP_ID");
    // The batch script itself is a step of this number, or of its name, of one process.
    const bool is_script = !step || *step == "4294967291" || *step == "batch";
    return lookup(dialect.process).has_value() && !is_script;
  }
  return lookup(dialect.process).has_value() || lookup(dialect.process_count).has_value();
}

Result<void> read_local(const Dialect& dialect, const EnvironmentLookup& lookup,
                        ProcessPlace& place) {
  if (dialect.launcher == Launcher::kSlurm && !lookup(dialect.local_process_count)) {
    // srun says this only if it was asked for so many a node; else nobody needs it but to see
    // whether all are on one host.
    const std::optional<std::string> nodes = lookup("SLURM_STEP_NUM_NODES");
    place.local_process_count = nodes == "1" ? place.process_count : 1;
    const std::optional<std::string> local = lookup(dialect.local_process);
    if (local) {
      const Result<std::int32_t> index =
          parse(dialect.local_process, *local, 0, place.process_count - 1);
      if (!index) {
        return tl::unexpected(index.error());
      }
      place.local_process = *index;
      place.local_process_count = std::max(place.local_process_count, *index + 1);
    }
    return {};
  }
  const auto local = read_pair(lookup, dialect.local_process, dialect.local_process_count);
  if (!local) {
    return tl::unexpected(local.error());
  }
  if (!*local) {
    return fail(ErrorCode::kInvalidArgument,
                std::string(dialect.process) + " is set but " + dialect.local_process +
                    " is not: " + std::string(to_string(dialect.launcher)) + " sets both");
  }
  place.local_process = (*local)->index;
  place.local_process_count = (*local)->count;
  if (place.local_process_count > place.process_count || place.local_process > place.process) {
    return fail(ErrorCode::kInvalidArgument,
                std::string("contradiction: process ") + std::to_string(place.process) + " of " +
                    std::to_string(place.process_count) + " cannot be process " +
                    std::to_string(place.local_process) + " of " +
                    std::to_string(place.local_process_count) + " on its host (" + dialect.process +
                    ", " + dialect.local_process + ")");
  }
  return {};
}

/// `gpu[003-006,010]` and `gpu003,gpu010` begin with gpu003.
std::string first_node(const std::string& list) {
  const std::size_t end = list.find_first_of("[,");
  if (end == std::string::npos || list[end] == ',') {
    return list.substr(0, end);
  }
  const std::size_t number_end = list.find_first_of("-,]", end);
  return list.substr(0, end) + list.substr(end + 1, number_end - end - 1);
}

/// A port that runs of the same id agree on and others mostly do not share; below the ports that
/// Linux deals out by itself.
std::uint16_t port_of_run(const std::string& run_id) {
  constexpr std::uint64_t kFirst = 20'000;
  constexpr std::uint64_t kCount = 10'000;
  return static_cast<std::uint16_t>(kFirst + digest_of(run_id) % kCount);
}

Result<void> set_endpoint(ProcessPlace& place, const std::string& name, std::string host,
                          const std::string& port_text) {
  const Result<std::int32_t> port =
      parse(name, port_text, 1, std::numeric_limits<std::uint16_t>::max());
  if (!port) {
    return tl::unexpected(port.error());
  }
  place.rendezvous_host = std::move(host);
  place.rendezvous_port = static_cast<std::uint16_t>(*port);
  return {};
}

Result<void> read_rendezvous_variable(ProcessPlace& place, const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  if (colon == std::string::npos || host.empty()) {
    return fail(ErrorCode::kInvalidArgument, "EPLB_RENDEZVOUS=" + text + ": must be host:port");
  }
  return set_endpoint(place, "EPLB_RENDEZVOUS", std::move(host), text.substr(colon + 1));
}

Result<void> read_master_variables(ProcessPlace& place, const EnvironmentLookup& lookup,
                                   const std::optional<std::string>& address,
                                   const std::optional<std::string>& port) {
  if (!address || !port) {
    return fail(ErrorCode::kInvalidArgument,
                std::string(address ? "MASTER_ADDR" : "MASTER_PORT") + " is set but " +
                    (address ? "MASTER_PORT" : "MASTER_ADDR") + " is not");
  }
  Result<void> set = set_endpoint(place, "MASTER_PORT", *address, *port);
  // Newer torchruns keep a store of their own at that port, so that ours is the next one.
  if (set && lookup("TORCHELASTIC_USE_AGENT_STORE") == "True") {
    constexpr std::uint16_t kPortMax = std::numeric_limits<std::uint16_t>::max();
    place.rendezvous_port = place.rendezvous_port == kPortMax
                                ? std::uint16_t{kPortMax - 1}
                                : static_cast<std::uint16_t>(place.rendezvous_port + 1);
  }
  return set;
}

Result<void> read_rendezvous(const EnvironmentLookup& lookup, ProcessPlace& place) {
  if (const std::optional<std::string> text = lookup("EPLB_RENDEZVOUS")) {
    return read_rendezvous_variable(place, *text);
  }
  const std::optional<std::string> address = lookup("MASTER_ADDR");
  const std::optional<std::string> port = lookup("MASTER_PORT");
  if (address || port) {
    return read_master_variables(place, lookup, address, port);
  }
  place.rendezvous_port = port_of_run(place.run_id);
  if (place.local_process_count == place.process_count) {
    place.rendezvous_host = "127.0.0.1";
    return {};
  }
  if (place.launcher == Launcher::kSlurm) {
    for (const char* list : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"}) {
      if (const std::optional<std::string> nodes = lookup(list)) {
        place.rendezvous_host = first_node(*nodes);
        return {};
      }
    }
    if (std::optional<std::string> launch = lookup("SLURM_LAUNCH_NODE_IPADDR")) {
      place.rendezvous_host = std::move(*launch);
      return {};
    }
  }
  return fail(ErrorCode::kInvalidArgument,
              "nothing says where the processes of several hosts meet: set "
              "EPLB_RENDEZVOUS=host:port, the host that of process 0, in every process");
}

}  // namespace

std::string_view to_string(Launcher launcher) {
  switch (launcher) {
    case Launcher::kEplb:
      return "eplb";
    case Launcher::kTorchrun:
      return "torchrun";
    case Launcher::kOpenMpi:
      return "Open MPI";
    case Launcher::kHydra:
      return "Hydra";
    case Launcher::kSlurm:
      return "Slurm";
  }
  return "unknown";
}

EnvironmentLookup process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing of ours ever changes the environment.
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

Result<std::optional<ProcessPlace>> find_process_number(const EnvironmentLookup& lookup) {
  for (const Dialect& dialect : kDialects) {
    if (!speaks(dialect, lookup)) {
      continue;
    }
    const auto pair = read_pair(lookup, dialect.process, dialect.process_count);
    if (!pair) {
      return tl::unexpected(pair.error());
    }
    ProcessPlace place;
    place.launcher = dialect.launcher;
    place.process = (*pair)->index;
    place.process_count = (*pair)->count;
    for (const char* name : dialect.run_ids) {
      const std::optional<std::string> id = name == nullptr ? std::nullopt : lookup(name);
      if (id) {
        place.run_id += (place.run_id.empty() ? "" : ".") + *id;
      }
    }
    if (const Result<void> local = read_local(dialect, lookup, place); !local) {
      return tl::unexpected(local.error());
    }
    return place;
  }
  return std::nullopt;
}

Result<std::optional<ProcessPlace>> find_process_place(const EnvironmentLookup& lookup) {
  auto place = find_process_number(lookup);
  if (place && *place) {
    if (const Result<void> met = read_rendezvous(lookup, **place); !met) {
      return tl::unexpected(met.error());
    }
  }
  return place;
}

}  // namespace eplb::group
