// Queries of meshes that kernels call, for the active lanes of a group, and the choice of the instruction set.
// codegen/cpu/native_calls.py has the layout of the buffer.
#include "mesh_queries.h"

#include "lanes.h"
#include "warp_core/abi.h"

namespace wc {

const MeshQueries& baseline_queries() { return kQueries; }

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
    WideBvh bvh;
};

WideBvh bvh_of(uint64_t id) { return reinterpret_cast<const MeshData*>(id & kStructureAddress)->bvh; }

constexpr int kLanes = 64;  // bits of a mask

// Calls `search` with the queries that `read` gives for the active lanes, and `write` with a lane and its answer.
template <class Query, class Answer, class Read, class Write>
void search_lanes(uint64_t mask, void (*search)(const Query*, Answer*, int), Read&& read, Write&& write) {
    Query asked[kLanes];
    Answer answers[kLanes];
    int64_t lanes[kLanes];
    int count = 0;
    for_lanes(mask, [&](int64_t lane) {
        lanes[count] = lane;
        read(lane, asked[count]);
        ++count;
    });
    search(asked, answers, count);
    for (int i = 0; i < count; ++i) write(lanes[i], answers[i]);
}

}  // namespace
}  // namespace wc

void wc_mesh_first_hit(uint64_t mask, int64_t count, void* buffer) {
    wc::Lanes lanes{static_cast<char*>(buffer), count};
    wc::search_lanes(
        mask, wc::queries().first_hits,
        [&](int64_t i, wc::RayQuery& query) {
            query.bvh = wc::bvh_of(lanes.at<uint64_t>(0, i));
            for (int k = 0; k < 3; ++k) query.start[k] = lanes.at<float>(1 + k, i);
            for (int k = 0; k < 3; ++k) query.dir[k] = lanes.at<float>(4 + k, i);
            query.max_t = lanes.at<float>(7, i);
        },
        [&](int64_t i, const wc::RayHit& hit) {
            lanes.at<int32_t>(8, i) = hit.face;
            lanes.at<float>(9, i) = hit.t;
            lanes.at<float>(10, i) = hit.u;
            lanes.at<float>(11, i) = hit.v;
            lanes.at<float>(12, i) = hit.sign;
        });
}

void wc_mesh_closest(uint64_t mask, int64_t count, void* buffer) {
    wc::Lanes lanes{static_cast<char*>(buffer), count};
    wc::search_lanes(
        mask, wc::queries().closest_points,
        [&](int64_t i, wc::PointQuery& query) {
            query.bvh = wc::bvh_of(lanes.at<uint64_t>(0, i));
            for (int k = 0; k < 3; ++k) query.point[k] = lanes.at<float>(1 + k, i);
            query.max_dist = lanes.at<float>(4, i);
        },
        [&](int64_t i, const wc::ClosestPoint& found) {
            lanes.at<int32_t>(5, i) = found.face;
            lanes.at<float>(6, i) = found.u;
            lanes.at<float>(7, i) = found.v;
        });
}
