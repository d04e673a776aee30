#include "eplb/group/local_launch.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "child_output.hpp"
#include "connection.hpp"
#include "deadline.hpp"
#include "eplb/group/pipe.hpp"
#include "process.hpp"

namespace eplb::group {
namespace {

std::string error_text(int error) {
  return std::generic_category().message(error);
}

/// SIGINT and SIGTERM as something to read, for as long as it lives.
class SignalReader {
 public:
  SignalReader() {
    sigset_t wanted{};
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &wanted, &before_);
    descriptor_ = Descriptor(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  ~SignalReader() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  SignalReader(const SignalReader&) = delete;
  SignalReader& operator=(const SignalReader&) = delete;
  SignalReader(SignalReader&&) = delete;
  SignalReader& operator=(SignalReader&&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

  [[nodiscard]] const sigset_t& mask_before() const { return before_; }

  /// The next signal that came; 0 if none did.
  [[nodiscard]] std::int32_t try_take() const {
    signalfd_siginfo info{};
    const ssize_t got = ::read(descriptor_.get(), &info, sizeof(info));
    return got == sizeof(info) ? static_cast<std::int32_t>(info.ssi_signo) : 0;
  }

 private:
  sigset_t before_{};
  Descriptor descriptor_;
};

/// `NAME=value` for execve, ours before those of this process that they replace.
std::vector<std::string> child_environment(const LaunchOptions& options, std::int32_t process,
                                           std::uint16_t port, const std::string& run_id) {
  const std::string count = std::to_string(options.process_count);
  const std::string number = std::to_string(process);
  std::vector<std::pair<std::string, std::string>> ours = options.environment;
  ours.insert(ours.end(), {{"EPLB_PROCESS", number},
                           {"EPLB_PROCESS_COUNT", count},
                           {"EPLB_LOCAL_PROCESS", number},
                           {"EPLB_LOCAL_PROCESS_COUNT", count},
                           {"EPLB_RENDEZVOUS", "127.0.0.1:" + std::to_string(port)},
                           {"EPLB_RUN_ID", run_id}});
  std::vector<std::string> all;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string entry = *at;
    const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
    const auto replaced = [name](const auto& pair) { return pair.first == name; };
    if (std::ranges::none_of(ours, replaced)) {
      all.push_back(entry);
    }
  }
  for (const auto& [name, value] : ours) {
    std::string entry = name;
    entry += '=';
    entry += value;
    all.push_back(std::move(entry));
  }
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

struct Child {
  pid_t pid = 0;
  Descriptor process;
  std::array<Descriptor, 2> outputs;  ///< Of its stdout and stderr; none if they are not named.
  std::array<LineNamer, 2> lines;
  std::optional<ProcessEnd> end;
};

/// What a child needs between fork and exec, where nothing may be allocated.
struct ChildStart {
  char** arguments;
  char** environment;
  int stdout_descriptor;
  int stderr_descriptor;
  int problem_descriptor;
  const sigset_t* mask;
  pid_t launcher;
};

[[noreturn]] void run_child(const ChildStart& start) {
  // A group of its own, so that a terminal's Ctrl-C comes through the launcher alone, and that a
  // kill reaches all that it starts.
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != start.launcher) {
    ::_exit(1);  // The launcher ended before it could be watched.
  }
  if (start.stdout_descriptor >= 0) {
    ::dup2(start.stdout_descriptor, STDOUT_FILENO);
  }
  if (start.stderr_descriptor >= 0) {
    ::dup2(start.stderr_descriptor, STDERR_FILENO);
  }
  ::pthread_sigmask(SIG_SETMASK, start.mask, nullptr);
  ::execvpe(start.arguments[0], start.arguments, start.environment);
  const int problem = errno;
  std::ignore = ::write(start.problem_descriptor, &problem, sizeof(problem));
  ::_exit(127);
}

class Launch {
 public:
  Launch(const LaunchOptions& options, Listener port) : options_(options), port_(std::move(port)) {}

  Result<LaunchEnd> run() {
    for (std::int32_t process = 0; process < options_.process_count; ++process) {
      if (Result<void> started = start(process); !started) {
        signal_all(SIGKILL);
        deadline_ = Deadline::after_ms(0);
        wait_for_all();
        return tl::unexpected(started.error());
      }
    }
    wait_for_all();
    for (const Child& child : children_) {
      end_.processes.push_back(*child.end);
    }
    return std::move(end_);
  }

