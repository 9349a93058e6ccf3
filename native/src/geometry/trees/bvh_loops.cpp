#include "geometry/trees/bvh_all_loops.h"

namespace wc {

const BvhLoops& bvh_loops() {
#ifdef __x86_64__
    static const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (has_avx2 && avx2_bvh_loops()) return *avx2_bvh_loops();
#endif
    return kLoops;
}

}  // namespace wc
