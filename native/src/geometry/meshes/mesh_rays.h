// The first triangle that a ray hits, as lib/geometry/mesh_rays.py defines it.
#pragma once
#include "geometry/meshes/mesh_walk.h"

namespace wc {
namespace {

constexpr double kRounding = 4.0e-16;  // of a volume, in units of the lengths that it is made of
constexpr float kSlack = 2.4e-7f;      // covers the rounding of some operations, in units of what they are made of
constexpr float kLesser = 0.999999f, kMuchMore = 1.000001f;
constexpr float kLargest = 3.4e38f;  // as in lib/geometry/bvh_nodes.py
constexpr float kHuge = 1.0e30f;
constexpr float kAcross = 1.0e-10f;    // a component so much below the largest may be one of rounding
constexpr float kSquarable = 1.0e18f;  // sums of some squares of smaller numbers are finite

// -- boxes -----------------------------------------------------------------------------------------------------------

// A ray meets the box of a triangle if it is inside of all its planes at once. `entry_of` in
// lib/geometry/bvh_nodes.py decides, by these operations in this order, and `at` becomes where it enters the box.
WC_INLINE bool meets_box(V4 lower, V4 upper, V4 start, V4 inverse, float& at) {
    V4 below = lower - start, above = upper - start, a = below * inverse, b = above * inverse;
    V4i across = inverse == V4{}, between = (below <= V4{}) & (above >= V4{});
    V4 enters = across ? (between ? all4(-kInfinite) : all4(kInfinite)) : least(a, b) * kLess;
    V4 leaves = across ? all4(kInfinite) : most(a, b) * kMore;
    float last = kLargest;
    at = 0;
    for (int k = 0; k < 3; ++k) {
        at = at > enters[k] ? at : enters[k];
        last = last < leaves[k] ? last : leaves[k];
    }
    return at <= last;
}

// The rays of a group of lanes, and what follows from each alone. Their numbers are computed for eight at once.
struct Rays {
    const RayQueries& given;

    // A ray meets the plane x of an axis at `slope * x + base`. The margins are wider than those of `meets_box`, so a
    // node is found if the box of a triangle below it is met.
    float near_slope[3][kMaxLanes], near_base[3][kMaxLanes], far_slope[3][kMaxLanes], far_base[3][kMaxLanes];
    int32_t near[3][kMaxLanes], far[3][kMaxLanes];  // where a node has the planes that a ray meets first and last
    float inverse[3][kMaxLanes];
    int32_t careful[kMaxLanes];  // not 0 where the lines are not precise enough

    // The last axis is that along which the direction is largest; `shear` is that of the other two along it.
    int32_t axis[3][kMaxLanes];
    float shear[2][kMaxLanes];

    explicit Rays(const RayQueries& queries) : given(queries) {
        for (int i = 0; i < queries.count; i += kWidth) {
            Vec3<V8> dir = {load<V8>(&queries.dir[0][i]), load<V8>(&queries.dir[1][i]), load<V8>(&queries.dir[2][i])};
            prepare_lines(i, dir);
            prepare_axes(i, dir);
        }
    }

  private:
    WC_INLINE void prepare_lines(int i, const Vec3<V8>& dir) {
        V8 across = most(all(kAcross) * largest(dir), all(kTiny));
        V8i precise = V8i{} - 1;
        for (int k = 0; k < 3; ++k) {
            V8 d = k == 0 ? dir.x : k == 1 ? dir.y : dir.z, size = magnitude(d);
            V8 start = load<V8>(&given.start[k][i]), along = size < all(kTiny) ? all(0.0f) : all(1.0f) / d;
            V8 base = start * along, slack = magnitude(base) * all(kSlack) + all(kTiny);
            store(&inverse[k][i], along);
            store(&near_slope[k][i], along * all(kLesser));
            store(&far_slope[k][i], along * all(kMuchMore));
            store(&near_base[k][i], -start * (along * all(kLesser)) - slack);
            store(&far_base[k][i], -start * (along * all(kMuchMore)) + slack);
            V8i lower = V8i{} + kWidth * k, upper = V8i{} + kWidth * (k + 3);
            store(&near[k][i], d < all(0.0f) ? upper : lower);
            store(&far[k][i], d < all(0.0f) ? lower : upper);
            precise &= (size >= across) & (size < all(1 / kTiny)) & (slack < all(kHuge));
        }
        store(&careful[i], ~precise);
    }

