// A plan: everything a launch of one kernel with one signature needs, prepared once. Packing turns Python arguments
// into the argument block of abi.h; running spreads the launch over the pool. Start with Plan::launch in plan.cpp;
// plan_run.cpp deals threads out to cores. plan_counts.cpp refuses sizes
// that a kernel cannot count, plan_gpu.cpp launches on GPUs, plan_errors.cpp says what went wrong.
#pragma once
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "arrays/py_array.h"
#include "interop/exchange.h"
#include "warp_core/accumulate.h"
#include "warp_core/context.h"
#include "warp_core/cuda.h"
#include "warp_core/dtypes.h"
#include "warp_core/privatize.h"

namespace wc {

enum class ArgKind : uint8_t { Array, Scalar, Packed, Struct };

// An array inside a struct parameter.
struct ArrayField {
    uint32_t offset;
    int ndim;
    int64_t itemsize;
    bool writable;  // the kernel may write to it

    bool inner_contiguous(const std::byte* block) const;
};

// One kernel parameter, described by a Type of lang/types.py. `arrays` gives (byte offset, dimensions, element size,
// whether the kernel may write to it) of the arrays inside a struct.
struct ParamSpec {
    ParamSpec(std::string name, nb::object type, bool writable, const std::vector<std::array<int64_t, 4>>& arrays,
              bool nested);

    std::string name;
    nb::object type;
    ArgKind kind;
    bool writable;  // the kernel may write to memory that it shows; arrays that are read-only are refused
    bool nested;    // elements of its arrays hold arrays
    int ndim = 0;   // arrays
    uint32_t size, align;
    int dtype_id;  // of an array's elements, else of the value itself
    const Dtype* dtype;
    uint32_t offset = 0;  // in the argument block
    std::vector<ArrayField> arrays;
};

// Launch dimensions as kernels see them, and their product.
struct Grid {
    int64_t dims[4] = {1, 1, 1, 1};
    int64_t threads = 1;
    int ndim = 1;
};

// How many threads there are at most where a kernel numbers them with 32-bit integers.
constexpr int64_t kMostCounted = int64_t{1} << 31;

// The compilations of one kernel, a sum of bits. Without kStrided every array has a contiguous inner dimension. With
// kFlat lanes run over the flattened grid instead of its last dimension. With kAtomic additions are atomic instructions
// instead of records in a log, for launches that see the memory they add to in another way, too. With kPromised, on a
// GPU, arrays are aligned and share no memory (alias_guard.h). Python has them as `Plan.STRIDED` and so on.
enum Variant : int { kInner = 0, kStrided = 1, kFlat = 2, kAtomic = 4, kPromised = 8, kVariants = 16 };

// An array among the parameters, or its gradient.
struct ArrayAt {
    uint32_t offset;  // in the argument block
    int ndim;
    int64_t itemsize;
    bool gradient;

    ByteRange bytes(const std::byte* block) const;
    bool operator==(const ArrayAt&) const = default;
};

// That memory which was at `range` is `by` bytes further now.
struct Move {
    uintptr_t low, high;
    int64_t by;
};

// How a kernel adds numbers to arrays, by the names of ir/launch_facts.py, which explains them.
struct Accumulation {
    struct Stencil {
        ArrayAt array;
        std::vector<int> dimensions;                // for each index which of the thread's it is, or -1
        std::vector<std::vector<int64_t>> offsets;  // what accesses add to that
        StencilTarget follower(const std::byte* block) const;
    };

    std::vector<ArrayAt> logged, touched, atomic;
    bool atomic_anywhere = false, in_order = false, order_dependent = false, has_reductions = false;
    std::vector<Stencil> stencils;
    std::vector<ArrayAt> exclusive;
    std::vector<ArrayAt> demoted;  // those of `exclusive` that are changed by plain stores, where they are
    struct Privatized {
        ArrayAt array;
        int width;
    };
    std::vector<Privatized> privatized;

