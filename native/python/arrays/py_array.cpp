#include "arrays/py_array.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <array>
#include <string>

#include "interop/exchange.h"
#include "warp_core/dtypes.h"
#include "warp_core/spans.h"

namespace wc {

PyTypeObject* array_type = nullptr;

namespace {

int64_t integer(PyObject* item) {
    int64_t value = PyLong_AsLongLong(item);
    if (value == -1 && PyErr_Occurred()) throw nb::python_error();
    return value;
}

void set_shape(Array& array, const nb::tuple& shape) {
    array.ndim = static_cast<int32_t>(shape.size());
    if (array.ndim < 1 || array.ndim > kMaxNdim) throw nb::value_error("arrays have 1 to 4 dimensions");
    for (int i = 0; i < array.ndim; ++i) {
        array.view.shape[i] = integer(PyTuple_GET_ITEM(shape.ptr(), i));
        if (array.view.shape[i] < 0) throw nb::value_error("the extents of an array must not be negative");
    }
}

void set_strides(Array& array, nb::handle strides) {
    if (strides.is_none()) {
        int64_t step = dtype(array.dtype).itemsize;
        for (int i = array.ndim - 1; i >= 0; step *= array.view.shape[i--]) array.view.strides[i] = step;
        return;
    }
    if (!PyTuple_Check(strides.ptr()) || PyTuple_GET_SIZE(strides.ptr()) != array.ndim)
        throw nb::value_error("strides must be a tuple with one entry per dimension");
    for (int i = 0; i < array.ndim; ++i) array.view.strides[i] = integer(PyTuple_GET_ITEM(strides.ptr(), i));
}

void init(PyArray* self, uintptr_t ptr, nb::tuple shape, nb::handle strides, int dtype_id, int device_id,
          uint32_t flags, nb::object owner, uintptr_t grad_ptr) {
    PyArray array;
    if (dtype_id < 0 || dtype_id >= dtype_count()) throw nb::value_error("unknown dtype_id");
    array.dtype = dtype_id;
    array.device = device_id;
    array.flags = flags;
    array.view.data = reinterpret_cast<void*>(ptr);
    array.view.grad = reinterpret_cast<void*>(grad_ptr);
    set_shape(array, shape);
    set_strides(array, strides);
    finish(array);
    array.owner = std::move(owner);
    new (self) PyArray(std::move(array));
}

nb::tuple tuple_of(const int64_t* values, int n) {
    PyObject* out = PyTuple_New(n);
    if (!out) throw nb::python_error();
    for (int i = 0; i < n; ++i) PyTuple_SET_ITEM(out, i, PyLong_FromLongLong(values[i]));
    return nb::steal<nb::tuple>(out);
}

nb::tuple shape_of(const PyArray& a) {
    return a.declared_shape.is_valid() ? nb::borrow<nb::tuple>(a.declared_shape) : tuple_of(a.view.shape, a.ndim);
}

// Programs note in annotations what the extents stand for, such as names of sizes.
void declare_shape(PyArray& a, nb::tuple shape) {
    if (a.view.data != nullptr)
        throw nb::attribute_error(
            "the shape of an array cannot be set: write a.reshape(shape), which shows the same memory");
    if (static_cast<int>(shape.size()) != a.ndim)
        throw nb::value_error("shape: an annotation takes one entry for each dimension");
    a.declared_shape = shape;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    Py_VISIT(nb::inst_ptr<PyArray>(self)->owner.ptr());
    Py_VISIT(nb::inst_ptr<PyArray>(self)->declared_shape.ptr());
    return 0;
}

int clear(PyObject* self) {
    if (!nb::inst_ready(self)) return 0;
    nb::inst_ptr<PyArray>(self)->owner.reset();
    nb::inst_ptr<PyArray>(self)->declared_shape.reset();
    return 0;
}

PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_bf_getbuffer, reinterpret_cast<void*>(get_array_buffer)},
                       {Py_bf_releasebuffer, reinterpret_cast<void*>(release_array_buffer)},
                       {0, nullptr}};

}  // namespace

