// Faces near a box or a ball, one by one, as lib/geometry/mesh_boxes.py defines them. The walk goes through the binary
// tree, so that it finds them in the same order.
#pragma once
#include "geometry/meshes/mesh_data.h"
#include "geometry/meshes/mesh_points.h"

namespace wc {
namespace {

constexpr double kRoom = 1.0e-12;  // covers the rounding of a squared distance, in units of those of the corners
constexpr double kFinite = 1.0e300;

WC_INLINE V4 load3(const float* p) { return V4{p[0], p[1], p[2], 0}; }

// True if a comparison holds for the first three components.
WC_INLINE bool all3(V4i mask) {
#ifdef __x86_64__
    return (__builtin_ia32_movmskps(reinterpret_cast<V4>(mask)) & 7) == 7;
#else
    return (mask[0] & mask[1] & mask[2]) != 0;
#endif
}

// A corner of a face, with the number behind it unless it is the last point. That number counts for nothing.
WC_INLINE V4 corner_of(const MeshData& mesh, int32_t face, int k) {
    int32_t number = mesh.indices[3 * int64_t{face} + k];
    const float* p = mesh.points + 3 * int64_t{number};
    return __builtin_expect(number == mesh.point_count - 1, 0) ? load3(p) : load<V4>(p);
}

struct FaceBox {
    V4 lower, upper;

    WC_INLINE FaceBox(const MeshData& mesh, int32_t face) {
        V4 a = corner_of(mesh, face, 0), b = corner_of(mesh, face, 1), c = corner_of(mesh, face, 2);
        lower = least(least(a, b), c);
        upper = most(most(a, b), c);
    }
};

// Goes on with a walk. Returns the next faces that are found, and -1 behind the last. `holds` is true for boxes all of
// whose faces are found, so that their corners need not be read.
template <class MeetsNode, class HoldsNode, class Finds>
WC_INLINE FoundFaces next_faces(const MeshData& mesh, FacePlace& to, MeetsNode&& meets, HoldsNode&& holds,
                                Finds&& finds) {
    FoundFaces found{{-1, -1, -1, -1, -1, -1, -1, -1}};
    FacePlace at = to;
    for (bool is_held = false;;) {
        for (; at.place < at.end && found.count < kFoundFaces; ++at.place) {
            int32_t face = mesh.order[at.place];
            if (is_held || finds(face)) found.face[found.count++] = face;
        }
        if (found.count == kFoundFaces || at.number >= mesh.node_count) {
            to = at;
            return found;
        }
        const BvhNode& node = mesh.nodes[at.number];
        V4 lower = load<V4>(node.lower), upper = load<V4>(node.upper);
        bool met = meets(lower, upper);
        at.number = met || node.count > 0 ? at.number + 1 : -node.count;
        if (!met || node.count <= 0) continue;
        at.place = node.child;
        at.end = node.child + node.count;
        is_held = holds(lower, upper);
    }
}

FoundFaces next_in_box(const MeshData& mesh, const float* low, const float* high, FacePlace& at) {
    V4 first = load3(low), last = load3(high);
    auto meets = [&](V4 lower, V4 upper) { return all3((lower <= last) & (upper >= first)); };
    auto holds = [&](V4 lower, V4 upper) { return all3((lower >= first) & (upper <= last)); };
    return next_faces(mesh, at, meets, holds, [&](int32_t face) {
        FaceBox box(mesh, face);
        return meets(box.lower, box.upper);
    });
}

// -- balls -----------------------------------------------------------------------------------------------------------

struct Ball {
    V4 centre;
    double limit;  // the square of the radius

    // True if a box may have a point in the ball: `distance_sq` of lib/geometry/bvh_nodes.py.
    WC_INLINE bool meets(V4 lower, V4 upper) const {
        V4 gap = most(most(lower - centre, centre - upper), V4{});
        double x = gap[0], y = gap[1], z = gap[2];
        return (x * x + y * y + z * z) * 0.9999995 <= limit;
    }

    // True if a box lies in the ball, by more than rounding.
    WC_INLINE bool holds(V4 lower, V4 upper) const {
        V4 far = most(centre - lower, upper - centre);
        double x = far[0], y = far[1], z = far[2];
        return (x * x + y * y + z * z) * 1.000001 <= limit && limit < kFinite;
    }

    // True if a face has a point in the ball. A corner well inside decides at once, as does a box that is outside.
    WC_INLINE bool meets(const MeshData& mesh, int32_t face) const {
        Vec3<double> corners[3];
        double size[3];
        for (int k = 0; k < 3; ++k) {
            V4 offset = corner_of(mesh, face, k) - centre;
            corners[k] = {offset[0], offset[1], offset[2]};
            size[k] = dot(corners[k], corners[k]);
        }
        double sum = size[0] + size[1] + size[2], nearest = least(least(size[0], size[1]), size[2]);
        if (sum < kFinite && nearest + kRoom * sum <= limit) return true;
        FaceBox box(mesh, face);
        if (!meets(box.lower, box.upper)) return false;
        Vec3<D4> a = all(corners[0]), b = all(corners[1]), c = all(corners[2]);
        return closest_of(a, b, c).distance_sq[0] <= limit;
    }

  private:
    WC_INLINE static Vec3<D4> all(Vec3<double> p) { return {wc::all(p.x), wc::all(p.y), wc::all(p.z)}; }
};

FoundFaces next_in_ball(const MeshData& mesh, const float* centre, float radius, FacePlace& at) {
    Ball ball{load3(centre), double{radius} * radius};
    return next_faces(
        mesh, at, [&](V4 lower, V4 upper) { return ball.meets(lower, upper); },
        [&](V4 lower, V4 upper) { return ball.holds(lower, upper); },
        [&](int32_t face) { return ball.meets(mesh, face); });
}

}  // namespace
}  // namespace wc
