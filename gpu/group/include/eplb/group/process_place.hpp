#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "eplb/core/result.hpp"

namespace eplb::group {

/// Who started the processes.
enum class Launcher : std::uint8_t { kEplb, kTorchrun, kOpenMpi, kHydra, kSlurm };

[[nodiscard]] std::string_view to_string(Launcher launcher);

/// Which of a run's processes this one is. A process may hold several ranks, so a launcher's "rank"
/// is a process here.
struct ProcessPlace {
  Launcher launcher = Launcher::kEplb;
  std::int32_t process = 0;              ///< [0, process_count).
  std::int32_t process_count = 1;        ///< Of the run.
  std::int32_t local_process = 0;        ///< [0, local_process_count).
  std::int32_t local_process_count = 1;  ///< On this host.
  std::string rendezvous_host;           ///< Where process 0 listens.
  std::uint16_t rendezvous_port = 0;
  std::string run_id;  ///< Equal in all processes of a run.
};

/// An environment variable's value; none if it is not set.
using EnvironmentLookup = std::function<std::optional<std::string>(const char* name)>;

/// The environment of this process.
[[nodiscard]] EnvironmentLookup process_environment();

/// Reads what torchrun, Open MPI, MPICH or Intel MPI (Hydra), Slurm, or our own launcher has told
/// this process; none if nobody has, which is a run of one process. EPLB_RENDEZVOUS=host:port, else
/// MASTER_ADDR and MASTER_PORT, say where to meet whoever launched; without them processes of one
/// host meet at its loopback interface, and Slurm's at the first node of the step. kInvalidArgument
/// if a launcher's variables are half set, contradict each other, or do not say where to meet.
[[nodiscard]] Result<std::optional<ProcessPlace>> find_process_place(
    const EnvironmentLookup& lookup);

/// The same without the rendezvous, for processes that their launcher's own library brings
/// together.
[[nodiscard]] Result<std::optional<ProcessPlace>> find_process_number(
    const EnvironmentLookup& lookup);

}  // namespace eplb::group
