// Goal: every problem is reported, at once, in order, with its place, its key and what is allowed.
// Method: whole texts with their diagnostics, word for word.
#include <doctest/doctest.h>

#include <string>

#include "config_text.hpp"

namespace eplb::config::test {
namespace {

TEST_CASE("a diagnostic prints its place, unless it is an override's") {
  CHECK(to_string({.file = "a.yaml", .line = 3, .column = 7, .key = "k", .message = "no"}) ==
        "a.yaml:3:7: error: k: no");
  CHECK(to_string({.file = "a.yaml", .key = "", .message = "no"}) == "a.yaml:1:1: error: no");
  CHECK(to_string({.file = "--set k=1", .line = 0, .column = 0, .key = "k", .message = "no"}) ==
        "--set k=1: error: k: no");
}

TEST_CASE("a legal scenario has no problems") {
  CHECK(problems(kLegal) == "");
}

TEST_CASE("an unknown key is answered with the nearest one, or with all that are allowed") {
  CHECK(problems(legal_with("eplb:\n  windowsize: 9\n  colour: red\nrunn: {}\n")) ==
        "t.yaml:6:3: error: eplb.windowsize: unknown key, did you mean window_size?\n"
        "t.yaml:7:3: error: eplb.colour: unknown key, allowed are enabled, num_redundant_experts, "
        "window_size, step_interval, use_async, policy, replica_choice, window_parts, "
        "history_parts, window_half_life_steps, communicator, log_balancedness, "
        "log_balancedness_interval, migration_batching_enabled, copy_streams, "
        "batched_copies, copy_rate_limit_gb_per_s, handshake, landing_rows, layers_in_flight, "
        "max_commit_bytes_per_step, "
        "commit_lead_steps, deadline_ms, on_failure, trigger\n"
        "t.yaml:8:1: error: runn: unknown key, did you mean run?\n");
  CHECK(problems(kLegal, {"serving.other_kernels_ms={bse: 1}"}) ==
        "--set serving.other_kernels_ms={bse: 1}: error: serving.other_kernels_ms.bse: unknown "
        "key, did you mean base?\n");
}

TEST_CASE("keys of issues to come are unknown") {
  CHECK(problems(kLegal, {"eplb.policy_options=1"}).find("unknown key") != std::string::npos);
}

TEST_CASE("sections and keys that are required and missing are each named") {
  CHECK(problems("parallel: {}\nserving:\n  tokens_per_request: 2\n") ==
        "t.yaml:1:1: error: model: is missing, must be a name, a path or a mapping\n"
        "t.yaml:1:1: error: hardware: is missing, must be a name, a path or a mapping\n"
        "t.yaml:1:11: error: parallel.ranks: is missing, must be a whole number, at least 1 and at "
        "most 4096\n"
        "t.yaml:3:3: error: serving.requests_per_rank: is missing, must be a whole number, at "
        "least 1 and at most 1048576\n");
}

TEST_CASE("a section of the wrong type is named once, and nothing below it") {
  CHECK(problems("model: 7\nhardware: [1]\nparallel: 4\nserving: none\neplb: on\n") ==
        "t.yaml:1:8: error: model: unknown model \"7\", allowed are deepseek-v3, "
        "deepseek-v4-flash, deepseek-v4-pro, deepseek-v4.1-flash, glm-5, gpt-oss-120b, kimi-k2, "
        "kimi-k3, olmoe-1b-7b, qwen3-235b\n"
        "t.yaml:2:11: error: hardware: must be a name, a path or a mapping, got a list\n"
        "t.yaml:3:11: error: parallel: must be a mapping of ranks, ranks_per_node, ranks_per_gpu, "
        "data_parallel, pipeline_stages, scale, got 4\n"
        "t.yaml:4:10: error: serving: must be a mapping of requests_per_rank, tokens_per_request, "
        "accepted_tokens, other_kernels_ms, rank_imbalance, boundary_idle_ms, prefill, got none\n"
        "t.yaml:5:7: error: eplb: must be a mapping of enabled, num_redundant_experts, "
        "window_size, step_interval, use_async, policy, replica_choice, window_parts, "
        "history_parts, window_half_life_steps, communicator, log_balancedness, "
        "log_balancedness_interval, migration_batching_enabled, copy_streams, batched_copies, "
        "copy_rate_limit_gb_per_s, handshake, landing_rows, layers_in_flight, "
        "max_commit_bytes_per_step, commit_lead_steps, "
        "deadline_ms, on_failure, trigger, got on\n");
  CHECK(problems(kLegal, {"serving.other_kernels_ms=5"}) ==
        "--set serving.other_kernels_ms=5: error: serving.other_kernels_ms: must be a mapping of "
        "base, per_request, per_prefill_token, got 5\n");
}

TEST_CASE("a policy must be one of those that the caller has") {
  CHECK(problems(legal_with("eplb: {policy: deepsek}\n")) ==
        "t.yaml:5:16: error: eplb.policy: unknown policy deepsek, did you mean deepseek?\n");
  CHECK(problems(legal_with("eplb: {policy: mine}\n")) ==
        "t.yaml:5:16: error: eplb.policy: unknown policy mine, allowed are default, deepseek\n");
  LoadOptions any = options_with();
  any.policy_names.clear();
  CHECK(load_config_text(
            {.text = legal_with("eplb: {policy: mine}\n"), .name = "t", .directory = {}}, any)
            .has_value());
}

TEST_CASE("what stands behind a policy's name is the caller's to judge") {
  LoadOptions options = options_with();
  const auto loaded = [&](std::string_view policy) {
    const std::string text = legal_with("eplb: {policy: '" + std::string(policy) + "'}\n");
    return load_config_text({.text = text, .name = "t", .directory = {}}, options);
  };
  options.policy_problem = [](const std::string& policy) {
    return policy == "default:windows=0" ? std::string("windows must be at least 1") : "";
  };
  REQUIRE(loaded("default:windows=1").has_value());
  CHECK(loaded("default:windows=1")->scenario.eplb.policy == "default:windows=1");
  CHECK(problems(loaded("default:windows=0")) ==
        "t:5:16: error: eplb.policy: windows must be at least 1\n");
  CHECK(problems(loaded("mine:windows=1")) ==
        "t:5:16: error: eplb.policy: unknown policy mine, allowed are default, deepseek\n");
}

TEST_CASE("many problems come at once, ordered by their places") {
  CHECK(problems("model: deepseek-v33\n"
                 "hardware: h200-hgx8\n"
                 "parallel: {ranks: 010, ranks: 9}\n"
                 "serving: {requests_per_rank: -1}\n"
                 "workload:\n"
                 "  routing: {kind: zipf, sigma: 1}\n"
                 "  drift: {kind: wolk}\n"
                 "  noise: yes\n"
                 "eplb:\n"
                 "  policy: defalt\n"
                 "  window_half_life_steps: .nan\n",
                 {"eplb.window_size=0", "oops"}) ==
        "t.yaml:1:8: error: model: unknown model \"deepseek-v33\", did you mean deepseek-v3?\n"
        "t.yaml:3:19: error: parallel.ranks: must be a whole number in decimal digits, got 010\n"
        "t.yaml:3:24: error: parallel.ranks: duplicate key, first given in line 3\n"
        "t.yaml:4:30: error: serving.requests_per_rank: must be at least 1 and at most 1048576, "
        "got -1\n"
        "t.yaml:6:25: error: workload.routing.sigma: belongs to the kind lognormal, not to zipf, "
        "which takes exponent, kind\n"
        "t.yaml:7:17: error: workload.drift.kind: must be one of none, walk, switch, burst, got "
        "wolk\n"
        "t.yaml:8:10: error: workload.noise: must be one of multinomial, none, got yes\n"
        "t.yaml:10:11: error: eplb.policy: unknown policy defalt, did you mean default?\n"
        "t.yaml:11:27: error: eplb.window_half_life_steps: must be a decimal number, got .nan\n"
        "--set eplb.window_size=0: error: eplb.window_size: must be at least 1 and at most "
        "10000000, got 0\n"
        "--set oops: error: must be key=value with a dotted key\n");
}

}  // namespace
}  // namespace eplb::config::test
