// A graph of the CUDA driver, ready to be launched. See gpu_graph.cpp.
#pragma once
#include <nanobind/nanobind.h>

#include "warp_core/cuda.h"

namespace wc {

// Launches a GpuGraph, as Python has it.
void run_gpu_graph(nanobind::handle graph, cuda::Stream stream);
bool is_gpu_graph(nanobind::handle object);
void bind_gpu_graphs(nanobind::module_& cuda);

}  // namespace wc
