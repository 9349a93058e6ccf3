// The function `launch` and the recorded launch. `launch` is a plain vectorcall function. Whatever is not a plain
// launch of a kernel with a ready plan goes, with the same arguments, to the Python function set by set_slow_launch.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "launches/overload_plans.h"
#include "launches/plan.h"
#include "launches/record.h"

namespace wc {
namespace {

enum Slot {
    kKernel,
    kDim,
    kInputs,
    kOutputs,
    kAdjInputs,
    kAdjOutputs,
    kDevice,
    kStream,
    kAdjoint,
    kRecordTape,
    kRecordCmd,
    kMaxBlocks,
    kBlockDim,
    kInterpret,
    kSerial,
    kSlots
};
constexpr const char* kSlotNames[kSlots] = {"kernel",      "dim",        "inputs",    "outputs",   "adj_inputs",
                                            "adj_outputs", "device",     "stream",    "adjoint",   "record_tape",
                                            "record_cmd",  "max_blocks", "block_dim", "interpret", "serial"};

struct Module {
    std::array<PyObject*, kSlots> names;
    PyObject* plan = PyUnicode_InternFromString("_plan");
    PyObject* id = PyUnicode_InternFromString("id");
    nb::object slow_launch = nb::none();
    std::string doc;
    bool fast = true;
    bool observed = false;              // some thread has observers
    nb::object capture = nb::none();    // asked whether a recorded launch goes into a graph instead of running
    nb::object on_stream = nb::none();  // makes a recorded launch on a stream that is not the current one
    int default_device = 0;

