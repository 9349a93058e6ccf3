// The contract between generated code and the native runtime. omni/warp_core/codegen lays out these structs by itself;
// every kernel that tests launch shows whether both agree.
#pragma once
#include <cstdint>

extern "C" {

// An array as kernels see it: in the argument block and inside structs. Strides are in bytes and may be any value.
struct wc_array {
    void* data;
    void* grad;
    int64_t shape[4];
    int64_t strides[4];
};

// One debug-mode failure, or the lack of one. The lowest failing thread wins, so that a report is repeatable.
struct wc_failure {
    int64_t thread;      // flattened index of the failing thread; INT64_MAX while nothing failed
    int32_t site;        // index into the kernel's table of failure sites
    int32_t count;       // number of values
    uint64_t values[8];  // operands worth showing: integers sign- or zero-extended, floats as double bits
};

// What a kernel may need from its launch besides arguments and dimensions. Passed through, opaque to generated code.
struct wc_context;

// The entry of every compiled CPU kernel: runs threads [begin, end) of the flattened launch grid. `args` is the
// argument block: all parameters in order, laid out like the fields of a C struct. `dims` holds four launch dimensions
// (1 beyond the last; a kernel of arity 1 is given the product in dims[0]). The last dimension runs fastest.
typedef void (*wc_kernel)(const void* args, const int64_t* dims, int64_t begin, int64_t end, wc_context* context);

// Called by generated code. Both are resolved by the loader through its table of known symbols.
// Report a failure of `thread` at `site`; generated code then leaves the thread.
void wc_fail(wc_context* context, int64_t thread, int32_t site, int32_t count, const uint64_t* values);

// Print one line's worth of formatted output; one thread's call is never interleaved with another's. `format` is
// NUL-terminated with %d %u %f %g %s(bool) and %% only; each operand takes one slot (integers extended to 64 bits,
// floats as double bits, bool as 0 or 1).
void wc_printf(wc_context* context, const char* format, const uint64_t* slots);

// Memory of the calling thread for what the loops of an adjoint keep, one block for cells of 4 bytes and one for cells
// of 8. Pages are taken as they are touched.
void* wc_stash(int32_t cell);

// How many bytes of that block there are: 0 if the address space could not be had.
int64_t wc_stash_bytes(int32_t cell);

// Queries of meshes for the lanes in `mask` of a group of `lanes`: what the functions `_mesh_first_hit`,
// `_mesh_crossings`, `_mesh_closest`, `_mesh_farthest` and `_mesh_winding` of the library find.
// codegen/cpu/native_calls.py has the layout of the buffer.
void wc_mesh_first_hit(uint64_t mask, int64_t lanes, void* buffer);
void wc_mesh_crossings(uint64_t mask, int64_t lanes, void* buffer);
void wc_mesh_closest(uint64_t mask, int64_t lanes, void* buffer);
void wc_mesh_farthest(uint64_t mask, int64_t lanes, void* buffer);
void wc_mesh_winding(uint64_t mask, int64_t lanes, void* buffer);

// The same of `_mesh_next_in_box` and `_mesh_next_in_sphere`: the next face near a box or in a ball.
void wc_mesh_next_in_box(uint64_t mask, int64_t lanes, void* buffer);
void wc_mesh_next_in_ball(uint64_t mask, int64_t lanes, void* buffer);

// The same of `_bvh_next`: the next box of a query of a tree over boxes.
void wc_bvh_next(uint64_t mask, int64_t lanes, void* buffer);

// The same of `_hash_grid_next`: the next point near a place. Kernels of one lane call the second, which finds many
// ahead and writes them behind the buffer: the number of the first, how many, and the indices (int32). Numbers come
// once in a thread. Where `number` of a query is among them, the kernel takes the index by itself. Otherwise it calls
// again, and gets the one with that number, whether or not the points of another query were found there meanwhile.
void wc_hash_grid_next(uint64_t mask, int64_t lanes, void* buffer);
void wc_hash_grid_ahead(void* buffer, void* found);

// Where a range of a launch writes down what it adds to arrays. Between two records there is always room for one of
// kLogRecord bytes at `at`; whoever has moved `at` beyond `limit` calls wc_log_full before the next.
//
// A record is a header, addresses and values. Bits 0 and 1 of the header have the type of number (0 float, 1 double, 2
// half, 3 bfloat), bits 2 to 7 the number of lanes. Bits 8 to 19 have the number of numbers for each lane, bits 20 to
// 31 the size of the record in units of 8 bytes. From bit 32 on there is a bit for each lane that takes part.
// Addresses, one for each lane, begin after 8 bytes for each lane and at most 64. Values follow, all lanes of the first
// number before those of the second, and fill a multiple of 8 bytes.
//
// `own` has the addresses [low, high) of each array that follows the threads (codegen/accumulate/stencil_scatter.py)
// that no other range of the launch adds to. There a range adds in place, and nowhere else. A record that may have such
// addresses, among others, ends with a call of wc_log_ends in place of moving `at`.
//
// `turn` is set where nothing that threads before have added is still to be applied. To arrays to which all lanes add
// together, additions then go at once: in place, or as a record that is followed by a call of wc_log_full.
struct wc_span {
    void* low;
    void* high;
};

//
// `deltas` has, for each array of integers that cores add to in copies (codegen/accumulate/privatization.py), how many
// bytes the copy of this core is away from it. INT64_MIN: cores share the array, and must add atomically.
struct wc_log {
    void* at;
    void* limit;
    const wc_span* own;
    int64_t turn;
    const int64_t* deltas;
};

// The log of the range that the calling thread runs.
wc_log* wc_log_of_thread();
void wc_log_full(wc_log* log);
// Adds what a record, from `at` to `end`, has for the addresses of its own in array `follower`; the rest is logged.
void wc_log_ends(wc_log* log, void* end, int64_t follower);
}
