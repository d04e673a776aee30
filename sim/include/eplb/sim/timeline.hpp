#pragma once

#include <compare>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace eplb::sim {

/// A row of a timeline.
struct TrackId {
  std::int32_t value = -1;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads a defaulted comparison.
  friend auto operator<=>(const TrackId&, const TrackId&) = default;
};

/// What happened and when, to be looked at: processes with tracks, slices and instants on them,
/// written in the trace-event format that Perfetto and chrome://tracing open.
class Timeline {
 public:
  using Arguments = std::vector<std::pair<std::string, std::string>>;

  /// Beyond `event_count_max` slices and instants the rest is left out, and the file says how many.
  explicit Timeline(std::size_t event_count_max = 1'000'000) : event_count_max_(event_count_max) {}

  /// The same names give the same track. Tracks stand in the order in which they were asked for,
  /// processes in that of their numbers.
  TrackId track(std::int32_t process, std::string_view process_name, std::string_view track_name);

  /// Slices of a track may nest; one that overlaps another only partly comes to a track beside it.
  /// The end is not before the begin.
  void slice(TrackId track, std::string_view name, std::string_view category, std::int64_t begin_ns,
             std::int64_t end_ns, Arguments arguments = {});

  void instant(TrackId track, std::string_view name, std::string_view category, std::int64_t at_ns,
               Arguments arguments = {});

  [[nodiscard]] std::size_t event_count() const { return events_.size(); }

  [[nodiscard]] std::int64_t left_out_count() const { return left_out_count_; }

  void write(std::ostream& out) const;

 private:
  struct Track {
    std::int32_t process;
    std::string process_name;
    std::string name;
  };

  struct Event {
    TrackId track;
    std::string name;
    std::string category;
    std::int64_t begin_ns;
    std::int64_t duration_ns;  ///< -1: an instant.
    Arguments arguments;
  };

  void add(Event event);

  std::size_t event_count_max_;
  std::vector<Track> tracks_;
  std::map<std::pair<std::int32_t, std::string>, TrackId, std::less<>> track_of_;
  std::vector<Event> events_;
  std::int64_t left_out_count_ = 0;
};

}  // namespace eplb::sim
