// The hierarchy over boxes that a user has. Its memory stays where it is when it is built again.
#pragma once
#include <cstdint>
#include <vector>

#include "warp_core/geometry/grouped_bvh.h"

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

    std::vector<BvhNode> nodes;  // the number behind the subtree of the first one is the end
    std::vector<int32_t> order;  // the boxes, by place in a leaf
    const std::vector<int32_t>& groups() const { return tree_.groups; }
    const std::vector<int32_t>& roots() const { return tree_.roots; }

  private:
    GroupedBvh tree_;
    int32_t leaf_size_;
};

}  // namespace wc
