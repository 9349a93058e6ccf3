// Spans of memory, to be asked which of them a range meets. Nothing here is guarded: callers hold the GIL.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "warp_core/abi.h"
#include "warp_core/array.h"

namespace wc {

// Addresses from `low` to one before `high`.
struct Range {
    uintptr_t low = 0, high = 0;
    bool empty() const { return low >= high; }
    bool meets(const Range& other) const { return low < other.high && other.low < high; }
};

// The bytes that an array of `ndim` dimensions covers, beginning at `data`, which is that of `array` or its gradient.
Range range_of(const wc_array& array, const void* data, int ndim, int64_t itemsize);
Range range_of(const Array& array);

// Whether elements of an array may share memory with each other, as those of stride 0.
bool meets_itself(const wc_array& array, int ndim, int64_t itemsize);

class RangeIndex {
  public:
    void add(Range range, void* item);
    void remove(Range range, void* item);
    // The items whose spans meet `range`, in no order.
    std::vector<void*> find(Range range) const;
    bool empty() const { return used_ == 0; }
    uint64_t changes() const { return changes_; }  // how often spans have come or gone

  private:
    struct Entry {
        uintptr_t high;
        void* item;
    };
    // By length: those of group k are shorter than 2^k, so one that meets a range begins less than that before it.
    using Group = std::multimap<uintptr_t, Entry>;
    static size_t group_of(Range range);

    std::array<Group, 64> groups_;
    uint64_t used_ = 0;  // a bit for each group that is not empty
    uint64_t changes_ = 0;
};

}  // namespace wc
