// The point of a mesh that is closest to a point, as lib/geometry/mesh_points.py defines it.
//
// Triangles are first judged in single precision, eight at once. The few that may be the closest are kept as candidates
// until no box is left that is near enough, then judged in double precision.
#pragma once
#include "geometry/meshes/mesh_walk.h"

namespace wc {
namespace {

constexpr int kCandidates = 32;
constexpr float kNear = 1.0e-33f;     // squared distances below it are too close to the smallest numbers to be compared
constexpr float kFlat = 1.0e-17f;     // normals below it are too short to be divided by
constexpr float kFarthest = 1.0e18f;  // squares of smaller numbers are finite

// -- triangles in double precision -----------------------------------------------------------------------------------

// The share of `b` in the point of an edge that is closest to the origin.
WC_INLINE D4 on_edge(Vec3<D4> a, Vec3<D4> b) {
    Vec3<D4> edge = b - a;
    D4 size = dot(edge, edge);
    D4 share = least(most(-dot(a, edge) / size, all(0.0)), all(1.0));
    return select(size > all(0.0), share, all(0.0));
}

// A point of an edge: `share` of `b`, and the rest of `a`.
WC_INLINE Vec3<D4> mix(Vec3<D4> a, Vec3<D4> b, D4 share) {
    D4 rest = all(1.0) - share;
    return {fma(b.x, share, a.x * rest), fma(b.y, share, a.y * rest), fma(b.z, share, a.z * rest)};
}

struct Closest {
    D4 u, v, distance_sq;

    WC_INLINE void take(D4i better, D4 other_u, D4 other_v, D4 other_distance_sq) {
        u = select(better, other_u, u);
        v = select(better, other_v, v);
        distance_sq = select(better, other_distance_sq, distance_sq);
    }
};

// The points of four triangles that are closest to the origin.
WC_INLINE Closest closest_of(const Vec3<D4>& a, const Vec3<D4>& b, const Vec3<D4>& c) {
    D4 s = on_edge(a, b), t = on_edge(b, c), r = on_edge(c, a);
    Vec3<D4> p = mix(a, b, s), q = mix(b, c, t), w = mix(c, a, r);
    Closest best{all(1.0) - s, s, dot(p, p)};
    D4 qq = dot(q, q), ww = dot(w, w);
    best.take(qq < best.distance_sq, all(0.0), all(1.0) - t, qq);
    best.take(ww < best.distance_sq, r, all(0.0), ww);
    Vec3<D4> normal = cross(b - a, c - a);
    D4 x = dot(normal, cross(b, c)), y = dot(normal, cross(c, a)), z = dot(normal, cross(a, b));
    D4 total = (x + y) + z, u = x / total, v = y / total, rest = (all(1.0) - u) - v;
    Vec3<D4> inner = {fma(c.x, rest, fma(b.x, v, a.x * u)), fma(c.y, rest, fma(b.y, v, a.y * u)),
                      fma(c.z, rest, fma(b.z, v, a.z * u))};
    D4 ii = dot(inner, inner);
    D4i above = (x > all(0.0)) & (y > all(0.0)) & (z > all(0.0));
    best.take(above & (ii < best.distance_sq), u, v, ii);
    return best;
}

// -- triangles in single precision -----------------------------------------------------------------------------------

WC_INLINE Vec3<V8> offset(const TriangleBlock& block, int corner, const float* origin) {
    return {load<V8>(block.corner[corner][0]) - all(origin[0]), load<V8>(block.corner[corner][1]) - all(origin[1]),
            load<V8>(block.corner[corner][2]) - all(origin[2])};
}

// The square of the distance to an edge that starts at `a`.
WC_INLINE V8 edge_distance_sq(Vec3<V8> a, Vec3<V8> edge) {
    V8 share = least(most(-dot(a, edge) / dot(edge, edge), all(0.0f)), all(1.0f));
    Vec3<V8> p = {fma(edge.x, share, a.x), fma(edge.y, share, a.y), fma(edge.z, share, a.z)};
    return dot(p, p);
}

// Bounds of the squared distances to the triangles of a block.
struct Distances {
    V8 least, most;
};

// Errors of single precision are below the margins here, which are multiples of 2^-24 times the lengths that are
// computed with. Those of the normal count most: of a narrow triangle it has few right digits. Where something is not a
// number, or out of the range in which margins hold, the triangle may be near, and `most` is too large or not a number.
WC_INLINE Distances bound(const TriangleBlock& block, const float* point) {
    Vec3<V8> a = offset(block, 0, point), b = offset(block, 1, point), c = offset(block, 2, point);
    Vec3<V8> ab = b - a, bc = c - b, ca = a - c, normal = cross(ca, ab);
    V8 size = most(most(largest(ab), largest(bc)), largest(ca)), far = most(most(largest(a), largest(b)), largest(c));
    V8 to_edges = root(least(least(edge_distance_sq(a, ab), edge_distance_sq(b, bc)), edge_distance_sq(c, ca)));
    V8 length = root(dot(normal, normal)), inverse = all(1.0f) / length;
    Vec3<V8> unit = {normal.x * inverse, normal.y * inverse, normal.z * inverse};
    V8 x = dot(unit, cross(b, bc)), y = dot(unit, cross(c, ca)), z = dot(unit, cross(a, ab));
    V8 narrow = size * size * inverse;  // about one for most triangles, large for narrow ones
    V8 inside = least(least(x, y), z), doubt = all(4e-5f) * size * narrow * far;
    V8 to_plane = magnitude(dot(unit, a)), plane_margin = far * (all(8e-6f) * narrow + all(4e-6f));
    V8 margin = all(3e-6f) * (far + size);
    V8 low = to_edges - margin, high = to_edges + margin;
    low = inside >= -doubt ? least(to_plane - plane_margin, low) : low;
    high = inside > doubt ? least(to_plane + plane_margin, high) : high;
    low = most(low, all(0.0f));
    low = (low == low) & (length > all(kFlat)) & (far < all(kFarthest)) ? low : all(0.0f);
    return {low * low * all(kLess), high * high * all(kMore)};
}

// -- the search ------------------------------------------------------------------------------------------------------

struct Candidate {
    const TriangleBlock* block;
    int lane;
    float least;  // the squared distance is not below it
};

struct PointSearch {
    WideBvh bvh;
    const float* point;
    double distance_sq;  // of the best
    float reach;         // a squared distance: what is farther cannot be the closest
    int count;
    ClosestPoint best, *answer;
    Candidate candidates[kCandidates];
    Walk walk;

