#include "tape/launch_step.h"

#include <chrono>
#include <initializer_list>
#include <new>
#include <unordered_set>
#include <utility>
#include <vector>

#include "arrays/py_memory.h"
#include "attributes.h"
#include "launches/plan.h"
#include "launches/record.h"
#include "tape/py_spans.h"
#include "tape/saved_span.h"

namespace wc {
namespace {

using Clock = std::chrono::steady_clock;

struct Names {
    PyObject* grad = PyUnicode_InternFromString("_grad");
    PyObject* arrays = PyUnicode_InternFromString("arrays");
    PyObject* written = PyUnicode_InternFromString("written");
    PyObject* check = PyUnicode_InternFromString("check");
    PyObject* backward = PyUnicode_InternFromString("backward");
};

const Names& names() {
    static const Names& all = *new Names;
    return all;
}

uint64_t steps_made = 0;

// Never destroyed: they must not drop references after the interpreter is gone.
struct Classes {
    nb::object launch, no_structures, fill;
};

Classes& classes() {
    static Classes& found = *new Classes;
    return found;
}

std::vector<bool> truths(const nb::list& given) {
    std::vector<bool> found;
    for (nb::handle value : given) found.push_back(value.is(nb::handle(Py_True)));
    return found;
}

void call(nb::handle object, PyObject* method) {
    PyObject* self = object.ptr();
    nb::object done = nb::steal(PyObject_VectorcallMethod(method, &self, 1, nullptr));
    if (!done.is_valid()) throw nb::python_error();
}

// The step of native code that a step of a tape is, or null.
template <class T>
const T* as(const nb::object& type, nb::handle step) {
    bool is = reinterpret_cast<PyObject*>(Py_TYPE(step.ptr())) == type.ptr();
    return is && nb::inst_ready(step) ? nb::inst_ptr<T>(step) : nullptr;
}

const LaunchStep* as_launch(nb::handle step) { return as<LaunchStep>(classes().launch, step); }
const FillStep* as_fill(nb::handle step) { return as<FillStep>(classes().fill, step); }

const StepTemplate& template_of(const LaunchStep& step) { return *nb::inst_ptr<StepTemplate>(step.launch_template); }

bool is_any_lost(const LaunchStep& step) {
    for (nb::handle held : step.held)
        if (nb::inst_ptr<SavedSpan>(held)->is_lost()) return true;
    return false;
}

// -- checks ----------------------------------------------------------------------------------------------------------

// Whether a launch has the gradient that it had when it was recorded, as far as native code can tell.
bool is_intact(const LaunchStep& step, const nb::object& epoch) {
    const StepTemplate& t = template_of(step);
    if (t.on_gpu || is_any_lost(step) || !t.epoch.equal(epoch)) return false;
    for (nb::handle a : step.active)
        if (attribute(a, names().grad).is_none()) return false;
    return count_gradients(step.arrays) <= step.active.size();
}

bool is_intact(const FillStep& step) { return !attribute(step.array, names().grad).is_none(); }

void check_steps(const nb::list& given, const nb::object& epoch) {
    nb::tuple steps(given);  // what Python does meanwhile may change the list
    for (nb::handle step : steps) {
        const LaunchStep* launch = as_launch(step);
        const FillStep* fill = as_fill(step);
        bool intact = launch ? is_intact(*launch, epoch) : fill && is_intact(*fill);
        if (!intact) call(step, names().check);
    }
}

// The arrays of steps, or those that they may have written, each once.
nb::list arrays_of(const nb::list& given, bool written) {
    nb::tuple steps(given);
    std::unordered_set<PyObject*> seen;
    nb::list found;
    auto add = [&](nb::handle array) {
        if (seen.insert(array.ptr()).second) found.append(array);
    };
    for (nb::handle step : steps) {
        if (const LaunchStep* launch = as_launch(step))
            for (const nb::object& array : written ? launch->written : launch->arrays) add(array);
        else if (const FillStep* fill = as_fill(step))
            add(fill->array);
        else
            for (nb::handle array : attribute(step, written ? names().written : names().arrays)) add(array);
    }
    return found;
}

// -- backwards -------------------------------------------------------------------------------------------------------

std::vector<Move> moves_of(const LaunchStep& step) {
    std::vector<Move> found;
    for (nb::handle object : step.held) {
        const SavedSpan& held = *nb::inst_ptr<SavedSpan>(object);
        if (held.copy().is_none()) continue;
        auto to = nb::cast<uintptr_t>(held.copy().attr("ptr"));
        found.push_back({held.range().low, held.range().high, static_cast<int64_t>(to - held.range().low)});
    }
    return found;
}

// Runs the adjoint of a launch. False, with nothing done, if that takes Python.
bool run_adjoint(const LaunchStep& step) {
    const StepTemplate& t = template_of(step);
    if (t.takes_python || !step.left.is_none() || !step.structures.is(classes().no_structures)) return false;
    if (is_any_lost(step)) return false;
    nb::object plan = nb::borrow(PyDict_GetItemWithError(t.plans.ptr(), t.options.ptr()));
    if (!plan.is_valid()) {
        if (PyErr_Occurred()) throw nb::python_error();
        return false;
    }
    std::vector<PyObject*> args;
    for (const nb::object& value : step.args) args.push_back(value.ptr());
    nb::inst_ptr<Plan>(plan)->launch(step.dim.ptr(), args.data(), args.size(), moves_of(step), t.moved);
    return true;
}

// What was there does not matter any more. False, with nothing done, if that takes Python.
bool run_adjoint(const FillStep& step) { return !is_observed() && clear_gradient(attribute(step.array, names().grad)); }

bool run_natively(nb::handle step) {
    if (const LaunchStep* launch = as_launch(step)) return run_adjoint(*launch);
    const FillStep* fill = as_fill(step);
    return fill && run_adjoint(*fill);
}

// Goes backwards over steps for some time. Returns how many it has done, 0 at the end.
size_t run_backwards(nb::iterator steps, double seconds) {
    auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    size_t done = 0;
    do {
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        nb::object step = nb::steal(PyIter_Next(steps.ptr()));
        if (!step.is_valid()) {
            if (PyErr_Occurred()) throw nb::python_error();
            break;
        }
        if (!run_natively(step)) call(step, names().backward);
        ++done;
    } while (Clock::now() < end);
    return done;
}

int visit_template(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    const StepTemplate& t = *nb::inst_ptr<StepTemplate>(self);
    for (const nb::object* member : std::initializer_list<const nb::object*>{&t.kernel, &t.options, &t.facts, &t.plans})
        Py_VISIT(member->ptr());
    return 0;
}

PyType_Slot template_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit_template)}, {0, nullptr}};

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    const LaunchStep& step = *nb::inst_ptr<LaunchStep>(self);
    for (const nb::object* member :
         std::initializer_list<const nb::object*>{&step.launch_template, &step.cut, &step.left, &step.structures})
        Py_VISIT(member->ptr());
    for (const auto* objects : {&step.args, &step.held, &step.active, &step.arrays, &step.written})
        for (const nb::object& object : *objects) Py_VISIT(object.ptr());
    return 0;
}

