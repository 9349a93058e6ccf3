// Queries of hash grids: the points near a place, as `_hash_grid_next` of lib/geometry/hash_grid_queries.py finds them,
// by the same operations. Each file that includes this compiles it for one instruction set, so all is in an unnamed
// namespace, and nothing of the standard library is instantiated here.
#pragma once
#include "geometry/hash_grid_query.h"
#include "geometry/vectors.h"

namespace wc {
namespace {

// The first place from `begin` on whose group is not below `group`.
WC_INLINE int32_t first_of_group(const int32_t* groups, int32_t begin, int32_t end, int32_t group) {
    while (begin < end) {
        int32_t middle = begin + (end - begin) / 2;
        if (groups[middle] < group)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

// Goes on to the points of the next cells. These are the cells of a row up to the last one of the grid, or one cell if
// the query is of a group.
WC_INLINE void next_run(const HashGridQuery& query, HashGridPlace& at) {
    bool is_wrapped = at.x >= query.dim_x;
    int32_t stop = is_wrapped || query.end_x < query.dim_x ? query.end_x : query.dim_x;
    if (query.groups) stop = at.x + 1;
    int32_t x = is_wrapped ? at.x - query.dim_x : at.x;
    int32_t y = at.y >= query.dim_y ? at.y - query.dim_y : at.y;
    int32_t z = at.z >= query.dim_z ? at.z - query.dim_z : at.z;
    int32_t first = (z * query.dim_y + y) * query.dim_x + x;
    at.place = query.cell_starts[first];
    at.end = query.cell_starts[first + stop - at.x];
    if (query.groups) {
        at.place = first_of_group(query.groups, at.place, at.end, query.group);
        if (query.group < INT32_MAX) at.end = first_of_group(query.groups, at.place, at.end, query.group + 1);
    }
    at.x = stop;
    if (at.x != query.end_x) return;
    at.x = query.begin_x;
    if (++at.y != query.end_y) return;
    at.y = query.begin_y;
    ++at.z;
}

// A bit for each of the eight points from a place on: 1 if it is near. Points behind the end count as any others.
struct IsNear {
    const HashGridQuery& query;
    V8 x = all(query.center_x), y = all(query.center_y), z = all(query.center_z), limit = all(query.limit);

    WC_INLINE unsigned operator()(int32_t place) const {
        if (!query.xs) return 255;
        V8 dx = load<V8>(query.xs + place) - x, dy = load<V8>(query.ys + place) - y;
        V8 dz = load<V8>(query.zs + place) - z;
        return bits(fused(dz, dz, fused(dy, dy, dx * dx)) <= limit);
    }
};

WC_INLINE void fetch(const HashGridQuery& query, int32_t place) {
    if (!query.xs) return;
    __builtin_prefetch(query.xs + place);
    __builtin_prefetch(query.ys + place);
    __builtin_prefetch(query.zs + place);
}

// Calls `take` with a place and the bits of the near points among the eight from there on, until it returns false.
// Returns where the query is then. Looks at `most` runs together, so that memory is fetched for all of them.
template <int most, class Take>
WC_INLINE HashGridPlace walk(const HashGridQuery& query, HashGridPlace at, Take&& take) {
    IsNear is_near{query};
    for (;;) {
        HashGridPlace runs[most] = {at};
        int count = 1;
        for (; count < most && at.z < query.end_z; ++count) {
            next_run(query, at);
            runs[count] = at;
            fetch(query, at.place);
            fetch(query, at.end);
        }
        for (int run = 0; run < count; ++run) {
            at = runs[run];
            while (at.place < at.end) {
                int32_t place = at.place, left = at.end - place;
                unsigned found = is_near(place);
                if (left < 8) found &= (1u << left) - 1;
                at.place = left < 8 ? at.end : place + 8;
                if (!take(place, found)) return at;
            }
        }
        if (at.z >= query.end_z) return at;
    }
}

int32_t next_near(const HashGridQuery& query, HashGridPlace& at) {
    int32_t found_at = -1;
    at = walk<2>(query, at, [&](int32_t place, unsigned found) {
        if (found) found_at = place + __builtin_ctz(found);
        return !found;
    });
    if (found_at < 0) return -1;
    at.place = found_at + 1;
    return query.point_ids[found_at];
}

// Where each 1 of a byte is, in ascending order.
struct Ones {
    char of[256][8] = {};

    constexpr Ones() {
        for (int byte = 0; byte < 256; ++byte)
            for (int bit = 0, k = 0; bit < 8; ++bit)
                if (byte >> bit & 1) of[byte][k++] = static_cast<char>(bit);
    }
};
constexpr Ones kOnes;

// Eight numbers, of which those with a 1 in `found` come first, in order.
WC_INLINE V8i gathered(V8i numbers, unsigned found) {
    const char* from = kOnes.of[found];
#ifdef WC_AVX2
    using Bytes = char __attribute__((vector_size(16)));
    long long eight;
    __builtin_memcpy(&eight, from, 8);
    long long __attribute__((vector_size(16))) places = {eight, 0};
    return __builtin_ia32_permvarsi256(numbers, __builtin_ia32_pmovzxbd256(reinterpret_cast<Bytes>(places)));
#else
    V8i to;
    for (int k = 0; k < 8; ++k) to[k] = numbers[from[k]];
    return to;
#endif
}

int32_t near_ahead(const HashGridQuery& query, HashGridPlace& at, int32_t* ids) {
    int32_t count = 0;
    at = walk<10>(query, at, [&](int32_t place, unsigned found) {
        store(ids + count, gathered(load<V8i>(query.point_ids + place), found));
        count += __builtin_popcount(found);
        return count <= kAhead - 8;
    });
    if (at.place == at.end && at.z >= query.end_z) ids[count++] = -1;
    return count;
}

constexpr HashGridWalks kWalks{next_near, near_ahead};

}  // namespace
}  // namespace wc
