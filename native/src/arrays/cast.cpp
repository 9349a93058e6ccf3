#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <limits>

#include "warp_core/algorithms.h"
#include "warp_core/dispatch_scalar.h"
#include "warp_core/short_floats.h"

namespace wc {
namespace {

constexpr int64_t kChunk = 1 << 15;

// The number itself, 16-bit floats as float.
template <class T>
auto number(T x) {
    if constexpr (std::is_same_v<T, Half>) {
        return half_number(x.bits);
    } else if constexpr (std::is_same_v<T, Bfloat>) {
        return bfloat_number(x.bits);
    } else {
        return x;
    }
}

// Towards zero, without branches: the number is clamped to what both types can hold.
template <class To, class From>
To saturate(From x) {
    using Limits = std::numeric_limits<To>;
    using Floats = std::numeric_limits<From>;
    using Wide = std::conditional_t<(sizeof(To) < 4), int32_t, To>;
    constexpr From lower = static_cast<From>(Limits::min());
    constexpr From above = static_cast<From>(Limits::max() / 2 + 1) * 2;
    constexpr From upper =
        Limits::digits <= Floats::digits ? static_cast<From>(Limits::max()) : above * (1 - Floats::epsilon() / 2);
    From y = x > lower ? x : lower;
    y = y < upper ? y : upper;
    y = x == x ? y : From{0};
    auto result = static_cast<To>(static_cast<Wide>(y));
    return x >= above ? Limits::max() : result;
}

// A float that rounds to a 16-bit one like x does.
template <class From>
float for_rounding(From x) {
    if constexpr (std::is_same_v<From, float>) return x;
    if constexpr (std::is_integral_v<From> && sizeof(From) == 8) {
        // Double would round; what is below its reach only matters by being there.
        constexpr From low = 0xfff;
        From top = x >> 52;
        if (top != 0 && top != static_cast<From>(-1)) x = static_cast<From>((x & ~low) | (x & low ? 0x800 : 0));
    }
    return round_to_odd(static_cast<double>(x));
}

template <class To, class From>
To convert(From x) {
    if constexpr (std::is_same_v<To, Half>) {
        return {half_bits(for_rounding(x))};
    } else if constexpr (std::is_same_v<To, Bfloat>) {
        return {bfloat_bits(for_rounding(x))};
    } else if constexpr (std::is_same_v<To, bool>) {
        return x != From{0};
    } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
        return saturate<To>(x);
    } else {
        return static_cast<To>(x);
    }
}

// A function of its own, so that the loop sees its pointers do not change.
template <class To, class From>
void convert_all(To* to, const From* from, int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[i] = convert<To>(number(from[i]));
}

#if defined(__x86_64__)
// Whole groups of 8 by the processor's instruction, which keeps what a NaN carries: that is dropped before, as
// half_bits does. Returns how many are done.
__attribute__((target("avx,f16c"))) int64_t convert_groups(Half* to, const float* from, int64_t n) {
    const __m256 sign = _mm256_set1_ps(-0.0f), nan = _mm256_set1_ps(std::numeric_limits<float>::quiet_NaN());
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 x = _mm256_loadu_ps(from + i);
        __m256 plain_nan = _mm256_or_ps(_mm256_and_ps(x, sign), nan);
        x = _mm256_blendv_ps(x, plain_nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
    }
    return i;
}

const bool has_f16c = __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c");

void convert_all(Half* to, const float* from, int64_t n) {
    int64_t done = has_f16c ? convert_groups(to, from, n) : 0;
    convert_all<Half, float>(to + done, from + done, n - done);
}
#endif

}  // namespace

void cast(Scalar to, void* out, Scalar from, const void* in, int64_t n) {
    visit_scalar(from, [&](auto source) {
        visit_scalar(to, [&](auto target) {
            auto* read = static_cast<const decltype(source)*>(in);
            auto* write = static_cast<decltype(target)*>(out);
            parallel(n, kChunk,
                     [=](int64_t begin, int64_t end) { convert_all(write + begin, read + begin, end - begin); });
        });
    });
}

}  // namespace wc
