// A graph: work that was captured once and is done again without Python code in between. A node is a recorded launch, a
// call of a native function with its arguments, another graph, or a graph that depends on a condition in memory. That
// of a GPU is a graph of the driver, which is the only node.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "devices/gpu_graph.h"
#include "gil.h"
#include "launches/plan.h"
#include "launches/timeline.h"
#include "warp_core/pool.h"

namespace wc {
namespace {

constexpr int kMaxDepth = 1000;         // of graphs within graphs: each runs on the stack of the one around it
constexpr int kNodesPerLook = 256;      // after so many nodes the clock is read,
constexpr int64_t kTurnNs = 5'000'000;  // and after so long signals are served and other threads get their turn

class Graph;

// Looks up from the work now and then, on behalf of the user (Ctrl-C) and of other threads.
class InterruptPoll {
  public:
    void step() {
        if (++nodes_ < kNodesPerLook) return;
        nodes_ = 0;
        int64_t now = now_ns();
        if (now - last_ < kTurnNs) return;
        last_ = now;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        without_gil([] {});
    }

  private:
    int nodes_ = 0;
    int64_t last_ = now_ns();
};

// What a run of a graph has: the stream for GPUs, and the pace.
struct Turn {
    cuda::Stream stream;
    InterruptPoll pace{};
};

struct LaunchNode {
    nb::object launch;
};
struct CallNode {
    nb::object function, args;
};
struct ChildNode {
    nb::object graph;
};
// `condition` is where an int32 is; either graph may be missing.
struct IfNode {
    nb::object array, on_true, on_false;
    const int32_t* condition;
};
struct WhileNode {
    nb::object array, body;
    const int32_t* condition;
};
struct GpuNode {
    nb::object graph;
};
using Work = std::variant<LaunchNode, CallNode, ChildNode, IfNode, WhileNode, GpuNode>;

struct Node {
    Work work;
    std::string label;
    nb::object keep;  // what the work points to
};

const char* const kKinds[] = {"launch", "call", "graph", "if", "while", "gpu"};

class Graph {
  public:
    void add(Work work, std::string label, nb::object keep = nb::none()) {
        nodes_.push_back({std::move(work), std::move(label), std::move(keep)});
    }
    // Lets graphs run in this one, None being none.
    void hold(std::initializer_list<nb::handle> graphs) {
        for (nb::handle inner : graphs)
            if (!inner.is_none()) depth_ = std::max(depth_, nb::inst_ptr<Graph>(inner)->depth_ + 1);
        if (depth_ > kMaxDepth)
            throw nb::value_error("graphs can be parts of graphs to a depth of 1000; capture the work itself again");
    }
    void run(cuda::Stream stream) {
        Turn turn{stream};
        if (is_of_gpus()) return run(turn);  // GpuGraph times itself
        Timed timed(Activity::kGraph, "graph");
        run(turn);
    }
    void run(Turn& turn) {
        // By index: what runs may be Python code, which cannot add nodes to a finished graph but may look at it.
        for (size_t i = 0; i < nodes_.size(); ++i) {
            std::visit([&](const auto& work) { execute(work, turn); }, nodes_[i].work);
            turn.pace.step();
        }
    }
    const std::vector<Node>& nodes() const { return nodes_; }
    void keep(nb::object what) { kept_.push_back(std::move(what)); }
    void clear() {
        nodes_.clear();
        kept_.clear();
    }
    int traverse(visitproc visit, void* arg) const;

  private:
    bool is_of_gpus() const {
        return std::all_of(nodes_.begin(), nodes_.end(),
                           [](const Node& node) { return std::holds_alternative<GpuNode>(node.work); });
    }
    static void execute(const LaunchNode& node, Turn&) { run_launch(node.launch); }
    static void execute(const CallNode& node, Turn&) {
        nb::object result = nb::steal(PyObject_CallObject(node.function.ptr(), node.args.ptr()));
        if (!result.is_valid()) throw nb::python_error();
    }
    static void execute(const ChildNode& node, Turn& turn) { run_graph(node.graph, turn); }
    static void execute(const IfNode& node, Turn& turn) {
        run_graph(*node.condition ? node.on_true : node.on_false, turn);
    }
    static void execute(const WhileNode& node, Turn& turn) {
        while (*node.condition) {
            run_graph(node.body, turn);
            turn.pace.step();
        }
    }
    static void execute(const GpuNode& node, Turn& turn) { run_gpu_graph(node.graph, turn.stream); }
    static void run_graph(const nb::object& graph, Turn& turn) {
        if (!graph.is_none()) nb::inst_ptr<Graph>(graph)->run(turn);
    }

