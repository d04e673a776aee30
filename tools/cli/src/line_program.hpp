#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "child_process.hpp"
#include "eplb/core/result.hpp"
#include "eplb/group/descriptor.hpp"

namespace eplb::cli {

/// A program of somebody else's that is asked by a line on its standard input and answers by a line
/// on its standard output. What it writes to standard error is passed on, line by line, under its
/// name. It is ended with this object: its input ends, and should it not follow within a second it
/// is killed, with the processes that it has started.
class LineProgram {
 public:
  /// The program by its path, or by its name where PATH has it, and its arguments; at least one
  /// word. kInvalidArgument if it cannot be started.
  [[nodiscard]] static Result<std::unique_ptr<LineProgram>> start(
      const std::vector<std::string>& words);

  LineProgram(const LineProgram&) = delete;
  LineProgram& operator=(const LineProgram&) = delete;
  LineProgram(LineProgram&&) = delete;
  LineProgram& operator=(LineProgram&&) = delete;
  ~LineProgram();

  /// The line that answers `request`, both without their ends. kTimeout if it takes longer than
  /// `patience`, kInvalidArgument if the program ends instead, if it said something before it was
  /// asked, or if its line does not end within 2^28 bytes. After a failure it is of no more use.
  [[nodiscard]] Result<std::string> ask(std::string_view request,
                                        std::chrono::duration<double> patience);

 private:
  using Clock = std::chrono::steady_clock;

  LineProgram(std::string name, ChildProcess child)
      : name_(std::move(name)),
        process_(child.process),
        input_(std::move(child.input)),
        output_(std::move(child.output)),
        error_(std::move(child.error)) {}

  /// Waits until something can be read or written; false at the deadline.
  [[nodiscard]] bool wait(bool writing, Clock::time_point deadline);
  void write_some(std::string_view& left);
  void read_answer();
  void read_complaints();
  void pass_on_complaints(bool all);
  [[nodiscard]] bool ended_by(Clock::time_point deadline);
  [[nodiscard]] std::string end_in_words();

  std::string name_;
  pid_t process_;
  int status_ = 0;
  bool reaped_ = false;
  group::Descriptor input_;  ///< Its, and so on.
  group::Descriptor output_;
  group::Descriptor error_;
  std::string answer_;
  std::string complaint_;       ///< A line that it has begun on standard error.
  std::string last_complaint_;  ///< The newest whole one.
};

}  // namespace eplb::cli
