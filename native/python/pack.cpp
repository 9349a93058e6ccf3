// Python arguments to the argument block: one function for each kind of parameter.
#include <algorithm>
#include <cstring>

#include "buffers.h"
#include "plan.h"
#include "values.h"

namespace wc {
namespace {

struct Names {
    PyObject* type = PyUnicode_InternFromString("__wc_type__");
    PyObject* pack = PyUnicode_InternFromString("_wc_pack");
    PyObject* pack_arrays = PyUnicode_InternFromString("_wc_pack_arrays");
};

const Names& names() {
    static const Names n;
    return n;
}

// Attribute of `object`, or null without an error.
nb::object attribute(PyObject* object, PyObject* name) {
    PyObject* found = PyObject_GetAttr(object, name);
    if (!found) PyErr_Clear();
    return nb::steal(found);
}

std::string array_words(const std::string& element, int ndim) {
    return "an array of " + element + " with " + std::to_string(ndim) + (ndim == 1 ? " dimension" : " dimensions");
}

std::string device_words(int id) { return id == 0 ? "the CPU" : "cuda:" + std::to_string(id - 1); }

// What an argument on one device and a launch on another are, and what to do.
std::string apart_words(int argument, int launch) {
    std::string out = "is on " + device_words(argument) + " but the launch is on " + device_words(launch);
    if (launch == 0)
        return out + ": launch with device=\"" + device_words(argument) + "\", or pass a copy, .to(\"cpu\")";
    return out + ": pass a copy, .to(\"" + device_words(launch) + "\")";
}

std::string scalar_words(const Scalar& s) {
    const char* kinds[] = {"bool", "int", "uint", "float", "bfloat", "?"};
    std::string kind = kinds[static_cast<int>(s.kind)];
    return s.kind == Kind::Bool || s.kind == Kind::None ? kind : kind + std::to_string(s.size * 8);
}

std::string shape_words(const Py_buffer& view) {
    std::string out = "(";
    for (int i = 0; i < view.ndim; ++i) out += (i ? ", " : "") + std::to_string(view.shape[i]);
    return out + (view.ndim == 1 ? ",)" : ")");
}

std::string buffer_words(const Py_buffer& view) {
    Scalar s = buffer_scalar(view.format, view.itemsize);
    std::string element = s.kind == Kind::None ? std::string("format ") + view.format : scalar_words(s);
    return "data of " + element + " with shape " + shape_words(view);
}

// How to pass an array of `given` dimensions where the kernel wants `wanted` of them; empty if they are the same.
std::string dimension_words(int given, int wanted) {
    if (given == wanted) return "";
    std::string declare = "; declare the parameter with ndim=" + std::to_string(given);
    if (given < wanted) return declare + ", or give the array its dimensions with x.reshape(...)";
    if (wanted > 1) return declare + ", or pass a part of the array, as x[0]";
    return declare + ", or pass all elements in a row, x.reshape(x.size)";
}

// How to make what a parameter takes out of numbers that have another type, or are in a list.
std::string conversion_words(const Dtype& wanted) {
    return wanted.scalar.kind == Kind::None ? "" : "; convert it: wp.array(..., dtype=wp." + wanted.display + ")";
}

// Whether the last dimensions of `view` are one packed value without gaps.
bool holds_packed(const Py_buffer& view, const Dtype& d, int ndim) {
    if (view.ndim != ndim + d.rank) return false;
    int64_t step = d.scalar.size;
    for (int i = d.rank - 1; i >= 0; step *= d.shape[i--])
        if (view.shape[ndim + i] != d.shape[i] || (d.shape[i] > 1 && view.strides[ndim + i] != step)) return false;
    return true;
}

bool is_aligned(const Py_buffer& view, int64_t size) {
    auto bits = reinterpret_cast<uintptr_t>(view.buf);
    for (int i = 0; i < view.ndim; ++i)
        if (view.shape[i] > 1) bits |= static_cast<uintptr_t>(view.strides[i]);
    return bits % static_cast<uintptr_t>(size) == 0;
}

// Writes the numbers of nested sequences one after the other.
class Flattener {
  public:
    Flattener(const Dtype& dtype, std::byte* to) : dtype_(dtype), to_(to), left_(dtype.shape[0] * dtype.shape[1]) {}

