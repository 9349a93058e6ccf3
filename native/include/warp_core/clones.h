// Loops compiled twice: for the processors that all wheels run on, and with AVX2. The loader takes what the processor
// has. A loop for AVX-512 alone stands beside them, as vectors of twice the size are another loop. No fused
// multiply-adds: results are the same on all processors.
#pragma once

#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define WC_HAS_CLONES 1
#define WC_AVX2_CLONE __attribute__((target_clones("avx2", "default")))
#define WC_AVX512 __attribute__((target("arch=x86-64-v4")))
#else
#define WC_AVX2_CLONE
#define WC_AVX512
#endif

namespace wc {

// True if loops that are marked WC_AVX512 run here.
inline bool has_avx512() {
#ifdef WC_HAS_CLONES
    static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                            __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
    return has;
#else
    return false;
#endif
}

}  // namespace wc