    Module() {
        for (int i = 0; i < kSlots; ++i) names[i] = PyUnicode_InternFromString(kSlotNames[i]);
    }
};

thread_local bool recording = false;  // whether observers see this thread, which see plain launches only

// Never destroyed: it must not drop Python references after the interpreter is gone.
Module& module() {
    static Module& m = *new Module;
    return m;
}

constexpr int kUsualBlock = 256;  // threads of a block, if a launch does not say

using Slots = std::array<PyObject*, kSlots>;

bool place(PyObject* name, PyObject* value, Slots& slots) {
    const auto& names = module().names;
    for (int i = 0; i < kSlots; ++i) {
        if (names[i] != name && PyUnicode_Compare(names[i], name) != 0) continue;
        if (slots[i]) return false;
        slots[i] = value;
        return true;
    }
    return false;
}

// True for an integer, or a list of them: whatever else stands for `dim` is probably a forgotten one.
bool is_extent(PyObject* dim) {
    if (PyIndex_Check(dim)) return true;
    if (!PyTuple_Check(dim) && !PyList_Check(dim)) return false;
    nb::object items = nb::steal(PySequence_Fast(dim, ""));
    PyObject** all = PySequence_Fast_ITEMS(items.ptr());
    return std::all_of(all, all + PySequence_Fast_GET_SIZE(items.ptr()), [](PyObject* n) { return PyIndex_Check(n); });
}

// False if the call does not match the signature; the slow path then explains.
bool parse(PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, Slots& slots) {
    if (nargs > kSlots) return false;
    std::copy_n(args, nargs, slots.begin());
    Py_ssize_t keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t i = 0; i < keywords; ++i)
        if (!place(PyTuple_GET_ITEM(kwnames, i), args[nargs + i], slots)) return false;
    return slots[kKernel] && slots[kDim] && is_extent(slots[kDim]);
}

bool is_empty(PyObject* value) {
    if (!value || value == Py_None) return true;
    return (PyTuple_CheckExact(value) && PyTuple_GET_SIZE(value) == 0) ||
           (PyList_CheckExact(value) && PyList_GET_SIZE(value) == 0);
}

bool is_list(PyObject* value) { return !value || PyList_CheckExact(value) || PyTuple_CheckExact(value); }
bool unset_or(PyObject* value, PyObject* expected) { return !value || value == expected; }

bool is_plain_call(const Slots& s) {
    return is_list(s[kInputs]) && is_list(s[kOutputs]) && is_empty(s[kAdjInputs]) && is_empty(s[kAdjOutputs]) &&
           unset_or(s[kStream], Py_None) && unset_or(s[kAdjoint], Py_False) && unset_or(s[kInterpret], Py_False) &&
           unset_or(s[kSerial], Py_None);
}

// The id of the device of a name: 0 for "cpu", n + 1 for "cuda:n", -1 if Python has to find out.
int device_named(PyObject* name) {
    if (PyUnicode_CompareWithASCIIString(name, "cpu") == 0) return 0;
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(name, &size);
    if (!text) PyErr_Clear();
    bool is_gpu = text && size == 6 && std::memcmp(text, "cuda:", 5) == 0 && text[5] >= '0' && text[5] <= '9';
    return is_gpu ? text[5] - '0' + 1 : -1;
}

// The id of the device that a launch names, -1 if that takes Python to find out.
int device_of(PyObject* device) {
    if (!device || device == Py_None) return module().default_device;
    if (PyUnicode_CheckExact(device)) return device_named(device);
    nb::object id = nb::steal(PyObject_GetAttr(device, module().id));
    if (!id.is_valid() || !PyLong_CheckExact(id.ptr())) {
        PyErr_Clear();
        return -1;
    }
    return static_cast<int>(PyLong_AsLong(id.ptr()));
}

// Whether a plan is for blocks as the launch wants them.
bool fits_blocks(const Plan& plan, PyObject* block_dim) {
    if (plan.block_dim == 0) return true;
    if (!block_dim || block_dim == Py_None) return plan.block_dim == kUsualBlock;
    return PyLong_CheckExact(block_dim) && PyLong_AsLong(block_dim) == plan.block_dim;
}

// The plan for as many dimensions as the launch has.
const nb::object& plan_for_dimensions(const nb::object& plan, PyObject* dim) {
    const Plan& p = *nb::inst_ptr<Plan>(plan);
    if (!p.first_indices || (!PyTuple_Check(dim) && !PyList_Check(dim))) return plan;
    Py_ssize_t ndim = Py_SIZE(dim);
    if (ndim <= std::max(p.arity, 1)) return plan;
    static const nb::object none;
    return ndim - 2 < static_cast<Py_ssize_t>(p.wider.size()) ? p.wider[ndim - 2] : none;
}

// The arguments of a launch in order, borrowed from its two lists.
class Values {
  public:
    Values(PyObject* inputs, PyObject* outputs) {
        Py_ssize_t a = inputs ? PySequence_Fast_GET_SIZE(inputs) : 0,
                   b = outputs ? PySequence_Fast_GET_SIZE(outputs) : 0;
        count_ = static_cast<size_t>(a + b);
        if (count_ > small_.size()) large_.resize(count_);
        PyObject** to = data();
        if (a) to = std::copy_n(PySequence_Fast_ITEMS(inputs), a, to);
        if (b) std::copy_n(PySequence_Fast_ITEMS(outputs), b, to);
        // A list may change while the GIL is released.
        for (size_t i = 0; i < count_; ++i) Py_INCREF(data()[i]);
    }
    ~Values() {
        for (size_t i = 0; i < count_; ++i) Py_DECREF(data()[i]);
    }
    Values(const Values&) = delete;
    Values& operator=(const Values&) = delete;

    PyObject** data() { return large_.empty() ? small_.data() : large_.data(); }
    size_t count() const { return count_; }

