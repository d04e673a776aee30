#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "eplb/core/result.hpp"
#include "search_processes.hpp"
#include "worker_pool.hpp"

namespace eplb::cli {

/// Of process 0: tells the others, who serve, to end with this code.
void end_search(SearchProcesses& processes, int code);

/// Deals requests to the threads of all processes. Process 0 deals and works too, the others serve.
/// Which thread of which process answers has no part in any reply.
class SearchDealer {
 public:
  /// Called in the dealing thread as replies come, in any order.
  using Done = std::function<Result<void>(std::size_t index, const std::string& reply)>;

  /// `thread_counts` are those of all processes; only process 0 needs them.
  SearchDealer(SearchProcesses& processes, std::vector<std::int32_t> thread_counts,
               std::int32_t own_thread_count, WorkerPool::Work work);

  /// Of process 0: has all requests answered. The first error of `done` ends it at once.
  [[nodiscard]] Result<void> deal(const std::vector<std::string>& requests, const Done& done);

  /// Of the others: answers until process 0 ends it, and gives the code that it ends with.
  [[nodiscard]] int serve();

 private:
  /// Hands out requests from `next` on while somebody has a free thread.
  void hand_out(const std::vector<std::string>& requests, std::size_t& next);

  /// What has come from this process' threads and from others.
  [[nodiscard]] std::vector<WorkerPool::Finished> collect();

  SearchProcesses& processes_;
  std::vector<std::int32_t> free_threads_;  ///< Of each process, as process 0 sees it.
  WorkerPool pool_;
};

}  // namespace eplb::cli
