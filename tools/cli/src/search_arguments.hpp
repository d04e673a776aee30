#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "eplb/cli/command_line.hpp"
#include "search_judge.hpp"
#include "search_processes.hpp"

namespace eplb::cli {

inline constexpr std::string_view kSearchName = "search";

[[nodiscard]] CommandSyntax search_syntax();

/// The part that --shard asks for, none without it. What is wrong is noted with the values.
[[nodiscard]] std::optional<Shard> read_shard(OptionValues& values);

/// Threads of this process: --threads, or its share of what the machine runs at once.
[[nodiscard]] std::int32_t read_threads(OptionValues& values, const SearchProcesses& processes);

}  // namespace eplb::cli
