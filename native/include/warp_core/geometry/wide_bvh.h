// The hierarchy over the triangles of a mesh as native queries read it: nodes of eight children, and blocks of eight
// triangles, both with a vector for each coordinate. It is made of a binary tree (bvh.h), which kernels read that are
// compiled for debugging or for other devices.
#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "warp_core/geometry/grouped_bvh.h"

namespace wc {

constexpr int kWidth = 8;

// Children are in the order of the binary tree, as are blocks. Boxes of children that are left out are NaN, which no
// query finds.
struct alignas(64) WideNode {
    float lower[3][kWidth], upper[3][kWidth];
    int32_t child[kWidth];  // a node, or for a block minus one minus its number
    int32_t count;
    int32_t first_block[kWidth - 1];  // below each child but the first; the largest number for those left out
};
static_assert(sizeof(WideNode) == 256);

// Triangles that are left out have face -1 and corners that are NaN, which no query finds.
struct alignas(64) TriangleBlock {
    float corner[3][3][kWidth];  // corner, axis, triangle
    int32_t face[kWidth];
};

// How the solid angles of the triangles below the children of a wide node add up far away: lib/geometry/mesh_winding.py
// has the order of the moments.
struct alignas(32) Moments {
    float of[15][kWidth];
};

// Triangles as arrays of numbers: three for each point, three points for each face.
struct Triangles {
    const float* points;
    const int32_t* indices;
    int32_t count;
    int64_t point_count;

    // Throws std::invalid_argument if an index is out of range or a point is not finite.
    void check() const;
};

// Where queries read it. They begin at the child `first`, numbered as those of nodes are.
struct WideBvh {
    const WideNode* nodes;
    const TriangleBlock* blocks;
    int32_t first;
};

constexpr int32_t kNoStart = std::numeric_limits<int32_t>::min();

// The binary node that a block is made of, and the place of its first triangle. One more is behind the last block.
struct BlockSource {
    int32_t node, place;
};

struct FitData;

class TriangleBvh {
  public:
    // `groups` has a number for each triangle, or is null. With moments, winding numbers need not look at all
    // triangles.
    TriangleBvh(const Triangles& triangles, const int32_t* groups, int32_t leaf_size, BuildBvh* build,
                bool has_moments);

    // Fits all boxes to triangles that have moved. Throws as Triangles::check does, and changes nothing then.
    void refit(const Triangles& triangles);

    std::span<BvhNode> nodes;
    std::vector<int32_t> order;   // the faces, by place in a leaf
    std::vector<int32_t> starts;  // with groups, where queries of the group below a node begin; kNoStart for others
    std::vector<int32_t> slots;   // with moments, which child of a wide node a node is, of all children; or -1
    std::span<const Moments> moments() const { return {moments_.get(), moments_ ? wide_nodes_.size() : 0}; }
    const std::vector<int32_t>& groups() const { return tree_.groups; }
    const std::vector<int32_t>& roots() const { return tree_.roots; }
    WideBvh wide() const { return {wide_nodes_.data(), blocks_.get()}; }
    const std::vector<BlockSource>& sources() const { return sources_; }
    auto wide_node_count() const { return wide_nodes_.size(); }
    auto block_count() const { return sources_.size() - 1; }

  private:
    // A subtree that one thread fits: its blocks, and the nodes above them, end where those of the next part begin.
    struct Part {
        size_t first_block, first_inner;
    };

    bool is_root(int32_t n) const { return !starts.empty() && starts[n] != kNoStart; }
    bool holds_roots(int32_t n, int32_t end) const;
    void list_blocks(int32_t* block_of_node);
    int32_t add_wide(int32_t node, const int32_t* block_of_node);
    void fill_faces();
    void fit(const Triangles& triangles);
    void list_slots();
    void fit_moments(const FitData& data);

    GroupedBvh tree_;
    std::unique_ptr<BvhNode[]> memory_;
    std::vector<WideNode> wide_nodes_;
    std::unique_ptr<TriangleBlock[]> blocks_;
    std::unique_ptr<Moments[]> moments_;
    std::vector<std::array<int32_t, kWidth>> children_;  // the binary node of each child of each wide node, or -1
    std::vector<BlockSource> sources_;
    std::vector<Part> parts_;
    std::vector<int32_t> inner_, above_;  // nodes above blocks: those of parts, and those above parts
    std::unique_ptr<int32_t[]> corners_;  // the points of the faces, by place in a leaf
    int64_t point_count_;
};

constexpr int kMaxLanes = 64;  // bits of a mask of lanes

// The rays of up to so many lanes, and what is found for each of them: an array for each number.
struct RayQueries {
    int count;
    WideBvh bvh[kMaxLanes];
    float start[3][kMaxLanes], dir[3][kMaxLanes], max_t[kMaxLanes];
};

struct RayHits {
    int32_t face[kMaxLanes];
    float t[kMaxLanes], u[kMaxLanes], v[kMaxLanes], sign[kMaxLanes];
};

struct PointQuery {
    WideBvh bvh;
    float point[3], limit;  // the largest distance to the closest point, or the least to the farthest
};

struct ClosestPoint {
    int32_t face = -1;
    float u = 0, v = 0;
};

struct FarthestPoint {
    int32_t face = -1, corner = 0;
};

struct WindingQuery {
    WideBvh bvh;
    const Moments* moments;  // or null
    float point[3], accuracy;
};

// Where a walk through the faces of a mesh is: at a face of a block, below a wide node. If `end` is less than zero, so
// many faces are left of those below a child, of which the block is the last. Behind the last block the number is that
// of all binary nodes.
struct FacePlace {
    int32_t number, place, end;
};

// What one step of such a walk finds, with -1 behind the last.
constexpr int kFoundFaces = 8;
struct FoundFaces {
    int32_t face[kFoundFaces];
};

struct MeshData;

// The queries, for one instruction set. lib/geometry/mesh_rays.py and its neighbours define the results.
struct MeshQueries {
    void (*first_hits)(const RayQueries& queries, RayHits& hits);
    void (*count_hits)(const RayQueries& queries, int32_t* found);  // of any `max_t`
    void (*closest_points)(const PointQuery* queries, ClosestPoint* found, int count);
    void (*farthest_points)(const PointQuery* queries, FarthestPoint* found, int count);
    void (*winding_numbers)(const WindingQuery* queries, double* found, int count);
    FoundFaces (*next_in_box)(const MeshData& mesh, const float* low, const float* high, FacePlace& at);
    FoundFaces (*next_in_ball)(const MeshData& mesh, const float* centre, float radius, FacePlace& at);
};
const MeshQueries& baseline_queries();
const MeshQueries* avx2_queries();  // nullptr where the compiler has no such instructions

}  // namespace wc
