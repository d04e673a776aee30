#include "rank_history.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace eplb::test {
namespace {

/// Reads calls in order.
class Reader {
 public:
  void read(const group::Made<group::call::ClosePass>& made) { step_ = made.call.step; }

  void read(const group::Made<group::call::Publish>& made) {
    history_.published.push_back({.step = step_,
                                  .layer = made.call.layer.value,
                                  .epoch = made.call.epoch,
                                  .map = *made.call.map});
  }

  void read(const group::Made<group::call::TakePass>& made) {
    if (made.answer.has_value()) {
      history_.passes.push_back(*made.answer);
    }
  }

  void read(const group::Made<group::call::StartSum>& made) {
    if (made.call.key.kind == env::SumKey::Kind::kWindow) {
      history_.windows.push_back({.rearrangement = made.call.key.index,
                                  .pass_count = passes_at_trigger_,
                                  .values = made.call.values});
    }
  }

  void read(const group::Made<group::call::TakeSum>& made) {
    if (made.call.key.kind == env::SumKey::Kind::kWindow && made.answer != nullptr) {
      history_.window_totals.emplace(made.call.key.index, *made.answer);
    }
  }

  void read(const group::Made<group::call::Record>& made) {
    const env::TraceRecord& record = made.call.record;
    history_.records.push_back(record);
    if (record.event == env::TraceEvent::kAggregating) {
      passes_at_trigger_ = history_.passes.size();
    }
    history_.held_answers += record.event == env::TraceEvent::kStep && record.value == 1 ? 1 : 0;
  }

  template <typename Call>
  void read(const group::Made<Call>& /*made*/) {}

  [[nodiscard]] RankHistory take() { return std::move(history_); }

 private:
  RankHistory history_;
  std::int64_t step_ = -1;
  std::size_t passes_at_trigger_ = 0;
};

}  // namespace

RankHistory history_of(const group::RecordedCalls& calls) {
  Reader reader;
  for (const group::RecordedCall& recorded : calls) {
    std::visit([&](const auto& made) { reader.read(made); }, recorded);
  }
  return reader.take();
}

std::vector<env::TraceRecord> records_of(const RankHistory& history, env::TraceEvent event) {
  std::vector<env::TraceRecord> found;
  std::ranges::copy_if(history.records, std::back_inserter(found),
                       [&](const env::TraceRecord& record) { return record.event == event; });
  return found;
}

LayerMap map_in_step(const RankHistory& history, const Shape& shape, LayerId layer,
                     std::int64_t step) {
  LayerMap map = LayerMap::from(LayerPlacement::initial(shape));
  for (const PublishedMap& published : history.published) {
    if (published.layer == layer.value && published.step < step) {
      map = published.map;
    }
  }
  return map;
}

std::vector<std::int64_t> folded(const env::RecordedPass& pass, LayerId layer,
                                 const LayerMap& map) {
  std::vector<std::int64_t> counts;
  counts.reserve(static_cast<std::size_t>(map.expert_count()));
  for (std::int32_t expert = 0; expert < map.expert_count(); ++expert) {
    std::int64_t count = 0;
    for (const std::int32_t slot : map.slots(LogicalExpertId{expert})) {
      count += pass.physical(layer.value, slot);
    }
    counts.push_back(count);
  }
  return counts;
}

std::vector<double> recounted(const RankHistory& history, const WindowSum& window,
                              const EplbOptions& options, const Shape& shape) {
  std::vector<const env::RecordedPass*> recorded;
  for (std::size_t index = 0; index < window.pass_count; ++index) {
    if (history.passes[index].use.record) {
      recorded.push_back(&history.passes[index]);
    }
  }
  const auto kept = std::min(recorded.size(), static_cast<std::size_t>(options.window_size));
  recorded.erase(recorded.begin(), recorded.end() - static_cast<std::ptrdiff_t>(kept));
  std::vector<double> values;
  const auto parts = static_cast<std::size_t>(options.window_parts);
  for (std::size_t part = 0; part < parts; ++part) {
    LoadMatrix sum = LoadMatrix::Zero(shape.layer_count, shape.expert_count);
    for (std::size_t index = part * kept / parts; index < (part + 1) * kept / parts; ++index) {
      sum += recorded[index]->logical;
    }
    const RealLoadMatrix real = sum.cast<double>();
    values.insert(values.end(), real.data(), real.data() + real.size());
  }
  return values;
}

}  // namespace eplb::test