  private:
    size_t count_;
    std::array<PyObject*, 16> small_;
    std::vector<PyObject*> large_;
};

// The plan of a kernel for these arguments, if it is ready and for this device.
nb::object plan_of(const Slots& s, Values& values) {
    nb::object plan = nb::steal(PyObject_GetAttr(s[kKernel], module().plan));
    if (!plan.is_valid()) PyErr_Clear();
    if (plan.is_valid() && Py_TYPE(plan.ptr()) == choices_type)
        plan = nb::inst_ptr<OverloadPlans>(plan)->find(values.data(), values.count());
    if (!plan.is_valid() || Py_TYPE(plan.ptr()) != plan_type) return {};
    plan = plan_for_dimensions(plan, s[kDim]);
    if (!plan.is_valid()) return {};
    const Plan& found = *nb::inst_ptr<Plan>(plan);
    bool fits = found.device_id == device_of(s[kDevice]) && fits_blocks(found, s[kBlockDim]);
    return fits ? plan : nb::object();
}

// A launch whose arguments stay packed between runs.
class Launch {
  public:
    Launch(nb::object kernel, nb::object plan, nb::handle dim, PyObject* const* values, size_t count)
        : kernel(std::move(kernel)),
          plan_object(std::move(plan)),
          plan_(*nb::inst_ptr<Plan>(plan_object)),
          block_(std::max<size_t>(1, (plan_.block_size + 63) / 64)),
          params_(plan_.params.size()) {
        set_dim(dim);
        set_params(values, count);
    }

    // One whose arguments are packed already; `keep` is what they point to.
    Launch(nb::object kernel, nb::object plan, nb::handle dim, const nb::bytes& block, bool strided, nb::object keep)
        : kernel(std::move(kernel)),
          plan_object(std::move(plan)),
          plan_(*nb::inst_ptr<Plan>(plan_object)),
          block_(std::max<size_t>(1, (plan_.block_size + 63) / 64)),
          params_(plan_.params.size()),
          packed_(std::move(keep)),
          strided_(strided) {
        if (block.size() != plan_.block_size) throw nb::value_error("the argument block has another size");
        if (block.size() != 0) std::memcpy(block_.data()->bytes, block.c_str(), block.size());
        set_dim(dim);
    }

    Launch(const Launch&) = delete;
    Launch& operator=(const Launch&) = delete;

    void set_dim(nb::handle d) {
        grid_ = plan_.grid(d.ptr());
        dim = nb::borrow(d);
        ++version;
    }

    void set_params(PyObject* const* values, size_t count) {
        plan_.check_count(count);
        for (size_t i = 0; i < count; ++i) set_param(static_cast<int64_t>(i), values[i]);
    }

    void set_param(int64_t at, PyObject* value) {
        auto index = static_cast<size_t>(at);
        if (at < 0 || index >= params_.size())
            raise(PyExc_IndexError, "kernel `" + plan_.name + "` has " + std::to_string(params_.size()) +
                                        " parameters, there is no index " + std::to_string(at));
        Param fresh;
        std::vector<Line> block = block_;  // a refused value leaves the launch as it was
        plan_.pack(index, value, block.data()->bytes, fresh.pins, fresh.strided);
        fresh.pins.add(nb::borrow(value));
        if (nb::object held = held_tensor(value); held.is_valid()) fresh.pins.add(std::move(held));
        std::swap(block_, block);
        std::swap(params_[index], fresh);
        if (running_) retired_.push_back(std::move(fresh.pins));
        strided_ = std::any_of(params_.begin(), params_.end(), [](const Param& p) { return p.strided; });
        ++version;
    }

    void set_param_by_name(const std::string& name, PyObject* value) {
        for (size_t i = 0; i < plan_.params.size(); ++i)
            if (plan_.params[i].name == name) return set_param(static_cast<int64_t>(i), value);
        raise(PyExc_ValueError, "kernel `" + plan_.name + "` has no parameter `" + name + "`");
    }

    void refuse_recording() const {
        if (recording)
            raise(PyExc_RuntimeError, "kernel `" + plan_.name +
                                          "`: a tape cannot record recorded launches (record_cmd=True): launch the "
                                          "kernel directly, or outside of the tape");
    }

    void run() {
        Running running(*this);
        std::vector<Line> copy;
        std::array<Line, 32> small;
        Line* block = small.data();
        if (block_.size() > small.size()) {
            copy = block_;
            block = copy.data();
        } else {
            std::copy(block_.begin(), block_.end(), block);
        }
        plan_.run(block->bytes, grid_, strided_);
    }

