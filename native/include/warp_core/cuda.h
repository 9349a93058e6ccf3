// The CUDA driver, found at run time: nothing here links against CUDA, and without a driver everything else works.
// Types and constants are those of the driver's documented binary interface.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace wc::cuda {

using Result = int;
using Device = int;
using Context = void*;
using Stream = void*;
using Event = void*;
using Module = void*;
using Function = void*;
using Pool = void*;
using Graph = void*;
using GraphNode = void*;
using GraphExec = void*;
using Pointer = unsigned long long;

struct Uuid {
    unsigned char bytes[16];
};
struct MemLocation {
    int type, id;
};
struct MemAccess {
    MemLocation location;
    int flags;
};
struct KernelNodeParams {
    Function function;
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    void **parameters, **extra;
    void* kernel;
    Context context;
};
// A conditional node, with which a graph is made where it has conditions; other kinds of nodes are captured.
struct ConditionalNodeParams {
    int type = 13, reserved[3] = {};
    uint64_t handle = 0;
    int kind = 0;
    unsigned size = 1;
    Graph* bodies = nullptr;
    Context context = nullptr;
    uint64_t rest[26] = {};
};
static_assert(sizeof(ConditionalNodeParams) == 16 + 29 * 8 + 8);

// name in the library, result, parameters
#define WC_CUDA_REQUIRED(F)                                                                                     \
    F(cuInit, (unsigned))                                                                                       \
    F(cuDriverGetVersion, (int*))                                                                               \
    F(cuGetErrorName, (Result, const char**))                                                                   \
    F(cuGetErrorString, (Result, const char**))                                                                 \
    F(cuDeviceGetCount, (int*))                                                                                 \
    F(cuDeviceGet, (Device*, int))                                                                              \
    F(cuDeviceGetName, (char*, int, Device))                                                                    \
    F(cuDeviceGetUuid_v2, (Uuid*, Device))                                                                      \
    F(cuDeviceGetPCIBusId, (char*, int, Device))                                                                \
    F(cuDeviceGetAttribute, (int*, int, Device))                                                                \
    F(cuDeviceTotalMem_v2, (size_t*, Device))                                                                   \
    F(cuDeviceCanAccessPeer, (int*, Device, Device))                                                            \
    F(cuDevicePrimaryCtxRetain, (Context*, Device))                                                             \
    F(cuDevicePrimaryCtxGetState, (Device, unsigned*, int*))                                                    \
    F(cuCtxGetCurrent, (Context*))                                                                              \
    F(cuCtxPushCurrent_v2, (Context))                                                                           \
    F(cuCtxPopCurrent_v2, (Context*))                                                                           \
    F(cuCtxSynchronize, ())                                                                                     \
    F(cuCtxEnablePeerAccess, (Context, unsigned))                                                               \
    F(cuCtxDisablePeerAccess, (Context))                                                                        \
    F(cuMemGetInfo_v2, (size_t*, size_t*))                                                                      \
    F(cuMemAlloc_v2, (Pointer*, size_t))                                                                        \
    F(cuMemFree_v2, (Pointer))                                                                                  \
    F(cuMemHostAlloc, (void**, size_t, unsigned))                                                               \
    F(cuMemFreeHost, (void*))                                                                                   \
    F(cuMemAllocAsync, (Pointer*, size_t, Stream))                                                              \
    F(cuMemFreeAsync, (Pointer, Stream))                                                                        \
    F(cuMemcpyAsync, (Pointer, Pointer, size_t, Stream))                                                        \
    F(cuMemsetD8Async, (Pointer, unsigned char, size_t, Stream))                                                \
    F(cuMemsetD16Async, (Pointer, unsigned short, size_t, Stream))                                              \
    F(cuMemsetD32Async, (Pointer, unsigned, size_t, Stream))                                                    \
    F(cuDeviceGetDefaultMemPool, (Pool*, Device))                                                               \
    F(cuMemPoolSetAttribute, (Pool, int, void*))                                                                \
    F(cuMemPoolGetAttribute, (Pool, int, void*))                                                                \
    F(cuMemPoolSetAccess, (Pool, const MemAccess*, size_t))                                                     \
    F(cuMemPoolGetAccess, (int*, Pool, MemLocation*))                                                           \
    F(cuStreamCreateWithPriority, (Stream*, unsigned, int))                                                     \
    F(cuStreamDestroy_v2, (Stream))                                                                             \
    F(cuStreamSynchronize, (Stream))                                                                            \
    F(cuStreamQuery, (Stream))                                                                                  \
    F(cuStreamWaitEvent, (Stream, Event, unsigned))                                                             \
    F(cuStreamGetFlags, (Stream, unsigned*))                                                                    \
    F(cuStreamGetPriority, (Stream, int*))                                                                      \
    F(cuStreamIsCapturing, (Stream, int*))                                                                      \
    F(cuEventCreate, (Event*, unsigned))                                                                        \
    F(cuEventRecord, (Event, Stream))                                                                           \
    F(cuEventSynchronize, (Event))                                                                              \
    F(cuEventQuery, (Event))                                                                                    \
    F(cuEventElapsedTime, (float*, Event, Event))                                                               \
    F(cuEventDestroy_v2, (Event))                                                                               \
    F(cuModuleLoadDataEx, (Module*, const void*, unsigned, int*, void**))                                       \
    F(cuModuleUnload, (Module))                                                                                 \
    F(cuModuleGetFunction, (Function*, Module, const char*))                                                    \
    F(cuLaunchKernel,                                                                                           \
      (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**, void**)) \
    F(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int*, Function, int, size_t))                               \
    F(cuStreamBeginCapture_v2, (Stream, int))                                                                   \
    F(cuStreamEndCapture, (Stream, Graph*))                                                                     \
    F(cuStreamGetCaptureInfo_v2, (Stream, int*, uint64_t*, Graph*, const GraphNode**, size_t*))                 \
    F(cuStreamUpdateCaptureDependencies, (Stream, GraphNode*, size_t, unsigned))                                \
    F(cuThreadExchangeStreamCaptureMode, (int*))                                                                \
    F(cuGraphGetNodes, (Graph, GraphNode*, size_t*))                                                            \
    F(cuGraphAddChildGraphNode, (GraphNode*, Graph, const GraphNode*, size_t, Graph))                           \
    F(cuGraphInstantiateWithFlags, (GraphExec*, Graph, unsigned long long))                                     \
    F(cuGraphLaunch, (GraphExec, Stream))                                                                       \
    F(cuGraphExecKernelNodeSetParams_v2, (GraphExec, GraphNode, const KernelNodeParams*))                       \
    F(cuGraphExecDestroy, (GraphExec))                                                                          \
    F(cuGraphDestroy, (Graph))                                                                                  \
    F(cuGraphDebugDotPrint, (Graph, const char*, unsigned))

