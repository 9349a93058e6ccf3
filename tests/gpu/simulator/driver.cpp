// A stand-in for libcuda.so, for tests of the runtime on machines without a GPU. Devices are memory of the process,
// kernels are functions of the process. It is strict where real devices are treacherous:
//
// - Memory of a device cannot be touched outside of the driver's own work: code of the host that tries ends in SIGSEGV.
// - Work on streams is put off until something waits for it, so that a missing synchronisation shows as stale data.
// - Memory of the host is read and written when the work is done, pageable memory too: the driver's documentation says
//   of the latter only that such copies *may* wait.
// - Capture follows streams through events. Meanwhile it refuses calls that synchronise, that are unsafe by the
//   thread's mode, or that use the null stream while a stream in order with it captures. Such a call ends the capture
//   without a graph. Unsafe are, beside what the driver's documentation names, questions about events and streams and
//   the end of graphs, as users of real drivers have found. Graphs run their nodes in the order of dependencies alone,
//   the latest first, so that a missing one shows.
// - Copies and fills of memory that was freed fail as kernels do that use an illegal address.
//
// "Images" are lines of text: a kernel's name, the address of its code for the CPU (`wc_kernel` of abi.h), the size of
// its argument block, whether any grid will do. Parameters are those of codegen/cuda/cuda_kernel.py. With `simulator_machine` they
// are PTX, which tests/ptx runs. `simulator_fail` makes a later call fail, `simulator_stall` keeps a device busy.
#include "state.h"

#include <atomic>

#include "abi.h"
#include "warp_core/cuda.h"

namespace {
std::atomic<bool> idle = false;  // launches are forgotten
std::atomic<int> held_ms = 0;    // how long launches of kernels wait,
std::atomic<int> waiting = 0;    // and how many do

void wait_as_if_full() {
    if (held_ms == 0) return;
    ++waiting;
    for (int ms = 0; ms < held_ms; ++ms) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --waiting;
}
}  // namespace

