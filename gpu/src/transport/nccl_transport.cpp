#include "eplb/gpu/transport/nccl_transport.hpp"

#include <atomic>
#include <deque>
#include <exception>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "eplb/gpu/memory/device_entry.hpp"
#include "eplb/gpu/memory/exchange.hpp"
#include "eplb/gpu/memory/nccl_api.hpp"
#include "eplb/gpu/memory/nccl_communicator.hpp"
#include "eplb/gpu/stream.hpp"
#include "eplb/gpu/transport/timeline.hpp"

namespace eplb::gpu {
namespace {

constexpr std::size_t kSpareCommunicators = 7;

/// This rank's half of one tensor's way.
struct Half {
  RowPart part;
  std::int32_t peer = 0;
  bool sends = false;
};

struct Order {
  env::Ticket ticket;
  std::vector<Half> halves;
};

}  // namespace

struct NcclTransport::State {
  State(const DeviceMemory& device_memory, PeerGroup peer_group, const NcclApi& loaded,
        int with_max_ctas)
      : memory(device_memory),
        group(std::move(peer_group)),
        api(loaded),
        max_ctas(with_max_ctas),
        timeline({stream.get()}) {}

  State(const State&) = delete;
  State& operator=(const State&) = delete;
  State(State&&) = delete;
  State& operator=(State&&) = delete;

  ~State() {
    stops = true;
    if (renewal.joinable()) {
      renewal.join();
    }
  }

  [[nodiscard]] Result<NcclCommunicator> open_next() {
    const std::size_t index = next_id++;
    if (index >= ids.size()) {
      return fail(ErrorCode::kAborted, "all spare communicators of the NCCL transport are used up");
    }
    return NcclCommunicator::open(api, group, ids[index], {.max_ctas = max_ctas}, &stops);
  }

  [[nodiscard]] Result<std::vector<Half>> halves_of(std::span<const RowCopy> copies) const;

  [[nodiscard]] ncclResult_t launch(const Order& order) const {
    ncclResult_t code = api.group_start();
    for (const Half& half : order.halves) {
      if (code != ncclSuccess) {
        break;
      }
      const auto bytes = static_cast<std::size_t>(half.part.bytes);
      code = half.sends ? api.send(half.part.begin, bytes, ncclUint8, half.peer, communicator.get(),
                                   stream.get())
                        : api.recv(half.part.begin, bytes, ncclUint8, half.peer, communicator.get(),
                                   stream.get());
    }
    const ncclResult_t ended = api.group_end();
    return code == ncclSuccess ? ended : code;
  }

  /// Takes what NCCL has come to, and hands it the next order if it is free.
  void advance() {
    if (renewal.joinable() && !end_renewal()) {
      return;
    }
    while (!orders.empty() && !failure.has_value()) {
      const DeviceEntry entry(group.device);
      const ncclResult_t code = is_launching ? communicator.state() : launch(orders.front());
      is_launching = code == ncclInProgress;
      if (is_launching) {
        return;
      }
      if (code != ncclSuccess) {
        give_up(false);
        return;
      }
      timeline.mark(orders.front().ticket);
      orders.pop_front();
    }
  }

  void drop_orders() {
    timeline.fail_pending();
    orders.clear();
    failed_to = timeline.newest();
    is_told = false;
  }

  /// Ends as failed all that is unfinished, and goes on with the next communicator, if `renews`.
  /// Aborting waits for kernels to leave the device, and a new communicator for peers, so both are
  /// a thread's.
  void give_up(bool renews) {
    drop_orders();
    is_launching = false;
    aborted = false;
    renewed = false;
    renewal = std::thread([this, renews] {
      try {
        const DeviceEntry entry(group.device);
        { const NcclCommunicator ended = std::exchange(communicator, NcclCommunicator{}); }
        aborted = true;
        Result<NcclCommunicator> opened =
            renews ? open_next() : fail(ErrorCode::kDevice, "NCCL has failed");
        if (opened) {
          communicator = std::move(*opened);
        } else {
          failure = opened.error();
        }
      } catch (const std::exception& error) {
        failure = Error{
            .code = ErrorCode::kDevice, .message = error.what(), .site = {__FILE__, __LINE__}};
      }
      renewed = true;
    });
  }

  /// Whether it has ended. Tickets end as soon as no kernel can touch a row any more.
  bool end_renewal() {
    if (aborted && !is_told) {
      const DeviceEntry entry(group.device);
      timeline.mark(failed_to);
      is_told = true;
    }
    if (!renewed) {
      return false;
    }
    renewal.join();
    if (failure.has_value()) {
      timeline.break_off();
      return true;
    }
    if (renewals_due > 0) {
      --renewals_due;
      give_up(true);
      return false;
    }
    return true;
  }