 private:
  Result<void> start(std::int32_t process) {
    Child child;
    std::array<Descriptor, 2> written;
    const std::array<std::FILE*, 2> targets{options_.output, options_.errors};
    for (std::size_t output = 0; output < written.size(); ++output) {
      if (targets[output] != nullptr) {
        Result<Pipe> pipe = make_pipe();
        if (!pipe) {
          return tl::unexpected(pipe.error());
        }
        child.outputs[output] = std::move(pipe->read_end);
        child.lines[output] = LineNamer(process, targets[output]);
        written[output] = std::move(pipe->write_end);
      }
    }
    Result<Pipe> problem = make_pipe();
    if (!problem) {
      return tl::unexpected(problem.error());
    }
    const std::string run_id = std::to_string(::getpid()) + "." + std::to_string(port_.port);
    std::vector<std::string> environment = child_environment(options_, process, port_.port, run_id);
    std::vector<std::string> command = options_.command;
    std::vector<char*> environment_pointers = pointers_to(environment);
    std::vector<char*> command_pointers = pointers_to(command);
    const ChildStart child_start{.arguments = command_pointers.data(),
                                 .environment = environment_pointers.data(),
                                 .stdout_descriptor = written[0].get(),
                                 .stderr_descriptor = written[1].get(),
                                 .problem_descriptor = problem->write_end.get(),
                                 .mask = &signals_.mask_before(),
                                 .launcher = ::getpid()};
    child.pid = ::fork();
    if (child.pid == 0) {
      run_child(child_start);
    }
    if (child.pid < 0) {
      return fail(ErrorCode::kResourceExhausted, "no process: " + error_text(errno));
    }
    ::setpgid(child.pid, child.pid);
    child.process = open_process(child.pid);
    problem->write_end.reset();
    children_.push_back(std::move(child));
    int exec_error = 0;
    if (::read(problem->read_end.get(), &exec_error, sizeof(exec_error)) == sizeof(exec_error)) {
      return fail(ErrorCode::kInvalidArgument,
                  options_.command.front() + " cannot be run: " + error_text(exec_error));
    }
    return {};
  }

  void wait_for_all() {
    while (std::ranges::any_of(children_, [](const Child& child) { return !child.end; })) {
      wait_once();
      while (const std::int32_t signal = signals_.try_take()) {
        end_.interrupted_by = signal;
        signal_all(signal);
        begin_grace();
      }
      for (Child& child : children_) {
        pass_output(child);
        if (!child.end) {
          note_end_of(child);
        }
      }
      if (deadline_ && deadline_->passed()) {
        kill_all();
      }
    }
    for (Child& child : children_) {
      pass_output(child);
      for (LineNamer& lines : child.lines) {
        lines.finish();
      }
      ::kill(-child.pid, SIGKILL);  // What it may have started and left behind.
    }
  }

  void wait_once() {
    std::vector<pollfd> waiting{{.fd = signals_.descriptor(), .events = POLLIN, .revents = 0}};
    for (const Child& child : children_) {
      if (!child.end) {
        waiting.push_back({.fd = child.process.get(), .events = POLLIN, .revents = 0});
      }
      for (const Descriptor& output : child.outputs) {
        if (output) {
          waiting.push_back({.fd = output.get(), .events = POLLIN, .revents = 0});
        }
      }
    }
    constexpr int kLookMs = 1'000;  // Should the system not tell when a child ends.
    ::poll(waiting.data(), waiting.size(), deadline_ ? deadline_->left_ms(kLookMs) : kLookMs);
  }

  static void pass_output(Child& child) {
    for (std::size_t output = 0; output < child.outputs.size(); ++output) {
      if (child.outputs[output] && !child.lines[output].pass_on(child.outputs[output].get())) {
        child.outputs[output].reset();
      }
    }
  }

  void note_end_of(Child& child) {
    int status = 0;
    if (::waitpid(child.pid, &status, WNOHANG) != child.pid) {
      return;
    }
    ProcessEnd end;
    end.process = static_cast<std::int32_t>(&child - children_.data());
    end.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    end.was_killed = killed_ && end.signal == SIGKILL;
    if (!end.ok() && end_.first_failed < 0) {
      end_.first_failed = end.process;
      begin_grace();
    }
    child.end = end;
  }

  void begin_grace() {
    if (!deadline_) {
      deadline_ = Deadline::after_ms(options_.grace_ms);
    }
  }

  void kill_all() {
    constexpr std::int64_t kAgainMs = 100;
    killed_ = true;
    signal_all(SIGKILL);
    deadline_ = Deadline::after_ms(kAgainMs);
  }

  void signal_all(int signal) const {
    for (const Child& child : children_) {
      if (!child.end) {
        ::kill(-child.pid, signal);
      }
    }
  }

  const LaunchOptions& options_;
  Listener port_;  ///< Kept bound, so that nobody else is given the children's port.
  SignalReader signals_;
  std::vector<Child> children_;
  std::optional<Deadline> deadline_;
  bool killed_ = false;
  LaunchEnd end_;
};

}  // namespace

Result<LaunchEnd> launch_local(const LaunchOptions& options) {
  if (options.command.empty() || options.process_count < 1) {
    return fail(ErrorCode::kInvalidArgument, "a launch needs a command and at least one process");
  }
  Result<Listener> port = reserve_loopback_port();
  if (!port) {
    return tl::unexpected(port.error());
  }
  return Launch(options, std::move(*port)).run();
}

}  // namespace eplb::group
