// Queries of meshes over eight-wide nodes. Each file that includes this compiles them for one instruction set, so all
// is in an unnamed namespace, and nothing of the standard library is instantiated here.
//
// lib/geometry/mesh_rays.py and its neighbours have the same in the kernel language. Triangles are judged
// by the same operations in double precision, in the same order, so that both find the same. Boxes, and tests in single
// precision that come first, only have to let all through that may be found.
#pragma once
#include "geometry/meshes/mesh_farthest.h"
#include "geometry/meshes/mesh_near.h"
#include "geometry/meshes/mesh_points.h"
#include "geometry/meshes/mesh_rays.h"
#include "geometry/meshes/mesh_winding.h"

namespace wc {
namespace {

constexpr MeshQueries kQueries{first_hits,      count_hits,  closest_points, farthest_points,
                               winding_numbers, next_in_box, next_in_ball};

}  // namespace
}  // namespace wc
