#include "search_arguments.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "config_arguments.hpp"
#include "run_batch.hpp"

namespace eplb::cli {
namespace {

constexpr std::int32_t kThreadsMax = 1024;
constexpr std::int32_t kShardsMax = 100'000;

std::optional<std::int32_t> whole_number(std::string_view text) {
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

}  // namespace

CommandSyntax search_syntax() {
  std::vector<OptionSpec> options = config_options();
  std::vector<OptionSpec> own{
      {.name = "journal",
       .value_name = "FILE",
       .help =
           "where each run is written down as it ends, so that a search that was killed goes on "
           "from there"},
      {.name = "merge",
       .value_name = "FILE",
       .help =
           "another journal of the same search, as a shard has written it; what it knows is not "
           "run again; may be given again",
       .repeatable = true},
      {.name = "shard",
       .value_name = "I/N",
       .help = "do part I of N, from 1, of the first round of runs that the journals do not have, "
               "and end; needs --journal"},
      {.name = "threads",
       .value_name = "N",
       .help = "threads of this process; as many as the machine runs at once, less what other "
               "processes of the search have there"}};
  std::ranges::move(own, std::back_inserter(options));
  return {
      .name = kSearchName,
      .usage = "CONFIG [options]",
      .about =
          "Searches the settings that the section `search` of the configuration spans, each "
          "judged in the\nsimulator on several seeds, for those that nothing beats in all "
          "objectives at once, and says how\nsurely they beat the configuration's own. The "
          "result is the same from any number of threads,\nof processes (mpirun), of shards, "
          "and after any interruption.",
      .example =
          "  eplb search configs/search-gb200-dep32.yaml --journal dep32.jsonl --json out.json\n"
          "  mpirun -np 4 eplb search configs/search-gb200-dep32.yaml\n"
          "  eplb search configs/search-gb200-dep32.yaml --shard 2/8 --journal 2.jsonl\n"
          "  eplb search configs/search-gb200-dep32.yaml --merge 1.jsonl --merge 2.jsonl",
      .positionals = {"CONFIG"},
      .options = std::move(options)};
}

std::optional<Shard> read_shard(OptionValues& values) {
  const std::optional<std::string> text = values.text("shard");
  if (!text.has_value()) {
    return std::nullopt;
  }
  const std::size_t slash = std::min(text->find('/'), text->size());
  const auto index = whole_number(std::string_view(*text).substr(0, slash));
  const auto count =
      whole_number(std::string_view(*text).substr(std::min(slash + 1, text->size())));
  if (!index || !count || *index < 1 || *count < *index || *count > kShardsMax) {
    values.note_problem(fmt::format(
        "--shard: must be I/N with I from 1 to N, N at most {}, got '{}'", kShardsMax, *text));
    return Shard{};
  }
  if (!values.has("journal")) {
    values.note_problem("--shard: needs --journal, which its part goes to");
  }
  return Shard{.index = *index, .count = *count};
}

std::int32_t read_threads(OptionValues& values, const SearchProcesses& processes) {
  const std::int32_t own =
      std::max(1, hardware_thread_count() / std::max(1, processes.local_process_count()));
  return values.integer("threads", {.min = 1, .max = kThreadsMax, .fallback = own});
}

}  // namespace eplb::cli
