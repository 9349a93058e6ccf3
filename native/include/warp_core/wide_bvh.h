// The hierarchy over the triangles of a mesh as native queries read it: nodes of eight children, and blocks of eight
// triangles, both with a vector for each coordinate. It is made of a binary tree (bvh.h), which kernels read that are
// compiled for debugging or for other devices.
#pragma once
#include <cstdint>
#include <vector>

#include "warp_core/bvh.h"

namespace wc {

constexpr int kWidth = 8;

struct alignas(64) WideNode {
    float lower[3][kWidth], upper[3][kWidth];
    int32_t child[kWidth];  // a node, or for a block minus one minus its number
    int32_t count;
};

// Lanes without a triangle have face -1 and corners that are NaN, which no query finds.
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

// Where queries read it.
struct WideBvh {
    const WideNode* nodes;
    const TriangleBlock* blocks;
};

class TriangleBvh {
  public:
    TriangleBvh(const Triangles& triangles, int32_t leaf_size);

    // Fits all boxes to triangles that have moved. Throws as Triangles::check does, and changes nothing then.
    void refit(const Triangles& triangles);

    std::vector<BvhNode> nodes;
    std::vector<int32_t> order;  // the faces, by place in a leaf
    WideBvh wide() const { return {wide_nodes_.data(), blocks_.data()}; }

  private:
    struct Places {
        int32_t begin, end;
    };

    void collapse();
    int32_t add_wide(int32_t node, const std::vector<Places>& places);
    int32_t add_block(Places places);
    void refit_nodes(const Triangles& triangles);
    void refit_range(const Triangles& triangles, int32_t begin, int32_t end);
    void fill_wide(const Triangles& triangles);
    void fill_block(const Triangles& triangles, Places places, TriangleBlock& block) const;

    std::vector<WideNode> wide_nodes_;
    std::vector<TriangleBlock> blocks_;
    std::vector<int32_t> sources_;  // the binary node of each child of each wide node
    std::vector<Places> block_places_;
};

struct RayHit {
    int32_t face = -1;
    float t = 0, u = 0, v = 0, sign = 0;
};

struct ClosestPoint {
    int32_t face = -1;
    float u = 0, v = 0;
};

// The queries, for one instruction set. lib/geometry/mesh_rays.py and lib/geometry/mesh_points.py define the results.
struct MeshQueries {
    RayHit (*first_hit)(WideBvh, const float* start, const float* dir, float max_t);
    ClosestPoint (*closest)(WideBvh, const float* point, float max_dist);
};
const MeshQueries& baseline_queries();
const MeshQueries* avx2_queries();  // nullptr where the compiler has no such instructions

}  // namespace wc
