#pragma once

#include <cuda_runtime_api.h>

#include <functional>

#include "eplb/gpu/unique_handle.hpp"

namespace eplb::gpu {

/// What a stream was asked to do, as a graph.
class Graph {
 public:
  /// Captures what `enqueue` puts on the stream it is given. Thread-local, so that another thread
  /// may query events meanwhile. If `enqueue` throws, the capture is ended and dropped.
  [[nodiscard]] static Graph capture(const std::function<void(cudaStream_t)>& enqueue);

  [[nodiscard]] cudaGraph_t get() const { return graph_.get(); }

 private:
  Graph() = default;

  UniqueHandle<cudaGraph_t, cudaGraphDestroy> graph_;
};

/// A graph made ready: it can be launched any number of times.
class GraphExec {
 public:
  explicit GraphExec(const Graph& graph);

  void launch(cudaStream_t stream) const;

 private:
  UniqueHandle<cudaGraphExec_t, cudaGraphExecDestroy> exec_;
};

}  // namespace eplb::gpu
