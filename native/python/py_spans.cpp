#include "py_spans.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace wc {

RangeIndex watched;

namespace {

RangeIndex gradients;

// One span of a set for as long as the object lives, or until it is left.
class Span {
  public:
    Span(uintptr_t low, uintptr_t high, RangeIndex& set) : range_{low, high}, set_(set) {
        if (range_.empty()) throw std::invalid_argument("the span is empty");
        enter();
    }
    ~Span() { leave(); }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

    void enter() {
        if (!std::exchange(inside_, true)) set_.add(range_, this);
    }
    void leave() {
        if (std::exchange(inside_, false)) set_.remove(range_, this);
    }

    bool inside() const { return inside_; }
    uintptr_t low() const { return range_.low; }
    uintptr_t high() const { return range_.high; }

  private:
    Range range_;
    RangeIndex& set_;
    bool inside_ = false;
};

struct WatchedSpan : Span {
    WatchedSpan(uintptr_t low, uintptr_t high) : Span(low, high, watched) {}
};

struct GradientSpan : Span {
    GradientSpan(uintptr_t low, uintptr_t high) : Span(low, high, gradients) {}
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
    nb::list met = objects<WatchedSpan>(watched, range);
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

bool are_disjoint_with_gradients(const nb::list& arrays) {
    static PyObject* claim = PyUnicode_InternFromString("_claim");
    std::vector<Range> ranges;
    for (nb::handle object : arrays) {
        PyArray* a = as_array(object.ptr());
        if (!a) throw nb::type_error("expected arrays");
        Range range = range_of(*a);
        if (range.empty()) return false;
        for (Range other : ranges)
            if (range.meets(other)) return false;
        ranges.push_back(range);
        std::vector<void*> found = gradients.find(range);
        if (found.empty()) continue;
        if (found.size() > 1) return false;
        nb::object own = nb::steal(PyObject_GetAttr(object.ptr(), claim));
        if (!own.is_valid()) throw nb::python_error();
        if (nb::find(static_cast<GradientSpan*>(static_cast<Span*>(found[0]))).ptr() != own.ptr()) return false;
    }
    return true;
}

void bind_spans(nb::module_& m) {
    nb::class_<Span>(m, "Span")
        .def_prop_ro("low", &Span::low)
        .def_prop_ro("high", &Span::high)
        .def_prop_ro("inside", &Span::inside, "Whether the span is in its set.")
        .def("leave", &Span::leave);
    nb::class_<WatchedSpan, Span>(m, "WatchedSpan", nb::is_weak_referenceable())
        .def(nb::init<uintptr_t, uintptr_t>(), nb::arg("low"), nb::arg("high"));
    nb::class_<GradientSpan, Span>(m, "GradientSpan", nb::is_weak_referenceable())
        .def(nb::init<uintptr_t, uintptr_t>(), nb::arg("low"), nb::arg("high"));
    m.def(
        "before_write", [](uintptr_t low, uintptr_t high) { before_write(Range{low, high}); }, nb::arg("low"),
        nb::arg("high"));
    m.def("before_writes", &before_writes, nb::arg("arrays"));
    m.def("before_any_write", &before_any_write);
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
