#include "eplb/gpu/run/serve_run.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>

#include "eplb/gpu/transport/host_staged_transport.hpp"
#include "eplb/group/shared_bytes.hpp"
#include "rank_run.hpp"

namespace eplb::gpu {
namespace {

static_assert(std::is_trivially_copyable_v<RankFigures>, "figures travel as they are");

/// For the processes to come together before and after the steps.
constexpr std::int64_t kExchangeMs = 60'000;

/// What became of a rank's thread.
struct RankEnd {
  Result<void> result = {};
  std::exception_ptr thrown = {};
};

/// Why this rank does not begin though it could. That a process was lost is known a little later
/// than that it does not answer.
std::string not_begun(const env::ControlPlane& plane) {
  constexpr int kLooks = 500;
  constexpr std::chrono::milliseconds kPause{1};
  for (int look = 0; look < kLooks; ++look) {
    if (const auto failure = plane.group_failure()) {
      return "before the first step: " + describe(*failure);
    }
    std::this_thread::sleep_for(kPause);
  }
  return "another rank could not begin";
}

void run_rank(RankRun& run, group::RankExchange& exchange, RankId rank, env::ControlPlane& plane,
              RankEnd& end) {
  try {
    end.result = run.prepare();
    const std::byte stands{static_cast<unsigned char>(end.result ? 1 : 0)};
    const auto all = exchange.gather(rank, {&stands, 1});
    const bool all_stand =
        !all.empty() && std::ranges::all_of(all, [](const std::vector<std::byte>& theirs) {
          return theirs == std::vector{std::byte{1}};
        });
    if (end.result && !all_stand) {
      end.result = fail(ErrorCode::kPeerFailed, not_begun(plane));
    }
    if (end.result) {
      end.result = run.serve();
    }
  } catch (...) {
    end.thrown = std::current_exception();
  }
  if (end.thrown || !end.result) {
    plane.end_group({.cause = FailureCause::kRankLost, .rank = rank});
  }
}

std::vector<std::byte> bytes_of(const RankFigures& figures) {
  std::vector<std::byte> bytes(sizeof(figures));
  std::memcpy(bytes.data(), &figures, sizeof(figures));
  return bytes;
}

}  // namespace

std::int64_t rank_bytes(const ServeOptions& options) {
  const std::int32_t landing_rows =
      options.eplb.landing_rows.value_or(default_landing_rows(options.shape));
  std::int64_t widest = 0;
  std::int64_t bytes = 0;
  for (const auto& tensors : options.tensor_bytes) {
    const std::int64_t width = row_width(tensors);
    widest = std::max(widest, width);
    bytes += width * options.shape.slots_per_rank();
  }
  return bytes + widest * landing_rows;
}

Result<ServeResult> serve(const ServeOptions& options, const ServeParts& parts) {
  std::vector<RankId> own;
  own.reserve(parts.ranks.size());
  for (const ServedRank& place : parts.ranks) {
    own.push_back(place.rank);
  }
  group::RankExchange exchange(parts.membership, own, kExchangeMs);
  std::unique_ptr<group::SharedBytes> staging;
  if (options.communicator == Communicator::kTorchGloo) {
    auto mapped = group::SharedBytes::map(
        parts.membership,
        HostStagedTransport::shared_bytes({.rank_count = options.shape.rank_count}), kExchangeMs);
    if (!mapped) {
      return tl::unexpected(mapped.error());
    }
    staging = std::move(*mapped);
  }
  std::vector<std::unique_ptr<RankRun>> runs;
  runs.reserve(own.size());
  for (const ServedRank& place : parts.ranks) {
    runs.push_back(std::make_unique<RankRun>(options, parts, place, exchange,
                                             staging ? staging->bytes() : std::span<std::byte>{}));
  }
  std::vector<RankEnd> ends(runs.size());
  {
    std::vector<std::jthread> threads;
    threads.reserve(runs.size());
    for (std::size_t index = 0; index < runs.size(); ++index) {
      threads.emplace_back([&, index] {
        run_rank(*runs[index], exchange, own[index], runs[index]->control_plane(), ends[index]);
      });
    }
  }
  for (const RankEnd& end : ends) {
    if (end.thrown) {
      std::rethrow_exception(end.thrown);
    }
    if (!end.result) {
      return tl::unexpected(end.result.error());
    }
  }
  ServeResult result;
  RankRun& first = *runs.front();
  result.step_ms = first.step_ms();
  result.balance = first.balance();
  result.rearrangements = first.rearrangements();
  result.wire_ns = first.wire_ns();
  result.wire_ns.resize(result.rearrangements.size());
  result.measured_s = first.measured_s();
  result.stop = first.stop_reason();
  if (result.stop) {
    for (const auto& run : runs) {
      result.ranks.push_back(run->figures());
    }
    return result;
  }
  std::vector<std::byte> joined;
  for (const auto& run : runs) {
    const std::vector<std::byte> bytes = bytes_of(run->figures());
    joined.insert(joined.end(), bytes.begin(), bytes.end());
  }
  const auto all = parts.membership.exchange(joined, kExchangeMs);
  if (!all) {
    return tl::unexpected(all.error());
  }
  for (const std::vector<std::byte>& bytes : *all) {
    for (std::size_t offset = 0; offset + sizeof(RankFigures) <= bytes.size();
         offset += sizeof(RankFigures)) {
      RankFigures figures;
      std::memcpy(&figures, bytes.data() + offset, sizeof(figures));
      result.ranks.push_back(figures);
    }
  }
  return result;
}

}  // namespace eplb::gpu
