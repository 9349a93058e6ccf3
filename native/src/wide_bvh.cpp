// Makes the hierarchy of eight-wide nodes of a binary tree, and fits both to triangles that have moved.
#include "warp_core/wide_bvh.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "bounds.h"
#include "warp_core/parallel.h"

namespace wc {
namespace {

constexpr int64_t kChunk = 1 << 12;
constexpr int32_t kSubtrees = 64;
constexpr int64_t kBlocks = 256;  // that a thread fills at a time
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kNoPoint[3] = {kNan, kNan, kNan};

float half_area(const BvhNode& node) {
    float x = node.upper[0] - node.lower[0], y = node.upper[1] - node.lower[1], z = node.upper[2] - node.lower[2];
    return x * y + y * z + z * x;
}

std::vector<Box> boxes_of(const Triangles& triangles, const std::vector<int32_t>& faces) {
    std::vector<Box> boxes(faces.size());
    for_each(triangles.count, kChunk, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) boxes[i] = triangles.box(faces[i]);
    });
    return boxes;
}

// Writes the coordinates of four points to three rows of kWidth numbers.
void store_columns(const V4* p, float* rows) {
    using V4i = int32_t __attribute__((vector_size(16)));
    V4 xy01 = __builtin_shuffle(p[0], p[1], V4i{0, 4, 1, 5}), xy23 = __builtin_shuffle(p[2], p[3], V4i{0, 4, 1, 5});
    V4 z01 = __builtin_shuffle(p[0], p[1], V4i{2, 6, 3, 7}), z23 = __builtin_shuffle(p[2], p[3], V4i{2, 6, 3, 7});
    V4 columns[3] = {__builtin_shuffle(xy01, xy23, V4i{0, 1, 4, 5}), __builtin_shuffle(xy01, xy23, V4i{2, 3, 6, 7}),
                     __builtin_shuffle(z01, z23, V4i{0, 1, 4, 5})};
    for (int k = 0; k < 3; ++k) std::memcpy(rows + k * kWidth, &columns[k], sizeof columns[k]);
}

// Writes the corners of a box, which leaves the integers of a node as they are.
void set_box(BvhNode& node, V4 lower, V4 upper) {
    for (int k = 0; k < 3; ++k) {
        node.lower[k] = lower[k];
        node.upper[k] = upper[k];
    }
}

}  // namespace

Box Triangles::box(int32_t face) const {
    const float *a = corner(face, 0), *b = corner(face, 1), *c = corner(face, 2);
    Box box;
    for (int k = 0; k < 3; ++k) {
        box.lower[k] = std::min(a[k], std::min(b[k], c[k]));
        box.upper[k] = std::max(a[k], std::max(b[k], c[k]));
    }
    return box;
}

void Triangles::check() const {
    constexpr uint32_t exponent = 0x7f80'0000;  // of numbers that are not finite
    const auto last = static_cast<int32_t>(std::min<int64_t>(point_count - 1, std::numeric_limits<int32_t>::max()));
    const int64_t index_count = 3 * int64_t{count}, total = index_count + 3 * point_count;
    std::atomic<bool> in_range = true, finite = true;
    for_each(total, 4 * kChunk, [&](int64_t begin, int64_t end) {
        int good = 1, number = 1;
        for (int64_t i = begin; i < std::min(end, index_count); ++i) good &= (indices[i] >= 0) & (indices[i] <= last);
        for (int64_t i = std::max(begin, index_count) - index_count; i < end - index_count; ++i)
            number &= (std::bit_cast<uint32_t>(points[i]) & exponent) != exponent;
        if (!good) in_range = false;
        if (!number) finite = false;
    });
    if (!in_range) throw std::invalid_argument("an index is out of range");
    if (!finite) throw std::invalid_argument("a point is not finite");
}

TriangleBvh::TriangleBvh(const Triangles& triangles, const int32_t* groups, int32_t leaf_size, BuildBvh* build)
    : tree_(groups, triangles.count) {
    triangles.check();
    nodes.resize(2 * static_cast<size_t>(triangles.count) - 1);
    order.resize(static_cast<size_t>(triangles.count));
    auto boxes = boxes_of(triangles, tree_.items);
    nodes.resize(static_cast<size_t>(tree_.build(boxes.data(), leaf_size, build, nodes.data(), order.data())));
    collapse();
    corners_.resize(3 * order.size());
    for_each(triangles.count, kChunk, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
            std::copy_n(triangles.indices + 3 * int64_t{order[i]}, 3, &corners_[3 * i]);
    });
    point_count_ = triangles.point_count;
    refit_nodes(triangles.points);
}

void TriangleBvh::refit(const Triangles& triangles) {
    triangles.check();
    if (triangles.point_count != point_count_) throw std::invalid_argument("the number of points has changed");
    refit_nodes(triangles.points);
}

// -- collapse --------------------------------------------------------------------------------------------------------

// What is below a binary node: places of triangles, and whether roots of groups are among them.
struct TriangleBvh::Subtree {
    Places places;
    bool is_root = false, holds_roots = false;

    bool is_block() const { return places.end - places.begin <= kWidth && !holds_roots; }
};

void TriangleBvh::collapse() {
    std::vector<Subtree> subtrees(nodes.size());
    for (int32_t root : roots()) subtrees[root].is_root = true;
    for (size_t n = nodes.size(); n-- > 0;) {
        const BvhNode& node = nodes[n];
        Subtree& subtree = subtrees[n];
        if (node.count > 0) {
            subtree.places = {node.child, node.child + node.count};
            continue;
        }
        const Subtree &left = subtrees[n + 1], &right = subtrees[node.child];
        subtree.places = {left.places.begin, right.places.end};
        subtree.holds_roots = left.is_root || left.holds_roots || right.is_root || right.holds_roots;
    }
    if (!roots().empty()) starts.assign(nodes.size(), kNoStart);
    wide_nodes_.reserve(nodes.size() / 8 + 1);
    add_wide(0, subtrees);
    if (!roots().empty() && subtrees[0].is_root) starts[0] = 0;
    blocks_.resize(block_places_.size());
}

