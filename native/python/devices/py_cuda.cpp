// omni.warp_core._native.cuda: the CUDA driver for Python. Thin: handles are integers, and every function that needs a
// context is given it. What may wait for the device lets other threads run.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>
#include <tuple>
#include <vector>

#include "arrays/py_array.h"
#include "devices/gpu_graph.h"
#include "devices/py_cuda.h"
#include "gil.h"
#include "launches/timeline.h"

namespace wc {
namespace {

using namespace cuda;

// Whether something the driver tells by its result has happened.
bool done(Result result, const char* call) {
    if (result == kNotReady) return false;
    check(result, call);
    return true;
}

// Waits until something has happened, letting other threads run and Ctrl-C in. Asks over and over at first, then ever
// more rarely.
template <class Happened>
void wait_until(Handle context, Happened&& happened) {
    using Clock = std::chrono::steady_clock;
    constexpr auto kBusy = std::chrono::microseconds(200), kLongest = std::chrono::microseconds(500);
    constexpr auto kSlice = std::chrono::milliseconds(50);
    auto start = Clock::now();
    for (bool finished = false; !finished;) {
        without_gil([&] {
            ScopedContext current(pointer<Context>(context));
            auto now = Clock::now(), end = now + kSlice;
            for (finished = happened(); !finished && now < end; finished = happened(), now = Clock::now())
                if (now - start > kBusy)
                    std::this_thread::sleep_for(std::min<Clock::duration>((now - start) / 16, kLongest));
        });
        if (!finished && PyErr_CheckSignals() != 0) throw nb::python_error();
    }
}

bool stream_done(Handle stream) { return done(driver().cuStreamQuery(pointer<Stream>(stream)), "cuStreamQuery"); }

// -- devices ----------------------------------------------------------------------------------------------------------

// The driver's handle of a device, which need not be its number.
Device device_at(int ordinal) {
    Device device = 0;
    CUDA_CALL(cuDeviceGet, &device, ordinal);
    return device;
}

int device_count() {
    int n = 0;
    CUDA_CALL(cuDeviceGetCount, &n);
    return n;
}

// Name, PCI address, UUID and memory in bytes.
std::tuple<std::string, std::string, nb::bytes, size_t> device_facts(int ordinal) {
    Device device = device_at(ordinal);
    char name[256] = "", bus[32] = "";
    Uuid uuid;
    size_t memory = 0;
    CUDA_CALL(cuDeviceGetName, name, sizeof name, device);
    CUDA_CALL(cuDeviceGetPCIBusId, bus, sizeof bus, device);
    CUDA_CALL(cuDeviceGetUuid_v2, &uuid, device);
    CUDA_CALL(cuDeviceTotalMem_v2, &memory, device);
    return {name, bus, nb::bytes(reinterpret_cast<const char*>(uuid.bytes), sizeof uuid.bytes), memory};
}

int device_attribute(int ordinal, int attribute) {
    int value = 0;
    CUDA_CALL(cuDeviceGetAttribute, &value, attribute, device_at(ordinal));
    return value;
}

Handle retain(int ordinal) {
    Device device = device_at(ordinal);
    Context context = nullptr;
    without_gil([&] { CUDA_CALL(cuDevicePrimaryCtxRetain, &context, device); });
    return handle(context);
}

bool has_context(int ordinal) {
    unsigned flags;
    int active = 0;
    CUDA_CALL(cuDevicePrimaryCtxGetState, device_at(ordinal), &flags, &active);
    return active != 0;
}

bool can_access_peer(int from, int to) {
    int can = 0;
    CUDA_CALL(cuDeviceCanAccessPeer, &can, device_at(from), device_at(to));
    return can != 0;
}

void set_peer_access(Handle context, Handle peer, bool enable) {
    constexpr Result kAlreadyEnabled = 704, kNotEnabled = 705;
    ScopedContext current(pointer<Context>(context));
    auto other = pointer<Context>(peer);
    Result result = enable ? driver().cuCtxEnablePeerAccess(other, 0) : driver().cuCtxDisablePeerAccess(other);
    if (result != (enable ? kAlreadyEnabled : kNotEnabled))
        check(result, enable ? "cuCtxEnablePeerAccess" : "cuCtxDisablePeerAccess");
}

// The driver writes what kernels print to the C library's output in calls that wait for it by name, and not when it is
// asked whether something has happened. The output belongs before what the program writes next.
void show_output() { std::fflush(stdout); }

// All work of the context. What streams that keep in order have is waited for in slices, by an event behind it.
void synchronize(Handle context) {
    constexpr unsigned kNoTiming = 2;
    Event event = nullptr;
    {
        ScopedContext current(pointer<Context>(context));
        CUDA_CALL(cuEventCreate, &event, kNoTiming);
    }
    struct Destroy {
        Handle context;
        Event event;
        ~Destroy() {
            ScopedContext current(pointer<Context>(context));
            driver().cuEventDestroy_v2(event);
        }
    } destroy{context, event};
    bool recorded = false;  // not while a stream captures, of which the last call tells
    {
        ScopedContext current(pointer<Context>(context));
        recorded = driver().cuEventRecord(event, nullptr) == kSuccess;
    }
    if (recorded) wait_until(context, [&] { return done(driver().cuEventQuery(event), "cuEventQuery"); });
    without_gil([&] {
        ScopedContext current(pointer<Context>(context));
        CUDA_CALL(cuCtxSynchronize);
        show_output();
    });
}

// 1000 times the major version of CUDA that the driver is for, and 10 times the minor one.
int driver_version() {
    int version = 0;
    CUDA_CALL(cuDriverGetVersion, &version);
    return version;
}

void bind_devices(nb::module_& m) {
    m.def("driver_version", &driver_version);
    m.def("load", [](const std::string& path) { load(path); }, nb::arg("path"));
    m.def("device_count", &device_count);
    m.def("device_facts", &device_facts, nb::arg("ordinal"));
    m.def("device_attribute", &device_attribute, nb::arg("ordinal"), nb::arg("attribute"));
    m.def("retain", &retain, nb::arg("ordinal"));
    m.def("has_context", &has_context, nb::arg("ordinal"));
    m.def("can_access_peer", &can_access_peer, nb::arg("from_"), nb::arg("to"));
    m.def("set_peer_access", &set_peer_access, nb::arg("context"), nb::arg("peer"), nb::arg("enable"));
    m.def("synchronize", &synchronize, nb::arg("context"));
    m.def("set_verify", &set_verify, nb::arg("enabled"));
}

// -- memory -----------------------------------------------------------------------------------------------------------

Pointer allocate(Handle context, size_t nbytes, Handle stream, bool pooled) {
    Pointer out = 0;
    without_gil([&] {
        ScopedContext current(pointer<Context>(context));
        if (pooled)
            CUDA_CALL(cuMemAllocAsync, &out, nbytes, pointer<Stream>(stream));
        else
            CUDA_CALL(cuMemAlloc_v2, &out, nbytes);
    });
    return out;
}

// Waits for what the null stream, and all that keep in order with it, were given so far. What makes it follow them is
// that it waits for an event, which may be its own (CUDA programming guide).
void wait_for_all() {
    constexpr unsigned kNoTiming = 2;
    const Driver& d = driver();
    Event event = nullptr;
    check_release(d.cuEventCreate(&event, kNoTiming), "cuEventCreate");
    Result result = d.cuEventRecord(event, nullptr);
    if (result == kSuccess) result = d.cuStreamWaitEvent(nullptr, event, 0);
    if (result == kSuccess) result = d.cuEventRecord(event, nullptr);
    if (result == kSuccess) result = d.cuEventSynchronize(event);
    d.cuEventDestroy_v2(event);
    check_release(result, "cuEventSynchronize");
}

void release(Handle context, Pointer memory, Handle stream, bool pooled) {
    ScopedContext current(pointer<Context>(context));
    if (pooled)
        check_release(driver().cuMemFreeAsync(memory, pointer<Stream>(stream)), "cuMemFreeAsync");
    else
        without_gil([&] {
            RelaxedCaptureMode relaxed;
            wait_for_all();  // cuMemFree may wait, by its documentation
            check_release(driver().cuMemFree_v2(memory), "cuMemFree");
        });
}

// Memory of the host that no device has to wait for: the same for all contexts.
Handle allocate_pinned(Handle context, size_t nbytes) {
    constexpr unsigned kPortable = 1;
    void* out = nullptr;
    without_gil([&] {
        ScopedContext current(pointer<Context>(context));
        CUDA_CALL(cuMemHostAlloc, &out, nbytes, kPortable);
    });
    return handle(out);
}

void release_pinned(Handle context, Handle memory) {
    without_gil([&] {
        ScopedContext current(pointer<Context>(context));
        RelaxedCaptureMode relaxed;
        check_release(driver().cuMemFreeHost(pointer<void*>(memory)), "cuMemFreeHost");
    });
}

void copy(Handle context, Pointer to, Pointer from, size_t nbytes, Handle stream) {
    Timed timed(Activity::kMemcpy, "memcpy", static_cast<int64_t>(nbytes), pointer<Context>(context),
                pointer<Stream>(stream));
    // From pageable memory the driver copies before it returns, which may take long.
    without_gil([&] {
        ScopedContext current(pointer<Context>(context));
        CUDA_CALL(cuMemcpyAsync, to, from, nbytes, pointer<Stream>(stream));
    });
}

void fill_memory(Handle context, Pointer to, size_t nbytes, nb::bytes pattern, Handle stream) {
    if (pattern.size() == 0 || nbytes % pattern.size() != 0)
        throw std::invalid_argument("nbytes must be a multiple of the length of the pattern");
    Timed timed(Activity::kMemset, "memset", static_cast<int64_t>(nbytes), pointer<Context>(context),
                pointer<Stream>(stream));
    ScopedContext current(pointer<Context>(context));
    fill(to, nbytes, pattern.c_str(), pattern.size(), pointer<Stream>(stream));
}

std::tuple<size_t, size_t> memory_info(Handle context) {
    ScopedContext current(pointer<Context>(context));
    size_t free = 0, total = 0;
    CUDA_CALL(cuMemGetInfo_v2, &free, &total);
    return {free, total};
}

Pool pool_of(int ordinal) {
    Pool pool = nullptr;
    CUDA_CALL(cuDeviceGetDefaultMemPool, &pool, device_at(ordinal));
    return pool;
}

uint64_t pool_attribute(int ordinal, int attribute) {
    uint64_t value = 0;
    CUDA_CALL(cuMemPoolGetAttribute, pool_of(ordinal), attribute, &value);
    return value;
}

constexpr int kOnDevice = 1, kReadWrite = 3;

void set_pool_access(int owner, int peer, bool enable) {
    MemAccess access{{kOnDevice, peer}, enable ? kReadWrite : 0};
    CUDA_CALL(cuMemPoolSetAccess, pool_of(owner), &access, 1);
}

bool pool_access(int owner, int peer) {
    MemLocation where{kOnDevice, peer};
    int flags = 0;
    CUDA_CALL(cuMemPoolGetAccess, &flags, pool_of(owner), &where);
    return flags == kReadWrite;
}

void bind_device_memory(nb::module_& m) {
    m.def("allocate", &allocate, nb::arg("context"), nb::arg("nbytes"), nb::arg("stream"), nb::arg("pooled"));
    m.def("release_memory", &release, nb::arg("context"), nb::arg("ptr"), nb::arg("stream"), nb::arg("pooled"));
    m.def("allocate_pinned", &allocate_pinned, nb::arg("context"), nb::arg("nbytes"));
    m.def("release_pinned", &release_pinned, nb::arg("context"), nb::arg("ptr"));
    m.def("copy", &copy, nb::arg("context"), nb::arg("to"), nb::arg("from_"), nb::arg("nbytes"), nb::arg("stream"));
    m.def("fill", &fill_memory, nb::arg("context"), nb::arg("ptr"), nb::arg("nbytes"), nb::arg("pattern"),
          nb::arg("stream"));
    m.def("memory_info", &memory_info, nb::arg("context"));
    m.def("pool_attribute", &pool_attribute, nb::arg("ordinal"), nb::arg("attribute"));
    m.def(
        "set_pool_attribute",
        [](int ordinal, int attribute, uint64_t value) {
            CUDA_CALL(cuMemPoolSetAttribute, pool_of(ordinal), attribute, &value);
        },
        nb::arg("ordinal"), nb::arg("attribute"), nb::arg("value"));
    m.def("set_pool_access", &set_pool_access, nb::arg("owner"), nb::arg("peer"), nb::arg("enable"));
    m.def("pool_access", &pool_access, nb::arg("owner"), nb::arg("peer"));
}

// -- streams and events -----------------------------------------------------------------------------------------------

// Streams in order follow the null stream, on which memory is given back and which other libraries use, and it them.
Handle create_stream(Handle context, int priority, bool in_order) {
    constexpr unsigned kInOrder = 0, kApart = 1;
    ScopedContext current(pointer<Context>(context));
    Stream stream = nullptr;
    CUDA_CALL(cuStreamCreateWithPriority, &stream, in_order ? kInOrder : kApart, priority);
    return handle(stream);
}

// Whether a stream, which may be another library's, follows the null stream; none if the driver knows no such stream.
std::optional<bool> is_in_order(Handle context, Handle stream) {
    constexpr unsigned kApart = 1;
    constexpr Result kInvalidHandle = 400, kContextIsDestroyed = 709;  // as drivers tell of what was destroyed
    ScopedContext current(pointer<Context>(context));
    unsigned flags = 0;
    Result result = driver().cuStreamGetFlags(pointer<Stream>(stream), &flags);
    if (result == kInvalidHandle || result == kContextIsDestroyed) return std::nullopt;
    check(result, "cuStreamGetFlags");
    return !(flags & kApart);
}

// Lets a stream wait for what another was given so far, unless that one captures.
void follow(Handle context, Handle stream, Handle other) {
    constexpr unsigned kNoTiming = 2;
    ScopedContext current(pointer<Context>(context));
    const Driver& d = driver();
    int capturing = 0;
    check_release(d.cuStreamIsCapturing(pointer<Stream>(other), &capturing), "cuStreamIsCapturing");
    if (capturing) return;
    Event event = nullptr;
    check_release(d.cuEventCreate(&event, kNoTiming), "cuEventCreate");
    Result recorded = d.cuEventRecord(event, pointer<Stream>(other));
    Result waits = recorded == kSuccess ? d.cuStreamWaitEvent(pointer<Stream>(stream), event, 0) : recorded;
    d.cuEventDestroy_v2(event);  // which lasts until it has happened
    check_release(waits, "cuStreamWaitEvent");
}

void wait_for_stream(Handle context, Handle stream) {
    wait_until(context, [&] { return stream_done(stream); });
    without_gil([&] {
        ScopedContext current(pointer<Context>(context));
        CUDA_CALL(cuStreamSynchronize, pointer<Stream>(stream));
        show_output();
    });
}

Handle create_event(Handle context, bool timing) {
    constexpr unsigned kNoTiming = 2;
    ScopedContext current(pointer<Context>(context));
    Event event = nullptr;
    CUDA_CALL(cuEventCreate, &event, timing ? 0 : kNoTiming);
    return handle(event);
}

float elapsed(Handle context, Handle start, Handle end) {
    ScopedContext current(pointer<Context>(context));
    float milliseconds = 0;
    CUDA_CALL(cuEventElapsedTime, &milliseconds, pointer<Event>(start), pointer<Event>(end));
    return milliseconds;
}

// 0 if the stream captures nothing, 1 if it does, 2 if it does in vain, as something was done that is not allowed.
int capturing(Handle context, Handle stream) {
    ScopedContext current(pointer<Context>(context));
    int status = 0;
    CUDA_CALL(cuStreamIsCapturing, pointer<Stream>(stream), &status);
    return status;
}

// The same, and the number of the capture.
std::tuple<int, uint64_t> capture_of(Handle context, Handle stream) {
    ScopedContext current(pointer<Context>(context));
    int status = 0;
    uint64_t id = 0;
    CUDA_CALL(cuStreamGetCaptureInfo_v2, pointer<Stream>(stream), &status, &id, nullptr, nullptr, nullptr);
    return {status, status ? id : 0};
}

void bind_streams(nb::module_& m) {
    m.def("capturing", &capturing, nb::arg("context"), nb::arg("stream"));
    m.def("capture_of", &capture_of, nb::arg("context"), nb::arg("stream"));
    m.def("create_stream", &create_stream, nb::arg("context"), nb::arg("priority"), nb::arg("in_order") = true);
    m.def(
        "destroy_stream",
        [](Handle context, Handle stream) {
            ScopedContext current(pointer<Context>(context));
            check_release(driver().cuStreamDestroy_v2(pointer<Stream>(stream)), "cuStreamDestroy");
        },
        nb::arg("context"), nb::arg("stream"));
    m.def("stream_in_order", &is_in_order, nb::arg("context"), nb::arg("stream"));
    m.def("follow", &follow, nb::arg("context"), nb::arg("stream"), nb::arg("other"));
    m.def("synchronize_stream", &wait_for_stream, nb::arg("context"), nb::arg("stream"));
    m.def(
        "stream_done",
        [](Handle context, Handle stream) {
            ScopedContext current(pointer<Context>(context));
            return stream_done(stream);
        },
        nb::arg("context"), nb::arg("stream"));
    m.def(
        "stream_wait",
        [](Handle context, Handle stream, Handle event) {
            ScopedContext current(pointer<Context>(context));
            CUDA_CALL(cuStreamWaitEvent, pointer<Stream>(stream), pointer<Event>(event), 0);
        },
        nb::arg("context"), nb::arg("stream"), nb::arg("event"));
    m.def(
        "stream_priority",
        [](Handle context, Handle stream) {
            ScopedContext current(pointer<Context>(context));
            int priority = 0;
            CUDA_CALL(cuStreamGetPriority, pointer<Stream>(stream), &priority);
            return priority;
        },
        nb::arg("context"), nb::arg("stream"));
    m.def("create_event", &create_event, nb::arg("context"), nb::arg("timing"));
    m.def(
        "destroy_event",
        [](Handle context, Handle event) {
            ScopedContext current(pointer<Context>(context));
            check_release(driver().cuEventDestroy_v2(pointer<Event>(event)), "cuEventDestroy");
        },
        nb::arg("context"), nb::arg("event"));
    m.def(
        "record_event",
        [](Handle context, Handle event, Handle stream) {
            ScopedContext current(pointer<Context>(context));
            CUDA_CALL(cuEventRecord, pointer<Event>(event), pointer<Stream>(stream));
        },
        nb::arg("context"), nb::arg("event"), nb::arg("stream"));
    m.def(
        "synchronize_event",
        [](Handle context, Handle event) {
            wait_until(context, [&] { return done(driver().cuEventQuery(pointer<Event>(event)), "cuEventQuery"); });
            without_gil([&] {
                ScopedContext current(pointer<Context>(context));
                CUDA_CALL(cuEventSynchronize, pointer<Event>(event));
                show_output();
            });
        },
        nb::arg("context"), nb::arg("event"));
    m.def(
        "event_done",
        [](Handle context, Handle event) {
            ScopedContext current(pointer<Context>(context));
            return done(driver().cuEventQuery(pointer<Event>(event)), "cuEventQuery");
        },
        nb::arg("context"), nb::arg("event"));
    m.def("elapsed", &elapsed, nb::arg("context"), nb::arg("start"), nb::arg("end"));
}

// -- code -------------------------------------------------------------------------------------------------------------

// A module from a cubin or from PTX, which the driver then compiles; what its compiler says is in the error.
Handle load_module(Handle context, nb::bytes image) {
    constexpr int kErrorLog = 5, kErrorLogSize = 6, kLineInfo = 13;
    std::vector<char> log(16384);
    int options[] = {kErrorLog, kErrorLogSize, kLineInfo};
    void* values[] = {log.data(), pointer<void*>(log.size()), pointer<void*>(1)};
    Module module = nullptr;
    Result result = kSuccess;
    without_gil([&] {
        ScopedContext current(pointer<Context>(context));
        result = driver().cuModuleLoadDataEx(&module, image.c_str(), 3, options, values);
    });
    if (result != kSuccess) {
        std::string said(log.data(), strnlen(log.data(), log.size()));
        throw Error(result, ("cuModuleLoadDataEx" + (said.empty() ? "" : " (" + said + ")")).c_str());
    }
    return handle(module);
}

Handle function(Handle context, Handle module, const std::string& name) {
    ScopedContext current(pointer<Context>(context));
    Function out = nullptr;
    CUDA_CALL(cuModuleGetFunction, &out, pointer<Module>(module), name.c_str());
    return handle(out);
}

int blocks_per_multiprocessor(Handle context, Handle function, int block_dim) {
    ScopedContext current(pointer<Context>(context));
    int blocks = 0;
    CUDA_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, pointer<Function>(function), block_dim, 0);
    return blocks;
}

// A launch with a record for failures and stashes: (address, cells per thread) for cells of 4 bytes and of 8.
void launch_checked(Handle context, Handle function, unsigned block_dim, unsigned blocks, nb::bytes block,
                    const std::vector<int64_t>& dims, int64_t threads, Handle failure,
                    const std::vector<std::tuple<Handle, int64_t>>& stashes, Handle stream) {
    Launch record{threads, {}, pointer<void*>(failure), {}, {}};
    for (int i = 0; i < 4; ++i) record.dims[i] = dims.at(i);
    for (int i = 0; i < 2; ++i) {
        record.stash[i] = pointer<void*>(std::get<0>(stashes.at(i)));
        record.cells[i] = std::get<1>(stashes.at(i));
    }
    Entry entry{pointer<Context>(context), pointer<Function>(function), block_dim, blocks};
    launch(entry, block.c_str(), record, pointer<Stream>(stream));
}

void bind_code(nb::module_& m) {
    m.def("load_module", &load_module, nb::arg("context"), nb::arg("image"));
    m.def(
        "unload_module",
        [](Handle context, Handle module) {
            without_gil([&] {
                ScopedContext current(pointer<Context>(context));
                RelaxedCaptureMode relaxed;
                wait_for_all();
                check_release(driver().cuModuleUnload(pointer<Module>(module)), "cuModuleUnload");
            });
        },
        nb::arg("context"), nb::arg("module"));
    m.def("function", &function, nb::arg("context"), nb::arg("module"), nb::arg("name"));
    m.def(
        "set_stream", [](int id, Handle stream) { set_stream(id, pointer<Stream>(stream)); }, nb::arg("device_id"),
        nb::arg("stream"));
    m.def("launch", &launch_checked, nb::arg("context"), nb::arg("function"), nb::arg("block_dim"), nb::arg("blocks"),
          nb::arg("block"), nb::arg("dims"), nb::arg("threads"), nb::arg("failure"), nb::arg("stashes"),
          nb::arg("stream"));
    m.def("blocks_per_multiprocessor", &blocks_per_multiprocessor, nb::arg("context"), nb::arg("function"),
          nb::arg("block_dim"));
}

}  // namespace

void bind_cuda(nb::module_& parent) {
    nb::module_ m = parent.def_submodule("cuda", "The CUDA driver; see native/python/devices/py_cuda.cpp.");
    nb::exception<Error>(m, "Error", PyExc_RuntimeError);
    bind_gpu_graphs(m);
    bind_devices(m);
    bind_device_memory(m);
    bind_streams(m);
    bind_code(m);
}

}  // namespace wc
