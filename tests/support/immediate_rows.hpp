#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "eplb/core/env/queue.hpp"
#include "eplb/core/env/transport.hpp"
#include "eplb/core/placement.hpp"
#include "eplb/core/row_address.hpp"

namespace eplb::test {

/// Which expert each row of a group holds, layer and all; -1 where none was ever written.
class ExpertRows {
 public:
  void load(const Placement& placement) {
    for (std::int32_t layer = 0; layer < placement.shape().layer_count; ++layer) {
      const LayerPlacement& slots = placement.layer(LayerId{layer});
      for (std::int32_t slot = 0; slot < slots.slot_count(); ++slot) {
        content_[key_of({.region = weights_region(LayerId{layer}),
                         .rank = slots.rank_of(SlotId{slot}),
                         .row = slot % slots.slots_per_rank()})] = {
            layer, slots.occupant(SlotId{slot}).value};
      }
    }
  }

  /// Last copy first: none may depend on another.
  void copy(std::span<const RowCopy> copies) {
    for (std::size_t left = copies.size(); left > 0; --left) {
      content_[key_of(copies[left - 1].destination)] = content_[key_of(copies[left - 1].source)];
    }
  }

  /// Whether each slot that serves holds its expert, of its layer.
  [[nodiscard]] bool hold(const Placement& placement) const {
    ExpertRows expected;
    expected.load(placement);
    for (const auto& [key, content] : expected.content_) {
      const auto found = content_.find(key);
      if (content.expert >= 0 && (found == content_.end() || found->second != content)) {
        return false;
      }
    }
    return true;
  }

 private:
  struct Content {
    std::int32_t layer = -1;
    std::int32_t expert = -1;

    friend bool operator==(const Content&, const Content&) = default;
  };

  using Key = std::pair<std::int32_t, std::pair<std::int32_t, std::int32_t>>;

  [[nodiscard]] static Key key_of(const RowAddress& address) {
    return {address.region.value, {address.rank.value, address.row}};
  }

  std::map<Key, Content> content_;
};

/// Runs each operation as soon as it is appended.
class ImmediateQueue final : public env::Queue {
 public:
  explicit ImmediateQueue(ExpertRows& rows) : rows_(rows) {}

  void copy(std::span<const RowCopy> copies) override { rows_.copy(copies); }

  [[nodiscard]] env::Ticket signal() override { return {++given_}; }

  void wait(const env::Queue& /*other*/, env::Ticket /*ticket*/) override {}

  [[nodiscard]] env::Completion poll(env::Ticket /*ticket*/) const override {
    return env::Completion::kDone;
  }

 private:
  ExpertRows& rows_;
  std::int64_t given_ = 0;
};

/// Rows land as soon as they are sent, unless the rank's link is broken.
class ImmediateTransport final : public env::Transport {
 public:
  ImmediateTransport(env::TransferSide side, ExpertRows& rows) : side_(side), rows_(rows) {}

  [[nodiscard]] env::TransportTraits traits() const override { return {.side = side_}; }

  [[nodiscard]] Result<env::Ticket> start(std::span<const RowCopy> copies) override {
    if (broken) {
      return fail(ErrorCode::kDevice, "the link is broken");
    }
    rows_.copy(copies);
    return env::Ticket{++given_};
  }

  void cancel() override {}

  [[nodiscard]] env::Completion poll(env::Ticket /*ticket*/) const override {
    return env::Completion::kDone;
  }

  bool broken = false;

 private:
  env::TransferSide side_;
  ExpertRows& rows_;
  std::int64_t given_ = 0;
};

}  // namespace eplb::test
