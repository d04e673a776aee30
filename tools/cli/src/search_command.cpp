#include "search_command.hpp"

#include <fmt/core.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

#include "config_arguments.hpp"
#include "eplb/cli/command_line.hpp"
#include "eplb/cli/run.hpp"
#include "run_progress.hpp"
#include "search_arguments.hpp"
#include "search_candidates.hpp"
#include "search_dealer.hpp"
#include "search_judge.hpp"
#include "search_processes.hpp"
#include "search_report.hpp"

namespace eplb::cli {
namespace {

using Json = nlohmann::ordered_json;

/// What a process tells process 0 when they have met: nothing if it cannot take part.
std::string hello_text(std::uint64_t config_digest, std::int32_t threads) {
  return Json{{"version", version()}, {"config_digest", config_digest}, {"threads", threads}}
      .dump();
}

/// The threads of all processes, if all have the program and the configuration of the first.
Result<std::vector<std::int32_t>> thread_counts_of(const std::vector<std::string>& hellos) {
  std::vector<std::int32_t> counts;
  std::optional<Json> own;
  for (std::size_t process = 0; process < hellos.size(); ++process) {
    Json hello = Json::parse(hellos[process], nullptr, false);
    counts.push_back(hello.is_object() ? hello.value("threads", 0) : 0);
    if (hello.is_object()) {
      hello.erase("threads");
    }
    if (!own.has_value()) {
      own = hello;
    } else if (hello != *own) {
      return fail(ErrorCode::kInvalidConfig,
                  fmt::format("process {} cannot read the configuration, or has another one or "
                              "another version of the program: they must be the same everywhere",
                              process));
    }
  }
  return counts;
}

/// A process other than the first: it evaluates what it is told to.
ExitCode serve_search(std::span<const std::string> arguments, SearchProcesses& processes) {
  std::ostream nowhere(nullptr);
  const Streams silent{.out = nowhere, .err = nowhere};
  auto values = parse_command_line(search_syntax(), arguments, silent);
  CandidateList candidates;
  std::optional<CandidateSource> source;
  std::string hello;
  std::int32_t threads = 1;
  if (values) {
    const std::string file = values->required_text("CONFIG");
    const config::LoadOptions options = load_options(*values);
    threads = read_threads(*values, processes);
    const config::LoadResult loaded = config::load_config(file, options);
    if (loaded && loaded->search.has_value()) {
      source.emplace(file, options);
      candidates = candidates_of(*loaded, *source);
      hello = hello_text(loaded->digest, threads);
    }
  }
  static_cast<void>(processes.gather(hello));
  SearchDealer dealer(processes, {}, threads, [&](const std::string& request) {
    return answer_request(request, candidates, *source);
  });
  return static_cast<ExitCode>(dealer.serve());
}

/// What the command line and the files have given.
struct Prepared {
  ConfigRun run;
  std::optional<Shard> shard;
  std::int32_t threads = 1;
  CandidateSource source;
  CandidateList candidates;
  Evaluations known;
  std::optional<Journal> journal;
};

Result<void> check_searchable(const ConfigRun& run) {
  if (run.config.search.has_value()) {
    return {};
  }
  return fail(
      ErrorCode::kInvalidConfig,
      fmt::format("{}:1:1: error: search: is missing, must be a mapping with axes at least; "
                  "configs/README.md says what it takes",
                  run.file));
}

/// What the journals hold, and the one that goes on.
Result<std::optional<Journal>> open_journals(OptionValues& values, std::uint64_t config_digest,
                                             Evaluations& known) {
  const JournalOwner owner{.version = std::string(version()), .config_digest = config_digest};
  for (const std::string& file : values.texts("merge")) {
    if (auto read = read_journal(file, owner, known); !read) {
      return tl::unexpected(std::move(read).error());
    }
  }
  const std::optional<std::string> own = values.text("journal");
  if (!own.has_value()) {
    return std::optional<Journal>();
  }
  auto journal = Journal::open(*own, owner, known);
  if (!journal) {
    return tl::unexpected(std::move(journal).error());
  }
  return std::optional<Journal>(*std::move(journal));
}

tl::expected<Prepared, ExitCode> prepare(std::span<const std::string> arguments,
                                         const SearchProcesses& processes, const Streams& streams) {
  auto run = begin_config_run(search_syntax(), arguments, streams);
  if (!run) {
    return tl::unexpected(run.error());
  }
  const std::optional<Shard> shard = read_shard(run->values);
  const std::int32_t threads = read_threads(run->values, processes);
  static_cast<void>(run->values.text("journal"));
  if (run->values.report_problems(streams)) {
    return tl::unexpected(ExitCode::kUsage);
  }
  Evaluations known;
  const auto refuse = [&](const Error& error) {
    streams.err << error.message << '\n';
    return tl::unexpected(ExitCode::kUsage);
  };
  if (const auto searchable = check_searchable(*run); !searchable) {
    return refuse(searchable.error());
  }
  auto journal = open_journals(run->values, run->config.digest, known);
  if (!journal) {
    return refuse(journal.error());
  }
  CandidateSource source(run->file, load_options(run->values));
  CandidateList candidates = candidates_of(run->config, source);
  return Prepared{.run = *std::move(run),
                  .shard = shard,
                  .threads = threads,
                  .source = std::move(source),
                  .candidates = std::move(candidates),
                  .known = std::move(known),
                  .journal = *std::move(journal)};
}

/// The search and its report.
Result<void> conduct(Prepared& prepared, std::vector<std::int32_t> thread_counts,
                     SearchProcesses& processes, const Streams& streams) {
  const config::ResolvedConfig& config = prepared.run.config;
  SearchDealer dealer(processes, std::move(thread_counts), prepared.threads,
                      [&](const std::string& request) {
                        return answer_request(request, prepared.candidates, prepared.source);
                      });
  RunProgress progress(streams);
  const std::size_t candidate_count = prepared.candidates.judged.size() - 1;
  const std::int64_t steps = config.scenario.run.steps;
  SearchJudge judge(
      {.candidates = prepared.candidates,
       .options = *config.search,
       .first_seed = config.scenario.run.seed,
       .planned_steps = placement::planned_steps(*config.search, steps, candidate_count),
       .shard = prepared.shard},
      std::move(prepared.known), std::move(prepared.journal), dealer, progress);
  auto outcome = placement::run_search(*config.search, steps, candidate_count, std::ref(judge));
  progress.clear();
  if (!outcome) {
    return tl::unexpected(std::move(outcome).error());
  }
  const SearchReport report{.config = config,
                            .config_file = prepared.run.file,
                            .candidates = prepared.candidates,
                            .outcome = *std::move(outcome),
                            .run_count = judge.wanted_count()};
  if (!prepared.run.json.takes_standard_output()) {
    print_search(report, streams.out);
  }
  return prepared.run.json.write(search_json(report));
}

/// Tells the other processes to end, however this one ends.
class OthersEnd {
 public:
  explicit OthersEnd(SearchProcesses& processes) : processes_(processes) {}

