// A builder of bounding volume hierarchies over boxes in space. docs/design/geometry.md describes the nodes.
#pragma once
#include <cstdint>

namespace wc {

struct Box {
    float lower[3], upper[3];
};

// Nodes are in the order of a depth-first walk: the left child of a node follows it. `child` is the right child of an
// inner node, and the first place in the order of primitives of a leaf. `count` is the number of primitives of a leaf.
// For an inner node it is minus the number of the first node behind its subtree.
struct BvhNode {
    float lower[3];
    int32_t child;
    float upper[3];
    int32_t count;
};
static_assert(sizeof(BvhNode) == 32);

constexpr int kBvhDepth = 64;  // levels of the deepest tree, which is the size of the stack of a query
constexpr int32_t kBvhMaxPrimitives = 1 << 29;

struct Leaves {
    int32_t most;       // primitives of a leaf
    int32_t halve = 0;  // ranges of at most so many primitives are cut in half, which is fast
};

// Builds the tree of `count` boxes, at least one. Writes at most 2 * count - 1 nodes, and `order`: the number of the
// box for each place of a leaf. Returns the number of nodes. The tree has at most `depth` levels; there must be enough
// to cut `count` boxes in half again and again. The result depends on the arguments alone.
using BuildBvh = int32_t(const Box* boxes, int32_t count, Leaves leaves, int depth, BvhNode* nodes, int32_t* order);

// The level from which on ranges are cut in half, so that a tree has at most `depth` levels.
int halves_begin(int32_t count, int depth);

BuildBvh build_bvh;   // by the binned surface area heuristic: the fastest queries
BuildBvh build_lbvh;  // by the order of centres along a curve: the fastest build

}  // namespace wc
