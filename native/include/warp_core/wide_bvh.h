// The hierarchy over the triangles of a mesh as native queries read it: nodes of eight children, and blocks of eight
// triangles, both with a vector for each coordinate. It is made of a binary tree (bvh.h), which kernels read that are
// compiled for debugging or for other devices.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "warp_core/grouped_bvh.h"

namespace wc {

constexpr int kWidth = 8;

// Boxes of children that are left out are NaN, which no query finds.
struct alignas(64) WideNode {
    float lower[3][kWidth], upper[3][kWidth];
    int32_t child[kWidth];  // a node, or for a block minus one minus its number
    int32_t count;
};

// Triangles that are left out have face -1 and corners that are NaN, which no query finds.
struct alignas(64) TriangleBlock {
    float corner[3][3][kWidth];  // corner, axis, triangle
    int32_t face[kWidth];
};

// Triangles as arrays of numbers: three for each point, three points for each face.
struct Triangles {
    const float* points;
    const int32_t* indices;
    int32_t count;
    int64_t point_count;

    const float* corner(int32_t face, int k) const { return points + 3 * int64_t{indices[3 * int64_t{face} + k]}; }
    Box box(int32_t face) const;
    // Throws std::invalid_argument if an index is out of range or a point is not finite.
    void check() const;
};

// Where queries read it. They begin at the child `first`, numbered as those of nodes are.
struct WideBvh {
    const WideNode* nodes;
    const TriangleBlock* blocks;
    int32_t first = 0;
};

constexpr int32_t kNoStart = std::numeric_limits<int32_t>::min();

class TriangleBvh {
  public:
    // `groups` has a number for each triangle, or is null.
    TriangleBvh(const Triangles& triangles, const int32_t* groups, int32_t leaf_size, BuildBvh* build);

    // Fits all boxes to triangles that have moved. Throws as Triangles::check does, and changes nothing then.
    void refit(const Triangles& triangles);

    std::vector<BvhNode> nodes;
    std::vector<int32_t> order;   // the faces, by place in a leaf
    std::vector<int32_t> starts;  // with groups, where queries of the group below a node begin; kNoStart for others
    const std::vector<int32_t>& groups() const { return tree_.groups; }
    const std::vector<int32_t>& roots() const { return tree_.roots; }
    WideBvh wide() const { return {wide_nodes_.data(), blocks_.data()}; }
    auto wide_node_count() const { return wide_nodes_.size(); }
    auto block_count() const { return blocks_.size(); }

  private:
    struct Places {
        int32_t begin, end;
    };
    struct Subtree;

    void collapse();
    int32_t add_wide(int32_t node, const std::vector<Subtree>& subtrees);
    int32_t add_block(Places places);
    void refit_nodes(const float* points);
    void refit_range(const float* points, int32_t begin, int32_t end);
    void fill_wide();
    void fill_block(const float* points, int64_t number);

    GroupedBvh tree_;
    std::vector<WideNode> wide_nodes_;
    std::vector<TriangleBlock> blocks_;
    std::vector<int32_t> sources_;  // the binary node of each child of each wide node
    std::vector<Places> block_places_;
    std::vector<int32_t> corners_;  // the points of the faces, by place in a leaf
    int64_t point_count_;
};

struct RayQuery {
    WideBvh bvh;
    float start[3], dir[3], max_t;
};

struct RayHit {
    int32_t face = -1;
    float t = 0, u = 0, v = 0, sign = 0;
};

struct PointQuery {
    WideBvh bvh;
    float point[3], max_dist;
};

struct ClosestPoint {
    int32_t face = -1;
    float u = 0, v = 0;
};

// Where a walk through the faces of a mesh is: the next node, and what is left of a leaf.
struct FacePlace {
    int32_t number, place, end;
};

struct MeshData;

// The queries, for one instruction set. lib/geometry/mesh_rays.py and its neighbours define the results.
struct MeshQueries {
    void (*first_hits)(const RayQuery* queries, RayHit* hits, int count);
    void (*count_hits)(const RayQuery* queries, int32_t* found, int count);  // of any `max_t`
    void (*closest_points)(const PointQuery* queries, ClosestPoint* found, int count);
    int32_t (*next_in_box)(const MeshData& mesh, const float* low, const float* high, FacePlace& at);
    int32_t (*next_in_ball)(const MeshData& mesh, const float* centre, float radius, FacePlace& at);
};
const MeshQueries& baseline_queries();
const MeshQueries* avx2_queries();  // nullptr where the compiler has no such instructions

}  // namespace wc