    // Whether memory that is added to through logs, or plainly, is seen in another way, too.
    bool overlap(const std::byte* block) const;
    // Whether the arrays that are added to through logs share no memory with each other.
    bool apart(const std::byte* block) const;
    WriteSet targets(const std::byte* block, bool overlap) const;
    std::vector<StencilTarget> followers(const std::byte* block) const;
    std::vector<PrivatizedTarget> privatized_targets(const std::byte* block) const;
    bool any() const {
        return !logged.empty() || !atomic.empty() || atomic_anywhere || !privatized.empty() || !demoted.empty();
    }
    // Whether one thread that runs all of a launch just runs the code: no logs, and no parts of a fixed size.
    bool runs_whole() const { return logged.empty() && !(in_order && has_reductions); }
};

// Keeps alive what an argument block points into.
class Pins {
  public:
    Pins() = default;
    Pins(Pins&&) = default;
    Pins& operator=(Pins&& other) noexcept;
    ~Pins() { release(); }
    void add(nb::object object) { objects_.push_back(std::move(object)); }
    void add(const Py_buffer& view) { views_.push_back(view); }  // takes over the export
    void release();
    int traverse(visitproc visit, void* arg) const;

  private:
    std::vector<nb::object> objects_;
    std::vector<Py_buffer> views_;
};

class Plan {
  public:
    Plan(std::string name, nb::sequence params, int arity, int device_id, nb::object on_missing, nb::object on_failure,
         nb::object convert, int flat_below, int block_dim);

    // Checks and packs one argument into `block`; `strided` is set if it needs the strided variant.
    void pack(size_t index, PyObject* value, std::byte* block, Pins& pins, bool& strided) const;
    Grid grid(PyObject* dim) const;
    // The same of dimensions that are not negative, as the kernel sees them, with the number of threads.
    Grid checked(Grid grid) const;
    // Runs the kernel on a packed block. Raises what the kernel, the user (Ctrl-C) or the callbacks raise.
    void run(const std::byte* block, const Grid& grid, bool strided);
    // Reports the memory that a run may write to the observers.
    void announce_writes(const std::byte* block) const;
    // Lets a node of a graph that was captured of a run make this one from now on.
    void update_node(cuda::GraphExec exec, cuda::GraphNode node, const std::byte* block, const Grid& grid,
                     bool strided);
    // Packs `count` arguments and runs. Arrays of parameters that `reads` are taken to where `moves` say they are now.
    void launch(PyObject* dim, PyObject* const* values, size_t count, const std::vector<Move>& moves = {},
                const std::vector<bool>& reads = {});
    void check_count(size_t count) const;
    void set_entry(int variant, uintptr_t address, nb::object owner);
    void set_accumulation(nb::handle facts);
    void set_counts(bool threads, bool blocks,
                    const std::vector<std::tuple<size_t, uint32_t, std::string, int>>& arrays);
    void set_needed(const std::vector<std::tuple<size_t, uint32_t, std::string>>& arrays);
    // The parameters that are ids of structures to which the kernel writes; `elsewhere` if it gets such ids otherwise.
    void set_stores(const std::vector<size_t>& ids, bool elsewhere);
    nb::tuple variants() const;  // that there is code for
    // The same for a GPU. With `on_checked` launches go there, as (variant, argument block, dimensions, threads).
    void set_gpu_entry(int variant, const cuda::Entry& entry, nb::object owner, nb::object on_checked);

    [[noreturn]] void refuse(PyObject* exception, size_t index, const std::string& why) const;

    std::string name;
    std::string label;  // what timings call its launches
    std::vector<ParamSpec> params;
    size_t block_size = 0;
    int arity;
    int device_id;
    int block_dim;              // launches with other blocks have another plan; 0 if blocks make no difference
    bool whole_blocks = false;  // the kernel works in blocks: launches consist of whole ones
    bool whole_rows = false;    // the threads of a block share all indices but the last: a row is a block
    // Indices stand for the first dimensions of a launch, and are 0 beyond the last. Launches of more dimensions than
    // the kernel has indices have other plans: `wider`, from two dimensions on.
    bool first_indices = false;
    std::array<nb::object, 3> wider;
    bool serial = false;    // threads run one after the other
    bool promised = false;  // on a GPU there is code for launches whose arrays are as promised
    int flat_below;  // last dimensions shorter than this waste lanes: long launches with one use the flat variant
    nb::object on_missing, on_failure, convert, on_checked;
    nb::object on_fault = nb::none();  // raises for a launch that had to be left
    nb::object recipe;                 // how Python records plain launches on a tape
    nb::object owners[kVariants];

