#include "warp_core/accumulate.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>

#include "launches/log_records.h"
#include "warp_core/pool.h"

namespace wc {
namespace {

constexpr size_t kNear = 4096;  // bytes that a log whose turn it is collects before they are applied
constexpr int kMostKept = 512;  // blocks in logs that wait: 32 MiB
constexpr int64_t kRoom = 16;   // chunks of arrays that follow the threads are so many times as long as their ends

constexpr auto kWhile = std::chrono::milliseconds(50);

constexpr int64_t kAwaitNs = 10'000;  // that a chunk waits for its turn, if its own thread had better apply its log
constexpr int kSample = 64;           // records that say whether a log goes from element to neighbouring element
constexpr size_t kRecent = 8;
constexpr uintptr_t kNeighbour = 4096;  // bytes

thread_local Log current;  // keeps a block from one chunk to the next

// -- applying a log --------------------------------------------------------------------------------------------------

// In the form of a kernel, as it goes to addresses that kernels computed.
void apply_block(const void* given, const int64_t*, int64_t, int64_t, wc_context*) {
    auto& block = *static_cast<const LogBlock*>(given);
    for (const std::byte* at = block.bytes; at < block.end;) {
        Record record(at);
        record.apply();
        at += record.header.size;
    }
}

// Whether most records add near to what one of the records just before them adds to. Such a log is applied from its own
// core's cache, and elements pass from one core to the other once. Elements all over an array had better stay with the
// core that applies one log after the other.
bool adds_to_neighbours(const LogBlock& block) {
    std::array<uintptr_t, kRecent> recent{};
    size_t seen = 0, near = 0;
    for (const std::byte* at = block.bytes; at < block.end && seen < kSample; ++seen) {
        Record record(at);
        uintptr_t to = record.first();
        near += std::any_of(recent.begin(), recent.end(),
                            [&](uintptr_t other) { return to - other + kNeighbour <= 2 * kNeighbour; });
        recent[seen % kRecent] = to;
        at += record.header.size;
    }
    return 2 * near > seen;
}

}  // namespace

// -- followers -------------------------------------------------------------------------------------------------------

int64_t StencilTarget::offset(int64_t thread, const int64_t* dims) const {
    int64_t sum = 0;
    for (int k = 3; k >= 0; --k) {
        sum += thread % dims[k] * steps[k];
        thread /= dims[k];
    }
    return sum;
}

bool StencilTarget::goes_on(const int64_t* dims) const {
    int64_t reach = 0;
    for (int k = 3; k >= 0; --k) {
        if (dims[k] > 1 && steps[k] < reach) return false;
        reach += steps[k] * (dims[k] - 1);
    }
    return true;
}

int64_t StencilTarget::ends(const int64_t* dims, int64_t threads) const {
    int64_t reach = 1;
    for (int k = 0; k < 4; ++k) reach += steps[k] * (dims[k] - 1);
    double bytes_per_thread = static_cast<double>(reach) / static_cast<double>(threads);
    return static_cast<int64_t>(static_cast<double>(last - first + size) / bytes_per_thread) + 1;
}

// -- turns -----------------------------------------------------------------------------------------------------------

std::unique_ptr<LogBlock> CommitOrder::block() {
    std::unique_lock lock(mutex_);
    if (idle_.empty()) {
        lock.unlock();
        return std::unique_ptr<LogBlock>(new LogBlock);
    }
    auto found = std::move(idle_.back());
    idle_.pop_back();
    return found;
}

// Let the log write its last block from the beginning.
void CommitOrder::open(Log& log) {
    std::byte* begin = log.blocks.back()->bytes;
    bool turn = is_turn(log);
    log.at = begin;
    log.limit = begin + (turn ? kNear : kLogBlock - kLogRecord);
    log.turn = turn && apart_ && log.blocks.size() == 1;
}

// What threads before `first` and those from `end` on do not reach.
wc_span CommitOrder::own(const StencilTarget& f, int64_t first, int64_t end) const {
    auto at = [&](int64_t offset) { return f.base + static_cast<uintptr_t>(offset); };
    uintptr_t low = first == 0 ? 0 : at(f.offset(first - 1, dims_) + f.last + f.size);
    uintptr_t high = end == threads_ ? UINTPTR_MAX : at(f.offset(end, dims_) + f.first);
    bool whole = first == 0 && end == threads_;
    if (low >= high || !f.alone || !(whole || f.goes_on(dims_))) low = high = 0;
    return {reinterpret_cast<void*>(low), reinterpret_cast<void*>(high)};
}

int64_t CommitOrder::roomy_chunk() const {
    int64_t most = 0;
    for (const StencilTarget& f : followers_)
        if (f.alone && f.goes_on(dims_)) most = std::max(most, f.ends(dims_, threads_));
    return kRoom * most;
}

void CommitOrder::begin(int64_t chunk, int64_t first, int64_t end) {
    Log& log = current;
    log.turns = this;
    log.chunk = chunk;
    log.threads = end - first;
    log.whole = true;
    log.spans.clear();
    for (const StencilTarget& f : followers_) log.spans.push_back(own(f, first, end));
    log.own = log.spans.data();
    if (log.blocks.empty()) log.blocks.push_back(block());
    open(log);
}

void CommitOrder::fail() {
    std::lock_guard lock(mutex_);
    failed_ = true;
    moved_.notify_all();
}

void CommitOrder::fail(int64_t chunk, const Fault& why) {
    {
        std::lock_guard lock(mutex_);
        if (failed_chunk_ < 0) fault_ = why;
        if (failed_chunk_ < 0) failed_chunk_ = chunk;
    }
    fail();
}

void CommitOrder::apply(int64_t chunk, LogBlocks& blocks) {
    for (const auto& block : blocks) {
        if (failed_) return;
        if (!enter(apply_block, block.get(), nullptr, 0, 0, nullptr)) return fail(chunk, this_visitor().fault);
    }
}

void CommitOrder::apply(Log& log) {
    log.whole = false;
    apply(log.chunk, log.blocks);
    kept_.fetch_sub(static_cast<int>(log.blocks.size()) - 1, std::memory_order_relaxed);
    log.blocks.resize(1);
}

void CommitOrder::full(Log& log) {
    log.blocks.back()->end = static_cast<std::byte*>(log.at);
    if (!is_turn(log) && !failed_ && kept_.load(std::memory_order_relaxed) < kMostKept) {
        kept_.fetch_add(1, std::memory_order_relaxed);
        log.blocks.push_back(block());
    } else {
        if (!is_turn(log)) {
            std::unique_lock lock(mutex_);
            moved_.wait(lock, [&] { return is_turn(log) || failed_; });
        }
        apply(log);
    }
    open(log);
}

// Note how much a chunk has logged that has logged all it adds.
void CommitOrder::count(const Log& log) {
    int64_t sum = 0;
    for (const auto& block : log.blocks) sum += block->end - block->bytes;
    bytes_.fetch_add(sum, std::memory_order_relaxed);
    counted_.fetch_add(log.threads, std::memory_order_relaxed);
}

double CommitOrder::logged_per_thread(double otherwise) const {
    int64_t counted = counted_.load(std::memory_order_relaxed);
    return counted == 0 ? otherwise : static_cast<double>(bytes_.load()) / static_cast<double>(counted);
}

// Wait a little for the turn of a chunk that has logged all it adds; whether it came.
bool CommitOrder::await_turn(const Log& log) const {
    if (is_turn(log)) return true;
    if (!adds_to_neighbours(*log.blocks.front())) return false;
    for (int64_t end = now_ns() + kAwaitNs; !is_turn(log) && !failed_ && now_ns() < end;) relax();
    return is_turn(log);
}

void CommitOrder::end() {
    Log& log = current;
    log.blocks.back()->end = static_cast<std::byte*>(log.at);
    bool turn = await_turn(log);
    if (log.whole && !log.turn) count(log);
    if (turn) apply(log);
    std::unique_lock lock(mutex_);
    if (turn) {
        next_.fetch_add(1, std::memory_order_release);
    } else {
        kept_.fetch_add(1, std::memory_order_relaxed);
        waiting_.emplace(log.chunk, std::move(log.blocks));
        log.blocks.clear();
    }
    pass(lock);
    // Where logs come faster than they can be applied.
    moved_.wait(lock,
                [&] { return kept_.load(std::memory_order_relaxed) < kMostKept || next_ > log.chunk || failed_; });
}

// Apply the logs that wait for nothing but this, unless another thread is about it.
void CommitOrder::pass(std::unique_lock<std::mutex>& lock) {
    if (passing_) return;
    passing_ = true;
    for (auto it = waiting_.begin(); it != waiting_.end() && it->first == next_; it = waiting_.begin()) {
        int64_t chunk = it->first;
        LogBlocks blocks = std::move(it->second);
        waiting_.erase(it);
        lock.unlock();
        apply(chunk, blocks);
        kept_.fetch_sub(static_cast<int>(blocks.size()), std::memory_order_relaxed);
        lock.lock();
        std::move(blocks.begin(), blocks.end(), std::back_inserter(idle_));
        next_.fetch_add(1, std::memory_order_release);
        moved_.notify_all();
    }
    passing_ = false;
    moved_.notify_all();
}

// -- claims ----------------------------------------------------------------------------------------------------------

namespace {

bool any_meets(const std::vector<ByteRange>& a, const std::vector<ByteRange>& b) {
    return std::any_of(a.begin(), a.end(), [&](const ByteRange& x) {
        return std::any_of(b.begin(), b.end(), [&](const ByteRange& y) { return x.meets(y); });
    });
}

// A child of fork has none of the launches that were under way, and the mutex may be held by a thread that is gone.
struct RangeLocks {
    std::mutex mutex;
    std::condition_variable freed;
    std::vector<const RangeLock*> held;
    std::atomic<size_t> count{0};
};

std::atomic<RangeLocks*> all_claims{nullptr};

RangeLocks& claims() {
    static const bool ready = [] {
        all_claims = new RangeLocks;
        pthread_atfork(nullptr, nullptr, [] { all_claims = new RangeLocks; });
        return true;
    }();
    (void)ready;
    return *all_claims.load(std::memory_order_acquire);
}

}  // namespace

bool WriteSet::meets(const WriteSet& other) const {
    return any_meets(alone, other.alone) || any_meets(alone, other.atomic) || any_meets(atomic, other.alone);
}

// A claim that these targets meet, or null. The mutex is held.
const RangeLock* RangeLock::other(const WriteSet& targets) {
    const auto& held = claims().held;
    auto found = std::find_if(held.begin(), held.end(), [&](const RangeLock* c) { return c->targets_.meets(targets); });
    return found == held.end() ? nullptr : *found;
}

std::unique_ptr<RangeLock> RangeLock::take(const WriteSet& targets) {
    RangeLocks& c = claims();
    std::lock_guard lock(c.mutex);
    if (const RangeLock* before = other(targets)) {
        if (before->thread_ == std::this_thread::get_id())
            throw std::runtime_error(
                "a signal handler launched a kernel that adds to the same array as the interrupted launch;  "
                "launch it after the interrupted launch has ended");
        return nullptr;
    }
    std::unique_ptr<RangeLock> mine(new RangeLock(targets));
    c.held.push_back(mine.get());
    c.count = c.held.size();
    return mine;
}

void RangeLock::wait(const WriteSet& targets) {
    RangeLocks& c = claims();
    std::unique_lock lock(c.mutex);
    c.freed.wait_for(lock, kWhile, [&] { return !other(targets); });
}

RangeLock::~RangeLock() {
    RangeLocks& c = claims();
    {
        std::lock_guard lock(c.mutex);
        std::erase(c.held, this);
        c.count = c.held.size();
    }
    c.freed.notify_all();
}

bool RangeLock::any() { return claims().count.load(std::memory_order_acquire) > 0; }

}  // namespace wc

wc_log* wc_log_of_thread() { return &wc::current; }

void wc_log_full(wc_log* log) {
    wc::SuspendFaultHandling aside;
    auto& mine = *static_cast<wc::Log*>(log);
    mine.turns->full(mine);
}

void wc_log_ends(wc_log* log, void* end, int64_t follower) {
    wc::Record record(static_cast<std::byte*>(log->at));
    uint32_t all = record.header.mask, own = record.inside(log->own[follower]);
    record.header.mask = own;
    if (own) record.apply();
    if (own == all) return;
    record.header.mask = all & ~own;
    record.header.write(log->at);
    log->at = end;
    if (log->at > log->limit) wc_log_full(log);
}
