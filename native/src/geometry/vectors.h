// Vectors of eight numbers in single precision and four in double precision, and points of such vectors. Each file that
// includes this compiles it for one instruction set, so all is in an unnamed namespace. WC_AVX2 says that there are
// AVX2 and fused multiply-adds.
#pragma once
#include <cstddef>
#include <cstdint>

// Functions that take vectors are all inlined: no calling convention matters.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace wc {
namespace {

using V8 = float __attribute__((vector_size(32)));
using V8i = int32_t __attribute__((vector_size(32)));
using V4 = float __attribute__((vector_size(16)));
using V4i = int32_t __attribute__((vector_size(16)));
using D4 = double __attribute__((vector_size(32)));
using D4i = int64_t __attribute__((vector_size(32)));

#define WC_INLINE inline __attribute__((always_inline))

constexpr float kInfinite = __builtin_inff();

template <class V, class T>
WC_INLINE V load(const T* p) {
    V v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

template <class V, class T>
WC_INLINE void store(T* p, V v) {
    __builtin_memcpy(p, &v, sizeof v);
}

WC_INLINE V8 all(float x) { return V8{x, x, x, x, x, x, x, x}; }
WC_INLINE V4 all4(float x) { return V4{x, x, x, x}; }
WC_INLINE D4 all(double x) { return D4{x, x, x, x}; }
template <class V>
WC_INLINE V least(V a, V b) {
    return a < b ? a : b;
}
template <class V>
WC_INLINE V most(V a, V b) {
    return a > b ? a : b;
}

#ifdef __SSE2__  // one operation also where an operand is a constant
WC_INLINE V4 least(V4 a, V4 b) { return __builtin_ia32_minps(a, b); }
WC_INLINE V4 most(V4 a, V4 b) { return __builtin_ia32_maxps(a, b); }
#endif

WC_INLINE unsigned bits(V8i mask) {
#ifdef WC_AVX2
    return static_cast<unsigned>(__builtin_ia32_movmskps256(reinterpret_cast<V8>(mask)));
#else
    unsigned found = 0;
    for (int i = 0; i < 8; ++i) found |= (mask[i] & 1u) << i;
    return found;
#endif
}

WC_INLINE unsigned bits(V4i mask) {
#ifdef __SSE2__
    return static_cast<unsigned>(__builtin_ia32_movmskps(reinterpret_cast<V4>(mask)));
#else
    unsigned found = 0;
    for (int i = 0; i < 4; ++i) found |= (mask[i] & 1u) << i;
    return found;
#endif
}

WC_INLINE unsigned bits(D4i mask) {
#ifdef WC_AVX2
    return static_cast<unsigned>(__builtin_ia32_movmskpd256(reinterpret_cast<D4>(mask)));
#else
    unsigned found = 0;
    for (int i = 0; i < 4; ++i) found |= (mask[i] & 1u) << i;
    return found;
#endif
}

WC_INLINE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
WC_INLINE D4 fma(D4 a, D4 b, D4 c) {
#ifdef WC_AVX2
    return __builtin_ia32_vfmaddpd256(a, b, c);
#else
    return D4{fma(a[0], b[0], c[0]), fma(a[1], b[1], c[1]), fma(a[2], b[2], c[2]), fma(a[3], b[3], c[3])};
#endif
}
// Rounded once on all processors.
WC_INLINE V8 fused(V8 a, V8 b, V8 c) {
#ifdef WC_AVX2
    return __builtin_ia32_vfmaddps256(a, b, c);
#else
    for (int i = 0; i < 8; ++i) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return c;
#endif
}
// As fast as it may be: rounded once or twice.
WC_INLINE V8 fma(V8 a, V8 b, V8 c) {
#ifdef WC_AVX2
    return __builtin_ia32_vfmaddps256(a, b, c);
#else
    return a * b + c;
#endif
}
WC_INLINE D4 select(D4i c, D4 a, D4 b) { return c ? a : b; }

// Three components, each a number or a vector of numbers.
template <class T>
struct Vec3 {
    T x, y, z;
};
template <class T>
WC_INLINE Vec3<T> operator-(Vec3<T> a, Vec3<T> b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}
template <class T>
WC_INLINE T dot(Vec3<T> a, Vec3<T> b) {
    return fma(a.z, b.z, fma(a.y, b.y, a.x * b.x));
}
template <class T>
WC_INLINE Vec3<T> cross(Vec3<T> a, Vec3<T> b) {
    return {fma(a.y, b.z, -(a.z * b.y)), fma(a.z, b.x, -(a.x * b.z)), fma(a.x, b.y, -(a.y * b.x))};
}

WC_INLINE V8 magnitude(V8 x) { return most(x, -x); }
WC_INLINE V8 largest(Vec3<V8> a) { return most(most(magnitude(a.x), magnitude(a.y)), magnitude(a.z)); }

WC_INLINE V8 root(V8 x) {
#ifdef WC_AVX2
    return __builtin_ia32_sqrtps256(x);
#else
    for (int i = 0; i < 8; ++i) x[i] = __builtin_sqrtf(x[i]);
    return x;
#endif
}

WC_INLINE D4 root(D4 x) {
#ifdef WC_AVX2
    return __builtin_ia32_sqrtpd256(x);
#else
    for (int i = 0; i < 4; ++i) x[i] = __builtin_sqrt(x[i]);
    return x;
#endif
}

}  // namespace
}  // namespace wc
