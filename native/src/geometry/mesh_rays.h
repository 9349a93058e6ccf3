// The first triangle that a ray hits, as lib/geometry/mesh_rays.py defines it.
#pragma once
#include "geometry/mesh_walk.h"

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

// Where a ray meets planes. It meets the plane x of an axis at `slope * x + base`. Its margins are wider than those of
// `meets_box`, so a node is found if the box of a triangle below it is met.
struct RayBoxes {
    V4 near_slope, near_base, far_slope, far_base;
    size_t near[3], far[3];  // where a node has the planes that the ray meets first and last
    V4 start, inverse;
    bool careful;  // the lines above are not precise enough

    WC_INLINE void prepare(const float* from, const float* dir) {
        V4 d = {dir[0], dir[1], dir[2], 1}, size = most(d, -d);
        start = V4{from[0], from[1], from[2], 0};
        inverse = size < all4(kTiny) ? V4{} : all4(1) / d;
        near_slope = inverse * kLesser;
        far_slope = inverse * kMuchMore;
        V4 base = start * inverse, slack = most(base, -base) * kSlack + kTiny;
        near_base = -start * near_slope - slack;
        far_base = -start * far_slope + slack;
        float along = size[0] > size[1] ? size[0] : size[1];
        V4 across = all4(kAcross * (along > size[2] ? along : size[2])), least = most(across, all4(kTiny));
        careful = (bits((size >= least) & (size < all4(1 / kTiny)) & (slack < all4(kHuge))) & 7) != 7;
        for (int k = 0; k < 3; ++k) {
            bool back = dir[k] < 0;
            near[k] = static_cast<size_t>(back ? kWidth * (k + 3) : kWidth * k);
            far[k] = static_cast<size_t>(back ? kWidth * k : kWidth * (k + 3));
        }
    }

    // The children of a node that the ray meets by `limit`. `at` becomes where it enters their boxes, rounded down.
    WC_INLINE V8i find(const WideNode& node, float limit, V8& at) const {
        if (__builtin_expect(careful, 0)) return find_carefully(node, limit, at);
        const float* planes = node.lower[0];
        V8 enters = all(0.0f), leaves = all(limit);
        for (int k = 0; k < 3; ++k) {
            enters = most(enters, fma(load<V8>(planes + near[k]), all(near_slope[k]), all(near_base[k])));
            leaves = least(leaves, fma(load<V8>(planes + far[k]), all(far_slope[k]), all(far_base[k])));
        }
        at = enters;
        return enters <= leaves;
    }

  private:
    __attribute__((noinline)) V8i find_carefully(const WideNode& node, float limit, V8& at) const {
        V8 enters = all(0.0f), leaves = all(kInfinite);
        for (int k = 0; k < 3; ++k) {
            if (inverse[k] == 0)
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
        enters = most(enters, (load<V8>(planes + near[k]) - all(start[k])) * all(inverse[k]));
        leaves = least(leaves, (load<V8>(planes + far[k]) - all(start[k])) * all(inverse[k]));
    }

    // An axis at right angles to the ray: it is between the planes everywhere or nowhere.
    WC_INLINE void slab_across(const WideNode& node, int k, V8& enters) const {
        V8i between = (load<V8>(node.lower[k]) <= all(start[k])) & (load<V8>(node.upper[k]) >= all(start[k]));
        enters = between ? enters : all(kInfinite);
    }
};

// -- triangles -------------------------------------------------------------------------------------------------------

struct Ray {
    const float *start, *dir;
    size_t axis[3];  // the last is that along which the direction is largest
    float shear[2];  // of the other two along it

    WC_INLINE void prepare(const RayQuery& query) {
        start = query.start;
        dir = query.dir;
        float x = __builtin_fabsf(dir[0]), y = __builtin_fabsf(dir[1]), z = __builtin_fabsf(dir[2]);
        size_t last = x > y ? (x > z ? 0 : 2) : (y > z ? 1 : 2);
        axis[0] = last == 0 ? 2 : 0;
        axis[1] = last == 1 ? 2 : 1;
        axis[2] = last;
        for (int k = 0; k < 2; ++k) shear[k] = -dir[axis[k]] / dir[last];
    }
};

// A corner of eight triangles as seen along a ray: the ray goes through the origin of x and y.
struct Seen {
    V8 x, y, depth;