    WC_INLINE void prepare_axes(int i, const Vec3<V8>& dir) {
        V8 x = magnitude(dir.x), y = magnitude(dir.y), z = magnitude(dir.z);
        V8i is_x = (x > y) & (x > z), is_y = (x <= y) & (y > z);
        V8 last = is_x ? dir.x : is_y ? dir.y : dir.z;
        store(&shear[0][i], -(is_x ? dir.z : dir.x) / last);
        store(&shear[1][i], -(is_y ? dir.z : dir.y) / last);
        V8i first = V8i{}, second = first + 1, third = second + 1;
        store(&axis[0][i], is_x ? third : first);
        store(&axis[1][i], is_y ? third : second);
        store(&axis[2][i], is_x ? first : is_y ? second : third);
    }
};

// One of them.
struct Ray {
    const Rays* rays;
    int number;

    WC_INLINE float start(int k) const { return rays->given.start[k][number]; }
    WC_INLINE float inverse(int k) const { return rays->inverse[k][number]; }
    WC_INLINE V4 start() const { return V4{start(0), start(1), start(2), 0}; }
    WC_INLINE V4 inverse() const { return V4{inverse(0), inverse(1), inverse(2), 0}; }
    WC_INLINE Vec3<double> dir() const {
        const auto& dir = rays->given.dir;
        return {dir[0][number], dir[1][number], dir[2][number]};
    }

    // The children of a node that the ray meets by `limit`. `at` becomes where it enters their boxes, rounded down.
    WC_INLINE V8i find(const WideNode& node, float limit, V8& at) const {
        const Rays& r = *rays;
        const int i = number;
        if (__builtin_expect(r.careful[i], 0)) return find_carefully(node, limit, at);
        const float* planes = node.lower[0];
        V8 enters = all(0.0f), leaves = all(limit);
        for (int k = 0; k < 3; ++k) {
            enters =
                most(enters, fma(load<V8>(planes + r.near[k][i]), all(r.near_slope[k][i]), all(r.near_base[k][i])));
            leaves = least(leaves, fma(load<V8>(planes + r.far[k][i]), all(r.far_slope[k][i]), all(r.far_base[k][i])));
        }
        at = enters;
        return enters <= leaves;
    }

  private:
    __attribute__((noinline)) V8i find_carefully(const WideNode& node, float limit, V8& at) const {
        V8 enters = all(0.0f), leaves = all(kInfinite);
        for (int k = 0; k < 3; ++k) {
            if (inverse(k) == 0)
                slab_across(node, k, enters);
            else
                slab(node, k, enters, leaves);
        }
        at = enters * all(kLesser);
        return (at <= least(leaves * all(kMuchMore), all(limit))) & there(node);
    }

    // Where the ray enters and leaves the planes of an axis, before rounding is allowed for.
    WC_INLINE void slab(const WideNode& node, int k, V8& enters, V8& leaves) const {
        const float* planes = node.lower[0];
        enters = most(enters, (load<V8>(planes + rays->near[k][number]) - all(start(k))) * all(inverse(k)));
        leaves = least(leaves, (load<V8>(planes + rays->far[k][number]) - all(start(k))) * all(inverse(k)));
    }

    // An axis at right angles to the ray: it is between the planes everywhere or nowhere.
    WC_INLINE void slab_across(const WideNode& node, int k, V8& enters) const {
        V8i between = (load<V8>(node.lower[k]) <= all(start(k))) & (load<V8>(node.upper[k]) >= all(start(k)));
        enters = between ? enters : all(kInfinite);
    }
};

// -- triangles -------------------------------------------------------------------------------------------------------

// A corner of eight triangles as seen along a ray: the ray goes through the origin of x and y.
struct Seen {
    V8 x, y, depth;

