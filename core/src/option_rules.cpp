#include "eplb/core/option_rules.hpp"

#include <initializer_list>
#include <utility>

#include "eplb/core/shape.hpp"

namespace eplb {
namespace {

constexpr const char* kRanks = "parallel.ranks";
constexpr const char* kScale = "parallel.scale";
constexpr const char* kEnabled = "eplb.enabled";
constexpr const char* kUseAsync = "eplb.use_async";
constexpr const char* kCommunicator = "eplb.communicator";
constexpr const char* kNixl = "engine.nixl";
constexpr const char* kRanksPerNode = "parallel.ranks_per_node";
constexpr const char* kDomain = "hardware.gpus_per_domain";
constexpr const char* kNode = "hardware.gpus_per_node";
constexpr const char* kExperts = "model.logical_experts";
constexpr const char* kRedundancy = "eplb.num_redundant_experts";

std::string quantity(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// Looks at one group's options; each method at one kind of rule.
class OptionRules {
 public:
  OptionRules(const EplbOptions& options, const EplbGroup& group)
      : options_(options),
        group_(group),
        communicator_(resolve_communicator(options, group)),
        shape_(shape_of(group.model, group.parallel, options)) {}

  [[nodiscard]] std::vector<OptionProblem> problems() && {
    check_spread();
    if (is_elastic(group_.parallel)) {
      check_elastic();
      check_scale_steps();
    }
    if (options_.enabled) {
      check_ranges();
      check_communicator();
      if (validate(shape_).has_value()) {
        check_slots();
      }
    }
    return std::move(problems_);
  }

 private:
  void refuse(std::initializer_list<std::string> keys, std::string message) {
    problems_.push_back({.keys = keys, .message = std::move(message)});
  }

  void at_least(std::int64_t least, const std::string& key, std::int64_t value) {
    if (value < least) {
      refuse({key}, "must be at least " + std::to_string(least) + got(value));
    }
  }

  void between(std::int64_t least, std::int64_t most, const std::string& key, std::int64_t value) {
    if (value < least || value > most) {
      refuse({key}, "must be at least " + std::to_string(least) + " and at most " +
                        std::to_string(most) + got(value));
    }
  }

  void check_spread() {
    const ParallelOptions& parallel = group_.parallel;
    const std::string key = "parallel.data_parallel";
    const std::string ranks = "parallel.ranks (" + std::to_string(parallel.ranks) + ")";
    if (options_.enabled && parallel.ranks == 1) {
      refuse({kRanks, kEnabled},
             "one rank has nothing to balance; use more ranks or set eplb.enabled to false");
    }
    between(1, kMaxRanks, kRanks, parallel.ranks);
    at_least(0, key, parallel.data_parallel);
    if (parallel.data_parallel > parallel.ranks) {
      refuse({key, kRanks}, "must be at most " + ranks + got(parallel.data_parallel));
    } else if (parallel.data_parallel > 0 && parallel.ranks % parallel.data_parallel != 0) {
      refuse({key, kRanks}, "must divide " + ranks + got(parallel.data_parallel));
    }
    const std::string shared = "parallel.ranks_per_gpu";
    at_least(1, shared, parallel.ranks_per_gpu);
    if (parallel.ranks_per_gpu > 1 && parallel.ranks % parallel.ranks_per_gpu != 0) {
      refuse({shared, kRanks}, "must divide " + ranks + got(parallel.ranks_per_gpu));
    }
    at_least(1, "parallel.pipeline_stages", parallel.pipeline_stages);
  }

  void check_elastic() {
    if (!options_.enabled) {
      refuse({kScale, kEnabled},
             "an elastic group needs EPLB, which moves the experts; set eplb.enabled to true or "
             "leave parallel.scale out");
    }
    if (group_.parallel.pipeline_stages > 1) {
      refuse({"parallel.pipeline_stages", kScale},
             "must be 1 in an elastic group" + got(group_.parallel.pipeline_stages));
    }
    if (group_.draft_count > 0) {
      refuse({"model[1]", kScale}, "an elastic group cannot have draft models");
    }
  }

  void check_scale_steps() {
    const std::vector<ScaleEvent>& scale = group_.parallel.scale;
    for (std::size_t index = 0; index < scale.size(); ++index) {
      const std::string at_step = entry(index) + ".at_step";
      at_least(1, at_step, scale[index].at_step);
      if (index > 0 && scale[index].at_step <= scale[index - 1].at_step) {
        refuse({at_step, entry(index - 1) + ".at_step"},
               "must be above the step of the entry before (" +
                   std::to_string(scale[index - 1].at_step) + ")" + got(scale[index].at_step));
      }
      between(2, kMaxRanks, entry(index) + ".ranks", scale[index].ranks);
    }
  }

  void check_ranges() {
    at_least(1, "eplb.window_size", options_.window_size);
    at_least(1, "eplb.step_interval", options_.step_interval);
    at_least(1, "eplb.log_balancedness_interval", options_.log_balancedness_interval);
    at_least(1, "eplb.layers_in_flight", options_.layers_in_flight.value_or(1));
    at_least(1, "eplb.max_commit_bytes_per_step", options_.max_commit_bytes_per_step.value_or(1));
    between(0, kMaxCommitLeadSteps, "eplb.commit_lead_steps", options_.commit_lead_steps);
    const double rate_limit = options_.copy_rate_limit_gb_per_s.value_or(1);
    const bool is_rate = rate_limit > 0 && rate_limit <= kMaxCopyRateGbPerS;
    if (!is_rate) {
      refuse({"eplb.copy_rate_limit_gb_per_s"},
             "must be above 0 and at most 100000, got " + std::to_string(rate_limit));
    }
    if (options_.trigger.has_value()) {
      check_trigger(*options_.trigger);
    }
    const bool is_deadline = options_.deadline_ms > 0 && options_.deadline_ms <= kMaxDeadlineMs;
    if (!is_deadline) {  // A NaN is none.
      refuse({"eplb.deadline_ms"},
             "must be above 0 and at most 10000000, got " + std::to_string(options_.deadline_ms));
    }
  }

  void check_trigger(const TriggerOptions& trigger) {
    at_least(1, "eplb.trigger.horizon_steps", trigger.horizon_steps.value_or(1));
    at_least(0, "eplb.trigger.cool_down", trigger.cool_down);
    const auto within = [this](double most, const std::string& key, double value) {
      if (const bool is_within = value >= 0 && value <= most; !is_within) {  // A NaN is not.
        refuse({key}, "must be at least 0 and at most " + number(most) + ", got " + number(value));
      }
    };
    within(kMaxTriggerPrice, "eplb.trigger.price", trigger.price);
    within(1, "eplb.trigger.hysteresis", trigger.hysteresis);
  }

  /// At most one thing is said about the choice itself, the one that matters most.
  void check_communicator() {
    const bool elastic = is_elastic(group_.parallel);
    const bool by_default = options_.communicator == Communicator::kAuto;
    const std::string name(to_string(by_default ? communicator_ : options_.communicator));
    const bool chose_symm_mem = options_.communicator == Communicator::kSymmMem;
    const bool chose_nccl = is_nccl(options_.communicator);
    if (chose_symm_mem && elastic) {
      refuse({kCommunicator, kScale},
             "symm_mem is reserved once for all ranks, so it cannot serve an elastic group");
    } else if (chose_symm_mem && group_.domain_count > 1) {
      refuse({kCommunicator, kRanks, kRanksPerNode, kDomain, kNode},
             "symm_mem needs all ranks in one NVLink domain, these are in " +
                 std::to_string(group_.domain_count));
    } else if (elastic && options_.use_async && communicator_ != Communicator::kNixl) {
      refuse({kCommunicator, kUseAsync, kScale, kNixl},
             "must be nixl in an elastic group that serves while weights move, got " + name +
                 "; or set eplb.use_async to false");
    } else if (chose_nccl && options_.use_async) {
      refuse({kCommunicator, kUseAsync},
             name +
                 " can lock up with the kernels of a forward; set eplb.use_async to false or "
                 "use nixl, symm_mem or torch_gloo");
    }
    if (options_.handshake == Handshake::kBarriers && communicator_ != Communicator::kSymmMem) {
      refuse({"eplb.handshake", kCommunicator, kUseAsync, kNixl, kScale, kRanks, kRanksPerNode,
              kDomain, kNode},
             "barriers are of symm_mem only, and the communicator is " + name + "; use statuses");
    }
    if (options_.copy_rate_limit_gb_per_s && communicator_ != Communicator::kSymmMem) {
      refuse({"eplb.copy_rate_limit_gb_per_s", kCommunicator, kUseAsync, kNixl, kScale, kRanks,
              kRanksPerNode, kDomain, kNode},
             "is of symm_mem only, and the communicator is " + name + "; use none");
    }
  }

  /// What depends on the slots of a rank, which stay what they are while a group grows or shrinks.
  void check_slots() {
    const std::int32_t slots = shape_.slots_per_rank();
    if (options_.landing_rows.value_or(slots) < slots) {
      refuse({"eplb.landing_rows", kRanks, kRedundancy, kExperts, kEnabled},
             "must hold a layer, so be at least " + quantity(slots, "slot") + " of a rank" +
                 got(*options_.landing_rows));
    }
    for (std::size_t index = 0; index < group_.parallel.scale.size(); ++index) {
      check_scaled(entry(index) + ".ranks", group_.parallel.scale[index].ranks);
    }
  }

  void check_scaled(const std::string& key, std::int64_t ranks) {
    if (ranks < 1) {
      return;  // Refused already.
    }
    const std::int64_t slots = ranks * shape_.slots_per_rank();
    const std::int64_t redundant = slots - shape_.expert_count;
    const std::string held = quantity(ranks, "rank") + " of " +
                             quantity(shape_.slots_per_rank(), "slot") + " hold " +
                             std::to_string(slots);
    if (redundant < 0) {
      refuse({key, kRanks, kRedundancy, kExperts, kEnabled},
             held + ", fewer than the " + std::to_string(shape_.expert_count) + " experts");
    }
    if (redundant > kMaxRedundantSlots) {
      refuse({key, kRanks, kRedundancy, kExperts, kEnabled},
             held + ", of which " + std::to_string(redundant) + " are redundant, at most " +
                 std::to_string(kMaxRedundantSlots) + " may be");
    }
    const std::int32_t data_parallel = group_.parallel.data_parallel;
    const std::int32_t share = data_parallel > 0 ? shape_.rank_count / data_parallel : 1;
    if (share > 1 && ranks % share != 0) {
      refuse({key, "parallel.data_parallel", kRanks},
             "must be a multiple of the " + quantity(share, "rank") +
                 " that serve the same requests" + got(ranks));
    }
  }

  /// Without zeros behind it.
  static std::string number(double value) {
    std::string text = std::to_string(value);
    text.erase(text.find_last_not_of('0') + 1);
    return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
  }

  static std::string got(std::int64_t value) { return ", got " + std::to_string(value); }

  static std::string entry(std::size_t index) {
    return std::string(kScale) + "[" + std::to_string(index) + "]";
  }

  const EplbOptions& options_;
  const EplbGroup& group_;
  Communicator communicator_;
  Shape shape_;
  std::vector<OptionProblem> problems_;
};

}  // namespace

std::vector<OptionProblem> option_problems(const EplbOptions& options, const EplbGroup& group) {
  return OptionRules(options, group).problems();
}

Result<void> validate(const EplbOptions& options, const EplbGroup& group) {
  if (auto shape = validate(shape_of(group.model, group.parallel, options)); !shape.has_value()) {
    return shape;
  }
  std::string message;
  for (const OptionProblem& problem : option_problems(options, group)) {
    message += (message.empty() ? "" : "; ") + problem.keys.front() + ": " + problem.message;
  }
  if (!message.empty()) {
    return fail(ErrorCode::kInvalidConfig, std::move(message));
  }
  return {};
}

}  // namespace eplb