    Seen(const TriangleBlock& block, int corner, const Ray& ray) {
        V8 offset[3];
        for (int k = 0; k < 3; ++k)
            offset[k] = load<V8>(block.corner[corner][ray.axis[k]]) - all(ray.start[ray.axis[k]]);
        x = fma(all(ray.shear[0]), offset[2], offset[0]);
        y = fma(all(ray.shear[1]), offset[2], offset[1]);
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
    return static_cast<float>(dot(normal, a - widen(ray.start)) / dot(normal, widen(ray.dir)));
}

WC_INLINE bool meets_box_of(const TriangleBlock& block, int lane, const Ray& ray, V4 inverse, float& at) {
    V4 corners[3];
    for (int i = 0; i < 3; ++i)
        corners[i] = V4{block.corner[i][0][lane], block.corner[i][1][lane], block.corner[i][2][lane], 0};
    V4 lower = least(least(corners[0], corners[1]), corners[2]), upper = most(most(corners[0], corners[1]), corners[2]);
    return meets_box(lower, upper, V4{ray.start[0], ray.start[1], ray.start[2], 0}, inverse, at);
}

// A corner of four triangles of a block, seen from a point. The difference is rounded in single precision.
WC_INLINE Vec3<D4> offset(const TriangleBlock& block, int corner, int half, const float* origin) {
    D4 parts[3];
    for (int k = 0; k < 3; ++k)
        parts[k] = __builtin_convertvector(load<V4>(&block.corner[corner][k][4 * half]) - all4(origin[k]), D4);
    return {parts[0], parts[1], parts[2]};
}

// A triangle that a ray hits: its lane, and where the ray hits it.
struct Hit {
    int lane;
    float t;
    double u, v;
    bool back;
};

// Calls `take` for each of four triangles of a block that a ray hits by `limit`, which may become less.
template <class Take>
WC_INLINE void hit_triangles(const TriangleBlock& block, int half, const Ray& ray, V4 inverse, const float& limit,
                             Take&& take) {
    Vec3<D4> a = offset(block, 0, half, ray.start), b = offset(block, 1, half, ray.start),
             c = offset(block, 2, half, ray.start);
    Vec3<double> along = widen(ray.dir);
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
        if (t >= 0 && t <= limit && meets_box_of(block, lane, ray, inverse, entry))
            take(Hit{lane, t > entry ? t : entry, x[i] / volume[i], y[i] / volume[i], back[i] != 0});
    }
}

// -- the search ------------------------------------------------------------------------------------------------------

struct RaySearch {
    WideBvh bvh;
    RayBoxes boxes;
    Ray ray;
    RayHit best, *answer;
    Walk walk;

    WC_INLINE void begin(const RayQuery& query, RayHit* to) {
        bvh = query.bvh;
        boxes.prepare(query.start, query.dir);
        ray.prepare(query);
        best.face = -1;
        best.t = query.max_t;
        best.u = best.v = best.sign = 0;
        answer = to;
    }
    WC_INLINE float limit() const { return best.t; }
    WC_INLINE V8i find(const WideNode& node, V8& at) const { return boxes.find(node, best.t, at); }
    WC_INLINE void visit(const TriangleBlock& block) {
        unsigned near = may_be_hit(block, ray);
        auto take = [&](const Hit& hit) {
            int32_t face = block.face[hit.lane];
            if (!(hit.t < best.t || (hit.t == best.t && face < best.face))) return;
            best = {face, hit.t, static_cast<float>(hit.u), static_cast<float>(hit.v), hit.back ? -1.0f : 1.0f};
        };
        if (near & 0x0f) hit_triangles(block, 0, ray, boxes.inverse, best.t, take);
        if (near & 0xf0) hit_triangles(block, 1, ray, boxes.inverse, best.t, take);
    }
    WC_INLINE void end() const { *answer = best; }
};

// The number of triangles that a ray hits. The order of the search does not matter.
struct CrossingSearch {
    WideBvh bvh;
    RayBoxes boxes;
    Ray ray;
    int32_t count, *answer;
    Walk walk;

    WC_INLINE void begin(const RayQuery& query, int32_t* to) {
        bvh = query.bvh;
        boxes.prepare(query.start, query.dir);
        ray.prepare(query);
        count = 0;
        answer = to;
    }
    WC_INLINE float limit() const { return kLargest; }
    WC_INLINE V8i find(const WideNode& node, V8& at) const { return boxes.find(node, kLargest, at); }
    WC_INLINE void visit(const TriangleBlock& block) {
        unsigned near = may_be_hit(block, ray);
        auto take = [&](const Hit&) { ++count; };
        if (near & 0x0f) hit_triangles(block, 0, ray, boxes.inverse, kInfinite, take);
        if (near & 0xf0) hit_triangles(block, 1, ray, boxes.inverse, kInfinite, take);
    }
    WC_INLINE void end() const { *answer = count; }
};

void first_hits(const RayQuery* queries, RayHit* hits, int count) { answer_all<RaySearch>(queries, hits, count); }

void count_hits(const RayQuery* queries, int32_t* found, int count) {
    answer_all<CrossingSearch>(queries, found, count);
}

}  // namespace
}  // namespace wc
