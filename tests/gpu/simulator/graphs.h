// Captures and graphs of the simulated driver.
#pragma once
#include "state.h"

namespace {

int begin_capture(Stream* s, Graph* graph, int mode, bool body) {
    if (!s || s == &s->device->null) return kCaptureUnsupported;
    if (s->capture) return kIllegalState;
    s->capture = captures.emplace_back(new Capture{graph, s, mode, body});
    s->front.clear();
    return kSuccess;
}

void before(Node* node, std::set<Node*>& found) {
    if (found.insert(node).second)
        for (Node* earlier : node->follows) before(earlier, found);
}

// Whether all that was captured on other streams comes before the end of the first.
bool joined(Capture* c) {
    std::set<Node*> found;
    for (Node* node : c->origin->front) before(node, found);
    for (Node* node : c->left)
        if (!found.count(node)) return false;
    for (Stream* s : c->origin->device->streams)
        if (s->capture == c)
            for (Node* node : s->front)
                if (!found.count(node)) return false;
    return true;
}

std::map<Graph*, std::shared_ptr<Graph>> graphs;  // those that callers own
struct Exec {
    std::shared_ptr<Graph> graph;
};
std::set<Exec*> execs;

}  // namespace

// How many graphs there are.
API simulator_graphs() {
    std::lock_guard guard(lock);
    return static_cast<int>(graphs.size());
}
API cuStreamBeginCapture_v2(void* p, int mode) {
    ENTER(cuStreamBeginCapture_v2);
    auto graph = std::make_shared<Graph>();
    if (int code = begin_capture(static_cast<Stream*>(p), graph.get(), mode, false)) return code;
    graphs[graph.get()] = graph;
    return kSuccess;
}
API cuStreamBeginCaptureToGraph(void* p, void* g, const void*, const void*, size_t count, int mode) {
    ENTER(cuStreamBeginCaptureToGraph);
    return count ? kNotSupported : begin_capture(static_cast<Stream*>(p), static_cast<Graph*>(g), mode, true);
}
API cuStreamEndCapture(void* p, void** out) {
    ENTER(cuStreamEndCapture);
    auto* s = static_cast<Stream*>(p);
    Capture* c = s->capture;
    *out = nullptr;
    if (!c) return kIllegalState;
    if (c->origin != s) return kCaptureUnmatched;
    if (c->mode != kRelaxed && c->thread != std::this_thread::get_id()) return kCaptureWrongThread;
    int code = c->broken ? kCaptureInvalidated : joined(c) ? kSuccess : kCaptureUnjoined;
    c->ended = true;
    for (Device* d : devices)
        for (Stream* other : d->streams)
            if (other->capture == c) {
                other->capture = nullptr;
                other->front.clear();
            }
    if (code && !c->body) graphs.erase(c->graph);
    if (!code) *out = c->graph;
    return code;
}
API cuStreamIsCapturing(void* p, int* out) {
    Stream* s = stream_of(p);
    if (!s && !current.empty()) return kInvalidHandle;
    *out = s && s->capture ? s->capture->broken ? 2 : 1 : 0;
    if (s && s == &s->device->null)  // refused, but the capture goes on
        for (Stream* other : s->device->streams)
            if (other->capture && !other->apart) return kCaptureImplicit;
    return kSuccess;
}
API cuStreamGetCaptureInfo_v2(void* p, int* status, uint64_t* id, void** graph, void*** nodes, size_t* count) {
    ENTER(cuStreamGetCaptureInfo_v2);
    static thread_local std::vector<void*> found;
    Stream* s = stream_of(p);
    if (int code = cuStreamIsCapturing(p, status)) return code;
    if (*status != 1) return kSuccess;  // nothing else is valid then
    found.assign(s->front.begin(), s->front.end());
    if (id) *id = reinterpret_cast<uint64_t>(s->capture);
    if (graph) *graph = s->capture->graph;
    if (nodes) *nodes = found.data();
    if (count) *count = found.size();
    return kSuccess;
}
API cuStreamUpdateCaptureDependencies(void* p, void** nodes, size_t count, unsigned flags) {
    ENTER(cuStreamUpdateCaptureDependencies);
    Stream* s = stream_of(p);
    if (!s || !s->capture) return kIllegalState;
    if (flags & 1) s->front.clear();
    for (size_t i = 0; i < count; ++i) s->front.insert(static_cast<Node*>(nodes[i]));
    return kSuccess;
}
API cuThreadExchangeStreamCaptureMode(int* mode) {
    std::swap(thread_mode, *mode);
    return kSuccess;
}
API cuGraphGetNodes(void* g, void**, size_t* count) {
    *count = static_cast<Graph*>(g)->nodes.size();
    return kSuccess;
}
API cuGraphAddChildGraphNode(void** out, void* g, void** nodes, size_t count, void* child) {
    ENTER(cuGraphAddChildGraphNode);
    auto* part = static_cast<Graph*>(child);
    if (part->conditional()) return kNotSupported;
    Node node;
    for (size_t i = 0; i < count; ++i) node.follows.insert(static_cast<Node*>(nodes[i]));
    node.inner = part->copy();
    *out = static_cast<Graph*>(g)->add(std::move(node));
    return kSuccess;
}
API cuGraphConditionalHandleCreate(uint64_t* out, void*, void* context, unsigned value, unsigned flags) {
    ENTER(cuGraphConditionalHandleCreate);
    if (!context || value || flags != 1) return kInvalidValue;
    *out = reinterpret_cast<uint64_t>(new Condition);
    return kSuccess;
}
struct ConditionalParams {
    int type, reserved[3];
    uint64_t handle;
    int kind;
    unsigned size;
    void** bodies;
    void* context;
    uint64_t rest[26];
};
API cuGraphAddNode(void** out, void* g, void** nodes, size_t count, ConditionalParams* params) {
    ENTER(cuGraphAddNode);
    bool blank = true;
    for (uint64_t word : params->rest) blank = blank && word == 0;
    for (int word : params->reserved) blank = blank && word == 0;
    if (params->type != 13 || params->size != 1 || params->kind > 1 || !params->context || !blank) return kInvalidValue;
    Node node;
    for (size_t i = 0; i < count; ++i) node.follows.insert(static_cast<Node*>(nodes[i]));
    node.inner = std::make_shared<Graph>();
    node.condition = reinterpret_cast<Condition*>(params->handle);
    node.repeats = params->kind == 1;
    static std::deque<void*> bodies;
    params->bodies = &bodies.emplace_back(node.inner.get());
    *out = static_cast<Graph*>(g)->add(std::move(node));
    return kSuccess;
}
API cuGraphInstantiateWithFlags(void** out, void* g, unsigned long long flags) {
    ENTER(cuGraphInstantiateWithFlags);
    if (!graphs.count(static_cast<Graph*>(g)) || flags) return kInvalidValue;
    *out = *execs.insert(new Exec{static_cast<Graph*>(g)->copy()}).first;
    return kSuccess;
}
API cuGraphLaunch(void* g, void* p) {
    if (idle) return kSuccess;
    ENTER(cuGraphLaunch);
    Stream* s = stream_of(p);
    auto* exec = static_cast<Exec*>(g);
    USABLE(s);
    if (!execs.count(exec)) return kInvalidHandle;
    if (s->capture) return invalidate(s->capture, kCaptureUnsupported);
    order(s);
    s->submit(Work([graph = exec->graph->copy()] {
        graph->reset();
        graph->run();
    }));
    return kSuccess;
}
struct KernelParams {
    void* function;
    unsigned grid[3], block[3], shared;
    void **parameters, **extra, *kernel, *context;
};
API cuGraphExecKernelNodeSetParams_v2(void* g, void* n, const KernelParams* params) {
    ENTER(cuGraphExecKernelNodeSetParams_v2);
    auto* exec = static_cast<Exec*>(g);
    if (!execs.count(exec)) return kInvalidHandle;
    Node* node = exec->graph->twin_of(static_cast<Node*>(n));
    if (!node || !node->is_kernel || params->grid[0] == 0) return kInvalidValue;
    node->work = call_of(static_cast<Kernel*>(params->function), params->parameters, params->grid[0], params->block[0]);
    if (!node->work) return kInvalidValue;
    return kSuccess;
}
API cuGraphExecDestroy(void* g) {
    ENTER(cuGraphExecDestroy);
    SAFE;
    return execs.erase(static_cast<Exec*>(g)) ? kSuccess : kInvalidHandle;
}
API cuGraphDestroy(void* g) {
    ENTER(cuGraphDestroy);
    SAFE;
    return graphs.erase(static_cast<Graph*>(g)) ? kSuccess : kInvalidHandle;
}
API cuGraphDebugDotPrint(void* g, const char* path, unsigned) {
    FILE* file = std::fopen(path, "w");
    if (!file) return kInvalidValue;
    std::fprintf(file, "digraph {\n");
    for (auto& node : static_cast<Graph*>(g)->nodes) {
        const char* kind = node->condition   ? "CONDITIONAL"
                           : node->inner     ? "GRAPH"
                           : node->is_kernel ? "KERNEL"
                                             : "MEMORY";
        std::fprintf(file, "  n%p [label=\"%s\"];\n", static_cast<void*>(node.get()), kind);
        for (Node* before : node->follows)
            std::fprintf(file, "  n%p -> n%p;\n", static_cast<void*>(before), static_cast<void*>(node.get()));
    }
    std::fprintf(file, "}\n");
    std::fclose(file);
    return kSuccess;
}
