#include "search_processes.hpp"

#include <fmt/core.h>

#include "eplb/group/process_place.hpp"
#include "mpi_processes.hpp"

namespace eplb::cli {
namespace {

class LoneProcess final : public SearchProcesses {
 public:
  [[nodiscard]] std::int32_t process() const override { return 0; }

  [[nodiscard]] std::int32_t process_count() const override { return 1; }

  [[nodiscard]] std::int32_t local_process_count() const override { return 1; }

  [[nodiscard]] std::vector<std::string> gather(const std::string& text) override { return {text}; }

  void send(std::int32_t /*process*/, const std::string& /*text*/) override {}

  [[nodiscard]] std::optional<ProcessMessage> receive() override { return std::nullopt; }
};

}  // namespace

Result<std::unique_ptr<SearchProcesses>> join_search_processes() {
  const auto place = group::find_process_number(group::process_environment());
  if (!place) {
    return tl::unexpected(place.error());
  }
  if (!*place || (*place)->process_count == 1) {
    return std::make_unique<LoneProcess>();
  }
  return join_mpi_processes(**place);
}

#ifndef EPLB_HAS_MPI
Result<std::unique_ptr<SearchProcesses>> join_mpi_processes(const group::ProcessPlace& place) {
  return fail(ErrorCode::kUnsupported,
              fmt::format("{} has started {} processes, which meet by MPI, and this program was "
                          "built without it: build with EPLB_MPI=ON, or give each --shard I/N",
                          group::to_string(place.launcher), place.process_count));
}
#endif

}  // namespace eplb::cli
