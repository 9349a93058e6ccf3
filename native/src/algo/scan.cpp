// Running sums in chunks: first the sum of each, by all threads; then every chunk begins with the sum of those before
// it. A thread alone goes over them once.
//
// Numbers are added as (sum before the chunk) + ((sum in the chunk) + (sum in a group of four)), floats in double. The
// first two grow by the amount that was added for the last number. So sums never decrease where no number is negative,
// and only one addition in four waits for the one before it.
#include <algorithm>
#include <cstring>
#include <utility>

#include "warp_core/algorithms.h"
#include "warp_core/clones.h"
#include "warp_core/dispatch_scalar.h"

namespace wc {
namespace {

constexpr int64_t kChunk = 1 << 14;

// What sums are kept in: double for floats, unsigned for integers, since that wraps.
template <class T>
struct SumOf {
    using type = std::make_unsigned_t<T>;
};
template <>
struct SumOf<float> {
    using type = double;
};
template <>
struct SumOf<double> {
    using type = double;
};
template <class T>
using Sum = typename SumOf<T>::type;

// The sums after each of four numbers.
template <class S>
struct Group {
    S after[4];

    template <class T>
    Group(const T* in, int64_t step) {
        S a = in[0], b = in[step], c = in[2 * step], d = in[3 * step];
        after[0] = a;
        after[1] = a + b;
        after[2] = after[1] + c;
        after[3] = after[1] + (c + d);
    }
};

// The sum of n numbers that are `step` apart, exactly as scan_numbers forms it.
template <class T>
WC_AVX2_CLONE Sum<T> sum_numbers(const T* in, int64_t n, int64_t step) {
    Sum<T> sum = 0;
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) sum += Group<Sum<T>>(in + i * step, step).after[3];
    for (; i < n; ++i) sum += static_cast<Sum<T>>(in[i * step]);
    return sum;
}

// Writes the sums of n numbers, `before` added to each; returns the sum of the n.
template <bool inclusive, class T>
Sum<T> scan_apart(const T* in, T* out, int64_t n, int64_t step, Sum<T> before, Sum<T> sum = 0) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        Group<Sum<T>> group(in + i * step, step);
        T* to = out + i * step;
        if (!inclusive) *to = static_cast<T>(before + sum);
        for (int k = 0; k < (inclusive ? 4 : 3); ++k)
            to[(k + !inclusive) * step] = static_cast<T>(before + (sum + group.after[k]));
        sum += group.after[3];
    }
    for (; i < n; ++i) {
        Sum<T> last = sum;
        sum += static_cast<Sum<T>>(in[i * step]);
        out[i * step] = static_cast<T>(before + (inclusive ? sum : last));
    }
    return sum;
}

// The same of numbers side by side, with the groups in vectors.
template <bool inclusive, class T>
WC_AVX2_CLONE Sum<T> scan_side_by_side(const T* in, T* out, int64_t n, Sum<T> before) {
    using S = Sum<T>;
    using Numbers [[gnu::vector_size(4 * sizeof(T))]] = T;
    using Sums [[gnu::vector_size(4 * sizeof(S))]] = S;
    Sums sum = {}, first = Sums{} + before;
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        Numbers numbers;
        std::memcpy(&numbers, in + i, sizeof numbers);
        Sums after = __builtin_convertvector(numbers, Sums);
        after += __builtin_shufflevector(Sums{}, after, 0, 4, 2, 6);
        after += __builtin_shufflevector(Sums{}, after, 0, 1, 5, 5);
        Sums sums = sum + after;
        if (!inclusive) sums = __builtin_shufflevector(sums, sum, 4, 0, 1, 2);
        numbers = __builtin_convertvector(first + sums, Numbers);
        std::memcpy(out + i, &numbers, sizeof numbers);
        sum += __builtin_shufflevector(after, after, 3, 3, 3, 3);
    }
    return scan_apart<inclusive>(in + i, out + i, n - i, 1, before, sum[0]);
}

template <bool inclusive, class T>
Sum<T> scan_numbers(const T* in, T* out, int64_t n, int64_t step, Sum<T> before) {
    return step == 1 ? scan_side_by_side<inclusive>(in, out, n, before)
                     : scan_apart<inclusive>(in, out, n, step, before);
}

template <bool inclusive, class T>
void scan_all(const T* in, T* out, int64_t n, int64_t components) {
    using S = Sum<T>;
    const int64_t size = std::max<int64_t>(1, kChunk / components), chunks = (n + size - 1) / size;
    // Calls f(chunk, c, where its numbers of component c begin, how many) for chunks [first, last).
    auto each = [&](int64_t first, int64_t last, auto&& f) {
        for (int64_t chunk = first; chunk < last; ++chunk)
            for (int64_t c = 0; c < components; ++c)
                f(chunk, c, chunk * size * components + c, std::min(size, n - chunk * size));
    };
    if (chunks == 1 || num_threads() == 1) {
        std::vector<S> before(static_cast<size_t>(components));
        return each(0, chunks, [&](int64_t, int64_t c, int64_t at, int64_t count) {
            before[c] += scan_numbers<inclusive>(in + at, out + at, count, components, before[c]);
        });
    }
    std::vector<S> sums(static_cast<size_t>(chunks * components));
    parallel(chunks, 1, [&](int64_t first, int64_t last) {
        each(first, last, [&](int64_t chunk, int64_t c, int64_t at, int64_t count) {
            sums[chunk * components + c] = sum_numbers(in + at, count, components);
        });
    });
    for (int64_t c = 0; c < components; ++c) {
        S before = 0;
        for (int64_t chunk = 0; chunk < chunks; ++chunk) before += std::exchange(sums[chunk * components + c], before);
    }
    parallel(chunks, 1, [&](int64_t first, int64_t last) {
        each(first, last, [&](int64_t chunk, int64_t c, int64_t at, int64_t count) {
            scan_numbers<inclusive>(in + at, out + at, count, components, sums[chunk * components + c]);
        });
    });
}

}  // namespace

void scan(Scalar type, void* out, const void* in, int64_t n, int64_t components, bool inclusive) {
    visit_number(type, [&](auto zero) {
        using T = decltype(zero);
        auto* from = static_cast<const T*>(in);
        auto* to = static_cast<T*>(out);
        if (inclusive) return scan_all<true>(from, to, n, components);
        scan_all<false>(from, to, n, components);
    });
}

}  // namespace wc
