// Queries of meshes that kernels call, for the active lanes of a group, and the choice of the instruction set.
// codegen/cpu/native_calls.py has the layout of the buffer.
#include "geometry/meshes/mesh_queries.h"

#include "geometry/lanes.h"
#include "geometry/meshes/mesh_data.h"
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

const MeshData& mesh_of(uint64_t id) { return *reinterpret_cast<const MeshData*>(id & kStructureAddress); }

// The tree of a mesh, or of the group whose root is a node that was checked.
WideBvh bvh_of(uint64_t id, int32_t root = 0) {
    const MeshData& mesh = mesh_of(id);
    return {mesh.wide_nodes, mesh.blocks, root > 0 ? mesh.starts[root] : 0};
}

// Goes on with walks. Of each lane `column` has the node, the place and the end. The columns behind them get the faces,
// and those behind these where the walk is then.
template <class Next>
void walk_lanes(uint64_t mask, const Lanes& lanes, int64_t column, Next&& next) {
    for_lanes(mask, [&](int64_t i) {
        int32_t at[3];
        lanes.read(at, column, i);
        FacePlace place{at[0], at[1], at[2]};
        FoundFaces found = next(mesh_of(lanes.at<uint64_t>(0, i)), i, place);
        int64_t to = column + 3;
        for (int32_t face : found.face) lanes.at<int32_t>(to++, i) = face;
        for (int32_t number : {place.number, place.place, place.end}) lanes.at<int32_t>(to++, i) = number;
    });
}

// Calls `search` with the queries that `read` gives for the active lanes, and `write` with a lane and its answer.
template <class Query, class Answer, class Read, class Write>
void search_lanes(uint64_t mask, void (*search)(const Query*, Answer*, int), Read&& read, Write&& write) {
    Query asked[kMaxLanes];
    Answer answers[kMaxLanes];
    int64_t lanes[kMaxLanes];
    int count = 0;
    for_lanes(mask, [&](int64_t lane) {
        lanes[count] = lane;
        read(lane, asked[count]);
        ++count;
    });
    search(asked, answers, count);
    for (int i = 0; i < count; ++i) write(lanes[i], answers[i]);
}

// Reads the point of a lane, and the distance that limits the search.
struct PointsOfLanes {
    const Lanes& lanes;

    void operator()(int64_t i, PointQuery& query) const {
        query.bvh = bvh_of(lanes.at<uint64_t>(0, i));
        lanes.read(query.point, 1, i);
        query.limit = lanes.at<float>(4, i);
    }
};

bool are_first(uint64_t mask) { return (mask & (mask + 1)) == 0; }

// Copies the numbers of a column that belong to active lanes, one behind the other.
template <class T>
void gather(uint64_t mask, int count, const T* column, T* to) {
    if (are_first(mask))
        for (int i = 0; i < count; ++i) to[i] = column[i];
    else
        for_lanes(mask, [&](int64_t lane) { *to++ = column[lane]; });
}

template <class T>
void scatter(uint64_t mask, int count, const T* from, T* column) {
    if (are_first(mask))
        for (int i = 0; i < count; ++i) column[i] = from[i];
    else
        for_lanes(mask, [&](int64_t lane) { column[lane] = *from++; });
}

// The rays of the active lanes, whose roots are in column `root`.
void read_rays(uint64_t mask, const Lanes& lanes, int64_t root, RayQueries& rays) {
    int count = 0;
    for_lanes(mask,
              [&](int64_t i) { rays.bvh[count++] = bvh_of(lanes.at<uint64_t>(0, i), lanes.at<int32_t>(root, i)); });
    rays.count = count;
    for (int k = 0; k < 3; ++k) {
        gather(mask, rays.count, lanes.column<float>(1 + k), rays.start[k]);
        gather(mask, rays.count, lanes.column<float>(4 + k), rays.dir[k]);
    }
}

}  // namespace
}  // namespace wc

