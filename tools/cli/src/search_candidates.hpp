#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "eplb/config/config.hpp"
#include "eplb/core/result.hpp"
#include "eplb/placement/options.hpp"

namespace eplb::cli {

/// A value that a candidate has on an axis.
struct Setting {
  std::string key;    ///< As in placement::SearchAxis.
  std::string value;  ///< As YAML.
};

/// A setting as people write it: `policy=robust`, without the section eplb and without quotes.
[[nodiscard]] std::string to_string(const Setting& setting);

/// All of them, `base` if there are none.
[[nodiscard]] std::string to_string(const std::vector<Setting>& settings);

struct Candidate {
  std::vector<Setting> settings = {};  ///< None of the base.
  std::uint64_t digest = 0;            ///< Of its whole configuration.
  std::string problem = {};            ///< Why it is no legal configuration; empty if it is one.
  /// An earlier candidate that is the same configuration by other words.
  std::optional<std::size_t> same_as = std::nullopt;
};

struct CandidateList {
  std::vector<Candidate> all;       ///< The base, then those of the options in their order.
  std::vector<std::size_t> judged;  ///< Those of `all` that are legal and new; the base first.
  std::int64_t space_size = 0;      ///< Settings that the axes span.
};

/// A configuration file, with settings on top.
class CandidateSource {
 public:
  CandidateSource(std::string file, config::LoadOptions options)
      : file_(std::move(file)), options_(std::move(options)) {}

  [[nodiscard]] config::LoadResult load(const std::vector<Setting>& settings) const;

 private:
  std::string file_;
  config::LoadOptions options_;
};

/// The candidates of the search that `base` asks for, each looked at whether it is legal. An option
/// that a candidate's policy does not have is left out of its settings. `base.search` must be
/// there.
[[nodiscard]] CandidateList candidates_of(const config::ResolvedConfig& base,
                                          const CandidateSource& source);

}  // namespace eplb::cli