// The same, of later drivers: null where they are missing. All are there from 12.4 on.
#define WC_CUDA_OPTIONAL(F)                                                                     \
    F(cuStreamBeginCaptureToGraph, (Stream, Graph, const GraphNode*, const void*, size_t, int)) \
    F(cuGraphAddNode, (GraphNode*, Graph, const GraphNode*, size_t, ConditionalNodeParams*))    \
    F(cuGraphConditionalHandleCreate, (uint64_t*, Graph, Context, unsigned, unsigned))

// The functions of the library; those that are required are there once `load` has returned.
struct Driver {
#define WC_CUDA_POINTER(name, parameters) Result(*name) parameters = nullptr;
    WC_CUDA_REQUIRED(WC_CUDA_POINTER)
    WC_CUDA_OPTIONAL(WC_CUDA_POINTER)
#undef WC_CUDA_POINTER
};

// A call that the driver refused. `call` names the function of the driver. Where a kernel has made the device unusable,
// which any later call may tell, the message names the kernel launched last and what to do.
struct Error : std::runtime_error {
    Error(Result code, const char* call);
    Error(const Error& why, const std::string& where) : std::runtime_error(where + why.what()), code(why.code) {}
    Result code;
};

constexpr Result kSuccess = 0, kOutOfMemory = 2, kNotReady = 600;

// Loads the library and initialises the driver. Throws std::runtime_error saying why it cannot be had; a library that
// was loaded stays.
void load(const std::string& path);
const Driver& driver();  // throws std::logic_error before `load`
inline void check(Result code, const char* call) {
    if (code != kSuccess) throw Error(code, call);
}

// Whether a context is lost for good: a kernel has touched memory that is not its own, or the like.
bool is_fatal(Result code);
// The same as `check` for giving something back, which a lost context has done already.
inline void check_release(Result code, const char* call) {
    if (!is_fatal(code)) check(code, call);
}

// Notes which kernel is launched on a device, for errors that only later calls tell of.
void note_launch(int device_id, Context context, const std::string& kernel);

// Whether every launch is waited for, so that an error is told by the launch that made it.
void set_verify(bool enabled);
bool verify();

// Makes a context current for the calling thread while it lives. Other libraries in the process keep theirs.
class ScopedContext {
  public:
    explicit ScopedContext(Context context);
    ~ScopedContext();
    ScopedContext(const ScopedContext&) = delete;
    ScopedContext& operator=(const ScopedContext&) = delete;

  private:
    bool pushed_ = false;
};

// Lets this thread make calls that the driver takes for unsafe while any thread captures, on any GPU. The garbage
// collector may free objects at any time, and captures must then go on.
class RelaxedCaptureMode {
  public:
    RelaxedCaptureMode() { driver().cuThreadExchangeStreamCaptureMode(&mode_); }
    ~RelaxedCaptureMode() { driver().cuThreadExchangeStreamCaptureMode(&mode_); }
    RelaxedCaptureMode(const RelaxedCaptureMode&) = delete;
    RelaxedCaptureMode& operator=(const RelaxedCaptureMode&) = delete;

  private:
    int mode_ = 2;
};

// A kernel and how it is launched. With `blocks` any number of blocks up to that will do; 0 asks for a thread of the
// device for each of the launch.
struct Entry {
    Context context = nullptr;
    Function function = nullptr;
    unsigned block_dim = 256;
    unsigned blocks = 0;
};

// The second parameter of every kernel, after the argument block (codegen/cuda/cuda_kernel.py).
struct Launch {
    int64_t threads;
    int64_t dims[4];
    void* failure;     // a wc_failure that the device can write, or null
    void* stash[2];    // memory for cells of 4 bytes and of 8,
    int64_t cells[2];  // and how many of them each thread has
};

// How many blocks such a launch takes. Throws std::length_error for more than a grid can have.
unsigned blocks_of(const Entry& entry, int64_t threads);
void launch(const Entry& entry, const void* block, const Launch& launch, Stream stream);
// Lets a node that was captured of such a launch make this one when the graph is launched next.
void update(GraphExec exec, GraphNode node, const Entry& entry, const void* block, const Launch& launch);

// Waits for a stream, unless it captures.
void finish(Context context, Stream stream);

// The stream that launches on a device go to, by the number of the device.
constexpr int kMaxDevices = 256;
void set_stream(int device_id, Stream stream);
Stream stream_of(int device_id);

// Fills `nbytes`, a whole number of patterns, by memsets and, for long patterns, copies of what is filled already.
void fill(Pointer to, size_t nbytes, const void* pattern, size_t size, Stream stream);

}  // namespace wc::cuda
