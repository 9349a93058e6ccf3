// Queries of trees over boxes that kernels call, for the active lanes of a group. lib/geometry/bvh_queries.py has the
// same in the kernel language, by the same operations.
#include <algorithm>
#include <limits>

#include "geometry/bounds.h"
#include "geometry/lanes.h"
#include "warp_core/abi.h"
#include "warp_core/geometry/bvh.h"

namespace wc {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr float kMore = 1.0000005f, kLess = 0.9999995f;  // as in lib/geometry/bvh_nodes.py
constexpr double kLeast = 0.9999995;

using V4i = int32_t __attribute__((vector_size(16)));

// What the descriptor of a tree begins with: `BvhData` of lib/geometry/bvh_queries.py.
struct BvhData {
    uint64_t id;
    const BvhNode* nodes;
    const int32_t* order;
    const float *lowers, *uppers;
    const float* points;  // of a mesh, whose boxes are those of faces; else null
    const int32_t* indices;
};

bool all_true(V4i m) {
#ifdef __x86_64__
    return (__builtin_ia32_movmskps(reinterpret_cast<V4>(m)) & 7) == 7;
#else
    return (m[0] & m[1] & m[2]) != 0;
#endif
}

// Where a query is: the next node, and what is left of a leaf.
struct Place {
    int32_t number, stop, place, end;
};

struct InBox {
    V4 low, high;

    bool operator()(V4 lower, V4 upper) const {
        return all_true((lower <= upper) & (lower <= high) & (upper >= low));  // one branch for the three
    }
};

struct InSphere {
    V4 centre;
    double radius_sq;

    bool operator()(V4 lower, V4 upper) const {
        if (!all_true(lower <= upper)) return false;
        V4 gap = most(most(lower - centre, centre - upper), all(0));
        double x = gap[0], y = gap[1], z = gap[2];
        return (x * x + y * y + z * z) * kLeast <= radius_sq;
    }
};

struct InCapsule {
    V4 start, inverse, radius;
    float max_dist;
    V4i across = inverse == all(0);

    bool operator()(V4 lower, V4 upper) const {
        if (!all_true(lower <= upper)) return false;
        V4 below = lower - radius - start, above = upper + radius - start;
        V4i between = (below <= all(0)) & (above >= all(0));
        V4 a = below * inverse, b = above * inverse;
        V4 enters = across ? (between ? all(-kInfinite) : all(kInfinite)) : least(a, b) * all(kLess);
        V4 leaves = across ? all(kInfinite) : most(a, b) * all(kMore);
        float first = std::max(std::max(enters[0], enters[1]), std::max(enters[2], 0.0f));
        float last = std::min(std::min(leaves[0], leaves[1]), std::min(leaves[2], max_dist));
        return first <= last && first < kInfinite;
    }
};

// A corner of a node. The number behind it becomes zero, as arithmetic on the bits of an integer may be slow.
V4 corner_of(const float* corner) {
    constexpr V4i kFirstThree = {-1, -1, -1, 0};
    V4i bits;
    __builtin_memcpy(&bits, corner, sizeof bits);
    return reinterpret_cast<V4>(bits & kFirstThree);
}

// Walks to the next leaf that may have boxes, and returns true if there is one. Only at a leaf does the processor have
// to guess a branch: which inner nodes are met is hard to guess.
template <class Shape>
bool next_leaf(const BvhData& data, const Shape& shape, Place& at) {
    const BvhNode* nodes = data.nodes;
    const int32_t stop = at.stop;
    for (int32_t number = at.number; number < stop;) {
        const BvhNode& node = nodes[number];
        const int32_t count = node.count, behind = count > 0 ? number + 1 : -count;
        const bool found = shape(corner_of(node.lower), corner_of(node.upper));
        number = found ? number + 1 : behind;
        const int32_t boxes = found ? count : 0;
        if (boxes <= 0) continue;
        at.number = number;
        at.place = node.child;
        at.end = node.child + boxes;
        return true;
    }
    at.number = std::max(at.number, stop);
    return false;
}

// Advances a query. Returns the box that it finds, or -1.
template <class Shape>
int32_t next_box(const BvhData& data, const Shape& shape, Place& at) {
    auto overlaps_box = [&](int64_t box) {
        if (!data.points) return shape(load3(data.lowers + 3 * box), load3(data.uppers + 3 * box));
        auto corner = [&](int k) { return load3(data.points + 3 * int64_t{data.indices[3 * box + k]}); };
        V4 a = corner(0), b = corner(1), c = corner(2);
        return shape(least(least(a, b), c), most(most(a, b), c));
    };
    for (;;) {
        while (at.place < at.end) {
            int32_t box = data.order[at.place++];
            if (overlaps_box(box)) return box;
        }
        Place old = at;
        if (!next_leaf(data, shape, at)) return -1;
        if (at.end - at.place > 1) continue;
        int32_t box = data.order[at.place];  // a leaf of one box is that box
        at.place = old.place;
        at.end = old.end;
        return box;
    }
}

int32_t next_of_shape(const BvhData& data, int32_t shape, const float (&numbers)[8], Place& at) {
    V4 first = load3(numbers), second = load3(numbers + 3);
    float radius = numbers[6], max_dist = numbers[7];
    if (shape == 0) return next_box(data, InBox{first, second}, at);
    if (shape == 1) return next_box(data, InSphere{first, double{radius} * radius}, at);
    return next_box(data, InCapsule{first, second, all(radius), max_dist}, at);
}

}  // namespace
}  // namespace wc

void wc_bvh_next(uint64_t mask, int64_t count, void* buffer) {
    wc::Lanes lanes{static_cast<char*>(buffer), count};
    wc::for_lanes(mask, [&](int64_t i) {
        const auto& data = *reinterpret_cast<const wc::BvhData*>(lanes.at<uint64_t>(0, i) & wc::kStructureAddress);
        float numbers[8];
        int32_t place[4];
        for (int k = 0; k < 7; ++k) numbers[k] = lanes.at<float>(2 + k, i);
        lanes.read(place, 9, i);
        numbers[7] = lanes.at<float>(13, i);
        wc::Place at{place[0], place[1], place[2], place[3]};
        lanes.at<int32_t>(14, i) = wc::next_of_shape(data, lanes.at<int32_t>(1, i), numbers, at);
        lanes.at<int32_t>(15, i) = at.number;
        lanes.at<int32_t>(16, i) = at.place;
        lanes.at<int32_t>(17, i) = at.end;
    });
}
