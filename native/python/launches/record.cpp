#include "launches/record.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays/py_memory.h"
#include "attributes.h"
#include "tape/launch_step.h"
#include "tape/py_spans.h"
#include "tape/saved_span.h"
#include "values/values.h"
#include "warp_core/dtypes.h"

namespace wc {
namespace {

uint64_t options_epoch = 0;  // counts changes of the options that templates depend on

thread_local PyObject* observing = nullptr;  // of this thread, a tuple, innermost last; may be null
thread_local PyObject* examined = nullptr;   // the tuple that `recorder` has last looked at
thread_local PyObject* recorder = nullptr;   // the tape in it, if the other observers only want to be told of launches

// What launches of a kernel on disjoint arrays have in common; parameters by their numbers.
struct LaunchTemplate {
    nb::object shared;  // the part that steps have, a StepTemplate
    nb::object enable_backward, array_class;
    std::vector<size_t> arrays, values, results;  // results: written arrays of floating point numbers
    std::vector<size_t> read, written;            // by the adjoint, as it was before the launch; by the launch
    uint64_t epoch;

    nb::handle kernel() const { return nb::inst_ptr<StepTemplate>(shared)->kernel; }
};

struct Names {
    PyObject* is_recorder = PyUnicode_InternFromString("is_recorder");
    PyObject* notices_launches = PyUnicode_InternFromString("notices_launches");
    PyObject* notice_launch = PyUnicode_InternFromString("notice_launch");
    PyObject* launches = PyUnicode_InternFromString("launches");
    PyObject* notes = PyUnicode_InternFromString("notes");
    PyObject* records = PyUnicode_InternFromString("records");
    PyObject* detached = PyUnicode_InternFromString("cuts");
    PyObject* tracker = PyUnicode_InternFromString("seals");
    PyObject* pool = PyUnicode_InternFromString("keeper");
    PyObject* enable_backward = PyUnicode_InternFromString("enable_backward");
    PyObject* type = PyUnicode_InternFromString("__wc_type__");
};

// Functions of Python. Never destroyed: they must not drop references after the interpreter is gone.
struct Callbacks {
    nb::object abort, copy, call_site, find_call_site;
    std::string package;
    bool enabled = false;
};

const Names& names() {
    static const Names& all = *new Names;
    return all;
}

Callbacks& callbacks() {
    static Callbacks& all = *new Callbacks;
    return all;
}

bool is_true(PyObject* object, PyObject* name) {
    int found = PyObject_IsTrue(attribute(object, name).ptr());
    if (found < 0) throw nb::python_error();
    return found != 0;
}

void append(nb::handle object, PyObject* name, const nb::object& item) {
    if (PyList_Append(attribute(object, name).ptr(), item.ptr()) < 0) throw nb::python_error();
}

void keep(nb::handle tape, const nb::object& step, const nb::object& site) {
    append(tape, names().launches, step);
    append(tape, names().notes, site);
}

// A number of threads as an integer that stays what it is: an array of one number may change. Anything else stays as it
// is, and the launch refuses it.
nb::object fixed_number(nb::handle number) {
    if (PyLong_CheckExact(number.ptr())) return nb::borrow(number);
    nb::object found = nb::steal(PyNumber_Index(number.ptr()));
    if (found.is_valid()) return found;
    PyErr_Clear();
    return nb::borrow(number);
}

// Dimensions that stay what they are.
nb::object fixed(nb::handle dim) {
    if (!PyList_Check(dim.ptr()) && !PyTuple_Check(dim.ptr())) return fixed_number(dim);
    nb::list found;
    for (nb::handle number : nb::borrow<nb::sequence>(dim)) found.append(fixed_number(number));
    return nb::tuple(found);
}

PyObject* find_recorder() {
    Py_ssize_t count = observing ? PyTuple_GET_SIZE(observing) : 0;
    if (count == 0) return nullptr;
    if (examined == observing) return recorder;
    PyObject* first = PyTuple_GET_ITEM(observing, 0);
    bool fits = is_true(first, names().is_recorder);
    for (Py_ssize_t i = 1; fits && i < count; ++i)
        fits = is_true(PyTuple_GET_ITEM(observing, i), names().notices_launches);
    examined = observing;
    return recorder = fits ? first : nullptr;
}

// The call site of a launch or a fill. Those of loops come again and again, so that some are remembered.
class CallSites {
  public:
    // Of a function of this name: native code if `within` is 0, else so many frames of this package deep.
    nb::object here(const char* called, int within) {
#if PY_VERSION_HEX >= 0x030B0000
        nb::object frame = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
        for (int i = 0; i < within && frame.is_valid(); ++i)
            frame = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(as_frame(frame))));
        if (!frame.is_valid()) return callbacks().find_call_site(called);
        nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(as_frame(frame))));
        int at = PyFrame_GetLasti(as_frame(frame));
        Entry& entry = entries_[(reinterpret_cast<uintptr_t>(code.ptr()) / 64 + static_cast<uintptr_t>(at)) % kEntries];
        if (entry.code.is(code) && entry.at == at && entry.called == called) return entry.site;
        nb::object site = look_up(as_frame(frame), reinterpret_cast<PyCodeObject*>(code.ptr()), called);
        if (site.is_valid()) {
            entry = {std::move(code), at, called, site};
            return site;
        }