int clear(PyObject* self) {
    if (!nb::inst_ready(self)) return 0;
    LaunchStep& step = *nb::inst_ptr<LaunchStep>(self);
    for (auto* objects : {&step.args, &step.held, &step.active, &step.arrays, &step.written})
        std::exchange(*objects, {}).clear();
    step.cut = step.left = step.structures = nb::none();
    return 0;
}

PyType_Slot slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};

int visit_fill(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<FillStep>(self)->array.ptr());
    return 0;
}

PyType_Slot fill_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit_fill)}, {0, nullptr}};

}  // namespace

StepTemplate::StepTemplate(nb::object kernel, nb::object options, nb::object facts, int block_dim, nb::object device)
    : kernel(std::move(kernel)),
      options(std::move(options)),
      facts(std::move(facts)),
      device(std::move(device)),
      block_dim(block_dim),
      plans(this->kernel.attr("_plans")),
      epoch(this->facts.attr("epoch")),
      moved(truths(nb::list(this->facts.attr("moved")))),
      on_gpu(nb::cast<int>(this->options.attr("device")) != 0),
      takes_python(on_gpu || nb::cast<bool>(this->options.attr("exact")) ||
                   nb::cast<bool>(this->facts.attr("replays"))) {}

nb::object make_step(LaunchStep step) {
    nb::object made = nb::inst_alloc(classes().launch);
    step.cut = step.left = nb::none();
    step.structures = classes().no_structures;
    new (nb::inst_ptr<LaunchStep>(made)) LaunchStep(std::move(step));
    nb::inst_mark_ready(made);
    ++steps_made;
    return made;
}

