#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "eplb/core/result.hpp"

namespace eplb::cli {

struct ProcessMessage {
  std::int32_t process = 0;  ///< Who sent it.
  std::string text;
};

/// The processes that share a search. Process 0 deals the runs, and alone reads and writes files
/// other than the configuration. Used by one thread.
class SearchProcesses {
 public:
  SearchProcesses() = default;
  virtual ~SearchProcesses() = default;
  SearchProcesses(const SearchProcesses&) = delete;
  SearchProcesses& operator=(const SearchProcesses&) = delete;
  SearchProcesses(SearchProcesses&&) = delete;
  SearchProcesses& operator=(SearchProcesses&&) = delete;

  [[nodiscard]] virtual std::int32_t process() const = 0;
  [[nodiscard]] virtual std::int32_t process_count() const = 0;
  /// Of this host; at least 1.
  [[nodiscard]] virtual std::int32_t local_process_count() const = 0;

  /// Called by all at once. Process 0 gets everybody's text, by process; the others get nothing.
  [[nodiscard]] virtual std::vector<std::string> gather(const std::string& text) = 0;

  virtual void send(std::int32_t process, const std::string& text) = 0;

  /// The next message to this process, of any; none if none has come.
  [[nodiscard]] virtual std::optional<ProcessMessage> receive() = 0;
};

/// The processes that a launcher has started together, or this one alone. They meet by MPI, once in
/// the life of a process, and part when the object goes. kUnsupported if there are several and this
/// program was built without MPI.
[[nodiscard]] Result<std::unique_ptr<SearchProcesses>> join_search_processes();

}  // namespace eplb::cli