    // As pack_scalar.
    PyObject* add(PyObject* value, int depth, std::string& why) {
        if (depth == 0 || PyFloat_Check(value) || PyLong_Check(value) || !PySequence_Check(value))
            return number(value, why);
        nb::object items = nb::steal(PySequence_Fast(value, ""));
        if (!items.is_valid()) {
            PyErr_Clear();
            why = "got " + describe(value);
            return PyExc_TypeError;
        }
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.ptr()); ++i)
            if (PyObject* error = add(PySequence_Fast_GET_ITEM(items.ptr(), i), depth - 1, why)) return error;
        return nullptr;
    }

    int64_t left() const { return left_; }

  private:
    PyObject* number(PyObject* value, std::string& why) {
        if (--left_ < 0) return nullptr;
        PyObject* error = pack_scalar(dtype_.scalar, scalar_words(dtype_.scalar), value, to_, why);
        to_ += dtype_.scalar.size;
        return error;
    }

    const Dtype& dtype_;
    std::byte* to_;
    int64_t left_;
};

}  // namespace

std::string describe(PyObject* value) {
    if (value == Py_None) return "None";
    if (PyArray* a = as_array(value)) return array_words(dtype(a->dtype).display, a->ndim);
    std::string type = Py_TYPE(value)->tp_name;
    if (PyFloat_Check(value) || PyLong_Check(value)) return "the " + type + " " + nb::repr(value).c_str();
    return type;
}

void Plan::pack(size_t index, PyObject* value, std::byte* block, Pins& pins, bool& strided) const {
    const ParamSpec& p = params[index];
    std::byte* to = block + p.offset;
    std::string why;
    switch (p.kind) {
        case ArgKind::Array:
            return pack_array(index, value, to, pins, strided);
        case ArgKind::Packed:
            return pack_packed(index, value, to);
        case ArgKind::Struct:
            return pack_struct(index, value, to, pins, strided);
        case ArgKind::Scalar:
            if (PyObject* error = pack_scalar(p.dtype->scalar, p.dtype->display, value, to, why))
                refuse(error, index, why);
    }
}

void Plan::pack_array(size_t index, PyObject* value, std::byte* to, Pins& pins, bool& strided) const {
    const ParamSpec& p = params[index];
    PyArray* a = as_array(value);
    if (!a && value == Py_None) {
        std::memset(to, 0, sizeof(wc_array));
        return;
    }
    if (!a) return pack_buffer(index, value, to, pins, strided);
    if (a->dtype != p.dtype_id || a->ndim != p.ndim) {
        const Dtype& given = dtype(a->dtype);
        bool convertible = a->ndim == p.ndim && given.scalar.kind != Kind::None && given.scalar != p.dtype->scalar &&
                           given.rank == p.dtype->rank && std::equal(given.shape, given.shape + 2, p.dtype->shape);
        refuse(PyExc_TypeError, index,
               "expects " + array_words(p.dtype->display, p.ndim) + ", got " + describe(value) +
                   (a->dtype == p.dtype_id ? dimension_words(a->ndim, p.ndim) : "") +
                   (convertible ? conversion_words(*p.dtype) : ""));
    }
    if (a->device != device_id) refuse(PyExc_ValueError, index, apart_words(a->device, device_id));
    if (p.writable && a->flags & kReadOnly)
        refuse(PyExc_ValueError, index, "is read-only but the kernel writes it; pass a copy");
    std::memcpy(to, &a->view, sizeof(wc_array));
    strided |= !a->inner_contiguous;
}

// Any object with the buffer protocol, NumPy arrays above all. The memory is used in place.
void Plan::pack_buffer(size_t index, PyObject* value, std::byte* to, Pins& pins, bool& strided) const {
    const ParamSpec& p = params[index];
    std::string expects = "expects " + array_words(p.dtype->display, p.ndim);
    bool usable = PyObject_CheckBuffer(value) && p.dtype->scalar.kind != Kind::None;
    BufferView view(usable ? value : Py_None, PyBUF_STRIDES | PyBUF_FORMAT);
    if (!view.held) {
        PyErr_Clear();
        if (pack_converted(index, value, to - p.offset, pins, strided)) return;
        bool list = PyList_Check(value) || PyTuple_Check(value);
        refuse(PyExc_TypeError, index, expects + ", got " + describe(value) + (list ? conversion_words(*p.dtype) : ""));
    }
    Scalar scalar = buffer_scalar(view.format, view.itemsize);
    if (scalar != p.dtype->scalar || !holds_packed(view, *p.dtype, p.ndim)) {
        bool same = scalar == p.dtype->scalar;
        bool convertible = scalar.kind != Kind::None && !same && view.ndim == p.ndim + p.dtype->rank;
        refuse(PyExc_TypeError, index,
               expects + ", got " + buffer_words(view) +
                   (p.dtype->rank == 0 ? dimension_words(view.ndim, p.ndim) : "") +
                   (convertible ? conversion_words(*p.dtype) : ""));
    }
    if (device_id != 0) refuse(PyExc_ValueError, index, apart_words(0, device_id));
    if (p.writable && view.readonly)
        refuse(PyExc_ValueError, index, "is read-only but the kernel writes it; pass a copy");
    if (!is_aligned(view, p.dtype->scalar.size)) refuse(PyExc_ValueError, index, "is not aligned; pass a copy");
    Array a;
    a.ndim = p.ndim;
    a.dtype = p.dtype_id;
    a.view.data = view.buf;
    std::copy_n(view.shape, p.ndim, a.view.shape);
    std::copy_n(view.strides, p.ndim, a.view.strides);
    finish(a);
    std::memcpy(to, &a.view, sizeof(wc_array));
    strided |= !a.inner_contiguous;
    pins.add(static_cast<const Py_buffer&>(view));
    view.held = false;
}

