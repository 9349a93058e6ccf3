// The corner of a mesh that is farthest from a point, as lib/geometry/mesh_farthest.py defines it.
//
// Corners are first judged in single precision, those of eight triangles at once. Triangles that may be the farthest so
// far are judged in double precision, which are few: the farthest boxes come first.
#pragma once
#include "geometry/meshes/mesh_walk.h"

namespace wc {
namespace {

// Numbers that are not negative, in reverse order: infinity becomes 0.
WC_INLINE V8 turned(V8 x) {
    return reinterpret_cast<V8>((V8i{} + __builtin_bit_cast(int32_t, kInfinite)) - reinterpret_cast<V8i>(x));
}
WC_INLINE float turned(float x) {
    return __builtin_bit_cast(float, __builtin_bit_cast(int32_t, kInfinite) - __builtin_bit_cast(int32_t, x));
}

struct FarthestSearch {
    WideBvh bvh;
    const float* point;
    double distance_sq;  // of the best
    float least;         // the same: what is nearer cannot be the farthest
    FarthestPoint best, *answer;
    Walk walk;

    WC_INLINE void begin(const PointQuery* queries, FarthestPoint* answers, int number) {
        const PointQuery& query = queries[number];
        bvh = query.bvh;
        point = query.point;
        double smallest = query.limit > 0 ? query.limit : 0;
        distance_sq = smallest * smallest;
        least = static_cast<float>(distance_sq);
        best = {};
        answer = &answers[number];
    }
    WC_INLINE float limit() const { return turned(least); }

    // The children of a node that are far enough. `at` becomes the squares of the distances to the farthest corners of
    // boxes, rounded up, in reverse order.
    WC_INLINE V8i find(const WideNode& node, V8& at) const {
        V8 far = all(0.0f);
        for (int k = 0; k < 3; ++k) {
            V8 below = load<V8>(node.lower[k]) - all(point[k]), above = load<V8>(node.upper[k]) - all(point[k]);
            V8 gap = most(magnitude(below), magnitude(above));
            far = fma(gap, gap, far);
        }
        far = rounded_up(far);
        at = turned(far);
        return far >= all(least);
    }

    WC_INLINE void visit(const TriangleBlock& block) {
        V8 far = most(most(size_sq(block, 0), size_sq(block, 1)), size_sq(block, 2));
        unsigned found = bits(rounded_up(far) >= all(least)) & bits(load<V8i>(block.face) >= V8i{});
        for (; found; found &= found - 1) judge(block, __builtin_ctz(found));
    }

    WC_INLINE void end() { *answer = best; }

  private:
    // A bound of a sum of squares in double precision. Squares of small numbers have lost bits.
    WC_INLINE static V8 rounded_up(V8 square) { return square * all(kMore) + all(1.0e-33f); }

    // The squared distances to a corner of each triangle.
    WC_INLINE V8 size_sq(const TriangleBlock& block, int corner) const {
        V8 sum = all(0.0f);
        for (int k = 0; k < 3; ++k) {
            V8 offset = load<V8>(block.corner[corner][k]) - all(point[k]);
            sum = fma(offset, offset, sum);
        }
        return sum;
    }

    // Judges a triangle in double precision.
    __attribute__((noinline)) void judge(const TriangleBlock& block, int lane) {
        int32_t face = block.face[lane];
        for (int corner = 0; corner < 3; ++corner) {
            double d[3];
            for (int k = 0; k < 3; ++k) d[k] = block.corner[corner][k][lane] - point[k];
            double here = fma(d[2], d[2], fma(d[1], d[1], d[0] * d[0]));
            if (!(here > distance_sq || (here == distance_sq && face < best.face))) continue;
            distance_sq = here;
            best = {face, corner};
        }
        least = static_cast<float>(distance_sq);
    }
};

void farthest_points(const PointQuery* queries, FarthestPoint* found, int count) {
    answer_all<FarthestSearch>(queries, found, count);
}

}  // namespace
}  // namespace wc