int32_t TriangleBvh::add_block(Places places) {
    block_places_.push_back(places);
    return -static_cast<int32_t>(block_places_.size());
}

// Makes a wide node of the largest nodes below a binary one. The root of a group is a child, or the node itself.
int32_t TriangleBvh::add_wide(int32_t node, const std::vector<Subtree>& subtrees) {
    auto number = static_cast<int32_t>(wide_nodes_.size());
    wide_nodes_.emplace_back();
    sources_.resize(sources_.size() + kWidth, -1);
    int32_t children[kWidth] = {node};
    int count = 1;
    auto may_open = [&](int32_t n) { return !subtrees[n].is_block() && (n == node || !subtrees[n].is_root); };
    while (count < kWidth) {
        int widest = -1;
        for (int i = 0; i < count; ++i)
            if (may_open(children[i]) &&
                (widest < 0 || half_area(nodes[children[i]]) > half_area(nodes[children[widest]])))
                widest = i;
        if (widest < 0) break;
        int32_t opened = children[widest];
        children[widest] = opened + 1;
        children[count++] = nodes[opened].child;
    }
    wide_nodes_[number].count = count;
    for (int i = 0; i < count; ++i) {
        const Subtree& subtree = subtrees[children[i]];
        sources_[static_cast<size_t>(number) * kWidth + i] = children[i];
        int32_t child = subtree.is_block() ? add_block(subtree.places) : add_wide(children[i], subtrees);
        wide_nodes_[number].child[i] = child;
        if (subtree.is_root) starts[children[i]] = child;
    }
    return number;
}

// -- refit -----------------------------------------------------------------------------------------------------------

// Blocks and subtrees first, each by one thread, then the nodes above them from the last to the first.
void TriangleBvh::refit_nodes(const float* points) {
    auto limit = std::max<int32_t>(1024, static_cast<int32_t>(nodes.size()) / kSubtrees);
    auto total = static_cast<int32_t>(nodes.size());
    std::vector<Places> subtrees;
    std::vector<int32_t> above;
    for (int32_t n = 0; n < total;) {
        int32_t end = nodes[n].count < 0 ? -nodes[n].count : n + 1;
        if (end - n > limit) {
            above.push_back(n++);
        } else {
            subtrees.push_back({n, end});
            n = end;
        }
    }
    const auto block_count = static_cast<int64_t>(blocks_.size());
    const auto first_block = static_cast<int64_t>(subtrees.size()), chunks = (block_count + kBlocks - 1) / kBlocks;
    for_each(first_block + chunks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            if (i < first_block) {
                refit_range(points, subtrees[i].begin, subtrees[i].end);
            } else {
                int64_t b = (i - first_block) * kBlocks;
                for (int64_t last = std::min(b + kBlocks, block_count); b < last; ++b) fill_block(points, b);
            }
        }
    });
    for (size_t i = above.size(); i-- > 0;) refit_range(points, above[i], above[i] + 1);
    fill_wide();
}

void TriangleBvh::refit_range(const float* points, int32_t begin, int32_t end) {
    constexpr float inf = std::numeric_limits<float>::infinity();
    for (int32_t i = end - 1; i >= begin; --i) {
        BvhNode& node = nodes[i];
        V4 lower = {inf, inf, inf, inf}, upper = -lower;
        for (int64_t k = 3 * int64_t{node.child}; k < 3 * (int64_t{node.child} + node.count); ++k) {
            V4 p = load3(points + 3 * int64_t{corners_[k]});
            lower = least(lower, p);
            upper = most(upper, p);
        }
        if (node.count < 0) {
            const BvhNode &left = nodes[i + 1], &right = nodes[node.child];
            lower = least(load3(left.lower), load3(right.lower));
            upper = most(load3(left.upper), load3(right.upper));
        }
        set_box(node, lower, upper);
    }
}

void TriangleBvh::fill_wide() {
    for_each(static_cast<int64_t>(wide_nodes_.size()), kChunk / 8, [&](int64_t begin, int64_t end) {
        for (int64_t n = begin; n < end; ++n)
            for (int i = 0; i < kWidth; ++i) {
                bool used = i < wide_nodes_[n].count;
                const float* lower = used ? nodes[sources_[n * kWidth + i]].lower : kNoPoint;
                const float* upper = used ? nodes[sources_[n * kWidth + i]].upper : kNoPoint;
                for (int k = 0; k < 3; ++k) {
                    wide_nodes_[n].lower[k][i] = lower[k];
                    wide_nodes_[n].upper[k][i] = upper[k];
                }
            }
    });
}

void TriangleBvh::fill_block(const float* points, int64_t number) {
    TriangleBlock& block = blocks_[number];
    Places places = block_places_[number];
    for (int i = 0; i < kWidth; ++i) block.face[i] = places.begin + i < places.end ? order[places.begin + i] : -1;
    for (int half = 0; half < kWidth; half += 4)
        for (int corner = 0; corner < 3; ++corner) {
            V4 p[4];
            for (int i = 0; i < 4; ++i) {
                int64_t place = places.begin + half + i;
                p[i] = load3(place < places.end ? points + 3 * int64_t{corners_[3 * place + corner]} : kNoPoint);
            }
            store_columns(p, &block.corner[corner][0][half]);
        }
}

}  // namespace wc
