#include "tape/saved_span.h"

#include <cstring>
#include <optional>
#include <utility>

#include "arrays/py_memory.h"

namespace wc {

void SavedPool::enter(SavedSpan& span) { latest_[span.range()] = &span; }

void SavedPool::leave(const SavedSpan& span) {
    auto found = latest_.find(span.range());
    if (found != latest_.end() && found->second == &span) latest_.erase(found);
}

nb::object SavedPool::latest(Range range) const {
    auto found = latest_.find(range);
    if (found == latest_.end()) return {};
    nb::handle object = nb::find(found->second);
    return object.is_valid() && Py_REFCNT(object.ptr()) > 0 ? nb::borrow(object) : nb::object();
}

SavedSpan::SavedSpan(Range range, nb::object device, nb::object owners, nb::object pool, nb::object graph,
                     bool is_parameter)
    : Span(range, watched),
      device(std::move(device)),
      owners(std::move(owners)),
      pool(std::move(pool)),
      graph(std::move(graph)),
      lost(nb::str("")),
      is_parameter(is_parameter) {
    nb::inst_ptr<SavedPool>(this->pool)->enter(*this);
}

SavedSpan::~SavedSpan() {
    auto& mine = *nb::inst_ptr<SavedPool>(pool);
    mine.leave(*this);
    if (!copy_.is_none()) mine.used -= size();
}

void SavedSpan::set_copy(nb::object copy) {
    int64_t before = copy_.is_none() ? 0 : size(), now = copy.is_none() ? 0 : size();
    copy_ = std::move(copy);
    nb::inst_ptr<SavedPool>(pool)->used += now - before;
}

bool SavedSpan::is_lost() const { return PyUnicode_GetLength(lost.ptr()) != 0; }

namespace {

// The class of the spans that native code makes.
nb::object& span_class() {
    static nb::object& found = *new nb::object(nb::none());
    return found;
}

nb::object make_span(const PyArray& a, Range range, nb::handle pool) {
    nb::object made = nb::inst_alloc(span_class());
    new (nb::inst_ptr<SavedSpan>(made)) SavedSpan(range, nb::none(), a.owner, nb::borrow(pool), nb::none(), false);
    nb::inst_mark_ready(made);
    return made;
}

// Whether memory of the CPU is as it was when a span saved it; nothing if that takes Python.
std::optional<bool> is_unmodified(const SavedSpan& span) {
    if (!span.graph.is_none() || !span.device.is_none()) return {};
    if (span.inside()) return true;
    if (span.copy().is_none()) return false;
    if (!nb::isinstance<Buffer>(span.copy())) return {};
    return std::memcmp(nb::inst_ptr<Buffer>(span.copy())->memory, reinterpret_cast<const void*>(span.range().low),
                       static_cast<size_t>(span.size())) == 0;
}

bool is_plain_and_private(const PyArray& a, nb::handle object) {
    static PyObject* is_parameter = PyUnicode_InternFromString("_is_parameter");
    return a.device == 0 && is_private(a) && object.attr(nb::handle(is_parameter)).is(nb::handle(Py_False));
}

// Invalid if that takes Python.
nb::object saved_span(const PyArray& a, nb::handle object, nb::handle pool) {
    Range range = range_of(a);
    nb::object known = nb::inst_ptr<SavedPool>(pool)->latest(range);
    std::optional<bool> same = known.is_valid() ? is_unmodified(*nb::inst_ptr<SavedSpan>(known)) : false;
    if (same && *same) return known;
    return same && is_plain_and_private(a, object) ? make_span(a, range, pool) : nb::object();
}

}  // namespace

Objects saved_spans(nb::handle pool, const Objects& arrays) {
    Objects found;
    found.reserve(arrays.size());
    for (const nb::object& object : arrays) {
        const PyArray* a = as_array(object.ptr());
        if (!a) throw nb::type_error("expected arrays");
        nb::object span = saved_span(*a, object, pool);
        if (!span.is_valid()) {
            Range range = range_of(*a);
            span = pool.attr("hold")(nb::make_tuple(range.low, range.high), nb::make_tuple(object));
        }
        found.push_back(std::move(span));
    }
    return found;
}

namespace {

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    const SavedSpan& span = *nb::inst_ptr<SavedSpan>(self);
    for (const nb::object* member : {&span.owners, &span.pool, &span.graph, &span.user}) Py_VISIT(member->ptr());
    return 0;
}

PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {0, nullptr}};

}  // namespace

void bind_saved_spans(nb::module_& m) {
    nb::class_<SavedPool>(m, "SavedPoolBase")
        .def(nb::init<>())
        .def_ro("used", &SavedPool::used, "How many bytes are in copies.")
        .def(
            "latest",
            [](const SavedPool& pool, uintptr_t low, uintptr_t high) {
                nb::object found = pool.latest({low, high});
                return found.is_valid() ? found : nb::none();
            },
            nb::arg("low"), nb::arg("high"), "The last span that was saved of this memory, or None.")
        .def("forget", &SavedPool::forget, "Save other spans from now on.");
    nb::class_<SavedSpan, Span>(m, "SavedSpan", nb::type_slots(slots), nb::is_weak_referenceable())
        .def(
            "__init__",
            [](SavedSpan* self, uintptr_t low, uintptr_t high, nb::object device, nb::object owners, nb::object pool,
               nb::object graph) {
                if (!nb::isinstance<SavedPool>(pool)) throw nb::type_error("keeper: expected a SavedPool");
                new (self) SavedSpan({low, high}, std::move(device), std::move(owners), std::move(pool),
                                     std::move(graph), false);
            },
            nb::arg("low"), nb::arg("high"), nb::arg("device").none(), nb::arg("owners"), nb::arg("keeper"),
            nb::arg("graph").none())
        .def_prop_ro("size", &SavedSpan::size)
        .def_prop_rw("_copy", &SavedSpan::copy, &SavedSpan::set_copy, nb::for_setter(nb::arg("copy").none()))
        .def_ro("_device", &SavedSpan::device)
        .def_ro("_graph", &SavedSpan::graph)
        .def_ro("keeper", &SavedSpan::pool)
        .def_rw("lost", &SavedSpan::lost)
        .def_rw("user", &SavedSpan::user, nb::for_setter(nb::arg("user").none()))
        .def_rw("is_parameter", &SavedSpan::is_parameter);
    m.def("set_span_class", [](nb::object cls) { span_class() = std::move(cls); }, nb::arg("cls"));
}

}  // namespace wc