#define API extern "C" __attribute__((visibility("default"))) int
#define ENTER(name)                           \
    std::lock_guard guard(lock);              \
    if (int code = fails(#name)) return code; \
    if (!current.empty() && current.back()->failure) return current.back()->failure
#define LIVING(event) \
    if (static_cast<Event*>(event)->destroyed) return kContextIsDestroyed
#define NEEDS_CONTEXT \
    if (current.empty()) return kInvalidContext

// A device's handle is not its number, which locations of memory are.
constexpr int kFirstDevice = 64;
Device* device_of_handle(int handle) { return devices.at(handle - kFirstDevice); }

// Makes call `name` fail with `code` after `pass` more calls of it.
API simulator_fail(const char* name, int code, int pass) {
    std::lock_guard guard(lock);
    failures[name] = {code, pass};
    return kSuccess;
}
// Keeps all devices busy for so many milliseconds.
API simulator_stall(int milliseconds) {
    std::lock_guard guard(lock);
    stalled = Clock::now() + std::chrono::milliseconds(milliseconds);
    return kSuccess;
}
// With 1, launches of kernels and graphs are forgotten at once: what remains is the cost of asking for them.
API simulator_idle(int enabled) {
    idle = enabled;
    return kSuccess;
}
// Lets launches of kernels wait for so many milliseconds, or until this is called with 0, as if the queue were full.
API simulator_hold(int milliseconds) {
    held_ms = milliseconds;
    return kSuccess;
}
// How many launches wait so.
API simulator_waiting() { return waiting; }
// How many blocks of pinned memory there are.
API simulator_pinned() {
    std::lock_guard guard(lock);
    return static_cast<int>(pinned.size());
}
// How much work waits on the streams of a device.
API simulator_pending(int ordinal) {
    std::lock_guard guard(lock);
    size_t n = 0;
    for (Stream* s : devices.at(ordinal)->streams) n += s->queue.size();
    return static_cast<int>(n);
}
// How many allocations of a device are alive.
API simulator_allocations(int ordinal) {
    std::lock_guard guard(lock);
    return static_cast<int>(devices.at(ordinal)->taken.size());
}
// Heals a device after a sticky failure, which only the end of the process does on a real one.
API simulator_heal(int ordinal) {
    std::lock_guard guard(lock);
    devices.at(ordinal)->failure = 0;
    return kSuccess;
}
// Lets a machine for PTX run kernels: images are texts from now on.
API simulator_machine(decltype(machine.load) load, decltype(machine.run) run) {
    std::lock_guard guard(lock);
    machine = {load, run};
    return kSuccess;
}
// The memory that kernels of a device can use: (address, size) of its arena and those of its peers, then a pair of
// zeros, then (address, size) of each allocation. Returns how many pairs there are.
API simulator_memory(int ordinal, uint64_t* out, int capacity) {
    std::lock_guard guard(lock);
    Device* own = devices.at(ordinal);
    std::vector<uint64_t> arenas, allocations;
    for (Device* d : devices) {
        if (d != own && !own->peers.count(d) && !d->pool_peers.count(own)) continue;
        arenas.insert(arenas.end(), {reinterpret_cast<uint64_t>(d->arena), kArena});
        for (auto [at, n] : d->taken)
            allocations.insert(allocations.end(), {reinterpret_cast<uint64_t>(d->arena) + at, n});
    }
    arenas.insert(arenas.end(), {0, 0});
    arenas.insert(arenas.end(), allocations.begin(), allocations.end());
    int pairs = static_cast<int>(arenas.size() / 2);
    std::memcpy(out, arenas.data(), 16 * std::min(pairs, capacity));
    return pairs;
}
// Prints for a kernel.
API simulator_print(const char* text) {
    std::lock_guard guard(lock);
    printed += text;
    return kSuccess;
}
API simulator_set_condition(uint64_t handle, unsigned value) {
    reinterpret_cast<Condition*>(handle)->value = value;
    return kSuccess;
}

API cuInit(unsigned) {
    ENTER(cuInit);
    const char* count = std::getenv("SIMULATED_GPUS");
    int n = count ? std::atoi(count) : 2;
    if (n == 0) return 100;  // no device
    while (static_cast<int>(devices.size()) < n) devices.push_back(new Device(static_cast<int>(devices.size())));
    return kSuccess;
}
API cuDriverGetVersion(int* v) {
    *v = 13000;
    return kSuccess;
}
API cuGetErrorName(int code, const char** out) {
    auto it = kNames.find(code);
    *out = it == kNames.end() ? nullptr : it->second;
    return it == kNames.end() ? kInvalidValue : kSuccess;
}
API cuGetErrorString(int, const char** out) {
    *out = "simulated";
    return kSuccess;
}

// -- devices and contexts: a context is its device --------------------------------------------------------------------

API cuDeviceGetCount(int* n) {
    ENTER(cuDeviceGetCount);
    *n = static_cast<int>(devices.size());
    return kSuccess;
}
API cuDeviceGet(int* d, int i) {
    if (i < 0 || i >= static_cast<int>(devices.size())) return kInvalidDevice;
    *d = kFirstDevice + i;
    return kSuccess;
}
API cuDeviceGetName(char* out, int n, int d) {
    std::snprintf(out, n, "Simulated GPU %d", d - kFirstDevice);
    return kSuccess;
}
API cuDeviceGetPCIBusId(char* out, int n, int d) {
    std::snprintf(out, n, "0000:%02d:00.0", d - kFirstDevice);
    return kSuccess;
}
API cuDeviceGetUuid_v2(char* out, int d) {
    std::memset(out, 0xa0 + d - kFirstDevice, 16);
    return kSuccess;
}
API cuDeviceGetAttribute(int* out, int attribute, int d) {
    if (d < kFirstDevice) return kInvalidDevice;
    static const std::map<int, int> values = {{1, 1024}, {10, 32}, {16, 4},  {39, 2048}, {41, 1},
                                              {75, 9},   {76, 0},  {115, 1}, {19, 1}};
    auto it = values.find(attribute);
    *out = it == values.end() ? 0 : it->second;
    return kSuccess;
}
API cuDeviceTotalMem_v2(size_t* out, int) {
    *out = kArena;
    return kSuccess;
}
API cuDeviceCanAccessPeer(int* out, int a, int b) {
    if (a < kFirstDevice || b < kFirstDevice) return kInvalidDevice;
    *out = a != b;
    return kSuccess;
}
API cuDevicePrimaryCtxRetain(void** out, int d) {
    ENTER(cuDevicePrimaryCtxRetain);
    *out = device_of_handle(d);
    ++device_of_handle(d)->retained;
    return kSuccess;
}
API cuDevicePrimaryCtxRelease_v2(int d) {
    ENTER(cuDevicePrimaryCtxRelease_v2);
    --device_of_handle(d)->retained;
    return kSuccess;
}
API cuDevicePrimaryCtxGetState(int d, unsigned* flags, int* active) {
    *flags = 0;
    *active = device_of_handle(d)->retained > 0;
    return kSuccess;
}
API cuCtxGetCurrent(void** out) {
    *out = current.empty() ? nullptr : current.back();
    return kSuccess;
}
API cuCtxPushCurrent_v2(void* c) {
    current.push_back(static_cast<Device*>(c));
    return kSuccess;
}
API cuCtxPopCurrent_v2(void** c) {
    NEEDS_CONTEXT;
    *c = current.back();
    current.pop_back();
    return kSuccess;
}
API cuCtxSynchronize() {
    ENTER(cuCtxSynchronize);
    NEEDS_CONTEXT;
    if (int code = refuse_in_capture(current.back())) return code;
    drain(current.back());
    write_printed();
    return current.back()->failure;
}
API cuCtxEnablePeerAccess(void* peer, unsigned) {
    ENTER(cuCtxEnablePeerAccess);
    NEEDS_CONTEXT;
    return current.back()->peers.insert(static_cast<Device*>(peer)).second ? kSuccess : kPeerAccessEnabled;
}
API cuCtxDisablePeerAccess(void* peer) {
    ENTER(cuCtxDisablePeerAccess);
    NEEDS_CONTEXT;
    return current.back()->peers.erase(static_cast<Device*>(peer)) ? kSuccess : kPeerAccessNotEnabled;
}
API cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    *least = 0;
    *greatest = -5;
    return kSuccess;
}

// -- memory -----------------------------------------------------------------------------------------------------------

API cuMemGetInfo_v2(size_t* free, size_t* total) {
    ENTER(cuMemGetInfo_v2);
    NEEDS_CONTEXT;
    size_t used = 0;
    for (auto [at, n] : current.back()->taken) used += n;
    *total = kArena;
    *free = kArena - used;
    return kSuccess;
}
API cuMemAlloc_v2(void** out, size_t n) {
    ENTER(cuMemAlloc_v2);
    SAFE;
    NEEDS_CONTEXT;
    if (n == 0) return kInvalidValue;
    *out = current.back()->take(n);
    if (!*out) return kOutOfMemory;
    Open open;
    std::memset(*out, 0xcd, n);  // the contents are unspecified
    return kSuccess;
}
API cuMemFree_v2(void* p) {
    ENTER(cuMemFree_v2);
    SAFE;
    Device* d = device_of(p);  // which it may wait for
    return d && d->give(p) ? kSuccess : kInvalidValue;
}
API cuMemAllocAsync(void** out, size_t n, void* s) {
    ENTER(cuMemAllocAsync);
    Stream* stream = stream_of(s);
    USABLE(stream);
    // A real driver would make a memory node, which the runtime wants nowhere (cuda_capture.py).
    if (stream->capture) return invalidate(stream->capture, kCaptureUnsupported);
    if (n == 0) return kInvalidValue;
    order(stream);
    Device* d = stream->device;
    *out = d->take(n);
    if (!*out) return kOutOfMemory;
    d->pool_used += n;
    void* memory = *out;
    stream->submit([=] { std::memset(memory, 0xcd, n); });
    return kSuccess;
}
API cuMemFreeAsync(void* p, void* s) {
    ENTER(cuMemFreeAsync);
    Stream* stream = stream_of(s);
    USABLE(stream);
    if (stream->capture) return invalidate(stream->capture, kCaptureUnsupported);
    Device* d = device_of(p);
    if (!d || !d->taken.count(static_cast<char*>(p) - d->arena)) return kInvalidValue;
    order(stream);
    stream->submit([=] { d->give(p); });
    return kSuccess;
}
API cuMemHostAlloc(void** out, size_t n, unsigned) {
    ENTER(cuMemHostAlloc);
    SAFE;
    char* block = static_cast<char*>(std::aligned_alloc(64, (n + 127) / 64 * 64));
    std::memcpy(block, &n, sizeof n);
    *out = block + 64;
    pinned.insert(*out);
    return kSuccess;
}
API cuMemFreeHost(void* p) {
    ENTER(cuMemFreeHost);
    SAFE;
    if (!pinned.erase(p)) return kInvalidValue;
    std::free(static_cast<char*>(p) - 64);
    return kSuccess;
}
API cuMemcpyAsync(void* to, void* from, size_t n, void* s) {
    ENTER(cuMemcpyAsync);
    Stream* stream = stream_of(s);
    if (stream) order(stream);
    return copy(to, from, n, stream);
}
API cuMemsetD8Async(void* to, unsigned char v, size_t n, void* s) {
    ENTER(cuMemsetD8Async);
    return set_memory(to, v, n, stream_of(s));
}
API cuMemsetD16Async(void* to, unsigned short v, size_t n, void* s) {
    ENTER(cuMemsetD16Async);
    return set_memory(to, v, n, stream_of(s));
}
API cuMemsetD32Async(void* to, unsigned v, size_t n, void* s) {
    ENTER(cuMemsetD32Async);
    return set_memory(to, v, n, stream_of(s));
}
API cuDeviceGetDefaultMemPool(void** out, int d) {
    *out = device_of_handle(d);
    return kSuccess;
}
API cuMemPoolSetAttribute(void* pool, int attribute, void* value) {
    auto* d = static_cast<Device*>(pool);
    if (attribute == 4) std::memcpy(&d->threshold, value, 8);
    return attribute == 4 ? kSuccess : kInvalidValue;
}
API cuMemPoolGetAttribute(void* pool, int attribute, void* value) {
    auto* d = static_cast<Device*>(pool);
    uint64_t used = 0;
    for (auto [at, n] : d->taken) used += n;
    d->pool_high = std::max(d->pool_high, used);
    uint64_t out = attribute == 4 ? d->threshold : attribute == 6 || attribute == 8 ? d->pool_high : used;
    std::memcpy(value, &out, 8);
    return kSuccess;
}
API cuMemPoolTrimTo(void*, size_t) { return kSuccess; }
API cuMemPoolSetAccess(void* pool, const int* access, size_t count) {
    auto* d = static_cast<Device*>(pool);
    if (count != 1 || access[0] != 1 || (access[2] != 0 && access[2] != 3)) return kInvalidValue;
    Device* peer = devices.at(access[1]);
    access[2] ? (void)d->pool_peers.insert(peer) : (void)d->pool_peers.erase(peer);
    return kSuccess;
}
API cuMemPoolGetAccess(int* flags, void* pool, const int* location) {
    if (location[0] != 1) return kInvalidValue;
    *flags = static_cast<Device*>(pool)->pool_peers.count(devices.at(location[1])) ? 3 : 0;
    return kSuccess;
}

// -- streams and events -----------------------------------------------------------------------------------------------

API cuStreamCreateWithPriority(void** out, unsigned flags, int priority) {
    ENTER(cuStreamCreateWithPriority);
    NEEDS_CONTEXT;
    if (flags > 1) return kInvalidValue;
    auto* s = new Stream{current.back(), priority};
    s->apart = flags == 1;
    current.back()->streams.insert(s);
    *out = s;
    return kSuccess;
}
API cuStreamDestroy_v2(void* p) {
    ENTER(cuStreamDestroy_v2);
    auto* s = static_cast<Stream*>(p);
    Open open;
    if (s->capture) s->capture->left.insert(s->front.begin(), s->front.end());
    s->advance(s->submitted);
    s->device->streams.erase(s);
    return kSuccess;
}
API cuStreamSynchronize(void* p) {
    ENTER(cuStreamSynchronize);
    Stream* s = stream_of(p);
    USABLE(s);
    if (s->capture) return invalidate(s->capture, kCaptureUnsupported);
    SAFE;
    order(s);
    Open open;
    s->advance(s->submitted);
    write_printed();
    return s->device->failure;
}
API cuStreamQuery(void* p) {
    ENTER(cuStreamQuery);
    Stream* s = stream_of(p);
    USABLE(s);
    if (s->capture) return invalidate(s->capture, kCaptureUnsupported);
    SAFE;
    if (s->queue.empty()) return kSuccess;
    if (Clock::now() < stalled) return kNotReady;
    Open open;
    s->advance(s->submitted);  // for the next one who asks
    return kNotReady;
}
API cuStreamWaitEvent(void* p, void* e, unsigned) {
    ENTER(cuStreamWaitEvent);
    Stream* s = stream_of(p);
    USABLE(s);
    LIVING(e);
    Mark mark = static_cast<Event*>(e)->mark;
    if (!static_cast<Event*>(e)->recorded) return kSuccess;
    if (mark.capture && mark.capture->ended) return kCaptureIsolation;
    if (mark.capture) {
        if (s == &s->device->null) return invalidate(mark.capture, kCaptureImplicit);
        if (s->capture && s->capture != mark.capture)
            return invalidate(mark.capture, invalidate(s->capture, kCaptureMerge));
        s->capture = mark.capture;  // a fork joins the capture
        s->front.insert(mark.front.begin(), mark.front.end());
        return kSuccess;
    }
    if (s->capture) return invalidate(s->capture, kCaptureIsolation);
    order(s);
    s->submit([=] { mark.stream->advance(mark.at); });
    return kSuccess;
}
API cuStreamGetFlags(void* p, unsigned* out) {
    Stream* s = stream_of(p);
    if (!s) return kInvalidHandle;
    *out = s->apart;
    return kSuccess;
}
API cuStreamGetPriority(void* p, int* out) {
    Stream* s = stream_of(p);
    if (!s) return kInvalidHandle;
    *out = s->priority;
    return kSuccess;
}
API cuEventCreate(void** out, unsigned flags) {
    ENTER(cuEventCreate);
    NEEDS_CONTEXT;
    *out = new Event{{}, false, !(flags & 2)};
    return kSuccess;
}
API cuEventRecord(void* e, void* p) {
    ENTER(cuEventRecord);
    Stream* s = stream_of(p);
    USABLE(s);
    LIVING(e);
    auto* event = static_cast<Event*>(e);
    event->recorded = true;
    if (s->capture) {
        event->mark = {s, 0, s->capture, s->front};
        return kSuccess;
    }
    s->submit([=] { event->mark.milliseconds = clock_ms += 0.5; });
    event->mark = {s, s->submitted, nullptr, {}};
    return kSuccess;
}
API cuEventSynchronize(void* e) {
    ENTER(cuEventSynchronize);
    LIVING(e);
    Mark& mark = static_cast<Event*>(e)->mark;
    if (mark.capture) return mark.capture->ended ? kCapturedEvent : invalidate(mark.capture, kCapturedEvent);
    SAFE;
    if (!mark.stream) return kSuccess;
    Open open;
    mark.stream->advance(mark.at);
    write_printed();
    return mark.stream->device->failure;
}
API cuEventQuery(void* e) {
    ENTER(cuEventQuery);
    LIVING(e);
    Mark& mark = static_cast<Event*>(e)->mark;
    if (mark.capture) return mark.capture->ended ? kCapturedEvent : invalidate(mark.capture, kCapturedEvent);
    SAFE;
    if (!mark.stream || mark.stream->finished >= mark.at) return kSuccess;
    if (Clock::now() < stalled) return kNotReady;
    Open open;
    mark.stream->advance(mark.at);
    return kNotReady;
}
API cuEventElapsedTime(float* out, void* a, void* b) {
    ENTER(cuEventElapsedTime);
    LIVING(a);
    LIVING(b);
    auto *start = static_cast<Event*>(a), *end = static_cast<Event*>(b);
    if (start->mark.capture || end->mark.capture) return kCapturedEvent;
    if (!start->recorded || !end->recorded || !start->timing || !end->timing) return kInvalidHandle;
    for (Event* e : {start, end})
        if (e->mark.stream->finished < e->mark.at) return kNotReady;
    *out = static_cast<float>(end->mark.milliseconds - start->mark.milliseconds);
    return kSuccess;
}
API cuEventDestroy_v2(void* e) {  // its memory stays: queues may still write to it
    ENTER(cuEventDestroy_v2);
    LIVING(e);
    static_cast<Event*>(e)->destroyed = true;
    return kSuccess;
}

// -- code -------------------------------------------------------------------------------------------------------------

API cuModuleLoadDataEx(void** out, const void* image, unsigned count, int* options, void** values) {
    ENTER(cuModuleLoadDataEx);
    SAFE;
    NEEDS_CONTEXT;
    // A log for errors, its size, and line tables.
    if (count != 3 || options[0] != 5 || options[1] != 6 || options[2] != 13) return kInvalidValue;
    std::istringstream text(static_cast<const char*>(image));
    std::string line;
    auto* made = new Module;
    if (machine.load) {
        std::string kernels(1 << 16, '\0');
        int module = machine.load(static_cast<const char*>(image), kernels.data(), kernels.size());
        if (module <= 0) {
            std::snprintf(static_cast<char*>(values[0]), reinterpret_cast<size_t>(values[1]), "%s", kernels.data());
            delete made;
            return kInvalidImage;
        }
        std::istringstream lines(kernels.c_str());
        while (std::getline(lines, line)) {
            std::istringstream words(line);
            Kernel kernel;
            words >> kernel.name >> kernel.most_threads;
            for (size_t size; words >> size;) kernel.sizes.push_back(size);
            kernel.module = module;
            kernel.device = current.back();
            made->kernels[kernel.name] = kernel;
        }
        *out = made;
        return kSuccess;
    }
    while (std::getline(text, line)) {
        std::istringstream words(line);
        Kernel kernel;
        uintptr_t address = 0;
        words >> kernel.name >> address >> kernel.bytes >> kernel.strided;
        if (!address) {
            std::snprintf(static_cast<char*>(values[0]), 64, "line %s: no such address", kernel.name.c_str());
            delete made;
            return kInvalidImage;
        }
        kernel.entry = reinterpret_cast<wc_kernel>(address);
        made->kernels[kernel.name] = kernel;
    }
    *out = made;
    return kSuccess;
}
API cuModuleUnload(void* m) {
    ENTER(cuModuleUnload);
    SAFE;
    delete static_cast<Module*>(m);
    return kSuccess;
}
API cuModuleGetFunction(void** out, void* m, const char* name) {
    ENTER(cuModuleGetFunction);
    SAFE;  // a driver that loads lazily may load now
    auto& kernels = static_cast<Module*>(m)->kernels;
    auto it = kernels.find(name);
    if (it == kernels.end()) return kNotFound;
    *out = &it->second;
    return kSuccess;
}
API cuFuncGetAttribute(int* out, int, void*) {
    *out = 24;
    return kSuccess;
}
API cuFuncSetAttribute(void*, int, int) { return kSuccess; }
API cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned,
                   void* s, void** params, void**) {
    if (idle) return kSuccess;
    wait_as_if_full();
    ENTER(cuLaunchKernel);
    Stream* stream = stream_of(s);
    USABLE(stream);
    if (gx == 0 || gy != 1 || gz != 1 || bx == 0 || bx > 1024 || by != 1 || bz != 1) return kInvalidValue;
    Work work = call_of(static_cast<Kernel*>(f), params, gx, bx);
    if (!work) return kInvalidValue;
    write_printed();
    order(stream);
    stream->submit(std::move(work), true);
    return kSuccess;
}
API cuOccupancyMaxActiveBlocksPerMultiprocessor(int* out, void*, int block, size_t) {
    ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessor);
    SAFE;  // likewise
    *out = 2048 / block;
    return kSuccess;
}

#include "graphs.h"

// All are called as native code does it, which tests/native/test_cuda_driver.py holds to NVIDIA's cuda.h.
namespace wc::cuda {
#define SAME(name, parameters) \
    static_assert(called_alike<true>(decltype (&::name)(), (Result(*) parameters) nullptr), #name);
WC_CUDA_REQUIRED(SAME)
WC_CUDA_OPTIONAL(SAME)
#undef SAME
}  // namespace wc::cuda
