#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "drawn_forward.hpp"
#include "eplb/core/env/load_recorder.hpp"

namespace eplb::gpu::test {

/// A load recorder between a balancer and the real one, which compares every pass that the balancer
/// takes with what its forward should have counted. Called as the real one is.
class CheckedRecorder final : public env::LoadRecorder {
 public:
  explicit CheckedRecorder(env::LoadRecorder& inner) : inner_(inner) {}

  /// What the forward that was just launched counts, if the gate is open.
  void expect(PassCounts counts) { launched_ = std::move(counts); }

  [[nodiscard]] std::int64_t taken_count() const { return taken_count_; }

  /// Passes of dummy steps among them.
  [[nodiscard]] std::int64_t dummy_count() const { return dummy_count_; }

  [[nodiscard]] std::int64_t flip_count() const { return flip_count_; }

  /// Used passes that were not taken yet.
  [[nodiscard]] std::size_t left_count() const { return expected_.size(); }

  /// What differed first; empty if nothing did.
  [[nodiscard]] const std::string& difference() const { return difference_; }

  [[nodiscard]] bool counts_here() const override { return inner_.counts_here(); }

  void set_recording(bool recording) override {
    recording_ = recording;
    ++flip_count_;
    inner_.set_recording(recording);
  }

  void close_pass(std::int64_t step, env::PassUse use) override {
    inner_.close_pass(step, use);
    if (!use.record && !use.log) {
      return;
    }
    env::RecordedPass pass{.step = step,
                           .use = use,
                           .logical = launched_.logical,
                           .physical = use.log ? launched_.physical : LoadMatrix{}};
    if (use.dummy || !recording_) {
      pass.logical.setZero();
      pass.physical.setZero();
    }
    expected_.push_back(std::move(pass));
  }

  [[nodiscard]] const env::RecordedPass* try_take() override {
    const env::RecordedPass* const pass = inner_.try_take();
    if (pass != nullptr) {
      ++taken_count_;
      compare(*pass);
    }
    return pass;
  }

 private:
  void compare(const env::RecordedPass& pass) {
    const auto tell = [&](const char* what) {
      if (difference_.empty()) {
        difference_ = "step " + std::to_string(pass.step) + ": " + what;
      }
    };
    if (expected_.empty()) {
      tell("a pass that was not closed");
      return;
    }
    const env::RecordedPass expected = std::move(expected_.front());
    expected_.pop_front();
    dummy_count_ += expected.use.dummy ? 1 : 0;
    if (pass.step != expected.step || pass.use.record != expected.use.record ||
        pass.use.log != expected.use.log || pass.use.dummy != expected.use.dummy) {
      tell("another step or use");
    }
    if (!equal(pass.logical, expected.logical)) {
      tell("other counts by expert");
    }
    if (!equal(pass.physical, expected.physical)) {
      tell("other counts by slot");
    }
    const Eigen::Index slots =
        pass.physical.cols() / std::max<Eigen::Index>(pass.rank_loads.cols(), 1);
    for (Eigen::Index rank = 0; rank < pass.rank_loads.cols(); ++rank) {
      if (pass.rank_loads.col(rank) !=
          pass.physical.middleCols(rank * slots, slots).rowwise().sum()) {
        tell("other sums by rank");
      }
    }
  }

  [[nodiscard]] static bool equal(const LoadMatrix& left, const LoadMatrix& right) {
    return left.rows() == right.rows() && left.cols() == right.cols() && left == right;
  }

  env::LoadRecorder& inner_;
  PassCounts launched_;
  std::deque<env::RecordedPass> expected_;
  std::string difference_;
  std::int64_t taken_count_ = 0;
  std::int64_t dummy_count_ = 0;
  std::int64_t flip_count_ = 0;
  bool recording_ = false;
};

}  // namespace eplb::gpu::test
