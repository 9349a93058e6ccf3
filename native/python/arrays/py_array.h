// ArrayBase: the native part of the Python class wp.array.
#pragma once
#include <nanobind/nanobind.h>

#include <memory>

#include "warp_core/array.h"

namespace wc {

namespace nb = nanobind;

// When a look at the gradients of all arrays found nothing but an array's own in its memory, and what it looked at.
struct OwnGradient {
    uint64_t changes = UINT64_MAX;  // of the index of gradients
    uintptr_t low = 0, high = 0;
    const void* grad = nullptr;
    bool operator==(const OwnGradient&) const = default;
};

struct PyArray : Array {
    nb::object owner;                    // keeps the memory alive
    PyObject* tensor = nullptr;          // of a descriptor: whose memory it is now, but need not stay; held by `owner`
    std::unique_ptr<int64_t[]> extents;  // as other libraries have borrowed them
    OwnGradient own_gradient;
    nb::object declared_shape;  // the shape that a program gave to an array without memory, as a note in an annotation
};

// An array that launches take, and nothing else does: its Python object is quick to make.
struct Descriptor : PyArray {};

extern PyTypeObject* array_type;

// The array inside `object`, or nullptr if it is not an array or was never initialised.
inline PyArray* as_array(PyObject* object) {
    if (!PyObject_TypeCheck(object, array_type)) return nullptr;
    return nb::inst_ready(object) ? nb::inst_ptr<PyArray>(object) : nullptr;
}

void bind_arrays(nb::module_& m);
void bind_memory(nb::module_& m);
void bind_gradients(nb::module_& m);
void bind_algorithms(nb::module_& m);
void bind_graph_coloring(nb::module_& m);
void bind_bvh(nb::module_& m);
void bind_loader(nb::module_& m);
void bind_plans(nb::module_& m);
void bind_choices(nb::module_& m);
void bind_launch(nb::module_& m);
void bind_graphs(nb::module_& m);
void bind_cuda(nb::module_& m);
void bind_exchange(nb::module_& m);
void bind_threads(nb::module_& m);
void bind_range_locks(nb::module_& m);
void bind_volume_files(nb::module_& m);
void bind_grids(nb::module_& m);
void bind_xla(nb::module_& m);

}  // namespace wc
