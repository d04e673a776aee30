#include "published.hpp"

#include <fmt/core.h>
#include <yaml-cpp/exceptions.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "yaml_to_json.hpp"

namespace eplb::cli {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
struct Named {
  std::string_view name;
  T value;
};

constexpr std::array kMetrics{Named<RunMetric>{"throughput_tokens_per_s", RunMetric::kThroughput},
                              Named<RunMetric>{"step_ms", RunMetric::kStep},
                              Named<RunMetric>{"mega_moe_ms", RunMetric::kMegaMoe},
                              Named<RunMetric>{"expert_layer_us", RunMetric::kExpertLayer},
                              Named<RunMetric>{"others_ms", RunMetric::kOthers},
                              Named<RunMetric>{"rearrangement_s", RunMetric::kRearrangement},
                              Named<RunMetric>{"longest_hold_s", RunMetric::kLongestHold},
                              Named<RunMetric>{"throughput_gain", RunMetric::kThroughputGain},
                              Named<RunMetric>{"mega_moe_drop", RunMetric::kMegaMoeDrop},
                              Named<RunMetric>{"expert_layer_drop", RunMetric::kExpertLayerDrop}};

constexpr std::array kArms{Named<bool>{"on", true}, Named<bool>{"off", false}};

constexpr std::array kCommunicators{Named<Communicator>{"symm_mem", Communicator::kSymmMem},
                                    Named<Communicator>{"nixl", Communicator::kNixl},
                                    Named<Communicator>{"torch_nccl", Communicator::kTorchNccl},
                                    Named<Communicator>{"torch_gloo", Communicator::kTorchGloo}};

constexpr std::array kNixlPaths{
    Named<NixlPath>{"auto", NixlPath::kAuto}, Named<NixlPath>{"nvlink", NixlPath::kNvlink},
    Named<NixlPath>{"network", NixlPath::kNetwork}, Named<NixlPath>{"tcp", NixlPath::kTcp}};

constexpr std::array kAlgorithms{
    Named<HostCollectives>{"ring", HostCollectives::kRing},
    Named<HostCollectives>{"tree", HostCollectives::kTree},
    Named<HostCollectives>{"shared_memory", HostCollectives::kSharedMemory}};

constexpr std::array kCountings{Named<LoadCounting>{"logical", LoadCounting::kLogical},
                                Named<LoadCounting>{"physical", LoadCounting::kPhysical},
                                Named<LoadCounting>{"both", LoadCounting::kBoth}};

/// One mapping of the file; the first thing that is wrong with it goes to `problem`.
class Entry {
 public:
  Entry(const Json& json, std::string where, std::string& problem)
      : json_(json), where_(std::move(where)), problem_(problem) {
    if (!json_.is_object()) {
      note("", "must be a mapping");
    }
  }

  [[nodiscard]] std::string text(const char* key, bool required = true) {
    const Json* value = find(key);
    if (value == nullptr) {
      if (required) {
        note(key, "is missing, must be a text");
      }
      return {};
    }
    if (!value->is_string()) {
      note(key, "must be a text");
      return {};
    }
    return value->get<std::string>();
  }

  [[nodiscard]] std::optional<double> number(const char* key, bool required = false) {
    const Json* value = find(key);
    if (value != nullptr && value->is_number()) {
      return value->get<double>();
    }
    if (value != nullptr || required) {
      note(key, "must be a number");
    }
    return std::nullopt;
  }

  [[nodiscard]] std::int64_t count(const char* key, std::int64_t fallback) {
    const Json* value = find(key);
    if (value == nullptr) {
      return fallback;
    }
    if (!value->is_number_integer() || value->get<std::int64_t>() < 1 ||
        value->get<std::int64_t>() > 1 << 24) {
      note(key, "must be a whole number from 1 to 16777216");
      return fallback;
    }
    return value->get<std::int64_t>();
  }

  [[nodiscard]] bool flag(const char* key) {
    const Json* value = find(key);
    if (value != nullptr && !value->is_boolean()) {
      note(key, "must be true or false");
    }
    return value != nullptr && value->is_boolean() && value->get<bool>();
  }

  [[nodiscard]] std::vector<std::string> texts(const char* key) {
    std::vector<std::string> out;
    const Json* value = find(key);
    for (const Json& one : value != nullptr ? *value : Json::array()) {
      if (!one.is_string()) {
        note(key, "must be a list of texts");
        break;
      }
      out.push_back(one.get<std::string>());
    }
    return out;
  }

  /// Pairs of numbers; a pair alone is a list of one.
  [[nodiscard]] std::vector<std::pair<double, double>> pairs(const char* key) {
    std::vector<std::pair<double, double>> out;
    const Json* value = find(key);
    if (value == nullptr) {
      return out;
    }
    const bool alone = value->is_array() && !value->empty() && value->front().is_number();
    for (const Json& one : alone ? Json::array({*value}) : *value) {
      if (!one.is_array() || one.size() != 2 || !one[0].is_number() || !one[1].is_number()) {
        note(key, "must be pairs of numbers");
        break;
      }
      out.emplace_back(one[0].get<double>(), one[1].get<double>());
    }
    return out;
  }

  template <typename T, std::size_t N>
  [[nodiscard]] T word(const char* key, const std::array<Named<T>, N>& words, T fallback,
                       bool required = false) {
    const std::string given = text(key, required);
    std::string allowed;
    for (const Named<T>& one : words) {
      if (one.name == given) {
        return one.value;
      }
      allowed += (allowed.empty() ? "" : ", ") + std::string(one.name);
    }
    if (!given.empty()) {
      note(key, fmt::format("must be one of {}, got {}", allowed, given));
    }
    return fallback;
  }

