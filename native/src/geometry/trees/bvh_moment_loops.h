// Moments of the triangles below nodes, as lib/geometry/mesh_winding.py describes them. Each file that includes this
// compiles it for one instruction set; both give the same results to the bit.
#pragma once
#include "geometry/trees/bvh_loops.h"
#include "geometry/vectors.h"

namespace wc {
namespace {

// `FACTORS` of the library module.
constexpr float kDipole = 0.0795774715f, kQuadrupole = -3 * kDipole, kOctupole = 7.5f * kDipole;
constexpr float kFactors[15] = {kDipole,         kDipole,         kDipole,         kQuadrupole, kQuadrupole,
                                2 * kQuadrupole, 2 * kQuadrupole, 2 * kQuadrupole, kOctupole,   3 * kOctupole,
                                kOctupole,       3 * kOctupole,   kOctupole,       kOctupole,   6 * kOctupole};

// Moments of eight sources. Tensors are symmetric: xx yy zz xy xz yz, and xxx yyy zzz xxy xxz xyy yyz xzz yzz xyz.
struct Sources {
    V8 area[3], second[6], third[10];
};

// Moments around the origin of sources that have moments around the points `at`.
WC_INLINE Sources moved(Sources m, const V8* at) {
    const V8 half = all(0.5f), third = all(1.0f / 3), two_thirds = all(2.0f / 3);
    V8 x = at[0], y = at[1], z = at[2], a = m.area[0], b = m.area[1], c = m.area[2];
    V8 xx = m.second[0], yy = m.second[1], zz = m.second[2], xy = m.second[3], xz = m.second[4], yz = m.second[5];
    m.second[0] += a * x;
    m.second[1] += b * y;
    m.second[2] += c * z;
    m.second[3] += half * (a * y + b * x);
    m.second[4] += half * (a * z + c * x);
    m.second[5] += half * (b * z + c * y);
    m.third[0] += all(2.0f) * (xx * x) + a * (x * x);
    m.third[1] += all(2.0f) * (yy * y) + b * (y * y);
    m.third[2] += all(2.0f) * (zz * z) + c * (z * z);
    auto mixed = [&](V8 ii, V8 ij, V8 i, V8 j, V8 mi, V8 mj) {  // of i, i and j
        return two_thirds * (ii * j + all(2.0f) * (ij * i)) + third * (mj * (i * i) + all(2.0f) * (mi * (i * j)));
    };
    m.third[3] += mixed(xx, xy, x, y, a, b);
    m.third[4] += mixed(xx, xz, x, z, a, c);
    m.third[5] += mixed(yy, xy, y, x, b, a);
    m.third[6] += mixed(yy, yz, y, z, b, c);
    m.third[7] += mixed(zz, xz, z, x, c, a);
    m.third[8] += mixed(zz, yz, z, y, c, b);
    m.third[9] += two_thirds * ((xy * z + xz * y) + yz * x) + third * ((a * (y * z) + b * (x * z)) + c * (x * y));
    return m;
}

WC_INLINE float sum_of(V8 v) { return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7])); }

// Writes the sum of sources as the moments of a child. The traces count for nothing far away, so they are left out.
WC_INLINE void write(const Sources& m, Moments& to, int child) {
    float second[6], third[10];
    for (int i = 0; i < 6; ++i) second[i] = sum_of(m.second[i]);
    for (int i = 0; i < 10; ++i) third[i] = sum_of(m.third[i]);
    float trace = (second[0] + second[1] + second[2]) / 3, x = (third[0] + third[5] + third[7]) / 5,
          y = (third[1] + third[3] + third[8]) / 5, z = (third[2] + third[4] + third[6]) / 5;
    const float found[15] = {sum_of(m.area[0]), sum_of(m.area[1]), sum_of(m.area[2]), second[0] - trace,
                             second[1] - trace, second[3],         second[4],         second[5],
                             third[0] - 3 * x,  third[5] - x,      third[1] - 3 * y,  third[3] - y,
                             third[4] - z,      third[6] - z,      third[9]};
    for (int i = 0; i < 15; ++i) to.of[i][child] = found[i] * kFactors[i];
}

// The sphere around the box of a child: 1 / radius, or 0 for a point.
struct Sphere {
    float centre[3], radius, inverse;

    Sphere(const WideNode& node, int child) {
        float squares = 0;
        for (int k = 0; k < 3; ++k) {
            float lower = node.lower[k][child], upper = node.upper[k][child], size = upper - lower;
            centre[k] = 0.5f * lower + 0.5f * upper;
            squares += size * size;
        }
        radius = 0.5f * __builtin_sqrtf(squares);
        inverse = radius > 0 ? 1 / radius : 0;
    }
};

