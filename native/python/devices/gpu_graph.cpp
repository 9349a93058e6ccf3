// Graphs of the CUDA driver: what Python needs to capture work of streams, and to launch it again. Handles are integers
// as in py_cuda.cpp; what has been captured is a GpuGraph.
#include "devices/gpu_graph.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <string>
#include <tuple>
#include <vector>

#include "devices/py_cuda.h"
#include "gil.h"
#include "launches/plan.h"
#include "launches/timeline.h"

namespace wc {
namespace {

using namespace cuda;

// What was captured, ready to be launched. The graph it was made from stays, as its nodes name those of this one.
class GpuGraph {
  public:
    // Takes the graph over, and destroys it if it cannot be made ready.
    GpuGraph(Context context, Graph graph) : GpuGraph(Taken{context, graph}) {
        CUDA_CALL(cuGraphGetNodes, graph, nullptr, &size_);
        CUDA_CALL(cuGraphInstantiateWithFlags, &exec_, graph, 0);
    }
    ~GpuGraph() {
        RelaxedCaptureMode relaxed;  // what is under way when this is called ends as if it were not
        if (exec_) driver().cuGraphExecDestroy(exec_);
        driver().cuGraphDestroy(graph_);
    }
    GpuGraph(const GpuGraph&) = delete;
    GpuGraph& operator=(const GpuGraph&) = delete;

    // From now on the node makes the launch as it is when the graph is launched. Without a node, changes raise.
    void follow(GraphNode node, nb::object launch) {
        uint64_t version = launch_version(launch);
        followed_.push_back({node, std::move(launch), version});
    }

    void run(Stream stream) {
        ScopedContext current(context_);
        for (Followed& f : followed_) {
            uint64_t version = launch_version(f.launch);
            if (version == f.version) continue;
            update_node(f.launch, exec_, f.node);
            f.version = version;
        }
        Timed timed(Activity::kGraph, "graph", 0, context_, stream);
        launching_.run([&] { CUDA_CALL(cuGraphLaunch, exec_, stream); });
    }

    void print(const std::string& path, bool verbose) {
        constexpr unsigned kVerbose = 1;
        ScopedContext current(context_);
        CUDA_CALL(cuGraphDebugDotPrint, graph_, path.c_str(), verbose ? kVerbose : 0);
    }

    // The launches that it follows.
    nb::list launches() const {
        nb::list out;
        for (const Followed& f : followed_) out.append(f.launch);
        return out;
    }

    int traverse(visitproc visit, void* arg) const {
        for (const Followed& f : followed_) Py_VISIT(f.launch.ptr());
        return 0;
    }

    Graph graph() const { return graph_; }
    GraphExec exec() const { return exec_; }
    size_t size() const { return size_; }

  private:
    // Delegated to, so that the destructor is called though the other constructor throws.
    struct Taken {
        Context context;
        Graph graph;
    };
    explicit GpuGraph(Taken taken) : context_(taken.context), graph_(taken.graph) {}

    struct Followed {
        GraphNode node;
        nb::object launch;
        uint64_t version;
    };

    Context context_;
    Graph graph_;
    GraphExec exec_ = nullptr;
    size_t size_ = 0;
    std::vector<Followed> followed_;
    AdaptiveGilRelease launching_;
};

// -- capturing --------------------------------------------------------------------------------------------------------

void begin(Handle context, Handle stream, int mode) {
    ScopedContext current(pointer<Context>(context));
    CUDA_CALL(cuStreamBeginCapture_v2, pointer<Stream>(stream), mode);
}

// Captures what follows on the stream in the body of a conditional node.
void begin_body(Handle context, Handle stream, Handle body, int mode) {
    ScopedContext current(pointer<Context>(context));
    CUDA_CALL(cuStreamBeginCaptureToGraph, pointer<Stream>(stream), pointer<Graph>(body), nullptr, nullptr, 0, mode);
}

void end_body(Handle context, Handle stream) {
    ScopedContext current(pointer<Context>(context));
    Graph body = nullptr;  // belongs to the conditional node
    CUDA_CALL(cuStreamEndCapture, pointer<Stream>(stream), &body);
}

// None if the graph is dropped.
nb::object end(Handle context, Handle stream, bool drop) {
    ScopedContext current(pointer<Context>(context));
    Graph graph = nullptr;
    Result result = driver().cuStreamEndCapture(pointer<Stream>(stream), &graph);
    if (graph && (drop || result != kSuccess)) driver().cuGraphDestroy(graph);
    check(result, "cuStreamEndCapture");
    if (drop) return nb::none();
    return nb::cast(new GpuGraph(pointer<Context>(context), graph), nb::rv_policy::take_ownership);
}

int exchange_mode(int mode) {
    CUDA_CALL(cuThreadExchangeStreamCaptureMode, &mode);
    return mode;
}

// The graph that a stream captures, and the nodes that the next one will follow.
struct Front {
    Graph graph = nullptr;
    const GraphNode* nodes = nullptr;
    size_t count = 0;

