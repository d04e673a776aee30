#include "child_process.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <unistd.h>

#include <csignal>
#include <system_error>

#include "eplb/group/pipe.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX has it in no header.

namespace eplb::cli {
namespace {

using group::Descriptor;

void make_non_blocking(const Descriptor& descriptor) {
  ::fcntl(descriptor.get(), F_SETFL, ::fcntl(descriptor.get(), F_GETFL) | O_NONBLOCK);
}

/// What posix_spawn is to do in the child, freed with this.
class SpawnPlan {
 public:
  SpawnPlan() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    sigset_t none{};
    sigemptyset(&none);
    sigset_t reset{};
    sigemptyset(&reset);
    sigaddset(&reset, SIGPIPE);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &reset);
    // A group of its own, so that what it starts can be killed with it.
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }

  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  SpawnPlan(SpawnPlan&&) = delete;
  SpawnPlan& operator=(SpawnPlan&&) = delete;

  void give(const Descriptor& ours, int as) {
    ::posix_spawn_file_actions_adddup2(&actions_, ours.get(), as);
  }

  /// 0, or an errno.
  [[nodiscard]] int spawn(const std::vector<std::string>& words, pid_t& process) {
    std::vector<std::string> copies = words;
    std::vector<char*> arguments;
    arguments.reserve(copies.size() + 1);
    for (std::string& word : copies) {
      arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    return ::posix_spawnp(&process, arguments.front(), &actions_, &attributes_, arguments.data(),
                          environ);
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

Result<ChildProcess> start_child(const std::vector<std::string>& words) {
  auto input = group::make_pipe();
  auto output = group::make_pipe();
  auto error = group::make_pipe();
  for (const auto* pipe : {&input, &output, &error}) {
    if (!*pipe) {
      return tl::unexpected(pipe->error());
    }
  }
  SpawnPlan plan;
  plan.give(input->read_end, STDIN_FILENO);
  plan.give(output->write_end, STDOUT_FILENO);
  plan.give(error->write_end, STDERR_FILENO);
  ChildProcess child;
  if (const int problem = plan.spawn(words, child.process); problem != 0) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} cannot be started: {}", words.front(),
                                                         std::generic_category().message(problem)));
  }
  child.input = std::move(input->write_end);
  child.output = std::move(output->read_end);
  child.error = std::move(error->read_end);
  for (const Descriptor* ours : {&child.input, &child.output, &child.error}) {
    make_non_blocking(*ours);
  }
  return child;
}

}  // namespace eplb::cli
