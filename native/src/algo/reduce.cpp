// Sums over one dimension. The numbers of an array seen as outer x length x width are cut in tasks: one outer index,
// some columns, some of the length. A task keeps a row of partial sums ("lanes") and adds rows to it; what the parts of
// the length give is added in pairs. The cuts depend on the extents alone, hence so does the result.
#include <algorithm>

#include "warp_core/algorithms.h"
#include "warp_core/clones.h"
#include "warp_core/dispatch_scalar.h"

namespace wc {
namespace {

constexpr int64_t kMaxLanes = 128;
constexpr int64_t kMinLanes = 32;
constexpr int64_t kPart = 1 << 15;  // numbers in one part of the length, roughly
constexpr int64_t kMinPartLength = 256;
constexpr int64_t kChunk = 1 << 15;  // numbers that a thread claims at once

constexpr int64_t kLine = 64;     // bytes of a line of the cache
constexpr int64_t kAhead = 4096;  // bytes that are fetched before they are added: the processor fetches too few itself

template <class T>
using Total = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;

template <class T>
struct Elements {
    static constexpr int64_t kSize = sizeof(T);
    const T* data;
    Total<T> operator()(int64_t i) const { return static_cast<Total<T>>(data[i]); }
    void prefetch(int64_t i) const { __builtin_prefetch(data + i); }
};

template <class T>
struct Products {
    static constexpr int64_t kSize = sizeof(T);
    const T *a, *b;
    Total<T> operator()(int64_t i) const { return static_cast<Total<T>>(a[i]) * static_cast<Total<T>>(b[i]); }
    void prefetch(int64_t i) const {
        __builtin_prefetch(a + i);
        __builtin_prefetch(b + i);
    }
};

// lanes[k] = sum of the terms at begin + r * stride + k.
// A count that is a constant keeps the sums in registers.
template <class Term, class S, class Count>
WC_AVX2_CLONE void add_rows(Term term, int64_t begin, int64_t rows, int64_t stride, S* lanes, Count count) {
    S sums[kMaxLanes] = {};
    const int64_t ahead = (kAhead / (stride * Term::kSize) + 1) * stride;
    for (int64_t r = 0; r < rows; ++r, begin += stride) {
        for (int64_t k = 0; k < count; k += kLine / Term::kSize) term.prefetch(begin + ahead + k);
        for (int64_t k = 0; k < count; ++k) sums[k] += term(begin + k);
    }
    std::copy_n(sums, int64_t{count}, lanes);
}

// Where the tasks cut.
struct Plan {
    Extents e;
    int64_t width, block, blocks, part, parts;  // `block` columns, `part` of the length; and how many of each

    explicit Plan(const Extents& extents) : e(extents), width(e.inner * e.components) {
        block = width <= kMaxLanes ? width : std::max<int64_t>(1, kMaxLanes / e.components) * e.components;
        blocks = (width + block - 1) / block;
        part = std::max(kPart / width, kMinPartLength);
        parts = std::max<int64_t>(1, (e.length + part - 1) / part);
    }
    int64_t tasks() const { return e.outer * blocks * parts; }
};

// The sums of one task: of columns [column, column + count) over [begin, begin + length) of outer index o.
template <class Term, class S>
void add_block(const Plan& p, Term term, int64_t o, int64_t column, int64_t count, int64_t begin, int64_t length,
               S* sums) {
    int64_t at = (o * p.e.length + begin) * p.width + column;
    int64_t rows = count < p.width ? 1 : std::clamp<int64_t>(kMinLanes / count, 1, std::max<int64_t>(1, length / 8));
    if (rows == 1) return add_rows(term, at, length, p.width, sums, count);
    // Narrow rows lie one after the other: several make one row of lanes.
    S lanes[kMaxLanes];
    int64_t lane_count = rows * count, whole = length / rows;
    if (lane_count == kMinLanes) {
        add_rows(term, at, whole, kMinLanes, lanes, std::integral_constant<int64_t, kMinLanes>{});
    } else {
        add_rows(term, at, whole, lane_count, lanes, lane_count);
    }
    for (int64_t i = whole * lane_count; i < length * count; ++i) lanes[i - whole * lane_count] += term(at + i);
    for (int64_t k = 0; k < count; ++k) {
        sums[k] = lanes[k];
        for (int64_t r = 1; r < rows; ++r) sums[k] += lanes[r * count + k];
    }
}

// Adds groups of `fold` sums and stores each as an element of `out`.
template <class T, class S>
void store(T* out, const S* sums, int64_t count, int64_t fold) {
    for (int64_t k = 0; k < count; k += fold) {
        S sum = sums[k];
        for (int64_t c = 1; c < fold; ++c) sum += sums[k + c];
        out[k / fold] = static_cast<T>(sum);
    }
}

// `fold`: how many neighbouring sums make one number of the result.
template <class T, class Term>
void reduce(T* out, Term term, const Extents& extents, int64_t fold) {
    using S = Total<T>;
    if (extents.components > kMaxLanes) throw std::invalid_argument("elements have at most 128 components");
    if (extents.outer * extents.inner == 0) return;
    const Plan p(extents);
    const int64_t outputs = p.e.outer * p.width;
    std::vector<S> partial(p.parts > 1 ? static_cast<size_t>(p.parts * outputs) : 0);
    int64_t size = std::max<int64_t>(1, std::min(p.part, p.e.length) * p.block);
    parallel(p.tasks(), std::max<int64_t>(1, kChunk / size), [&](int64_t first, int64_t last) {
        for (int64_t task = first; task < last; ++task) {
            int64_t part = task % p.parts, block = task / p.parts % p.blocks, o = task / p.parts / p.blocks;
            int64_t column = block * p.block, count = std::min(p.block, p.width - column), begin = part * p.part;
            S sums[kMaxLanes];
            add_block(p, term, o, column, count, begin, std::min(p.part, p.e.length - begin), sums);
            int64_t at = o * p.width + column;
            if (p.parts == 1) {
                store(out + at / fold, sums, count, fold);
            } else {
                std::copy_n(sums, count, &partial[part * outputs + at]);
            }
        }
    });
    if (p.parts == 1) return;
    for (int64_t step = 1; step < p.parts; step *= 2)
        for (int64_t part = 0; part + step < p.parts; part += 2 * step)
            for (int64_t k = 0; k < outputs; ++k) partial[part * outputs + k] += partial[(part + step) * outputs + k];
    store(out, partial.data(), outputs, fold);
}

}  // namespace

void sum(Scalar type, void* out, const void* in, const Extents& extents) {
    visit_number(type, [&](auto zero) {
        using T = decltype(zero);
        reduce(static_cast<T*>(out), Elements<T>{static_cast<const T*>(in)}, extents, 1);
    });
}

void inner_product(Scalar type, void* out, const void* a, const void* b, const Extents& extents) {
    visit_number(type, [&](auto zero) {
        using T = decltype(zero);
        Products<T> term{static_cast<const T*>(a), static_cast<const T*>(b)};
        reduce(static_cast<T*>(out), term, extents, extents.components);
    });
}

}  // namespace wc
