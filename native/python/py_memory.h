// The class of memory that arrays own.
#pragma once
#include "gil.h"
#include "py_array.h"
#include "warp_core/memory.h"

namespace wc {

// Owns one allocation.
struct Buffer {
    explicit Buffer(int64_t n) : memory(allocate(n)), nbytes(n) {}
    ~Buffer() { release(memory); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    void* memory;
    int64_t nbytes;
    bool shared = false;  // others know the address, and may write at any time
};

// Whether only this package writes to the memory of an array.
inline bool is_private(const PyArray& array) {
    return nb::isinstance<Buffer>(array.owner) && !nb::inst_ptr<Buffer>(array.owner)->shared;
}

// Does something to so much memory.
template <class F>
void without_gil_if_large(int64_t nbytes, F&& f) {
    if (nbytes < kParallelBytes) return f();
    without_gil(f);
}

}  // namespace wc
