// Python numbers to kernel scalars.
#include <cstring>

#include "launches/plan.h"
#include "warp_core/half.h"

namespace wc {
namespace {

template <class T>
void put(std::byte* to, T value) {
    std::memcpy(to, &value, sizeof value);
}

void put_integer(std::byte* to, int size, uint64_t bits) { std::memcpy(to, &bits, static_cast<size_t>(size)); }

std::string limits(const Scalar& s) {
    int bits = s.size * 8;
    if (s.kind == Kind::Uint) return "0 to " + std::to_string(~0ull >> (64 - bits));
    int64_t high = INT64_MAX >> (64 - bits);
    return std::to_string(-high - 1) + " to " + std::to_string(high);
}

// Either the value of a Python int as 64 bits, or false if it needs more than the scalar has.
bool integer_bits(PyObject* integer, const Scalar& s, uint64_t& bits) {
    int overflow = 0;
    int64_t value = PyLong_AsLongLongAndOverflow(integer, &overflow);
    int shift = 64 - s.size * 8;
    bits = static_cast<uint64_t>(value);
    if (s.kind == Kind::Int) return !overflow && value << shift >> shift == value;
    if (overflow > 0 && s.size == 8) {
        bits = PyLong_AsUnsignedLongLong(integer);
        if (!PyErr_Occurred()) return true;
        PyErr_Clear();
        return false;
    }
    return !overflow && value >= 0 && bits << shift >> shift == bits;
}

PyObject* pack_integer(const Scalar& s, const std::string& display, PyObject* value, std::byte* to, std::string& why) {
    nb::object integer;
    if (PyLong_Check(value)) {
        integer = nb::borrow(value);
    } else if (PyFloat_Check(value) || !PyIndex_Check(value)) {
        why = "expects " + display + ", got " + describe(value);
        if (PyFloat_Check(value)) why += "; convert it with int(...)";
        if (PyObject_HasAttrString(value, "id")) why += "; pass its `id`";  // a mesh, a volume or the like
        return PyExc_TypeError;
    } else {
        integer = nb::steal(PyNumber_Index(value));
        if (!integer.is_valid()) {
            PyErr_Clear();
            why = "expects " + display + ", got " + describe(value);
            return PyExc_TypeError;
        }
    }
    uint64_t bits;
    if (!integer_bits(integer.ptr(), s, bits)) {
        why = std::string(nb::str(integer).c_str()) + " is out of range for " + display + " (" + limits(s) + ")";
        return PyExc_ValueError;
    }
    put_integer(to, s.size, bits);
    return nullptr;
}

PyObject* pack_float(const Scalar& s, const std::string& display, PyObject* value, std::byte* to, std::string& why) {
    double x = PyFloat_AsDouble(value);
    if (x == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        why = "expects " + display + ", got " + describe(value);
        return PyExc_TypeError;
    }
    if (s.kind == Kind::Bfloat) {
        put(to, to_bfloat(x));
    } else if (s.size == 2) {
        put(to, to_half(x));
    } else if (s.size == 4) {
        put(to, static_cast<float>(x));
    } else {
        put(to, x);
    }
    return nullptr;
}

PyObject* pack_bool(const std::string& display, PyObject* value, std::byte* to, std::string& why) {
    int truth = PyNumber_Check(value) && !PySequence_Check(value) ? PyObject_IsTrue(value) : -1;
    if (truth < 0) {
        PyErr_Clear();
        why = "expects " + display + ", got " + describe(value);
        return PyExc_TypeError;
    }
    put(to, static_cast<uint8_t>(truth));
    return nullptr;
}

}  // namespace

PyObject* pack_scalar(const Scalar& s, const std::string& display, PyObject* value, std::byte* to, std::string& why) {
    switch (s.kind) {
        case Kind::Bool:
            return pack_bool(display, value, to, why);
        case Kind::Int:
        case Kind::Uint:
            return pack_integer(s, display, value, to, why);
        default:
            return pack_float(s, display, value, to, why);
    }
}

}  // namespace wc