#endif
        return callbacks().find_call_site(called);
    }

  private:
    static constexpr size_t kEntries = 64;
    struct Entry {
        nb::object code;
        int at = -1;
        const char* called = nullptr;
        nb::object site;
    };

    static PyFrameObject* as_frame(const nb::object& frame) { return reinterpret_cast<PyFrameObject*>(frame.ptr()); }

    // Invalid if this package itself has called.
    static nb::object look_up(PyFrameObject* frame, PyCodeObject* code, const char* called) {
        const char* file = PyUnicode_AsUTF8(code->co_filename);
        if (!file) throw nb::python_error();
        if (std::string_view(file).starts_with(callbacks().package)) return {};
        return callbacks().call_site(called, nb::handle(code->co_filename), PyFrame_GetLineNumber(frame));
    }

    std::array<Entry, kEntries> entries_;
};

nb::object call_site(const char* called = "launch", int within = 0) {
    static CallSites& sites = *new CallSites;
    return sites.here(called, within);
}

// A copy of a value that may change. Vectors, matrices and the like are their components.
nb::object copied(PyObject* object) {
    const Value* value = as_value(object);
    if (!value || Py_TYPE(object)->tp_dictoffset != 0 || !info(value).type) return callbacks().copy(nb::handle(object));
    Value* made = allocate(Py_TYPE(object));
    if (!made) throw nb::python_error();
    std::memcpy(made->data, value->data, static_cast<size_t>(info(value).size));
    return nb::steal(wc::object(made));
}

bool is_number(PyObject* value) {
    return PyFloat_CheckExact(value) || PyLong_CheckExact(value) || PyBool_Check(value) || value == Py_None;
}

// The arguments as the tape keeps them: values that may change until the backward pass are copied. Nothing if they are
// not like those of the template.
std::optional<Objects> arguments(const LaunchTemplate& t, PyObject* const* values, size_t count) {
    if (count != t.arrays.size() + t.values.size()) return {};
    for (size_t i : t.arrays)
        if (reinterpret_cast<PyObject*>(Py_TYPE(values[i])) != t.array_class.ptr()) return {};
    for (size_t i : t.results)
        if (!as_array(values[i])->view.grad) return {};
    Objects args;
    args.reserve(count);
    for (size_t i = 0; i < count; ++i) args.push_back(nb::borrow(values[i]));
    for (size_t i : t.values) {
        if (is_number(values[i])) continue;
        if (!PyObject_HasAttr(reinterpret_cast<PyObject*>(Py_TYPE(values[i])), names().type)) return {};
        args[i] = copied(values[i]);
    }
    return args;
}

Objects chosen(const std::vector<size_t>& numbers, PyObject* const* values) {
    Objects found;
    found.reserve(numbers.size());
    for (size_t i : numbers) found.push_back(nb::borrow(values[i]));
    return found;
}

// The arrays that have a gradient; nothing if the elements of one may share memory with each other.
std::optional<Objects> active_ones(const Objects& arrays) {
    Objects active;
    for (const nb::object& object : arrays) {
        const PyArray* a = as_array(object.ptr());
        if (!a->view.grad) continue;
        if (!a->contiguous && meets_itself(a->view, a->ndim, dtype(a->dtype).itemsize)) return {};
        active.push_back(object);
    }
    return active;
}

}  // namespace

void Recording::done() const {
    if (!active_.empty()) wrote_arrays(tracker_, active_, true);
}

void Recording::failed() const {
    if (!step_.is_none()) callbacks().abort(tape_, step_);
}

