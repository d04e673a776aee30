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

  [[nodiscard]] std::size_t position() const { return next_; }

  /// The call that comes next, as it was recorded.
  [[nodiscard]] const RecordedCall& take() { return calls_[next_++]; }

  [[nodiscard]] env::Environment environment() { return environment_.environment(); }

 private:
  const RecordedCalls& calls_;
  std::size_t next_ = 0;
  CallEnvironment<ReplayDesk> environment_;
};

/// Makes the recorded entries again, one after the other.
class Replayer {
 public:
  Replayer(Balancer::Settings settings, const RecordedCalls& calls)
      : settings_(std::move(settings)), desk_(calls) {}

  Result<Placement> run() {
    try {
      while (!desk_.at_end()) {
        entry_ = desk_.position();
        const RecordedCall& entry = desk_.take();
        std::visit([&](const auto& made) { enter(made); }, entry);
      }
    } catch (const Difference& difference) {
      return fail(ErrorCode::kInternal, difference.what());
    }
    if (balancer_ == nullptr) {
      return fail(ErrorCode::kInternal, "no balancer was made in this recording");
    }
    return balancer_->placement();
  }

 private:
  void enter(const Made<call::Create>& made) {
    auto balancer = Balancer::create(settings_, desk_.environment());
    check<call::Create>(balancer.has_value() == made.answer);
    balancer_ = balancer ? std::move(*balancer) : nullptr;
  }

  void enter(const Made<call::OnStep>& made) {
    check<call::OnStep>(balancer<call::OnStep>().on_step(made.call.kind) == made.answer);
  }

  void enter(const Made<call::Progress>& made) {
    check<call::Progress>(balancer<call::Progress>().progress() == made.answer);
  }

  void enter(const Made<call::Drain>& /*made*/) { balancer<call::Drain>().drain(); }

  void enter(const Made<call::Resume>& /*made*/) { balancer<call::Resume>().resume(); }

  void enter(const Made<call::ReleaseMemory>& made) {
    check<call::ReleaseMemory>(balancer<call::ReleaseMemory>().release_memory().has_value() ==
                               made.answer.has_value());
  }

  void enter(const Made<call::ReserveMemory>& made) {
    check<call::ReserveMemory>(balancer<call::ReserveMemory>().reserve_memory().has_value() ==
                               made.answer.has_value());
  }

  /// What is no entry belongs to the entry before it, which has ended without it.
  template <typename Call>
  void enter(const Made<Call>& /*made*/) {
    object<Call>(" was recorded, and was not made");
  }

  template <typename Entry>
  [[nodiscard]] Balancer& balancer() const {
    if (balancer_ == nullptr) {
      object<Entry>(" before Balancer::create");
    }
    return *balancer_;
  }

  template <typename Entry>
  void check(bool same_answer) const {
    if (!same_answer) {
      object<Entry>(" answers otherwise");
    }
  }

  template <typename Call>
  [[noreturn]] void object(const std::string& what) const {
    throw Difference("call " + std::to_string(entry_) + ": " + std::string(Call::kName) + what);
  }

  Balancer::Settings settings_;
  ReplayDesk desk_;
  std::size_t entry_ = 0;  ///< Where the newest entry stands.
  std::unique_ptr<Balancer> balancer_;
};

}  // namespace

Result<Placement> replay(const Balancer::Settings& settings, const RecordedCalls& calls) {
  return Replayer(settings, calls).run();
}

}  // namespace eplb::group
