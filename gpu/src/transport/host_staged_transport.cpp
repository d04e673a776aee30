#include "eplb/gpu/transport/host_staged_transport.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "eplb/gpu/error.hpp"
#include "eplb/gpu/memory/device_entry.hpp"
#include "eplb/gpu/stream.hpp"
#include "eplb/gpu/transport/timeline.hpp"
#include "host_mailbox.hpp"
#include "staged_orders.hpp"

namespace eplb::gpu {
namespace {

MailboxShape shape_of(const HostStagedOptions& options) {
  return {.chunk_bytes = options.chunk_bytes, .slot_count = options.chunks_in_flight};
}

Result<void> check_options(const HostStagedOptions& options, std::span<const std::byte> shared) {
  constexpr std::int64_t kPageBytes = 4096;
  if (options.rank_count < 1 || options.chunk_bytes < kPageBytes ||
      options.chunk_bytes % kPageBytes != 0 || options.chunks_in_flight < 1 ||
      options.chunks_in_flight > HostMailbox::kSlotsMax) {
    return fail(
        ErrorCode::kInvalidArgument,
        "host staging takes at least 1 rank, chunks of a multiple of 4096 bytes, and 1 to " +
            std::to_string(HostMailbox::kSlotsMax) + " of them under way");
  }
  const std::int64_t needed = HostStagedTransport::shared_bytes(options);
  if (std::cmp_not_equal(shared.size(), needed)) {
    return fail(ErrorCode::kInvalidArgument, "host staging needs " + std::to_string(needed) +
                                                 " bytes of shared memory, got " +
                                                 std::to_string(shared.size()));
  }
  return {};
}

/// Keeps memory pinned, unless another rank of this process does so already.
class PinnedRange {
 public:
  [[nodiscard]] cudaError_t pin(std::span<std::byte> memory) {
    const cudaError_t status =
        cudaHostRegister(memory.data(), memory.size(), cudaHostRegisterPortable);
    if (status == cudaErrorHostMemoryAlreadyRegistered) {
      static_cast<void>(cudaGetLastError());
      return cudaSuccess;
    }
    pinned_ =
        UniqueHandle<void*, cudaHostUnregister>(status == cudaSuccess ? memory.data() : nullptr);
    return status;
  }

 private:
  UniqueHandle<void*, cudaHostUnregister> pinned_;
};

struct Chunk {
  std::byte* device = nullptr;
  std::int64_t bytes = 0;
  env::Ticket order;
};

struct FlyingChunk {
  env::Ticket copied;  ///< On the timeline of its direction.
  env::Ticket order;
};

/// One direction between this rank and a peer.
struct Channel {
  HostMailbox mailbox;
  std::deque<Chunk> waiting;
  std::deque<FlyingChunk> flying;
  std::uint64_t next = 0;   ///< The chunk of the ring that is copied next.
  std::uint64_t ended = 0;  ///< Those before have been published or given back.
};

void append_chunks(const std::vector<RowPart>& parts, std::int64_t chunk_bytes,
                   std::vector<Chunk>& chunks) {
  for (const RowPart& part : parts) {
    for (std::int64_t begin = 0; begin < part.bytes; begin += chunk_bytes) {
      chunks.push_back({.device = part.begin + begin,
                        .bytes = std::min(chunk_bytes, part.bytes - begin),
                        .order = {}});
    }
  }
}

}  // namespace

struct HostStagedTransport::State {
  State(const DeviceMemory& device_memory, RankId own_rank, std::span<std::byte> shared,
        const HostStagedOptions& with_options)
      : memory(device_memory),
        rank(own_rank),
        options(with_options),
        out_timeline({out_stream.get()}),
        in_timeline({in_stream.get()}) {
    const std::int64_t mailbox_bytes = HostMailbox::bytes(shape_of(options));
    const auto mailbox = [&](std::int32_t from, std::int32_t to) {
      const std::int64_t index = std::int64_t{from} * options.rank_count + to;
      return HostMailbox(shared.data() + index * mailbox_bytes, shape_of(options));
    };
    for (std::int32_t peer = 0; peer < options.rank_count; ++peer) {
      out.push_back({.mailbox = mailbox(rank.value, peer), .waiting = {}, .flying = {}});
      in.push_back({.mailbox = mailbox(peer, rank.value), .waiting = {}, .flying = {}});
    }
  }

