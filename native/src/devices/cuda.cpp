#include "warp_core/cuda.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>

namespace wc::cuda {

namespace {

std::mutex loading;
Driver table;
bool loaded = false;

// The kernel that was launched last in a context, and whether it has been told that the context is lost.
struct Launched {
    Context context = nullptr;
    char kernel[64] = "";
    bool told = false;
};
std::array<Launched, kMaxDevices> launched;
std::atomic<bool> verifying = false;

Launched* launched_now() {
    Context context = nullptr;
    if (table.cuCtxGetCurrent) table.cuCtxGetCurrent(&context);
    auto it = std::find_if(launched.begin(), launched.end(), [&](const Launched& l) { return l.context == context; });
    return context && it != launched.end() ? &*it : nullptr;
}

std::string advice() {
    constexpr const char* kRemedy =
        "this process cannot use the GPU any more: start a new one, with wp.config.verify_cuda = True to see which "
        "launch failed, and mode = 'debug' to check indices";
    Launched* last = launched_now();
    if (!last) return std::string("; ") + kRemedy;
    std::string kernel = std::string("kernel `") + last->kernel + "`";
    if (std::exchange(last->told, true)) return "; it failed after " + kernel + ": " + kRemedy;
    return "; " + kernel + (verifying ? " caused this" : " was launched last") + ": " + kRemedy;
}

std::string describe(Result code, const char* call) {
    const char *name = nullptr, *text = nullptr;
    if (table.cuGetErrorName) table.cuGetErrorName(code, &name);
    if (table.cuGetErrorString) table.cuGetErrorString(code, &text);
    return std::string(call) + ": " + (name ? name : "error " + std::to_string(code)) + (text ? ", " : "") +
           (text ? text : "") + (is_fatal(code) ? advice() : "");
}

// "12.4" of the number that drivers have for their version of CUDA.
std::string version_of(void* library) {
    auto ask = reinterpret_cast<Result (*)(int*)>(dlsym(library, "cuDriverGetVersion"));
    int version = 0;
    if (!ask || ask(&version) != kSuccess) return "an unknown version";
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// All functions of the library, or an exception that names the first that is missing.
Driver find_functions(void* library) {
    Driver found;
#define WC_CUDA_FIND(name, parameters)                                                                 \
    found.name = reinterpret_cast<decltype(found.name)>(dlsym(library, #name));                        \
    if (!found.name)                                                                                   \
        throw std::runtime_error("the CUDA driver is too old: it is for CUDA " + version_of(library) + \
                                 " and has no " #name "; one for 12.0 is enough: update it");
    WC_CUDA_REQUIRED(WC_CUDA_FIND)
#undef WC_CUDA_FIND
#define WC_CUDA_LOOK(name, parameters) found.name = reinterpret_cast<decltype(found.name)>(dlsym(library, #name));
    WC_CUDA_OPTIONAL(WC_CUDA_LOOK)
#undef WC_CUDA_LOOK
    return found;
}

}  // namespace

Error::Error(Result code_, const char* call) : std::runtime_error(describe(code_, call)), code(code_) {}

bool is_fatal(Result code) {
    // Errors of memory that is not corrected, of addresses, of instructions, of time, of assertions: all of which
    // cuda.h says that the process has to end.
    constexpr Result kFatal[] = {214, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721};
    return std::find(std::begin(kFatal), std::end(kFatal), code) != std::end(kFatal);
}

void note_launch(int device_id, Context context, const std::string& kernel) {
    Launched& to = launched.at(device_id);
    to.context = context;
    std::memcpy(to.kernel, kernel.c_str(), std::min(kernel.size() + 1, sizeof to.kernel));
    to.kernel[sizeof to.kernel - 1] = 0;
}

void set_verify(bool enabled) { verifying = enabled; }
bool verify() { return verifying.load(std::memory_order_relaxed); }

void load(const std::string& path) {
    std::lock_guard lock(loading);
    if (loaded) return;
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error("no CUDA driver: " + std::string(dlerror()));
    table = find_functions(library);
    check(table.cuInit(0), "cuInit");
    loaded = true;
}

const Driver& driver() {
    if (!loaded) throw std::logic_error("the CUDA driver is not loaded");
    return table;
}

ScopedContext::ScopedContext(Context context) {
    Context now = nullptr;
    check(driver().cuCtxGetCurrent(&now), "cuCtxGetCurrent");
    if (now == context) return;
    check(driver().cuCtxPushCurrent_v2(context), "cuCtxPushCurrent");
    pushed_ = true;
}

ScopedContext::~ScopedContext() {
    Context popped;
    if (pushed_) driver().cuCtxPopCurrent_v2(&popped);
}

namespace {
std::array<std::atomic<Stream>, kMaxDevices> streams{};
}

void set_stream(int device_id, Stream stream) { streams.at(device_id).store(stream); }
Stream stream_of(int device_id) { return streams.at(device_id).load(); }

unsigned blocks_of(const Entry& entry, int64_t threads) {
    int64_t blocks = (threads + entry.block_dim - 1) / entry.block_dim;
    if (entry.blocks) return static_cast<unsigned>(std::min<int64_t>(blocks, entry.blocks));
    if (blocks > INT32_MAX)
        throw std::length_error("a grid has at most 2147483647 blocks, but this launch needs " +
                                std::to_string(blocks) + " of " + std::to_string(entry.block_dim) +
                                " threads: launch it in parts, or in larger blocks (block_dim)");
    return static_cast<unsigned>(blocks);
}

void launch(const Entry& entry, const void* block, const Launch& launch, Stream stream) {
    if (launch.threads == 0) return;
    ScopedContext current(entry.context);
    // The driver copies the parameters before it returns.
    void* parameters[] = {const_cast<void*>(block), const_cast<Launch*>(&launch)};
    check(driver().cuLaunchKernel(entry.function, blocks_of(entry, launch.threads), 1, 1, entry.block_dim, 1, 1, 0,
                                  stream, parameters, nullptr),
          "cuLaunchKernel");
}

void update(GraphExec exec, GraphNode node, const Entry& entry, const void* block, const Launch& launch) {
    ScopedContext current(entry.context);
    void* parameters[] = {const_cast<void*>(block), const_cast<Launch*>(&launch)};
    KernelNodeParams params{
        entry.function, blocks_of(entry, launch.threads), 1, 1, entry.block_dim, 1, 1, 0, parameters, nullptr, nullptr,
        entry.context};
    check(driver().cuGraphExecKernelNodeSetParams_v2(exec, node, &params), "cuGraphExecKernelNodeSetParams");
}

void finish(Context context, Stream stream) {
    ScopedContext current(context);
    int capturing = 0;
    check(driver().cuStreamIsCapturing(stream, &capturing), "cuStreamIsCapturing");
    if (!capturing) check(driver().cuStreamSynchronize(stream), "cuStreamSynchronize");
}

void fill(Pointer to, size_t nbytes, const void* pattern, size_t size, Stream stream) {
    const auto* bytes = static_cast<const unsigned char*>(pattern);
    if (nbytes == 0) return;
    if (std::all_of(bytes, bytes + size, [&](unsigned char b) { return b == bytes[0]; })) size = 1;
    uint16_t half;
    uint32_t word;
    std::memcpy(&half, bytes, std::min(size, sizeof half));
    std::memcpy(&word, bytes, std::min(size, sizeof word));
    const Driver& d = driver();
    bool aligned = to % 4 == 0;
    if (size == 1) return check(d.cuMemsetD8Async(to, bytes[0], nbytes, stream), "cuMemsetD8Async");
    if (size == 2 && to % 2 == 0) return check(d.cuMemsetD16Async(to, half, nbytes / 2, stream), "cuMemsetD16Async");
    if (size == 4 && aligned) return check(d.cuMemsetD32Async(to, word, nbytes / 4, stream), "cuMemsetD32Async");
    // The first pattern in pieces that memset can write, so that no host memory must outlive the call.
    size_t at = 0;
    for (; aligned && at + 4 <= size; at += 4) {
        std::memcpy(&word, bytes + at, 4);
        check(d.cuMemsetD32Async(to + at, word, 1, stream), "cuMemsetD32Async");
    }
    for (; at < size; ++at) check(d.cuMemsetD8Async(to + at, bytes[at], 1, stream), "cuMemsetD8Async");
    for (size_t done = size; done < nbytes; done *= 2)
        check(d.cuMemcpyAsync(to + done, to, std::min(done, nbytes - done), stream), "cuMemcpyAsync");
}

}  // namespace wc::cuda
