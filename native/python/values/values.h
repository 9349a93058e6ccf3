// Vectors, matrices, quaternions and transforms at Python scope.
//
// An instance is a Python object with its components inline, laid out as in kernels, or in memory of another object
// (`from_buffer`). Its class is made in Python, one
// for each type (lang/values/value_classes.py), and is an instance of ValueClass, which keeps what native code must
// know of the type. What is out of the ordinary goes to methods that the Python base class has: see Components in
// lang/values/value_methods.py. Start with `construct` in value_class.cpp; access is in value_access.cpp, arithmetic in
// value_operators.cpp.
#pragma once
#include <nanobind/nanobind.h>

#include <cstddef>

#include "warp_core/dtypes.h"

namespace wc {

namespace nb = nanobind;

enum class Form : uint8_t { Vec, Mat, Quat, Transform };

struct ValueInfo {
    PyObject* type;  // the Type of lang/types.py; null for the abstract classes
    Scalar scalar;
    Form form;
    Py_ssize_t rows, cols, count;  // what is not a matrix is one row
    Py_ssize_t itemsize, size;     // bytes of a component and of all

    bool is_matrix() const { return form == Form::Mat; }
};

struct ValueClass {
    PyHeapTypeObject heap;
    ValueInfo info;
};

struct Value {
    PyObject_HEAD;
    std::byte* data;  // `inside`, or memory of `owner`
    PyObject* owner;  // a memoryview, or null
    std::byte inside[];

    std::byte* at(Py_ssize_t i);
};

extern PyTypeObject value_meta, value_type;

inline const ValueInfo& info(PyTypeObject* cls) { return reinterpret_cast<ValueClass*>(cls)->info; }
inline const ValueInfo& info(const Value* v) { return info(Py_TYPE(v)); }
inline std::byte* Value::at(Py_ssize_t i) { return data + i * info(this).itemsize; }
inline PyObject* object(Value* v) { return reinterpret_cast<PyObject*>(v); }

// The value that `object` is, or null.
inline Value* as_value(PyObject* object) {
    return PyObject_TypeCheck(Py_TYPE(object), &value_meta) ? reinterpret_cast<Value*>(object) : nullptr;
}

// A value whose components are zero; null with an exception.
Value* allocate(PyTypeObject* cls);

// The class of vectors or matrices of this shape; borrowed. Null with an exception.
PyTypeObject* vector_class(Scalar s, Py_ssize_t count);
PyTypeObject* matrix_class(Scalar s, Py_ssize_t rows, Py_ssize_t cols);
PyTypeObject* quaternion_class(Scalar s);

// Sets the components to numbers that the class has checked; false with an exception.
bool assign_numbers(Value* v, PyObject* sequence);

// A type's name without its module.
const char* short_name(PyTypeObject* type);
inline const char* short_name(const Value* v) { return short_name(Py_TYPE(v)); }

// Names of the methods that the Python classes provide.
struct Hooks {
    PyObject* parse = PyUnicode_InternFromString("_parse");
    PyObject* convert = PyUnicode_InternFromString("_convert");
    PyObject* operand = PyUnicode_InternFromString("_operand");
    PyObject* equals = PyUnicode_InternFromString("_equals");
    PyObject* assign = PyUnicode_InternFromString("_assign");
};

const Hooks& hooks();

void add_access(PyTypeObject& type);
void add_operators(PyTypeObject& type);
bool add_attributes(PyTypeObject* cls);  // x, y, z, w, p, q as the class has them; false with an exception
void bind_values(nb::module_& m);
void bind_dispatchers(nb::module_& m);

}  // namespace wc
