#include "warp_core/spans.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "warp_core/dtypes.h"

namespace wc {

Range range_of(const wc_array& array, const void* data, int ndim, int64_t itemsize) {
    if (!data) return {};
    int64_t low = 0, high = itemsize;
    for (int i = 0; i < ndim; ++i) {
        if (array.shape[i] == 0) return {};
        int64_t reach = (array.shape[i] - 1) * array.strides[i];
        (reach < 0 ? low : high) += reach;
    }
    auto base = reinterpret_cast<uintptr_t>(data);
    return {base + static_cast<uintptr_t>(low), base + static_cast<uintptr_t>(high)};
}

Range range_of(const Array& array) {
    return range_of(array.view, array.view.data, array.ndim, dtype(array.dtype).itemsize);
}

bool meets_itself(const wc_array& array, int ndim, int64_t itemsize) {
    for (int k = 0; k < ndim; ++k) {
        if (array.shape[k] <= 1) continue;
        int64_t stride = std::abs(array.strides[k]), reach = itemsize;  // of the dimensions of smaller steps
        for (int other = 0; other < ndim; ++other) {
            int64_t step = std::abs(array.strides[other]);
            if (step < stride || (step == stride && other < k))
                reach += step * std::max<int64_t>(0, array.shape[other] - 1);
        }
        if (stride < reach) return true;
    }
    return false;
}

void RangeIndex::add(Range range, void* item) {
    groups_[std::bit_width(range.high - range.low)].insert({range.low, {range.high, item}});
    ++used_;
}

void RangeIndex::remove(Range range, void* item) {
    Group& group = groups_[std::bit_width(range.high - range.low)];
    auto [at, end] = group.equal_range(range.low);
    while (at != end && at->second.item != item) ++at;
    if (at == end) return;
    group.erase(at);
    --used_;
}

std::vector<void*> RangeIndex::find(Range range) const {
    std::vector<void*> found;
    if (range.empty()) return found;
    for (size_t k = 0; k < groups_.size(); ++k) {
        if (groups_[k].empty()) continue;
        uintptr_t longest = k < 64 ? uintptr_t{1} << k : UINTPTR_MAX;
        auto at = groups_[k].lower_bound(range.low > longest ? range.low - longest : 0);
        for (; at != groups_[k].end() && at->first < range.high; ++at)
            if (at->second.high > range.low) found.push_back(at->second.item);
    }
    return found;
}

}  // namespace wc
