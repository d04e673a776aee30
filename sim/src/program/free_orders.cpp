#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "may_graph.hpp"

namespace eplb::sim {
namespace {

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

}  // namespace

void MayGraph::add_free_orders() {
  add_group_orders();
  add_mutexes();
  add_shared_queues();
  add_room();
  add_gangs();
  add_late_shares();
}

void MayGraph::add_group_orders() {
  std::map<std::int32_t, std::vector<std::int32_t>> launches;
  for (std::int32_t device = 0; at(device) < devices_.size(); ++device) {
    const Kernel* kernel = kernel_of(device);
    if (kernel != nullptr && kernel->group != kNone) {
      launches[kernel->group].push_back(device);
    }
  }
  for (const auto& [group, devices] : launches) {
    for (const std::int32_t one : devices) {
      const auto other = std::ranges::find_if(devices, [&](std::int32_t device) {
        return device > one && devices_[at(device)].rank == devices_[at(one)].rank &&
               devices_[at(device)].thread != devices_[at(one)].thread &&
               !needs(devices_[at(device)].host, devices_[at(one)].host) &&
               !needs(devices_[at(one)].host, devices_[at(device)].host);
      });
      if (other != devices.end()) {
        found_.push_back(
            {.kind = "order",
             .explanation = {{.rank = devices_[at(one)].rank,
                              .operation = text_of(node(one, Role::kStart)),
                              .holds = "",
                              .waits_for = "its peers, which it meets or misses "
                                           "depending on which thread launches first"}},
             .advice = "Launch what belongs to one group from one thread, or give "
                       "each thread a group of its own."});
        break;
      }
    }
  }
}

void MayGraph::add_mutexes() {
  for (std::int32_t lock = 0; at(lock) < hosts_.size(); ++lock) {
    if (instruction_of(lock).code == Code::kLock) {
      add_lock(lock);
    }
  }
}

std::int32_t MayGraph::unlock_of(std::int32_t lock) const {
  for (std::int32_t host = lock + 1; at(host) < hosts_.size(); ++host) {
    const bool is_own = hosts_[at(host)].thread == hosts_[at(lock)].thread;
    if (is_own && instruction_of(host).code == Code::kUnlock &&
        instruction_of(host).object == instruction_of(lock).object) {
      return host;
    }
  }
  return kNone;
}

void MayGraph::add_lock(std::int32_t lock) {
  const std::int32_t unlock = unlock_of(lock);
  const std::int32_t held = mutex_node(lock);
  if (unlock != kNone) {
    must(held, unlock, WaitReason::kMutex);
  }
  for (std::int32_t other = 0; at(other) < hosts_.size(); ++other) {
    const std::int32_t before = hosts_[at(other)].before;
    const bool is_rival = other != lock && instruction_of(other).code == Code::kLock &&
                          instruction_of(other).object == instruction_of(lock).object;
    const bool is_over =
        unlock != kNone && before != kNone && (before == unlock || needs(before, unlock));
    if (!is_rival || is_over || needs(lock, other)) {
      continue;
    }
    may(other, held, WaitReason::kMutex);
    if (unlock == kNone) {
      found_.push_back({.kind = "never",
                        .explanation = {{.rank = rank_of(other),
                                         .operation = text_of(other),
                                         .holds = "",
                                         .waits_for = "a mutex that may never be unlocked"}},
                        .advice = advice_for({WaitReason::kMutex})});
    }
  }
}

bool MayGraph::can_be_in_the_way(std::int32_t other, std::int32_t device) const {
  return other != device && devices_[at(other)].rank == devices_[at(device)].rank &&
         !needs(node(other, Role::kStart), node(device, Role::kStart)) &&
         !needs(node(device, Role::kStart), node(other, Role::kEnd));
}

void MayGraph::add_shared_queues() {
  for (std::int32_t device = 0; at(device) < devices_.size(); ++device) {
    for (std::int32_t other = 0; at(other) < devices_.size(); ++other) {
      const bool is_shared = queue_of(other) == queue_of(device) &&
                             devices_[at(other)].thread != devices_[at(device)].thread;
      if (!is_shared || !can_be_in_the_way(other, device)) {
        continue;
      }
      may(node(device, Role::kStart), node(other, Role::kAhead), WaitReason::kQueue);
      if (instruction_of(devices_[at(other)]).stream ==
          instruction_of(devices_[at(device)]).stream) {
        may(node(device, Role::kStart), node(other, Role::kHold), WaitReason::kStream);
      }
    }
  }
}

std::vector<std::int32_t> MayGraph::rivals_of(std::int32_t device) const {
  std::vector<std::int32_t> rivals;
  for (std::int32_t other = 0; at(other) < devices_.size(); ++other) {
    if (kernel_of(other) != nullptr && can_be_in_the_way(other, device)) {
      rivals.push_back(other);
    }
  }
  return rivals;
}

bool MayGraph::fits_beside(std::int32_t device, const std::vector<std::int32_t>& rivals) const {
  // A stream has at most one kernel on the SMs: the one with the most CTAs stands for it, and in
  // its turn each other, since fewer CTAs may need more of something.
  std::map<std::int32_t, std::int32_t> largest;
  for (const std::int32_t rival : rivals) {
    const auto known = largest.emplace(instruction_of(devices_[at(rival)]).stream, rival).first;
    if (kernel_of(rival)->ctas > kernel_of(known->second)->ctas) {
      known->second = rival;
    }
  }
  return std::ranges::all_of(rivals, [&](std::int32_t rival) {
    std::map<std::int32_t, std::int32_t> present = largest;
    present[instruction_of(devices_[at(rival)]).stream] = rival;
    return fits_after(device, present);
  });
}

bool MayGraph::fits_after(std::int32_t device,
                          const std::map<std::int32_t, std::int32_t>& present) const {
  // Where CTAs come to lie depends on who came first.
  std::vector<std::int32_t> order;
  order.reserve(present.size());
  for (const auto& entry : present) {
    order.push_back(entry.second);
  }
  const Kernel& kernel = *kernel_of(device);
  const auto room_after = [&](const std::vector<std::int32_t>& items) {
    SmPool pool(program_.processor);
    for (const std::int32_t item : items) {
      pool.place(kernel_of(item)->demand, kernel_of(item)->ctas);
    }
    return pool.room(kernel.demand);
  };
  const std::int64_t upward = room_after(order);
  std::ranges::reverse(order);
  return std::min(upward, room_after(order)) >= kernel.ctas;
}

void MayGraph::add_room() {
  for (std::int32_t device = 0; at(device) < devices_.size(); ++device) {
    const Kernel* kernel = kernel_of(device);
    if (kernel == nullptr) {
      continue;
    }
    const std::vector<std::int32_t> rivals = rivals_of(device);
    const bool fits = fits_beside(device, rivals);
    for (const std::int32_t rival : rivals) {
      const bool excludes =
          kernel->exclusive != kNone && kernel_of(rival)->exclusive == kernel->exclusive;
      for (const Role role : {Role::kStart, Role::kAhead, Role::kGang}) {
        if (!fits || excludes) {
          may(node(device, role), node(rival, Role::kHold),
              fits ? WaitReason::kExclusive : WaitReason::kRoom);
        }
      }
    }
  }
}

void MayGraph::add_gangs() {
  if (!program_.waiting_gang_blocks_later_kernels) {
    return;
  }
  for (std::int32_t device = 0; at(device) < devices_.size(); ++device) {
    for (std::int32_t gang = 0; at(gang) < devices_.size(); ++gang) {
      const bool is_later = needs(devices_[at(gang)].host, devices_[at(device)].host);
      if (kernel_of(device) != nullptr && kernel_of(gang) != nullptr &&
          is_gang(kernel_of(gang)->kind) && !is_later && can_be_in_the_way(gang, device)) {
        may(node(device, Role::kStart), node(gang, Role::kGang), WaitReason::kGang);
        may(node(device, Role::kAhead), node(gang, Role::kGang), WaitReason::kGang);
      }
    }
  }
}

/// Two kernels whose CTAs come one by one can each have some and wait for the rest, if a third had
/// the room before and gave it back bit by bit.
void MayGraph::add_late_shares() {
  for (std::int32_t device = 0; at(device) < devices_.size(); ++device) {
    const Kernel* kernel = kernel_of(device);
    if (kernel == nullptr || kernel->kind != KernelKind::kRendezvous) {
      continue;
    }
    const std::vector<std::int32_t> rivals = rivals_of(device);
    if (rivals.size() < 2 || fits_beside(device, rivals)) {
      continue;
    }
    for (const std::int32_t rival : rivals) {
      if (meets_peers(kernel_of(rival)->kind)) {
        may(node(device, Role::kHold), node(rival, Role::kHold), WaitReason::kRoom);
      }
    }
  }
}

}  // namespace eplb::sim
