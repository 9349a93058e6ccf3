// The memory of an array as Python and launches see it. The Python class wp.array derives from ArrayBase, whose C++
// part this is; `view` is exactly what kernels receive, so packing an argument is one copy.
#pragma once
#include "warp_core/abi.h"

namespace wc {

constexpr int kMaxNdim = 4;

enum ArrayFlags : uint32_t {
    kReadOnly = 1,  // kernels that write it refuse it; other bits are free for Python's use
};

struct Array {
    wc_array view{};
    int64_t size = 0;  // number of elements
    int32_t ndim = 0;
    int32_t dtype = 0;
    int32_t device = 0;
    uint32_t flags = 0;
    bool inner_contiguous = false;  // innermost stride is the item size, or there is at most one element along it
    bool contiguous = false;        // C order without gaps
};

// Derives size and the contiguity flags from view, ndim and dtype; fills the unused dimensions.
void finish(Array& array);

}  // namespace wc
