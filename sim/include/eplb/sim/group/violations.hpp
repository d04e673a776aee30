#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace eplb::sim {

/// A promise that the simulated world saw broken.
struct Violation {
  std::int64_t time_ns;
  std::string what;
};

/// Gathers them: what breaks first explains the rest.
class Violations {
 public:
  void add(std::int64_t time_ns, std::string what) {
    list_.push_back({.time_ns = time_ns, .what = std::move(what)});
  }

  [[nodiscard]] bool any() const { return !list_.empty(); }

  [[nodiscard]] const std::vector<Violation>& list() const { return list_; }

 private:
  std::vector<Violation> list_;
};

}  // namespace eplb::sim
