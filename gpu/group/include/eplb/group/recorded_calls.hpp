#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "eplb/core/balancer.hpp"
#include "eplb/core/env/environment.hpp"
#include "eplb/core/layer_map.hpp"

namespace eplb::group {

enum class QueueName : std::uint8_t { kForward, kMigration };

/// The answer of a call that has none.
struct Nothing {
  friend bool operator==(const Nothing&, const Nothing&) = default;
};

/// Calls with all that they were given. Equal ones say the same, whatever objects they came in.
namespace call {

// The balancer's entries, as its owner makes them.

struct Create {
  using Answer = bool;
  static constexpr std::string_view kName = "Balancer::create";

  friend bool operator==(const Create&, const Create&) = default;
};

struct OnStep {
  using Answer = StepDecision;
  static constexpr std::string_view kName = "Balancer::on_step";

  StepKind kind = StepKind::kReal;

  friend bool operator==(const OnStep&, const OnStep&) = default;
};

struct Progress {
  using Answer = bool;
  static constexpr std::string_view kName = "Balancer::progress";

  friend bool operator==(const Progress&, const Progress&) = default;
};

struct Drain {
  using Answer = Nothing;
  static constexpr std::string_view kName = "Balancer::drain";

  friend bool operator==(const Drain&, const Drain&) = default;
};

struct Resume {
  using Answer = Nothing;
  static constexpr std::string_view kName = "Balancer::resume";

  friend bool operator==(const Resume&, const Resume&) = default;
};

struct ReleaseMemory {
  using Answer = Result<void>;
  static constexpr std::string_view kName = "Balancer::release_memory";

  friend bool operator==(const ReleaseMemory&, const ReleaseMemory&) = default;
};

struct ReserveMemory {
  using Answer = Result<void>;
  static constexpr std::string_view kName = "Balancer::reserve_memory";

  friend bool operator==(const ReserveMemory&, const ReserveMemory&) = default;
};

// What it asks of its environment meanwhile.

struct Now {
  using Answer = std::int64_t;
  static constexpr std::string_view kName = "Clock::now_ns";

  friend bool operator==(const Now&, const Now&) = default;
};

struct Copy {
  using Answer = Nothing;
  static constexpr std::string_view kName = "Queue::copy";

  QueueName queue = QueueName::kForward;
  std::vector<RowCopy> copies = {};

  friend bool operator==(const Copy&, const Copy&) = default;
};

struct Signal {
  using Answer = env::Ticket;
  static constexpr std::string_view kName = "Queue::signal";

  QueueName queue = QueueName::kForward;

  friend bool operator==(const Signal&, const Signal&) = default;
};

struct Wait {
  using Answer = Nothing;
  static constexpr std::string_view kName = "Queue::wait";

  QueueName queue = QueueName::kForward;
  QueueName other = QueueName::kForward;
  env::Ticket ticket = {};

  friend bool operator==(const Wait&, const Wait&) = default;
};

struct PollQueue {
  using Answer = env::Completion;
  static constexpr std::string_view kName = "Queue::poll";

  QueueName queue = QueueName::kForward;
  env::Ticket ticket = {};

  friend bool operator==(const PollQueue&, const PollQueue&) = default;
};

struct Reserve {
  using Answer = Result<void>;
  static constexpr std::string_view kName = "Memory::reserve";

  env::MemoryLayout layout = {};

  friend bool operator==(const Reserve& left, const Reserve& right);
};

struct Release {
  using Answer = Nothing;
  static constexpr std::string_view kName = "Memory::release";

  friend bool operator==(const Release&, const Release&) = default;
};

struct Traits {
  using Answer = env::TransportTraits;
  static constexpr std::string_view kName = "Transport::traits";

  friend bool operator==(const Traits&, const Traits&) = default;
};

struct Start {
  using Answer = Result<env::Ticket>;
  static constexpr std::string_view kName = "Transport::start";

  std::vector<RowCopy> copies = {};

  friend bool operator==(const Start&, const Start&) = default;
};

struct PollTransport {
  using Answer = env::Completion;
  static constexpr std::string_view kName = "Transport::poll";

  env::Ticket ticket = {};

  friend bool operator==(const PollTransport&, const PollTransport&) = default;
};

struct Cancel {
  using Answer = Nothing;
  static constexpr std::string_view kName = "Transport::cancel";

  friend bool operator==(const Cancel&, const Cancel&) = default;
};

struct Rank {
  using Answer = RankId;
  static constexpr std::string_view kName = "ControlPlane::rank";

  friend bool operator==(const Rank&, const Rank&) = default;
};

struct Post {
  using Answer = Nothing;
  static constexpr std::string_view kName = "ControlPlane::post";

  Status status = {};

  friend bool operator==(const Post&, const Post&) = default;
};

struct Find {
  using Answer = std::optional<Status>;
  static constexpr std::string_view kName = "ControlPlane::find";

  RankId rank = {};
  RoundKey key = {};

  friend bool operator==(const Find&, const Find&) = default;
};

struct PostRetired {
  using Answer = Nothing;
  static constexpr std::string_view kName = "ControlPlane::post_retired";

  std::int64_t rearrangement = 0;
  std::int32_t layers = 0;

  friend bool operator==(const PostRetired&, const PostRetired&) = default;
};

struct Retired {
  using Answer = std::int32_t;
  static constexpr std::string_view kName = "ControlPlane::retired";

  RankId rank = {};
  std::int64_t rearrangement = 0;