  const DeviceMemory& memory;
  PeerGroup group;
  NcclApi api;
  int max_ctas;
  std::vector<ncclUniqueId> ids;
  std::size_t next_id = 0;
  Stream stream;
  Timeline timeline;
  NcclCommunicator communicator;
  std::deque<Order> orders;
  bool is_launching = false;  ///< The first order: NCCL has it and has not said what became of it.
  env::Ticket failed_to;      ///< The last ticket that a renewal ends.
  bool is_told = false;       ///< Its mark is appended.
  /// Cancels that came during a renewal. Ranks go through communicators one by one, so that those
  /// that are slower meet the others in the same one.
  int renewals_due = 0;
  std::optional<Error> failure;  ///< Why there is no communicator. Written by a renewal, and read
                                 ///< only after `renewed`.
  std::thread renewal;
  std::atomic<bool> aborted{false};
  std::atomic<bool> renewed{false};
  std::atomic<bool> stops{false};
};

Result<std::vector<Half>> NcclTransport::State::halves_of(std::span<const RowCopy> copies) const {
  const RankWeights& rows = memory.rows();
  std::vector<Half> halves;
  std::vector<RowPart> parts;
  for (const RowCopy& copy : copies) {
    const bool sends = copy.source.rank == rows.rank();
    const bool receives = copy.destination.rank == rows.rank();
    if (!sends && !receives) {
      continue;
    }
    if (sends && receives) {
      return fail(ErrorCode::kInvalidArgument, "a copy within a rank crosses no transport");
    }
    parts.clear();
    const Result<void> appended =
        rows.append_parts(sends ? copy.source : copy.destination, carried_layer(copy), parts);
    if (!appended) {
      return tl::unexpected(appended.error());
    }
    const std::int32_t peer = (sends ? copy.destination : copy.source).rank.value;
    halves.reserve(halves.size() + parts.size());
    for (const RowPart& part : parts) {
      halves.push_back({.part = part, .peer = peer, .sends = sends});
    }
  }
  return halves;
}

NcclTransport::NcclTransport(std::unique_ptr<State> state) : state_(std::move(state)) {}

NcclTransport::~NcclTransport() = default;

Result<std::unique_ptr<NcclTransport>> NcclTransport::create(const DeviceMemory& memory,
                                                             const PeerGroup& group,
                                                             const NcclTransportOptions& options) {
  const Result<NcclApi> api = NcclApi::load(options.library);
  if (Result<void> agreed = agree(group, api.map([](const NcclApi&) {})); !agreed) {
    return tl::unexpected(agreed.error());
  }
  const DeviceEntry entry(group.device);
  auto state = std::make_unique<State>(memory, group, *api, options.max_ctas);
  Result<std::vector<ncclUniqueId>> ids = shared_ids(*api, group, 1 + kSpareCommunicators);
  if (!ids) {
    return tl::unexpected(ids.error());
  }
  state->ids = std::move(*ids);
  Result<NcclCommunicator> opened = state->open_next();
  if (Result<void> agreed = agree(group, opened.map([](const NcclCommunicator&) {})); !agreed) {
    return tl::unexpected(agreed.error());
  }
  state->communicator = std::move(*opened);
  return std::unique_ptr<NcclTransport>(new NcclTransport(std::move(state)));
}

env::TransportTraits NcclTransport::traits() const {
  return {.side = env::TransferSide::kBoth, .uses_sms = true, .host_staged = false};
}

Result<env::Ticket> NcclTransport::start(std::span<const RowCopy> copies) {
  state_->advance();
  if (!state_->renewal.joinable() && state_->failure.has_value()) {
    return tl::unexpected(*state_->failure);
  }
  Result<std::vector<Half>> halves = state_->halves_of(copies);
  if (!halves) {
    return tl::unexpected(halves.error());
  }
  if (halves->empty()) {
    return env::Ticket{};
  }
  const env::Ticket ticket = state_->timeline.next();
  state_->orders.push_back({.ticket = ticket, .halves = std::move(*halves)});
  state_->advance();
  return ticket;
}

env::Completion NcclTransport::poll(env::Ticket ticket) const {
  state_->advance();
  return state_->timeline.poll(ticket);
}

void NcclTransport::cancel() {
  state_->advance();
  if (state_->renewal.joinable()) {
    state_->drop_orders();
    ++state_->renewals_due;
  } else if (!state_->failure.has_value()) {
    state_->give_up(true);
  }
}

void NcclTransport::check() {
  const DeviceEntry entry(state_->group.device);
  state_->timeline.check();
}

}  // namespace eplb::gpu
