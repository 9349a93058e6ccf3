// Cuts of ranges of primitives by the surface area heuristic over bins. Each file that includes this compiles it for
// one instruction set, so all is in an unnamed namespace.
//
// A large range is cut where a sample of it is, and axes that are much shorter than another are not cut. Queries are as
// fast, and a range is read once for its cut and not three times.
#pragma once
#include "geometry/trees/bvh_loops.h"
#include "geometry/vectors.h"

namespace wc {
namespace {

// A box as a reference has it: the lower corner and minus the upper one.
WC_INLINE V8 box_of(const Reference& r) { return load<V8>(r.lower); }
WC_INLINE V4 front(V8 v) { return __builtin_shufflevector(v, v, 0, 1, 2, 3); }
WC_INLINE V4 back(V8 v) { return __builtin_shufflevector(v, v, 4, 5, 6, 7); }
WC_INLINE V8 nothing() { return all(kInfinite); }

// The centre of a box. It never overflows.
WC_INLINE V4 centre(V8 box) {
    V8 half = box * all(0.5f);
    return front(half) - back(half);
}
WC_INLINE float centre(const Reference& r, int axis) { return r.lower[axis] * 0.5f - r.minus_upper[axis] * 0.5f; }

void refer(const Box* boxes, int32_t first, int32_t count, Reference* references) {
    for (int32_t i = 0; i < count; ++i) {
        const Box& b = boxes[i];
        references[i] = {{b.lower[0], b.lower[1], b.lower[2]},
                         first + i + kBvhMaxPrimitives,
                         {-b.upper[0], -b.upper[1], -b.upper[2]},
                         0};
    }
}

Box join(const Reference* references, int32_t count) {
    V8 joined = nothing();
    for (int32_t i = 0; i < count; ++i) joined = least(joined, box_of(references[i]));
    return {{joined[0], joined[1], joined[2]}, {-joined[4], -joined[5], -joined[6]}};
}

struct Centres {
    V4 low, high;
};

// Two chains of operations, as one would wait for itself.
WC_INLINE Centres bound_centres(const Reference* references, int32_t count) {
    V4 low = centre(box_of(references[0])), high = low, low2 = low, high2 = low;
    int32_t i = 1;
    for (; i + 2 <= count; i += 2) {
        V4 a = centre(box_of(references[i])), b = centre(box_of(references[i + 1]));
        low = least(low, a);
        high = most(high, a);
        low2 = least(low2, b);
        high2 = most(high2, b);
    }
    if (i < count) {
        V4 a = centre(box_of(references[i]));
        low = least(low, a);
        high = most(high, a);
    }
    return {least(low, low2), most(high, high2)};
}

// -- bins ------------------------------------------------------------------------------------------------------------

constexpr int kBins = 16, kFewBins = 8;
constexpr int32_t kSample = 1024, kFew = 32;  // primitives

// The axes along which cuts are considered: those along which centres are at least half as far apart as along the
// longest.
struct Axes {
    int count = 0;
    V4i number = {};

    WC_INLINE explicit Axes(V4 size) {
        float longest = size[0] > size[1] ? size[0] : size[1];
        longest = longest > size[2] ? longest : size[2];
        for (int axis = 0; axis < 3; ++axis)
            if (size[axis] > 0 && size[axis] >= 0.5f * longest) number[count++] = axis;
    }
    WC_INLINE V4 of(V4 v) const { return __builtin_shuffle(v, number); }
};

// Maps centres to bins, for all axes at once.
template <int bins>
struct Scale {
    V4 low, scale;

    WC_INLINE Scale(const Centres& centres, Axes axes) : low(axes.of(centres.low)) {
        scale = all4(bins) / (axes.of(centres.high) - low);
        scale = scale < all4(3.0e38f) ? scale : all4(0);
    }
    WC_INLINE V4i of(V4 centre) const {
        return __builtin_convertvector(least(most((centre - low) * scale, all4(0)), all4(bins - 1)), V4i);
    }
};

// The boxes and numbers of primitives of bins. There are as many columns as axes.
template <int bins>
struct Table {
    V8 box[bins][3];
    int32_t count[bins][4];

    WC_INLINE void clear() {
        for (int bin = 0; bin < bins; ++bin) {
            for (V8& b : box[bin]) b = nothing();
            store(count[bin], V4i{});
        }
    }
    template <int columns>
    WC_INLINE void fill(const Reference* references, int32_t size, Axes axes, const Scale<bins>& scale) {
        for (int32_t i = 0; i < size; ++i) {
            V8 r = box_of(references[i]);
            V4i place = scale.of(axes.of(centre(r)));
            for (int column = 0; column < columns; ++column) {
                int bin = place[column];
                box[bin][column] = least(box[bin][column], r);
                ++count[bin][column];
            }
        }
    }
    WC_INLINE V4 counts(int bin) const { return __builtin_convertvector(load<V4i>(count[bin]), V4); }
};

// Boxes for three axes, and half of their areas.
struct Boxes3 {
    V8 of[3];

