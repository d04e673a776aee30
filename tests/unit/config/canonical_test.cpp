// Goal: the canonical text is the whole scenario and nothing else, and the digest is of it and of
// the counts. Method: load it again; change one thing and look what changes.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "config_text.hpp"
#include "temp_folder.hpp"

namespace eplb::config::test {
namespace {

void check_round_trip(const LoadResult& first, const std::filesystem::path& directory) {
  REQUIRE(problems(first) == "");
  LoadOptions nothing_to_look_up = any_policy_options();
  nothing_to_look_up.config_dirs.clear();
  const LoadResult second =
      load_config_text({.text = first->canonical_yaml, .name = "canonical", .directory = directory},
                       nothing_to_look_up);
  REQUIRE(problems(second) == "");
  CHECK(second->canonical_yaml == first->canonical_yaml);
  CHECK(second->digest == first->digest);
}

TEST_CASE("the canonical text has every key, in the order of the schema") {
  const LoadResult result = load(legal_with("eplb: {num_redundant_experts: 8, step_interval: 5}\n"),
                                 {"model.name=a name", "workload.drift.kind=switch"});
  REQUIRE(problems(result) == "");
  CHECK(result->canonical_yaml ==
        "model:\n"
        "  name: \"a name\"\n"
        "  moe_layers: 2\n"
        "  hidden: 64\n"
        "  moe_intermediate: 32\n"
        "  logical_experts: 8\n"
        "  top_k: 2\n"
        "  expert_groups: 1\n"
        "  weight_format: bf16\n"
        "hardware:\n"
        "  device: \"NVIDIA H200\"\n"
        "  gpus_per_node: 8\n"
        "  gpus_per_domain: 8\n"
        "  hbm_bandwidth_gb_per_s: 4800\n"
        "  hbm_efficiency: 0.8\n"
        "  bf16_tflops: 989\n"
        "  fp8_tflops: 1978\n"
        "  fp4_tflops: 0\n"
        "  arithmetic_efficiency: 0.5\n"
        "  nvlink_bandwidth_gb_per_s: 369\n"
        "  network_bandwidth_gb_per_s: 50\n"
        "  expert_layer_start_us: 24.5\n"
        "  expert_layer_start_per_rank_us: 0.26\n"
        "  expert_wire_efficiency: 0.7\n"
        "  expert_row_bandwidth_gb_per_s: none\n"
        "  fused_mapping_us: 0.3\n"
        "  mapping_start_us: 2.25\n"
        "  record_ns_per_pick: 0.2575\n"
        "  record_ns_second_count: 0.111\n"
        "  record_ns_per_collision: 0.531\n"
        "  step_kernel_us: 9.2\n"
        "  peer_copy_bandwidth_gb_per_s: 395\n"
        "  peer_copy_start_us: 2.3\n"
        "  network_copy_bandwidth_gb_per_s: 44\n"
        "  network_copy_start_us: 0\n"
        "  network_copy_latency_us: 10\n"
        "  plan_us_per_layer: 15\n"
        "  learn_shares_us_per_layer: 28\n"
        "  nvlink_links: 18\n"
        "  nvlink_peak_gb_per_s: 450\n"
        "  nvlink_bidirectional_efficiency: 0.9886\n"
        "  nics_per_node: 8\n"
        "  nic_bandwidth_gb_per_s: 50\n"
        "  network_rails: 1\n"
        "  network_oversubscription: 1\n"
        "  host_link_bandwidth_gb_per_s: 55\n"
        "  host_link_latency_us: 5.1\n"
        "  copy_engines: 3\n"
        "  peer_copy_latency_us: 2.6\n"
        "  batched_copy_start_us: 0.85\n"
        "  copy_issue_us: 2\n"
        "  local_copy_bandwidth_gb_per_s: 4300\n"
        "  local_copy_start_us: 16\n"
        "  hbm_shared_efficiency: 0.92\n"
        "  nccl_copy_bandwidth_gb_per_s: 324\n"
        "  nccl_copy_start_us: 22.7\n"
        "  gloo_bandwidth_gb_per_s: 1\n"
        "  gloo_copy_start_us: 100\n"
        "  tcp_bandwidth_gb_per_s: 0.12\n"
        "  tcp_hop_us: 45\n"
        "  control_hop_us: 15\n"
        "  control_hop_in_node_us: 1\n"
        "  map_publish_us: 2\n"
        "  sm_count: 132\n"
        "  ctas_per_sm: 32\n"
        "  threads_per_sm: 2048\n"
        "  registers_per_sm: 65536\n"
        "  shared_memory_per_sm_kb: 228\n"
        "parallel:\n"
        "  ranks: 4\n"
        "  ranks_per_node: 8\n"
        "  ranks_per_gpu: 1\n"
        "  data_parallel: 4\n"
        "  pipeline_stages: 1\n"
        "  scale: []\n"
        "engine:\n"
        "  all2all: none\n"
        "  moe_backend: deep_gemm_mega_moe\n"
        "  nccl_max_ctas: \"\"\n"
        "  nixl: false\n"
        "  moe_sms: none\n"
        "  nixl_path: auto\n"
        "  host_collectives: shared_memory\n"
        "  load_counting: logical\n"
        "  replica_mapping: fused\n"
        "  readiness_all_reduce: false\n"
        "serving:\n"
        "  requests_per_rank: 3\n"
        "  tokens_per_request: 1\n"
        "  accepted_tokens: 1\n"
        "  other_kernels_ms:\n"
        "    base: 0\n"
        "    per_request: 0\n"
        "    per_prefill_token: 0\n"
        "  rank_imbalance: 0\n"
        "  boundary_idle_ms: 0\n"
        "  prefill:\n"
        "    mean_tokens: 0\n"
        "    cv: 0\n"
        "workload:\n"
        "  routing:\n"
        "    kind: uniform\n"
        "  drift:\n"
        "    kind: switch\n"
        "    every_steps: 5000\n"
        "  noise: multinomial\n"
        "eplb:\n"
        "  enabled: true\n"
        "  num_redundant_experts: 8\n"
        "  window_size: 1000\n"
        "  step_interval: 5\n"
        "  use_async: true\n"
        "  policy: default\n"
        "  replica_choice: hash\n"
        "  window_parts: 4\n"
        "  history_parts: 16\n"
        "  window_half_life_steps: none\n"
        "  communicator: auto\n"
        "  log_balancedness: false\n"
        "  log_balancedness_interval: 1\n"
        "  migration_batching_enabled: true\n"
        "  copy_streams: 2\n"
        "  batched_copies: true\n"
        "  copy_rate_limit_gb_per_s: none\n"
        "  handshake: statuses\n"
        "  landing_rows: none\n"
        "  layers_in_flight: none\n"
        "  max_commit_bytes_per_step: none\n"
        "  commit_lead_steps: 2\n"
        "  deadline_ms: 30000\n"
        "  on_failure: keep_serving\n"
        "faults:\n"
        "  failed_links: []\n"
        "  slow_ports: []\n"
        "  stragglers: []\n"
        "  host_stalls: []\n"
        "  lost_ranks: []\n"
        "run:\n"
        "  steps: 8000\n"
        "  warmup_steps: 0\n"
        "  seed: 1\n"
        "  compare_off: false\n");
}

TEST_CASE("the canonical text loads to itself, whatever its texts and numbers are") {
  const std::filesystem::path directory = EPLB_SOURCE_DIR "/configs";
  check_round_trip(load(kLegal), directory);
  for (const char* name : {"''", "yes", "'Null'", "12", "1.5", "'-'", "'a: b # c'",
                           R"("\"\\ ' \u20ac")", "'{a}'", "a-b_c.d", "'- x'"}) {
    CAPTURE(name);
    check_round_trip(load(kLegal, {std::string("model.name=") + name}), directory);
  }
  for (const char* number : {"0.1", "1e-7", "123456.789", "1e6", "0.30000000000000004", "5e-324"}) {
    CAPTURE(number);
    const std::string key = "serving.other_kernels_ms.base=";
    check_round_trip(load(kLegal, {key + number}), directory);
  }
  check_round_trip(load(kLegal, {"run.seed=18446744073709551615", "eplb.window_half_life_steps=2.5",
                                 "workload.drift={kind: burst}", "workload.noise=none",
                                 "workload.routing={kind: power_law}"}),
                   directory);
}

TEST_CASE("the options of a migration, drafts and an elastic group survive the round trip") {
  const std::filesystem::path directory = EPLB_SOURCE_DIR "/configs";
  check_round_trip(
      load(kLegal, {"engine={all2all: deepep_low_latency, moe_backend: none, nccl_max_ctas: 16}",
                    "parallel={ranks: 4, data_parallel: 2, pipeline_stages: 3}",
                    "eplb={communicator: torch_gloo, log_balancedness: true, landing_rows: 5,"
                    " log_balancedness_interval: 7, migration_batching_enabled: false,"
                    " layers_in_flight: 1, max_commit_bytes_per_step: 1000000000000,"
                    " commit_lead_steps: 0, deadline_ms: 0.5, on_failure: raise}"}),
      directory);
  check_round_trip(load(kLegal, {"engine.nixl=true",
                                 "parallel.scale=[{at_step: 5, ranks: 6},"
                                 " {at_step: 9, ranks: 4}]"}),
                   directory);
  check_round_trip(load("model: [olmoe-1b-7b, {name: 'a draft, {small}', moe_layers: 1, hidden: 8,"
                        " moe_intermediate: 8, logical_experts: 64, top_k: 1, weight_format: bf16}]"
                        "\nhardware: h200-hgx8\nparallel: {ranks: 4}\n"
                        "serving: {requests_per_rank: 3}\neplb: {handshake: barriers}\n"),
                   directory);
}

TEST_CASE("a list of models and an elastic group stand as lists in the canonical text") {
  const LoadResult models = load(
      "model: [olmoe-1b-7b, olmoe-1b-7b]\nhardware: h200-hgx8\nparallel: {ranks: 4}\n"
      "serving: {requests_per_rank: 3}\n");
  REQUIRE(problems(models) == "");
  const std::string item =
      "  - {name: olmoe-1b-7b, moe_layers: 16, hidden: 2048, moe_intermediate: 1024, "
      "logical_experts: 64, top_k: 8, expert_groups: 1, weight_format: bf16}\n";
  CHECK(models->canonical_yaml.starts_with("model:\n" + item + item + "hardware:\n"));
  const LoadResult elastic =
      load(kLegal, {"engine.nixl=true", "parallel.scale=[{at_step: 5, ranks: 6}]"});
  REQUIRE(problems(elastic) == "");
  CHECK(elastic->canonical_yaml.find("  scale:\n    - {at_step: 5, ranks: 6}\nengine:\n") !=
        std::string::npos);
}

TEST_CASE("domains of any name survive the round trip") {
  const eplb::test::TempFolder folder;
  static_cast<void>(folder.write("d.json", R"({"domains": {
      "a.b, {c}": [[1,1,1,1,1,1,1,1],[1,1,1,1,1,1,1,1]],
      "x\ty\u0007\u0085": [[1,1,1,1,1,1,1,1],[1,1,1,1,1,1,1,1]]}})"));
  const std::string text = legal_with(
      "workload: {routing: {kind: domains, file: d.json, schedule:\n"
      "  [{steps: 1, mix: {'a.b, {c}': 1}}, {steps: 2, mix: {\"x\\ty\\a\\x85\": 0.25}}]}}\n");
  check_round_trip(load_config_text({.text = text, .name = "t.yaml", .directory = folder.path()},
                                    options_with()),
                   folder.path());
}

TEST_CASE("the digest tells any two scenarios apart, but not two spellings of one") {
  const std::uint64_t digest = load(kLegal)->digest;
  CHECK(load(legal_with("# a comment\nrun: {steps: 8000}\n"))->digest == digest);
  CHECK(load(kLegal, {"model.source=a book", "hardware.sources={}"})->digest == digest);
  CHECK(load(kLegal, {"run.seed=2"})->digest != digest);
  CHECK(load(kLegal, {"serving.other_kernels_ms.base=1e-9"})->digest != digest);
}

TEST_CASE("the digest depends on the content of the counts") {
  const eplb::test::TempFolder folder;
  const auto digest_with = [&](const char* rows) {
    static_cast<void>(folder.write("c.json", std::string(R"({"logical_count": )") + rows + "}"));
    const std::string text = legal_with("workload: {routing: {kind: counts, file: c.json}}\n");
    const LoadResult result = load_config_text(
        {.text = text, .name = "t.yaml", .directory = folder.path()}, options_with());
    REQUIRE(problems(result) == "");
    return result->digest;
  };
  const std::uint64_t digest = digest_with("[[1,2,1,1,1,1,1,1],[1,1,1,1,1,1,1,1]]");
  CHECK(digest_with("[[1,2,1,1,1,1,1,1],[1,1,1,1,1,1,1,1.0]]") == digest);
  CHECK(digest_with("[[2,1,1,1,1,1,1,1],[1,1,1,1,1,1,1,1]]") != digest);
}

TEST_CASE("every shipped scenario survives the round trip") {
  const std::filesystem::path directory = EPLB_SOURCE_DIR "/configs";
  int scenario_count = 0;
  for (const auto& file : std::filesystem::directory_iterator(directory)) {
    if (file.path().extension() == ".yaml") {
      CAPTURE(file.path().string());
      check_round_trip(load_config(file.path(), any_policy_options()), directory);
      ++scenario_count;
    }
  }
  CHECK(scenario_count == 9);
}

}  // namespace
}  // namespace eplb::config::test
