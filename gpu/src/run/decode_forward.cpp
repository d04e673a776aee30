#include "eplb/gpu/run/decode_forward.hpp"

#include <algorithm>
#include <cmath>

#include "eplb/gpu/error.hpp"

namespace eplb::gpu {
namespace {

constexpr double kNsPerUs = 1000;

std::size_t size_of(std::int64_t count) {
  return static_cast<std::size_t>(count);
}

std::size_t product_of(std::int32_t left, std::int32_t right) {
  return size_of(left) * size_of(right);
}

/// With a tenth of the layers behind it, one at least if there are several.
LayerId late_layer(const Shape& shape) {
  constexpr std::int32_t kParts = 10;
  const std::int32_t left = (shape.layer_count + kParts - 1) / kParts;
  return LayerId{std::max(shape.layer_count - 1 - left, 0)};
}

}  // namespace

DecodeForward::DecodeForward(const DecodeOptions& options, const Parts& parts)
    : options_(options),
      stream_(parts.stream),
      tally_shape_{.layer_count = options.shape.layer_count,
                   .slot_count = options.shape.slot_count()},
      host_popularities_(product_of(options.shape.layer_count, options.shape.expert_count)),
      log_popularities_(host_popularities_.size()),
      tallies_(parts.tallies.size()),
      logits_(product_of(options.row_count, options.shape.expert_count)),
      logical_ids_(product_of(options.row_count, options.top_k)),
      router_weights_(logical_ids_.size()),
      slot_ids_(logical_ids_.size()),
      staged_weights_(logical_ids_.size()),
      activations_(product_of(options.row_count, options.hidden_size)),
      staged_(
          size_of(staged_bytes(options.format, static_cast<std::int64_t>(activations_.size())))),
      scales_(
          size_of(scale_bytes(options.format, static_cast<std::int64_t>(activations_.size())))) {
  std::vector<const std::int32_t*> tallies;
  tallies.reserve(parts.tallies.size());
  for (const std::byte* tally : parts.tallies) {
    tallies.push_back(reinterpret_cast<const std::int32_t*>(tally));
  }
  tallies_.upload(tallies, stream_);
  activations_.fill_bytes(0x3C, stream_);  // Small and finite, whatever is made of it.
  log_popularities_.fill_bytes(0, stream_);
  report_.clear(stream_);
  if (options_.is_cooperative) {
    constexpr int kSharedKb = 200;  // Of a CTA: no other kernel of ours fits beside it.
    gang_.emplace(program::GangOptions{.ctas = options_.block_count, .smem_kb = kSharedKb});
  }
  graph_.emplace(Graph::capture([&](cudaStream_t captured) { enqueue(captured, parts); }));
}

void DecodeForward::set_popularities(const RealLoadMatrix& popularities) {
  constexpr double kNever = -1e30;
  std::size_t next = 0;
  for (Eigen::Index layer = 0; layer < popularities.rows(); ++layer) {
    for (Eigen::Index expert = 0; expert < popularities.cols(); ++expert) {
      const double popularity = popularities(layer, expert);
      host_popularities_.span()[next++] =
          static_cast<float>(popularity > 0 ? std::log(popularity) : kNever);
    }
  }
  EPLB_CUDA(cudaMemcpyAsync(log_popularities_.data(), host_popularities_.data(),
                            log_popularities_.bytes(), cudaMemcpyHostToDevice, stream_));
}

std::optional<program::GangReport> DecodeForward::gang_report() const {
  return gang_ ? std::optional(gang_->report()) : std::nullopt;
}

void DecodeForward::launch(std::int64_t step) {
  *host_step_.data() = step;
  graph_->launch(stream_);
}

// The graph fetches the step once: all threads of all layers read it, and over the host's link that
// takes longer than the layers. It ends with a kernel: what follows a copy waits for another
// engine.
void DecodeForward::enqueue(cudaStream_t stream, const Parts& parts) {
  EPLB_CUDA(cudaMemcpyAsync(step_.data(), host_step_.data(), step_.bytes(), cudaMemcpyHostToDevice,
                            stream));
  for (std::int32_t layer = 0; layer < options_.shape.layer_count; ++layer) {
    enqueue_layer(LayerId{layer}, stream, parts);
  }
}

void DecodeForward::fetch_report() {
  report_.fetch(stream_);
}

void DecodeForward::enqueue_layer(LayerId layer, cudaStream_t stream, const Parts& parts) {
  const std::int32_t pick_count = options_.row_count * options_.top_k;
  const auto expert_count = options_.shape.expert_count;
  draw_logits({.seed = options_.seed,
               .rank = static_cast<std::uint32_t>(options_.rank.value),
               .layer = static_cast<std::uint32_t>(layer.value),
               .step = step_.data(),
               .log_popularities = log_popularities_.data() + product_of(layer.value, expert_count),
               .logits = logits_.data(),
               .row_count = options_.row_count,
               .expert_count = expert_count},
              stream);
  RouterArguments<float, std::int64_t> router;
  router.rule = {
      .expert_count = expert_count, .top_k = options_.top_k, .scoring = RouterScoring::kSigmoid};
  router.logits = logits_.data();
  router.row_count = options_.row_count;
  router.slot_ids = logical_ids_.data();
  router.weights = router_weights_.data();
  route(router, stream);

  StagingArguments<std::int64_t> staging;
  staging.format = options_.format;
  staging.activations = activations_.data();
  staging.row_count = options_.row_count;
  staging.hidden_size = options_.hidden_size;
  staging.staged = staged_.data();
  staging.scales = scales_.data();
  staging.logical_ids = logical_ids_.data();
  staging.router_weights = router_weights_.data();
  staging.top_k = options_.top_k;
  staging.slot_ids = slot_ids_.data();
  staging.staged_weights = staged_weights_.data();
  staging.mapping = parts.mapping(layer);
  stage(staging, stream);

  tally_picks({.slot_ids = slot_ids_.data(),
               .pick_count = pick_count,
               .step = step_.data(),
               .shape = tally_shape_,
               .layer = layer.value,
               .tallies = reinterpret_cast<std::int32_t*>(parts.tallies[options_.rank.index()])},
              stream);
  LayerService service;
  service.rank = options_.rank.value;
  service.slots_per_rank = options_.shape.slots_per_rank();
  service.layer = layer.value;
  service.step = step_.data();
  service.shape = tally_shape_;
  service.tallies = tallies_.data();
  service.rank_count = options_.shape.rank_count;
  service.logical_ids = logical_ids_.data();
  service.slot_ids = slot_ids_.data();
  service.pick_count = pick_count;
  service.words_per_pick = options_.words_per_pick;
  service.start_ns = options_.times.layer_start_us * kNsPerUs;
  service.ns_per_row = options_.times.layer_us_per_row * kNsPerUs;
  service.block_count = options_.block_count;
  service.report = report_.data();
  service.late_step = layer == late_layer(options_.shape) ? late_step_.data() : nullptr;
  serve_layer(service, parts.layers[layer.index()].tensors(), stream);
  if (gang_) {
    gang_->launch(stream);
  }
  take_time(options_.times.others_us_per_layer * kNsPerUs, stream);
}

}  // namespace eplb::gpu
