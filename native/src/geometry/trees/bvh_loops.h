// The loops of building and fitting trees, compiled for each instruction set. They give the same results to the bit.
#pragma once
#include <cstdint>

#include "warp_core/geometry/wide_bvh.h"

namespace wc {

// A primitive: the lower corner of its box, its number, and minus the upper corner, so that joining boxes is one
// operation. The number is as the bits of a normal float, so that arithmetic on it, which counts for nothing, is not
// slow.
struct alignas(32) Reference {
    float lower[3];
    int32_t bits;
    float minus_upper[3], zero;

    int32_t number() const { return bits - kBvhMaxPrimitives; }
};

// Nodes of eight children over blocks over binary nodes, and what they are made of.
struct FitData {
    const float* points;
    int32_t last_point;
    const int32_t* corners;      // the points of the faces, by place in a leaf
    const BlockSource* sources;  // of blocks; one more is behind the last
    BvhNode* nodes;
    TriangleBlock* blocks;
    const int32_t* children;  // the binary node of each child of each wide node, or -1
    WideNode* wide_nodes;
    Moments* moments;  // of the children of each wide node, or null
};

constexpr int32_t kSortable = 8;  // primitives

struct BvhLoops {
    // Copies boxes, whose numbers begin with `first`.
    void (*refer)(const Box* boxes, int32_t first, int32_t count, Reference* references);
    // The box around primitives.
    Box (*join)(const Reference* references, int32_t count);
    // Moves primitives to both sides of the cut where the surface area heuristic is least. Returns how many are on the
    // left side: none if there is no cut. Both sides keep their order. `spare` has room for all.
    int32_t (*cut)(Reference* references, Reference* spare, int32_t count);
    // Sorts at most kSortable primitives by their centres along the longest axis.
    void (*sort_few)(Reference* references, Reference* spare, int32_t count);

    bool (*are_in_range)(const int32_t* indices, int64_t count, int32_t last);
    bool (*are_finite)(const float* numbers, int64_t count);
    // Copies the corners of triangles to blocks, and fits the binary nodes that these are made of.
    void (*fit_blocks)(const FitData& data, size_t begin, size_t end);
    // Fits inner nodes to their children, from the last to the first.
    void (*fit_inner)(BvhNode* nodes, const int32_t* numbers, size_t begin, size_t end);
    // Copies boxes of binary nodes to wide nodes.
    void (*fit_wide)(const FitData& data, int64_t begin, int64_t end);
    // Sums the moments of the children of wide nodes that are blocks, and of a child that is a wide node.
    void (*fit_block_moments)(const FitData& data, int64_t begin, int64_t end);
    void (*fit_wide_moments)(const FitData& data, int32_t number, int child);
};
const BvhLoops& bvh_loops();
const BvhLoops* avx2_bvh_loops();  // nullptr where the compiler has no such instructions

}  // namespace wc
