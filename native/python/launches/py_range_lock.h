// Reserving memory for additions, from threads that hold the GIL.
#pragma once
#include <memory>

#include "warp_core/accumulate.h"

namespace wc {

// Waits, without the GIL, until no other launch adds to what the targets meet. Raises what a signal handler raises
// meanwhile.
std::unique_ptr<RangeLock> reserve(const WriteSet& targets);

}  // namespace wc
