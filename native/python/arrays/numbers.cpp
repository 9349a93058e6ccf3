#include "arrays/numbers.h"

#include <structmember.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "warp_core/dispatch_scalar.h"
#include "warp_core/half.h"
#include "warp_core/short_floats.h"

namespace wc {
namespace {

// Classes of typed scalars and the context variable that says whether components come out typed.
PyTypeObject* number_classes[static_cast<int>(Kind::None)][9] = {};
PyObject* typed_components = nullptr;

PyTypeObject*& number_class(Scalar s) { return number_classes[static_cast<int>(s.kind)][s.size]; }

template <class T>
void put(std::byte* to, T value) {
    std::memcpy(to, &value, sizeof value);
}

template <class T>
T get(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

bool is_float(Scalar s) { return s.kind == Kind::Float || s.kind == Kind::Bfloat; }

int significant_bits(Scalar s) { return s.kind == Kind::Bfloat ? 8 : s.size == 2 ? 11 : s.size == 4 ? 24 : 53; }

// False for integers, which floats are not rounded to.
bool store_double(Scalar s, double x, std::byte* to) {
    if (s.kind == Kind::Bool) {
        put(to, x != 0);
    } else if (s.kind == Kind::Bfloat) {
        put(to, to_bfloat(x));
    } else if (s.kind != Kind::Float) {
        return false;
    } else if (s.size == 4) {
        put(to, static_cast<float>(x));
    } else if (s.size == 8) {
        put(to, x);
    } else {
        put(to, to_half(x));
    }
    return true;
}

bool store_integer(Scalar s, PyObject* integer, std::byte* to) {
    if (!is_float(s) && s.kind != Kind::Bool) {
        uint64_t bits = PyLong_AsUnsignedLongLongMask(integer);
        std::memcpy(to, &bits, s.size);
        return true;
    }
    int overflow = 0;
    int64_t x = PyLong_AsLongLongAndOverflow(integer, &overflow);
    if (s.kind == Kind::Bool) {
        put(to, x != 0 || overflow);
        return true;
    }
    if (overflow) return false;
    if (s == Scalar{Kind::Float, 4}) {
        put(to, static_cast<float>(x));  // rounded once, which by way of double it would not be
        return true;
    }
    bool exact = std::abs(x >> 1) < int64_t{1} << 52;
    return (exact || s.size == 8) && store_double(s, static_cast<double>(x), to);
}

PyObject* wrap(PyTypeObject* cls, PyObject* value) {
    auto* made = reinterpret_cast<PyNumber*>(value ? cls->tp_alloc(cls, 0) : nullptr);
    if (!made) {
        Py_XDECREF(value);
        return nullptr;
    }
    made->value = value;
    return reinterpret_cast<PyObject*>(made);
}

void dealloc(PyObject* self) {
    Py_XDECREF(reinterpret_cast<PyNumber*>(self)->value);
    Py_TYPE(self)->tp_free(self);
}

PyObject* make(PyObject* cls, PyObject* value) {
    if (PyFloat_Check(value) || PyLong_Check(value))
        return wrap(reinterpret_cast<PyTypeObject*>(cls), Py_NewRef(value));
    return PyErr_Format(PyExc_TypeError, "expected int or float, got %.200s", Py_TYPE(value)->tp_name);
}

PyMemberDef members[] = {{"value", T_OBJECT_EX, offsetof(PyNumber, value), 0, "The number as a Python number."}, {}};
PyMethodDef methods[] = {{"_make", make, METH_CLASS | METH_O, "An instance for a value that is in range already."}, {}};

}  // namespace

PyTypeObject number_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

bool store(Scalar s, PyObject* x, std::byte* to) {
    if (PyObject_TypeCheck(x, &number_type)) x = reinterpret_cast<PyNumber*>(x)->value;
    if (!x) return false;
    if (PyFloat_Check(x)) return store_double(s, PyFloat_AS_DOUBLE(x), to);
    return PyLong_Check(x) && store_integer(s, x, to);
}

bool store_operand(Scalar s, PyObject* x, std::byte* to) {
    if (Py_TYPE(x) == number_class(s)) return store(s, x, to);
    if (PyFloat_Check(x)) return is_float(s) && store(s, x, to);
    if (PyBool_Check(x)) return s.kind == Kind::Bool && store(s, x, to);
    if (!PyLong_Check(x) || s.kind == Kind::Bool) return false;
    int overflow = 0;
    int64_t i = PyLong_AsLongLongAndOverflow(x, &overflow);
    if (overflow) return false;
    if (is_float(s)) return std::abs(i >> 1) < int64_t{1} << (significant_bits(s) - 1) && store(s, x, to);
    int shift = 64 - s.size * 8;
    bool fits = s.kind == Kind::Int ? i << shift >> shift == i
                                    : i >= 0 && static_cast<uint64_t>(i) << shift >> shift == static_cast<uint64_t>(i);
    return fits && store(s, x, to);
}

PyObject* plain_number(Scalar s, const std::byte* from) {
    return visit_scalar(s, [&]<class T>(T) -> PyObject* {
        if constexpr (std::is_same_v<T, bool>) return PyBool_FromLong(get<uint8_t>(from) != 0);
        T x = get<T>(from);
        if constexpr (std::is_same_v<T, Half>) {
            return PyFloat_FromDouble(half_number(x.bits));
        } else if constexpr (std::is_same_v<T, Bfloat>) {
            return PyFloat_FromDouble(bfloat_number(x.bits));
        } else if constexpr (std::is_floating_point_v<T>) {
            return PyFloat_FromDouble(x);
        } else if constexpr (std::is_signed_v<T>) {
            return PyLong_FromLongLong(x);
        } else {
            return PyLong_FromUnsignedLongLong(x);
        }
    });
}

PyObject* component(Scalar s, const std::byte* from) {
    bool has_plain = s == Scalar{Kind::Float, 4} || s == Scalar{Kind::Int, 4} || s.kind == Kind::Bool;
    if (has_plain) {
        PyObject* typed = nullptr;
        if (PyContextVar_Get(typed_components, nullptr, &typed) < 0) return nullptr;
        Py_DECREF(typed);
        if (typed != Py_True) return plain_number(s, from);
    }
    return wrap(number_class(s), plain_number(s, from));
}

Scalar scalar_of(PyTypeObject* cls) {
    for (int kind = 0; kind < static_cast<int>(Kind::None); ++kind)
        for (uint8_t size = 1; size <= 8; ++size)
            if (cls == number_classes[kind][size]) return {static_cast<Kind>(kind), size};
    return {};
}

void bind_numbers(nb::module_& m) {
    number_type.tp_name = "omni.warp_core._native.Number";
    number_type.tp_basicsize = sizeof(PyNumber);
    number_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
    number_type.tp_new = PyType_GenericNew;
    number_type.tp_dealloc = dealloc;
    number_type.tp_members = members;
    number_type.tp_methods = methods;
    if (PyType_Ready(&number_type) < 0) throw nb::python_error();
    m.attr("Number") = nb::handle(reinterpret_cast<PyObject*>(&number_type));

    typed_components = PyContextVar_New("typed_components", Py_False);
    if (!typed_components) throw nb::python_error();
    m.attr("typed_components") = nb::handle(typed_components);
    m.def(
        "set_number_class",
        [](const char* key, nb::type_object cls) {
            Scalar s = parse_dtype(key, 0).scalar;
            auto* type = reinterpret_cast<PyTypeObject*>(cls.ptr());
            if (s.kind == Kind::None || !PyType_IsSubtype(type, &number_type))
                throw nb::type_error("expected the key of a scalar type and a subclass of Number");
            number_class(s) = reinterpret_cast<PyTypeObject*>(cls.release().ptr());
        },
        nb::arg("key"), nb::arg("cls"));
    m.def("exp2", [](double x) { return std::exp2(x); }, nb::arg("x"));
    m.def("cbrt", [](double x) { return std::cbrt(x); }, nb::arg("x"));
}

}  // namespace wc