    int64_t threads() const { return grid_.threads; }
    nb::bytes block() const { return nb::bytes(block_.data()->bytes, plan_.block_size); }
    bool strided() const { return strided_; }
    void announce_writes() const { plan_.announce_writes(block_.data()->bytes); }

    void update_node(cuda::GraphExec exec, cuda::GraphNode node) {
        plan_.update_node(exec, node, block_.data()->bytes, grid_, strided_);
    }

    int traverse(visitproc visit, void* arg) const {
        Py_VISIT(kernel.ptr());
        Py_VISIT(plan_object.ptr());
        Py_VISIT(dim.ptr());
        Py_VISIT(packed_.ptr());
        for (const Param& p : params_)
            if (int stop = p.pins.traverse(visit, arg)) return stop;
        for (const Pins& p : retired_)
            if (int stop = p.traverse(visit, arg)) return stop;
        return 0;
    }

    nb::object kernel, plan_object, dim;
    uint64_t version = 0;  // of the arguments and dimensions

  private:
    struct alignas(64) Line {
        std::byte bytes[64];
    };
    struct Param {
        Pins pins;
        bool strided = false;
    };

    // While a launch runs, another thread or a signal handler may set parameters: what they replace is kept.
    struct Running {
        explicit Running(Launch& l) : launch(l) { ++launch.running_; }
        ~Running() {
            if (--launch.running_ == 0) std::exchange(launch.retired_, {}).clear();
        }
        Launch& launch;
    };

    Plan& plan_;
    Grid grid_;
    std::vector<Line> block_;
    std::vector<Param> params_;
    std::vector<Pins> retired_;
    nb::object packed_ = nb::none();
    int running_ = 0;
    bool strided_ = false;
};

PyObject* launch_plan(const Slots& s, const nb::object& plan, Values& values) {
    if (s[kRecordCmd] && PyObject_IsTrue(s[kRecordCmd]) == 1)
        return nb::cast(new Launch(nb::borrow(s[kKernel]), plan, s[kDim], values.data(), values.count()),
                        nb::rv_policy::take_ownership)
            .release()
            .ptr();
    nb::inst_ptr<Plan>(plan)->launch(s[kDim], values.data(), values.count());
    Py_RETURN_NONE;
}

// A launch that a tape records by the template of an earlier one; null if only Python can.
PyObject* launch_on_tape(const Slots& s) {
    if (!unset_or(s[kRecordTape], Py_True) || !unset_or(s[kRecordCmd], Py_False)) return nullptr;
    Values values(s[kInputs], s[kOutputs]);
    nb::object found = plan_of(s, values);
    if (!found.is_valid()) return nullptr;
    Plan& plan = *nb::inst_ptr<Plan>(found);
    if (!plan.recipe.is_valid() || plan.device_id != 0) return nullptr;
    nb::object recipe = plan.recipe;  // another thread may replace it while Python runs
    Recording recording = record_launch(recipe, s[kDim], values.data(), values.count());
    if (!recording.is_valid()) return nullptr;
    try {
        plan.launch(s[kDim], values.data(), values.count());
    } catch (...) {
        std::exception_ptr why = std::current_exception();
        recording.failed();
        std::rethrow_exception(why);
    }
    recording.done();
    Py_RETURN_NONE;
}

// Drops the line of the Python function from an error that the function itself raises, with no line below it.
void drop_own_line() {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (trace && nb::handle(trace).attr("tb_next").is_none()) {
        Py_CLEAR(trace);
        if (PyExceptionInstance_Check(value)) PyException_SetTraceback(value, Py_None);
    }
    PyErr_Restore(type, value, trace);
}

PyObject* launch_or_throw(PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    Slots s{};
    if (!parse(args, nargs, kwnames, s) || !is_plain_call(s)) {
        // Python explains, or does it.
    } else if (module().observed) {
        if (PyObject* done = launch_on_tape(s)) return done;
    } else if (module().fast) {
        Values values(s[kInputs], s[kOutputs]);
        nb::object plan = plan_of(s, values);
        if (plan.is_valid()) return launch_plan(s, plan, values);
    }
    if (module().slow_launch.is_none()) raise(PyExc_RuntimeError, "no compiler is attached to launch()");
    PyObject* made = PyObject_Vectorcall(module().slow_launch.ptr(), args, static_cast<size_t>(nargs), kwnames);
    if (!made) drop_own_line();
    return made;
}

PyObject* launch(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    try {
        return launch_or_throw(args, nargs, kwnames);
    } catch (nb::python_error& e) {
        e.restore();
    } catch (const std::exception& e) {
        PyErr_SetString(PyExc_RuntimeError, e.what());
    }
    return nullptr;
}

PyMethodDef launch_def = {"launch", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(launch)),
                          METH_FASTCALL | METH_KEYWORDS, nullptr};

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<Launch>(self)->traverse(visit, arg) : 0;
}

PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {0, nullptr}};

nb::object sequence(nb::handle values) {
    nb::object items = nb::steal(PySequence_Fast(values.ptr(), "the parameters must be a sequence"));
    if (!items.is_valid()) throw nb::python_error();
    return items;
}

}  // namespace

bool is_launch(nb::handle object) { return nb::isinstance<Launch>(object); }
void run_launch(nb::handle launch) { nb::inst_ptr<Launch>(launch)->run(); }
uint64_t launch_version(nb::handle launch) { return nb::inst_ptr<Launch>(launch)->version; }
void update_node(nb::handle launch, cuda::GraphExec exec, cuda::GraphNode node) {
    nb::inst_ptr<Launch>(launch)->update_node(exec, node);
}

bool is_observed() { return module().observed; }

void bind_launch(nb::module_& m) {
    const auto set_at = [](Launch& l, int64_t index, nb::handle value) { l.set_param(index, value.ptr()); };
    const auto set_by_name = [](Launch& l, const std::string& name, nb::handle value) {
        l.set_param_by_name(name, value.ptr());
    };
    const auto set_all = [](Launch& l, nb::handle values) {
        nb::object items = sequence(values);
        l.set_params(PySequence_Fast_ITEMS(items.ptr()), static_cast<size_t>(PySequence_Fast_GET_SIZE(items.ptr())));
    };
    nb::class_<Launch>(
        m, "Launch", nb::type_slots(slots), nb::is_weak_referenceable(),
        "A launch with its arguments packed, from `wp.launch(..., record_cmd=True)`: repeating it is quick.\n\n"
        "Arrays are remembered, not copied: what a repeated launch sees is what they hold then.\n\n"
        ">>> @wp.kernel\n"
        "... def add(x: wp.array(dtype=float), by: float):\n"
        "...     i = wp.tid()\n"
        "...     x[i] += by\n"
        ">>> x = wp.zeros(2, dtype=float)\n"
        ">>> command = wp.launch(add, dim=2, inputs=[x, 1.0], record_cmd=True)\n"
        ">>> command.launch()\n"
        ">>> command.set_param_by_name(\"by\", 10.0)\n"
        ">>> command.launch()\n"
        ">>> x.list()\n"
        "[11.0, 11.0]")
        .def(
            "__init__",
            [](Launch* self, nb::object kernel, nb::object plan, nb::handle dim, nb::handle values) {
                if (!nb::isinstance<Plan>(plan)) throw nb::type_error("plan must be a Plan");
                nb::object items = sequence(values);
                new (self) Launch(std::move(kernel), std::move(plan), dim, PySequence_Fast_ITEMS(items.ptr()),
                                  static_cast<size_t>(PySequence_Fast_GET_SIZE(items.ptr())));
            },
            nb::arg("kernel").none(), nb::arg("plan"), nb::arg("dim"), nb::arg("args"))
        .def("set_param_at_index", set_at, nb::arg("index"), nb::arg("value").none(),
             "Replace the argument of that index. A value that is refused leaves the launch as it was.")
        .def("set_param_by_name", set_by_name, nb::arg("name"), nb::arg("value").none(),
             "Replace the argument of that name.")
        .def("set_params", set_all, nb::arg("params"),
             "Replace all arguments, in the order of the kernel's parameters.")
        .def("set_param_at_index_from_ctype", set_at, nb::arg("index"), nb::arg("value"),
             "As `set_param_at_index`, by the name that programs for warp-lang use for descriptors of arrays.")
        .def("set_param_by_name_from_ctype", set_by_name, nb::arg("name"), nb::arg("value"),
             "As `set_param_by_name`, by the name that programs for warp-lang use for descriptors of arrays.")
        .def("set_params_from_ctypes", set_all, nb::arg("params"),
             "As `set_params`, by the name that programs for warp-lang use for descriptors of arrays.")
        .def("set_dim", &Launch::set_dim, nb::arg("dim"), "Replace the launch dimensions.")
        .def(
            "launch",
            [](nb::handle_t<Launch> self, nb::handle stream) {
                nb::inst_ptr<Launch>(self)->refuse_recording();
                if (!stream.is_none()) {
                    module().on_stream(self, stream);
                    return;
                }
                const nb::object& capture = module().capture;
                if (capture.is_none() || !nb::cast<bool>(capture(self))) run_launch(self);
            },
            nb::arg("stream").none() = nb::none(), "Run it, on a GPU on that stream or else on the current one.")
        .def_ro("kernel", &Launch::kernel, "The kernel.")
        .def_ro("dim", &Launch::dim, "The launch dimensions.")
        .def_prop_ro("threads", &Launch::threads, "How many threads it has.")
        .def_prop_ro("block", &Launch::block, "The packed arguments.")
        .def_prop_ro("strided", &Launch::strided, "Whether an array has gaps in its last dimension.")
        .def_ro("plan", &Launch::plan_object, "How native code launches the kernel.");
    m.def(
        "announce_writes", [](nb::handle_t<Launch> launch) { nb::inst_ptr<Launch>(launch)->announce_writes(); },
        nb::arg("launch"));
    m.def(
        "packed_launch",
        [](nb::object kernel, nb::object plan, nb::handle dim, const nb::bytes& block, bool strided, nb::object keep) {
            if (!nb::isinstance<Plan>(plan)) throw nb::type_error("plan must be a Plan");
            return new Launch(std::move(kernel), std::move(plan), dim, block, strided, std::move(keep));
        },
        nb::arg("kernel"), nb::arg("plan"), nb::arg("dim"), nb::arg("block"), nb::arg("strided"), nb::arg("keep"));
    m.def("run_launch", [](nb::handle_t<Launch> launch) { run_launch(launch); }, nb::arg("launch"));
    m.def(
        "set_slow_launch", [](nb::object f) { return std::exchange(module().slow_launch, std::move(f)); },
        nb::arg("function").none());
    m.def(
        "set_launch_doc",
        [](std::string doc) {
            module().doc = std::move(doc);
            launch_def.ml_doc = module().doc.c_str();
        },
        nb::arg("doc"));
    m.def("set_recording", [](bool enabled) { recording = enabled; }, nb::arg("enabled"));
    m.def("set_observed", [](bool observed) { module().observed = observed; }, nb::arg("observed"));
    m.def("set_capture", [](nb::object hook) { module().capture = std::move(hook); }, nb::arg("hook").none());
    m.def("set_launch_on_stream", [](nb::object f) { module().on_stream = std::move(f); }, nb::arg("function"));
    m.def("set_fast_launch", [](bool enabled) { module().fast = enabled; }, nb::arg("enabled"));
    m.def("set_default_device", [](int id) { module().default_device = id; }, nb::arg("device_id"));
    m.attr("launch") = nb::steal(PyCFunction_NewEx(&launch_def, nullptr, nb::str("omni.warp_core._native").ptr()));
}

}  // namespace wc
