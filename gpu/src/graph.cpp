#include "eplb/gpu/graph.hpp"

#include "eplb/gpu/stream.hpp"

namespace eplb::gpu {

Graph Graph::capture(const std::function<void(cudaStream_t)>& enqueue) {
  const Stream stream;
  Graph graph;
  cudaGraph_t captured = nullptr;
  EPLB_CUDA(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  try {
    enqueue(stream.get());
  } catch (...) {
    // The first failure is the one to tell, so that of the broken capture is dropped.
    if (cudaStreamEndCapture(stream.get(), &captured) == cudaSuccess) {
      graph.graph_ = UniqueHandle<cudaGraph_t, cudaGraphDestroy>(captured);
    }
    throw;
  }
  EPLB_CUDA(cudaStreamEndCapture(stream.get(), &captured));
  graph.graph_ = UniqueHandle<cudaGraph_t, cudaGraphDestroy>(captured);
  return graph;
}

GraphExec::GraphExec(const Graph& graph) {
  cudaGraphExec_t exec = nullptr;
  EPLB_CUDA(cudaGraphInstantiate(&exec, graph.get(), 0));
  exec_ = UniqueHandle<cudaGraphExec_t, cudaGraphExecDestroy>(exec);
}

void GraphExec::launch(cudaStream_t stream) const {
  EPLB_CUDA(cudaGraphLaunch(exec_.get(), stream));
}

}  // namespace eplb::gpu
