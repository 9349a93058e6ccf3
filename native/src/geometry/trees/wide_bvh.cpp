// Makes the hierarchy of eight-wide nodes of a binary tree, and fits both to triangles that have moved.
#include "warp_core/geometry/wide_bvh.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "geometry/trees/bvh_loops.h"
#include "geometry/trees/refit_tree.h"
#include "warp_core/parallel.h"

namespace wc {
namespace {

constexpr int64_t kChunk = 1 << 12;
constexpr int32_t kSubtrees = 64, kSmallest = 1024;  // nodes of the smallest part

int32_t end_of(const BvhNode* nodes, int32_t n) { return nodes[n].count < 0 ? -nodes[n].count : n + 1; }

// The number of faces below a node if they fit into a block, or more.
int32_t count_faces(const BvhNode* nodes, int32_t n, int32_t end) {
    if (end - n >= 2 * kWidth) return kWidth + 1;
    int32_t count = 0;
    for (; n < end; ++n) count += std::max(nodes[n].count, 0);
    return count;
}

// Reads points, all but the last with the number behind them.
class PointReader {
  public:
    explicit PointReader(const Triangles& t)
        : points_(t.points),
          last_(static_cast<int32_t>(t.point_count - 1)),
          last_point_(load3(t.points + 3 * (t.point_count - 1))) {}

    V4 operator()(int32_t number) const {
        if (number == last_) return last_point_;
        V4 point;
        std::memcpy(&point, points_ + 3 * int64_t{number}, sizeof point);
        return point;
    }

  private:
    const float* points_;
    int32_t last_;
    V4 last_point_;
};

std::unique_ptr<Box[]> boxes_of(const Triangles& triangles, const std::vector<int32_t>& faces) {
    auto boxes = std::make_unique_for_overwrite<Box[]>(static_cast<size_t>(triangles.count));
    PointReader point(triangles);
    for_each(triangles.count, kChunk, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            Bounds box;
            const int32_t* corner = triangles.indices + 3 * int64_t{faces[i]};
            for (int k = 0; k < 3; ++k) box.add(point(corner[k]), point(corner[k]));
            boxes[i] = {{box.lower[0], box.lower[1], box.lower[2]}, {box.upper[0], box.upper[1], box.upper[2]}};
        }
    });
    return boxes;
}

}  // namespace

void Triangles::check() const {
    const auto last = static_cast<int32_t>(std::min<int64_t>(point_count - 1, std::numeric_limits<int32_t>::max()));
    const int64_t index_count = 3 * int64_t{count}, total = index_count + 3 * point_count;
    std::atomic<bool> in_range = true, finite = true;
    for_each(total, 4 * kChunk, [&](int64_t begin, int64_t end) {
        int64_t middle = std::clamp(index_count, begin, end);
        if (!bvh_loops().are_in_range(indices + begin, middle - begin, last)) in_range = false;
        if (!bvh_loops().are_finite(points + std::max<int64_t>(middle - index_count, 0), end - middle)) finite = false;
    });
    if (!in_range) throw std::invalid_argument("an index is out of range");
    if (!finite) throw std::invalid_argument("a point is not finite");
}

TriangleBvh::TriangleBvh(const Triangles& triangles, const int32_t* groups, int32_t leaf_size, BuildBvh* build,
                         bool has_moments)
    : tree_(groups, triangles.count) {
    triangles.check();
    const auto count = static_cast<size_t>(triangles.count);
    memory_ = std::make_unique_for_overwrite<BvhNode[]>(2 * count - 1);
    order.resize(count);
    auto boxes = boxes_of(triangles, tree_.items);
    int32_t made = tree_.build(boxes.get(), {leaf_size, kWidth}, build, memory_.get(), order.data());
    nodes = {memory_.get(), static_cast<size_t>(made)};
    if (!roots().empty()) starts.assign(nodes.size(), kNoStart);
    for (int32_t root : roots()) starts[root] = 0;
    auto block_of_node = std::make_unique_for_overwrite<int32_t[]>(nodes.size());
    list_blocks(block_of_node.get());
    wide_nodes_.reserve(nodes.size() / 8 + 1);
    children_.reserve(nodes.size() / 8 + 1);
    add_wide(0, block_of_node.get());
    corners_ = std::make_unique_for_overwrite<int32_t[]>(3 * count);
    for_each(triangles.count, kChunk, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
            std::copy_n(triangles.indices + 3 * int64_t{order[i]}, 3, &corners_[3 * i]);
    });
    blocks_ = std::make_unique_for_overwrite<TriangleBlock[]>(block_count());
    fill_faces();
    point_count_ = triangles.point_count;
    if (has_moments) list_slots();
    fit(triangles);
}

void TriangleBvh::refit(const Triangles& triangles) {
    triangles.check();
    if (triangles.point_count != point_count_) throw std::invalid_argument("the number of points has changed");
    fit(triangles);
}

// -- collapse --------------------------------------------------------------------------------------------------------

// True if roots of groups are among the nodes below node `n`.
bool TriangleBvh::holds_roots(int32_t n, int32_t end) const {
    return !starts.empty() &&
           std::any_of(&starts[n] + 1, starts.data() + end, [](int32_t start) { return start != kNoStart; });
}

