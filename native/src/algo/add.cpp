#include "warp_core/algorithms.h"
#include "warp_core/dispatch_scalar.h"

namespace wc {
namespace {

constexpr int64_t kChunk = 1 << 15;

// A function of its own, so that the loop sees its pointers do not change.
template <class T>
void add_all(T* __restrict to, const T* __restrict from, int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[i] += from[i];
}

}  // namespace

void add(Scalar type, void* to, const void* from, int64_t n) {
    visit_number(type, [&](auto number) {
        auto* sums = static_cast<decltype(number)*>(to);
        auto* more = static_cast<const decltype(number)*>(from);
        parallel(n, kChunk, [=](int64_t begin, int64_t end) { add_all(sums + begin, more + begin, end - begin); });
    });
}

}  // namespace wc