  friend bool operator==(const Retired&, const Retired&) = default;
};

struct PostHeartbeat {
  using Answer = Nothing;
  static constexpr std::string_view kName = "ControlPlane::post_heartbeat";

  friend bool operator==(const PostHeartbeat&, const PostHeartbeat&) = default;
};

struct Heard {
  using Answer = std::int64_t;
  static constexpr std::string_view kName = "ControlPlane::heard_ns";

  RankId rank = {};

  friend bool operator==(const Heard&, const Heard&) = default;
};

struct StartSum {
  using Answer = Nothing;
  static constexpr std::string_view kName = "ControlPlane::start_sum";

  env::SumKey key = {};
  std::vector<double> values = {};

  friend bool operator==(const StartSum&, const StartSum&) = default;
};

struct TakeSum {
  using Answer = std::shared_ptr<const std::vector<double>>;
  static constexpr std::string_view kName = "ControlPlane::try_take_sum";

  env::SumKey key = {};

  friend bool operator==(const TakeSum&, const TakeSum&) = default;
};

struct EndGroup {
  using Answer = Nothing;
  static constexpr std::string_view kName = "ControlPlane::end_group";

  Failure failure = {};

  friend bool operator==(const EndGroup&, const EndGroup&) = default;
};

struct GroupFailure {
  using Answer = std::optional<Failure>;
  static constexpr std::string_view kName = "ControlPlane::group_failure";

  friend bool operator==(const GroupFailure&, const GroupFailure&) = default;
};

struct CountsHere {
  using Answer = bool;
  static constexpr std::string_view kName = "LoadRecorder::counts_here";

  friend bool operator==(const CountsHere&, const CountsHere&) = default;
};

struct SetRecording {
  using Answer = Nothing;
  static constexpr std::string_view kName = "LoadRecorder::set_recording";

  bool recording = false;

  friend bool operator==(const SetRecording&, const SetRecording&) = default;
};

struct ClosePass {
  using Answer = Nothing;
  static constexpr std::string_view kName = "LoadRecorder::close_pass";

  std::int64_t step = 0;
  env::PassUse use = {};

  friend bool operator==(const ClosePass& left, const ClosePass& right);
};

struct TakePass {
  using Answer = std::optional<env::RecordedPass>;
  static constexpr std::string_view kName = "LoadRecorder::try_take";

  friend bool operator==(const TakePass&, const TakePass&) = default;
};

struct Publish {
  using Answer = Nothing;
  static constexpr std::string_view kName = "MapPublisher::publish";

  LayerId layer = {};
  std::shared_ptr<const LayerMap> map = {};
  env::PlacementEpoch epoch = 0;

  friend bool operator==(const Publish& left, const Publish& right);
};

struct Submit {
  using Answer = Nothing;
  static constexpr std::string_view kName = "Planner::submit";

  std::shared_ptr<const PlanRequest> request = {};

  friend bool operator==(const Submit& left, const Submit& right);
};

struct PollPlan {
  using Answer = std::optional<env::PlanAnswer>;
  static constexpr std::string_view kName = "Planner::poll";

  friend bool operator==(const PollPlan&, const PollPlan&) = default;
};

struct Record {
  using Answer = Nothing;
  static constexpr std::string_view kName = "TraceSink::record";

  env::TraceRecord record = {};

  friend bool operator==(const Record& left, const Record& right);
};

struct Fires {
  using Answer = bool;
  static constexpr std::string_view kName = "FaultPoints::fires";

  env::FaultPoint point = env::FaultPoint::kOneRowBatches;

  friend bool operator==(const Fires&, const Fires&) = default;
};

struct FiresAlike {
  using Answer = bool;
  static constexpr std::string_view kName = "FaultPoints::fires_alike";

  env::FaultPoint point = env::FaultPoint::kOneRowBatches;
  std::int64_t occasion = 0;

  friend bool operator==(const FiresAlike&, const FiresAlike&) = default;
};

}  // namespace call

/// A call and what came back.
template <typename Call>
struct Made {
  Call call;
  typename Call::Answer answer = {};
};

using RecordedCall = std::variant<
    Made<call::Create>, Made<call::OnStep>, Made<call::Progress>, Made<call::Drain>,
    Made<call::Resume>, Made<call::ReleaseMemory>, Made<call::ReserveMemory>, Made<call::Now>,
    Made<call::Copy>, Made<call::Signal>, Made<call::Wait>, Made<call::PollQueue>,
    Made<call::Reserve>, Made<call::Release>, Made<call::Traits>, Made<call::Start>,
    Made<call::PollTransport>, Made<call::Cancel>, Made<call::Rank>, Made<call::Post>,
    Made<call::Find>, Made<call::PostRetired>, Made<call::Retired>, Made<call::PostHeartbeat>,
    Made<call::Heard>, Made<call::StartSum>, Made<call::TakeSum>, Made<call::EndGroup>,
    Made<call::GroupFailure>, Made<call::CountsHere>, Made<call::SetRecording>,
    Made<call::ClosePass>, Made<call::TakePass>, Made<call::Publish>, Made<call::Submit>,
    Made<call::PollPlan>, Made<call::Record>, Made<call::Fires>, Made<call::FiresAlike>>;

/// In the order in which a rank made them; an entry stands before the calls that it led to. A deque
/// since answers are handed out by address while more are added.
using RecordedCalls = std::deque<RecordedCall>;

}  // namespace eplb::group
