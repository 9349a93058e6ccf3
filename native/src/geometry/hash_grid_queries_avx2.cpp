// Queries of hash grids with AVX2 and fused multiply-adds. hash_grid_queries.cpp asks the processor first.
#include "geometry/hash_grid_query.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("avx2,fma")
#define WC_AVX2  // the compiler defines its own macros before the pragma
#include "geometry/hash_grid_walk.h"

namespace wc {

const HashGridWalks* avx2_hash_grid_walks() { return &kWalks; }

}  // namespace wc
#else
namespace wc {

const HashGridWalks* avx2_hash_grid_walks() { return nullptr; }

}  // namespace wc
#endif
