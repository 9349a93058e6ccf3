// A mesh as kernels describe it: `MeshData` of lib/geometry/mesh_data.py.
#pragma once
#include <cstdint>

#include "warp_core/geometry/wide_bvh.h"

namespace wc {

struct MeshData {
    uint64_t id;
    const WideNode* wide_nodes;
    const TriangleBlock* blocks;
    const BlockSource* sources;
    const int32_t* starts;
    uint64_t bvh;
    const float* points;
    const int32_t* indices;
    const float* velocities;
    const BvhNode* nodes;
    const int32_t* order;
    const Moments* moments;
    const int32_t* slots;
    int32_t point_count, face_count, node_count;

    const float* corner(int32_t face, int k) const { return points + 3 * int64_t{indices[3 * int64_t{face} + k]}; }
};

}  // namespace wc
