// What the simulated driver knows: devices with their memory, streams with their work, captures and graphs.
#pragma once
#include <sys/mman.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "warp_core/context.h"

namespace {

enum : int {
    kSuccess = 0,
    kInvalidValue = 1,
    kOutOfMemory = 2,
    kInvalidDevice = 101,
    kInvalidImage = 200,
    kInvalidContext = 201,
    kPeerAccessUnsupported = 217,
    kInvalidHandle = 400,
    kIllegalState = 401,
    kNotFound = 500,
    kNotReady = 600,
    kIllegalAddress = 700,
    kPeerAccessEnabled = 704,
    kPeerAccessNotEnabled = 705,
    kContextIsDestroyed = 709,  // what a driver says of a destroyed event
    kLaunchFailed = 719,
    kNotSupported = 801,
    kCaptureUnsupported = 900,
    kCaptureInvalidated = 901,
    kCaptureMerge = 902,
    kCaptureUnmatched = 903,
    kCaptureUnjoined = 904,
    kCaptureIsolation = 905,
    kCaptureImplicit = 906,
    kCapturedEvent = 907,
    kCaptureWrongThread = 908,
};
const std::map<int, const char*> kNames = {
    {0, "CUDA_SUCCESS"},
    {1, "CUDA_ERROR_INVALID_VALUE"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY"},
    {100, "CUDA_ERROR_NO_DEVICE"},
    {101, "CUDA_ERROR_INVALID_DEVICE"},
    {200, "CUDA_ERROR_INVALID_IMAGE"},
    {201, "CUDA_ERROR_INVALID_CONTEXT"},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"},
    {400, "CUDA_ERROR_INVALID_HANDLE"},
    {500, "CUDA_ERROR_NOT_FOUND"},
    {600, "CUDA_ERROR_NOT_READY"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"},
    {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
    {719, "CUDA_ERROR_LAUNCH_FAILED"},
    {401, "CUDA_ERROR_ILLEGAL_STATE"},
    {801, "CUDA_ERROR_NOT_SUPPORTED"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
    {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE"},
    {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"},
    {907, "CUDA_ERROR_CAPTURED_EVENT"},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"},
};

constexpr size_t kArena = size_t{1} << 28, kAlign = 512;
constexpr size_t kPage = size_t{1} << 21;  // a large page: protecting memory takes as long as it has pages
using Work = std::function<void()>;

struct Condition {
    unsigned value = 0;
};
struct Graph;
struct Node {
    std::set<Node*> follows;
    Work work;
    bool is_kernel = false;
    std::shared_ptr<Graph> inner;
    Condition* condition = nullptr;
    bool repeats = false;
    Node* origin = nullptr;  // in a copy: what it is one of
};
struct Graph {
    std::vector<std::unique_ptr<Node>> nodes;

    Node* add(Node node) { return nodes.emplace_back(std::make_unique<Node>(std::move(node))).get(); }
    std::shared_ptr<Graph> copy() const {
        auto made = std::make_shared<Graph>();
        std::map<Node*, Node*> twins;
        for (auto& node : nodes) {
            Node twin = *node;
            twin.origin = node->origin ? node->origin : node.get();
            twin.follows.clear();
            for (Node* before : node->follows) twin.follows.insert(twins.at(before));
            if (twin.inner) twin.inner = twin.inner->copy();
            twins[node.get()] = made->add(std::move(twin));
        }
        return made;
    }
    void run() const {
        std::set<Node*> done;
        while (done.size() < nodes.size())
            for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
                Node* node = it->get();
                bool ready = !done.count(node);
                for (Node* before : node->follows) ready = ready && done.count(before);
                if (!ready) continue;
                run(*node);
                done.insert(node);
                break;
            }
    }
    bool conditional() const {
        for (auto& node : nodes)
            if (node->condition || (node->inner && node->inner->conditional())) return true;
        return false;
    }
    void reset() const {
        for (auto& node : nodes) {
            if (node->condition) node->condition->value = 0;
            if (node->inner) node->inner->reset();
        }
    }
    static void run(const Node& node) {
        if (node.work) return node.work();
        if (node.condition) {
            if (node.condition->value) node.inner->run();
            while (node.repeats && node.condition->value) node.inner->run();
        } else if (node.inner) {
            node.inner->run();
        }
    }
    Node* twin_of(const Node* origin) const {
        for (auto& node : nodes)
            if (node->origin == origin) return node.get();
        return nullptr;
    }
};

using Clock = std::chrono::steady_clock;
Clock::time_point stalled;  // until then no device gets on

struct Stream;
enum Mode { kGlobal, kThreadLocal, kRelaxed };
struct Capture {
    Graph* graph;
    Stream* origin;
    int mode;
    bool body;
    std::thread::id thread = std::this_thread::get_id();
    bool broken = false, ended = false;
    std::set<Node*> left{};  // of streams that have been destroyed
};
std::vector<Capture*> captures;  // kept, as events may name those that have ended
thread_local int thread_mode = kGlobal;

struct Mark {  // where an event was recorded: after so many items of a stream
    Stream* stream = nullptr;
    uint64_t at = 0;
    Capture* capture = nullptr;
    std::set<Node*> front;
    double milliseconds = 0;
};
struct Event {
    Mark mark;
    bool recorded = false, timing = true, destroyed = false;
};

struct Device;
struct Stream {
    Device* device;
    int priority = 0;
    std::deque<Work> queue;
    uint64_t submitted = 0, finished = 0;
    bool apart = false;  // does not keep in order with the null stream
    Capture* capture = nullptr;
    std::set<Node*> front;  // what the next node of the capture follows

    void submit(Work work, bool is_kernel = false) {
        if (capture) return capture_node({{}, std::move(work), is_kernel});
        queue.push_back(std::move(work));
        ++submitted;
    }
    void capture_node(Node node) {
        node.follows = front;
        front = {capture->graph->add(std::move(node))};
    }
    void advance(uint64_t to) {
        if (finished < to) std::this_thread::sleep_until(stalled);
        while (finished < to && !queue.empty()) {
            Work work = std::move(queue.front());
            queue.pop_front();
            ++finished;
            work();
        }
    }
};

struct Device {
    int ordinal;
    char* arena = nullptr;
    std::map<size_t, size_t> taken;  // offset -> size
    std::set<Device*> peers;
    Stream null{this}, per_thread{this};  // of the threads' own default streams only one, for all
    std::set<Stream*> streams{&null, &per_thread};
    int retained = 0;
    uint64_t threshold = 0, pool_used = 0, pool_high = 0;
    std::set<Device*> pool_peers;
    int failure = 0;  // sticky, as a device's is

    explicit Device(int n) : ordinal(n) {
        constexpr int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        auto start = reinterpret_cast<uintptr_t>(mmap(nullptr, kArena + kPage, PROT_NONE, kind, -1, 0));
        arena = reinterpret_cast<char*>((start + kPage - 1) / kPage * kPage);
        madvise(arena, kArena, MADV_HUGEPAGE);
    }
    bool owns(const void* p) const { return p >= arena && p < arena + kArena; }
    void* take(size_t n) {
        n = (n + kAlign - 1) / kAlign * kAlign;
        size_t at = 0;
        for (auto [begin, size] : taken) {
            if (begin - at >= n) break;
            at = begin + size;
        }
        if (at + n > kArena) return nullptr;
        taken[at] = n;
        return arena + at;
    }
    bool give(const void* p) {
        auto it = taken.find(static_cast<const char*>(p) - arena);
        if (it == taken.end()) return false;
        size_t begin = (it->first + kPage - 1) / kPage * kPage, end = (it->first + it->second) / kPage * kPage;
        if (begin < end) madvise(arena + begin, end - begin, MADV_DONTNEED);
        taken.erase(it);
        return true;
    }
};

// Everything is guarded by one lock; kernels run under it.
std::recursive_mutex lock;
std::vector<Device*> devices;
thread_local std::vector<Device*> current;
std::set<void*> pinned;
std::map<std::string, std::pair<int, int>> failures;  // call -> (code, calls to let pass)
double clock_ms = 0;
std::string
    printed;  // what kernels have printed: it is written by what CUDA's programming guide names, and nothing else

void write_printed() {
    std::fwrite(printed.data(), 1, printed.size(), stdout);
    printed.clear();
}

struct Kernel {
    std::string name;
    wc_kernel entry = nullptr;
    size_t bytes = 0;
    bool strided = false;
    // Of a kernel that a machine for PTX runs: its module there, and what is declared of it.
    int module = 0;
    Device* device = nullptr;
    unsigned most_threads = 0;
    std::vector<size_t> sizes{};
};
struct Launch {  // the second parameter of kernels
    int64_t threads, dims[4];
    wc_failure* failure;
    void* stash[2];
    int64_t cells[2];
};
static_assert(sizeof(Launch) == 80);
struct Module {
    std::map<std::string, Kernel> kernels;
};

// A machine for PTX (tests/ptx/driver.py). It is given the text of a module, and writes a line about each kernel: its
// name, the most threads of a block, the sizes of its parameters. Then it is given launches.
struct Machine {
    int (*load)(const char* text, char* kernels, size_t capacity) = nullptr;
    int (*run)(int module, const char* kernel, unsigned grid, unsigned block, const char* params,
               int ordinal) = nullptr;
};
Machine machine;

// Lets the memory of devices be touched while it lives.
struct Open {
    Open() {
        for (Device* d : devices) mprotect(d->arena, kArena, PROT_READ | PROT_WRITE);
    }
    ~Open() {
        for (Device* d : devices) mprotect(d->arena, kArena, PROT_NONE);
    }
};

Device* device_of(const void* p) {
    for (Device* d : devices)
        if (d->owns(p)) return d;
    return nullptr;
}
bool is_pinned(const void* p) {
    auto it = pinned.upper_bound(const_cast<void*>(p));
    if (it == pinned.begin()) return false;
    char* start = static_cast<char*>(*--it);
    size_t size;
    std::memcpy(&size, start - 64, sizeof size);
    return static_cast<const char*>(p) < start + size;
}

int fails(const char* call) {
    auto it = failures.find(call);
    if (it == failures.end() || it->second.second-- > 0) return kSuccess;
    int code = it->second.first;
    failures.erase(it);
    if (code == kIllegalAddress || code == kLaunchFailed)
        if (!current.empty()) current.back()->failure = code;
    return code;
}

// Of a handle: 0 and 1 are the null stream of the current context, 2 is that of the thread. Null for one that was
// destroyed, or never was one.
Stream* stream_of(void* s) {
    if (reinterpret_cast<uintptr_t>(s) > 2) {
        std::lock_guard guard(lock);
        for (Device* d : devices)
            if (d->streams.count(static_cast<Stream*>(s))) return static_cast<Stream*>(s);
        return nullptr;
    }
    if (current.empty()) return nullptr;
    return reinterpret_cast<uintptr_t>(s) == 2 ? &current.back()->per_thread : &current.back()->null;
}

int invalidate(Capture* capture, int code) {
    capture->broken = true;
    return code;
}

// A call that waits is refused while a stream of the context captures.
int refuse_in_capture(Device* d) {
    int code = kSuccess;
    for (Stream* s : d->streams)
        if (s->capture) code = invalidate(s->capture, kCaptureUnsupported);
    return code;
}

// Whether work can be given to a stream.
int usable(Stream* s) {
    if (!s) return current.empty() ? kInvalidContext : kInvalidHandle;
    if (s->capture && s->capture->broken) return kCaptureInvalidated;
    int code = kSuccess;
    if (s == &s->device->null)
        for (Stream* other : s->device->streams)
            if (other->capture && !other->apart) code = invalidate(other->capture, kCaptureImplicit);
    return code;
}
#define USABLE(stream) \
    if (int code = usable(stream)) return code

// Calls that are unsafe while something is captured.
int unsafe() {
    if (thread_mode == kRelaxed) return kSuccess;
    int code = kSuccess;
    for (Capture* c : captures) {
        bool mine = c->thread == std::this_thread::get_id();
        if (c->ended || c->body || (mine ? c->mode == kRelaxed : c->mode != kGlobal || thread_mode != kGlobal))
            continue;
        code = invalidate(c, kCaptureUnsupported);
    }
    return code;
}
#define SAFE \
    if (int code = unsafe()) return code

void drain(Device* d) {
    Open open;
    for (Stream* s : d->streams) s->advance(s->submitted);
}

// The work of earlier calls on streams in order comes before that on the null stream, and the other way round.
void order(Stream* s) {
    Device* d = s->device;
    if (s->apart || s->capture) return;
    if (s == &d->null) {
        std::vector<std::pair<Stream*, uint64_t>> marks;
        for (Stream* other : d->streams)
            if (other != s && !other->apart && !other->queue.empty()) marks.emplace_back(other, other->submitted);
        if (marks.empty()) return;
        s->submit(Work([d, marks] {
            for (auto [other, at] : marks)
                if (d->streams.count(other)) other->advance(at);
        }));
    } else if (!d->null.queue.empty()) {
        s->submit(Work([d, at = d->null.submitted] { d->null.advance(at); }));
    }
}

// Whether memory may be used now: an address of a device must be in an allocation, or it counts as an illegal one.
bool alive(const void* p, size_t n) {
    Device* d = device_of(p);
    if (!d) return true;
    size_t at = static_cast<const char*>(p) - d->arena;
    auto it = d->taken.upper_bound(at);
    bool inside = it != d->taken.begin() && (--it, at + n <= it->first + it->second);
    if (!inside) d->failure = kIllegalAddress;
    return inside;
}

int copy(void* to, const void* from, size_t n, Stream* s) {
    USABLE(s);
    s->submit(Work([=] {
        if (alive(to, n) && alive(from, n)) std::memmove(to, from, n);
    }));
    return kSuccess;
}

template <class T>
int set_memory(void* to, T value, size_t count, Stream* s) {
    USABLE(s);
    order(s);
    if (!device_of(to) || reinterpret_cast<uintptr_t>(to) % sizeof(T)) return kInvalidValue;
    s->submit(Work([=] {
        if (!alive(to, count * sizeof(T))) return;
        for (size_t i = 0; i < count; ++i) std::memcpy(static_cast<char*>(to) + i * sizeof(T), &value, sizeof(T));
    }));
    return kSuccess;
}

// Sets a condition of a graph: parameters are its handle, the address of an int32, and whether that is to be 0 or not.
Work condition_of(void** params) {
    auto* condition = *static_cast<Condition**>(params[0]);
    auto* number = *static_cast<int32_t**>(params[1]);
    bool wanted = *static_cast<unsigned*>(params[2]) != 0;
    return [=] {
        if (alive(number, sizeof *number)) condition->value = (*number != 0) == wanted;
    };
}

// What a launch of PTX does: the machine gets as many bytes of each parameter as the text declares.
Work machine_call_of(const Kernel* kernel, void** params, unsigned grid, unsigned block) {
    if (block > kernel->most_threads) return {};
    std::string given;
    for (size_t i = 0; i < kernel->sizes.size(); ++i) given.append(static_cast<char*>(params[i]), kernel->sizes[i]);
    return [=] {
        Device* d = kernel->device;
        if (!d->failure)
            d->failure = machine.run(kernel->module, kernel->name.c_str(), grid, block, given.data(), d->ordinal);
    };
}

// What a launch does, with the parameters as they are now; null if the grid has too few threads.
Work call_of(const Kernel* kernel, void** params, unsigned grid, unsigned of_threads) {
    if (kernel->module) return machine_call_of(kernel, params, grid, of_threads);
    int64_t threads = int64_t{grid} * of_threads;
    if (kernel->name == "wc_set_condition") return condition_of(params);
    std::vector<std::max_align_t> block(kernel->bytes / sizeof(std::max_align_t) + 1);
    std::memcpy(block.data(), params[0], kernel->bytes);
    Launch launch;
    std::memcpy(&launch, params[1], sizeof launch);
    if (!kernel->strided && threads < launch.threads) return {};
    return [=] {
        wc_context context;
        kernel->entry(block.data(), launch.dims, 0, launch.threads, &context);
        printed += context.printed;
        if (launch.failure) *launch.failure = context.failure;
    };
}

}  // namespace
