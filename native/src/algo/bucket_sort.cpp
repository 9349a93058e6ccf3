// Places of items in the order of small keys. Counters are the result itself: where the items of each key begin.
//
// Few items and few keys are counted and placed at once. Otherwise all threads first distribute items over ranges of
// keys, one block of the items each. So the counters of a range stay in a core's cache.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "warp_core/algorithms.h"

namespace wc {
namespace {

constexpr int kRangeBits = 8;
constexpr int64_t kRanges = 1 << kRangeBits;
constexpr int64_t kFewItems = 1 << 20, kFewKeys = 1 << 18, kWorthThreads = 1 << 15;

using Counts = std::array<int32_t, kRanges>;

// Items [begin, end) of what is to be sorted: keys, and their numbers unless these count from 0.
struct Part {
    const int32_t* keys;
    const int32_t* items;
    int64_t begin, end;
};

// Sorts a part with keys from `first` on, which go to `order` from `place` on. `starts` are those of `count` keys.
void count_and_place(const Part& part, int32_t first, int32_t* starts, int64_t count, int32_t place, int32_t* order) {
    std::memset(starts, 0, static_cast<size_t>(count) * sizeof *starts);
    for (int64_t i = part.begin; i < part.end; ++i) ++starts[part.keys[i] - first];
    const int32_t begin = place;
    for (int64_t k = 0; k < count; ++k) place += std::exchange(starts[k], place);
    if (part.items)
        for (int64_t i = part.begin; i < part.end; ++i) order[starts[part.keys[i] - first]++] = part.items[i];
    else
        for (int64_t i = part.begin; i < part.end; ++i) order[starts[part.keys[i] - first]++] = static_cast<int32_t>(i);
    std::memmove(starts + 1, starts, static_cast<size_t>(count - 1) * sizeof *starts);  // each has become the next
    starts[0] = begin;
}

// Calls f(block, begin, end) for a block of [0, n) per thread.
template <class F>
void each_block(int64_t n, int64_t blocks, F&& f) {
    parallel(blocks, 1, [&](int64_t first, int64_t last) {
        for (int64_t b = first; b < last; ++b) f(b, n * b / blocks, n * (b + 1) / blocks);
    });
}

// Moves keys and the numbers of items to the upper halves of their arrays, by ranges of keys. Returns where these
// begin.
std::array<int32_t, kRanges + 1> distribute(int32_t* keys, int32_t* order, int64_t n, int shift) {
    const int64_t blocks = n < kWorthThreads ? 1 : num_threads();
    std::vector<Counts> places(static_cast<size_t>(blocks));
    each_block(n, blocks, [&](int64_t b, int64_t begin, int64_t end) {
        places[b].fill(0);
        for (int64_t i = begin; i < end; ++i) ++places[b][keys[i] >> shift];
    });
    std::array<int32_t, kRanges + 1> begins;
    int32_t place = 0;
    for (int64_t range = 0; range < kRanges; ++range) {
        begins[range] = place;
        for (Counts& counts : places) place += std::exchange(counts[range], place);
    }
    begins[kRanges] = place;
    each_block(n, blocks, [&](int64_t b, int64_t begin, int64_t end) {
        Counts& to = places[b];
        for (int64_t i = begin; i < end; ++i) {
            int64_t at = n + to[keys[i] >> shift]++;
            keys[at] = keys[i];
            order[at] = static_cast<int32_t>(i);
        }
    });
    return begins;
}

}  // namespace

void sort_into_buckets(int32_t* keys, int32_t* order, int64_t n, int32_t* starts, int64_t buckets) {
    bool by_all = num_threads() > 1 && n >= kWorthThreads;
    if (!by_all && n <= kFewItems && buckets <= kFewKeys)
        return count_and_place({keys, nullptr, 0, n}, 0, starts, buckets, 0, order);
    const int shift = std::max(0, static_cast<int>(std::bit_width(static_cast<uint64_t>(buckets - 1))) - kRangeBits);
    auto begins = distribute(keys, order, n, shift);
    const int64_t ranges = (buckets + (int64_t{1} << shift) - 1) >> shift;
    parallel(ranges, 4, [&](int64_t first, int64_t last) {
        for (int64_t range = first; range < last; ++range) {
            int64_t low = range << shift, high = std::min(buckets, low + (int64_t{1} << shift));
            count_and_place({keys + n, order + n, begins[range], begins[range + 1]}, static_cast<int32_t>(low),
                            starts + low, high - low, begins[range], order);
        }
    });
}

}  // namespace wc
