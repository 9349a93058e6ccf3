#include "tape/launch_step.h"

#include <chrono>
#include <new>
#include <utility>
#include <vector>

#include "arrays/py_memory.h"
#include "launches/plan.h"
#include "tape/py_spans.h"
#include "tape/saved_span.h"

namespace wc {
namespace {

using Clock = std::chrono::steady_clock;

struct Names {
    PyObject* kernel = PyUnicode_InternFromString("kernel");
    PyObject* options = PyUnicode_InternFromString("options");
    PyObject* facts = PyUnicode_InternFromString("facts");
    PyObject* plans = PyUnicode_InternFromString("_plans");
    PyObject* epoch = PyUnicode_InternFromString("epoch");
    PyObject* exact = PyUnicode_InternFromString("exact");
    PyObject* device = PyUnicode_InternFromString("device");
    PyObject* replays = PyUnicode_InternFromString("replays");
    PyObject* moved = PyUnicode_InternFromString("moved");
    PyObject* grad = PyUnicode_InternFromString("_grad");
    PyObject* check = PyUnicode_InternFromString("check");
    PyObject* backward = PyUnicode_InternFromString("backward");
};

const Names& names() {
    static const Names& all = *new Names;
    return all;
}

uint64_t steps_made = 0;

// Never destroyed: they must not drop references after the interpreter is gone.
struct StepClass {
    nb::object type, no_structures;
};

StepClass& step_class() {
    static StepClass& found = *new StepClass;
    return found;
}

nb::object attribute(nb::handle object, PyObject* name) {
    nb::object found = nb::steal(PyObject_GetAttr(object.ptr(), name));
    if (!found.is_valid()) throw nb::python_error();
    return found;
}

bool is_true(nb::handle object, PyObject* name) {
    int found = PyObject_IsTrue(attribute(object, name).ptr());
    if (found < 0) throw nb::python_error();
    return found != 0;
}

void call(nb::handle object, PyObject* method) {
    PyObject* self = object.ptr();
    nb::object done = nb::steal(PyObject_VectorcallMethod(method, &self, 1, nullptr));
    if (!done.is_valid()) throw nb::python_error();
}

// The launch that a step of a tape is, or null.
const LaunchStep* as_launch(nb::handle step) {
    bool is_launch = reinterpret_cast<PyObject*>(Py_TYPE(step.ptr())) == step_class().type.ptr();
    return is_launch && nb::inst_ready(step) ? nb::inst_ptr<LaunchStep>(step) : nullptr;
}

bool is_any_lost(const LaunchStep& step) {
    for (nb::handle held : step.held)
        if (nb::inst_ptr<SavedSpan>(held)->is_lost()) return true;
    return false;
}

// -- checks ----------------------------------------------------------------------------------------------------------

// Whether a launch has the gradient that it had when it was recorded, as far as native code can tell.
bool is_intact(const LaunchStep& step, const nb::object& epoch) {
    const Names& n = names();
    if (is_any_lost(step) || is_true(attribute(step.launch_template, n.options), n.device)) return false;
    if (!attribute(attribute(step.launch_template, n.facts), n.epoch).equal(epoch)) return false;
    for (nb::handle a : step.active)
        if (attribute(a, n.grad).is_none()) return false;
    return count_gradients(step.arrays) <= step.active.size();
}

void check_steps(const nb::list& steps, const nb::object& epoch) {
    for (nb::handle step : steps) {
        const LaunchStep* launch = as_launch(step);
        if (!launch || !is_intact(*launch, epoch)) call(step, names().check);
    }
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

std::vector<bool> truths(const nb::list& given) {
    std::vector<bool> found;
    found.reserve(given.size());
    for (nb::handle value : given) found.push_back(value.is(nb::handle(Py_True)));
    return found;
}

// Runs the adjoint of a launch. False, with nothing done, if that takes Python.
bool run_adjoint(const LaunchStep& step) {
    const Names& n = names();
    if (!step.left.is_none() || !step.structures.is(step_class().no_structures) || is_any_lost(step)) return false;
    nb::object options = attribute(step.launch_template, n.options), facts = attribute(step.launch_template, n.facts);
    if (is_true(options, n.exact) || is_true(options, n.device) || is_true(facts, n.replays)) return false;
    nb::object plans = attribute(attribute(step.launch_template, n.kernel), n.plans);
    nb::object plan = nb::borrow(PyDict_GetItemWithError(plans.ptr(), options.ptr()));
    if (!plan.is_valid()) {
        if (PyErr_Occurred()) throw nb::python_error();
        return false;
    }
    std::vector<Move> moves = moves_of(step);
    nb::tuple args(step.args);
    nb::inst_ptr<Plan>(plan)->launch(step.dim.ptr(), &PyTuple_GET_ITEM(args.ptr(), 0), args.size(), moves,
                                     truths(nb::borrow<nb::list>(attribute(facts, n.moved))));
    return true;
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
        const LaunchStep* launch = as_launch(step);
        if (!launch || !run_adjoint(*launch)) call(step, names().backward);
        ++done;
    } while (Clock::now() < end);
    return done;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    const LaunchStep& step = *nb::inst_ptr<LaunchStep>(self);
    for (const nb::object* member : std::initializer_list<const nb::object*>{
             &step.launch_template, &step.dim, &step.args, &step.held, &step.active, &step.arrays, &step.written,
             &step.cut, &step.left, &step.structures})
        Py_VISIT(member->ptr());
    return 0;
}

int clear(PyObject* self) {
    if (!nb::inst_ready(self)) return 0;
    LaunchStep& step = *nb::inst_ptr<LaunchStep>(self);
    step.args = step.held = step.active = step.arrays = step.written = nb::list();
    step.cut = step.left = step.structures = nb::none();
    return 0;
}

PyType_Slot slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};

}  // namespace

