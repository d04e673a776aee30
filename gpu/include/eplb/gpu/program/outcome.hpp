#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace eplb::gpu::program {

/// One link of a chain of waiting, in the simulator's words.
struct Wait {
  std::int32_t rank = 0;
  std::string operation = {};  ///< Who waits.
  std::string holds = {};      ///< What it keeps from others meanwhile; empty if nothing.
  std::string waits_for = {};

  friend bool operator==(const Wait&, const Wait&) = default;
};

enum class HangKind : std::uint8_t {
  kDeadlock,     ///< Operations wait for each other in a circle.
  kLostMessage,  ///< All waits lead to a message that never arrives.
  kMissingPeer,  ///< All waits lead to something that nobody will do.
  kStall,        ///< Something waits without end while the rest goes on as if all were well.
};

/// As the simulator's report has it: `deadlock`, `lost_message`, `missing_peer`, `silent_stall`.
[[nodiscard]] std::string_view to_string(HangKind kind);

struct Hang {
  std::int64_t at_ns = 0;  ///< When the last of what the explanation names began to wait.
  HangKind kind = HangKind::kDeadlock;
  /// A shortest circle, each waiting for the next and the last for the first; otherwise what waits
  /// in vain, then what waits for that.
  std::vector<Wait> explanation = {};
};

/// One launch. Times are from the start of the run, by the GPU's clock put on the host's; -1 where
/// it did not happen.
struct KernelOutcome {
  std::int32_t rank = 0;
  std::string operation = {};  ///< As a link of an explanation names it.
  std::int64_t issued_ns = -1;
  std::int64_t begun_ns = -1;      ///< Its first CTA runs.
  std::int64_t resident_ns = -1;   ///< All its CTAs are resident; of kinds that end together.
  std::int64_t ended_ns = -1;      ///< Its last CTA is through, also if it gave up.
  bool ran_out = false;            ///< Its time limit ran out while it waited.
  std::int32_t resident_ctas = 0;  ///< When that was.
  bool was_kept_out = false;       ///< CTAs of it came only after a limit had run out, and left.
  std::string waited_for = {};     ///< Of what ran out or was kept out.
};

/// What a program did on real GPUs.
struct ProgramOutcome {
  std::int64_t run_ns = 0;  ///< From the first operation to the last thing's end.
  std::optional<Hang> hang = std::nullopt;
  std::int64_t host_operation_count = 0;
  std::int64_t device_operation_count = 0;
  bool was_left = false;  ///< It would have gone on after `run_ms`, or after the most launches.
  std::vector<std::int32_t> devices = {};   ///< The GPU of each rank.
  std::vector<KernelOutcome> kernels = {};  ///< In the order of their issue.
  std::vector<std::string> notes = {};      ///< Where the GPU is not what the program counts on.
};

}  // namespace eplb::gpu::program
