#include "tape/py_spans.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attributes.h"
#include "tape/saved_span.h"

namespace wc {

RangeIndex watched;

namespace {

RangeIndex gradients;

struct GradientSpan : Span {
    GradientSpan(uintptr_t low, uintptr_t high) : Span({low, high}, gradients) {}
};

// Never destroyed: it must not drop a Python reference after the interpreter is gone.
nb::object& told() {
    static nb::object& callback = *new nb::object(nb::none());
    return callback;
}

template <class T>
nb::list objects(const RangeIndex& set, Range range) {
    nb::list out;
    for (void* item : set.find(range)) {
        nb::handle object = nb::find(static_cast<T*>(static_cast<Span*>(item)));
        if (object.is_valid() && Py_REFCNT(object.ptr()) > 0) out.append(object);  // one that dies is no longer there
    }
    return out;
}

bool same_bytes(uintptr_t a, uintptr_t b, int64_t nbytes) {
    return std::memcmp(reinterpret_cast<const void*>(a), reinterpret_cast<const void*>(b),
                       static_cast<size_t>(nbytes)) == 0;
}

}  // namespace

namespace {

void before_writes(const nb::list& arrays) {
    for (nb::handle object : arrays) {
        const PyArray* a = as_array(object.ptr());
        if (!a) throw nb::type_error("expected arrays");
        before_write(*a);
    }
}

void tell_watchers(Range range) {
    if (watched.empty() || told().is_none()) return;
    nb::list met = objects<SavedSpan>(watched, range);
    if (met.size()) told()(met);
}

}  // namespace

void before_write(Range range) {
    if (sealed_tapes) touch_seals(range);
    tell_watchers(range);
}

void before_write(const Array& array) {
    if (watching()) before_write(range_of(array));
}

void before_any_write() {
    if (sealed_tapes) doubt_seals();
    tell_watchers(Range{0, UINTPTR_MAX});
}

namespace {

std::unordered_map<uint64_t, Range>& structures() {
    static std::unordered_map<uint64_t, Range> ranges;
    return ranges;
}

}  // namespace

void before_write_to_structure(uint64_t id) {
    auto found = structures().find(id);
    if (found != structures().end()) before_write(Range{found->second});
}

void before_write_to_any_structure() {
    std::vector<Range> all;  // a copy, as Python may free a structure when it is told
    for (const auto& [id, range] : structures()) all.push_back(range);
    for (Range range : all) before_write(range);
}

namespace {

// Whether no memory of an array has a gradient but that of the array.
bool has_own_gradient(PyArray& a, nb::handle object, Range range) {
    static PyObject* claim = PyUnicode_InternFromString("_claim");
    OwnGradient now{gradients.changes(), range.low, range.high, a.view.grad};
    if (a.own_gradient == now) return true;
    std::vector<void*> found = gradients.find(range);
    if (found.size() > 1) return false;
    if (found.size() == 1) {
        nb::object own = attribute(object, claim);
        if (nb::find(static_cast<GradientSpan*>(static_cast<Span*>(found[0]))).ptr() != own.ptr()) return false;
    }
    a.own_gradient = now;
    return true;
}

}  // namespace

bool are_disjoint_with_gradients(const Objects& arrays) {
    std::vector<Range> ranges;
    ranges.reserve(arrays.size());
    for (nb::handle object : arrays) {
        PyArray* a = as_array(object.ptr());
        if (!a) throw nb::type_error("expected arrays");
        Range range = range_of(*a);
        if (range.empty()) return false;
        for (Range other : ranges)
            if (range.meets(other)) return false;
        ranges.push_back(range);
        if (!has_own_gradient(*a, object, range)) return false;
    }
    return true;
}

size_t count_gradients(const Objects& arrays) {
    static PyObject* own = PyUnicode_InternFromString("_grad");
    static PyObject* is_off = PyUnicode_InternFromString("_requires_grad_off");
    size_t count = 0;
    for (nb::handle object : arrays) {
        PyArray* a = as_array(object.ptr());
        if (!a) throw nb::type_error("expected arrays");
        nb::object gradient = attribute(object, own);
        bool has = !gradient.is_none();
        if (!has && !has_own_gradient(*a, object, range_of(*a))) {
            nb::object off = attribute(object, is_off);
            has = PyObject_IsTrue(off.ptr()) == 0;
        }
        count += has;
    }
    return count;
}

void bind_spans(nb::module_& m) {
    m.def("count_gradients", [](nb::list arrays) { return count_gradients(items(arrays)); }, nb::arg("arrays"));
    nb::class_<Span>(m, "Span")
        .def_prop_ro("low", [](const Span& span) { return span.range().low; })
        .def_prop_ro("high", [](const Span& span) { return span.range().high; })
        .def_prop_ro("inside", &Span::inside, "Whether the span is in its set.")
        .def("leave", &Span::leave);
    nb::class_<GradientSpan, Span>(m, "GradientSpan", nb::is_weak_referenceable())
        .def(nb::init<uintptr_t, uintptr_t>(), nb::arg("low"), nb::arg("high"));
    m.def(
        "before_write", [](uintptr_t low, uintptr_t high) { before_write(Range{low, high}); }, nb::arg("low"),
        nb::arg("high"));
    m.def("before_writes", &before_writes, nb::arg("arrays"));
    m.def("before_any_write", &before_any_write);
    m.def(
        "set_structure_memory", [](uint64_t id, uintptr_t low, uintptr_t high) { structures()[id] = Range{low, high}; },
        nb::arg("id"), nb::arg("low"), nb::arg("high"));
    m.def("forget_structure_memory", [](uint64_t id) { structures().erase(id); }, nb::arg("id"));
    m.def(
        "before_sharing",
        [](uintptr_t low, uintptr_t high) {
            if (sealed_tapes) open_seals(Range{low, high});
            tell_watchers(Range{low, high});
        },
        nb::arg("low"), nb::arg("high"));
    m.def("on_write", [](nb::object f) { told() = std::move(f); }, nb::arg("function").none());
    m.def(
        "gradients_in", [](uintptr_t low, uintptr_t high) { return objects<GradientSpan>(gradients, {low, high}); },
        nb::arg("low"), nb::arg("high"));
    m.def("watching", &watching);
    m.def("same_bytes", &same_bytes, nb::arg("a"), nb::arg("b"), nb::arg("nbytes"));
}

}  // namespace wc
