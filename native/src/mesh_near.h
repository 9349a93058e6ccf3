// Faces near a box or a ball, one by one, as lib/geometry/mesh_boxes.py defines them. The walk goes through the binary
// tree, so that it finds them in the same order.
#pragma once
#include "mesh_data.h"
#include "mesh_points.h"

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

struct FaceBox {
    V4 lower, upper;

    WC_INLINE FaceBox(const MeshData& mesh, int32_t face) {
        V4 a = load3(mesh.corner(face, 0)), b = load3(mesh.corner(face, 1)), c = load3(mesh.corner(face, 2));
        lower = least(least(a, b), c);
        upper = most(most(a, b), c);
    }
};

// Goes on with a walk. Returns the next face that is found, or -1.
template <class MeetsNode, class Finds>
WC_INLINE int32_t next_face(const MeshData& mesh, FacePlace& at, MeetsNode&& meets, Finds&& finds) {
    for (;;) {
        while (at.place < at.end) {
            int32_t face = mesh.order[at.place++];
            if (finds(face)) return face;
        }
        if (at.number >= mesh.node_count) return -1;
        const BvhNode& node = mesh.nodes[at.number];
        bool met = meets(load3(node.lower), load3(node.upper));
        at.number = met || node.count > 0 ? at.number + 1 : -node.count;
        if (!met || node.count <= 0) continue;
        at.place = node.child;
        at.end = node.child + node.count;
    }
}

int32_t next_in_box(const MeshData& mesh, const float* low, const float* high, FacePlace& at) {
    V4 first = load3(low), last = load3(high);
    auto meets = [&](V4 lower, V4 upper) { return all3((lower <= last) & (upper >= first)); };
    return next_face(mesh, at, meets, [&](int32_t face) {
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

    // True if a face has a point in the ball. A corner well inside decides at once, as does a box that is outside.
    WC_INLINE bool meets(const MeshData& mesh, int32_t face) const {
        Vec3<double> corners[3];
        double size[3];
        for (int k = 0; k < 3; ++k) {
            V4 offset = load3(mesh.corner(face, k)) - centre;
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

int32_t next_in_ball(const MeshData& mesh, const float* centre, float radius, FacePlace& at) {
    Ball ball{load3(centre), double{radius} * radius};
    return next_face(
        mesh, at, [&](V4 lower, V4 upper) { return ball.meets(lower, upper); },
        [&](int32_t face) { return ball.meets(mesh, face); });
}

}  // namespace
}  // namespace wc
