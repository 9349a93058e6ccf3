// The loops of trees with AVX2. bvh_loops.cpp asks the processor before it uses them.
#include "geometry/trees/bvh_loops.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("avx2,fma")
#define WC_AVX2  // the compiler defines its own macros before the pragma
#include "geometry/trees/bvh_all_loops.h"

namespace wc {

const BvhLoops* avx2_bvh_loops() { return &kLoops; }

}  // namespace wc
#else
namespace wc {

const BvhLoops* avx2_bvh_loops() { return nullptr; }

}  // namespace wc
#endif