void bind_arrays(nb::module_& m) {
    m.attr("READONLY") = static_cast<int>(kReadOnly);
    m.def("type_id", &type_id, nb::arg("key"), nb::arg("itemsize"));
    m.def("type_key", [](int id) { return dtype(id).key; }, nb::arg("id"));

    auto cls = nb::class_<PyArray>(m, "ArrayBase", nb::type_slots(slots), nb::is_weak_referenceable());
    cls.def("__init__", &init, nb::arg("ptr"), nb::arg("shape"), nb::arg("strides").none(), nb::arg("dtype_id"),
            nb::arg("device_id") = 0, nb::arg("flags") = 0, nb::arg("owner").none() = nb::none(),
            nb::arg("grad_ptr") = 0)
        .def_prop_ro(
            "ptr", [](const PyArray& a) { return reinterpret_cast<uintptr_t>(a.view.data); },
            "The address of the first element.")
        .def_prop_ro(
            "_address", [](const PyArray& a) { return reinterpret_cast<uintptr_t>(a.view.data); }, "The same.")
        .def_prop_ro(
            "_span",
            [](const PyArray& a) {
                Range range = range_of(a);
                return nb::make_tuple(range.low, range.high);
            },
            "The addresses that the elements cover, from the first to one past the last.")
        .def_prop_ro(
            "_identity",
            [](const PyArray& a) {
                std::array<int64_t, 2 * kMaxNdim + 2> numbers{};
                numbers[0] = static_cast<int64_t>(reinterpret_cast<uintptr_t>(a.view.data));
                numbers[1] = (int64_t{a.dtype} << 8) | a.ndim;
                std::copy_n(a.view.shape, a.ndim, &numbers[2]);
                std::copy_n(a.view.strides, a.ndim, &numbers[2 + kMaxNdim]);
                return nb::bytes(reinterpret_cast<const char*>(numbers.data()), sizeof numbers);
            },
            "What arrays have in common exactly if they show the same elements of memory in the same way.")
        .def_prop_rw("shape", &shape_of, &declare_shape, "The extents, one for each dimension.")
        .def_prop_ro(
            "strides", [](const PyArray& a) { return tuple_of(a.view.strides, a.ndim); },
            "The bytes from one element to the next, for each dimension.")
        .def_prop_ro(
            "ndim", [](const PyArray& a) { return a.ndim; }, "The number of dimensions, 1 to 4.")
        .def_prop_ro(
            "size", [](const PyArray& a) { return a.size; }, "The number of elements.")
        .def_prop_ro(
            "dtype_id", [](const PyArray& a) { return a.dtype; }, "The small id of the element type.")
        .def_prop_ro(
            "device_id", [](const PyArray& a) { return a.device; }, "The number of the device; 0 is the CPU.")
        .def_prop_ro(
            "flags", [](const PyArray& a) { return a.flags; }, "Bits that say how the memory may be used.")
        .def_prop_ro(
            "owner", [](const PyArray& a) { return a.owner; }, "What keeps the memory alive.")
        .def_prop_ro(
            "inner_contiguous", [](const PyArray& a) { return a.inner_contiguous; },
            "Whether all dimensions but the first lie without gaps.")
        .def_prop_ro(
            "is_contiguous", [](const PyArray& a) { return a.contiguous; },
            "Whether the elements lie in C order without gaps.")
        .def_prop_rw(
            "grad_ptr", [](const PyArray& a) { return reinterpret_cast<uintptr_t>(a.view.grad); },
            [](PyArray& a, uintptr_t p) { a.view.grad = reinterpret_cast<void*>(p); },
            "The address of the gradient's first element, 0 without a gradient.")
        .def(
            "_lose_memory",
            [](PyArray& a, int dtype_id) {
                if (dtype_id < 0 || dtype_id >= dtype_count()) throw nb::value_error("unknown dtype_id");
                a.dtype = dtype_id;
                a.view.data = a.view.grad = nullptr;
            },
            nb::arg("dtype_id"), "Show no memory any more, as elements of a type that nothing takes.");
    array_type = reinterpret_cast<PyTypeObject*>(cls.ptr());

    nb::class_<Descriptor, PyArray>(m, "ArrayDescriptor")
        .def_prop_ro(
            "data", [](const Descriptor& a) { return reinterpret_cast<uintptr_t>(a.view.data); },
            "The address of the first element.")
        .def_prop_ro(
            "grad", [](const Descriptor& a) { return reinterpret_cast<uintptr_t>(a.view.grad); },
            "The address of the gradient's first element, 0 without a gradient.")
        .def_static(
            "from_buffer_copy",
            [](const Descriptor& source) {
                Descriptor made;
                static_cast<Array&>(made) = source;
                return made;
            },
            nb::arg("source"), "A descriptor of the same memory that does not keep it alive.");
}

}  // namespace wc
