// Numbers between Python and memory: the components of values.
#pragma once
#include <nanobind/nanobind.h>

#include <cstddef>

#include "warp_core/dtypes.h"

namespace wc {

namespace nb = nanobind;

// Number: the native part of the typed scalars of lang/values/scalars.py. `value` is a Python number in range.
struct PyNumber {
    PyObject_HEAD;
    PyObject* value;
};

extern PyTypeObject number_type;

// Writes a plain or typed number to memory as the cast operation converts it. Runs no Python code. False, with nothing
// written, for anything but the usual: other objects, a float for an integer, integers that need two roundings.
bool store(Scalar s, PyObject* number, std::byte* to);

// Writes a number as the operand next to type `s`: only if it is of that type, or a plain one that fits it exactly.
bool store_operand(Scalar s, PyObject* number, std::byte* to);

// The plain Python number in memory; a new reference.
PyObject* plain_number(Scalar s, const std::byte* from);

// As user code sees it: plain where Python has the type, typed otherwise.
PyObject* component(Scalar s, const std::byte* from);

// The scalar type of a class of typed scalars; Kind::None for other classes.
Scalar scalar_of(PyTypeObject* number_class);

void bind_numbers(nb::module_& m);

}  // namespace wc
