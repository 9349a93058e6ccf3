// Queries of hash grids that kernels call, and the choice of the instruction set. codegen/cpu/native_calls.py has the
// layout of the buffer.
#include <cstring>

#include "geometry/hash_grid_walk.h"
#include "geometry/lanes.h"
#include "warp_core/abi.h"

namespace wc {
namespace {

const HashGridWalks& walks() {
#ifdef __x86_64__
    static const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (has_avx2 && avx2_hash_grid_walks()) return *avx2_hash_grid_walks();
#endif
    return kWalks;
}

// Columns of the buffer: the first of those behind the addresses, what changes in a query, and what was found.
constexpr int64_t kNumbers = 6, kPlace = 19, kFirst = 24, kNumber = 25, kFound = 26;
static_assert(sizeof(HashGridQuery) == 8 * kPlace);

// The query of a lane among several. Numbers of four bytes lie side by side in their columns.
HashGridQuery query_of(const Lanes& lanes, int64_t i) {
    HashGridQuery query;
    auto* to = reinterpret_cast<char*>(&query);
    for (int64_t k = 0; k < kPlace; ++k) {
        if (k < kNumbers)
            std::memcpy(to + 8 * k, &lanes.at<uint64_t>(k, i), 8);
        else
            std::memcpy(to + 8 * k, &lanes.at<uint32_t>(k, i), 4);
    }
    return query;
}

HashGridPlace place_of(const Lanes& lanes, int64_t i) {
    auto number = [&](int64_t k) { return lanes.at<int32_t>(kPlace + k, i); };
    return {number(0), number(1), number(2), number(3), number(4)};
}

void answer(const Lanes& lanes, int64_t i, int32_t id, const HashGridPlace& at, uint64_t first, uint64_t number) {
    const int32_t found[6] = {id, at.x, at.y, at.z, at.place, at.end};
    for (int k = 0; k < 6; ++k) lanes.at<int32_t>(kFound + k, i) = found[k];
    lanes.at<uint64_t>(kFound + 6, i) = first;
    lanes.at<uint64_t>(kFound + 7, i) = number;
}

// Points that a call has found ahead, with numbers that no others of this thread have.
struct Ahead {
    uint64_t first, count;
    int32_t ids[kAhead + 2];
    HashGridPlace behind;  // where the query is behind them
};

thread_local uint64_t next_number = 1;

}  // namespace
}  // namespace wc

void wc_hash_grid_next(uint64_t mask, int64_t count, void* buffer) {
    wc::Lanes lanes{static_cast<char*>(buffer), count};
    wc::for_lanes(mask, [&](int64_t i) {
        wc::HashGridPlace at = wc::place_of(lanes, i);
        int32_t id = wc::walks().next(wc::query_of(lanes, i), at);
        wc::answer(lanes, i, id, at, lanes.at<uint64_t>(wc::kFirst, i), lanes.at<uint64_t>(wc::kNumber, i));
    });
}

void wc_hash_grid_ahead(void* buffer, void* found_ahead) {
    wc::Lanes lanes{static_cast<char*>(buffer), 1};
    auto& found = *static_cast<wc::Ahead*>(found_ahead);
    const auto& query = *static_cast<const wc::HashGridQuery*>(buffer);
    wc::HashGridPlace at = wc::place_of(lanes, 0);
    uint64_t first = lanes.at<uint64_t>(wc::kFirst, 0);
    uint64_t taken = lanes.at<uint64_t>(wc::kNumber, 0) - first;  // of those that were found from `at` on
    if (first && first == found.first) {
        at = found.behind;
        taken = 0;
    }
    for (;;) {
        found.behind = at;
        found.count = static_cast<uint64_t>(wc::walks().ahead(query, found.behind, found.ids));
        if (taken < found.count) break;
        taken -= found.count;
        at = found.behind;
    }
    found.first = wc::next_number;
    wc::next_number += found.count + 1;  // a query that has taken all has the number of no point
    wc::answer(lanes, 0, found.ids[taken], at, found.first, found.first + taken + 1);
}
