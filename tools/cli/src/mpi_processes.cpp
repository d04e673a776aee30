#include "mpi_processes.hpp"

#include <fmt/core.h>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace eplb::cli {
namespace {

constexpr int kTag = 0;

int to_int(std::size_t size) {
  return static_cast<int>(size);
}

/// Errors of MPI end all processes, which is MPI's own default.
class MpiProcesses final : public SearchProcesses {
 public:
  explicit MpiProcesses(std::int32_t local_process_count)
      : local_process_count_(local_process_count) {
    int provided = 0;
    // Threads beside this one simulate; none but this one calls MPI.
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &process_);
    MPI_Comm_size(MPI_COMM_WORLD, &process_count_);
  }

  ~MpiProcesses() override { MPI_Finalize(); }

  MpiProcesses(const MpiProcesses&) = delete;
  MpiProcesses& operator=(const MpiProcesses&) = delete;
  MpiProcesses(MpiProcesses&&) = delete;
  MpiProcesses& operator=(MpiProcesses&&) = delete;

  [[nodiscard]] std::int32_t process() const override { return process_; }

  [[nodiscard]] std::int32_t process_count() const override { return process_count_; }

  [[nodiscard]] std::int32_t local_process_count() const override { return local_process_count_; }

  [[nodiscard]] std::vector<std::string> gather(const std::string& text) override {
    const int length = to_int(text.size());
    std::vector<int> lengths(static_cast<std::size_t>(process_count_));
    MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    std::vector<int> begins(lengths.size());
    std::exclusive_scan(lengths.begin(), lengths.end(), begins.begin(), 0);
    std::string all(process_ == 0 ? static_cast<std::size_t>(begins.back() + lengths.back()) : 0,
                    ' ');
    MPI_Gatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), begins.data(), MPI_CHAR,
                0, MPI_COMM_WORLD);
    std::vector<std::string> texts;
    for (std::size_t index = 0; process_ == 0 && index < lengths.size(); ++index) {
      texts.push_back(all.substr(static_cast<std::size_t>(begins[index]),
                                 static_cast<std::size_t>(lengths[index])));
    }
    return texts;
  }

  void send(std::int32_t process, const std::string& text) override {
    MPI_Send(text.data(), to_int(text.size()), MPI_CHAR, process, kTag, MPI_COMM_WORLD);
  }

  [[nodiscard]] std::optional<ProcessMessage> receive() override {
    int has_come = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &has_come, &status);
    if (has_come == 0) {
      return std::nullopt;
    }
    int length = 0;
    MPI_Get_count(&status, MPI_CHAR, &length);
    ProcessMessage message{.process = status.MPI_SOURCE,
                           .text = std::string(static_cast<std::size_t>(length), ' ')};
    MPI_Recv(message.text.data(), length, MPI_CHAR, message.process, kTag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    return message;
  }

 private:
  int process_ = 0;
  int process_count_ = 1;
  std::int32_t local_process_count_;
};

}  // namespace

Result<std::unique_ptr<SearchProcesses>> join_mpi_processes(const group::ProcessPlace& place) {
  auto processes = std::make_unique<MpiProcesses>(std::max(1, place.local_process_count));
  if (processes->process_count() != place.process_count) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("{} has started {} processes, but MPI counts {}: the launcher must be "
                            "one of the MPI that this program was built with",
                            group::to_string(place.launcher), place.process_count,
                            processes->process_count()));
  }
  return processes;
}

}  // namespace eplb::cli
