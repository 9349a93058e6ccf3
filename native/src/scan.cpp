// Running sums in one sweep. Threads claim chunks in order; each sums its chunk, waits for the sum of all before it,
// hands the sum on, and goes over the chunk again while it is in the cache. A chunk is claimed by a running thread, and
// so is every chunk before it, hence nobody waits for work that has not begun.
//
// Numbers are added as (sum before the chunk) + ((sum in the chunk) + (sum in a group of four)), floats in double. The
// first two grow by what was added for the last number, so that sums never decrease where no number is negative, and
// only one addition in four waits for the one before it.
#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "visit.h"
#include "warp_core/algorithms.h"

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

// Hands the sums before a chunk from each thread to the next.
template <class S>
struct Chain {
    explicit Chain(int64_t components) : sums(static_cast<size_t>(components)) {}

    bool has_come_to(int64_t chunk) const { return done.load(std::memory_order_acquire) == chunk; }
    void wait_for(int64_t chunk) const {
        for (int spins = 0; !has_come_to(chunk); ++spins)
            if (spins > 1000) std::this_thread::yield();
    }
    void hand_on() { done.fetch_add(1, std::memory_order_release); }

    std::vector<S> sums;  // one for each component; belongs to the thread whose turn it is
    std::atomic<int64_t> done{0};
};

// The sums after each of four numbers.
template <class S>
struct Group {
    S after[4];

    template <class T, class Step>
    Group(const T* in, Step step) {
        S a = in[0], b = in[step], c = in[2 * step], d = in[3 * step];
        after[0] = a;
        after[1] = a + b;
        after[2] = after[1] + c;
        after[3] = after[1] + (c + d);
    }
};

// The sum of n numbers that are `step` apart, exactly as scan_numbers forms it.
template <class T, class Step>
Sum<T> sum_numbers(const T* in, int64_t n, Step step) {
    Sum<T> sum = 0;
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) sum += Group<Sum<T>>(in + i * step, step).after[3];
    for (; i < n; ++i) sum += static_cast<Sum<T>>(in[i * step]);
    return sum;
}

// Writes the sums of n numbers, `before` added to each; returns the sum of the n.
template <bool inclusive, class T, class Step>
Sum<T> scan_numbers(const T* in, T* out, int64_t n, Step step, Sum<T> before) {
    Sum<T> sum = 0;
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

template <bool inclusive, class T, class Step>
void scan_chunk(Chain<Sum<T>>& chain, int64_t chunk, const T* in, T* out, int64_t n, Step step) {
    // Where the sum before is known already, and at most one other thread waits for ours, once over the chunk will do.
    if (num_threads() <= 2 && chain.has_come_to(chunk)) {
        for (int64_t c = 0; c < step; ++c)
            chain.sums[c] += scan_numbers<inclusive>(in + c, out + c, n, step, chain.sums[c]);
        return chain.hand_on();
    }
    std::vector<Sum<T>> sums(static_cast<size_t>(static_cast<int64_t>(step)));
    for (int64_t c = 0; c < step; ++c) sums[c] = sum_numbers(in + c, n, step);
    chain.wait_for(chunk);
    for (int64_t c = 0; c < step; ++c) {
        Sum<T> before = chain.sums[c];
        chain.sums[c] += std::exchange(sums[c], before);
    }
    chain.hand_on();
    for (int64_t c = 0; c < step; ++c) scan_numbers<inclusive>(in + c, out + c, n, step, sums[c]);
}

// `components` is an integer, or a constant 1 that lets loops vectorise.
template <bool inclusive, class T, class Components>
void scan_all(const T* in, T* out, int64_t n, Components components) {
    Chain<Sum<T>> chain(components);
    int64_t size = std::max<int64_t>(1, kChunk / components);  // elements in a chunk
    parallel((n + size - 1) / size, 1, [&](int64_t first, int64_t last) {
        for (int64_t chunk = first; chunk < last; ++chunk) {
            int64_t begin = chunk * size, at = begin * components;
            scan_chunk<inclusive>(chain, chunk, in + at, out + at, std::min(size, n - begin), components);
        }
    });
}

template <bool inclusive, class T>
void scan_all(const T* in, T* out, int64_t n, int64_t components) {
    if (components == 1) return scan_all<inclusive>(in, out, n, std::integral_constant<int64_t, 1>{});
    scan_all<inclusive, T, int64_t>(in, out, n, components);
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
