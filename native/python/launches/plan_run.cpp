// Launches on the CPU: how threads are dealt out to cores, in chunks, and what ends a launch early.
#include <algorithm>
#include <optional>

#include "gil.h"
#include "launches/plan.h"
#include "launches/py_interrupts.h"
#include "launches/py_range_lock.h"
#include "launches/timeline.h"
#include "tape/py_spans.h"
#include "warp_core/interrupts.h"
#include "warp_core/pool.h"

namespace wc {
namespace {

constexpr double kInlineNs = 20'000;  // less work than this stays on the calling thread, with the GIL held
constexpr double kChunkNs = 10'000;   // no chunk should be shorter
constexpr double kLongChunkNs = 2e6;  // nor longer: Ctrl-C is seen between chunks
constexpr double kFirstChunk = 8192;  // threads, while the time per thread is not known
constexpr int64_t kGrain = 64;        // chunks are multiples of this many threads, or of a block
constexpr int64_t kChunksPerThread = 8;
constexpr double kTinyNs = 500;        // below this, reading the clock costs as much as the work,
constexpr uint32_t kSampleEvery = 16;  // so only one launch of these is timed
constexpr int64_t kLookNs = 50'000'000;
constexpr double kLogBytes = 262144;  // of a chunk: logs that wait for their turn stay in the cache
constexpr int64_t kParts = 128;       // of launches whose results must not depend on the number of cores

int64_t looked_at = 0;  // when a small launch was the last to see to interrupts

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
    int64_t grain = kGrain;           // chunks are multiples of this many threads
    CommitOrder* turns = nullptr;     // where the kernel writes logs
    Privatization* copies = nullptr;  // where cores add to arrays of integers in copies
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
        bool whole = copies ? enter_with_copies(first, last) : enter(kernel, block, dims, first, last, context);
        if (!whole) stop(this_visitor().fault, first, last);
        if (turns) turns->end();
        if (turns && turns->failed_chunk() >= 0) stop_at(turns->failed_chunk(), turns->fault());
    }

    bool enter_with_copies(int64_t first, int64_t last) {
        Privatization::Copies* own = copies->take();
        wc_log* log = wc_log_of_thread();
        log->deltas = Privatization::deltas(own);
        bool whole = enter(kernel, block, dims, first, last, context);
        log->deltas = kInPlace;
        Fault& why = this_visitor().fault;
        if (!whole && why.located) why.address = Privatization::original(own, why.address);
        copies->give_back(own);
        return whole;
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

int64_t whole_grains(int64_t threads) { return std::max<int64_t>(1, (threads + kGrain - 1) / kGrain) * kGrain; }

// At least one, also where a single thread logs more than a chunk is meant to.
int64_t chunk_size(int64_t threads, double ns_per_thread) {
    bool known = ns_per_thread > 0;
    double shortest = known ? kChunkNs / ns_per_thread : 1;
    double longest = known ? kLongChunkNs / ns_per_thread : kFirstChunk;
    double even = static_cast<double>(threads) / static_cast<double>(num_threads() * kChunksPerThread);
    auto chunk =
        static_cast<int64_t>(std::min(std::max(shortest, std::min(even, longest)), static_cast<double>(threads)));
    return (chunk + kGrain) / kGrain * kGrain;
}

// Where a chunk's ends take longer than what lies between: two chunks for each core, and longer ones while there are
// eight.
int64_t long_chunk(int64_t roomy, int64_t threads) {
    int64_t share = threads / num_threads();
    return std::max(std::min(roomy, share / 2), std::min(8 * roomy, share / 8));
}

void print(const wc_context& context) {
    PyObject* out = PySys_GetObject("stdout");
    if (!out || out == Py_None) return;
    std::string text = context.printed;
    if (context.dropped) text += "... " + std::to_string(context.dropped) + " more calls of printf not shown\n";
    nb::object str = nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
    if (!str.is_valid() || PyFile_WriteObject(str.ptr(), out, Py_PRINT_RAW) != 0) throw nb::python_error();
}

}  // namespace

void Plan::run(const std::byte* block, const Grid& g, bool strided) {
    if (g.threads > 0) {
        check_needed(block);
        check_counted(block);
    }
    if (device_id != 0) return run_on_gpu(block, g, strided);
    int chosen = variant(g, strided) | (accumulation_.overlap(block) ? kAtomic : 0);
    wc_kernel kernel = entry(chosen);
    if (watching() && g.threads > 0) announce_writes(block);
    wc_context context;
    {
        Timed timed(Activity::kKernel, label, g.threads);
        execute(kernel, chosen, block, g, context);
    }
    if (context.fault.signal == SIGINT) raise_interrupt();
    if (!context.printed.empty()) print(context);
    if (context.failed()) report(context, g);
    if (context.fault.signal) explain(context, block, g);
}

// Chunks of launches that gather sums, and must always come to the same, are of a fixed size.
int64_t Plan::chunk(const Grid& g, double ns_per_thread, bool small) const {
    if (accumulation_.in_order && accumulation_.has_reductions) return whole_grains((g.threads + kParts - 1) / kParts);
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
    // While this thread holds the GIL no other launch begins; it must be alone only with those under way.
    bool reserves = accumulation_.any() && (!small || RangeLock::any());
    if (tiny && !reserves && accumulation_.runs_whole()) {
        Chunk running(this, false);
        if (!enter(kernel, block, g.dims, 0, g.threads, &context)) context.left(this_visitor().fault, 0, g.threads);
        return;
    }
    bool overlap = variant & kAtomic;
    std::unique_ptr<RangeLock> claim;
    if (reserves) claim = reserve(accumulation_.targets(block, overlap));
    Task task{kernel, block, g.dims, &context, g.threads, chunk(g, known, small), g.threads};
    if (block_dim != 0)
        task.grain = block_dim;
    else if (arity > 1 && !(variant & kFlat))
        task.row = g.dims[arity - 1];
    std::optional<CommitOrder> turns;
    if (!overlap && !accumulation_.logged.empty()) {
        task.turns = &turns.emplace(g.dims, g.threads, accumulation_.followers(block), accumulation_.apart(block));
        if (!accumulation_.in_order || !accumulation_.has_reductions)
            task.chunk = std::max(task.chunk, whole_grains(long_chunk(turns->roomy_chunk(), g.threads)));
    }
    std::optional<Privatization> copies;
    if (!overlap && !small && !accumulation_.privatized.empty() && num_threads() > 1)
        task.copies = &copies.emplace(accumulation_.privatized_targets(block), g.threads);
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
        bool alone = serial || (accumulation_.in_order && (accumulation_.order_dependent || overlap));
        let_interrupts_in();
        auto go_on = [](void* task) { return static_cast<Task*>(task)->go_on(); };
        without_gil([&] {
            parallel_for(g.threads, task.chunk, run_part, &task, go_on, alone);
            if (copies) copies->merge();
        });
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

}  // namespace wc
