// The hierarchy over boxes that a user has. Its memory stays where it is when it is built again.
#pragma once
#include <cstdint>
#include <vector>

#include "warp_core/bvh.h"

namespace wc {

// Corners as arrays of numbers, three for each box. A box is empty if a lower corner is not below or at the upper one.
struct Boxes {
    const float *lowers, *uppers;
    int32_t count;
};

class BoxBvh {
  public:
    // `groups` has a number for each box, or is null. Boxes of a group are then the boxes below one node.
    BoxBvh(const Boxes& boxes, const int32_t* groups, int32_t leaf_size, BuildBvh* build);

    void rebuild(const Boxes& boxes, BuildBvh* build);
    void refit(const Boxes& boxes);

    std::vector<BvhNode> nodes;   // the number behind the subtree of the first one is the end
    std::vector<int32_t> order;   // the boxes, by place in a leaf
    std::vector<int32_t> groups;  // in ascending order
    std::vector<int32_t> roots;   // the node of each group

  private:
    struct Group {
        int32_t begin, count;  // boxes
        int32_t size = 0;      // nodes
    };
    struct Parts;

    void list_groups(const int32_t* group_of_box);
    void build_groups(const Box* boxes, BuildBvh* build);
    int32_t place(const Parts& parts, int32_t top, int32_t number);
    void place_group(const Parts& parts, int32_t group, int32_t number);

    int32_t leaf_size_;
    std::vector<int32_t> items_;  // the boxes, group by group
    std::vector<Group> parts_;
};

}  // namespace wc
