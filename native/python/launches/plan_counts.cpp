// Sizes that a kernel cannot count. `wp.tid()`, `wp.block_index()`, `x.shape` and `x.size` are 32-bit integers:
// launches in which the kernel needs one that does not fit are refused. What it needs comes from passes/counts.py.
#include <cstring>

#include "launches/plan.h"

namespace wc {
namespace {

constexpr int kAllElements = 1 << kMaxNdim;  // a bit of Counted::dimensions

bool fits(int64_t count) { return count <= INT32_MAX; }

// How many elements there are: INT64_MAX if there are more than that.
int64_t elements(const wc_array& array) {
    int64_t size = 1;
    for (int64_t n : array.shape)
        if (__builtin_mul_overflow(size, n, &size)) return INT64_MAX;
    return size;
}

}  // namespace

void Plan::set_counts(bool threads, bool blocks,
                      const std::vector<std::tuple<size_t, uint32_t, std::string, int>>& arrays) {
    counts_threads_ = threads;
    counts_blocks_ = blocks;
    counted_.clear();
    for (const auto& [index, offset, words, dimensions] : arrays)
        counted_.push_back({params.at(index).offset + offset, words, dimensions});
}

// Of a launch of more than kMostCounted threads.
void Plan::check_threads(const Grid& g) const {
    std::string launch = "kernel `" + name + "`: the launch has " + std::to_string(g.threads) + " threads";
    if (counts_threads_)
        raise(PyExc_ValueError, launch +
                                    ", but a single `i = wp.tid()` is an int32 and numbers at most 2147483648: use "
                                    "one index per dimension, as in `i, j = wp.tid()`, or launch parts");
    if (counts_blocks_ && g.threads / block_dim > kMostCounted)
        raise(PyExc_ValueError, launch + " in blocks of " + std::to_string(block_dim) +
                                    ", but `wp.block_index()` is an int32 and numbers at most 2147483648 blocks: "
                                    "choose a larger block_dim, or launch parts");
    // Elsewhere rows of the grid consist of whole blocks, and a CPU finds the row of a block in 64 bits.
    if (device_id == 0 && block_dim != 0 && arity > 1 && g.dims[arity - 1] % block_dim != 0)
        raise(PyExc_ValueError, launch + ", but the kernel works in blocks of " + std::to_string(block_dim) +
                                    ": with more than 2147483648 threads the last dimension must be a multiple of "
                                    "block_dim, got " +
                                    std::to_string(g.dims[arity - 1]));
}

void Plan::check_counted(const std::byte* block) const {
    for (const Counted& counted : counted_) {
        wc_array array;
        std::memcpy(&array, block + counted.offset, sizeof array);
        int64_t most = array.shape[0] | array.shape[1] | array.shape[2] | array.shape[3];
        if (!fits(most) || (counted.dimensions & kAllElements && !fits(elements(array)))) refuse_count(counted, array);
    }
}

// Raises unless all that the kernel counts of the array fits.
void Plan::refuse_count(const Counted& counted, const wc_array& array) const {
    for (int i = 0; i <= kMaxNdim; ++i) {
        int64_t count = i < kMaxNdim ? array.shape[i] : elements(array);
        if (!(counted.dimensions & 1 << i) || fits(count)) continue;
        const std::string& x = counted.name;
        std::string which = i < kMaxNdim ? std::to_string(i) : "0";
        raise(
            PyExc_ValueError,
            "kernel `" + name + "`: `" + x + "` has " + std::to_string(count) + " elements" +
                (i < kMaxNdim ? " in dimension " + which : "") +
                ", but the kernel counts them with int32, up to 2147483647: for its shape, size or len(), a slice, or "
                "an index that may be negative. Write `wp.int64(" +
                x + ".shape[" + which + "])` and indices as in `" + x + "[wp.int64(i)]`, or pass parts of the array");
    }
}

}  // namespace wc