nb::object make_step(LaunchStep step) {
    nb::object made = nb::inst_alloc(step_class().type);
    step.cut = step.left = nb::none();
    step.structures = step_class().no_structures;
    new (nb::inst_ptr<LaunchStep>(made)) LaunchStep(std::move(step));
    nb::inst_mark_ready(made);
    ++steps_made;
    return made;
}

void bind_launch_steps(nb::module_& m) {
    nb::class_<LaunchStep>(m, "LaunchStep", nb::type_slots(slots))
        .def(
            "__init__",
            [](LaunchStep* self, nb::object launch_template, nb::object dim, nb::list args, nb::list held,
               nb::list active, nb::list arrays, nb::list written, nb::object place, nb::object cut) {
                new (self) LaunchStep{std::move(launch_template), std::move(dim),    std::move(place),
                                      std::move(args),            std::move(held),   std::move(active),
                                      std::move(arrays),          std::move(written), std::move(cut),
                                      nb::none(),                 step_class().no_structures};
            },
            nb::arg("template"), nb::arg("dim").none(), nb::arg("args"), nb::arg("held"), nb::arg("active"),
            nb::arg("arrays"), nb::arg("written"), nb::arg("place"), nb::arg("cut").none() = nb::none())
        .def_ro("template", &LaunchStep::launch_template)
        .def_ro("dim", &LaunchStep::dim)
        .def_ro("place", &LaunchStep::place)
        .def_ro("args", &LaunchStep::args)
        .def_ro("held", &LaunchStep::held)
        .def_ro("active", &LaunchStep::active)
        .def_ro("arrays", &LaunchStep::arrays)
        .def_rw("written", &LaunchStep::written)
        .def_ro("cut", &LaunchStep::cut)
        .def_rw("left", &LaunchStep::left, nb::for_setter(nb::arg("left").none()))
        .def_rw("structures", &LaunchStep::structures);
    m.def(
        "set_step_class",
        [](nb::object type, nb::object no_structures) { step_class() = {std::move(type), std::move(no_structures)}; },
        nb::arg("cls"), nb::arg("no_structures"));
    m.def("steps_made", [] { return steps_made; });
    m.def("check_steps", &check_steps, nb::arg("steps"), nb::arg("epoch"));
    m.def("run_backwards", &run_backwards, nb::arg("steps"), nb::arg("seconds"));
}

}  // namespace wc
