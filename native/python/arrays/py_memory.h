// The class of memory that arrays own.
#pragma once
#include "arrays/py_array.h"
#include "gil.h"
#include "warp_core/dtypes.h"
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

// Whether memory of the CPU is contiguous and writable, and contains only numbers.
inline bool is_dense_numbers(const PyArray& a) {
    return a.device == 0 && a.contiguous && a.size > 0 && !(a.flags & kReadOnly) &&
           dtype(a.dtype).scalar.kind != Kind::None;
}

// Whether memory is contiguous and writable, belongs to this package, and contains only numbers.
inline bool is_plain(const PyArray& a) { return is_dense_numbers(a) && nb::isinstance<Buffer>(a.owner); }

// The same, but the memory may also be that of a tensor, which DLPack has lent.
inline bool is_plain_or_lent(const PyArray& a) {
    return is_dense_numbers(a) && (nb::isinstance<Buffer>(a.owner) || PyCapsule_CheckExact(a.owner.ptr()));
}

inline bool is_float(Kind kind) { return kind == Kind::Float || kind == Kind::Bfloat; }

// Sets the elements of an array whose memory is plain to the bytes of one, whatever observes.
void fill_plain(nb::handle array, const nb::bytes& pattern);

// Sets a gradient to zero, whatever observes. False, with nothing done, if its memory is not plain, nor lent.
bool clear_gradient(nb::handle gradient);

// Does something to so much memory.
template <class F>
void without_gil_if_large(int64_t nbytes, F&& f) {
    if (nbytes < kParallelBytes) return f();
    without_gil(f);
}

}  // namespace wc
