#include "launches/observer_scope.h"

#include <utility>

#include "launches/record.h"
#include "tape/mutation_tracker.h"

namespace wc {
namespace {

// What observes a thread, and the tracker of what it writes.
struct Observation {
    nb::object stack, tracker;

    static Observation current() { return {observers(), tracker_of_writes()}; }

    void set() const {
        set_observers(nb::borrow<nb::tuple>(stack));
        track_writes(tracker);
    }
};

struct ObserverScope {
    Observation inside, before = Observation::current();

    void enter(nb::tuple stack, nb::object tracker) {
        before = Observation::current();
        Observation{std::move(stack), std::move(tracker)}.set();
    }
};

struct Restored {
    nb::tuple before = observers();
    ~Restored() { set_observers(before); }
};

nb::object run_observed(nb::tuple stack, nb::callable function, nb::args args) {
    Restored at_end;
    set_observers(std::move(stack));
    return function(*args);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    const ObserverScope& scope = *nb::inst_ptr<ObserverScope>(self);
    for (const Observation* o : {&scope.inside, &scope.before}) {
        Py_VISIT(o->stack.ptr());
        Py_VISIT(o->tracker.ptr());
    }
    return 0;
}

int clear(PyObject* self) {
    ObserverScope& scope = *nb::inst_ptr<ObserverScope>(self);
    for (Observation* o : {&scope.inside, &scope.before}) *o = {nb::make_tuple(), nb::none()};
    return 0;
}

PyType_Slot slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};

}  // namespace

void bind_observer_scopes(nb::module_& m) {
    nb::class_<ObserverScope>(m, "ObserverScope", nb::type_slots(slots))
        .def(
            "__init__",
            [](ObserverScope* self, nb::tuple stack, nb::object tracker) {
                new (self) ObserverScope{{std::move(stack), std::move(tracker)}};
            },
            nb::arg("stack"), nb::arg("tracker").none())
        .def("enter", &ObserverScope::enter, nb::arg("stack"), nb::arg("tracker").none())
        .def("__enter__",
             [](ObserverScope& self) { self.enter(nb::borrow<nb::tuple>(self.inside.stack), self.inside.tracker); })
        .def("__exit__", [](ObserverScope& self, nb::args) { self.before.set(); });
    m.def("run_observed", &run_observed, nb::arg("stack"), nb::arg("function"), nb::arg("args"));
}

}  // namespace wc
