#include "fault_drill.hpp"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <stop_token>
#include <utility>

namespace eplb::gpu {
namespace {

/// Between looks at the rank's state.
constexpr std::chrono::microseconds kPause{20};

template <typename Fault>
std::vector<Fault> faults_of(RankId rank, const std::vector<Fault>& all) {
  std::vector<Fault> own;
  std::ranges::copy_if(all, std::back_inserter(own),
                       [&](const Fault& fault) { return fault.rank == rank; });
  return own;
}

}  // namespace

FaultDrill::FaultDrill(const ServeFaults& faults, RankId rank)
    : late_hosts_(faults_of(rank, faults.late_hosts)),
      stalled_hosts_(faults_of(rank, faults.stalled_hosts)),
      kills_(faults_of(rank, faults.killed_ranks)) {}

void FaultDrill::look(MigrationState state) const {
  const bool is_due = std::ranges::any_of(kills_, [&](const KilledRank& kill) {
    return elapsed_ms() >= kill.at_ms && kill.state.value_or(state) == state;
  });
  if (is_due) {
    static_cast<void>(std::raise(SIGKILL));
  }
}

void FaultDrill::watch(std::function<MigrationState()> state) {
  if (kills_.empty()) {
    return;
  }
  watch_ = std::jthread([this, state = std::move(state)](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      look(state());
      std::this_thread::sleep_for(kPause);
    }
  });
}

void FaultDrill::delay_host() {
  const double now_ms = elapsed_ms();
  double delay_us = 0;
  for (const LateHost& late : late_hosts_) {
    delay_us += now_ms >= late.begin_ms && now_ms < late.end_ms ? late.late_us : 0;
  }
  std::erase_if(stalled_hosts_, [&](const StalledHost& stall) {
    const bool begins = now_ms >= stall.at_ms;
    delay_us += begins ? stall.duration_ms * 1e3 : 0;
    return begins;
  });
  if (delay_us > 0) {
    std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(delay_us));
  }
}

double FaultDrill::elapsed_ms() const {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_)
      .count();
}

}  // namespace eplb::gpu