// A value of the exact type gives its memory; anything else must be a sequence of numbers, nested or not.
void Plan::pack_packed(size_t index, PyObject* value, std::byte* to) const {
    const ParamSpec& p = params[index];
    if (Value* v = as_value(value)) {
        if (!p.type.is(info(v).type))
            refuse(PyExc_TypeError, index, "expects " + p.dtype->display + ", got " + describe(value));
        std::memcpy(to, v->data, p.size);
        return;
    }
    std::string why;
    Flattener flat(*p.dtype, to);
    if (!PySequence_Check(value))
        refuse(PyExc_TypeError, index, "expects " + p.dtype->display + ", got " + describe(value));
    if (PyObject* error = flat.add(value, 2, why))
        refuse(error, index, "expects " + p.dtype->display + "; a component " + why);
    if (flat.left() != 0) {
        int64_t count = p.dtype->shape[0] * p.dtype->shape[1];
        refuse(PyExc_ValueError, index,
               "expects " + p.dtype->display + " with " + std::to_string(count) + " components, got " +
                   std::to_string(count - flat.left()));
    }
}

void Plan::pack_struct(size_t index, PyObject* value, std::byte* to, Pins& pins, bool& strided) const {
    const ParamSpec& p = params[index];
    if (!attribute(value, names().type).is(p.type)) {
        if (pack_converted(index, value, to - p.offset, pins, strided)) return;
        refuse(PyExc_TypeError, index, "expects struct " + p.dtype->display + ", got " + describe(value));
    }
    nb::object bytes;
    if (p.arrays.empty()) {
        bytes = nb::borrow(value).attr(names().pack)();
    } else {  // what is pinned are the arrays of now, as the program may put others into the struct at any time
        auto packed = nb::cast<nb::tuple>(nb::borrow(value).attr(names().pack_arrays)());
        bytes = packed[0];
        nb::object leaves = packed[1];
        for (nb::handle leaf : leaves)
            if (PyArray* a = as_array(leaf.ptr()); a && a->device != device_id)
                refuse(PyExc_ValueError, index, "has an array that " + apart_words(a->device, device_id));
        pins.add(std::move(leaves));
    }
    if (!PyBytes_Check(bytes.ptr()) || PyBytes_GET_SIZE(bytes.ptr()) != p.size)
        refuse(PyExc_TypeError, index, "has a _wc_pack() that does not give " + std::to_string(p.size) + " bytes");
    std::memcpy(to, PyBytes_AS_STRING(bytes.ptr()), p.size);
    for (const ArrayField& field : p.arrays) strided |= !field.inner_contiguous(to);
}

// Lets Python turn the value into something this file understands; false if it does not want to.
bool Plan::pack_converted(size_t index, PyObject* value, std::byte* block, Pins& pins, bool& strided) const {
    if (convert.is_none()) return false;
    nb::object replacement;
    try {
        replacement = convert(index, nb::borrow(value));
    } catch (nb::python_error& e) {
        if (!e.matches(PyExc_TypeError) && !e.matches(PyExc_ValueError)) throw;
        refuse(e.type().ptr(), index, std::string("cannot be used: ") + nb::str(e.value()).c_str());
    }
    if (replacement.is(nb::borrow(Py_NotImplemented)) || replacement.is(nb::borrow(value))) return false;
    if (params[index].kind == ArgKind::Array && !as_array(replacement.ptr())) return false;
    pack(index, replacement.ptr(), block, pins, strided);
    pins.add(std::move(replacement));
    return true;
}

}  // namespace wc
