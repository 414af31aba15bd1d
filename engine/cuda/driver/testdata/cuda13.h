// cuda.h of CUDA 13 for gorgonia.org/cu, which calls five functions as CUDA 12 had them.
// To be found as cuda.h before the real one.
#pragma once
#include_next <cuda.h>

#undef cuMemAdvise
#undef cuMemPrefetchAsync
#undef cuCtxCreate
#undef cuGraphAddDependencies
#undef cuGraphGetEdges

CUresult CUDAAPI cuMemAdvise(CUdeviceptr at, size_t count, CUmem_advise advice, CUdevice device);
CUresult CUDAAPI cuMemPrefetchAsync(CUdeviceptr at, size_t count, CUdevice device, CUstream stream);
CUresult CUDAAPI cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count);
CUresult CUDAAPI cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count);
#define cuCtxCreate cuCtxCreate_v2
CUresult CUDAAPI cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device);