    Seen(const TriangleBlock& block, int corner, const Ray& ray) {
        const Rays& r = *ray.rays;
        const int i = ray.number;
        V8 offset[3];
        for (int k = 0; k < 3; ++k)
            offset[k] = load<V8>(block.corner[corner][r.axis[k][i]]) - all(ray.start(r.axis[k][i]));
        x = fma(all(r.shear[0][i]), offset[2], offset[0]);
        y = fma(all(r.shear[1][i]), offset[2], offset[1]);
        depth = offset[2];
    }
    V8 extent() const { return most(magnitude(x), magnitude(y)); }
};

WC_INLINE V8 area(const Seen& a, const Seen& b) { return fma(a.x, b.y, -(a.y * b.x)); }

// The triangles of a block that a ray may hit: as far as single precision can tell, its areas with their edges have one
// sign. Where something is not a number, or too large to multiply, the ray may hit.
WC_INLINE unsigned may_be_hit(const TriangleBlock& block, const Ray& ray) {
    Seen a(block, 0, ray), b(block, 1, ray), c(block, 2, ray);
    V8 x = area(b, c), y = area(c, a), z = area(a, b);
    V8 size = most(most(a.extent(), b.extent()), c.extent());
    V8 depth = most(most(magnitude(a.depth), magnitude(b.depth)), magnitude(c.depth));
    V8 error = all(kSlack) * (size + depth);  // of x and y of a corner
    V8 margin = fma(error, all(6.0f) * size + all(4.0f) * error, all(kTiny));
    V8i missed = (least(least(x, y), z) < -margin) & (most(most(x, y), z) > margin) & (size < all(kSquarable));
    return ~bits(missed) & bits(load<V8i>(block.face) >= V8i{});
}

WC_INLINE Vec3<double> corner_of(const TriangleBlock& block, int corner, int lane) {
    return {block.corner[corner][0][lane], block.corner[corner][1][lane], block.corner[corner][2][lane]};
}

// Where a ray meets the plane of a triangle.
WC_INLINE float meets_plane(const TriangleBlock& block, int lane, const Ray& ray) {
    Vec3<double> a = corner_of(block, 0, lane);
    Vec3<double> normal = cross(corner_of(block, 1, lane) - a, corner_of(block, 2, lane) - a);
    Vec3<double> start = {ray.start(0), ray.start(1), ray.start(2)};
    return static_cast<float>(dot(normal, a - start) / dot(normal, ray.dir()));
}

WC_INLINE bool meets_box_of(const TriangleBlock& block, int lane, const Ray& ray, float& at) {
    V4 corners[3];
    for (int i = 0; i < 3; ++i)
        corners[i] = V4{block.corner[i][0][lane], block.corner[i][1][lane], block.corner[i][2][lane], 0};
    V4 lower = least(least(corners[0], corners[1]), corners[2]), upper = most(most(corners[0], corners[1]), corners[2]);
    return meets_box(lower, upper, ray.start(), ray.inverse(), at);
}

// A corner of four triangles of a block, seen from a point. The difference is rounded in single precision.
WC_INLINE Vec3<D4> offset(const TriangleBlock& block, int corner, int half, const Ray& ray) {
    D4 parts[3];
    for (int k = 0; k < 3; ++k)
        parts[k] = __builtin_convertvector(load<V4>(&block.corner[corner][k][4 * half]) - all4(ray.start(k)), D4);
    return {parts[0], parts[1], parts[2]};
}

struct RayHit {
    int32_t face;
    float t, u, v, sign;
};

// A triangle that a ray hits: its lane, and where the ray hits it.
struct Hit {
    int lane;
    float t;
    double u, v;
    bool back;
};

// Calls `take` for each of four triangles of a block that a ray hits by `limit`, which may become less.
template <class Take>
WC_INLINE void hit_triangles(const TriangleBlock& block, int half, const Ray& ray, const float& limit, Take&& take) {
    Vec3<D4> a = offset(block, 0, half, ray), b = offset(block, 1, half, ray), c = offset(block, 2, half, ray);
    Vec3<double> along = ray.dir();
    Vec3<D4> dir = {all(along.x), all(along.y), all(along.z)};
    D4 x = dot(dir, cross(b, c)), y = dot(dir, cross(c, a)), z = dot(dir, cross(a, b));
    D4 slack = all(kRounding * __builtin_sqrt(dot(along, along))) * ((dot(a, a) + dot(b, b)) + dot(c, c));
    D4 volume = (x + y) + z;
    D4i back = volume > all(0.0);
    x = select(back, x, -x);
    y = select(back, y, -y);
    z = select(back, z, -z);
    volume = select(back, volume, -volume);
    D4i hit = (x >= -slack) & (y >= -slack) & (z >= -slack) & (volume > all(13.0) * slack);
    for (unsigned found = bits(hit); found; found &= found - 1) {
        int i = __builtin_ctz(found), lane = 4 * half + i;
        float entry, t = meets_plane(block, lane, ray);
        if (t >= 0 && t <= limit && meets_box_of(block, lane, ray, entry))
            take(Hit{lane, t > entry ? t : entry, x[i] / volume[i], y[i] / volume[i], back[i] != 0});
    }
}

// -- the search ------------------------------------------------------------------------------------------------------

struct RaySearch {
    Ray ray;
    WideBvh bvh;
    RayHit best;
    RayHits* hits;
    Walk walk;

