#include "plan.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "gil.h"
#include "promises.h"
#include "py_interrupts.h"
#include "py_spans.h"
#include "warp_core/interrupts.h"
#include "warp_core/pool.h"

namespace wc {

PyTypeObject* plan_type = nullptr;

namespace {

constexpr double kInlineNs = 20'000;  // less work than this stays on the calling thread, with the GIL held
constexpr double kChunkNs = 10'000;   // no chunk should be shorter
constexpr double kLongChunkNs = 2e6;  // nor longer: Ctrl-C is seen between chunks
constexpr double kFirstChunk = 8192;  // threads, while the time per thread is not known
constexpr int64_t kGrain = 64;        // chunks are multiples of this many threads, or of a block
constexpr int64_t kChunksPerThread = 8;
constexpr double kTinyNs = 500;        // below this, reading the clock costs as much as the work,
constexpr uint32_t kSampleEvery = 16;  // so only one launch of these is timed
constexpr int kFlatGroups = 64;        // a launch of fewer groups of lanes is not worth compiling the flat variant for
constexpr size_t kStackBlock = 2048;
constexpr int64_t kLookNs = 50'000'000;
constexpr double kLogBytes = 262144;  // of a chunk: logs that wait for their turn stay in the cache
constexpr int64_t kParts = 128;       // of launches whose results must not depend on the number of cores

MayWait launching;      // on GPUs
int64_t looked_at = 0;  // when a small launch was the last to see to interrupts

nb::object attribute(const nb::object& type, const char* name) { return nb::object(type.attr(name)); }

// Called on the launching thread, whose Python state is saved. Leaves the exception set.
bool no_signal() {
    PyGILState_STATE state = take_gil(PyGILState_Ensure);
    bool fine = PyErr_CheckSignals() == 0;
    PyGILState_Release(state);
    return fine;
}

// The part of a launch that worker threads see.
struct Task {
    wc_kernel kernel;
    const std::byte* block;
    const int64_t* dims;
    wc_context* context;
    int64_t threads, chunk, row;
    int64_t grain = kGrain;  // chunks are multiples of this many threads
    Turns* turns = nullptr;  // where the kernel writes logs
    std::atomic<int64_t> busy_ns{0};
    std::atomic<bool> stopped{false};  // no other chunk begins
    std::atomic<bool> ended{false};    // as the user has ended one
    const Visitor* launcher = &this_visitor();
    bool interrupted = false;  // a signal has raised an exception, and when
    int64_t interrupted_at = 0;
    uint64_t interrupts_then = 0, interrupts_before = interrupts();

    // The thread at or before `at` where chunks may be cut, so that the groups of lanes do not depend on their size.
    int64_t cut(int64_t at) const {
        int64_t column = at % row;
        return at >= threads ? threads : at - column % grain;
    }

    void run(int64_t begin, int64_t end) {
        if (stopped.load(std::memory_order_relaxed)) return;
        Chunk running(this, &this_visitor() != launcher);
        int64_t first = cut(begin), last = cut(end);
        if (turns) turns->begin(begin / chunk, first, last);
        if (!enter(kernel, block, dims, first, last, context)) stop(this_visitor().fault, first, last);
        if (turns) turns->end();
        if (turns && turns->failed_chunk() >= 0) stop_at(turns->failed_chunk(), turns->fault());
    }

    void run_all() {
        for (int64_t at = 0; at < threads; at += chunk) run(at, std::min(at + chunk, threads));
    }

    void stop(const Fault& why, int64_t first, int64_t last) {
        stopped = true;
        if (why.signal == SIGINT) ended = true;
        context->left(why, first, last);
        if (turns) turns->fail();
    }

    // Between chunks, and while the launching thread waits for the others.
    bool go_on() {
        if (!interrupted && !no_signal()) {
            interrupted = stopped = true;
            interrupted_at = now_ns();
            interrupts_then = interrupts();
        } else if (!interrupted && launcher->first &&
                   interrupts() - interrupts_before > 1) {  // what the program does about it is in vain
            ended = stopped = true;
        }
        if (ended || (interrupted && (now_ns() - interrupted_at > kPatienceNs || interrupts() != interrupts_then)))
            end_chunks(this);
        return !stopped;
    }

