#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

namespace eplb::gpu::test {

/// Calls `work(begin, end)` for ranges that make up [0, count), each on a thread of its own: a
/// reference of the host is slow, and its rows do not know of each other. `work` must not throw.
template <typename Work>
void for_ranges(std::size_t count, const Work& work) {
  constexpr std::size_t kRangeMin = 64;  // Less is done before a thread has started.
  const std::size_t thread_max = std::max(std::thread::hardware_concurrency(), 1U);
  const std::size_t range_count = std::clamp<std::size_t>(count / kRangeMin, 1, thread_max);
  std::vector<std::jthread> threads;
  threads.reserve(range_count);
  for (std::size_t range = 1; range < range_count; ++range) {
    threads.emplace_back(
        [&, range] { work(count * range / range_count, count * (range + 1) / range_count); });
  }
  work(std::size_t{0}, count / range_count);
}

}  // namespace eplb::gpu::test
