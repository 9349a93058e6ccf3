// Trees over boxes of users. Boxes may be empty or infinite: the builders get finite ones in their place, and the nodes
// are then fitted to the boxes as they are.
//
// A tree with groups is a tree for each group, and a tree over the boxes around groups above them.
#include "warp_core/box_bvh.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>

#include "refit_tree.h"
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

}  // namespace

// The trees of the groups, each from the node with the number 2 * begin on, and the tree above them.
struct BoxBvh::Parts {
    std::vector<BvhNode> nodes, top;
    std::vector<int32_t> order;  // groups, by place in a leaf of the tree above
};

BoxBvh::BoxBvh(const Boxes& boxes, const int32_t* group_of_box, int32_t leaf_size, BuildBvh* build)
    : nodes(2 * static_cast<size_t>(boxes.count) - 1),
      order(static_cast<size_t>(boxes.count)),
      leaf_size_(leaf_size),
      items_(order.size()) {
    std::iota(items_.begin(), items_.end(), 0);
    if (group_of_box) list_groups(group_of_box);
    rebuild(boxes, build);
}

void BoxBvh::list_groups(const int32_t* group_of_box) {
    std::stable_sort(items_.begin(), items_.end(),
                     [&](int32_t a, int32_t b) { return group_of_box[a] < group_of_box[b]; });
    for (size_t i = 0; i < items_.size(); ++i) {
        int32_t group = group_of_box[items_[i]];
        if (groups.empty() || group != groups.back()) {
            groups.push_back(group);
            parts_.push_back({static_cast<int32_t>(i), 0});
        }
        ++parts_.back().count;
    }
    roots.resize(groups.size());
}

void BoxBvh::rebuild(const Boxes& boxes, BuildBvh* build) {
    std::vector<Box> copies(order.size());
    bool as_they_are = copy_boxes(boxes, items_, copies);
    if (parts_.empty())
        build(copies.data(), boxes.count, leaf_size_, nodes.data(), order.data());
    else
        build_groups(copies.data(), build);
    if (!as_they_are) refit(boxes);
}

void BoxBvh::refit(const Boxes& boxes) {
    int32_t count = nodes[0].count < 0 ? -nodes[0].count : 1;
    refit_tree(nodes.data(), count, [&](const BvhNode& leaf) {
        Bounds box;
        for (int32_t i = leaf.child; i < leaf.child + leaf.count; ++i) {
            const float *lower = boxes.lowers + 3 * int64_t{order[i]}, *upper = boxes.uppers + 3 * int64_t{order[i]};
            if (!is_empty(lower, upper)) box.add(load3(lower), load3(upper));
        }
        return box;
    });
}

// -- groups ----------------------------------------------------------------------------------------------------------

void BoxBvh::build_groups(const Box* boxes, BuildBvh* build) {
    auto count = static_cast<int32_t>(parts_.size());
    Parts parts{std::vector<BvhNode>(2 * order.size()), std::vector<BvhNode>(2 * parts_.size() - 1),
                std::vector<int32_t>(parts_.size())};
    std::vector<Box> around(parts_.size());
    for_each(count, 1, [&](int64_t begin, int64_t end) {
        for (int64_t g = begin; g < end; ++g) {
            Group& group = parts_[g];
            BvhNode* first = &parts.nodes[2 * static_cast<size_t>(group.begin)];
            group.size = build(boxes + group.begin, group.count, leaf_size_, first, &order[group.begin]);
            std::copy_n(first->lower, 3, around[g].lower);
            std::copy_n(first->upper, 3, around[g].upper);
        }
    });
    build(around.data(), count, 1, parts.top.data(), parts.order.data());
    place(parts, 0, 0);
}

// Copies the node `top` of the tree above the groups, and all below it. Returns the number behind them.
int32_t BoxBvh::place(const Parts& parts, int32_t top, int32_t number) {
    const BvhNode& node = parts.top[top];
    if (node.count > 0) {
        int32_t group = parts.order[node.child];
        place_group(parts, group, number);
        return number + parts_[group].size;
    }
    nodes[number] = node;
    nodes[number].child = place(parts, top + 1, number + 1);
    int32_t end = place(parts, node.child, nodes[number].child);
    nodes[number].count = -end;
    return end;
}

void BoxBvh::place_group(const Parts& parts, int32_t number_of_group, int32_t number) {
    const Group& group = parts_[number_of_group];
    roots[number_of_group] = number;
    for (int32_t i = 0; i < group.size; ++i) {
        BvhNode node = parts.nodes[2 * static_cast<size_t>(group.begin) + i];
        node.child += node.count < 0 ? number : group.begin;
        if (node.count < 0) node.count -= number;
        nodes[number + i] = node;
    }
    for (int32_t i = group.begin; i < group.begin + group.count; ++i) order[i] = items_[group.begin + order[i]];
}

}  // namespace wc
