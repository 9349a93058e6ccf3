#include "launches/timeline.h"

#include <nanobind/stl/string.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "devices/py_cuda.h"
#include "warp_core/pool.h"

namespace wc {

namespace nb = nanobind;

bool timing = false;

struct Timed::Open {
    Activity kind;
    std::string name;
    int64_t amount, start;
    cuda::Context context;
    cuda::Stream stream;
    cuda::Event first;
};

namespace {

// What is over. On a GPU it ran between two events; `start` and `end` are when the program gave it to the GPU.
struct Done {
    Activity kind;
    std::string name;
    int64_t amount, start, end;
    uint64_t thread;
    bool in_graph;
    cuda::Context context;
    cuda::Event first, last;
};

std::vector<Done>& timeline() {
    static auto& all = *new std::vector<Done>;
    return all;
}

thread_local int graphs = 0;  // that run on this thread, one in another

// An event behind what the stream has; null for work of the CPU, and while the stream captures.
cuda::Event mark(cuda::Context context, cuda::Stream stream) {
    if (!context) return nullptr;
    const cuda::Driver& d = cuda::driver();
    cuda::ScopedContext current(context);
    int capturing = 0;
    cuda::Event event = nullptr;
    if (d.cuStreamIsCapturing(stream, &capturing) != 0 || capturing) return nullptr;
    if (d.cuEventCreate(&event, 0) != 0) return nullptr;
    if (d.cuEventRecord(event, stream) == 0) return event;
    d.cuEventDestroy_v2(event);
    return nullptr;
}

void destroy(cuda::Context context, cuda::Event event) {
    if (!event) return;
    cuda::ScopedContext current(context);
    cuda::driver().cuEventDestroy_v2(event);
}

uint64_t this_thread() { return std::hash<std::thread::id>{}(std::this_thread::get_id()); }

nb::tuple told(const Done& d) {
    return nb::make_tuple(static_cast<uint32_t>(d.kind), d.name, d.amount, d.start, d.end, d.thread, d.in_graph,
                          handle(d.context), handle(d.first), handle(d.last));
}

void forget() {
    for (Done& d : timeline()) {
        destroy(d.context, d.first);
        destroy(d.context, d.last);
    }
    timeline().clear();
}

}  // namespace

Timed::Open* Timed::begin(Activity kind, std::string_view name, int64_t amount, cuda::Context context,
                          cuda::Stream stream) {
    auto* open = new Open{kind, std::string(name), amount, 0, context, stream, mark(context, stream)};
    if (kind == Activity::kGraph) ++graphs;
    open->start = now_ns();
    return open;
}

void Timed::end(Open* open) {
    int64_t now = now_ns();
    if (open->kind == Activity::kGraph) --graphs;
    cuda::Event last = open->first ? mark(open->context, open->stream) : nullptr;
    if (timing && (!open->context || last)) {  // what goes into a graph has not run
        timeline().push_back({open->kind, std::move(open->name), open->amount, open->start, now, this_thread(),
                              graphs > 0, open->context, open->first, last});
    } else {
        destroy(open->context, open->first);
    }
    delete open;
}

void bind_timeline(nb::module_& m) {
    nb::module_ sub = m.def_submodule("timeline");
    sub.def("set_timing", [](bool on) { timing = on; }, nb::arg("on"));
    sub.def("now", &now_ns);
    sub.def("size", [] { return timeline().size(); });
    sub.def(
        "done",
        [](size_t since) {
            nb::list out;
            for (size_t i = since; i < timeline().size(); ++i) out.append(told(timeline()[i]));
            return out;
        },
        nb::arg("since"));
    sub.def(
        "add",
        [](std::string name, int64_t start) {
            if (timing)
                timeline().push_back({Activity::kHost, std::move(name), 0, start, now_ns(), this_thread(), graphs > 0,
                                      nullptr, nullptr, nullptr});
        },
        nb::arg("name"), nb::arg("start"));
    sub.def("forget", &forget);
}

}  // namespace wc
