// The CUDA driver as Python sees it: handles are integers, and what the driver refuses is an exception.
#pragma once
#include <cstdint>

#include "warp_core/cuda.h"

namespace wc {

using Handle = uintptr_t;

template <class T>
T pointer(Handle h) {
    return reinterpret_cast<T>(h);
}
template <class T>
Handle handle(T p) {
    return reinterpret_cast<Handle>(p);
}

}  // namespace wc

// Calls a function of the driver by its name and checks the result.
#define CUDA_CALL(name, ...) ::wc::cuda::check(::wc::cuda::driver().name(__VA_ARGS__), #name)
