#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "may_graph.hpp"
#include "shortest_circle.hpp"

namespace eplb::sim {
namespace {

/// A reader does not go through more, and the first are the shortest.
constexpr std::size_t kHazardsMax = 16;

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

std::string key_of(const Hazard& hazard) {
  std::set<std::string> parts;
  for (const Wait& wait : hazard.explanation) {
    parts.insert(fmt::format("{} {}", wait.rank, wait.operation));
  }
  std::string key = hazard.kind;
  for (const std::string& part : parts) {
    key += "|" + part;
  }
  return key;
}

}  // namespace

std::vector<Hazard> MayGraph::hazards() const {
  std::vector<std::vector<std::int32_t>> successors(edges_.size());
  for (std::size_t from = 0; from < edges_.size(); ++from) {
    for (const Edge& edge : edges_[from]) {
      successors[from].push_back(edge.to);
    }
  }
  const std::vector<std::int32_t> components = components_of(successors);
  std::vector<std::vector<std::int32_t>> inner(edges_.size());
  for (std::size_t from = 0; from < edges_.size(); ++from) {
    for (const std::int32_t to : successors[from]) {
      if (components[from] == components[at(to)]) {
        inner[from].push_back(to);
      }
    }
  }
  std::vector<std::vector<std::int32_t>> circles;
  if (std::vector<std::int32_t> least = shortest_circle(inner); !least.empty()) {
    circles.push_back(std::move(least));
  }
  for (std::int32_t from = 0; at(from) < edges_.size(); ++from) {
    for (const Edge& edge : edges_[at(from)]) {
      if (!edge.is_free || components[at(from)] != components[at(edge.to)]) {
        continue;
      }
      std::vector<std::int32_t> path = shortest_path(inner, edge.to, from);
      if (!path.empty()) {
        circles.push_back(std::move(path));
      }
    }
  }
  std::ranges::stable_sort(circles, {}, &std::vector<std::int32_t>::size);
  std::vector<Hazard> hazards;
  std::set<std::string> known;
  const auto add = [&](Hazard hazard) {
    if (hazards.size() < kHazardsMax && known.insert(key_of(hazard)).second) {
      hazards.push_back(std::move(hazard));
    }
  };
  for (const std::vector<std::int32_t>& circle : circles) {
    add(hazard_of(circle));
  }
  for (const Hazard& hazard : found_) {
    add(hazard);
  }
  return hazards;
}

const MayGraph::Edge& MayGraph::edge(std::int32_t from, std::int32_t to) const {
  return *std::ranges::find(edges_[at(from)], to, &Edge::to);
}

/// What the node belongs to: a thread, or a device operation, which is counted after the threads.
std::int32_t MayGraph::owner_of(std::int32_t node) const {
  const auto host_count = static_cast<std::int32_t>(hosts_.size());
  const std::int32_t first_mutex = mutex_node(0);
  if (node < host_count) {
    return hosts_[at(node)].thread;
  }
  if (node >= first_mutex) {
    return hosts_[at(node - first_mutex)].thread;
  }
  const std::int32_t role_count = (this->node(1, Role::kStart) - this->node(0, Role::kStart));
  return static_cast<std::int32_t>(program_.threads.size()) + (node - host_count) / role_count;
}

std::int32_t MayGraph::rank_of(std::int32_t node) const {
  const std::int32_t owner = owner_of(node);
  const auto thread_count = static_cast<std::int32_t>(program_.threads.size());
  return owner < thread_count ? program_.threads[at(owner)].rank
                              : devices_[at(owner - thread_count)].rank;
}

std::string MayGraph::text_of(std::int32_t node) const {
  const std::int32_t owner = owner_of(node);
  const auto thread_count = static_cast<std::int32_t>(program_.threads.size());
  if (owner >= thread_count) {
    return device_op_text(program_, instruction_of(devices_[at(owner - thread_count)]));
  }
  const std::int32_t first_mutex = mutex_node(0);
  const std::int32_t host = node >= first_mutex ? node - first_mutex : node;
  return fmt::format("thread {} ({})", program_.threads[at(owner)].name,
                     host_op_text(program_, instruction_of(host)));
}

std::string MayGraph::holds_of(std::int32_t node) const {
  const std::int32_t first_mutex = mutex_node(0);
  if (node >= first_mutex) {
    return fmt::format("mutex {}",
                       program_.mutexes[at(instruction_of(node - first_mutex).object)].name);
  }
  const std::int32_t owner = owner_of(node) - static_cast<std::int32_t>(program_.threads.size());
  if (owner >= 0 && node == this->node(owner, Role::kHold) && kernel_of(owner) != nullptr) {
    return "room on the SMs";
  }
  return "";
}

Hazard MayGraph::hazard_of(const std::vector<std::int32_t>& circle) const {
  // A circle passes through several moments of one operation or thread; each is told once, from
  // where the circle enters it.
  std::vector<std::int32_t> turned = circle;
  const auto size = circle.size();
  for (std::size_t index = 0; index < size; ++index) {
    if (owner_of(circle[index]) != owner_of(circle[(index + size - 1) % size])) {
      std::rotate(turned.begin(), turned.begin() + static_cast<std::ptrdiff_t>(index),
                  turned.end());
      break;
    }
  }
  Hazard hazard{.kind = "order", .explanation = {}, .advice = {}};
  std::vector<WaitReason> reasons;
  std::string holds;
  for (std::size_t index = 0; index < size; ++index) {
    const std::int32_t from = turned[index];
    const std::int32_t to = turned[(index + 1) % size];
    holds = holds.empty() ? holds_of(from) : holds;
    if (owner_of(from) == owner_of(to) && size > 1 && index + 1 < size) {
      continue;
    }
    // The thread that is entered is told by where it stands, not by what it does later.
    std::size_t last = (index + 1) % size;
    while (last + 1 < size && owner_of(turned[last + 1]) == owner_of(to)) {
      ++last;
    }
    const WaitReason reason = edge(from, to).reason;
    reasons.push_back(reason);
    if (reason == WaitReason::kMutex) {
      hazard.kind = "mutex";
    }
    hazard.explanation.push_back(
        {.rank = rank_of(from),
         .operation = text_of(from),
         .holds = holds,
         .waits_for = fmt::format("{} on rank {}", text_of(turned[last]), rank_of(to))});
    holds.clear();
  }
  hazard.advice = advice_for(reasons);
  return hazard;
}

std::vector<Hazard> find_hazards(const Program& program) {
  if (!problems_of(program).empty()) {
    return {};
  }
  const CompiledProgram compiled = compile(program);
  return MayGraph(compiled).hazards();
}

}  // namespace eplb::sim
