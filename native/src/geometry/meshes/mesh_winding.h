// The winding number of a mesh around a point, as lib/geometry/mesh_winding.py defines it: by the same operations, so
// that both find the same to the bit.
#pragma once
#include "geometry/meshes/mesh_walk.h"

namespace wc {
namespace {

// Numbers of the library module, of which it says what they are for.
constexpr double kGrid = 1.5 * (1 << 18);
constexpr float kLeastFar = 1.0e-30f, kMostFar = 1.0e37f;
constexpr double kTurns[] = {
    0.15915494300120495,   -0.05305163768163513,   0.03183066000947965,   -0.0227313863219542,
    0.01764020896603938,   -0.014230225857657857,  0.011368540089986029,  -0.008357922915227509,
    0.0051299399948141365, -0.0023429312664690225, 0.0006833456754822062, -9.353369758216143e-05,
};

struct WindingSearch {
    WideBvh bvh;
    const Moments* moments;
    const float* point;
    float accuracy;
    D4 total;
    double* answer;
    Walk walk;

    WC_INLINE void begin(const WindingQuery* queries, double* answers, int number) {
        const WindingQuery& query = queries[number];
        bvh = query.bvh;
        moments = query.moments;
        point = query.point;
        accuracy = query.accuracy > 1 ? query.accuracy : 1;
        total = D4{};
        answer = &answers[number];
    }
    WC_INLINE float limit() const { return kInfinite; }

    // Adds the children that are far. The others are found, in any order.
    WC_INLINE V8i find(const WideNode& node, V8& at) {
        at = V8{};
        if (!moments) return there(node);
        V8 d[3], sizes = all(0.0f), squares = all(0.0f);
        for (int k = 0; k < 3; ++k) {
            V8 lower = load<V8>(node.lower[k]), upper = load<V8>(node.upper[k]), size = upper - lower;
            d[k] = (all(0.5f) * lower + all(0.5f) * upper) - all(point[k]);
            sizes = fused(size, size, sizes);
            squares = fused(d[k], d[k], squares);
        }
        V8 radius = all(0.5f) * root(sizes), distance = root(squares);
        V8i is_far = (distance > all(accuracy) * radius) & (squares > all(kLeastFar)) & (squares < all(kMostFar));
        V8 inverse = all(1.0f) / distance, s = radius * inverse;
        V8 turns = (s * s) * expand(moments[&node - bvh.nodes], d[0] * inverse, d[1] * inverse, d[2] * inverse, s);
        turns = is_far ? turns : all(0.0f);
        add(__builtin_convertvector(__builtin_shufflevector(turns, turns, 0, 1, 2, 3), D4));
        add(__builtin_convertvector(__builtin_shufflevector(turns, turns, 4, 5, 6, 7), D4));
        return there(node) & ~is_far;
    }

    WC_INLINE void visit(const TriangleBlock& block) {
        for (int half = 0; half < kWidth; half += 4) {
            auto there = __builtin_convertvector(load<V4i>(block.face + half) >= V4i{}, D4i);
            Vec3<D4> corner[3];
            for (int k = 0; k < 3; ++k)
                corner[k] = {offset(block, half, k, 0), offset(block, half, k, 1), offset(block, half, k, 2)};
            add(select(there, turns_of(corner[0], corner[1], corner[2]), all(0.0)));
        }
    }

    WC_INLINE void end() { *answer = (total[0] + total[1]) + (total[2] + total[3]); }

  private:
    // Multiples of one small number are added exactly, so their order does not matter.
    WC_INLINE void add(D4 turns) { total = total + ((turns + all(kGrid)) - all(kGrid)); }

    // The sum of the moments of nodes in the direction (x, y, z), whose radius is the share `s` of the distance.
    WC_INLINE static V8 expand(const Moments& moments, V8 x, V8 y, V8 z, V8 s) {
        auto m = [&](int i) { return load<V8>(moments.of[i]); };
        V8 zz = z * z, twice = all(2.0f) * zz, xy = x * y, a = fused(x, x, -zz), b = fused(y, y, -zz),
           three = all(3.0f);
        V8 dipole = fused(m(2), z, fused(m(1), y, m(0) * x));
        V8 quadrupole = fused(m(6), x * z, fused(m(5), xy, fused(m(4), b, m(3) * a)));
        quadrupole = fused(m(7), y * z, quadrupole);
        V8 along_x = fused(m(9), b, m(8) * (a - twice)), along_y = fused(m(11), a, m(10) * (b - twice));
        V8 along_z = fused(m(13), fused(three, b, twice), m(12) * fused(three, a, twice));
        along_z = fused(m(14), xy, along_z);
        V8 octupole = fused(z, along_z, fused(y, along_y, x * along_x));
        return fused(s, fused(s, octupole, quadrupole), dipole);
    }

    WC_INLINE D4 offset(const TriangleBlock& block, int half, int k, int axis) const {
        return __builtin_convertvector(load<V4>(block.corner[k][axis] + half) - all4(point[axis]), D4);
    }

    // The solid angle of four triangles, in full spheres.
    WC_INLINE static D4 turns_of(Vec3<D4> a, Vec3<D4> b, Vec3<D4> c) {
        D4 x = root(dot(a, a)), y = root(dot(b, b)), z = root(dot(c, c));
        D4 volume = dot(a, cross(b, c));
        D4 rest = fma(dot(c, a), y, fma(dot(b, c), x, fma(dot(a, b), z, (x * y) * z)));
        D4 up = most(volume, -volume), along = most(rest, -rest);
        D4 small = least(up, along), large = most(up, along);
        D4 share = select(large > all(0.0), small / large, all(0.0)), square = share * share;
        D4 series = all(kTurns[11]);
        for (int i = 10; i >= 0; --i) series = fma(series, square, all(kTurns[i]));
        D4 turns = series * share;
        turns = select(up > along, all(0.25) - turns, turns);
        turns = select(rest < all(0.0), all(0.5) - turns, turns);
        return select(volume < all(0.0), -turns, turns);
    }
};

void winding_numbers(const WindingQuery* queries, double* found, int count) {
    answer_all<WindingSearch>(queries, found, count);
}

}  // namespace
}  // namespace wc