void wc_mesh_crossings(uint64_t mask, int64_t count, void* buffer) {
    wc::Lanes lanes{static_cast<char*>(buffer), count};
    wc::RayQueries rays;
    int32_t found[wc::kMaxLanes];
    wc::read_rays(mask, lanes, 7, rays);
    wc::queries().count_hits(rays, found);
    wc::scatter(mask, rays.count, found, lanes.column<int32_t>(8));
}

void wc_mesh_first_hit(uint64_t mask, int64_t count, void* buffer) {
    wc::Lanes lanes{static_cast<char*>(buffer), count};
    wc::RayQueries rays;
    wc::RayHits hits;
    wc::read_rays(mask, lanes, 8, rays);
    wc::gather(mask, rays.count, lanes.column<float>(7), rays.max_t);
    wc::queries().first_hits(rays, hits);
    wc::scatter(mask, rays.count, hits.face, lanes.column<int32_t>(9));
    wc::scatter(mask, rays.count, hits.t, lanes.column<float>(10));
    wc::scatter(mask, rays.count, hits.u, lanes.column<float>(11));
    wc::scatter(mask, rays.count, hits.v, lanes.column<float>(12));
    wc::scatter(mask, rays.count, hits.sign, lanes.column<float>(13));
}

void wc_mesh_closest(uint64_t mask, int64_t count, void* buffer) {
    wc::Lanes lanes{static_cast<char*>(buffer), count};
    wc::search_lanes(mask, wc::queries().closest_points, wc::PointsOfLanes{lanes},
                     [&](int64_t i, const wc::ClosestPoint& found) {
                         lanes.at<int32_t>(5, i) = found.face;
                         lanes.at<float>(6, i) = found.u;
                         lanes.at<float>(7, i) = found.v;
                     });
}

void wc_mesh_farthest(uint64_t mask, int64_t count, void* buffer) {
    wc::Lanes lanes{static_cast<char*>(buffer), count};
    wc::search_lanes(mask, wc::queries().farthest_points, wc::PointsOfLanes{lanes},
                     [&](int64_t i, const wc::FarthestPoint& found) {
                         lanes.at<int32_t>(5, i) = found.face;
                         lanes.at<int32_t>(6, i) = found.corner;
                     });
}

void wc_mesh_winding(uint64_t mask, int64_t count, void* buffer) {
    wc::Lanes lanes{static_cast<char*>(buffer), count};
    wc::search_lanes(
        mask, wc::queries().winding_numbers,
        [&](int64_t i, wc::WindingQuery& query) {
            uint64_t id = lanes.at<uint64_t>(0, i);
            query.bvh = wc::bvh_of(id);
            query.moments = wc::mesh_of(id).moments;
            lanes.read(query.point, 1, i);
            query.accuracy = lanes.at<float>(4, i);
        },
        [&](int64_t i, double found) { lanes.at<double>(5, i) = found; });
}

void wc_mesh_next_in_box(uint64_t mask, int64_t count, void* buffer) {
    wc::Lanes lanes{static_cast<char*>(buffer), count};
    wc::walk_lanes(mask, lanes, 7, [&](const wc::MeshData& mesh, int64_t i, wc::FacePlace& at) {
        float low[3], high[3];
        lanes.read(low, 1, i);
        lanes.read(high, 4, i);
        return wc::queries().next_in_box(mesh, low, high, at);
    });
}

void wc_mesh_next_in_ball(uint64_t mask, int64_t count, void* buffer) {
    wc::Lanes lanes{static_cast<char*>(buffer), count};
    wc::walk_lanes(mask, lanes, 5, [&](const wc::MeshData& mesh, int64_t i, wc::FacePlace& at) {
        float centre[3];
        lanes.read(centre, 1, i);
        return wc::queries().next_in_ball(mesh, centre, lanes.at<float>(4, i), at);
    });
}
