// Boxes of nodes that are fitted to triangles which have moved. Each file that includes this compiles it for one
// instruction set, so all is in an unnamed namespace.
#pragma once
#include "geometry/trees/bvh_loops.h"
#include "geometry/vectors.h"

namespace wc {
namespace {

constexpr float kNan = __builtin_nanf("");

bool are_in_range(const int32_t* indices, int64_t count, int32_t last) {
    int32_t wrong = 0;  // negative if an index is, or if one is behind the last
    for (int64_t i = 0; i < count; ++i) wrong |= indices[i] | (last - indices[i]);
    return wrong >= 0;
}

bool are_finite(const float* numbers, int64_t count) {
    uint32_t overflow = 0;  // the highest bit is set if an exponent has all bits
    for (int64_t i = 0; i < count; ++i)
        overflow |= (__builtin_bit_cast(uint32_t, numbers[i]) & 0x7fff'ffff) + 0x0080'0000;
    return overflow >> 31 == 0;
}

// -- binary nodes ----------------------------------------------------------------------------------------------------

// The lower and the upper corner of a box. The fourth components count for nothing.
WC_INLINE V8 box_of(const BvhNode& node) {
    static_assert(sizeof(BvhNode) == sizeof(V8));
    V8 box;
    __builtin_memcpy(&box, &node, sizeof box);
    return box;
}
WC_INLINE V8 join(V8 a, V8 b) { return __builtin_shufflevector(least(a, b), most(a, b), 0, 1, 2, 3, 12, 13, 14, 15); }
// Leaves the integers of a node as they are.
WC_INLINE void set_box(BvhNode& node, V8 box) {
    V8 made = __builtin_shufflevector(box, box_of(node), 0, 1, 2, 11, 4, 5, 6, 15);
    __builtin_memcpy(&node, &made, sizeof made);
}
WC_INLINE void fit_to_children(BvhNode* nodes, int32_t n) {
    set_box(nodes[n], join(box_of(nodes[n + 1]), box_of(nodes[nodes[n].child])));
}

void fit_inner(BvhNode* nodes, const int32_t* numbers, size_t begin, size_t end) {
    while (end > begin) fit_to_children(nodes, numbers[--end]);
}

// -- blocks ----------------------------------------------------------------------------------------------------------

// Four points, and four more, as rows of their coordinates.
WC_INLINE void store_rows(const V8* p, V8i left_out, float (*rows)[kWidth]) {
    V8 low = __builtin_shufflevector(p[0], p[1], 0, 8, 1, 9, 4, 12, 5, 13);
    V8 low2 = __builtin_shufflevector(p[2], p[3], 0, 8, 1, 9, 4, 12, 5, 13);
    V8 high = __builtin_shufflevector(p[0], p[1], 2, 10, 3, 11, 6, 14, 7, 15);
    V8 high2 = __builtin_shufflevector(p[2], p[3], 2, 10, 3, 11, 6, 14, 7, 15);
    V8 x = __builtin_shufflevector(low, low2, 0, 1, 8, 9, 4, 5, 12, 13);
    V8 y = __builtin_shufflevector(low, low2, 2, 3, 10, 11, 6, 7, 14, 15);
    V8 z = __builtin_shufflevector(high, high2, 0, 1, 8, 9, 4, 5, 12, 13);
    store(rows[0], reinterpret_cast<V8i>(x) | left_out);
    store(rows[1], reinterpret_cast<V8i>(y) | left_out);
    store(rows[2], reinterpret_cast<V8i>(z) | left_out);
}

// A point, with the number behind it unless it is the last.
WC_INLINE V4 point(const FitData& data, int32_t number) {
    const float* p = data.points + 3 * int64_t{number};
    return __builtin_expect(number == data.last_point, 0) ? V4{p[0], p[1], p[2], 0} : load<V4>(p);
}

// The box around those of up to kWidth triangles. Most are four at most: no branch depends on their number.
WC_INLINE V8 join(const V8* boxes, int32_t count) {
    V8 joined = boxes[0];
    for (int32_t i = 1; i < 4; ++i) joined = join(joined, boxes[i < count ? i : 0]);
    for (int32_t i = 4; i < count; ++i) joined = join(joined, boxes[i]);
    return joined;
}

// Triangles that are left out are the last one again, with corners that are not numbers.
WC_INLINE void fit_block(const FitData& data, size_t number) {
    const int32_t first = data.sources[number].place, last = data.sources[number + 1].place - first - 1;
    const int32_t* corners = data.corners + 3 * int64_t{first};
    V8 p[3][4], boxes[kWidth];
    for (int i = 0; i < 4; ++i) {
        const int32_t *corner = corners + 3 * (i < last ? i : last),
                      *corner2 = corners + 3 * (i + 4 < last ? i + 4 : last);
        for (int k = 0; k < 3; ++k)
            p[k][i] = __builtin_shufflevector(point(data, corner[k]), point(data, corner2[k]), 0, 1, 2, 3, 4, 5, 6, 7);
        V8 lower = least(least(p[0][i], p[1][i]), p[2][i]), upper = most(most(p[0][i], p[1][i]), p[2][i]);
        boxes[i] = __builtin_shufflevector(lower, upper, 0, 1, 2, 3, 8, 9, 10, 11);
        boxes[i + 4] = __builtin_shufflevector(lower, upper, 4, 5, 6, 7, 12, 13, 14, 15);
    }
    V8i left_out = V8i{0, 1, 2, 3, 4, 5, 6, 7} > V8i{last, last, last, last, last, last, last, last};
    for (int k = 0; k < 3; ++k) store_rows(p[k], left_out, data.blocks[number].corner[k]);

    int32_t n = data.sources[number].node;
    for (int32_t i = data.nodes[n].count < 0 ? -data.nodes[n].count - 1 : n; i >= n; --i) {
        BvhNode& node = data.nodes[i];
        if (node.count < 0)
            fit_to_children(data.nodes, i);
        else
            set_box(node, join(boxes + (node.child - first), node.count));
    }
}

void fit_blocks(const FitData& data, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) fit_block(data, i);
}

// -- wide nodes ------------------------------------------------------------------------------------------------------

void fit_wide(const FitData& data, int64_t begin, int64_t end) {
    const V8 nothing = all(kNan);
    for (int64_t n = begin; n < end; ++n) {
        const int32_t* children = data.children + kWidth * n;
        V8 boxes[kWidth], lower[4], upper[4];
        for (int i = 0; i < kWidth; ++i) boxes[i] = children[i] < 0 ? nothing : box_of(data.nodes[children[i]]);
        for (int i = 0; i < 4; ++i) {
            lower[i] = __builtin_shufflevector(boxes[i], boxes[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
            upper[i] = __builtin_shufflevector(boxes[i], boxes[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
        }
        store_rows(lower, V8i{}, data.wide_nodes[n].lower);
        store_rows(upper, V8i{}, data.wide_nodes[n].upper);
    }
}

}  // namespace
}  // namespace wc
