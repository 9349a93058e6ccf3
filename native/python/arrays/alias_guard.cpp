#include "arrays/alias_guard.h"

#include <algorithm>

namespace wc {

void AliasGuard::add(const wc_array& array, int ndim, int64_t itemsize, bool written) {
    Range data = range_of(array, array.data, ndim, itemsize), grad = range_of(array, array.grad, ndim, itemsize);
    auto bits = reinterpret_cast<uintptr_t>(array.data) | reinterpret_cast<uintptr_t>(array.grad);
    for (int k = 0; k < ndim; ++k) bits |= static_cast<uintptr_t>(array.strides[k]);
    auto size = static_cast<uintptr_t>(itemsize);
    uintptr_t unit = std::min<uintptr_t>(16, size & -size);  // the power of two that divides elements
    if (bits & (unit - 1) && !(data.empty() && grad.empty())) kept_ = false;
    if ((written || !grad.empty()) && meets_itself(array, ndim, itemsize)) kept_ = false;
    add(data, written);
    add(grad, true);
}

void AliasGuard::add(Range range, bool written) {
    if (range.empty()) return;
    if (count_ == spans_.size())
        kept_ = false;
    else
        spans_[count_++] = {range, written};
}

bool AliasGuard::kept() {
    if (!kept_) return false;
    auto end = spans_.begin() + static_cast<ptrdiff_t>(count_);
    std::sort(spans_.begin(), end, [](const Span& a, const Span& b) { return a.range.low < b.range.low; });
    uintptr_t seen = 0, written = 0;  // where those before end
    for (auto s = spans_.begin(); s != end; ++s) {
        if (s->range.low < (s->written ? seen : written)) return false;
        seen = std::max(seen, s->range.high);
        if (s->written) written = std::max(written, s->range.high);
    }
    return true;
}

}  // namespace wc
