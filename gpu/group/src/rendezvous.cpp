#include "eplb/group/rendezvous.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "connection.hpp"
#include "hello.hpp"
#include "hub.hpp"

namespace eplb::group {
namespace {

/// The side of all others: one connection, to the hub.
class Spoke final : public Rendezvous {
 public:
  static Result<std::unique_ptr<Rendezvous>> join(const RendezvousOptions& options) {
    const Endpoint endpoint{.host = options.host, .port = options.port};
    Result<Connection> connection = connect_to(endpoint, Deadline::after_ms(options.deadline_ms));
    if (!connection) {
      return fail(connection.error().code,
                  "rank 0 cannot be reached: " + connection.error().message + " after " +
                      std::to_string(options.deadline_ms) + " ms");
    }
    std::unique_ptr<Spoke> spoke(new Spoke(std::move(*connection)));
    const Hello hello = hello_of(options);
    Result<Bytes> roster =
        spoke->ask(FrameKind::kHello, encode(hello), FrameKind::kRoster, options.deadline_ms);
    if (!roster) {
      return tl::unexpected(roster.error());
    }
    std::optional<std::vector<Member>> members = decode_members(*roster);
    if (!members) {
      return fail(ErrorCode::kInternal, "rank 0 sent a roster that cannot be read");
    }
    spoke->members_ = std::move(*members);
    const auto own = std::ranges::find(spoke->members_, hello.member.ranks, &Member::ranks);
    if (own == spoke->members_.end()) {
      return fail(ErrorCode::kInternal, "rank 0 sent a roster without this process");
    }
    spoke->own_index_ = static_cast<std::size_t>(own - spoke->members_.begin());
    return spoke;
  }

  [[nodiscard]] Result<std::vector<Bytes>> exchange(std::span<const std::byte> mine,
                                                    std::int64_t deadline_ms) override {
    const Result<Bytes> answer = ask(FrameKind::kGive, mine, FrameKind::kGather, deadline_ms);
    if (!answer) {
      return tl::unexpected(answer.error());
    }
    std::optional<std::vector<Bytes>> parts = decode_parts(*answer);
    if (!parts || parts->size() != members_.size()) {
      return fail(ErrorCode::kInternal, "rank 0 sent an exchange that cannot be read");
    }
    return std::move(*parts);
  }

 private:
  explicit Spoke(Connection connection) : connection_(std::move(connection)) {}

  /// The hub's own deadline comes first, so that it can name who is missing: it may have begun to
  /// wait later than this process.
  Result<Bytes> ask(FrameKind kind, std::span<const std::byte> body, FrameKind answer,
                    std::int64_t deadline_ms) {
    const Deadline deadline = Deadline::after_ms(2 * deadline_ms);
    const Result<void> sent = connection_.send(kind, body, deadline);
    Result<Frame> frame = connection_.receive(deadline);  // It may hold why nothing could be sent.
    if (!frame) {
      return fail(frame.error().code, frame.error().code == ErrorCode::kTimeout
                                          ? "rank 0 does not answer"
                                          : "rank 0 was lost");
    }
    if (frame->kind == FrameKind::kRefused) {
      return tl::unexpected(decode_error(frame->body));
    }
    if (!sent || frame->kind != answer) {
      return fail(ErrorCode::kInternal, "rank 0 sent something else than what was asked for");
    }
    return std::move(frame->body);
  }

  Connection connection_;
};

}  // namespace

Result<std::unique_ptr<Rendezvous>> Rendezvous::join(const RendezvousOptions& options) {
  const bool is_hub = std::ranges::find(options.ranks, RankId{0}) != options.ranks.end();
  return is_hub ? Hub::gather(options) : Spoke::join(options);
}

Result<void> Rendezvous::barrier(std::int64_t deadline_ms) {
  const Result<std::vector<Bytes>> all = exchange({}, deadline_ms);
  if (!all) {
    return tl::unexpected(all.error());
  }
  return {};
}

}  // namespace eplb::group