    WC_INLINE void clear() {
        for (V8& box : of) box = nothing();
    }
    WC_INLINE void join(const V8* others) {
        for (int axis = 0; axis < 3; ++axis) of[axis] = least(of[axis], others[axis]);
    }
    WC_INLINE V4 half_areas() const {
        V4 minus[3];  // sizes
        for (int axis = 0; axis < 3; ++axis) minus[axis] = front(of[axis]) + back(of[axis]);
        V4 low = __builtin_shufflevector(minus[0], minus[1], 0, 4, 1, 5);
        V4 high = __builtin_shufflevector(minus[0], minus[1], 2, 6, 2, 6);
        V4 x = __builtin_shufflevector(low, minus[2], 0, 1, 4, 4),
           y = __builtin_shufflevector(low, minus[2], 2, 3, 5, 5),
           z = __builtin_shufflevector(high, minus[2], 0, 1, 6, 6);
        return x * y + y * z + z * x;
    }
};

struct Split {
    float cost = kInfinite;
    int column = -1, bin = 0;  // primitives of bins up to `bin` go left
};

// Considers the cuts behind all bins but the last. Where a side has no primitives the cost is not a number.
template <int bins>
WC_INLINE Split best_split(const Table<bins>& table) {
    V4 right_cost[bins], count = {}, best = all4(kInfinite);
    V4i place = {};
    Boxes3 right, left;
    right.clear();
    left.clear();
    for (int bin = bins - 1; bin > 0; --bin) {
        right.join(table.box[bin]);
        count += table.counts(bin);
        right_cost[bin] = right.half_areas() * count;
    }
    count = V4{};
    for (int bin = 0; bin < bins - 1; ++bin) {
        left.join(table.box[bin]);
        count += table.counts(bin);
        V4 cost = left.half_areas() * count + right_cost[bin + 1];
        V4i is_better = cost < best;
        best = is_better ? cost : best;
        place = is_better ? V4i{bin, bin, bin, bin} : place;
    }
    Split split;
    for (int column = 0; column < 3; ++column)
        if (best[column] < split.cost) split = {best[column], column, place[column]};
    return split;
}

// -- moving ----------------------------------------------------------------------------------------------------------

// Moves the primitives for which `is_right` holds to the end, without branches that depend on them. Returns the number
// of the others.
template <class Predicate>
WC_INLINE int32_t divide(Reference* references, Reference* spare, int32_t count, Predicate&& is_right) {
    int32_t left = 0, right = 0;
    for (int32_t i = 0; i < count; ++i) {
        V8 r = box_of(references[i]);
        bool goes_right = is_right(references[i]);
        store(references[left].lower, r);
        store(spare[right].lower, r);
        left += !goes_right;
        right += goes_right;
    }
    __builtin_memcpy(references + left, spare, static_cast<size_t>(right) * sizeof(Reference));
    return left;
}

// Copies one primitive of each `count / kSample` that follow each other. The distances are irregular, since faces of
// grids are in rows.
WC_INLINE int32_t take_sample(const Reference* references, int32_t count, Reference* to) {
    uint32_t stride = static_cast<uint32_t>(count / kSample), random = 1;
    for (int32_t i = 0; i < kSample; ++i) {
        random = random * 1664525 + 1013904223;
        store(to[i].lower, box_of(references[i * stride + (uint64_t{random} * stride >> 32)]));
    }
    return kSample;
}

// The primitives that decide.
struct Sample {
    const Reference* references;
    int32_t count;
};

template <int bins>
WC_INLINE int32_t cut_by(Reference* references, Reference* spare, int32_t count, Sample sample, const Centres& centres,
                         Axes axes) {
    Scale<bins> scale(centres, axes);
    Table<bins> table;
    table.clear();
    if (axes.count == 1)
        table.template fill<1>(sample.references, sample.count, axes, scale);
    else if (axes.count == 2)
        table.template fill<2>(sample.references, sample.count, axes, scale);
    else
        table.template fill<3>(sample.references, sample.count, axes, scale);
    Split split = best_split(table);
    if (split.column < 0) return 0;
    int axis = axes.number[split.column];
    float low = scale.low[split.column], steep = scale.scale[split.column], behind = static_cast<float>(split.bin + 1);
    return divide(references, spare, count,
                  [&](const Reference& r) { return (centre(r, axis) - low) * steep >= behind; });
}

int32_t cut(Reference* references, Reference* spare, int32_t count) {
    Sample sample{references, count};
    if (count >= 2 * kSample) sample = {spare, take_sample(references, count, spare)};
    Centres centres = bound_centres(sample.references, sample.count);
    Axes axes(centres.high - centres.low);
    if (axes.count == 0) return 0;
    return count <= kFew ? cut_by<kFewBins>(references, spare, count, sample, centres, axes)
                         : cut_by<kBins>(references, spare, count, sample, centres, axes);
}

void sort_few(Reference* references, Reference* spare, int32_t count) {
    Centres centres = bound_centres(references, count);
    V4 size = centres.high - centres.low;
    int axis = size[1] > size[0] ? 1 : 0;
    if (size[2] > size[axis]) axis = 2;
    V8 keys = nothing();
    for (int32_t i = 0; i < count; ++i) keys[i] = centre(references[i], axis);
    for (int32_t i = 0; i < count; ++i) {
        V8 key = all(keys[i]);
        unsigned before = bits(keys < key) | (bits(keys == key) & ((1u << i) - 1));
        store(spare[__builtin_popcount(before)].lower, box_of(references[i]));
    }
    __builtin_memcpy(references, spare, static_cast<size_t>(count) * sizeof(Reference));
}

}  // namespace
}  // namespace wc