  /// What each peer's channels get of some copies, by peer: first those that go out.
  struct Halves {
    std::vector<std::vector<Chunk>> out;
    std::vector<std::vector<Chunk>> in;
    std::int64_t chunk_count = 0;
  };

  [[nodiscard]] Result<Halves> halves_of(std::span<const RowCopy> copies) const;

  /// Whether the copy was enqueued; else the device has given up.
  bool copy(std::byte* to, const std::byte* from, const Chunk& chunk, Channel& channel,
            cudaStream_t stream, Timeline& timeline) {
    const auto bytes = static_cast<std::size_t>(chunk.bytes);
    if (cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream) != cudaSuccess) {
      orders.break_off();
      return false;
    }
    const env::Ticket copied = timeline.next();
    timeline.mark(copied);
    channel.flying.push_back({.copied = copied, .order = chunk.order});
    ++channel.next;
    channel.waiting.pop_front();
    return true;
  }

  /// Ends flying chunks whose copies are done, in order. Returns whether any has ended.
  bool end_flying(Channel& channel, const Timeline& timeline) {
    const std::uint64_t before = channel.ended;
    while (!channel.flying.empty()) {
      const FlyingChunk& chunk = channel.flying.front();
      const env::Completion completion = timeline.poll(chunk.copied);
      if (completion == env::Completion::kPending) {
        break;
      }
      if (completion == env::Completion::kFailed) {
        orders.break_off();
        break;
      }
      orders.end_chunk(chunk.order, false);
      channel.flying.pop_front();
      ++channel.ended;
    }
    return channel.ended != before;
  }

  void advance_out(Channel& channel) {
    if (end_flying(channel, out_timeline)) {
      channel.mailbox.publish(channel.ended);
    }
    while (!channel.waiting.empty() && channel.mailbox.has_room(channel.next)) {
      const Chunk& chunk = channel.waiting.front();
      channel.mailbox.set_generation(channel.next, generation);
      if (!copy(channel.mailbox.content(channel.next), chunk.device, chunk, channel,
                out_stream.get(), out_timeline)) {
        return;
      }
    }
  }

  void advance_in(Channel& channel) {
    if (end_flying(channel, in_timeline)) {
      channel.mailbox.give_back(channel.ended);
    }
    while (channel.mailbox.is_published(channel.next)) {
      const std::uint64_t of_sender = channel.mailbox.generation(channel.next);
      if (of_sender < generation && channel.flying.empty()) {
        channel.mailbox.give_back(++channel.next);
        channel.ended = channel.next;
        continue;
      }
      if (of_sender != generation || channel.waiting.empty()) {
        return;
      }
      const Chunk& chunk = channel.waiting.front();
      if (!copy(chunk.device, channel.mailbox.content(channel.next), chunk, channel,
                in_stream.get(), in_timeline)) {
        return;
      }
    }
  }

  void advance() {
    if (orders.is_broken()) {
      return;
    }
    const DeviceEntry entry(options.device);
    for (Channel& channel : out) {
      advance_out(channel);
    }
    for (Channel& channel : in) {
      advance_in(channel);
    }
  }

  void drop_waiting(std::vector<Channel>& channels) {
    for (Channel& channel : channels) {
      for (const Chunk& chunk : channel.waiting) {
        orders.end_chunk(chunk.order, true);
      }
      channel.waiting.clear();
    }
  }

  void enqueue(const std::vector<std::vector<Chunk>>& chunks, env::Ticket ticket,
               std::vector<Channel>& channels) {
    for (std::size_t peer = 0; peer < channels.size(); ++peer) {
      for (Chunk chunk : chunks[peer]) {
        chunk.order = ticket;
        channels[peer].waiting.push_back(chunk);
      }
    }
  }

