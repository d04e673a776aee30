#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "eplb/config/diagnostic.hpp"
#include "eplb/placement/options.hpp"
#include "eplb/sim/options.hpp"
#include "eplb/sim/program/program.hpp"

namespace eplb::config {

/// A configuration or an included file beyond this is refused unread.
inline constexpr std::size_t kConfigBytesMax = std::size_t{4} << 20U;

struct LoadOptions {
  /// Where bare names are sought, in order: DIR/models/NAME.yaml and DIR/hardware/NAME.yaml.
  std::vector<std::filesystem::path> config_dirs = {"configs"};
  /// `key=value`, the key dotted, the value YAML; later ones win. Applied to the scenario, and to
  /// the model and the hardware after their files were read. A path in a value is relative to the
  /// current directory.
  std::vector<std::string> overrides;
  /// One setting of a search: as overrides, after them, but paths are relative to the scenario.
  std::vector<std::string> settings = {};
  /// What eplb.policy may be, up to its options; empty: anything.
  std::vector<std::string> policy_names;
  /// What is wrong with a policy's options, "name:key=value,..."; empty if nothing is. None: nobody
  /// looks at them.
  std::function<std::string(const std::string& policy)> policy_problem = {};
};

struct ResolvedConfig {
  /// Of a serving run. Beside a program only its hardware and seed are set.
  sim::Scenario scenario;
  /// What is run instead of the scenario, where the configuration has one.
  std::optional<sim::Program> program = std::nullopt;
  std::optional<placement::SearchOptions> search = std::nullopt;  ///< Where it has the section.
  std::vector<std::string> notes;  ///< Legal, but perhaps not what was meant: a sentence each.
  /// The whole configuration: defaults filled in, model and hardware expanded, keys in the order of
  /// the schema. Loading it from the same directory gives the same text and digest.
  std::string canonical_yaml;
  std::uint64_t digest = 0;  ///< Of canonical_yaml and the content of a counts or domains file.
};

/// All that is wrong, ordered by position: the scenario, the overrides, the included files.
using LoadResult = tl::expected<ResolvedConfig, std::vector<Diagnostic>>;

/// Reads and checks a scenario. A path in it is relative to it. Throws nothing; whatever a file
/// holds ends in a diagnostic.
[[nodiscard]] LoadResult load_config(const std::filesystem::path& path, const LoadOptions& options);

/// A scenario that is in memory already.
struct ConfigText {
  std::string_view text;
  std::string name;                 ///< Stands as `file` in diagnostics.
  std::filesystem::path directory;  ///< What its paths are relative to.
};

[[nodiscard]] LoadResult load_config_text(const ConfigText& config, const LoadOptions& options);

/// The reference of all keys, in Markdown: the content of configs/README.md.
[[nodiscard]] std::string schema_markdown();

}  // namespace eplb::config
