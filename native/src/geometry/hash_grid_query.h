// A query of a hash grid as kernels describe it: `HashGridQuery` of lib/geometry/hash_grid_queries.py.
#pragma once
#include <cstdint>

namespace wc {

// As one lane passes it to native code, with eight bytes for each number.
struct HashGridQuery {
    const int32_t *cell_starts, *point_ids, *groups;
    const float *xs, *ys, *zs;
    alignas(8) float center_x;
    alignas(8) float center_y;
    alignas(8) float center_z;
    alignas(8) float limit;
    alignas(8) int32_t dim_x;
    alignas(8) int32_t dim_y;
    alignas(8) int32_t dim_z;
    alignas(8) int32_t begin_x;
    alignas(8) int32_t end_x;
    alignas(8) int32_t begin_y;
    alignas(8) int32_t end_y;
    alignas(8) int32_t end_z;
    alignas(8) int32_t group;
};

// Where a query is: the next cell, and what is left of a run of points.
struct HashGridPlace {
    int32_t x, y, z, place, end;
};

constexpr int kAhead = 64;  // points that are found at once

struct HashGridWalks {
    // Returns the next point, or -1 behind the last.
    int32_t (*next)(const HashGridQuery& query, HashGridPlace& at);
    // Finds the next points, at most kAhead, and -1 behind the last. Returns how many numbers these are: at least one.
    int32_t (*ahead)(const HashGridQuery& query, HashGridPlace& at, int32_t* ids);
};

const HashGridWalks* avx2_hash_grid_walks();

}  // namespace wc
