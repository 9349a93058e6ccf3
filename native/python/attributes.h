// Attributes of Python objects by interned names.
#pragma once
#include <nanobind/nanobind.h>

namespace wc {

namespace nb = nanobind;

// Raises what Python raises.
inline nb::object attribute(nb::handle object, PyObject* name) {
    nb::object found = nb::steal(PyObject_GetAttr(object.ptr(), name));
    if (!found.is_valid()) throw nb::python_error();
    return found;
}

}  // namespace wc
