// Makes the hierarchy of eight-wide nodes of a binary tree, and fits both to triangles that have moved.
#include "warp_core/wide_bvh.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "warp_core/parallel.h"

namespace wc {
namespace {

constexpr int64_t kChunk = 1 << 12;
constexpr int32_t kSubtrees = 64;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kNoPoint[3] = {kNan, kNan, kNan};

float half_area(const BvhNode& node) {
    float x = node.upper[0] - node.lower[0], y = node.upper[1] - node.lower[1], z = node.upper[2] - node.lower[2];
    return x * y + y * z + z * x;
}

std::vector<Box> boxes_of(const Triangles& triangles) {
    std::vector<Box> boxes(static_cast<size_t>(triangles.count));
    for_each(triangles.count, kChunk, [&](int64_t begin, int64_t end) {
        for (int64_t f = begin; f < end; ++f) boxes[f] = triangles.box(static_cast<int32_t>(f));
    });
    return boxes;
}

// Three floats and a fourth that counts for nothing.
using V4 = float __attribute__((vector_size(16)));

V4 least(V4 a, V4 b) { return a < b ? a : b; }
V4 most(V4 a, V4 b) { return a > b ? a : b; }
V4 load3(const float* p) { return V4{p[0], p[1], p[2], 0}; }

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
    std::atomic<bool> in_range = true, finite = true;
    for_each(3 * int64_t{count}, 4 * kChunk, [&](int64_t begin, int64_t end) {
        bool good = true;
        for (int64_t i = begin; i < end; ++i) good &= indices[i] >= 0 && indices[i] < point_count;
        if (!good) in_range = false;
    });
    for_each(3 * point_count, 4 * kChunk, [&](int64_t begin, int64_t end) {
        float zero = 0;
        for (int64_t i = begin; i < end; ++i) zero += points[i] * 0;  // NaN if a number is not finite
        if (zero != 0) finite = false;
    });
    if (!in_range) throw std::invalid_argument("an index is out of range");
    if (!finite) throw std::invalid_argument("a point is not finite");
}

TriangleBvh::TriangleBvh(const Triangles& triangles, int32_t leaf_size) {
    triangles.check();
    nodes.resize(2 * static_cast<size_t>(triangles.count) - 1);
    order.resize(static_cast<size_t>(triangles.count));
    nodes.resize(static_cast<size_t>(
        build_bvh(boxes_of(triangles).data(), triangles.count, leaf_size, nodes.data(), order.data())));
    collapse();
    fill_wide(triangles);
}

void TriangleBvh::refit(const Triangles& triangles) {
    triangles.check();
    refit_nodes(triangles);
    fill_wide(triangles);
}

// -- collapse --------------------------------------------------------------------------------------------------------

void TriangleBvh::collapse() {
    std::vector<Places> places(nodes.size());  // of all triangles below a node
    for (size_t n = nodes.size(); n-- > 0;) {
        const BvhNode& node = nodes[n];
        places[n] = node.count > 0 ? Places{node.child, node.child + node.count}
                                   : Places{places[n + 1].begin, places[node.child].end};
    }
    wide_nodes_.reserve(nodes.size() / 4 + 1);
    add_wide(0, places);
}

int32_t TriangleBvh::add_block(Places places) {
    block_places_.push_back(places);
    return -static_cast<int32_t>(block_places_.size());
}

// Makes a wide node of the largest nodes below a binary one.
int32_t TriangleBvh::add_wide(int32_t node, const std::vector<Places>& places) {
    auto number = static_cast<int32_t>(wide_nodes_.size());
    wide_nodes_.emplace_back();
    sources_.resize(sources_.size() + kWidth, -1);
    int32_t children[kWidth] = {node};
    int count = 1;
    auto is_block = [&](int32_t n) { return places[n].end - places[n].begin <= kWidth; };
    while (count < kWidth) {
        int widest = -1;
        for (int i = 0; i < count; ++i)
            if (!is_block(children[i]) &&
                (widest < 0 || half_area(nodes[children[i]]) > half_area(nodes[children[widest]])))
                widest = i;
        if (widest < 0) break;
        int32_t opened = children[widest];
        children[widest] = opened + 1;
        children[count++] = nodes[opened].child;
    }
    wide_nodes_[number].count = count;
    for (int i = 0; i < count; ++i) {
        sources_[static_cast<size_t>(number) * kWidth + i] = children[i];
        int32_t child = is_block(children[i]) ? add_block(places[children[i]]) : add_wide(children[i], places);
        wide_nodes_[number].child[i] = child;
    }
    return number;
}

// -- refit -----------------------------------------------------------------------------------------------------------

// Subtrees first, each by one thread, then the nodes above them from the last to the first.
void TriangleBvh::refit_nodes(const Triangles& triangles) {
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
    for_each(static_cast<int64_t>(subtrees.size()), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) refit_range(triangles, subtrees[i].begin, subtrees[i].end);
    });
    for (size_t i = above.size(); i-- > 0;) refit_range(triangles, above[i], above[i] + 1);
}

void TriangleBvh::refit_range(const Triangles& triangles, int32_t begin, int32_t end) {
    constexpr float inf = std::numeric_limits<float>::infinity();
    for (int32_t i = end - 1; i >= begin; --i) {
        BvhNode& node = nodes[i];
        V4 lower = {inf, inf, inf, inf}, upper = -lower;
        for (int32_t k = 0; k < node.count; ++k)
            for (int corner = 0; corner < 3; ++corner) {
                V4 p = load3(triangles.corner(order[node.child + k], corner));
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

void TriangleBvh::fill_wide(const Triangles& triangles) {
    blocks_.resize(block_places_.size());
    for_each(static_cast<int64_t>(wide_nodes_.size()), kChunk / 8, [&](int64_t begin, int64_t end) {
        for (int64_t n = begin; n < end; ++n)
            for (int i = 0; i < wide_nodes_[n].count; ++i) {
                const BvhNode& source = nodes[sources_[n * kWidth + i]];
                for (int k = 0; k < 3; ++k) {
                    wide_nodes_[n].lower[k][i] = source.lower[k];
                    wide_nodes_[n].upper[k][i] = source.upper[k];
                }
            }
    });
    for_each(static_cast<int64_t>(blocks_.size()), kChunk / 8, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) fill_block(triangles, block_places_[b], blocks_[b]);
    });
}

void TriangleBvh::fill_block(const Triangles& triangles, Places places, TriangleBlock& block) const {
    for (int i = 0; i < kWidth; ++i) {
        bool used = places.begin + i < places.end;
        int32_t face = used ? order[places.begin + i] : -1;
        block.face[i] = face;
        for (int corner = 0; corner < 3; ++corner) {
            const float* from = used ? triangles.corner(face, corner) : kNoPoint;
            for (int k = 0; k < 3; ++k) block.corner[corner][k][i] = from[k];
        }
    }
}

}  // namespace wc
