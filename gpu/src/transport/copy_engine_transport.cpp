#include "eplb/gpu/transport/copy_engine_transport.hpp"

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "eplb/gpu/memory/device_entry.hpp"
#include "eplb/gpu/stream.hpp"
#include "eplb/gpu/transport/copy_batch.hpp"
#include "eplb/gpu/transport/timeline.hpp"

namespace eplb::gpu {
namespace {

/// Under a rate limit no batch is larger, since the host lets a whole batch go at once.
constexpr std::int64_t kLimitedBatchBytes = 8 << 20;

/// And what was not sent for want of a poll is made up for, as far as it is no longer ago.
constexpr std::int64_t kLimitedBurstNs = 250'000;

std::vector<Stream> open_streams(const CopyEngineOptions& options) {
  if (options.pieces_per_batch < 1 || options.stream_count < 1 || options.stream_count > 2 ||
      !(options.rate_limit_gb_per_s >= 0)) {
    throw std::invalid_argument(
        "copy engines take at least 1 piece a batch, 1 or 2 streams, and no negative rate limit");
  }
  const DeviceEntry entry(options.device);
  std::vector<Stream> streams(static_cast<std::size_t>(options.stream_count));
  return streams;
}

Timeline timeline_of(const CopyEngineOptions& options, const std::vector<Stream>& streams) {
  const DeviceEntry entry(options.device);
  std::vector<cudaStream_t> handles;
  handles.reserve(streams.size());
  for (const Stream& stream : streams) {
    handles.push_back(stream.get());
  }
  return Timeline(std::move(handles));
}

std::vector<CopyPiece> cut(const std::vector<CopyPiece>& pieces, std::int64_t bytes_max) {
  std::vector<CopyPiece> cut;
  cut.reserve(pieces.size());
  for (const CopyPiece& piece : pieces) {
    for (std::int64_t begin = 0; begin < piece.bytes; begin += bytes_max) {
      cut.push_back({.destination = piece.destination + begin,
                     .source = piece.source + begin,
                     .bytes = std::min(bytes_max, piece.bytes - begin)});
    }
  }
  return cut;
}

}  // namespace

struct CopyEngineTransport::State {
  /// A ticket's pieces, as far as they are not enqueued.
  struct Order {
    env::Ticket ticket;
    std::vector<CopyPiece> pieces;
    std::size_t next = 0;
  };

  State(const DeviceMemory& device_memory, const env::Clock& host_clock,
        const CopyEngineOptions& with_options)
      : memory(device_memory),
        clock(host_clock),
        options(with_options),
        streams(open_streams(with_options)),
        timeline(timeline_of(with_options, streams)) {}

  [[nodiscard]] bool is_limited() const { return options.rate_limit_gb_per_s > 0; }

  /// What goes out next: as many pieces as a batch has, and bytes as a limit allows.
  [[nodiscard]] std::span<const CopyPiece> next_batch(const Order& order) const {
    const std::span<const CopyPiece> left = std::span(order.pieces).subspan(order.next);
    const auto count_max = static_cast<std::size_t>(options.pieces_per_batch);
    std::size_t count = 0;
    std::int64_t bytes = 0;
    while (count < std::min(left.size(), count_max) &&
           (count == 0 || !is_limited() || bytes + left[count].bytes <= kLimitedBatchBytes)) {
      bytes += left[count].bytes;
      ++count;
    }
    return left.first(count);
  }

  /// Lets go what may go now. Returns what the driver said.
  cudaError_t advance() {
    if (orders.empty()) {
      return cudaSuccess;
    }
    const DeviceEntry entry(options.device);
    while (!orders.empty()) {
      Order& order = orders.front();
      while (order.next < order.pieces.size()) {
        const std::int64_t now_ns = clock.now_ns();
        if (is_limited() && now_ns < free_at_ns) {
          return cudaSuccess;
        }
        const cudaError_t status = send(next_batch(order), now_ns, order);
        if (status != cudaSuccess) {
          return status;
        }
      }
      timeline.mark(order.ticket);
      orders.pop_front();
    }
    return cudaSuccess;
  }

