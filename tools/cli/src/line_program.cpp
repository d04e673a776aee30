#include "line_program.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

namespace eplb::cli {
namespace {

using namespace std::chrono_literals;
using group::Descriptor;

constexpr std::size_t kAnswerBytesMax = std::size_t{1} << 28;
constexpr std::size_t kComplaintBytesMax = 4096;
constexpr auto kTimeToEnd = 1s;

/// Keeps a write to a pipe that nobody reads from ending this process: the signal is held back from
/// this thread, and taken off again if it came.
class BrokenPipeGuard {
 public:
  BrokenPipeGuard() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }

  ~BrokenPipeGuard() {
    if (sigismember(&before_, SIGPIPE) == 0) {
      const timespec at_once{};
      while (::sigtimedwait(&signal_, nullptr, &at_once) < 0 && errno == EINTR) {
      }
      ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
  }

  BrokenPipeGuard(const BrokenPipeGuard&) = delete;
  BrokenPipeGuard& operator=(const BrokenPipeGuard&) = delete;
  BrokenPipeGuard(BrokenPipeGuard&&) = delete;
  BrokenPipeGuard& operator=(BrokenPipeGuard&&) = delete;

 private:
  sigset_t signal_{};
  sigset_t before_{};
};

/// Reads what has come; false at the end.
bool read_some(const Descriptor& from, std::string& to) {
  std::array<char, 1 << 16> bytes{};
  for (;;) {
    const ssize_t got = ::read(from.get(), bytes.data(), bytes.size());
    if (got > 0) {
      to.append(bytes.data(), static_cast<std::size_t>(got));
      return true;
    }
    if (got < 0 && errno == EINTR) {
      continue;
    }
    return got < 0 && errno == EAGAIN;
  }
}

}  // namespace

Result<std::unique_ptr<LineProgram>> LineProgram::start(const std::vector<std::string>& words) {
  auto child = start_child(words);
  if (!child) {
    return tl::unexpected(std::move(child).error());
  }
  std::unique_ptr<LineProgram> program(new LineProgram(words.front(), *std::move(child)));
  return program;
}

LineProgram::~LineProgram() {
  input_.reset();
  if (!ended_by(Clock::now() + kTimeToEnd)) {
    ::kill(-process_, SIGKILL);
    while (::waitpid(process_, &status_, 0) < 0 && errno == EINTR) {
    }
  }
  pass_on_complaints(true);
}

Result<std::string> LineProgram::ask(std::string_view request,
                                     std::chrono::duration<double> patience) {
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(patience);
  if (!answer_.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} said something before it was asked: {}", name_,
                            answer_.substr(0, std::min<std::size_t>(answer_.find('\n'), 80))));
  }
  const std::string line = std::string(request) + '\n';
  std::string_view left = line;
  std::size_t searched = 0;
  for (;;) {
    const std::size_t end = answer_.find('\n', searched);
    if (end != std::string::npos && (left.empty() || !input_)) {
      std::string answer = answer_.substr(0, end);
      answer_.erase(0, end + 1);
      return answer;
    }
    searched = end == std::string::npos ? answer_.size() : end;
    if (answer_.size() > kAnswerBytesMax) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} answered {} bytes without an end", name_, answer_.size()));
    }
    if (!output_) {
      return fail(ErrorCode::kInvalidArgument, end_in_words());
    }
    if (!wait(!left.empty(), deadline)) {
      ::kill(-process_, SIGKILL);
      return fail(ErrorCode::kTimeout,
                  fmt::format("{} has not answered within {:g} s", name_, patience.count()));
    }
    if (!left.empty()) {
      write_some(left);
    }
    read_answer();
    read_complaints();
  }
}

bool LineProgram::wait(bool writing, Clock::time_point deadline) {
  // poll leaves out a negative descriptor.
  std::array<pollfd, 3> watched{
      {{.fd = output_.get(), .events = POLLIN, .revents = 0},
       {.fd = error_.get(), .events = POLLIN, .revents = 0},
       {.fd = writing ? input_.get() : -1, .events = POLLOUT, .revents = 0}}};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      return false;
    }
    const int ready = ::poll(watched.data(), watched.size(),
                             static_cast<int>(std::min<std::int64_t>(left, 60'000)));
    if (ready > 0) {
      return true;
    }
  }
}

void LineProgram::write_some(std::string_view& left) {
  if (!input_) {
    return;
  }
  const BrokenPipeGuard guard;
  const ssize_t written = ::write(input_.get(), left.data(), left.size());
  if (written > 0) {
    left.remove_prefix(static_cast<std::size_t>(written));
  } else if (written < 0 && errno != EAGAIN && errno != EINTR) {
    input_.reset();  // It reads no more; perhaps it has an answer all the same, or says why.
  }
}

void LineProgram::read_answer() {
  if (output_ && !read_some(output_, answer_)) {
    output_.reset();
  }
}

void LineProgram::read_complaints() {
  if (error_ && !read_some(error_, complaint_)) {
    error_.reset();
  }
  pass_on_complaints(!error_);
}

void LineProgram::pass_on_complaints(bool all) {
  for (;;) {
    std::size_t end = complaint_.find('\n');
    const bool whole = end != std::string::npos;
    if (!whole && !(all && !complaint_.empty()) && complaint_.size() <= kComplaintBytesMax) {
      return;
    }
    end = std::min({end, complaint_.size(), kComplaintBytesMax});
    last_complaint_ = complaint_.substr(0, end);
    fmt::print(stderr, "{}: {}\n", name_, last_complaint_);
    complaint_.erase(0, end + (whole && complaint_[end] == '\n' ? 1 : 0));
  }
}

/// Whether it has ended; waits for that, and listens to what it has to say meanwhile.
bool LineProgram::ended_by(Clock::time_point deadline) {
  while (!reaped_) {
    const pid_t ended = ::waitpid(process_, &status_, WNOHANG);
    reaped_ = ended == process_ || (ended < 0 && errno == ECHILD);
    if (!reaped_) {
      if (Clock::now() >= deadline) {
        return false;
      }
      std::this_thread::sleep_for(1ms);
    }
    read_complaints();
  }
  return true;
}

std::string LineProgram::end_in_words() {
  const bool ended = ended_by(Clock::now() + kTimeToEnd);
  std::string words = name_ + " closed its output without an answer";
  if (ended && WIFSIGNALED(status_)) {
    words = fmt::format("{} was ended by signal {} ({}) before it answered", name_,
                        WTERMSIG(status_), ::sigdescr_np(WTERMSIG(status_)));
  } else if (ended && WIFEXITED(status_)) {
    words =
        fmt::format("{} ended with exit code {} before it answered", name_, WEXITSTATUS(status_));
  }
  return last_complaint_.empty() ? words
                                 : fmt::format("{}; its last words: {}", words, last_complaint_);
}

}  // namespace eplb::cli
