// Queries of meshes with AVX2 and fused multiply-adds. mesh_queries.cpp asks the processor before it calls them.
#include <cstdint>
#include <vector>

#include "warp_core/geometry/wide_bvh.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("avx2,fma")
#define WC_AVX2  // the compiler defines its own macros before the pragma
#include "geometry/meshes/mesh_queries.h"

namespace wc {

const MeshQueries* avx2_queries() { return &kQueries; }

}  // namespace wc
#else
namespace wc {

const MeshQueries* avx2_queries() { return nullptr; }

}  // namespace wc
#endif
