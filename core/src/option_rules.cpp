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
constexpr const char* kDomain = "hardware.gpus_per_domain";

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
  void refuse_if(bool broken, std::initializer_list<std::string> keys, std::string message) {
    if (broken) {
      problems_.push_back({.keys = keys, .message = std::move(message)});
    }
  }

  void at_least_one(const std::string& key, std::int64_t value) {
    refuse_if(value < 1, {key}, "must be at least 1, got " + std::to_string(value));
  }

  void check_spread() {
    const ParallelOptions& parallel = group_.parallel;
    const std::int32_t replicas = parallel.data_parallel;
    const std::string key = "parallel.data_parallel";
    refuse_if(options_.enabled && parallel.ranks == 1, {kRanks, kEnabled},
              "one rank has nothing to balance; use more ranks or set eplb.enabled to false");
    refuse_if(
        parallel.ranks > kMaxRanks, {kRanks},
        "must be at most " + std::to_string(kMaxRanks) + ", got " + std::to_string(parallel.ranks));
    refuse_if(replicas < 0, {key}, "must not be negative, got " + std::to_string(replicas));
    refuse_if(replicas > parallel.ranks, {key, kRanks},
              "must be at most parallel.ranks (" + std::to_string(parallel.ranks) + "), got " +
                  std::to_string(replicas));
    refuse_if(replicas > 0 && replicas <= parallel.ranks && parallel.ranks % replicas != 0,
              {key, kRanks},
              "must divide parallel.ranks (" + std::to_string(parallel.ranks) + "), got " +
                  std::to_string(replicas));
    at_least_one("parallel.pipeline_stages", parallel.pipeline_stages);
  }

  void check_elastic() {
    refuse_if(!options_.enabled, {kScale, kEnabled},
              "an elastic group needs EPLB, which moves the experts; set eplb.enabled to true or "
              "leave parallel.scale out");
    refuse_if(
        group_.parallel.pipeline_stages > 1, {"parallel.pipeline_stages", kScale},
        "must be 1 in an elastic group, got " + std::to_string(group_.parallel.pipeline_stages));
    refuse_if(group_.draft_count > 0, {"model[1]", kScale},
              "an elastic group cannot have draft models");
  }

  void check_scale_steps() {
    const std::vector<ScaleEvent>& scale = group_.parallel.scale;
    for (std::size_t index = 0; index < scale.size(); ++index) {
      const std::string at_step = entry(index) + ".at_step";
      at_least_one(at_step, scale[index].at_step);
      refuse_if(index > 0 && scale[index].at_step <= scale[index - 1].at_step,
                {at_step, entry(index - 1) + ".at_step"},
                "must be above the step of the entry before (" +
                    std::to_string(scale[index - 1].at_step) + "), got " +
                    std::to_string(scale[index].at_step));
      refuse_if(scale[index].ranks < 2 || scale[index].ranks > kMaxRanks, {entry(index) + ".ranks"},
                "must be at least 2 and at most " + std::to_string(kMaxRanks) + ", got " +
                    std::to_string(scale[index].ranks));
    }
  }

  void check_ranges() {
    at_least_one("eplb.window_size", options_.window_size);
    at_least_one("eplb.step_interval", options_.step_interval);
    at_least_one("eplb.log_balancedness_interval", options_.log_balancedness_interval);
    at_least_one("eplb.layers_in_flight", options_.layers_in_flight.value_or(1));
    at_least_one("eplb.max_commit_bytes_per_step", options_.max_commit_bytes_per_step.value_or(1));
    refuse_if(options_.commit_lead_steps < 0 || options_.commit_lead_steps > kMaxCommitLeadSteps,
              {"eplb.commit_lead_steps"},
              "must be at least 0 and at most " + std::to_string(kMaxCommitLeadSteps) + ", got " +
                  std::to_string(options_.commit_lead_steps));
    const bool is_deadline = options_.deadline_ms > 0 && options_.deadline_ms <= kMaxDeadlineMs;
    refuse_if(!is_deadline, {"eplb.deadline_ms"},
              "must be above 0 and at most 10000000, got " + std::to_string(options_.deadline_ms));
  }

  /// At most one of the rules about the communicator itself is reported, the strongest.
  void check_communicator() {
    const bool elastic = is_elastic(group_.parallel);
    const bool by_default = options_.communicator == Communicator::kAuto;
    const std::string name(to_string(by_default ? communicator_ : options_.communicator));
    const bool uses_nccl = options_.communicator == Communicator::kTorchNccl ||
                           options_.communicator == Communicator::kPynccl;
    if (options_.communicator == Communicator::kSymmMem && elastic) {
      refuse_if(true, {kCommunicator, kScale},
                "symm_mem is reserved once for all ranks, so it cannot serve an elastic group");
    } else if (options_.communicator == Communicator::kSymmMem && group_.domain_count > 1) {
      refuse_if(
          true,
          {kCommunicator, kRanks, "parallel.ranks_per_node", kDomain, "hardware.gpus_per_node"},
          "symm_mem needs all ranks in one NVLink domain, these are in " +
              std::to_string(group_.domain_count));
    } else if (elastic && options_.use_async && communicator_ != Communicator::kNixl) {
      refuse_if(true, {kCommunicator, kUseAsync, kScale, kNixl},
                "must be nixl in an elastic group that serves while weights move, got " + name +
                    "; or set eplb.use_async to false");
    } else if (options_.use_async && uses_nccl) {
      refuse_if(true, {kCommunicator, kUseAsync},
                name +
                    " can lock up with the kernels of a forward; set eplb.use_async to false or "
                    "use nixl, symm_mem or torch_gloo");
    }
    refuse_if(options_.handshake == Handshake::kBarriers && communicator_ != Communicator::kSymmMem,
              {"eplb.handshake", kCommunicator, kUseAsync, kNixl, kScale, kRanks,
               "parallel.ranks_per_node", kDomain, "hardware.gpus_per_node"},
              "barriers are of symm_mem only, and the communicator is " + name + "; use statuses");
  }

  /// What depends on the slots of a rank, which stay what they are while a group grows or shrinks.
  void check_slots() {
    const std::int64_t slots = shape_.slots_per_rank();
    if (options_.landing_rows.has_value()) {
      refuse_if(*options_.landing_rows < slots,
                {"eplb.landing_rows", kRanks, "eplb.num_redundant_experts", "model.logical_experts",
                 kEnabled},
                "must hold a layer, so be at least " + quantity(slots, "slot") +
                    " of a rank, got " + std::to_string(*options_.landing_rows));
    }
    for (std::size_t index = 0; index < group_.parallel.scale.size(); ++index) {
      check_scaled(entry(index) + ".ranks", group_.parallel.scale[index].ranks);
    }
  }

  void check_scaled(const std::string& key, std::int64_t ranks) {
    if (ranks < 1) {
      return;  // Refused already.
    }
    const std::int64_t slots = shape_.slots_per_rank() * ranks;
    const std::int64_t experts = shape_.expert_count;
    const std::initializer_list<std::string> keys = {key, kRanks, "eplb.num_redundant_experts",
                                                     "model.logical_experts", kEnabled};
    const std::string held = quantity(ranks, "rank") + " of " +
                             quantity(shape_.slots_per_rank(), "slot") + " hold " +
                             std::to_string(slots);
    refuse_if(slots < experts, keys,
              held + ", fewer than the " + std::to_string(experts) + " experts");
    refuse_if(slots - experts > kMaxRedundantSlots, keys,
              held + ", of which " + std::to_string(slots - experts) + " are redundant, at most " +
                  std::to_string(kMaxRedundantSlots) + " may be");
    const std::int32_t replicas = group_.parallel.data_parallel;
    if (replicas > 0 && shape_.rank_count % replicas == 0) {
      const std::int32_t share = shape_.rank_count / replicas;
      refuse_if(ranks % share != 0, {key, "parallel.data_parallel", kRanks},
                "must be a multiple of the " + quantity(share, "rank") +
                    " that serve the same requests, got " + std::to_string(ranks));
    }
  }

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
