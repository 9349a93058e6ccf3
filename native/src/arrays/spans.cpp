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

// The last group has all longer ones, too.
size_t RangeIndex::group_of(Range range) {
    return std::min<size_t>(static_cast<size_t>(std::bit_width(range.high - range.low)), 63);
}

void RangeIndex::add(Range range, void* item) {
    size_t k = group_of(range);
    groups_[k].insert({range.low, {range.high, item}});
    used_ |= uint64_t{1} << k;
    ++changes_;
}

void RangeIndex::remove(Range range, void* item) {
    size_t k = group_of(range);
    auto [at, end] = groups_[k].equal_range(range.low);
    while (at != end && at->second.item != item) ++at;
    if (at == end) return;
    groups_[k].erase(at);
    if (groups_[k].empty()) used_ &= ~(uint64_t{1} << k);
    ++changes_;
}

std::vector<void*> RangeIndex::find(Range range) const {
    std::vector<void*> found;
    if (range.empty()) return found;
    for (uint64_t rest = used_; rest; rest &= rest - 1) {
        int k = std::countr_zero(rest);
        uintptr_t longest = k < 63 ? uintptr_t{1} << k : UINTPTR_MAX;
        auto at = groups_[static_cast<size_t>(k)].lower_bound(range.low > longest ? range.low - longest : 0);
        for (; at != groups_[static_cast<size_t>(k)].end() && at->first < range.high; ++at)
            if (at->second.high > range.low) found.push_back(at->second.item);
    }
    return found;
}

}  // namespace wc