// Subtrees of few faces of one group are blocks, in the order of places. Writes the number of its block, or -1, for
// each node that is no part of a block above it.
void TriangleBvh::list_blocks(int32_t* block_of_node) {
    const auto total = static_cast<int32_t>(nodes.size()), limit = std::max(kSmallest, total / kSubtrees);
    int32_t place = 0, part_end = 0;
    sources_.reserve(nodes.size() / 2);
    inner_.reserve(nodes.size() / 2);
    for (int32_t n = 0; n < total;) {
        int32_t end = end_of(nodes.data(), n), faces = count_faces(nodes.data(), n, end);
        if (n >= part_end && end - n <= limit) {
            parts_.push_back({sources_.size(), inner_.size()});
            part_end = end;
        }
        if (faces <= kWidth && !holds_roots(n, end)) {
            block_of_node[n] = static_cast<int32_t>(sources_.size());
            sources_.push_back({n, place});
            place += faces;
            n = end;
        } else {
            block_of_node[n] = -1;
            (n < part_end ? inner_ : above_).push_back(n);
            ++n;
        }
    }
    parts_.push_back({sources_.size(), inner_.size()});
    sources_.push_back({total, place});
}

// Makes a wide node of the largest nodes below a binary one. The root of a group is a child, or the node itself.
int32_t TriangleBvh::add_wide(int32_t node, const int32_t* block_of_node) {
    auto number = static_cast<int32_t>(wide_nodes_.size());
    wide_nodes_.emplace_back();
    std::array<int32_t, kWidth> children;
    float areas[kWidth];  // less than that of any box for nodes that stay children
    int count = 0;
    auto put = [&](int at, int32_t n) {
        children[at] = n;
        areas[at] = block_of_node[n] < 0 && (n == node || !is_root(n)) ? box_of(nodes[n]).half_area() : -1;
    };
    children.fill(-1);
    put(count++, node);
    while (count < kWidth) {
        auto widest = std::max_element(areas, areas + count) - areas;
        if (areas[widest] < 0) break;
        int32_t opened = children[widest];
        put(static_cast<int>(widest), opened + 1);
        put(count++, nodes[opened].child);
    }
    std::sort(children.begin(), children.begin() + count);
    children_.push_back(children);
    wide_nodes_[number].count = count;
    std::fill(std::begin(wide_nodes_[number].first_block), std::end(wide_nodes_[number].first_block),
              std::numeric_limits<int32_t>::max());
    for (int i = 0; i < count; ++i) {
        int32_t block = block_of_node[children[i]], first = children[i];
        while (block_of_node[first] < 0) ++first;
        if (i > 0) wide_nodes_[number].first_block[i - 1] = block_of_node[first];
        int32_t child = block < 0 ? add_wide(children[i], block_of_node) : -1 - block;
        wide_nodes_[number].child[i] = child;
        if (is_root(children[i])) starts[children[i]] = child;
    }
    return number;
}

void TriangleBvh::fill_faces() {
    for_each(static_cast<int64_t>(block_count()), kChunk / kWidth, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b)
            for (int i = 0; i < kWidth; ++i) {
                int32_t place = sources_[b].place + i;
                blocks_[b].face[i] = place < sources_[b + 1].place ? order[place] : -1;
            }
    });
}

// -- refit -----------------------------------------------------------------------------------------------------------

void TriangleBvh::list_slots() {
    moments_ = std::make_unique<Moments[]>(wide_nodes_.size());
    slots.assign(nodes.size(), -1);
    for (size_t i = 0; i < children_.size() * kWidth; ++i) {
        int32_t node = children_[i / kWidth][i % kWidth];
        if (node >= 0) slots[node] = static_cast<int32_t>(i);
    }
}

// Parts first, each by one thread, then the nodes above them.
void TriangleBvh::fit(const Triangles& triangles) {
    const BvhLoops& loops = bvh_loops();
    const FitData data{triangles.points,
                       static_cast<int32_t>(triangles.point_count - 1),
                       corners_.get(),
                       sources_.data(),
                       nodes.data(),
                       blocks_.get(),
                       children_.data()->data(),
                       wide_nodes_.data(),
                       moments_.get()};
    for_each(static_cast<int64_t>(parts_.size()) - 1, 1, [&](int64_t begin, int64_t end) {
        loops.fit_blocks(data, parts_[begin].first_block, parts_[end].first_block);
        loops.fit_inner(nodes.data(), inner_.data(), parts_[begin].first_inner, parts_[end].first_inner);
    });
    loops.fit_inner(nodes.data(), above_.data(), 0, above_.size());
    for_each(static_cast<int64_t>(wide_nodes_.size()), kChunk / kWidth,
             [&](int64_t begin, int64_t end) { loops.fit_wide(data, begin, end); });
    if (moments_) fit_moments(data);
}

// Those of blocks first. Wide nodes follow the one above them, so those of other children are found from the last on.
void TriangleBvh::fit_moments(const FitData& data) {
    const BvhLoops& loops = bvh_loops();
    for_each(static_cast<int64_t>(wide_nodes_.size()), kChunk / (kWidth * kWidth),
             [&](int64_t begin, int64_t end) { loops.fit_block_moments(data, begin, end); });
    for (size_t n = wide_nodes_.size(); n-- > 0;)
        for (int i = 0; i < wide_nodes_[n].count; ++i)
            if (wide_nodes_[n].child[i] >= 0) loops.fit_wide_moments(data, static_cast<int32_t>(n), i);
}

}  // namespace wc
