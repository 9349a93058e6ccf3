// Fits the boxes of a binary tree to what is in its leaves.
#pragma once
#include <algorithm>
#include <bit>
#include <vector>

#include "geometry/bounds.h"
#include "warp_core/geometry/bvh.h"
#include "warp_core/parallel.h"

namespace wc {

// The corners of the box of a node. The fourth components are its integers.
inline Bounds box_of(const BvhNode& node) {
    static_assert(sizeof(Bounds) == sizeof(BvhNode));
    return std::bit_cast<Bounds>(node);
}

// Writes the corners of a box, which leaves the integers of a node as they are.
inline void set_box(BvhNode& node, const Bounds& box) {
    using V4i = int32_t __attribute__((vector_size(16)));
    Bounds old = box_of(node);
    node = std::bit_cast<BvhNode>(Bounds{__builtin_shuffle(box.lower, old.lower, V4i{0, 1, 2, 7}),
                                         __builtin_shuffle(box.upper, old.upper, V4i{0, 1, 2, 7})});
}

inline void set_box_of_children(BvhNode* nodes, int32_t number) {
    Bounds box = box_of(nodes[number + 1]), right = box_of(nodes[nodes[number].child]);
    box.add(right.lower, right.upper);
    set_box(nodes[number], box);
}

// `leaf_box(node)` returns the bounds of a leaf. Subtrees are first, each by one thread, then the nodes above them.
template <class LeafBox>
void refit_tree(BvhNode* nodes, int32_t count, LeafBox&& leaf_box) {
    auto refit_range = [&](int32_t begin, int32_t end) {
        for (int32_t i = end - 1; i >= begin; --i) {
            if (nodes[i].count < 0)
                set_box_of_children(nodes, i);
            else
                set_box(nodes[i], leaf_box(nodes[i]));
        }
    };
    constexpr int32_t kSubtrees = 64, kSmallest = 1024;  // nodes
    int32_t limit = std::max(kSmallest, count / kSubtrees);
    std::vector<int32_t> subtrees, above;
    for (int32_t n = 0; n < count;) {
        int32_t end = nodes[n].count < 0 ? -nodes[n].count : n + 1;
        bool is_small = end - n <= limit;
        (is_small ? subtrees : above).push_back(n);
        n = is_small ? end : n + 1;
    }
    for_each(static_cast<int64_t>(subtrees.size()), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            int32_t n = subtrees[i];
            refit_range(n, nodes[n].count < 0 ? -nodes[n].count : n + 1);
        }
    });
    for (size_t i = above.size(); i-- > 0;) set_box_of_children(nodes, above[i]);
}

}  // namespace wc
