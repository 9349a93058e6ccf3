// Loops compiled twice: for the processors that all wheels run on, and with AVX2. The loader takes what the processor
// has. No fused multiply-adds: results are the same on all processors.
#pragma once

#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define WC_AVX2_CLONE __attribute__((target_clones("avx2", "default")))
#else
#define WC_AVX2_CLONE
#endif