  const DeviceMemory& memory;
  RankId rank;
  HostStagedOptions options;
  PinnedRange pinned;
  Stream out_stream;
  Stream in_stream;
  Timeline out_timeline;
  Timeline in_timeline;
  StagedOrders orders;
  std::vector<Channel> out;  ///< By peer; this rank's own stay empty.
  std::vector<Channel> in;
  std::uint64_t generation = 0;
};

Result<HostStagedTransport::State::Halves> HostStagedTransport::State::halves_of(
    std::span<const RowCopy> copies) const {
  const RankWeights& rows = memory.rows();
  Halves halves;
  halves.out.resize(out.size());
  halves.in.resize(in.size());
  std::vector<RowPart> parts;
  for (const RowCopy& copy : copies) {
    const bool sends = copy.source.rank == rank;
    if (!sends && copy.destination.rank != rank) {
      continue;
    }
    const RankId peer = sends ? copy.destination.rank : copy.source.rank;
    if (peer == rank || peer.value < 0 || peer.index() >= out.size()) {
      return fail(ErrorCode::kInvalidArgument,
                  "no copy between rank " + std::to_string(rank.value) + " and rank " +
                      std::to_string(peer.value) + " is staged through the host");
    }
    parts.clear();
    const Result<void> appended =
        rows.append_parts(sends ? copy.source : copy.destination, carried_layer(copy), parts);
    if (!appended) {
      return tl::unexpected(appended.error());
    }
    append_chunks(parts, options.chunk_bytes, (sends ? halves.out : halves.in)[peer.index()]);
  }
  for (std::size_t peer = 0; peer < out.size(); ++peer) {
    halves.chunk_count +=
        static_cast<std::int64_t>(halves.out[peer].size() + halves.in[peer].size());
  }
  return halves;
}

HostStagedTransport::HostStagedTransport(std::unique_ptr<State> state) : state_(std::move(state)) {}

HostStagedTransport::~HostStagedTransport() = default;

std::int64_t HostStagedTransport::shared_bytes(const HostStagedOptions& options) {
  return HostMailbox::bytes(shape_of(options)) * options.rank_count * options.rank_count;
}

Result<std::unique_ptr<HostStagedTransport>> HostStagedTransport::create(
    const DeviceMemory& memory, RankId rank, std::span<std::byte> shared,
    const HostStagedOptions& options) {
  if (const Result<void> checked = check_options(options, shared); !checked) {
    return tl::unexpected(checked.error());
  }
  const DeviceEntry entry(options.device);
  auto state = std::make_unique<State>(memory, rank, shared, options);
  if (const cudaError_t status = state->pinned.pin(shared); status != cudaSuccess) {
    return fail(ErrorCode::kUnsupported,
                std::string("shared memory cannot be pinned: ") + cudaGetErrorName(status));
  }
  return std::unique_ptr<HostStagedTransport>(new HostStagedTransport(std::move(state)));
}

env::TransportTraits HostStagedTransport::traits() const {
  return {.side = env::TransferSide::kBoth, .uses_sms = false, .host_staged = true};
}

Result<env::Ticket> HostStagedTransport::start(std::span<const RowCopy> copies) {
  if (state_->orders.is_broken()) {
    return fail(ErrorCode::kDevice, "the device of a host-staged transport has failed");
  }
  const Result<State::Halves> halves = state_->halves_of(copies);
  if (!halves) {
    return tl::unexpected(halves.error());
  }
  if (halves->chunk_count == 0) {
    return env::Ticket{};
  }
  const env::Ticket ticket = state_->orders.open(halves->chunk_count);
  state_->enqueue(halves->out, ticket, state_->out);
  state_->enqueue(halves->in, ticket, state_->in);
  state_->advance();
  return ticket;
}

env::Completion HostStagedTransport::poll(env::Ticket ticket) const {
  state_->advance();
  return state_->orders.poll(ticket);
}

void HostStagedTransport::cancel() {
  state_->drop_waiting(state_->out);
  state_->drop_waiting(state_->in);
  ++state_->generation;
}

void HostStagedTransport::check() {
  const DeviceEntry entry(state_->options.device);
  state_->out_timeline.check();
  state_->in_timeline.check();
  state_->advance();
}

}  // namespace eplb::gpu