    std::vector<Node> nodes_;
    std::vector<nb::object> kept_;
    int depth_ = 0;  // how many graphs lie in each other here
};

// The Python objects that a node holds.
std::vector<nb::handle> objects(const Node& node) {
    struct Collect {
        std::vector<nb::handle> operator()(const LaunchNode& n) { return {n.launch}; }
        std::vector<nb::handle> operator()(const CallNode& n) { return {n.function, n.args}; }
        std::vector<nb::handle> operator()(const ChildNode& n) { return {n.graph}; }
        std::vector<nb::handle> operator()(const IfNode& n) { return {n.array, n.on_true, n.on_false}; }
        std::vector<nb::handle> operator()(const WhileNode& n) { return {n.array, n.body}; }
        std::vector<nb::handle> operator()(const GpuNode& n) { return {n.graph}; }
    };
    auto found = std::visit(Collect{}, node.work);
    found.push_back(node.keep);
    return found;
}

int Graph::traverse(visitproc visit, void* arg) const {
    for (const Node& node : nodes_)
        for (nb::handle object : objects(node)) Py_VISIT(object.ptr());
    for (const nb::object& object : kept_) Py_VISIT(object.ptr());
    return 0;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<Graph>(self)->traverse(visit, arg) : 0;
}

int clear(PyObject* self) {
    if (nb::inst_ready(self)) nb::inst_ptr<Graph>(self)->clear();
    return 0;
}

PyType_Slot slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};

void require_graph(nb::handle value) {
    if (!value.is_none() && !nb::isinstance<Graph>(value)) throw nb::type_error("expected a graph");
}

// Where the condition is that an array of int32 holds; Python code has looked at its type and size.
const int32_t* condition_in(nb::handle array) {
    return reinterpret_cast<const int32_t*>(nb::cast<uintptr_t>(array.attr("_address")));
}

// Kind, label, and the graphs inside.
nb::tuple described(const Node& node) {
    nb::list inside;
    if (auto* child = std::get_if<ChildNode>(&node.work)) inside.append(child->graph);
    if (auto* choice = std::get_if<IfNode>(&node.work)) {
        inside.append(choice->on_true);
        inside.append(choice->on_false);
    }
    if (auto* loop = std::get_if<WhileNode>(&node.work)) inside.append(loop->body);
    return nb::make_tuple(kKinds[node.work.index()], node.label, nb::tuple(inside));
}

}  // namespace

void bind_graphs(nb::module_& m) {
    nb::class_<Graph>(
        m, "Graph", nb::type_slots(slots), nb::is_weak_referenceable(), nb::dynamic_attr(),
        "What was captured: launches, copies and fills, for `capture_launch`. Its length is their number.")
        .def(nb::init<>())
        .def(
            "add_launch",
            [](Graph& g, nb::object launch, std::string label, nb::object keep) {
                if (!is_launch(launch)) throw nb::type_error("expected a recorded launch");
                g.add(LaunchNode{std::move(launch)}, std::move(label), std::move(keep));
            },
            nb::arg("launch"), nb::arg("label"), nb::arg("keep").none() = nb::none())
        .def(
            "add_call",
            [](Graph& g, nb::object function, nb::tuple args, std::string label, nb::object keep) {
                g.add(CallNode{std::move(function), std::move(args)}, std::move(label), std::move(keep));
            },
            nb::arg("function"), nb::arg("args"), nb::arg("label"), nb::arg("keep").none() = nb::none())
        .def(
            "add_graph",
            [](Graph& g, nb::object child, std::string label) {
                if (child.is_none()) throw nb::type_error("expected a graph");
                require_graph(child);
                g.hold({child});
                g.add(ChildNode{std::move(child)}, std::move(label));
            },
            nb::arg("graph"), nb::arg("label"))
        .def(
            "add_if",
            [](Graph& g, nb::object array, nb::object on_true, nb::object on_false) {
                require_graph(on_true);
                require_graph(on_false);
                g.hold({on_true, on_false});
                auto* condition = condition_in(array);
                g.add(IfNode{std::move(array), std::move(on_true), std::move(on_false), condition}, "if");
            },
            nb::arg("condition"), nb::arg("on_true").none(), nb::arg("on_false").none())
        .def(
            "add_while",
            [](Graph& g, nb::object array, nb::object body) {
                if (body.is_none()) throw nb::type_error("expected a graph");
                require_graph(body);
                g.hold({body});
                auto* condition = condition_in(array);
                g.add(WhileNode{std::move(array), std::move(body), condition}, "while");
            },
            nb::arg("condition"), nb::arg("body"))
        .def(
            "add_gpu_graph",
            [](Graph& g, nb::object graph, std::string label, nb::object keep) {
                if (!is_gpu_graph(graph)) throw nb::type_error("expected a graph of the driver");
                g.add(GpuNode{std::move(graph)}, std::move(label), std::move(keep));
            },
            nb::arg("graph"), nb::arg("label"), nb::arg("keep"))
        .def("keep", &Graph::keep, nb::arg("what").none())
        .def(
            "run", [](Graph& g, uintptr_t stream) { g.run(reinterpret_cast<cuda::Stream>(stream)); },
            nb::arg("stream") = 0)
        .def_prop_ro("contents",
                     [](const Graph& g) {
                         nb::list out;
                         for (const Node& node : g.nodes()) {
                             nb::list held;
                             for (nb::handle object : objects(node)) held.append(object);
                             out.append(nb::make_tuple(kKinds[node.work.index()], node.label, nb::tuple(held)));
                         }
                         return out;
                     })
        .def("__len__", [](const Graph& g) { return g.nodes().size(); })
        .def_prop_ro("nodes", [](const Graph& g) {
            nb::list out;
            for (const Node& node : g.nodes()) out.append(described(node));
            return out;
        });
}

}  // namespace wc