  /// Entries of the list under `key`, each handed to `read`.
  template <typename Read>
  void each(const char* key, const Read& read) {
    const Json* list = find(key);
    if (list == nullptr) {
      return;
    }
    if (!list->is_array()) {
      note(key, "must be a list");
      return;
    }
    std::size_t index = 0;
    for (const Json& one : *list) {
      Entry entry(one, fmt::format("{}{}[{}].", where_, key, index++), problem_);
      read(entry);
    }
  }

  void note(std::string_view key, std::string_view what) {
    if (problem_.empty()) {
      problem_ = fmt::format("{}{}: {}", where_, key, what);
    }
  }

 private:
  [[nodiscard]] const Json* find(const char* key) const {
    const auto value = json_.is_object() ? json_.find(key) : json_.end();
    return value != json_.end() && !value->is_null() ? &*value : nullptr;
  }

  const Json& json_;
  std::string where_;
  std::string& problem_;
};

Figure read_figure(Entry& entry) {
  Figure figure{.name = entry.text("case"),
                .value = entry.number("published", true).value_or(0),
                .sd = entry.number("sd"),
                .range = std::nullopt,
                .fitted = entry.flag("fitted"),
                .source_of = entry.text("source_of", false),
                .note = entry.text("note", false)};
  if (const auto range = entry.pairs("range"); !range.empty()) {
    figure.range = range.front();
  }
  return figure;
}

ScenarioRun read_run(Entry& entry) {
  return {.scenario = entry.text("scenario"),
          .overrides = entry.texts("set"),
          .with_eplb = entry.word("arm", kArms, true)};
}

CopyFigure read_copy(Entry& entry) {
  CopyFigure copy{
      .figure = read_figure(entry),
      .hardware = entry.text("hardware"),
      .communicator = entry.word("communicator", kCommunicators, Communicator::kSymmMem),
      .nixl_path = entry.word("nixl_path", kNixlPaths, NixlPath::kAuto),
      .pairs = {},
      .ranks = static_cast<std::int32_t>(entry.count("ranks", 2)),
      .copies = entry.count("copies", 1),
      .copy_streams = static_cast<std::int32_t>(entry.count("copy_streams", 1)),
      .batched_copies = entry.flag("batched_copies")};
  for (const auto& pair : entry.pairs("pairs")) {
    copy.pairs.emplace_back(static_cast<std::int32_t>(pair.first),
                            static_cast<std::int32_t>(pair.second));
    if (pair.first < 0 || pair.first >= copy.ranks || pair.second < 0 ||
        pair.second >= copy.ranks) {
      entry.note("pairs", "must be of ranks");
    }
  }
  return copy;
}

void read_all(Entry& root, Published& out) {
  out.source = root.text("source");
  root.each("inputs", [&](Entry& entry) {
    out.inputs.push_back({.key = entry.text("key"),
                          .from = entry.text("from"),
                          .only_sources = entry.flag("only_sources")});
  });
  root.each("runs", [&](Entry& entry) {
    out.runs.push_back({.figure = read_figure(entry),
                        .metric = entry.word("metric", kMetrics, RunMetric::kStep, true),
                        .run = read_run(entry)});
  });
  root.each("copies", [&](Entry& entry) { out.copies.push_back(read_copy(entry)); });
  root.each("reductions", [&](Entry& entry) {
    out.reductions.push_back(
        {.figure = read_figure(entry),
         .hardware = entry.text("hardware"),
         .ranks = static_cast<std::int32_t>(entry.count("ranks", 1)),
         .algorithm = entry.word("algorithm", kAlgorithms, HostCollectives::kRing, true)});
  });
  root.each("records", [&](Entry& entry) {
    out.records.push_back(
        {.figure = read_figure(entry),
         .hardware = entry.text("hardware"),
         .tokens = entry.count("tokens", 1),
         .counting = entry.word("counting", kCountings, LoadCounting::kLogical, true),
         .busiest_share = entry.number("busiest_share", true).value_or(0)});
  });
  root.each("orders", [&](Entry& entry) {
    PublishedOrder order{.claim = entry.text("claim"),
                         .metric = entry.word("metric", kMetrics, RunMetric::kThroughput, true),
                         .runs = {}};
    entry.each("runs", [&](Entry& run) { order.runs.push_back(read_run(run)); });
    out.orders.push_back(std::move(order));
  });
  out.counting_scenario = root.text("counting_scenario", false);
  root.each("not_predicted", [&](Entry& entry) {
    out.not_predicted.push_back({.what = entry.text("what"), .why = entry.text("why")});
  });
}

}  // namespace

std::string metric_name(RunMetric metric) {
  const auto* const named = std::ranges::find(kMetrics, metric, &Named<RunMetric>::value);
  return std::string(named->name);
}

bool is_gain(RunMetric metric) {
  return metric == RunMetric::kThroughputGain || metric == RunMetric::kMegaMoeDrop ||
         metric == RunMetric::kExpertLayerDrop;
}

Result<Published> read_published(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: cannot be read", path.string()));
  }
  Json json;
  try {
    json = yaml_to_json(text.str());
  } catch (const YAML::Exception& error) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}:{}:{}: error: {}", path.string(), error.mark.line + 1,
                            error.mark.column + 1, error.msg));
  }
  Published published;
  std::string problem;
  Entry root(json, "", problem);
  read_all(root, published);
  if (!problem.empty()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: error: {}", path.string(), problem));
  }
  return published;
}

}  // namespace eplb::cli
