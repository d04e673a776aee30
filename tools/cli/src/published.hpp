#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "eplb/core/options.hpp"
#include "eplb/core/result.hpp"

namespace eplb::cli {

/// What is read off a run, or off a run with EPLB and one without.
enum class RunMetric : std::uint8_t {
  kThroughput,
  kStep,
  kMegaMoe,      ///< Expert layers and the first one's wait.
  kExpertLayer,  ///< One layer, without that wait.
  kOthers,
  kRearrangement,  ///< Mean duration of one.
  kLongestHold,    ///< Of a rearrangement, in sync mode.
  kThroughputGain,
  kMegaMoeDrop,
  kExpertLayerDrop,
};

/// Its name in a file of configs/published.
[[nodiscard]] std::string metric_name(RunMetric metric);

/// Whether a metric compares both arms.
[[nodiscard]] bool is_gain(RunMetric metric);

/// A scenario as a row names it: nothing of what was published is in it.
struct ScenarioRun {
  std::string scenario;                ///< Below the configurations, without the extension.
  std::vector<std::string> overrides;  ///< As for --set.
  bool with_eplb = true;               ///< Of a gain both arms are run.
};

/// The published side of a row.
struct Figure {
  std::string name;
  double value = 0;
  std::optional<double> sd;
  std::optional<std::pair<double, double>> range;
  bool fitted = false;    ///< Some figure that the prediction uses was fitted to this row.
  std::string source_of;  ///< The input that was taken from it; empty if none was.
  std::string note;
};

struct RunFigure {
  Figure figure;
  RunMetric metric = RunMetric::kStep;
  ScenarioRun run;
};

struct CopyFigure {
  Figure figure;
  std::string hardware;
  Communicator communicator = Communicator::kSymmMem;
  NixlPath nixl_path = NixlPath::kAuto;
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  std::int32_t ranks = 2;
  std::int64_t copies = 1;
  std::int32_t copy_streams = 1;
  bool batched_copies = false;
};

struct ReductionFigure {
  Figure figure;
  std::string hardware;
  std::int32_t ranks = 1;
  HostCollectives algorithm = HostCollectives::kRing;
};

struct RecordFigure {
  Figure figure;
  std::string hardware;
  std::int64_t tokens = 0;
  LoadCounting counting = LoadCounting::kLogical;
  double busiest_share = 0;  ///< Of picks, on the busiest counter.
};

/// Runs whose metric must fall from each to the next.
struct PublishedOrder {
  std::string claim;
  RunMetric metric = RunMetric::kThroughput;
  std::vector<ScenarioRun> runs;
};

/// A key of scenarios whose value was taken from published figures.
struct PublishedInput {
  std::string key;
  std::string from;
  bool only_sources = false;  ///< It makes only the rows fitted that it was taken from.
};

struct NotPredicted {
  std::string what;
  std::string why;
};

/// All that a file of configs/published has.
struct Published {
  std::string source;
  std::vector<PublishedInput> inputs;
  std::vector<RunFigure> runs;
  std::vector<CopyFigure> copies;
  std::vector<ReductionFigure> reductions;
  std::vector<RecordFigure> records;
  std::vector<PublishedOrder> orders;
  std::string counting_scenario;  ///< What the costs of counting are studied on.
  std::vector<NotPredicted> not_predicted;
};

/// kInvalidArgument with "vllm.yaml: error: runs[3].metric: must be ...".
[[nodiscard]] Result<Published> read_published(const std::filesystem::path& path);

}  // namespace eplb::cli