    // The log of chunk `index` could not be applied.
    void stop_at(int64_t index, const Fault& why) {
        stop(why, cut(index * chunk), cut(std::min((index + 1) * chunk, threads)));
    }
};

void run_part(void* data, int64_t begin, int64_t end) {
    auto& task = *static_cast<Task*>(data);
    int64_t start = now_ns();
    task.run(begin, end);
    task.busy_ns.fetch_add(now_ns() - start, std::memory_order_relaxed);
}

std::unique_ptr<Claim> claimed(const Targets& targets) {
    std::unique_ptr<Claim> claim;
    while (!(claim = Claim::take(targets))) {
        without_gil([&] { Claim::wait(targets); });
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    return claim;
}

// At least one, also where a single thread logs more than a chunk is meant to.
int64_t whole_grains(int64_t threads) { return std::max<int64_t>(1, (threads + kGrain - 1) / kGrain) * kGrain; }

int64_t chunk_size(int64_t threads, double ns_per_thread) {
    bool known = ns_per_thread > 0;
    double shortest = known ? kChunkNs / ns_per_thread : 1;
    double longest = known ? kLongChunkNs / ns_per_thread : kFirstChunk;
    double even = static_cast<double>(threads) / static_cast<double>(num_threads() * kChunksPerThread);
    auto chunk =
        static_cast<int64_t>(std::min(std::max(shortest, std::min(even, longest)), static_cast<double>(threads)));
    return (chunk + kGrain) / kGrain * kGrain;
}

void print(const wc_context& context) {
    PyObject* out = PySys_GetObject("stdout");
    if (!out || out == Py_None) return;
    std::string text = context.printed;
    if (context.dropped) text += "... " + std::to_string(context.dropped) + " more calls of printf not shown\n";
    nb::object str = nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
    if (!str.is_valid() || PyFile_WriteObject(str.ptr(), out, Py_PRINT_RAW) != 0) throw nb::python_error();
}

int64_t extent(PyObject* item) {
    nb::object index = nb::steal(PyNumber_Index(item));
    if (!index.is_valid()) {
        PyErr_Clear();
        raise(PyExc_TypeError, "launch dimensions must be integers, got " + describe(item));
    }
    int overflow = 0;
    int64_t n = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
    if (overflow || n < 0 || n >= int64_t{1} << 31)
        raise(PyExc_ValueError,
              std::string("launch dimension ") + nb::str(index).c_str() + " is not between 0 and 2147483647");
    return n;
}

// Where a chunk's ends take longer than what lies between: two chunks for each core, and longer ones while there are
// eight.
int64_t long_chunk(int64_t roomy, int64_t threads) {
    int64_t share = threads / num_threads();
    return std::max(std::min(roomy, share / 2), std::min(8 * roomy, share / 8));
}

}  // namespace

void raise(PyObject* exception, const std::string& message) {
    PyErr_SetString(exception, message.c_str());
    throw nb::python_error();
}

bool ArrayField::inner_contiguous(const std::byte* block) const {
    wc_array array;
    std::memcpy(&array, block + offset, sizeof array);
    return array.shape[ndim - 1] <= 1 || array.strides[ndim - 1] == itemsize;
}

Bytes ArrayAt::bytes(const std::byte* block) const {
    wc_array array;
    std::memcpy(&array, block + offset, sizeof array);
    auto low = reinterpret_cast<uintptr_t>(gradient ? array.grad : array.data);
    if (!low) return {0, 0};
    uintptr_t high = low + static_cast<uintptr_t>(itemsize);
    for (int k = 0; k < ndim; ++k) {
        if (array.shape[k] == 0) return {0, 0};
        int64_t reach = (array.shape[k] - 1) * array.strides[k];
        (reach < 0 ? low : high) += static_cast<uintptr_t>(reach);
    }
    return {low, high};
}

namespace {

wc_array array_at(const ArrayAt& at, const std::byte* block) {
    wc_array array;
    std::memcpy(&array, block + at.offset, sizeof array);
    return array;
}

// Whether equal indices of two arrays are the same elements.
bool same_places(const ArrayAt& a, const ArrayAt& b, const std::byte* block) {
    wc_array x = array_at(a, block), y = array_at(b, block);
    return a.ndim == b.ndim && (a.gradient ? x.grad : x.data) == (b.gradient ? y.grad : y.data) &&
           std::equal(x.strides, x.strides + a.ndim, y.strides);
}

}  // namespace

bool Accumulation::overlap(const std::byte* block) const {
    for (const ArrayAt& a : logged)
        for (const ArrayAt& b : touched)
            if (a.bytes(block).meets(b.bytes(block))) return true;
    for (size_t i = 0; i < own.size(); ++i) {
        if (meets_itself(array_at(own[i], block), own[i].ndim, own[i].itemsize)) return true;
        for (size_t k = 0; k < i; ++k)
            if (own[i].bytes(block).meets(own[k].bytes(block)) && !same_places(own[i], own[k], block)) return true;
    }
    return false;
}

bool Accumulation::apart(const std::byte* block) const {
    for (size_t i = 0; i < logged.size(); ++i)
        for (size_t k = 0; k < i; ++k)
            if (logged[i].bytes(block).meets(logged[k].bytes(block))) return false;
    return true;
}

Targets Accumulation::targets(const std::byte* block, bool overlap) const {
    Targets t;
    for (const ArrayAt& a : logged) (overlap ? t.atomic : t.alone).push_back(a.bytes(block));
    for (const ArrayAt& a : atomic) t.atomic.push_back(a.bytes(block));
    if (anywhere) t.atomic.push_back({0, UINTPTR_MAX});
    return t;
}

Follower Accumulation::Following::follower(const std::byte* block) const {
    wc_array a;
    std::memcpy(&a, block + array.offset, sizeof a);
    Follower f;
    f.base = reinterpret_cast<uintptr_t>(array.gradient ? a.grad : a.data);
    f.size = array.itemsize;
    for (int k = 0; k < array.ndim; ++k) {
        f.alone &= a.strides[k] % array.itemsize == 0;
        if (dimensions[k] >= 0) f.steps[dimensions[k]] += a.strides[k];
    }
    f.first = INT64_MAX;
    f.last = INT64_MIN;
    for (const auto& offset : offsets) {
        int64_t sum = 0;
        for (int k = 0; k < array.ndim; ++k) sum += offset[k] * a.strides[k];
        f.first = std::min(f.first, sum);
        f.last = std::max(f.last, sum);
    }
    return f;
}

std::vector<Follower> Accumulation::followers(const std::byte* block) const {
    std::vector<Follower> found;
    for (const Following& f : following) {
        found.push_back(f.follower(block));
        for (const ArrayAt& a : logged)
            if (a != f.array && a.bytes(block).meets(f.array.bytes(block))) found.back().alone = false;
    }
    return found;
}

ParamSpec::ParamSpec(std::string name_, nb::object type_, bool writable_,
                     const std::vector<std::array<int64_t, 3>>& arrays_, bool nested_)
    : name(std::move(name_)), type(std::move(type_)), writable(writable_), nested(nested_) {
    size = nb::cast<uint32_t>(attribute(type, "size"));
    align = nb::cast<uint32_t>(attribute(type, "align"));
    bool array = nb::hasattr(type, "ndim");
    nb::object element = array ? attribute(type, "dtype") : type;
    dtype_id = type_id(nb::cast<std::string>(attribute(element, "key")), nb::cast<int64_t>(attribute(element, "size")));
    dtype = &wc::dtype(dtype_id);
    if (array) {
        kind = ArgKind::Array;
        ndim = nb::cast<int>(attribute(type, "ndim"));
        if (ndim < 1 || ndim > kMaxNdim || size != sizeof(wc_array)) throw nb::value_error("bad array type");
    } else {
        kind = dtype->scalar.kind == Kind::None ? ArgKind::Struct : dtype->rank ? ArgKind::Packed : ArgKind::Scalar;
    }
    for (auto [at, dims, itemsize] : arrays_) {
        if (kind != ArgKind::Struct || at < 0 || at + sizeof(wc_array) > size || dims < 1 || dims > kMaxNdim)
            throw nb::value_error("no such array in the struct");
        arrays.push_back({static_cast<uint32_t>(at), static_cast<int>(dims), itemsize});
    }
}

Pins& Pins::operator=(Pins&& other) noexcept {
    std::swap(objects_, other.objects_);
    std::swap(views_, other.views_);
    return *this;
}

void Pins::release() {
    for (Py_buffer& view : views_) PyBuffer_Release(&view);
    views_.clear();
    objects_.clear();
}

int Pins::traverse(visitproc visit, void* arg) const {
    for (const nb::object& o : objects_) Py_VISIT(o.ptr());
    for (const Py_buffer& view : views_) Py_VISIT(view.obj);
    return 0;
}

Plan::Plan(std::string name_, nb::sequence specs, int arity_, int device_id_, nb::object on_missing_,
           nb::object on_failure_, nb::object convert_, int flat_below_, int block_dim_)
    : name(std::move(name_)),
      arity(arity_),
      device_id(device_id_),
      block_dim(block_dim_),
      flat_below(flat_below_),
      on_missing(std::move(on_missing_)),
      on_failure(std::move(on_failure_)),
      convert(std::move(convert_)) {
    if (arity < 0 || arity > 4) throw nb::value_error("the arity of a kernel is 0 to 4");
    size_t align = 8;
    for (nb::handle spec : specs) {
        ParamSpec p = nb::cast<ParamSpec>(spec);
        block_size = (block_size + p.align - 1) / p.align * p.align;
        p.offset = static_cast<uint32_t>(block_size);
        block_size += p.size;
        align = std::max<size_t>(align, p.align);
        params.push_back(std::move(p));
    }
    block_size = (block_size + align - 1) / align * align;
}

void Plan::refuse(PyObject* exception, size_t index, const std::string& why) const {
    raise(exception, "kernel `" + name + "`: argument `" + params[index].name + "` " + why);
}

void Plan::check_count(size_t count) const {
    if (count == params.size()) return;
    std::string list;
    for (const ParamSpec& p : params) list += (list.empty() ? "" : ", ") + p.name;
    raise(PyExc_TypeError, "kernel `" + name + "` takes " + std::to_string(params.size()) + " arguments (" + list +
                               "), but inputs and outputs give " + std::to_string(count));
}

Grid Plan::grid(PyObject* dim) const {
    Grid g;
    if (PyTuple_Check(dim) || PyList_Check(dim)) {
        nb::object items = nb::steal(PySequence_Fast(dim, ""));
        g.ndim = static_cast<int>(PySequence_Fast_GET_SIZE(items.ptr()));
        if (g.ndim < 1 || g.ndim > 4)
            raise(PyExc_ValueError,
                  "kernel `" + name + "`: a launch has 1 to 4 dimensions, got " + std::to_string(g.ndim));
        for (int i = 0; i < g.ndim; ++i) g.dims[i] = extent(PySequence_Fast_GET_ITEM(items.ptr(), i));
    } else {
        g.dims[0] = extent(dim);
    }
    for (int64_t d : g.dims)
        if (__builtin_mul_overflow(g.threads, d, &g.threads))
            raise(PyExc_ValueError, "kernel `" + name + "`: the launch has more than 2**63 threads");
    if (whole_blocks && g.threads % block_dim != 0)
        raise(PyExc_ValueError, "kernel `" + name + "` works in blocks of " + std::to_string(block_dim) +
                                    " threads, and a launch of " + std::to_string(g.threads) +
                                    " does not make whole blocks: launch more threads and let those beyond the data do "
                                    "nothing, or choose another block_dim");
    if (arity == 1 && g.ndim > 1) {
        g.dims[0] = g.threads;
        g.dims[1] = g.dims[2] = g.dims[3] = 1;
    } else if (arity != 0 && arity != g.ndim) {
        raise(PyExc_ValueError, "kernel `" + name + "` takes " + std::to_string(arity) +
                                    " thread indices from wp.tid(), but the launch has " + std::to_string(g.ndim) +
                                    (g.ndim == 1 ? " dimension" : " dimensions"));
    }
    return g;
}

void Plan::set_entry(int variant, uintptr_t address, nb::object owner) {
    if (variant < 0 || variant >= kVariants)
        throw nb::value_error("variant is a sum of 1 (strided), 2 (flat), 4 (atomic) and 8 (promised)");
    entries_[variant] = reinterpret_cast<wc_kernel>(address);
    owners[variant] = std::move(owner);
}

nb::tuple Plan::variants() const {
    nb::list found;
    for (int v = 0; v < kVariants; ++v)
        if (entries_[v] || gpu_entries_[v].function) found.append(v);
    return nb::tuple(found);
}

void Plan::set_accumulation(nb::tuple facts) {
    using Array = std::tuple<size_t, uint32_t, int, int64_t, bool>;
    auto array = [&](const Array& given) {
        auto& [param, offset, ndim, itemsize, gradient] = given;
        if (param >= params.size() || offset + sizeof(wc_array) > params[param].size || ndim < 1 || ndim > kMaxNdim)
            throw nb::value_error("no such array");
        return ArrayAt{params[param].offset + offset, ndim, itemsize, gradient};
    };
    auto arrays = [&](size_t i) {
        std::vector<ArrayAt> found;
        for (auto& given : nb::cast<std::vector<Array>>(facts[i])) found.push_back(array(given));
        return found;
    };
    auto flag = [&](size_t i) { return nb::cast<bool>(facts[i]); };
    accumulation_ = {arrays(0), arrays(1), arrays(2), flag(3), flag(4), flag(5), flag(6), {}, arrays(8)};
    using Offsets = std::vector<std::vector<int64_t>>;
    for (auto& [given, dimensions, offsets] :
         nb::cast<std::vector<std::tuple<Array, std::vector<int>, Offsets>>>(facts[7]))
        accumulation_.following.push_back({array(given), dimensions, offsets});
}

void Plan::set_needed(const std::vector<std::tuple<size_t, uint32_t, std::string>>& arrays) {
    for (const auto& [index, offset, words] : arrays) needed_.push_back({params.at(index).offset + offset, words});
}

void Plan::check_needed(const std::byte* block) const {
    for (const Needed& array : needed_) {
        void* data;
        std::memcpy(&data, block + array.offset, sizeof data);
        if (data) continue;
        raise(PyExc_ValueError, "kernel `" + name + "`: `" + array.name +
                                    "` is None or empty, but every thread uses elements of it: pass an array, or let "
                                    "the kernel ask `if " +
                                    array.name + ":` before");
    }
}

int Plan::variant(const Grid& g, bool strided) const {
    if (block_dim != 0)  // not flat where every block lies in one row
        return (strided ? kStrided : kInner) | (arity > 1 && g.dims[arity - 1] % block_dim != 0 ? kFlat : kInner);
    bool flat = arity > 1 && g.dims[arity - 1] < flat_below && g.threads >= int64_t{kFlatGroups} * flat_below &&
                g.threads < int64_t{1} << 31;
    return (strided ? kStrided : kInner) | (flat ? kFlat : kInner);
}

wc_kernel Plan::entry(int variant) {
    if (!entries_[variant] && !on_missing.is_none()) on_missing(variant);
    if (!entries_[variant])
        raise(PyExc_RuntimeError, "kernel `" + name + "` has no code for variant " + std::to_string(variant));
    return entries_[variant];
}

void Plan::move(std::byte* block, const std::vector<Move>& moves, const std::vector<bool>& reads) const {
    auto move_array = [&](std::byte* at, int ndim, int64_t itemsize) {
        wc_array array;
        std::memcpy(&array, at, sizeof array);
        uintptr_t low = range_of(array, array.data, ndim, itemsize).low;
        for (const Move& m : moves) {
            if (low < m.low || low >= m.high) continue;
            array.data = static_cast<std::byte*>(array.data) + m.by;
            std::memcpy(at, &array, sizeof array);
            return;
        }
    };
    for (size_t i = 0; i < params.size() && i < reads.size(); ++i) {
        const ParamSpec& p = params[i];
        if (!reads[i]) continue;
        if (p.kind == ArgKind::Array) move_array(block + p.offset, p.ndim, p.dtype->itemsize);
        for (const ArrayField& f : p.arrays) move_array(block + p.offset + f.offset, f.ndim, f.itemsize);
    }
}

void Plan::launch(PyObject* dim, PyObject* const* values, size_t count, const std::vector<Move>& moves,
                  const std::vector<bool>& reads) {
    check_count(count);
    Grid g = grid(dim);
    alignas(64) std::byte small[kStackBlock];
    std::vector<std::byte> large;
    std::byte* block = small;
    if (block_size > kStackBlock) {
        large.resize(block_size);
        block = large.data();
    }
    Pins pins;
    bool strided = false;
    for (size_t i = 0; i < count; ++i) pack(i, values[i], block, pins, strided);
    if (!moves.empty()) move(block, moves, reads);
    run(block, g, strided);
}

// Any kernel may write to gradients.
void Plan::announce_writes(const std::byte* block) const {
    auto announce = [](const std::byte* at, int ndim, int64_t itemsize, bool writable) {
        wc_array array;
        std::memcpy(&array, at, sizeof array);
        if (writable) before_write(range_of(array, array.data, ndim, itemsize));
        before_write(range_of(array, array.grad, ndim, itemsize));
    };
    for (const ParamSpec& p : params) {
        if (p.nested) before_any_write();
        if (p.kind == ArgKind::Array) announce(block + p.offset, p.ndim, p.dtype->itemsize, p.writable);
        for (const ArrayField& f : p.arrays) announce(block + p.offset + f.offset, f.ndim, f.itemsize, p.writable);
    }
}

void Plan::set_gpu_entry(int variant, const cuda::Entry& entry, nb::object owner, nb::object checked) {
    if (device_id == 0 || variant < 0 || (variant & ~(kStrided | kPromised)) != 0)
        throw nb::value_error("no such variant on a GPU");
    gpu_entries_[variant] = entry;
    owners[variant] = std::move(owner);
    on_checked = std::move(checked);
}

int Plan::gpu_variant(const std::byte* block, bool strided) const {
    int plain = strided ? kStrided : kInner;
    if (!promised) return plain;
    Promises promises;
    auto add = [&](const std::byte* at, int ndim, int64_t itemsize, bool written) {
        wc_array array;
        std::memcpy(&array, at, sizeof array);
        promises.add(array, ndim, itemsize, written);
    };
    for (const ParamSpec& p : params) {
        if (p.kind == ArgKind::Array) add(block + p.offset, p.ndim, p.dtype->itemsize, p.writable);
        for (const ArrayField& f : p.arrays) add(block + p.offset + f.offset, f.ndim, f.itemsize, p.writable);
    }
    return promises.kept() ? plain | kPromised : plain;
}

std::string Plan::launched_as(const Grid& g) const {
    std::string dims;
    for (int i = 0; i < (arity == 1 ? 1 : g.ndim); ++i) dims += (i ? ", " : "") + std::to_string(g.dims[i]);
    return "kernel `" + name + "`, launched with dim=(" + dims + "): ";
}

void Plan::run_on_gpu(const std::byte* block, const Grid& g, bool strided) {
    try {
        launch_on_gpu(block, g, strided);
    } catch (const cuda::Error& e) {
        throw cuda::Error(e, launched_as(g));
    } catch (const std::length_error& e) {
        raise(PyExc_ValueError, launched_as(g) + e.what());
    }
}

void Plan::launch_on_gpu(const std::byte* block, const Grid& g, bool strided) {
    int chosen = gpu_variant(block, strided);
    const cuda::Entry& entry = gpu_entries_[chosen];
    if (!entry.function) on_missing(chosen);
    if (g.threads == 0) return;
    if (watching()) announce_writes(block);
    cuda::note_launch(device_id, entry.context, name);
    if (checked()) {
        nb::bytes arguments(reinterpret_cast<const char*>(block), block_size);
        on_checked(chosen, arguments, nb::make_tuple(g.dims[0], g.dims[1], g.dims[2], g.dims[3]), g.threads);
        return;
    }
    cuda::Launch launch{g.threads, {g.dims[0], g.dims[1], g.dims[2], g.dims[3]}, nullptr, {}, {}};
    cuda::Stream stream = cuda::stream_of(device_id);
    launching.run([&] { cuda::launch(entry, block, launch, stream); });
    if (cuda::verify()) without_gil([&] { cuda::finish(entry.context, stream); });
}

void Plan::update_node(cuda::GraphExec exec, cuda::GraphNode node, const std::byte* block, const Grid& g,
                       bool strided) {
    int chosen = gpu_variant(block, strided);
    if (!gpu_entries_[chosen].function) on_missing(chosen);
    if (!node || checked() || g.threads == 0)
        raise(PyExc_RuntimeError,
              "kernel `" + name + "`: this launch cannot change in its graph, as it " +
                  (g.threads == 0 ? "has no threads now"
                   : checked()    ? "is checked for failures"
                                  : "had no threads, or is in a condition or a graph within the graph") +
                  ": capture it again");
    cuda::Launch launch{g.threads, {g.dims[0], g.dims[1], g.dims[2], g.dims[3]}, nullptr, {}, {}};
    cuda::update(exec, node, gpu_entries_[chosen], block, launch);
}

void Plan::run(const std::byte* block, const Grid& g, bool strided) {
    if (g.threads > 0) check_needed(block);
    if (device_id != 0) return run_on_gpu(block, g, strided);
    int chosen = variant(g, strided) | (accumulation_.overlap(block) ? kAtomic : 0);
    wc_kernel kernel = entry(chosen);
    if (watching() && g.threads > 0) announce_writes(block);
    wc_context context;
    execute(kernel, chosen, block, g, context);
    if (context.fault.signal == SIGINT) raise_interrupt();
    if (!context.printed.empty()) print(context);
    if (context.failed()) report(context, g);
    if (context.fault.signal) explain(context, block, g);
}

// Chunks of launches that gather sums, and must always come to the same, are of a fixed size.
int64_t Plan::chunk(const Grid& g, double ns_per_thread, bool small) const {
    if (accumulation_.in_order && accumulation_.parts) return whole_grains((g.threads + kParts - 1) / kParts);
    if (small) return g.threads;
    int64_t chunk = chunk_size(g.threads, ns_per_thread);
    double logged = logged_per_thread_.load(std::memory_order_relaxed);
    return logged * static_cast<double>(chunk) > kLogBytes ? whole_grains(static_cast<int64_t>(kLogBytes / logged))
                                                           : chunk;
}

void Plan::execute(wc_kernel kernel, int variant, const std::byte* block, const Grid& g, wc_context& context) {
    if (g.threads == 0) return;
    double known = ns_per_thread_.load(std::memory_order_relaxed);  // 0 before the first launch
    double work_ns = known * static_cast<double>(g.threads);
    bool small = known > 0 && work_ns < kInlineNs;
    bool tiny = small && work_ns < kTinyNs && ++launches_ % kSampleEvery != 0;
    if (tiny && !accumulation_.any()) {
        Chunk running(this, false);
        if (!enter(kernel, block, g.dims, 0, g.threads, &context)) context.left(this_visitor().fault, 0, g.threads);
        return;
    }
    bool overlap = variant & kAtomic;
    // While this thread holds the GIL no other launch begins; it must be alone only with those under way.
    std::unique_ptr<Claim> claim;
    if (accumulation_.any() && (!small || Claim::any())) claim = claimed(accumulation_.targets(block, overlap));
    Task task{kernel, block, g.dims, &context, g.threads, chunk(g, known, small), g.threads};
    if (block_dim != 0)
        task.grain = block_dim;
    else if (arity > 1 && !(variant & kFlat))
        task.row = g.dims[arity - 1];
    std::optional<Turns> turns;
    if (!overlap && !accumulation_.logged.empty()) {
        task.turns = &turns.emplace(g.dims, g.threads, accumulation_.followers(block), accumulation_.apart(block));
        if (!accumulation_.in_order || !accumulation_.parts)
            task.chunk = std::max(task.chunk, whole_grains(long_chunk(turns->roomy_chunk(), g.threads)));
    }
    if (small) {
        int64_t start = tiny ? 0 : now_ns();
        if (!tiny && start - looked_at > kLookNs) {
            looked_at = start;
            let_interrupts_in();
        }
        task.run_all();
        if (tiny) return;
        task.busy_ns = now_ns() - start;
    } else {
        bool alone = accumulation_.in_order && (accumulation_.alone || overlap);
        let_interrupts_in();
        auto go_on = [](void* task) { return static_cast<Task*>(task)->go_on(); };
        without_gil([&] { parallel_for(g.threads, task.chunk, run_part, &task, go_on, alone); });
    }
    if (task.interrupted) {
        if (interrupts() != task.interrupts_then) drop_interrupt();
        throw nb::python_error();
    }
    if (task.ended) raise_interrupt();
    if (task.stopped) return;
    double measured = std::max(1e-3, static_cast<double>(task.busy_ns.load()) / static_cast<double>(g.threads));
    ns_per_thread_.store(known > 0 ? (known + measured) / 2 : measured, std::memory_order_relaxed);
    if (turns) logged_per_thread_ = turns->logged_per_thread(logged_per_thread_);
}

namespace {

nb::tuple layout(const Plan& plan) {
    nb::list out;
    for (const ParamSpec& p : plan.params) out.append(nb::make_tuple(p.name, p.offset, p.size));
    return nb::tuple(out);
}

// Whether the arrays among the arguments of a launch, if it may write all of them, share no memory and are aligned.
bool promised(nb::handle values) {
    Promises promises;
    for (nb::handle value : values)
        if (PyArray* a = as_array(value.ptr())) promises.add(a->view, a->ndim, dtype(a->dtype).itemsize, true);
    return promises.kept();
}

nb::tuple written(const Plan& plan) {
    nb::list out;
    for (const ParamSpec& p : plan.params) out.append(p.writable);
    return nb::tuple(out);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    Plan& plan = *nb::inst_ptr<Plan>(self);
    Py_VISIT(plan.on_missing.ptr());
    Py_VISIT(plan.on_failure.ptr());
    Py_VISIT(plan.on_fault.ptr());
    Py_VISIT(plan.convert.ptr());
    Py_VISIT(plan.on_checked.ptr());
    Py_VISIT(plan.recipe.ptr());
    for (nb::object& owner : plan.owners) Py_VISIT(owner.ptr());
    for (ParamSpec& p : plan.params) Py_VISIT(p.type.ptr());
    return 0;
}

int clear(PyObject* self) {
    if (!nb::inst_ready(self)) return 0;
    Plan& plan = *nb::inst_ptr<Plan>(self);
    plan.recipe.reset();
    plan.on_missing = plan.on_failure = plan.on_fault = plan.convert = plan.on_checked = nb::none();
    return 0;
}

PyType_Slot slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};

}  // namespace

void bind_plans(nb::module_& m) {
    nb::class_<ParamSpec>(m, "ParamSpec")
        .def(nb::init<std::string, nb::object, bool, const std::vector<std::array<int64_t, 3>>&, bool>(),
             nb::arg("name"), nb::arg("type"), nb::arg("writable") = true,
             nb::arg("arrays") = std::vector<std::array<int64_t, 3>>(), nb::arg("nested") = false)
        .def_ro("name", &ParamSpec::name)
        .def_ro("type", &ParamSpec::type)
        .def_ro("writable", &ParamSpec::writable);

    auto cls = nb::class_<Plan>(m, "Plan", nb::type_slots(slots), nb::is_weak_referenceable());
    cls.def(nb::init<std::string, nb::sequence, int, int, nb::object, nb::object, nb::object, int, int>(),
            nb::arg("kernel_name"), nb::arg("params"), nb::arg("arity"), nb::arg("device_id") = 0,
            nb::arg("on_missing").none() = nb::none(), nb::arg("on_failure").none() = nb::none(),
            nb::arg("convert").none() = nb::none(), nb::arg("flat_below") = 0, nb::arg("block_dim") = 0)
        .def("set_accumulation", &Plan::set_accumulation, nb::arg("facts"))
        .def("set_needed", &Plan::set_needed, nb::arg("arrays"))
        .def("set_entry", &Plan::set_entry, nb::arg("variant"), nb::arg("address"), nb::arg("owner").none())
        .def(
            "set_gpu_entry",
            [](Plan& plan, int variant, uintptr_t context, uintptr_t function, unsigned block_dim, unsigned blocks,
               nb::object owner, nb::object on_checked) {
                cuda::Entry entry{reinterpret_cast<void*>(context), reinterpret_cast<void*>(function), block_dim,
                                  blocks};
                plan.set_gpu_entry(variant, entry, std::move(owner), std::move(on_checked));
            },
            nb::arg("variant"), nb::arg("context"), nb::arg("function"), nb::arg("block_dim"), nb::arg("blocks"),
            nb::arg("owner").none(), nb::arg("on_checked").none() = nb::none())
        .def(
            "launch",
            [](Plan& plan, nb::handle dim, nb::handle values) {
                nb::object items = nb::steal(PySequence_Tuple(values.ptr()));
                if (!items.is_valid()) throw nb::python_error();
                plan.launch(dim.ptr(), &PyTuple_GET_ITEM(items.ptr(), 0),
                            static_cast<size_t>(PyTuple_GET_SIZE(items.ptr())));
            },
            nb::arg("dim"), nb::arg("args"))
        .def(
            "launch_moved",
            [](Plan& plan, nb::handle dim, nb::list values, nb::list moves, const std::vector<bool>& reads) {
                std::vector<Move> found;
                for (nb::handle move : moves) {
                    auto low = nb::cast<uintptr_t>(move[0]);
                    auto to = nb::cast<uintptr_t>(move[2].attr("ptr"));
                    found.push_back({low, nb::cast<uintptr_t>(move[1]), static_cast<int64_t>(to - low)});
                }
                nb::tuple items = nb::tuple(values);
                plan.launch(dim.ptr(), &PyTuple_GET_ITEM(items.ptr(), 0), items.size(), found, reads);
            },
            nb::arg("dim"), nb::arg("args"), nb::arg("moves"), nb::arg("reads"))
        .def_prop_rw(
            "recipe", [](const Plan& plan) { return plan.recipe.is_valid() ? plan.recipe : nb::none(); },
            [](Plan& plan, nb::object recipe) { plan.recipe = std::move(recipe); })
        .def_ro("kernel_name", &Plan::name)
        .def_ro("arity", &Plan::arity)
        .def_ro("device_id", &Plan::device_id)
        .def_ro("block_dim", &Plan::block_dim)
        .def_rw("whole_blocks", &Plan::whole_blocks)
        .def_rw("promised", &Plan::promised)
        .def_ro("block_size", &Plan::block_size)
        .def_prop_ro("layout", &layout)
        .def_prop_ro("variants", &Plan::variants)
        .def_prop_ro("written", &written)
        .def_rw("on_missing", &Plan::on_missing, nb::for_setter(nb::arg("value").none()))
        .def_rw("on_failure", &Plan::on_failure, nb::for_setter(nb::arg("value").none()))
        .def_rw("on_fault", &Plan::on_fault, nb::for_setter(nb::arg("value").none()))
        .def_rw("convert", &Plan::convert, nb::for_setter(nb::arg("value").none()));
    plan_type = reinterpret_cast<PyTypeObject*>(cls.ptr());
    m.def("promised", &promised, nb::arg("args"));
}

}  // namespace wc
