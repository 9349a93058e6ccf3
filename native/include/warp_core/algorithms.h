// Sorting, scanning, reducing and converting contiguous CPU memory, spread over the pool. Which thread does what never
// shows in the result: work is cut at fixed places, and what the pieces give is combined in a fixed order.
//
// Sizes and types are checked by the caller; a type that a function does not know throws std::invalid_argument.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "warp_core/dtypes.h"
#include "warp_core/pool.h"

namespace wc {

// A stable sort by bits [begin_bit, end_bit) of the keys, in ascending order of the numbers. Floats go from -infinity
// to infinity, -0.0 before 0.0, and NaN lies beyond the end that its sign bit gives. Both arrays have 2 * count items,
// of which the upper half is scratch. Keys: 4- and 8-byte numbers; values: anything of 4 or 8 bytes.
void radix_sort_pairs(Scalar key, void* keys, int64_t value_size, void* values, int64_t count, int begin_bit,
                      int end_bit);

// The numbers of n items in the order of their keys, which are buckets in [0, buckets); items of one bucket stay in
// order. `starts` gets the place in `order` where each bucket begins. Keys and order have 2 * n elements, of which the
// upper half is scratch.
void sort_into_buckets(int32_t* keys, int32_t* order, int64_t n, int32_t* starts, int64_t buckets);

struct Segment {
    int64_t begin, end;
};

// Throws if a segment does not lie in [0, count) or two overlap.
void check_segments(int64_t count, const std::vector<Segment>& segments);
// Sorts each segment on its own. Throws as `check_segments` does; then nothing is sorted.
void segmented_sort_pairs(Scalar key, void* keys, int64_t value_size, void* values, int64_t count,
                          const std::vector<Segment>& segments);

// Running sums of n elements of `components` numbers each. `out` may be `in`. Floats are summed in double, and sums of
// numbers that are not negative never decrease.
void scan(Scalar type, void* out, const void* in, int64_t n, int64_t components, bool inclusive);

// Writes value and length of each run of equal integers; returns how many there are. Needs room for n runs.
int64_t runlength_encode(Scalar type, const void* values, int64_t n, void* run_values, int32_t* run_lengths);

// An array seen as outer x length x inner elements of `components` numbers.
struct Extents {
    int64_t outer, length, inner, components;
};

// Sums over `length`: outer x inner elements. Floats are summed in double, integers wrap.
void sum(Scalar type, void* out, const void* in, const Extents& extents);

// Sums products over `length` and over the components: outer x inner numbers.
void inner_product(Scalar type, void* out, const void* a, const void* b, const Extents& extents);

// Adds n 4- or 8-byte numbers to others that lie apart from them.
void add(Scalar type, void* to, const void* from, int64_t n);

// Converts n numbers: floats to integers towards zero, saturating, NaN to 0; integers wrap; to bool, whether not 0.
void cast(Scalar to, void* out, Scalar from, const void* in, int64_t n);

// `f(begin, end)` over [0, n) in chunks, by all threads.
template <class F>
void parallel(int64_t n, int64_t chunk, F&& f) {
    parallel_for(n, chunk, [](void* data, int64_t begin, int64_t end) { (*static_cast<F*>(data))(begin, end); }, &f);
}

}  // namespace wc
