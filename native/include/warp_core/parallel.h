// Loops over the thread pool with a body that is a lambda.
#pragma once
#include <cstdint>

#include "warp_core/pool.h"

namespace wc {

// Calls `body(begin, end)` for chunks of [0, n), on all threads of the pool. `body` must not throw.
template <class F>
void for_each(int64_t n, int64_t chunk, F&& body) {
    parallel_for(n, chunk, [](void* data, int64_t begin, int64_t end) { (*static_cast<F*>(data))(begin, end); }, &body);
}

}  // namespace wc
