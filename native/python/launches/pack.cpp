// Python arguments to the argument block: one function for each kind of parameter.
#include <algorithm>
#include <cstring>

#include "arrays/buffers.h"
#include "interop/dlpack_export.h"
#include "launches/plan.h"
#include "values/records.h"
#include "values/values.h"

namespace wc {
namespace {

struct Names {
    PyObject* type = PyUnicode_InternFromString("__wc_type__");
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

bool is_empty(const ForeignMemory& memory) {
    return std::find(memory.shape, memory.shape + memory.ndim, 0) != memory.shape + memory.ndim;
}

std::string device_words(int id) { return id == 0 ? "the CPU" : "cuda:" + std::to_string(id - 1); }

// What an argument on one device and a launch on another are, and what to do.
std::string apart_words(int argument, int launch) {
    std::string out = "is on " + device_words(argument) + " but the launch is on " + device_words(launch);
    if (launch == 0)
        return out + ": launch with device=\"" + device_words(argument) + "\", or pass a copy, .to(\"cpu\")";
    return out + ": pass a copy, .to(\"" + device_words(launch) + "\")";
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
    if (!a) return pack_foreign(index, value, to, pins, strided);
    if (a->dtype != p.dtype_id || a->ndim != p.ndim) {
        ForeignMemory memory;  // a descriptor may show its tensor in another way than the kernel wants it
        if (a->tensor && borrow(a->tensor, memory, false)) return pack_memory(index, memory, to, strided);
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
    if (a->tensor && has_moved(*a))
        refuse(PyExc_ValueError, index,
               "is a descriptor whose tensor has got other memory since, as by resize_(): convert it again");
    std::memcpy(to, &a->view, sizeof(wc_array));
    strided |= !a->inner_contiguous;
}

// A tensor or any object with the buffer protocol, NumPy arrays above all. The memory is used in place.
void Plan::pack_foreign(size_t index, PyObject* value, std::byte* to, Pins& pins, bool& strided) const {
    ForeignMemory memory;
    Py_buffer view;
    if (borrow_tensor(index, value, memory)) {
        if (device_number(memory.device) > 0 && device_number(memory.device) == device_id &&
            pack_converted(index, value, to - params[index].offset, pins, strided))
            return;  // streams have to wait for each other
    } else if (params[index].dtype->scalar.kind != Kind::None && borrow_buffer(value, memory, view)) {
        pins.add(static_cast<const Py_buffer&>(view));
        // NumPy has all types, where tensors have few unsigned ones: another type is a mistake.
        if (memory.scalar != params[index].dtype->scalar) refuse_memory(index, memory, Misfit::Type);
    } else {
        if (pack_converted(index, value, to - params[index].offset, pins, strided)) return;
        bool list = PyList_Check(value) || PyTuple_Check(value);
        const ParamSpec& p = params[index];
        refuse(PyExc_TypeError, index,
               "expects " + array_words(p.dtype->display, p.ndim) + ", got " + describe(value) +
                   (list ? conversion_words(*p.dtype) : ""));
    }
    pack_memory(index, memory, to, strided);
}

// The library's own refusal names no argument.
bool Plan::borrow_tensor(size_t index, PyObject* value, ForeignMemory& memory) const {
    try {
        return borrow(value, memory);
    } catch (nb::python_error& e) {
        if (!e.matches(PyExc_Exception)) throw;
        nb::object kind = e.matches(PyExc_TypeError) || e.matches(PyExc_ValueError) ? nb::borrow(e.type())
                                                                                    : nb::borrow(PyExc_ValueError);
        refuse(kind.ptr(), index, std::string("cannot be used: ") + nb::str(e.value()).c_str());
    }
}

void Plan::pack_memory(size_t index, const ForeignMemory& memory, std::byte* to, bool& strided) const {
    const ParamSpec& p = params[index];
    Array a;
    Misfit why = fit(memory, p.dtype_id, p.ndim, a);
    if (why != Misfit::None && is_empty(memory) && memory.scalar == p.dtype->scalar) {
        std::memset(to, 0, sizeof(wc_array));  // stands for an array that the kernel does not use
        return;
    }
    if (why != Misfit::None) refuse_memory(index, memory, why);
    if (device_number(memory.device) != device_id) {
        if (device_number(memory.device) < 0)
            refuse(PyExc_ValueError, index,
                   "is on a device that kernels do not run on, number " + std::to_string(memory.device.type) +
                       " of DLPack: pass a copy on the CPU");
        refuse(PyExc_ValueError, index, apart_words(device_number(memory.device), device_id));
    }
    if (p.writable && memory.read_only)
        refuse(PyExc_ValueError, index, "is read-only but the kernel writes it; pass a copy");
    std::memcpy(to, &a.view, sizeof(wc_array));
    strided |= !a.inner_contiguous;
}

void Plan::refuse_memory(size_t index, const ForeignMemory& memory, Misfit why) const {
    const ParamSpec& p = params[index];
    if (why == Misfit::NotAligned) refuse(PyExc_ValueError, index, "is not aligned; pass a copy");
    if (why == Misfit::NoData)
        refuse(PyExc_ValueError, index, "cannot be used: it has elements, but no memory for them");
    bool same = memory.scalar == p.dtype->scalar;
    bool convertible = memory.scalar.kind != Kind::None && !same && memory.ndim == p.ndim + p.dtype->rank;
    refuse(PyExc_TypeError, index,
           "expects " + array_words(p.dtype->display, p.ndim) + ", got " + memory.words() +
               (p.dtype->rank == 0 ? dimension_words(memory.ndim, p.ndim) : "") +
               (why == Misfit::NotDense ? ", whose components are not contiguous; pass a contiguous copy" : "") +
               (convertible ? conversion_words(*p.dtype) : ""));
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
    nb::object values;
    std::vector<nb::object> arrays;
    if (const RecordLayout* layout = layout_of(value, values); layout && layout->size() == p.size)
        layout->pack(values, to, arrays);
    else if (!p.arrays.empty())
        pack_arrays(value, p.size, to, arrays);
    else
        refuse(PyExc_TypeError, index, "expects struct " + p.dtype->display + ", got " + describe(value));
    for (nb::object& array : arrays) {  // those of now, as the program may put others into the struct at any time
        if (int device = as_array(array.ptr())->device; device != device_id)
            refuse(PyExc_ValueError, index, "has an array that " + apart_words(device, device_id));
        pins.add(std::move(array));
    }
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
        // Not the error's own class, whose constructor may take something else than a text.
        PyObject* kind = e.matches(PyExc_TypeError) ? PyExc_TypeError : PyExc_ValueError;
        refuse(kind, index, std::string("cannot be used: ") + nb::str(e.value()).c_str());
    }
    if (replacement.is(nb::borrow(Py_NotImplemented)) || replacement.is(nb::borrow(value))) return false;
    if (params[index].kind == ArgKind::Array && !as_array(replacement.ptr())) return false;
    pack(index, replacement.ptr(), block, pins, strided);
    pins.add(std::move(replacement));
    return true;
}

}  // namespace wc