    explicit Front(Stream stream) {
        int status = 0;
        uint64_t id = 0;
        CUDA_CALL(cuStreamGetCaptureInfo_v2, stream, &status, &id, &graph, &nodes, &count);
        if (status != 1) throw std::runtime_error("the stream is not being captured");
    }
    // Puts a node at the end of the stream.
    static void advance(Stream stream, GraphNode node) {
        constexpr unsigned kReplace = 1;
        CUDA_CALL(cuStreamUpdateCaptureDependencies, stream, &node, 1, kReplace);
    }
};

// The node of the last launch on a stream that captures.
Handle last_node(Handle context, Handle stream) {
    ScopedContext current(pointer<Context>(context));
    Front front(pointer<Stream>(stream));
    return front.count == 1 ? handle(front.nodes[0]) : 0;
}

void add_graph(Handle context, Handle stream, const GpuGraph& part) {
    ScopedContext current(pointer<Context>(context));
    Front front(pointer<Stream>(stream));
    GraphNode node = nullptr;
    CUDA_CALL(cuGraphAddChildGraphNode, &node, front.graph, front.nodes, front.count, part.graph());
    Front::advance(pointer<Stream>(stream), node);
}

// -- conditions -------------------------------------------------------------------------------------------------------

bool has_conditions() {
    const Driver& d = driver();
    return d.cuStreamBeginCaptureToGraph && d.cuGraphAddNode && d.cuGraphConditionalHandleCreate;
}

uint64_t create_condition(Handle context, Handle stream) {
    ScopedContext current(pointer<Context>(context));
    Front front(pointer<Stream>(stream));
    uint64_t handle = 0;
    constexpr unsigned kAssignAtLaunch = 1;
    CUDA_CALL(cuGraphConditionalHandleCreate, &handle, front.graph, pointer<Context>(context), 0, kAssignAtLaunch);
    return handle;
}

// Captures a launch of the kernel that sets a condition to whether an int32 is what is wanted (cuda_capture.py has it).
void set_condition(Handle context, Handle function, Handle stream, uint64_t condition, Pointer number,
                   unsigned wanted) {
    ScopedContext current(pointer<Context>(context));
    void* parameters[] = {&condition, &number, &wanted};
    CUDA_CALL(cuLaunchKernel, pointer<Function>(function), 1, 1, 1, 1, 1, 1, 0, pointer<Stream>(stream), parameters,
              nullptr);
}

// Adds a node that depends on a condition. Returns the graph of its body, which is empty.
Handle add_conditional(Handle context, Handle stream, uint64_t condition, bool repeat) {
    ScopedContext current(pointer<Context>(context));
    Front front(pointer<Stream>(stream));
    ConditionalNodeParams params;
    params.handle = condition;
    params.kind = repeat ? 1 : 0;
    params.context = pointer<Context>(context);
    GraphNode node = nullptr;
    CUDA_CALL(cuGraphAddNode, &node, front.graph, front.nodes, front.count, &params);
    Front::advance(pointer<Stream>(stream), node);
    return handle(params.bodies[0]);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<GpuGraph>(self)->traverse(visit, arg) : 0;
}

PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {0, nullptr}};

}  // namespace

bool is_gpu_graph(nb::handle object) { return nb::isinstance<GpuGraph>(object); }
void run_gpu_graph(nb::handle graph, Stream stream) { nb::inst_ptr<GpuGraph>(graph)->run(stream); }

void bind_gpu_graphs(nb::module_& m) {
    nb::class_<GpuGraph>(m, "GpuGraph", nb::type_slots(slots))
        .def(
            "follow",
            [](GpuGraph& g, Handle node, nb::object launch) {
                if (!is_launch(launch)) throw nb::type_error("expected a recorded launch");
                g.follow(pointer<GraphNode>(node), std::move(launch));
            },
            nb::arg("node"), nb::arg("launch"))
        .def("print", &GpuGraph::print, nb::arg("path"), nb::arg("verbose"))
        .def_prop_ro("launches", &GpuGraph::launches)
        .def_prop_ro("exec", [](const GpuGraph& g) { return handle(g.exec()); })
        .def("__len__", &GpuGraph::size);
    m.def("begin_capture", &begin, nb::arg("context"), nb::arg("stream"), nb::arg("mode"));
    m.def("end_capture", &end, nb::arg("context"), nb::arg("stream"), nb::arg("drop"));
    m.def("begin_body", &begin_body, nb::arg("context"), nb::arg("stream"), nb::arg("body"), nb::arg("mode"));
    m.def("end_body", &end_body, nb::arg("context"), nb::arg("stream"));
    m.def("exchange_capture_mode", &exchange_mode, nb::arg("mode"));
    m.def("last_node", &last_node, nb::arg("context"), nb::arg("stream"));
    m.def("add_graph", &add_graph, nb::arg("context"), nb::arg("stream"), nb::arg("graph"));
    m.def("has_conditions", &has_conditions);
    m.def("create_condition", &create_condition, nb::arg("context"), nb::arg("stream"));
    m.def("set_condition", &set_condition, nb::arg("context"), nb::arg("function"), nb::arg("stream"),
          nb::arg("condition"), nb::arg("number"), nb::arg("wanted"));
    m.def("add_conditional", &add_conditional, nb::arg("context"), nb::arg("stream"), nb::arg("condition"),
          nb::arg("repeat"));
}

}  // namespace wc