  ~OthersEnd() { end_search(processes_, static_cast<int>(code_)); }

  OthersEnd(const OthersEnd&) = delete;
  OthersEnd& operator=(const OthersEnd&) = delete;
  OthersEnd(OthersEnd&&) = delete;
  OthersEnd& operator=(OthersEnd&&) = delete;

  ExitCode with(ExitCode code) {
    code_ = code;
    return code;
  }

 private:
  SearchProcesses& processes_;
  ExitCode code_ = ExitCode::kNotPossibleHere;
};

ExitCode lead_search(std::span<const std::string> arguments, SearchProcesses& processes,
                     const Streams& streams) {
  OthersEnd others(processes);
  auto prepared = prepare(arguments, processes, streams);
  const std::vector<std::string> hellos = processes.gather(
      prepared ? hello_text(prepared->run.config.digest, prepared->threads) : std::string());
  if (!prepared) {
    return others.with(prepared.error());
  }
  const auto thread_counts = thread_counts_of(hellos);
  const auto done = thread_counts ? conduct(*prepared, *thread_counts, processes, streams)
                                  : tl::unexpected(thread_counts.error());
  if (done) {
    return others.with(ExitCode::kDone);
  }
  if (done.error().code == ErrorCode::kAborted) {
    streams.out << done.error().message << '\n';
    return others.with(ExitCode::kDone);
  }
  print_error(streams, kSearchName, done.error().message);
  return others.with(ExitCode::kUsage);
}

}  // namespace

ExitCode run_search(std::span<const std::string> arguments, const Streams& streams) {
  const auto processes = join_search_processes();
  if (!processes) {
    print_error(streams, kSearchName, processes.error().message);
    return processes.error().code == ErrorCode::kUnsupported ? ExitCode::kNotPossibleHere
                                                             : ExitCode::kUsage;
  }
  return (*processes)->process() == 0 ? lead_search(arguments, **processes, streams)
                                      : serve_search(arguments, **processes);
}

}  // namespace eplb::cli
