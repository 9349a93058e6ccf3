// A tree over boxes in groups: a tree for each group, and a tree over the boxes around groups above them.
#pragma once
#include <cstdint>
#include <vector>

#include "warp_core/geometry/bvh.h"

namespace wc {

class GroupedBvh {
  public:
    // `group_of_box` has a number for each box, or is null: then there are no groups, and one tree.
    GroupedBvh(const int32_t* group_of_box, int32_t count);

    // Builds the tree, as `BuildBvh` does. The boxes are those of `items`, in that order. Places are in the order of
    // leaves.
    int32_t build(const Box* boxes, Leaves leaves, BuildBvh* build, BvhNode* nodes, int32_t* order);

    std::vector<int32_t> items;   // the numbers of the boxes, group by group
    std::vector<int32_t> groups;  // in ascending order
    std::vector<int32_t> roots;   // the node above the boxes of each group

  private:
    struct Group {
        int32_t begin, count;  // boxes
        int32_t size = 0;      // nodes
    };
    struct Parts;

    void list_groups(const int32_t* group_of_box);
    int32_t place(const Parts& parts, int32_t top, int32_t number, BvhNode* nodes);
    void place_group(const Parts& parts, int32_t group, int32_t number, BvhNode* nodes);

    std::vector<Group> parts_;
};

}  // namespace wc
