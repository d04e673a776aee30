// A rank as a process of its own: joins the group that its launcher's variables tell of, does what
// its arguments say, and writes what it saw as one line to its standard output.
//   eplb_group_process serve ROUNDS          posts and awaits statuses, sums, and says goodbye
//   eplb_group_process die RANK STATE        RANK kills itself there, all others say what they saw:
//                                            idle, posting, summing or before the goodbye
//   eplb_group_process fail RANK             RANK exits with 3, the others as above
//   eplb_group_process wait                  waits until it is ended from outside
//   eplb_group_process launch COUNT          launches COUNT of those that wait
//   eplb_group_process place                 only its place
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "eplb/group/local_launch.hpp"
#include "eplb/group/membership.hpp"
#include "eplb/group/process_place.hpp"

namespace eplb::group {
namespace {

constexpr std::int64_t kPatienceMs = 20'000;
constexpr std::size_t kValues = 2'000;

template <typename Condition>
bool eventually(const Condition& condition) {
  for (std::int64_t waited_ms = 0; waited_ms < kPatienceMs; ++waited_ms) {
    if (condition()) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

class Process {
 public:
  explicit Process(std::unique_ptr<Membership> membership)
      : membership_(std::move(membership)),
        rank_(membership_->members()[membership_->own_index()].ranks.front()),
        plane_(membership_->control_plane(rank_)),
        rank_count_(membership_->board().options().rank_count) {}

  int serve(std::int64_t rounds) {
    for (std::int64_t round = 0; round < rounds; ++round) {
      if (!post_and_await(round)) {
        return 4;
      }
    }
    std::vector<double> values(kValues);
    for (std::size_t index = 0; index < kValues; ++index) {
      values[index] = 1.0 / (1.0 + static_cast<double>(index) + 3.0 * rank_.value);
    }
    const env::SumKey key{.kind = env::SumKey::Kind::kWindow, .index = 1};
    plane_->start_sum(key, values);
    std::shared_ptr<const std::vector<double>> sum;
    if (!eventually([&] { return (sum = plane_->try_take_sum(key)) != nullptr; })) {
      return 5;
    }
    std::uint64_t bits = 0;
    for (const double value : *sum) {
      std::uint64_t word = 0;
      static_assert(sizeof(word) == sizeof(value));
      std::memcpy(&word, &value, sizeof(word));
      bits = bits * 1'099'511'628'211U + word;
    }
    if (!membership_->barrier(kPatienceMs)) {
      return 6;
    }
    membership_->leave();
    // Long enough for the first to be gone while the last would still notice a loss.
    std::this_thread::sleep_for(std::chrono::milliseconds(20 * rank_.value));
    std::cout << "sum " << bits << (plane_->group_failure() ? " lost" : " whole") << std::endl;
    return 0;
  }

  int die(std::int32_t victim, const std::string& state, bool by_exit) {
    const bool dies = rank_.value == victim;
    for (std::int64_t round = 0; round < 20; ++round) {
      if (!post_and_await(round)) {
        return 4;
      }
    }
    if (!membership_->barrier(kPatienceMs)) {
      return 6;
    }
    if (dies) {
      end(state, by_exit);
    }
    std::int64_t round = 20;
    const bool noticed = eventually([&] {
      plane_->post(status_of(round++));
      return plane_->group_failure().has_value();
    });
    std::cout << (noticed ? describe(*plane_->group_failure()) : "noticed nothing") << std::endl;
    return noticed ? 0 : 7;
  }

 private:
  [[nodiscard]] Status status_of(std::int64_t round) const {
    Status status;
    status.rank = rank_;
    status.key = {.rearrangement = 1, .round = round};
    return status;
  }

  bool post_and_await(std::int64_t round) {
    plane_->post(status_of(round));
    for (std::int32_t peer = 0; peer < rank_count_; ++peer) {
      const RoundKey key = status_of(round).key;
      if (!eventually([&] { return plane_->find(RankId{peer}, key) != nullptr; })) {
        return false;
      }
    }
    return true;
  }

  void end(const std::string& state, bool by_exit) {
    if (by_exit) {
      ::_exit(3);
    }
    std::thread beside;
    if (state == "posting") {
      beside = std::thread([this] {
        for (std::int64_t round = 20;; ++round) {
          plane_->post(status_of(round));
        }
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    } else if (state == "summing") {
      plane_->start_sum({.kind = env::SumKey::Kind::kWindow, .index = 1},
                        std::vector<double>(kValues, 1.0));
    }
    std::raise(SIGKILL);
    beside.join();
  }

  std::unique_ptr<Membership> membership_;
  RankId rank_;
  std::unique_ptr<BoardControlPlane> plane_;
  std::int32_t rank_count_;
};

int run(const std::vector<std::string>& arguments) {
  const auto place = find_process_place(process_environment());
  if (!place || !*place || arguments.empty()) {
    std::cout << "no place" << std::endl;
    return 2;
  }
  const ProcessPlace& here = **place;
  if (arguments[0] == "place") {
    std::cout << here.process << " of " << here.process_count << ", " << here.local_process
              << " of " << here.local_process_count << std::endl;
    return 0;
  }
  if (arguments[0] == "wait") {
    std::cout << "waits as " << ::getpid() << std::endl;
    std::this_thread::sleep_for(std::chrono::milliseconds(kPatienceMs));
    return 8;
  }
  if (arguments[0] == "launch") {
    std::cout << "launches as " << ::getpid() << std::endl;
    const auto ended = launch_local(
        {.process_count = std::stoi(arguments.at(1)), .command = {"/proc/self/exe", "wait"}});
    return ended ? 0 : 10;
  }
  RendezvousOptions options;
  options.host = here.rendezvous_host;
  options.port = here.rendezvous_port;
  options.run_id = here.run_id;
  options.rank_count = here.process_count;
  options.ranks = {RankId{here.process}};
  options.deadline_ms = kPatienceMs;
  auto membership = Membership::join(options, {.window_values_max = kValues});
  if (!membership) {
    std::cout << membership.error().message << std::endl;
    return 9;
  }
  Process process(std::move(*membership));
  if (arguments[0] == "serve") {
    return process.serve(std::stoll(arguments.at(1)));
  }
  const std::string state = arguments.size() > 2 ? arguments[2] : "";
  return process.die(std::stoi(arguments.at(1)), state, arguments[0] == "fail");
}

}  // namespace
}  // namespace eplb::group

int main(int argc, char** argv) {
  return eplb::group::run({argv + 1, argv + argc});
}
