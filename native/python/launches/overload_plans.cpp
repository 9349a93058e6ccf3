#include "launches/overload_plans.h"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>

namespace wc {

PyTypeObject* choices_type = nullptr;

namespace {

struct Names {
    PyObject* dtype = PyUnicode_InternFromString("dtype");
    PyObject* ndim = PyUnicode_InternFromString("ndim");
};

const Names& names() {
    static const Names& n = *new Names;  // never destroyed: it must not drop references after the interpreter is gone
    return n;
}

bool is_numpy_array(PyObject* value) { return std::strcmp(Py_TYPE(value)->tp_name, "numpy.ndarray") == 0; }

nb::object attribute(PyObject* object, PyObject* name) {
    nb::object found = nb::steal(PyObject_GetAttr(object, name));
    if (!found.is_valid()) PyErr_Clear();
    return found;
}

int dimensions(PyObject* value) {
    nb::object found = attribute(value, names().ndim);
    return found.is_valid() && PyLong_CheckExact(found.ptr()) ? static_cast<int>(PyLong_AsLong(found.ptr())) : -1;
}

}  // namespace

OverloadPlans::Key OverloadPlans::key_of(PyObject* value) {
    Key key;
    if (const PyArray* array = as_array(value)) {
        key.type = nb::borrow(reinterpret_cast<PyObject*>(array_type));
        key.dtype_id = array->dtype;
        key.ndim = array->ndim;
        return key;
    }
    key.type = nb::borrow(reinterpret_cast<PyObject*>(Py_TYPE(value)));
    if (is_numpy_array(value)) {
        key.dtype = attribute(value, names().dtype);
        key.ndim = dimensions(value);
    }
    return key;
}

bool OverloadPlans::matches(const Key& key, PyObject* value) {
    if (key.type.ptr() == reinterpret_cast<PyObject*>(array_type)) {
        const PyArray* array = as_array(value);
        return array && array->dtype == key.dtype_id && array->ndim == key.ndim;
    }
    if (key.type.ptr() != reinterpret_cast<PyObject*>(Py_TYPE(value))) return false;
    return !key.dtype.is_valid() ||
           (attribute(value, names().dtype).ptr() == key.dtype.ptr() && dimensions(value) == key.ndim);
}

nb::object OverloadPlans::find(PyObject* const* values, size_t count) const {
    if (!open_.empty() && open_.back() >= count) return {};
    for (const Entry& e : entries_) {
        size_t i = 0;
        while (i < open_.size() && matches(e.keys[i], values[open_[i]])) ++i;
        if (i == open_.size()) return e.plan;
    }
    return {};
}

bool OverloadPlans::add(PyObject* const* values, size_t count, nb::object plan) {
    if (!open_.empty() && open_.back() >= count) return false;
    Entry e{{}, std::move(plan)};
    for (size_t at : open_) e.keys.push_back(key_of(values[at]));
    entries_.push_back(std::move(e));
    return true;
}

int OverloadPlans::traverse(visitproc visit, void* arg) const {
    for (const Entry& e : entries_) {
        Py_VISIT(e.plan.ptr());
        for (const Key& key : e.keys) {
            Py_VISIT(key.type.ptr());
            Py_VISIT(key.dtype.ptr());
        }
    }
    return 0;
}

namespace {

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<OverloadPlans>(self)->traverse(visit, arg) : 0;
}

int clear(PyObject* self) {
    if (nb::inst_ready(self)) nb::inst_ptr<OverloadPlans>(self)->clear();
    return 0;
}

PyType_Slot slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};

}  // namespace

void bind_choices(nb::module_& m) {
    auto cls = nb::class_<OverloadPlans>(m, "OverloadPlans", nb::type_slots(slots));
    cls.def(
           "__init__",
           [](OverloadPlans* self, std::vector<size_t> open) {
               if (!std::is_sorted(open.begin(), open.end())) throw nb::value_error("the parameters must be in order");
               new (self) OverloadPlans(std::move(open));
           },
           nb::arg("open"))
        .def(
            "add",
            [](OverloadPlans& choices, nb::handle values, nb::object plan) {
                nb::object items = nb::steal(PySequence_Tuple(values.ptr()));
                if (!items.is_valid()) throw nb::python_error();
                return choices.add(&PyTuple_GET_ITEM(items.ptr(), 0),
                                   static_cast<size_t>(PyTuple_GET_SIZE(items.ptr())), std::move(plan));
            },
            nb::arg("args"), nb::arg("plan"));
    choices_type = reinterpret_cast<PyTypeObject*>(cls.ptr());
}

}  // namespace wc
