#include <exception>
#include <string>
#include <utility>

#include "call_environment.hpp"
#include "eplb/group/recording.hpp"

namespace eplb::group {
namespace {

std::string_view name_of(const RecordedCall& recorded) {
  return std::visit([]<typename Call>(const Made<Call>& /*made*/) { return Call::kName; },
                    recorded);
}

/// Leaves the balancer's entry, since no answer to its call is known.
class Difference final : public std::exception {
 public:
  explicit Difference(std::string text) : text_(std::move(text)) {}

  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

/// Compares each call with the one that was recorded in its place.
class ReplayDesk {
 public:
  explicit ReplayDesk(const RecordedCalls& calls) : calls_(calls), environment_(*this) {}

  template <typename Call>
  const typename Call::Answer& ask(const Call& call) {
    if (next_ == calls_.size()) {
      throw Difference("call " + std::to_string(next_) + ": " + std::string(Call::kName) +
                       " after the last recorded one");
    }
    const RecordedCall& recorded = calls_[next_];
    const auto* made = std::get_if<Made<Call>>(&recorded);
    if (made == nullptr || made->call != call) {
      throw Difference("call " + std::to_string(next_) + ": " + std::string(Call::kName) +
                       (made != nullptr
                            ? " with other values than were recorded"
                            : " where " + std::string(name_of(recorded)) + " was recorded"));
    }
    ++next_;
    return made->answer;
  }

  [[nodiscard]] bool at_end() const { return next_ == calls_.size(); }

  /// The entry that comes next, as it was recorded.
  [[nodiscard]] const RecordedCall& take_entry() { return calls_[next_++]; }

  void check_entry(bool same_answer, std::string_view name) const {
    if (!same_answer) {
      throw Difference("before call " + std::to_string(next_) + ": another answer of " +
                       std::string(name));
    }
  }

  [[nodiscard]] env::Environment environment() { return environment_.environment(); }

 private:
  const RecordedCalls& calls_;
  std::size_t next_ = 0;
  CallEnvironment<ReplayDesk> environment_;
};

/// Makes the recorded entries again, one after the other.
class Replayer {
 public:
  Replayer(const Balancer::Settings& settings, const RecordedCalls& calls)
      : settings_(settings), desk_(calls) {}

  Result<Placement> run() {
    try {
      while (!desk_.at_end()) {
        const RecordedCall& entry = desk_.take_entry();
        std::visit([&](const auto& made) { enter(made); }, entry);
      }
    } catch (const Difference& difference) {
      return fail(ErrorCode::kInternal, difference.what());
    }
    if (balancer_ == nullptr) {
      return fail(ErrorCode::kInvalidArgument, "no balancer was made in this recording");
    }
    return balancer_->placement();
  }

 private:
  void enter(const Made<call::Create>& made) {
    auto balancer = Balancer::create(settings_, desk_.environment());
    desk_.check_entry(balancer.has_value() == made.answer, call::Create::kName);
    balancer_ = balancer ? std::move(*balancer) : nullptr;
  }

  void enter(const Made<call::OnStep>& made) {
    desk_.check_entry(balancer_->on_step(made.call.kind) == made.answer, call::OnStep::kName);
  }

  void enter(const Made<call::Progress>& made) {
    desk_.check_entry(balancer_->progress() == made.answer, call::Progress::kName);
  }

  void enter(const Made<call::Drain>& /*made*/) { balancer_->drain(); }

  void enter(const Made<call::Resume>& /*made*/) { balancer_->resume(); }

  void enter(const Made<call::ReleaseMemory>& made) {
    desk_.check_entry(balancer_->release_memory().has_value() == made.answer.has_value(),
                      call::ReleaseMemory::kName);
  }

  void enter(const Made<call::ReserveMemory>& made) {
    desk_.check_entry(balancer_->reserve_memory().has_value() == made.answer.has_value(),
                      call::ReserveMemory::kName);
  }

  /// What is no entry was recorded within the one before, which has not made it now.
  template <typename Call>
  void enter(const Made<Call>& /*made*/) {
    throw Difference("an entry ended where " + std::string(Call::kName) + " was recorded");
  }

  Balancer::Settings settings_;
  ReplayDesk desk_;
  std::unique_ptr<Balancer> balancer_;
};

}  // namespace

Result<Placement> replay(const Balancer::Settings& settings, const RecordedCalls& calls) {
  return Replayer(settings, calls).run();
}

}  // namespace eplb::group
