#pragma once

#include <cstdint>
#include <vector>

#include "eplb/sim/program/program_run.hpp"
#include "eplb/sim/timeline.hpp"
#include "execution.hpp"

namespace eplb::sim {

/// A program's run on a timeline: ranks are processes, their streams and host threads are tracks.
class ProgramTrace {
 public:
  ProgramTrace(const CompiledProgram& program, Timeline& timeline)
      : program_(program), timeline_(timeline) {}

  /// An operation of a GPU has started, perhaps not in full yet.
  void started(std::int32_t op, std::int64_t now_ns);

  void ended(const Execution& execution, std::int32_t op, std::int64_t now_ns);

  /// A host thread did its next instruction, and had waited for it since then.
  void host_did(std::int32_t thread, const Instruction& instruction, std::int64_t since_ns,
                std::int64_t now_ns);

  /// What is still going on at the run's end is drawn for a while longer, and so is a hang's
  /// circle: a slice of the category `hang` on a track of each of its ranks.
  void finish(const Execution& execution, const std::vector<std::int64_t>& waiting_since_ns,
              const ProgramResult& result);

 private:
  [[nodiscard]] TrackId track(std::int32_t rank, const std::string& name);
  void show(const Execution& execution, std::int32_t op, std::int64_t end_ns);

  const CompiledProgram& program_;
  Timeline& timeline_;
  std::vector<std::int64_t> begin_ns_;  ///< By operation; -1 if it has not started.
};

}  // namespace eplb::sim
