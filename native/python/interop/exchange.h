// Memory of objects of other libraries, as the element and dimensions that this package wants.
#pragma once
#include <string>

#include "arrays/py_array.h"
#include "warp_core/dlpack.h"
#include "warp_core/dtypes.h"

namespace wc {

// What another library says about memory. Strides are in bytes.
struct ForeignMemory {
    static constexpr int kMost = kMaxNdim + 2;  // dimensions, those of components included
    void* data = nullptr;
    dlpack::Device device{dlpack::kHost, 0};
    Scalar scalar;          // Kind::None: numbers that this package has not
    std::string type_name;  // of numbers that this package has not
    int ndim = 0;
    bool read_only = false;
    int64_t shape[kMost], strides[kMost];

    std::string words() const;        // "data of float32 with shape (2, 3)"
    std::string shape_words() const;  // "(2, 3)"
};

std::string scalar_words(const Scalar& s);

enum class Misfit { None, Type, Components, Dimensions, NotDense, NotAligned, NoData, TooMany };

// Shows foreign memory as elements of a type in an array of `ndim` dimensions, -1 for those there are. Trailing
// dimensions become components, no dimension becomes one. Signed and unsigned numbers of one size are the same, and a
// bool is a uint8.
Misfit fit(const ForeignMemory& memory, int dtype_id, int ndim, Array& out);

// Borrows the memory of an object through the table of its class; it lives as long as the object, unchanged. False if
// there is no such table. Raises the library's errors, and TypeError for a tensor whose gradient would be lost.
bool borrow(PyObject* object, ForeignMemory& out, bool checks_gradient = true);

// Whether the tensor of a descriptor has got other memory since, as by resize_(), or none.
bool has_moved(const PyArray& a);

// An object that keeps the memory of a tensor where it is; invalid for objects without a table.
nb::object held_tensor(PyObject* object);

// The same of the buffer protocol; `view` is to be released if true.
bool borrow_buffer(PyObject* object, ForeignMemory& out, Py_buffer& view);

// How arrays offer the buffer protocol.
int get_array_buffer(PyObject* self, Py_buffer* view, int flags);
void release_array_buffer(PyObject* self, Py_buffer* view);

}  // namespace wc
