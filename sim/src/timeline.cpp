#include "eplb/sim/timeline.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>

#include "eplb/core/assert.hpp"

namespace eplb::sim {
namespace {

/// Tracks beside a track, for slices that overlap, are numbered from here on within a process.
constexpr std::int32_t kLanesPerTrack = 1000;

/// The format counts microseconds; nanoseconds are its decimals.
std::string us_text(std::int64_t ns) {
  return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}

/// A JSON string with its quotes; bytes that are no UTF-8 are replaced.
std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Ends of the slices that are open at a moment, innermost last.
using Lane = std::vector<std::int64_t>;

/// Finds, or opens, a lane in which a slice nests or stands free. Slices come in order of begins,
/// of longer ones first.
std::size_t lane_for(std::vector<Lane>& lanes, std::int64_t begin_ns, std::int64_t end_ns) {
  for (std::size_t index = 0; index < lanes.size(); ++index) {
    Lane& open = lanes[index];
    while (!open.empty() && open.back() <= begin_ns) {
      open.pop_back();
    }
    if (open.empty() || end_ns <= open.back()) {
      open.push_back(end_ns);
      return index;
    }
  }
  lanes.push_back({end_ns});
  return lanes.size() - 1;
}

}  // namespace

TrackId Timeline::track(std::int32_t process, std::string_view process_name,
                        std::string_view track_name) {
  const auto [found, is_new] = track_of_.try_emplace(
      {process, std::string(track_name)}, TrackId{static_cast<std::int32_t>(tracks_.size())});
  if (is_new) {
    tracks_.push_back({.process = process,
                       .process_name = std::string(process_name),
                       .name = std::string(track_name)});
  }
  return found->second;
}

void Timeline::add(Event event) {
  if (events_.size() >= event_count_max_) {
    ++left_out_count_;
  } else {
    events_.push_back(std::move(event));
  }
}

void Timeline::slice(TrackId track, std::string_view name, std::string_view category,
                     std::int64_t begin_ns, std::int64_t end_ns, Arguments arguments) {
  EPLB_ASSERT_OP(begin_ns, <=, end_ns);
  add({.track = track,
       .name = std::string(name),
       .category = std::string(category),
       .begin_ns = begin_ns,
       .duration_ns = end_ns - begin_ns,
       .arguments = std::move(arguments)});
}

void Timeline::instant(TrackId track, std::string_view name, std::string_view category,
                       std::int64_t at_ns, Arguments arguments) {
  add({.track = track,
       .name = std::string(name),
       .category = std::string(category),
       .begin_ns = at_ns,
       .duration_ns = -1,
       .arguments = std::move(arguments)});
}

void Timeline::write(std::ostream& out) const {
  std::vector<std::size_t> order(events_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t left, std::size_t right) {
    const Event& a = events_[left];
    const Event& b = events_[right];
    return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.duration_ns > b.duration_ns;
  });
  std::vector<std::vector<Lane>> lanes(tracks_.size(), std::vector<Lane>(1));
  std::string_view separator = "";
  const auto line = [&](const std::string& text) {
    out << separator << "\n" << text;
    separator = ",";
  };
  const auto thread = [&](TrackId track, std::size_t lane) {
    return track.value * kLanesPerTrack + static_cast<std::int32_t>(lane) + 1;
  };
  out << R"({"displayTimeUnit": "ns", "otherData": {"events_left_out": ")" << left_out_count_
      << R"("}, "traceEvents": [)";
  for (const std::size_t index : order) {
    const Event& event = events_[index];
    const auto track = static_cast<std::size_t>(event.track.value);
    const bool is_slice = event.duration_ns >= 0;
    const std::size_t lane =
        is_slice ? lane_for(lanes[track], event.begin_ns, event.begin_ns + event.duration_ns) : 0;
    EPLB_ASSERT(lane < static_cast<std::size_t>(kLanesPerTrack));
    std::string arguments;
    for (const auto& [key, value] : event.arguments) {
      arguments += fmt::format("{}{}: {}", arguments.empty() ? "" : ", ", json_string(key),
                               json_string(value));
    }
    const std::string kind =
        is_slice ? fmt::format(R"("ph": "X", "dur": {})", us_text(event.duration_ns))
                 : R"("ph": "i", "s": "t")";
    line(fmt::format(R"({{"name": {}, "cat": {}, {}, "ts": {}, "pid": {}, "tid": {}, )",
                     json_string(event.name), json_string(event.category), kind,
                     us_text(event.begin_ns), tracks_[track].process, thread(event.track, lane)) +
         R"("args": {)" + arguments + "}}");
  }
  const auto metadata = [&](std::string_view what, std::int32_t process, std::int32_t thread_id,
                            const std::string& key, const std::string& value) {
    line(fmt::format(
        R"({{"name": "{}", "ph": "M", "ts": 0, "pid": {}, "tid": {}, "args": {{"{}": {}}}}})", what,
        process, thread_id, key, value));
  };
  std::map<std::int32_t, std::string> processes;
  for (std::size_t track = 0; track < tracks_.size(); ++track) {
    const Track& of = tracks_[track];
    processes.emplace(of.process, of.process_name);
    for (std::size_t lane = 0; lane < lanes[track].size(); ++lane) {
      const std::int32_t id = thread({static_cast<std::int32_t>(track)}, lane);
      const std::string name = lane == 0 ? of.name : fmt::format("{} ({})", of.name, lane + 1);
      metadata("thread_name", of.process, id, "name", json_string(name));
      metadata("thread_sort_index", of.process, id, "sort_index", std::to_string(id));
    }
  }
  for (const auto& [process, name] : processes) {
    metadata("process_name", process, 0, "name", json_string(name));
    metadata("process_sort_index", process, 0, "sort_index", std::to_string(process));
  }
  out << "\n]}\n";
}

}  // namespace eplb::sim