  private:
    // Calls f(parameter, where in the block, dimensions, element size, whether the kernel may write to it) for each
    // array among the arguments.
    template <class Byte, class F>
    void each_array(Byte* block, F&& f) const {
        for (const ParamSpec& p : params) {
            if (p.kind == ArgKind::Array) f(p, block + p.offset, p.ndim, p.dtype->itemsize, p.writable);
            for (const ArrayField& a : p.arrays) f(p, block + p.offset + a.offset, a.ndim, a.itemsize, a.writable);
        }
    }

    std::vector<uint32_t> stored_ids_;  // where they are in the argument block
    bool stores_elsewhere_ = false;

    // An array that every thread uses elements of: where it is in the argument block, and its name.
    struct Needed {
        uint32_t offset;
        std::string name;
    };

    // An array whose elements the kernel counts with 32-bit integers: a bit for each dimension, and kAllElements.
    struct Counted {
        uint32_t offset;
        std::string name;
        int dimensions;
    };

    ArrayAt array_at(nb::handle given) const;
    void check_needed(const std::byte* block) const;
    void check_threads(const Grid& grid) const;
    void check_counted(const std::byte* block) const;
    void refuse_count(const Counted& counted, const wc_array& array) const;
    int variant(const Grid& grid, bool strided) const;
    int gpu_variant(const std::byte* block, bool strided) const;
    wc_kernel entry(int variant);
    void run_on_gpu(const std::byte* block, const Grid& grid, bool strided);
    bool is_checked() const { return on_checked.is_valid() && !on_checked.is_none(); }
    void launch_on_gpu(const std::byte* block, const Grid& grid, bool strided);
    std::string launched_as(const Grid& grid) const;
    void execute(wc_kernel kernel, int variant, const std::byte* block, const Grid& grid, wc_context& context);
    int64_t chunk(const Grid& grid, double ns_per_thread, bool small) const;
    void report(const wc_context& context, const Grid& grid);
    void explain(const wc_context& context, const std::byte* block, const Grid& grid);
    nb::tuple dims_of(const Grid& grid) const;
    nb::list places(const std::byte* block, bool written) const;
    void move(std::byte* block, const std::vector<Move>& moves, const std::vector<bool>& reads) const;

    void pack_array(size_t index, PyObject* value, std::byte* to, Pins& pins, bool& strided) const;
    void pack_foreign(size_t index, PyObject* value, std::byte* to, Pins& pins, bool& strided) const;
    bool borrow_tensor(size_t index, PyObject* value, ForeignMemory& memory) const;
    void pack_memory(size_t index, const ForeignMemory& memory, std::byte* to, bool& strided) const;
    [[noreturn]] void refuse_memory(size_t index, const ForeignMemory& memory, Misfit why) const;
    void pack_packed(size_t index, PyObject* value, std::byte* to) const;
    void pack_struct(size_t index, PyObject* value, std::byte* to, Pins& pins, bool& strided) const;
    bool pack_converted(size_t index, PyObject* value, std::byte* block, Pins& pins, bool& strided) const;

    wc_kernel entries_[kVariants] = {};
    cuda::Entry gpu_entries_[kVariants];
    Accumulation accumulation_;
    std::vector<Needed> needed_;
    std::vector<Counted> counted_;
    bool counts_threads_ = false, counts_blocks_ = false;  // with 32-bit integers
    std::atomic<double> ns_per_thread_{0};                 // 0: not known yet
    std::atomic<double> logged_per_thread_{0};             // bytes
    uint32_t launches_ = 0;
};

extern PyTypeObject* plan_type;

// A recorded launch, as Python has it: whether an object is one, and running it.
bool is_launch(nb::handle object);
void run_launch(nb::handle launch);
// A number that changes with the arguments or the dimensions; and what Plan::update_node does.
uint64_t launch_version(nb::handle launch);
void update_node(nb::handle launch, cuda::GraphExec exec, cuda::GraphNode node);

[[noreturn]] void raise(PyObject* exception, const std::string& message);

// What a person would call a value in an error message: "an array of float32 with 2 dimensions", "str".
std::string describe(PyObject* value);

// Writes `value` as a scalar. Returns null, or the exception to raise with what is wrong in `why`.
PyObject* pack_scalar(const Scalar& scalar, const std::string& display, PyObject* value, std::byte* to,
                      std::string& why);

}  // namespace wc