  cudaError_t send(std::span<const CopyPiece> pieces, std::int64_t now_ns, Order& order) {
    const cudaError_t status = batch.enqueue(pieces, streams[turn % streams.size()].get());
    ++turn;
    if (status != cudaSuccess) {
      return status;
    }
    order.next += pieces.size();
    if (is_limited()) {
      std::int64_t bytes = 0;
      for (const CopyPiece& piece : pieces) {
        bytes += piece.bytes;
      }
      // Bytes over 1e9 bytes a second are nanoseconds.
      const double cost_ns = static_cast<double>(bytes) / options.rate_limit_gb_per_s;
      free_at_ns =
          std::max(free_at_ns, now_ns - kLimitedBurstNs) + static_cast<std::int64_t>(cost_ns);
    }
    return cudaSuccess;
  }

  /// Ends as failed what is not enqueued, once the rest of its ticket has ended.
  void drop_orders() {
    for (const Order& order : orders) {
      timeline.fail(order.ticket);
      timeline.mark(order.ticket);
    }
    orders.clear();
  }

  const DeviceMemory& memory;
  const env::Clock& clock;
  CopyEngineOptions options;
  std::vector<Stream> streams;
  Timeline timeline;
  CopyBatch batch;
  std::deque<Order> orders;
  std::size_t turn = 0;
  std::int64_t free_at_ns = 0;
};

CopyEngineTransport::CopyEngineTransport(const DeviceMemory& memory, const env::Clock& clock,
                                         const CopyEngineOptions& options)
    : state_(std::make_unique<State>(memory, clock, options)) {}

CopyEngineTransport::~CopyEngineTransport() = default;

env::TransportTraits CopyEngineTransport::traits() const {
  return {.side = env::TransferSide::kSender, .uses_sms = false, .host_staged = false};
}

Result<env::Ticket> CopyEngineTransport::start(std::span<const RowCopy> copies) {
  const RankWeights& rows = state_->memory.rows();
  std::vector<CopyPiece> pieces;
  for (const RowCopy& copy : copies) {
    if (copy.source.rank != rows.rank()) {
      continue;  // Its sender pushes it.
    }
    if (const Result<void> appended = rows.append_pieces(copy, pieces); !appended) {
      return tl::unexpected(appended.error());
    }
  }
  if (pieces.empty()) {
    return env::Ticket{};
  }
  if (state_->is_limited()) {
    pieces = cut(pieces, kLimitedBatchBytes);
  }
  const env::Ticket ticket = state_->timeline.next();
  state_->orders.push_back({.ticket = ticket, .pieces = std::move(pieces)});
  const bool none_went_before = state_->orders.size() == 1;
  const cudaError_t status = state_->advance();
  if (status == cudaSuccess) {
    return ticket;
  }
  const bool none_went = none_went_before && state_->orders.front().next == 0;
  const DeviceEntry entry(state_->options.device);
  state_->drop_orders();
  if (none_went) {
    return fail(ErrorCode::kDevice,
                std::string("a batch of pushes was refused: ") + cudaGetErrorName(status));
  }
  // Some are under way, so that the ticket has to tell when they have ended.
  return ticket;
}

env::Completion CopyEngineTransport::poll(env::Ticket ticket) const {
  if (state_->advance() != cudaSuccess) {
    const DeviceEntry entry(state_->options.device);
    state_->drop_orders();
  }
  return state_->timeline.poll(ticket);
}

void CopyEngineTransport::cancel() {
  const DeviceEntry entry(state_->options.device);
  state_->drop_orders();
}

void CopyEngineTransport::check() {
  const DeviceEntry entry(state_->options.device);
  state_->timeline.check();
}

}  // namespace eplb::gpu