nb::object make_fill(nb::handle array) {
    nb::object made = nb::inst_alloc(classes().fill);
    new (nb::inst_ptr<FillStep>(made)) FillStep{nb::borrow(array)};
    nb::inst_mark_ready(made);
    return made;
}

void bind_launch_steps(nb::module_& m) {
    nb::class_<StepTemplate>(m, "StepTemplate", nb::type_slots(template_slots))
        .def(nb::init<nb::object, nb::object, nb::object, int, nb::object>(), nb::arg("kernel"), nb::arg("options"),
             nb::arg("facts"), nb::arg("block_dim"), nb::arg("device"))
        .def_ro("kernel", &StepTemplate::kernel)
        .def_ro("options", &StepTemplate::options)
        .def_ro("facts", &StepTemplate::facts)
        .def_ro("block_dim", &StepTemplate::block_dim)
        .def_ro("device", &StepTemplate::device);
    nb::class_<LaunchStep>(m, "LaunchStep", nb::type_slots(slots))
        .def(
            "__init__",
            [](LaunchStep* self, nb::object launch_template, nb::object dim, nb::list args, nb::list held,
               nb::list active, nb::list arrays, nb::list written, nb::object place, nb::object cut) {
                if (!nb::isinstance<StepTemplate>(launch_template)) throw nb::type_error("expected a StepTemplate");
                new (self) LaunchStep{std::move(launch_template),
                                      std::move(dim),
                                      std::move(place),
                                      items(args),
                                      items(held),
                                      items(active),
                                      items(arrays),
                                      items(written),
                                      std::move(cut),
                                      nb::none(),
                                      classes().no_structures};
            },
            nb::arg("template"), nb::arg("dim").none(), nb::arg("args"), nb::arg("held"), nb::arg("active"),
            nb::arg("arrays"), nb::arg("written"), nb::arg("place"), nb::arg("cut").none() = nb::none())
        .def_ro("template", &LaunchStep::launch_template)
        .def_ro("dim", &LaunchStep::dim)
        .def_ro("place", &LaunchStep::place)
        .def_prop_ro("args", [](const LaunchStep& step) { return listed(step.args); })
        .def_prop_ro("held", [](const LaunchStep& step) { return listed(step.held); })
        .def_prop_ro("active", [](const LaunchStep& step) { return listed(step.active); })
        .def_prop_ro("arrays", [](const LaunchStep& step) { return listed(step.arrays); })
        .def_prop_rw(
            "written", [](const LaunchStep& step) { return listed(step.written); },
            [](LaunchStep& step, nb::list arrays) { step.written = items(arrays); })
        .def_ro("cut", &LaunchStep::cut)
        .def_rw("left", &LaunchStep::left, nb::for_setter(nb::arg("left").none()))
        .def_rw("structures", &LaunchStep::structures);
    nb::class_<FillStep>(m, "FillStep", nb::type_slots(fill_slots)).def_ro("array", &FillStep::array);
    m.def(
        "set_launch_class",
        [](nb::object cls, nb::object no_structures) {
            classes().launch = std::move(cls);
            classes().no_structures = std::move(no_structures);
        },
        nb::arg("cls"), nb::arg("no_structures"));
    m.def("set_fill_class", [](nb::object cls) { classes().fill = std::move(cls); }, nb::arg("cls"));
    m.def("steps_made", [] { return steps_made; });
    m.def("arrays_of", &arrays_of, nb::arg("steps"), nb::arg("written"));
    m.def("check_steps", &check_steps, nb::arg("steps"), nb::arg("epoch"));
    m.def("run_backwards", &run_backwards, nb::arg("steps"), nb::arg("seconds"));
}

}  // namespace wc
