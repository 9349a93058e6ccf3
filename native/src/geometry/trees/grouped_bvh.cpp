// Trees over boxes in groups. The boxes of a group are those below one node, so a query may begin there.
#include "warp_core/geometry/grouped_bvh.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "warp_core/parallel.h"

namespace wc {
namespace {

// Levels of a tree of halves.
int levels(int32_t count) { return 1 + static_cast<int>(std::bit_width(static_cast<uint32_t>(count - 1))); }

// Moves what is in leaves, so that places are in the order of leaves.
void sort_places(BvhNode* nodes, int32_t count, const std::vector<int32_t>& from, int32_t* order) {
    int32_t place = 0;
    for (BvhNode* node = nodes; node < nodes + count; ++node) {
        if (node->count < 0) continue;
        std::copy_n(&from[node->child], node->count, order + place);
        node->child = place;
        place += node->count;
    }
}

}  // namespace

// The trees of the groups, each from the node with the number 2 * begin on, and the tree above them.
struct GroupedBvh::Parts {
    std::vector<BvhNode> nodes, top;
    std::vector<int32_t> order;   // groups, by place in a leaf of the tree above
    std::vector<int32_t> places;  // boxes, by place in a leaf of the tree of their group
};

GroupedBvh::GroupedBvh(const int32_t* group_of_box, int32_t count) : items(static_cast<size_t>(count)) {
    std::iota(items.begin(), items.end(), 0);
    if (group_of_box) list_groups(group_of_box);
}

void GroupedBvh::list_groups(const int32_t* group_of_box) {
    std::stable_sort(items.begin(), items.end(),
                     [&](int32_t a, int32_t b) { return group_of_box[a] < group_of_box[b]; });
    for (size_t i = 0; i < items.size(); ++i) {
        int32_t group = group_of_box[items[i]];
        if (groups.empty() || group != groups.back()) {
            groups.push_back(group);
            parts_.push_back({static_cast<int32_t>(i), 0});
        }
        ++parts_.back().count;
    }
    roots.resize(groups.size());
}

int32_t GroupedBvh::build(const Box* boxes, Leaves leaves, BuildBvh* build, BvhNode* nodes, int32_t* order) {
    auto total = static_cast<int32_t>(items.size()), count = static_cast<int32_t>(parts_.size());
    if (count == 0) return build(boxes, total, leaves, kBvhDepth, nodes, order);
    Parts parts{std::vector<BvhNode>(2 * items.size()), std::vector<BvhNode>(2 * parts_.size() - 1),
                std::vector<int32_t>(parts_.size()), std::vector<int32_t>(items.size())};
    int32_t largest = 0;
    for (const Group& group : parts_) largest = std::max(largest, group.count);
    int spare = kBvhDepth - levels(count) - levels(largest), top = levels(count) + spare / 2;
    std::vector<Box> around(parts_.size());
    for_each(count, 1, [&](int64_t begin, int64_t end) {
        for (int64_t g = begin; g < end; ++g) {
            Group& group = parts_[g];
            BvhNode* first = &parts.nodes[2 * static_cast<size_t>(group.begin)];
            int32_t* places = &parts.places[group.begin];
            group.size = build(boxes + group.begin, group.count, leaves, kBvhDepth - top, first, places);
            std::copy_n(first->lower, 3, around[g].lower);
            std::copy_n(first->upper, 3, around[g].upper);
            for (int32_t i = 0; i < group.count; ++i) places[i] = items[group.begin + places[i]];
        }
    });
    build(around.data(), count, {1}, top, parts.top.data(), parts.order.data());
    int32_t made = place(parts, 0, 0, nodes);
    sort_places(nodes, made, parts.places, order);
    return made;
}

// Copies the node `top` of the tree above the groups, and all below it. Returns the number behind them.
int32_t GroupedBvh::place(const Parts& parts, int32_t top, int32_t number, BvhNode* nodes) {
    const BvhNode& node = parts.top[top];
    if (node.count > 0) {
        int32_t group = parts.order[node.child];
        place_group(parts, group, number, nodes);
        return number + parts_[group].size;
    }
    nodes[number] = node;
    nodes[number].child = place(parts, top + 1, number + 1, nodes);
    int32_t end = place(parts, node.child, nodes[number].child, nodes);
    nodes[number].count = -end;
    return end;
}

void GroupedBvh::place_group(const Parts& parts, int32_t number_of_group, int32_t number, BvhNode* nodes) {
    const Group& group = parts_[number_of_group];
    roots[number_of_group] = number;
    for (int32_t i = 0; i < group.size; ++i) {
        BvhNode node = parts.nodes[2 * static_cast<size_t>(group.begin) + i];
        node.child += node.count < 0 ? number : group.begin;
        if (node.count < 0) node.count -= number;
        nodes[number + i] = node;
    }
}

}  // namespace wc
