// Queries of meshes that kernels call, for the active lanes of a group, and the choice of the instruction set.
// codegen/cpu/native_calls.py has the layout of the buffer.
#include "mesh_queries.h"

#include <bit>

#include "warp_core/abi.h"

namespace wc {

const MeshQueries& baseline_queries() {
    static const MeshQueries queries{first_hit, closest};
    return queries;
}

namespace {

const MeshQueries& queries() {
#ifdef __x86_64__
    static const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (has_avx2 && avx2_queries()) return *avx2_queries();
#endif
    return baseline_queries();
}

// What the descriptor of a mesh begins with: `MeshData` of lib/geometry/mesh_data.py.
struct MeshData {
    uint64_t id;
    const TriangleBvh* bvh;
};

constexpr uint64_t kAddress = 0x0000'FFFF'FFFF'FFFF;

WideBvh bvh_of(uint64_t id) { return reinterpret_cast<const MeshData*>(id & kAddress)->bvh->wide(); }

struct Lanes {
    char* buffer;
    int64_t count;

    template <class T>
    T& at(int64_t column, int64_t lane) const {
        return reinterpret_cast<T*>(buffer + 8 * column * count)[lane];
    }
};

template <class F>
void for_lanes(uint64_t mask, F&& body) {
    for (; mask; mask &= mask - 1) body(static_cast<int64_t>(std::countr_zero(mask)));
}

}  // namespace
}  // namespace wc

void wc_mesh_first_hit(uint64_t mask, int64_t count, void* buffer) {
    wc::Lanes lanes{static_cast<char*>(buffer), count};
    auto* query = wc::queries().first_hit;
    wc::for_lanes(mask, [&](int64_t i) {
        float ray[6];
        for (int k = 0; k < 6; ++k) ray[k] = lanes.at<float>(1 + k, i);
        wc::RayHit hit = query(wc::bvh_of(lanes.at<uint64_t>(0, i)), ray, ray + 3, lanes.at<float>(7, i));
        lanes.at<int32_t>(8, i) = hit.face;
        lanes.at<float>(9, i) = hit.t;
        lanes.at<float>(10, i) = hit.u;
        lanes.at<float>(11, i) = hit.v;
        lanes.at<float>(12, i) = hit.sign;
    });
}

void wc_mesh_closest(uint64_t mask, int64_t count, void* buffer) {
    wc::Lanes lanes{static_cast<char*>(buffer), count};
    auto* query = wc::queries().closest;
    wc::for_lanes(mask, [&](int64_t i) {
        float point[3];
        for (int k = 0; k < 3; ++k) point[k] = lanes.at<float>(1 + k, i);
        wc::ClosestPoint found = query(wc::bvh_of(lanes.at<uint64_t>(0, i)), point, lanes.at<float>(4, i));
        lanes.at<int32_t>(5, i) = found.face;
        lanes.at<float>(6, i) = found.u;
        lanes.at<float>(7, i) = found.v;
    });
}
