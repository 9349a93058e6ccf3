// Trees over boxes of users. Boxes may be empty or infinite: the builders get finite ones in their place, and the nodes
// are then fitted to the boxes as they are.
#include "warp_core/geometry/box_bvh.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "geometry/trees/refit_tree.h"
#include "warp_core/parallel.h"

namespace wc {
namespace {

constexpr int64_t kChunk = 1 << 12;
constexpr float kMost = std::numeric_limits<float>::max();

bool is_empty(const float* lower, const float* upper) {
    return !(lower[0] <= upper[0] && lower[1] <= upper[1] && lower[2] <= upper[2]);
}

// A finite box for the builders. An empty one is a point.
Box finite(const float* lower, const float* upper) {
    Box box{};
    if (is_empty(lower, upper)) return box;
    for (int k = 0; k < 3; ++k) {
        box.lower[k] = std::clamp(lower[k], -kMost, kMost);
        box.upper[k] = std::clamp(upper[k], -kMost, kMost);
    }
    return box;
}

// Writes the boxes in an order. Returns true if they are the boxes as they are.
bool copy_boxes(const Boxes& from, const std::vector<int32_t>& order, std::vector<Box>& to) {
    std::atomic<bool> as_they_are = true;
    for_each(from.count, kChunk, [&](int64_t begin, int64_t end) {
        bool same = true;
        for (int64_t i = begin; i < end; ++i) {
            int64_t at = 3 * int64_t{order[i]};
            to[i] = finite(from.lowers + at, from.uppers + at);
            same &= std::equal(to[i].lower, to[i].lower + 3, from.lowers + at) &&
                    std::equal(to[i].upper, to[i].upper + 3, from.uppers + at);
        }
        if (!same) as_they_are = false;
    });
    return as_they_are;
}

constexpr int32_t kAhead = 24;  // boxes that a refit, which begins at the last, fetches before it needs them

}  // namespace

BoxBvh::BoxBvh(const Boxes& boxes, const int32_t* groups, int32_t leaf_size, BuildBvh* build)
    : nodes(2 * static_cast<size_t>(boxes.count) - 1),
      order(static_cast<size_t>(boxes.count)),
      tree_(groups, boxes.count),
      leaf_size_(leaf_size) {
    rebuild(boxes, build);
}

void BoxBvh::rebuild(const Boxes& boxes, BuildBvh* build) {
    std::vector<Box> copies(order.size());
    bool as_they_are = copy_boxes(boxes, tree_.items, copies);
    tree_.build(copies.data(), {leaf_size_}, build, nodes.data(), order.data());
    if (!as_they_are) refit(boxes);
}

void BoxBvh::refit(const Boxes& boxes) {
    int32_t count = nodes[0].count < 0 ? -nodes[0].count : 1;
    refit_tree(nodes.data(), count, [&](const BvhNode& leaf) {
        if (leaf.child >= kAhead) {
            int64_t next = 3 * int64_t{order[leaf.child - kAhead]};
            __builtin_prefetch(boxes.lowers + next);
            __builtin_prefetch(boxes.uppers + next);
        }
        Bounds box;
        for (int32_t i = leaf.child; i < leaf.child + leaf.count; ++i) {
            const float *lower = boxes.lowers + 3 * int64_t{order[i]}, *upper = boxes.uppers + 3 * int64_t{order[i]};
            if (!is_empty(lower, upper)) box.add(load3(lower), load3(upper));
        }
        return box;
    });
}

}  // namespace wc