Recording record_launch(nb::handle launch_template, nb::handle dim, PyObject* const* values, size_t count) {
    PyObject* found = callbacks().enabled ? find_recorder() : nullptr;
    if (!found) return {};
    const LaunchTemplate& t = *nb::inst_ptr<LaunchTemplate>(launch_template);
    if (t.epoch != options_epoch || is_true(found, names().detached)) return {};
    if (!attribute(t.kernel(), names().enable_backward).is(t.enable_backward)) return {};
    std::optional<Objects> args = arguments(t, values, count);
    if (!args) return {};
    Objects arrays = chosen(t.arrays, values);
    if (!are_disjoint_with_gradients(arrays)) return {};
    std::optional<Objects> active = active_ones(arrays);
    bool records = is_true(found, names().records);  // else it looks for gradients that end, and none does here
    if (!active || (records && active->empty())) return {};
    nb::object tape = nb::borrow(found), observed = nb::borrow(observing), step = nb::none();
    nb::object tracker = attribute(found, names().tracker), site = call_site();
    if (!active->empty() && !use_arrays(tracker, *active, site).is_none()) return {};
    for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(observed.ptr()); ++i)
        nb::handle(PyTuple_GET_ITEM(observed.ptr(), i))
            .attr(nb::handle(names().notice_launch))(t.kernel(), dim, listed(*args));
    if (records) {
        step = make_step({.launch_template = t.shared,
                          .dim = fixed(dim),
                          .place = site,
                          .args = std::move(*args),
                          .held = saved_spans(attribute(tape.ptr(), names().pool), chosen(t.read, values)),
                          .active = *active,
                          .arrays = std::move(arrays),
                          .written = chosen(t.written, values)});
        keep(tape, step, site);
    }
    return {std::move(tape), std::move(step), std::move(tracker), std::move(*active)};
}

bool fill_on_tape(nb::handle object, nb::bytes pattern, const char* called) {
    PyObject* found = callbacks().enabled ? find_recorder() : nullptr;
    if (!found || PyTuple_GET_SIZE(observing) != 1) return false;
    if (!is_true(found, names().records) || is_true(found, names().detached)) return false;
    const PyArray* a = as_array(object.ptr());
    if (!a || !is_plain(*a) || !a->view.grad || !is_float(dtype(a->dtype).scalar.kind)) return false;
    Objects arrays{nb::borrow(object)};
    if (!are_disjoint_with_gradients(arrays)) return false;
    nb::object tape = nb::borrow(found), tracker = attribute(found, names().tracker), site = call_site(called, 2);
    if (!use_arrays(tracker, arrays, site).is_none()) return false;  // a fill overwrites all, which Python looks at
    nb::object step = make_fill(object);
    keep(tape, step, site);
    try {
        fill_plain(object, pattern);
    } catch (...) {
        callbacks().abort(tape, step);
        throw;
    }
    wrote_arrays(tracker, arrays, false);
    return true;
}

namespace {

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    const LaunchTemplate& t = *nb::inst_ptr<LaunchTemplate>(self);
    Py_VISIT(t.shared.ptr());
    return 0;
}

PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {0, nullptr}};

}  // namespace

nb::tuple observers() { return observing ? nb::borrow<nb::tuple>(observing) : nb::make_tuple(); }

void set_observers(nb::tuple stack) {
    PyObject* before = std::exchange(observing, stack.release().ptr());
    examined = recorder = nullptr;
    Py_XDECREF(before);
}

void bind_record(nb::module_& m) {
    nb::class_<LaunchTemplate>(m, "LaunchTemplate", nb::type_slots(slots))
        .def(
            "__init__",
            [](LaunchTemplate* self, nb::object shared, nb::object array_class, std::vector<size_t> arrays,
               std::vector<size_t> values, std::vector<size_t> results, std::vector<size_t> read,
               std::vector<size_t> written) {
                if (!nb::isinstance<StepTemplate>(shared)) throw nb::type_error("shared: expected a StepTemplate");
                nb::object enable = attribute(nb::inst_ptr<StepTemplate>(shared)->kernel, names().enable_backward);
                new (self) LaunchTemplate{std::move(shared), std::move(enable),  std::move(array_class),
                                          std::move(arrays), std::move(values),  std::move(results),
                                          std::move(read),   std::move(written), options_epoch};
            },
            nb::arg("shared"), nb::arg("array_class"), nb::arg("arrays"), nb::arg("values"), nb::arg("results"),
            nb::arg("read"), nb::arg("written"));
    m.def("outdate_launch_templates", [] { ++options_epoch; });
    m.def("fixed_dim", &fixed, nb::arg("dim"));
    m.def("observers", &observers);
    m.def("enable_native_recording", [](bool enabled) { callbacks().enabled = enabled; }, nb::arg("enabled"));
    m.def(
        "fill_on_tape",
        [](nb::handle a, nb::bytes pattern, bool zero) {
            return fill_on_tape(a, std::move(pattern), zero ? "zero" : "fill");
        },
        nb::arg("array"), nb::arg("pattern"), nb::arg("zero"));
    m.def(
        "set_recorder",
        [](nb::object abort, nb::object copy, nb::object call_site, nb::object find_call_site, std::string package) {
            callbacks() = {std::move(abort),          std::move(copy),    std::move(call_site),
                           std::move(find_call_site), std::move(package), callbacks().enabled};
        },
        nb::arg("abort"), nb::arg("copy"), nb::arg("call_site"), nb::arg("find_call_site"), nb::arg("package"));
}

}  // namespace wc
