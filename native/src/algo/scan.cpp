// Running sums in chunks: each begins with the sum of those before it.
//
// Numbers are added as (sum before the chunk) + ((sum in the chunk) + (sum in a group of four)), floats in double. The
// first two grow by the amount that was added for the last number. So sums never decrease where no number is negative,
// and only one addition in four waits for the one before it.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

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
Sum<T> sum_apart(const T* in, int64_t n, int64_t step, Sum<T> sum = 0) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) sum += Group<Sum<T>>(in + i * step, step).after[3];
    for (; i < n; ++i) sum += static_cast<Sum<T>>(in[i * step]);
    return sum;
}

// The same of numbers side by side. Halves of two groups are added in a vector.
template <class T>
WC_AVX2_CLONE Sum<T> sum_side_by_side(const T* in, int64_t n) {
    using S = Sum<T>;
    using Sums [[gnu::vector_size(4 * sizeof(S))]] = S;
    S sum = 0;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const T* from = in + i;
        Sums x = {static_cast<S>(from[0]), static_cast<S>(from[1]), static_cast<S>(from[2]), static_cast<S>(from[3])};
        Sums y = {static_cast<S>(from[4]), static_cast<S>(from[5]), static_cast<S>(from[6]), static_cast<S>(from[7])};
        Sums halves = __builtin_shufflevector(x, y, 0, 4, 2, 6) + __builtin_shufflevector(x, y, 1, 5, 3, 7);
        sum += halves[0] + halves[2];
        sum += halves[1] + halves[3];
    }
    return sum_apart(in + i, n - i, 1, sum);
}

template <class T>
Sum<T> sum_numbers(const T* in, int64_t n, int64_t step) {
    return step == 1 ? sum_side_by_side(in, n) : sum_apart(in, n, step);
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

// The same of numbers side by side, with each group in a vector. Two groups are read before one is written, as `out`
// may be `in`. Compilers read and convert the numbers of a list at once, but a vector of them in halves.
template <bool inclusive, class T>
WC_AVX2_CLONE Sum<T> scan_side_by_side(const T* in, T* out, int64_t n, Sum<T> before) {
    using S = Sum<T>;
    using Numbers [[gnu::vector_size(4 * sizeof(T))]] = T;
    using Sums [[gnu::vector_size(4 * sizeof(S))]] = S;
    Sums sum = {}, first = Sums{} + before, after[2];
    Numbers last = Numbers{} + static_cast<T>(before);
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        for (int group = 0; group < 2; ++group) {
            const T* from = in + i + 4 * group;
            Sums x = {static_cast<S>(from[0]), static_cast<S>(from[1]), static_cast<S>(from[2]),
                      static_cast<S>(from[3])};
            x += __builtin_shufflevector(Sums{}, x, 0, 4, 2, 6);
            after[group] = x + __builtin_shufflevector(Sums{}, x, 0, 1, 5, 5);
        }
        for (int group = 0; group < 2; ++group) {
            Numbers numbers = __builtin_convertvector(first + (sum + after[group]), Numbers);
            Numbers written = inclusive ? numbers : __builtin_shufflevector(last, numbers, 3, 4, 5, 6);
            std::memcpy(out + i + 4 * group, &written, sizeof written);
            sum += __builtin_shufflevector(after[group], after[group], 3, 3, 3, 3);
            last = numbers;
        }
    }
    return scan_apart<inclusive>(in + i, out + i, n - i, 1, before, sum[0]);
}