    WC_INLINE void begin(const Rays& rays, RayHits* to, int number) {
        ray = {&rays, number};
        bvh = rays.given.bvh[number];
        best = {-1, rays.given.max_t[number], 0, 0, 0};
        hits = to;
    }
    WC_INLINE float limit() const { return best.t; }
    WC_INLINE V8i find(const WideNode& node, V8& at) const { return ray.find(node, best.t, at); }
    WC_INLINE void visit(const TriangleBlock& block) {
        unsigned near = may_be_hit(block, ray);
        auto take = [&](const Hit& hit) {
            int32_t face = block.face[hit.lane];
            if (!(hit.t < best.t || (hit.t == best.t && face < best.face))) return;
            best = {face, hit.t, static_cast<float>(hit.u), static_cast<float>(hit.v), hit.back ? -1.0f : 1.0f};
        };
        if (near & 0x0f) hit_triangles(block, 0, ray, best.t, take);
        if (near & 0xf0) hit_triangles(block, 1, ray, best.t, take);
    }
    WC_INLINE void end() const {
        const int i = ray.number;
        hits->face[i] = best.face;
        hits->t[i] = best.t;
        hits->u[i] = best.u;
        hits->v[i] = best.v;
        hits->sign[i] = best.sign;
    }
};

// The number of triangles that a ray hits. The order of the search does not matter.
struct CrossingSearch {
    Ray ray;
    WideBvh bvh;
    int32_t count, *counts;
    Walk walk;

    WC_INLINE void begin(const Rays& rays, int32_t* to, int number) {
        ray = {&rays, number};
        bvh = rays.given.bvh[number];
        count = 0;
        counts = to;
    }
    WC_INLINE float limit() const { return kLargest; }
    WC_INLINE V8i find(const WideNode& node, V8& at) const { return ray.find(node, kLargest, at); }
    WC_INLINE void visit(const TriangleBlock& block) {
        unsigned near = may_be_hit(block, ray);
        auto take = [&](const Hit&) { ++count; };
        if (near & 0x0f) hit_triangles(block, 0, ray, kInfinite, take);
        if (near & 0xf0) hit_triangles(block, 1, ray, kInfinite, take);
    }
    WC_INLINE void end() const { counts[ray.number] = count; }
};

void first_hits(const RayQueries& queries, RayHits& hits) {
    answer_all<RaySearch>(Rays(queries), &hits, queries.count);
}

void count_hits(const RayQueries& queries, int32_t* found) {
    answer_all<CrossingSearch>(Rays(queries), found, queries.count);
}

}  // namespace
}  // namespace wc