WC_INLINE void fit_moments(const TriangleBlock& block, const Sphere& sphere, Moments& to, int child) {
    const V8 inverse = all(sphere.inverse), twelfth = all(1.0f / 12);
    const V8i there = load<V8i>(block.face) >= V8i{};
    V8 p[3][3], centre[3];
    for (int axis = 0; axis < 3; ++axis) {
        for (int k = 0; k < 3; ++k) {
            V8 at = (load<V8>(block.corner[k][axis]) - all(sphere.centre[axis])) * inverse;
            p[k][axis] = there ? at : all(0.0f);
        }
        centre[axis] = ((p[0][axis] + p[1][axis]) + p[2][axis]) * all(1.0f / 3);
    }
    Vec3<V8> first{p[1][0] - p[0][0], p[1][1] - p[0][1], p[1][2] - p[0][2]},
        other{p[2][0] - p[0][0], p[2][1] - p[0][1], p[2][2] - p[0][2]};
    Sources m{};
    m.area[0] = all(0.5f) * (first.y * other.z - first.z * other.y);
    m.area[1] = all(0.5f) * (first.z * other.x - first.x * other.z);
    m.area[2] = all(0.5f) * (first.x * other.y - first.y * other.x);
    auto spread = [&](int i, int j) {  // how far the triangle is spread around its centre
        V8 total = all(0.0f);
        for (int k = 0; k < 3; ++k) total += (p[k][i] - centre[i]) * (p[k][j] - centre[j]);
        return total * twelfth;
    };
    V8 xx = spread(0, 0), yy = spread(1, 1), zz = spread(2, 2), xy = spread(0, 1), xz = spread(0, 2), yz = spread(1, 2);
    V8 a = m.area[0], b = m.area[1], c = m.area[2], third = all(1.0f / 3), two = all(2.0f);
    m.third[0] = a * xx;
    m.third[1] = b * yy;
    m.third[2] = c * zz;
    m.third[3] = third * (b * xx + two * (a * xy));
    m.third[4] = third * (c * xx + two * (a * xz));
    m.third[5] = third * (a * yy + two * (b * xy));
    m.third[6] = third * (c * yy + two * (b * yz));
    m.third[7] = third * (a * zz + two * (c * xz));
    m.third[8] = third * (b * zz + two * (c * yz));
    m.third[9] = third * ((a * yz + b * xz) + c * xy);
    write(moved(m, centre), to, child);
}

void fit_block_moments(const FitData& data, int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
        const WideNode& node = data.wide_nodes[n];
        for (int i = 0; i < node.count; ++i)
            if (node.child[i] < 0) fit_moments(data.blocks[-1 - node.child[i]], Sphere(node, i), data.moments[n], i);
    }
}

void fit_wide_moments(const FitData& data, int32_t number, int child) {
    const int32_t below = data.wide_nodes[number].child[child];
    const WideNode& node = data.wide_nodes[below];
    const Sphere sphere(data.wide_nodes[number], child);
    const V8i there = V8i{0, 1, 2, 3, 4, 5, 6, 7} < V8i{} + node.count;
    V8 at[3], squares = all(0.0f);
    for (int k = 0; k < 3; ++k) {
        V8 lower = load<V8>(node.lower[k]), upper = load<V8>(node.upper[k]), size = upper - lower;
        squares += size * size;
        at[k] = ((all(0.5f) * lower + all(0.5f) * upper) - all(sphere.centre[k])) * all(sphere.inverse);
        at[k] = there ? at[k] : all(0.0f);
    }
    V8 share = (all(0.5f) * root(squares)) * all(sphere.inverse), square = share * share;
    share = there ? share : all(0.0f);
    square = there ? square : all(0.0f);
    auto moment = [&](int i, V8 scale) { return load<V8>(data.moments[below].of[i]) * (scale * all(1 / kFactors[i])); };
    Sources m;
    for (int i = 0; i < 3; ++i) m.area[i] = moment(i, square);
    V8 cube = square * share, fourth = square * square;
    m.second[0] = moment(3, cube);
    m.second[1] = moment(4, cube);
    m.second[2] = -(m.second[0] + m.second[1]);
    for (int i = 3; i < 6; ++i) m.second[i] = moment(i + 2, cube);
    m.third[0] = moment(8, fourth);
    m.third[5] = moment(9, fourth);
    m.third[1] = moment(10, fourth);
    m.third[3] = moment(11, fourth);
    m.third[4] = moment(12, fourth);
    m.third[6] = moment(13, fourth);
    m.third[9] = moment(14, fourth);
    m.third[2] = -(m.third[4] + m.third[6]);
    m.third[7] = -(m.third[0] + m.third[5]);
    m.third[8] = -(m.third[1] + m.third[3]);
    write(moved(m, at), data.moments[number], child);
}

}  // namespace
}  // namespace wc