    WC_INLINE void begin(const PointQuery* queries, ClosestPoint* answers, int number) {
        const PointQuery& query = queries[number];
        bvh = query.bvh;
        point = query.point;
        double most = query.limit > 0 ? query.limit : 0;
        distance_sq = most * most;
        reach = static_cast<float>(distance_sq) + kNear;
        count = 0;
        best = {};
        answer = &answers[number];
    }
    WC_INLINE float limit() const { return reach; }

    // The children of a node that are near enough. `at` becomes the squares of the distances to boxes, rounded down.
    // Each box has a triangle that is not farther than its farthest corner.
    WC_INLINE V8i find(const WideNode& node, V8& at) {
        V8 near = all(0.0f), far = all(0.0f);
        for (int k = 0; k < 3; ++k) {
            V8 below = load<V8>(node.lower[k]) - all(point[k]), above = all(point[k]) - load<V8>(node.upper[k]);
            V8 gap = most(all(0.0f), most(below, above)), depth = least(below, above);
            near = fma(gap, gap, near);
            far = fma(depth, depth, far);
        }
        at = near * all(kLess);
        if (count == 0) shrink(far * all(kMore));
        return at <= all(reach);
    }

    WC_INLINE void visit(const TriangleBlock& block) {
        Distances distances = bound(block, point);
        shrink(distances.most);
        unsigned found = bits(distances.least <= all(reach)) & bits(load<V8i>(block.face) >= V8i{});
        if (count + kWidth > kCandidates) settle();
        for (; found; found &= found - 1) {
            int i = __builtin_ctz(found);
            candidates[count++] = {&block, i, distances.least[i]};
        }
    }

    WC_INLINE void end() {
        settle();
        *answer = best;
    }

  private:
    // Lowers the reach to the least of some squared distances. Those that are not numbers do not count.
    WC_INLINE void shrink(V8 distances_sq) {
        V8 x = least(distances_sq + all(kNear), all(reach));
        x = least(x, __builtin_shuffle(x, V8i{4, 5, 6, 7, 0, 1, 2, 3}));
        x = least(x, __builtin_shuffle(x, V8i{2, 3, 0, 1, 6, 7, 4, 5}));
        reach = x[0] < x[1] ? x[0] : x[1];
    }

    // Judges the candidates that are still near enough in double precision, four at once, and forgets all.
    __attribute__((noinline)) void settle() {
        int left = 0;
        for (int i = 0; i < count; ++i)
            if (candidates[i].least <= reach) candidates[left++] = candidates[i];
        for (int i = 0; i < left; i += 4) judge(candidates + i, left - i < 4 ? left - i : 4);
        count = 0;
    }

    void judge(const Candidate* four, int used) {
        float corners[9][4];
        for (int i = 0; i < 4; ++i) {
            const Candidate& candidate = four[i < used ? i : 0];
            for (int k = 0; k < 9; ++k)
                corners[k][i] = candidate.block->corner[k / 3][k % 3][candidate.lane] - point[k % 3];
        }
        Vec3<D4> offsets[3];
        for (int k = 0; k < 3; ++k)
            offsets[k] = {widen(corners[3 * k]), widen(corners[3 * k + 1]), widen(corners[3 * k + 2])};
        Closest here = closest_of(offsets[0], offsets[1], offsets[2]);
        for (int i = 0; i < used; ++i) {
            int32_t face = four[i].block->face[four[i].lane];
            double d = here.distance_sq[i];
            if (!(d < distance_sq || (d == distance_sq && face < best.face))) continue;
            distance_sq = d;
            best = {face, static_cast<float>(here.u[i]), static_cast<float>(here.v[i])};
        }
        float limit = static_cast<float>(distance_sq) + kNear;
        reach = limit < reach ? limit : reach;
    }

    static D4 widen(const float* four) { return __builtin_convertvector(load<V4>(four), D4); }
};

void closest_points(const PointQuery* queries, ClosestPoint* found, int count) {
    answer_all<PointSearch>(queries, found, count);
}

}  // namespace
}  // namespace wc
