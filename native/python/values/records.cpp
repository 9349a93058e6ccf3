#include "values/records.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cstring>

#include "arrays/py_array.h"
#include "launches/plan.h"
#include "values/values.h"

namespace wc {
namespace {

struct Names {
    PyObject* leaves = PyUnicode_InternFromString("_leaves");
    PyObject* layout = PyUnicode_InternFromString("_wc_layout");
    PyObject* values = PyUnicode_InternFromString("_values");
};

const Names& names() {
    static const Names n;
    return n;
}

nb::bytes packed(const RecordLayout& layout, nb::handle values) {
    std::vector<nb::object> arrays;
    nb::bytes made = nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, layout.size()));
    if (!made.is_valid()) throw nb::python_error();
    layout.pack(values, reinterpret_cast<std::byte*>(PyBytes_AS_STRING(made.ptr())), arrays);
    return made;
}

void pack_array(PyObject* value, std::byte* to, std::vector<nb::object>& arrays) {
    PyArray* a = as_array(value);
    if (!a && value != Py_None) throw nb::type_error("expected an array or None in a struct");
    if (!a) return;
    std::memcpy(to, &a->view, sizeof(wc_array));
    arrays.push_back(nb::borrow(value));
}

void pack_record(const RecordLayout& wanted, PyObject* value, std::byte* to, std::vector<nb::object>& arrays) {
    nb::object values;
    const RecordLayout* layout = layout_of(value, values);
    if (!layout || *layout != wanted) throw nb::type_error("expected a struct");
    layout->pack(values, to, arrays);
}

void pack_value(const Dtype& dtype, PyObject* value, std::byte* to) {
    Value* v = as_value(value);
    if (!v) throw nb::type_error("expected a vector, matrix, quaternion or transform in a struct");
    if (info(v).size != dtype.itemsize) throw nb::type_error("a value of another type in a struct");
    std::memcpy(to, v->data, dtype.itemsize);
}

void pack_number(const Dtype& dtype, PyObject* value, std::byte* to) {
    std::string why;
    if (PyObject* error = pack_scalar(dtype.scalar, dtype.display, value, to, why)) {
        PyErr_SetString(error, why.c_str());
        throw nb::python_error();
    }
}

}  // namespace

RecordLayout::RecordLayout(size_t size, nb::sequence fields) : size_(size) {
    for (nb::handle each : fields) {
        auto [offset, type, nested] = nb::cast<std::tuple<size_t, nb::object, nb::object>>(each);
        Field field{Form::Scalar, offset, nb::cast<size_t>(nb::getattr(type, "size"))};
        if (offset > size || field.size > size - offset) throw nb::value_error("a field outside of its struct");
        if (!nested.is_none()) {
            if (nb::cast<const RecordLayout&>(nested).size() != field.size) throw nb::value_error("another layout");
            field.form = Form::Record;
            field.layout = nested;
        } else if (nb::hasattr(type, "ndim")) {
            if (field.size != sizeof(wc_array)) throw nb::value_error("bad array type");
            field.form = Form::Array;
        } else {
            field.dtype = &dtype(type_id(nb::cast<std::string>(nb::getattr(type, "key")), field.size));
            bool other = field.dtype->scalar.kind == Kind::None;
            field.form = other ? Form::Other : field.dtype->rank ? Form::Packed : Form::Scalar;
        }
        fields_.push_back(std::move(field));
    }
}

bool RecordLayout::Field::operator==(const Field& other) const {
    if (form != other.form || offset != other.offset || size != other.size || dtype != other.dtype) return false;
    return !layout.is_valid() || *nb::inst_ptr<RecordLayout>(layout) == *nb::inst_ptr<RecordLayout>(other.layout);
}

bool RecordLayout::operator==(const RecordLayout& other) const {
    return this == &other || (size_ == other.size_ && fields_ == other.fields_);
}

void RecordLayout::pack(nb::handle values, std::byte* to, std::vector<nb::object>& arrays) const {
    std::memset(to, 0, size_);
    if (!PyList_Check(values.ptr()) || static_cast<size_t>(PyList_GET_SIZE(values.ptr())) != fields_.size())
        throw nb::type_error("expected the values of a struct");
    for (size_t i = 0; i < fields_.size(); ++i) {
        nb::object value = nb::borrow(PyList_GET_ITEM(values.ptr(), i));
        pack_field(fields_[i], value.ptr(), to + fields_[i].offset, arrays);
    }
}

void RecordLayout::pack_field(const Field& field, PyObject* value, std::byte* to,
                              std::vector<nb::object>& arrays) const {
    switch (field.form) {
        case Form::Array:
            return pack_array(value, to, arrays);
        case Form::Other:
            return pack_arrays(value, field.size, to, arrays);
        case Form::Record:
            return pack_record(*nb::inst_ptr<RecordLayout>(field.layout), value, to, arrays);
        case Form::Packed:
            return pack_value(*field.dtype, value, to);
        case Form::Scalar:
            return pack_number(*field.dtype, value, to);
    }
}

void pack_arrays(nb::handle object, size_t size, std::byte* to, std::vector<nb::object>& arrays) {
    std::memset(to, 0, size);
    if (object.is_none()) return;
    nb::tuple leaves = nb::cast<nb::tuple>(nb::borrow(object).attr(names().leaves)());
    if (leaves.size() * sizeof(wc_array) != size) throw nb::type_error("a value with other arrays in a struct");
    for (size_t i = 0; i < leaves.size(); ++i) pack_array(leaves[i].ptr(), to + i * sizeof(wc_array), arrays);
}

const RecordLayout* layout_of(nb::handle object, nb::object& values) {
    nb::object layout = nb::steal(PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())), names().layout));
    const RecordLayout* found = nullptr;
    if (!layout.is_valid()) PyErr_Clear();
    if (!layout.is_valid() || !nb::try_cast<const RecordLayout*>(layout, found)) return nullptr;
    values = nb::steal(PyObject_GetAttr(object.ptr(), names().values));
    if (!values.is_valid()) throw nb::python_error();
    return found;
}

void bind_records(nb::module_& m) {
    nb::class_<RecordLayout>(m, "RecordLayout", "Where a struct type has its fields.")
        .def(nb::init<size_t, nb::sequence>(), nb::arg("size"), nb::arg("fields"))
        .def("pack", packed, nb::arg("values"), "The memory of an instance that has these values, as kernels see it.");
}

}  // namespace wc
