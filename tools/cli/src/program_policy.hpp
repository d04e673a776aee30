#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "eplb/core/policy.hpp"
#include "line_program.hpp"

namespace eplb::cli {

/// A policy that is a program of its own, in any language (docs/plugins.md): for each plan it is
/// given the problem as a line of JSON, and answers a placement as one. It is started with the
/// first plan and stays; after a failure the next plan starts it anew. Every rank asks a program of
/// its own, so it must answer equal problems alike.
class ProgramPolicy final : public PlacementPolicy {
 public:
  static constexpr std::string_view kName = "program";

  struct Options {
    std::vector<std::string> words;              ///< The program and its arguments.
    std::chrono::duration<double> patience{60};  ///< For an answer.
  };

  explicit ProgramPolicy(Options options) : options_(std::move(options)) {}

  [[nodiscard]] std::string_view name() const override { return kName; }

  /// kTimeout or kInvalidArgument, with what the program did wrong.
  [[nodiscard]] Result<Placement> place(const PolicyProblem& problem) const override;

 private:
  [[nodiscard]] Result<Placement> ask(const PolicyProblem& problem) const;

  Options options_;
  mutable std::mutex mutex_;  ///< Ranks of one process plan on threads of their own.
  mutable std::unique_ptr<LineProgram> program_;
  mutable std::int64_t request_count_ = 0;
};

/// The options from "PATH[ ARGUMENT...][,deadline_s=N]". kInvalidArgument with what is wrong.
[[nodiscard]] Result<ProgramPolicy::Options> parse_program(std::string_view text);

}  // namespace eplb::cli
