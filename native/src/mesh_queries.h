// Queries of meshes over eight-wide nodes. Each file that includes this compiles them for one instruction set, so all
// is in an unnamed namespace, and nothing of the standard library is instantiated here.
//
// lib/geometry/mesh_rays.py and lib/geometry/mesh_points.py have the same in the kernel language. Triangles are judged
// by the same operations in double precision, in the same order, so that both find the same. Boxes only have to hold
// what is in them.
#include "warp_core/wide_bvh.h"

// Functions that take vectors are all inlined: no calling convention matters.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace wc {
namespace {

using V8 = float __attribute__((vector_size(32)));
using V8i = int32_t __attribute__((vector_size(32)));
using V4 = float __attribute__((vector_size(16)));
using D4 = double __attribute__((vector_size(32)));
using D4i = int64_t __attribute__((vector_size(32)));

#define WC_INLINE static inline __attribute__((always_inline))

constexpr float kInfinite = __builtin_inff();
constexpr float kTiny = 1.0e-37f;
constexpr double kRounding = 4.0e-16;                    // of a volume, in units of the lengths that it is made of
constexpr float kMore = 1.0000005f, kLess = 0.9999995f;  // cover the rounding of some operations
constexpr int kStack = kBvhDepth * kWidth;

// -- vectors ---------------------------------------------------------------------------------------------------------

template <class V, class T>
WC_INLINE V load(const T* p) {
    V v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

WC_INLINE V8 all(float x) { return V8{x, x, x, x, x, x, x, x}; }
WC_INLINE D4 all(double x) { return D4{x, x, x, x}; }
template <class V>
WC_INLINE V least(V a, V b) {
    return a < b ? a : b;
}
template <class V>
WC_INLINE V most(V a, V b) {
    return a > b ? a : b;
}

WC_INLINE unsigned bits(V8i mask) {
#ifdef WC_AVX2
    return static_cast<unsigned>(__builtin_ia32_movmskps256(reinterpret_cast<V8>(mask)));
#else
    unsigned found = 0;
    for (int i = 0; i < 8; ++i) found |= (mask[i] & 1u) << i;
    return found;
#endif
}

WC_INLINE unsigned bits(D4i mask) {
#ifdef WC_AVX2
    return static_cast<unsigned>(__builtin_ia32_movmskpd256(reinterpret_cast<D4>(mask)));
#else
    unsigned found = 0;
    for (int i = 0; i < 4; ++i) found |= (mask[i] & 1u) << i;
    return found;
#endif
}

WC_INLINE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
WC_INLINE D4 fma(D4 a, D4 b, D4 c) {
#ifdef WC_AVX2
    return __builtin_ia32_vfmaddpd256(a, b, c);
#else
    return D4{fma(a[0], b[0], c[0]), fma(a[1], b[1], c[1]), fma(a[2], b[2], c[2]), fma(a[3], b[3], c[3])};
#endif
}
WC_INLINE V8 fma(V8 a, V8 b, V8 c) {
#ifdef WC_AVX2
    return __builtin_ia32_vfmaddps256(a, b, c);
#else
    return a * b + c;
#endif
}
WC_INLINE D4 select(D4i c, D4 a, D4 b) { return c ? a : b; }

// Three components, each a number or a vector of numbers.
template <class T>
struct Vec3 {
    T x, y, z;
};
template <class T>
WC_INLINE Vec3<T> operator-(Vec3<T> a, Vec3<T> b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}
template <class T>
WC_INLINE T dot(Vec3<T> a, Vec3<T> b) {
    return fma(a.z, b.z, fma(a.y, b.y, a.x * b.x));
}
template <class T>
WC_INLINE Vec3<T> cross(Vec3<T> a, Vec3<T> b) {
    return {fma(a.y, b.z, -(a.z * b.y)), fma(a.z, b.x, -(a.x * b.z)), fma(a.x, b.y, -(a.y * b.x))};
}

WC_INLINE Vec3<double> widen(const float* p) { return {p[0], p[1], p[2]}; }

// A corner of four triangles of a block, seen from a point. The difference is rounded in single precision.
WC_INLINE Vec3<D4> offset(const TriangleBlock& block, int corner, int half, const float* origin) {
    D4 parts[3];
    for (int k = 0; k < 3; ++k) {
        V4 o = {origin[k], origin[k], origin[k], origin[k]};
        parts[k] = __builtin_convertvector(load<V4>(&block.corner[corner][k][4 * half]) - o, D4);
    }
    return {parts[0], parts[1], parts[2]};
}

WC_INLINE Vec3<double> corner_of(const TriangleBlock& block, int corner, int lane) {
    return {block.corner[corner][0][lane], block.corner[corner][1][lane], block.corner[corner][2][lane]};
}

// -- the walk --------------------------------------------------------------------------------------------------------

struct Entry {
    int32_t child;
    float at;  // how far along the ray, or away from the point, its box begins
};

// Finds the nearest of the children whose bits are set, at least one, and pushes the others, the nearest of them last.
WC_INLINE Entry nearest(Entry* stack, int& depth, const WideNode& node, unsigned found, V8 at) {
    float entries[kWidth];
    __builtin_memcpy(entries, &at, sizeof entries);
    auto take = [&] {
        int i = __builtin_ctz(found);
        found &= found - 1;
        return Entry{node.child[i], entries[i]};
    };
    Entry first = take();
    if (!found) return first;
    Entry second = take();
    bool swap = second.at < first.at;
    stack[depth] = swap ? first : second;
    first = swap ? second : first;
    int bottom = depth++;
    while (found) {
        Entry next = take();
        if (next.at < first.at) {
            Entry nearer = next;
            next = first;
            first = nearer;
        }
        int place = depth++;
        for (; place > bottom && stack[place - 1].at < next.at; --place) stack[place] = stack[place - 1];
        stack[place] = next;
    }
    return first;
}

// Visits the children of all nodes, those nearest first, that `boxes` finds, and the blocks below them. `limit` says
// how far is too far; it may shrink meanwhile.
template <class Boxes, class Block>
WC_INLINE void walk(WideBvh bvh, const float& limit, Boxes&& boxes, Block&& visit) {
    Entry stack[kStack];
    int depth = 0;
    for (Entry next{0, 0.0f};;) {
        unsigned found = 1;
        while (next.child >= 0) {
            const WideNode& node = bvh.nodes[next.child];
            V8 at;
            found = boxes(node, at) & ((1u << node.count) - 1);
            if (!found) break;
            next = nearest(stack, depth, node, found, at);
        }
        if (found) visit(bvh.blocks[-1 - next.child]);
        do {
            if (depth == 0) return;
            next = stack[--depth];
        } while (next.at > limit);
    }
}

// -- rays ------------------------------------------------------------------------------------------------------------

struct RayBoxes {
    V8 start[3], inverse[3];
    bool backwards[3], across[3], any_across;

    RayBoxes(const float* from, const float* dir) : any_across(false) {
        for (int k = 0; k < 3; ++k) {
            across[k] = __builtin_fabsf(dir[k]) < kTiny;
            any_across |= across[k];
            backwards[k] = dir[k] < 0;
            start[k] = all(from[k]);
            inverse[k] = all(across[k] ? 0.0f : 1.0f / dir[k]);
        }
    }

    // Where the ray enters and leaves the planes of an axis, before rounding is allowed for.
    WC_INLINE void slab(const RayBoxes& r, const WideNode& node, int k, V8& enters, V8& leaves) {
        V8 low = load<V8>(node.lower[k]), high = load<V8>(node.upper[k]);
        V8 near = r.backwards[k] ? high : low, far = r.backwards[k] ? low : high;
        enters = most(enters, (near - r.start[k]) * r.inverse[k]);
        leaves = least(leaves, (far - r.start[k]) * r.inverse[k]);
    }

    // An axis at right angles to the ray: it is between the planes everywhere or nowhere.
    WC_INLINE void slab_across(const RayBoxes& r, const WideNode& node, int k, V8& enters) {
        V8i between = (load<V8>(node.lower[k]) <= r.start[k]) & (load<V8>(node.upper[k]) >= r.start[k]);
        enters = between ? enters : all(kInfinite);
    }

    WC_INLINE unsigned find(const RayBoxes& r, const WideNode& node, float limit, V8& at) {
        V8 enters = all(0.0f), leaves = all(kInfinite);
        for (int k = 0; k < 3; ++k) {
            if (__builtin_expect(r.any_across, 0) && r.across[k])
                slab_across(r, node, k, enters);
            else
                slab(r, node, k, enters, leaves);
        }
        at = enters * all(kLess);
        return bits(at <= least(leaves * all(kMore), all(limit)));
    }
};

struct Ray {
    const float* start;
    Vec3<double> from, dir;
    double rounding;
};

// Where a ray meets the plane of a triangle.
WC_INLINE float meets_plane(const TriangleBlock& block, int lane, const Ray& ray) {
    Vec3<double> a = corner_of(block, 0, lane);
    Vec3<double> normal = cross(corner_of(block, 1, lane) - a, corner_of(block, 2, lane) - a);
    return static_cast<float>(dot(normal, a - ray.from) / dot(normal, ray.dir));
}

WC_INLINE void hit_triangles(const TriangleBlock& block, int half, const Ray& ray, RayHit& best) {
    Vec3<D4> a = offset(block, 0, half, ray.start), b = offset(block, 1, half, ray.start),
             c = offset(block, 2, half, ray.start);
    Vec3<D4> dir = {all(ray.dir.x), all(ray.dir.y), all(ray.dir.z)};
    D4 x = dot(dir, cross(b, c)), y = dot(dir, cross(c, a)), z = dot(dir, cross(a, b));
    D4 limit = all(ray.rounding) * ((dot(a, a) + dot(b, b)) + dot(c, c));
    D4 volume = (x + y) + z;
    D4i back = volume > all(0.0);
    x = select(back, x, -x);
    y = select(back, y, -y);
    z = select(back, z, -z);
    volume = select(back, volume, -volume);
    D4i hit = (x >= -limit) & (y >= -limit) & (z >= -limit) & (volume > all(13.0) * limit);
    for (unsigned found = bits(hit); found; found &= found - 1) {
        int i = __builtin_ctz(found);
        float t = meets_plane(block, 4 * half + i, ray);
        int32_t face = block.face[4 * half + i];
        if (!(t >= 0 && (t < best.t || (t == best.t && face < best.face)))) continue;
        best = {face, t, static_cast<float>(x[i] / volume[i]), static_cast<float>(y[i] / volume[i]),
                back[i] ? -1.0f : 1.0f};
    }
}

RayHit first_hit(WideBvh bvh, const float* start, const float* dir, float max_t) {
    RayBoxes boxes(start, dir);
    Ray ray{start, widen(start), widen(dir), 0};
    ray.rounding = kRounding * __builtin_sqrt(dot(ray.dir, ray.dir));
    RayHit best;
    best.t = max_t;
    walk(
        bvh, best.t, [&](const WideNode& node, V8& at) { return RayBoxes::find(boxes, node, best.t, at); },
        [&](const TriangleBlock& block) {
            hit_triangles(block, 0, ray, best);
            if (block.face[4] >= 0) hit_triangles(block, 1, ray, best);
        });
    return best;
}

// -- closest points --------------------------------------------------------------------------------------------------

// The squares of the distances to boxes, rounded down.
WC_INLINE V8 distance_sq(const WideNode& node, const V8* point) {
    V8 total = all(0.0f);
    for (int k = 0; k < 3; ++k) {
        V8 gap = most(most(load<V8>(node.lower[k]) - point[k], point[k] - load<V8>(node.upper[k])), all(0.0f));
        total = total + gap * gap;
    }
    return total * all(kLess);
}

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

    WC_INLINE void take(Closest& best, D4i better, D4 u, D4 v, D4 distance_sq) {
        best.u = select(better, u, best.u);
        best.v = select(better, v, best.v);
        best.distance_sq = select(better, distance_sq, best.distance_sq);
    }
};

// The points of four triangles that are closest to the origin.
WC_INLINE Closest closest_of(const Vec3<D4>& a, const Vec3<D4>& b, const Vec3<D4>& c) {
    D4 s = on_edge(a, b), t = on_edge(b, c), r = on_edge(c, a);
    Vec3<D4> p = mix(a, b, s), q = mix(b, c, t), w = mix(c, a, r);
    Closest best{all(1.0) - s, s, dot(p, p)};
    D4 qq = dot(q, q), ww = dot(w, w);
    Closest::take(best, qq < best.distance_sq, all(0.0), all(1.0) - t, qq);
    Closest::take(best, ww < best.distance_sq, r, all(0.0), ww);
    Vec3<D4> normal = cross(b - a, c - a);
    D4 x = dot(normal, cross(b, c)), y = dot(normal, cross(c, a)), z = dot(normal, cross(a, b));
    D4 total = (x + y) + z, u = x / total, v = y / total, rest = (all(1.0) - u) - v;
    Vec3<D4> inner = {fma(c.x, rest, fma(b.x, v, a.x * u)), fma(c.y, rest, fma(b.y, v, a.y * u)),
                      fma(c.z, rest, fma(b.z, v, a.z * u))};
    D4 ii = dot(inner, inner);
    D4i above = (x > all(0.0)) & (y > all(0.0)) & (z > all(0.0));
    Closest::take(best, above & (ii < best.distance_sq), u, v, ii);
    return best;
}

// -- a bound in single precision, for eight triangles at once ---------------------------------------------------------

WC_INLINE V8 root(V8 x) {
#ifdef WC_AVX2
    return __builtin_ia32_sqrtps256(x);
#else
    for (int i = 0; i < kWidth; ++i) x[i] = __builtin_sqrtf(x[i]);
    return x;
#endif
}
WC_INLINE V8 magnitude(V8 x) { return most(x, -x); }
WC_INLINE V8 largest(Vec3<V8> a) { return most(most(magnitude(a.x), magnitude(a.y)), magnitude(a.z)); }

WC_INLINE Vec3<V8> offset(const TriangleBlock& block, int corner, const V8* origin) {
    return {load<V8>(block.corner[corner][0]) - origin[0], load<V8>(block.corner[corner][1]) - origin[1],
            load<V8>(block.corner[corner][2]) - origin[2]};
}

// The square of the distance to an edge that starts at `a`.
WC_INLINE V8 edge_distance_sq(Vec3<V8> a, Vec3<V8> edge) {
    V8 share = least(most(-dot(a, edge) / dot(edge, edge), all(0.0f)), all(1.0f));
    Vec3<V8> p = {fma(edge.x, share, a.x), fma(edge.y, share, a.y), fma(edge.z, share, a.z)};
    return dot(p, p);
}

// The triangles of a block that may be as near as `limit`, a squared distance, and as the others of the block. Errors
// of single precision are below the margins here, which are multiples of 2^-24 times the lengths that are computed
// with. Those of the normal count most: of a narrow triangle it has few right digits. Where something is not a number,
// the triangle may be near.
WC_INLINE unsigned may_be_near(const TriangleBlock& block, const V8* point, float limit) {
    Vec3<V8> a = offset(block, 0, point), b = offset(block, 1, point), c = offset(block, 2, point);
    Vec3<V8> ab = b - a, bc = c - b, ca = a - c, normal = cross(ca, ab);
    V8 size = most(most(largest(ab), largest(bc)), largest(ca)), far = most(most(largest(a), largest(b)), largest(c));
    V8 edges = least(least(edge_distance_sq(a, ab), edge_distance_sq(b, bc)), edge_distance_sq(c, ca));
    V8 margin = all(3e-6f) * (far + size), to_edges = root(edges) - margin;
    V8 outside = all(-4e-5f) * (size * size * size) * far;
    V8i above = (dot(normal, cross(b, bc)) >= outside) & (dot(normal, cross(c, ca)) >= outside) &
                (dot(normal, cross(a, ab)) >= outside);
    V8 length = root(dot(normal, normal));
    V8 to_plane = (magnitude(dot(normal, a)) - far * (all(8e-6f) * size * size + all(4e-6f) * length)) / length;
    V8 distance = most(above ? least(to_plane, to_edges) : to_edges, all(0.0f));
    unsigned is_number = bits((distance == distance) & (length > all(0.0f)));
    V8 farthest = (to_edges + margin + margin) * (to_edges + margin + margin) * all(kMore);
    for (int i = 0; i < kWidth; ++i) limit = farthest[i] < limit ? farthest[i] : limit;
    unsigned found = bits(distance * distance * all(kLess) <= all(limit)) | ~is_number;
    return found & bits(load<V8i>(block.face) >= V8i{});
}

WC_INLINE void approach(const TriangleBlock& block, int half, const float* point, double& distance_sq, float& limit,
                        ClosestPoint& best) {
    Closest here =
        closest_of(offset(block, 0, half, point), offset(block, 1, half, point), offset(block, 2, half, point));
    for (unsigned found = bits(here.distance_sq <= all(distance_sq)); found; found &= found - 1) {
        int i = __builtin_ctz(found);
        int32_t face = block.face[4 * half + i];
        double d = here.distance_sq[i];
        if (!(d < distance_sq || (d == distance_sq && face < best.face))) continue;
        distance_sq = d;
        limit = static_cast<float>(d);
        best = {face, static_cast<float>(here.u[i]), static_cast<float>(here.v[i])};
    }
}

ClosestPoint closest(WideBvh bvh, const float* point, float max_dist) {
    V8 centre[3] = {all(point[0]), all(point[1]), all(point[2])};
    double reach = max_dist > 0 ? max_dist : 0, distance_sq_found = reach * reach;
    auto limit = static_cast<float>(distance_sq_found);
    ClosestPoint best;
    walk(
        bvh, limit,
        [&](const WideNode& node, V8& at) {
            at = distance_sq(node, centre);
            return bits(at <= all(limit));
        },
        [&](const TriangleBlock& block) {
            unsigned near = may_be_near(block, centre, limit);
            if (near & 0x0f) approach(block, 0, point, distance_sq_found, limit, best);
            if (near & 0xf0) approach(block, 1, point, distance_sq_found, limit, best);
        });
    return best;
}

}  // namespace
}  // namespace wc
