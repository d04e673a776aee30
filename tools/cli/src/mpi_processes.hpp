#pragma once

#include <memory>

#include "eplb/core/result.hpp"
#include "eplb/group/process_place.hpp"
#include "search_processes.hpp"

namespace eplb::cli {

/// The processes of MPI's world, of which this one was told its `place`. kUnsupported without MPI,
/// or if MPI counts other processes than the launcher.
[[nodiscard]] Result<std::unique_ptr<SearchProcesses>> join_mpi_processes(
    const group::ProcessPlace& place);

}  // namespace eplb::cli