// The same with two groups in a vector.
template <bool inclusive, class T>
WC_AVX512 Sum<T> scan_two_groups(const T* in, T* out, int64_t n, Sum<T> before) {
    using S = Sum<T>;
    using Numbers [[gnu::vector_size(8 * sizeof(T))]] = T;
    using Sums [[gnu::vector_size(8 * sizeof(S))]] = S;
    Sums sum = {}, first = Sums{} + before;
    Numbers last = Numbers{} + static_cast<T>(before);
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const T* from = in + i;
        Sums after = {static_cast<S>(from[0]), static_cast<S>(from[1]), static_cast<S>(from[2]),
                      static_cast<S>(from[3]), static_cast<S>(from[4]), static_cast<S>(from[5]),
                      static_cast<S>(from[6]), static_cast<S>(from[7])};
        after += __builtin_shufflevector(Sums{}, after, 0, 8, 2, 10, 4, 12, 6, 14);
        after += __builtin_shufflevector(Sums{}, after, 0, 1, 9, 9, 4, 5, 13, 13);
        Sums middle = sum + __builtin_shufflevector(after, after, 3, 3, 3, 3, 3, 3, 3, 3);
        Sums sums = __builtin_shufflevector(sum, middle, 0, 1, 2, 3, 12, 13, 14, 15) + after;
        Numbers numbers = __builtin_convertvector(first + sums, Numbers);
        Numbers written = inclusive ? numbers : __builtin_shufflevector(last, numbers, 7, 8, 9, 10, 11, 12, 13, 14);
        std::memcpy(out + i, &written, sizeof written);
        sum = middle + __builtin_shufflevector(after, after, 7, 7, 7, 7, 7, 7, 7, 7);
        last = numbers;
    }
    return scan_apart<inclusive>(in + i, out + i, n - i, 1, before, sum[0]);
}

template <bool inclusive, class T>
Sum<T> scan_numbers(const T* in, T* out, int64_t n, int64_t step, Sum<T> before) {
    if (step != 1) return scan_apart<inclusive>(in, out, n, step, before);
    if (has_avx512()) return scan_two_groups<inclusive>(in, out, n, before);
    return scan_side_by_side<inclusive>(in, out, n, before);
}

// An array in chunks of some elements. A chunk has the numbers of each component, which are `components` apart.
struct Chunks {
    int64_t elements, components;
    int64_t size = std::max<int64_t>(1, kChunk / components), count = (elements + size - 1) / size;

    // Calls f(component, where its numbers begin, how many) for a chunk.
    template <class F>
    void each_component(int64_t chunk, F&& f) const {
        for (int64_t c = 0; c < components; ++c)
            f(c, chunk * size * components + c, std::min(size, elements - chunk * size));
    }
};

// Waits for another thread, which may have lost its core.
template <class F>
void wait_until(F&& holds) {
    for (int tries = 0; !holds(); ++tries)
        if (tries < 1000)
            relax();
        else
            std::this_thread::yield();
}

template <bool inclusive, class T>
void scan_alone(const T* in, T* out, const Chunks& chunks) {
    std::vector<Sum<T>> before(static_cast<size_t>(chunks.components));
    for (int64_t chunk = 0; chunk < chunks.count; ++chunk)
        chunks.each_component(chunk, [&](int64_t c, int64_t at, int64_t n) {
            before[c] += scan_numbers<inclusive>(in + at, out + at, n, chunks.components, before[c]);
        });
}

// Each thread takes the next chunk, adds it up, and waits until the chunk before has handed on its sums. What it then
// scans is still in its cache.
template <bool inclusive, class T>
void scan_together(const T* in, T* out, const Chunks& chunks) {
    std::atomic<int64_t> next = 0, handed_on = 0;
    std::vector<Sum<T>> before(static_cast<size_t>((chunks.count + 1) * chunks.components));
    auto scan_chunk = [&](int64_t chunk) {
        Sum<T>*mine = &before[chunk * chunks.components], *following = mine + chunks.components;
        chunks.each_component(chunk, [&](int64_t c, int64_t at, int64_t n) {
            following[c] = sum_numbers(in + at, n, chunks.components);
        });
        wait_until([&] { return handed_on.load(std::memory_order_acquire) == chunk; });
        for (int64_t c = 0; c < chunks.components; ++c) following[c] += mine[c];
        handed_on.store(chunk + 1, std::memory_order_release);
        chunks.each_component(chunk, [&](int64_t c, int64_t at, int64_t n) {
            scan_numbers<inclusive>(in + at, out + at, n, chunks.components, mine[c]);
        });
    };
    parallel(num_threads(), 1, [&](int64_t, int64_t) {
        for (int64_t chunk; (chunk = next.fetch_add(1, std::memory_order_relaxed)) < chunks.count;) scan_chunk(chunk);
    });
}

template <bool inclusive, class T>
void scan_all(const T* in, T* out, int64_t n, int64_t components) {
    const Chunks chunks{n, components};
    if (chunks.count == 1 || num_threads() == 1) return scan_alone<inclusive>(in, out, chunks);
    scan_together<inclusive>(in, out, chunks);
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
