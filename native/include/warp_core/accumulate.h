// Additions to arrays whose order is that of the threads, however many cores run them. Start with `CommitOrder`.
//
// A kernel does not add where it stands: each chunk of a launch writes what it adds into a log, and the logs are
// applied one after the other, in the order of the chunks. So no addition needs to be atomic, and sums do not depend on
// timing. A chunk whose turn has come applies its log whenever a small piece of it is full, while it lies in the cache.
// From then on, what all lanes add to one element does not go through the log (codegen/accumulate/accumulation_log.py),
// unless some of the arrays share memory. Applying a log is where bad addresses are found. Once that has failed, or the
// code of a chunk, no chunk waits for its turn any more, and logs are dropped.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "warp_core/abi.h"
#include "warp_core/faults.h"

namespace wc {

constexpr size_t kLogBlock = 65536;
constexpr size_t kLogRecord = 8192;  // no record is longer

struct LogBlock {
    alignas(64) std::byte bytes[kLogBlock];
    std::byte* end = bytes;
};

using LogBlocks = std::vector<std::unique_ptr<LogBlock>>;

class CommitOrder;

// An array whose elements follow the threads of a launch. A thread adds to elements of `size` bytes. They are `first`
// to `last` bytes from an address that is linear in its indices, with `steps` for each index. `alone`: nothing else
// that the launch adds to is there, and elements do not overlap in part.
struct StencilTarget {
    uintptr_t base = 0;
    int64_t steps[4] = {}, first = 0, last = 0, size = 0;
    bool alone = true;

    // The offset that thread `thread` of the flattened grid is at.
    int64_t offset(int64_t thread, const int64_t* dims) const;
    // Whether it never goes back from one thread to the next.
    bool goes_on(const int64_t* dims) const;
    // About how many threads of a range meet others in what they add to.
    int64_t ends(const int64_t* dims, int64_t threads) const;
};

// The distances to the copies of a core that adds to arrays of integers in place (privatize.h).
constexpr size_t kMostPrivatized = 8;  // arrays of a kernel: MOST_PRIVATIZED of codegen/accumulate/eligibility.py
inline constexpr int64_t kInPlace[kMostPrivatized] = {};

// The log of one chunk.
struct Log : wc_log {
    Log() : wc_log{nullptr, nullptr, nullptr, 0, kInPlace} {}

    CommitOrder* turns = nullptr;
    int64_t chunk = 0, threads = 0;
    bool whole = true;  // nothing of it has been applied
    LogBlocks blocks;   // the last one is being written
    std::vector<wc_span> spans;
};

// The chunks of a launch, numbered from 0, each run between `begin` and `end` by some thread. `apart`: the arrays that
// the launch logs for share no memory, so that additions to one of them may pass those to others by.
class CommitOrder {
  public:
    CommitOrder(const int64_t* dims, int64_t threads, std::vector<StencilTarget> followers, bool apart)
        : dims_(dims), threads_(threads), followers_(std::move(followers)), apart_(apart) {}

    // A chunk that runs the threads [first, end).
    void begin(int64_t chunk, int64_t first, int64_t end);
    void end();
    // A size of chunks of which only a small part meets others.
    int64_t roomy_chunk() const;
    // That the code of a chunk had to be left.
    void fail();
    // A chunk whose log could not be applied, and why; -1 if all were applied.
    int64_t failed_chunk() const { return failed_chunk_; }
    const Fault& fault() const { return fault_; }
    // The bytes that a thread logs in chunks whose turn has not come; `otherwise` where there were none.
    double logged_per_thread(double otherwise) const;

  private:
    friend void ::wc_log_full(wc_log*);

    wc_span own(const StencilTarget& follower, int64_t first, int64_t end) const;
    bool is_turn(const Log& log) const { return next_.load(std::memory_order_acquire) == log.chunk; }
    void fail(int64_t chunk, const Fault& why);
    std::unique_ptr<LogBlock> block();
    void open(Log& log);
    void full(Log& log);
    void count(const Log& log);
    void apply(int64_t chunk, LogBlocks& blocks);
    void apply(Log& log);
    void pass(std::unique_lock<std::mutex>& lock);
    bool await_turn(const Log& log) const;

    const int64_t* dims_;
    int64_t threads_;
    std::vector<StencilTarget> followers_;
    bool apart_;
    std::mutex mutex_;
    std::condition_variable moved_;
    std::atomic<int64_t> next_{0};                // the chunk whose turn it is
    std::atomic<int64_t> bytes_{0}, counted_{0};  // of logs, and threads, of chunks before their turn
    std::atomic<int> kept_{0};                    // blocks in logs that wait
    std::map<int64_t, LogBlocks> waiting_;        // of chunks that ended before their turn
    LogBlocks idle_;
    bool passing_ = false;  // whether a thread applies them
    std::atomic<bool> failed_{false};
    std::atomic<int64_t> failed_chunk_{-1};
    Fault fault_;
};

// Bytes [low, high) of memory.
struct ByteRange {
    uintptr_t low, high;
    bool meets(const ByteRange& other) const { return low < other.high && other.low < high; }
};

// What a launch adds to: `alone` without atomic instructions, so that no other launch may add there meanwhile.
struct WriteSet {
    std::vector<ByteRange> alone, atomic;
    bool meets(const WriteSet& other) const;
};

// While it lives, launches whose targets meet these wait. Small launches claim nothing and run under the GIL: so claims
// are taken under it, too, and a launch that has to wait leaves it and tries again.
class RangeLock {
  public:
    // Null where the launch has to wait. Throws std::runtime_error where waiting could not end: for a launch of this
    // very thread, from a signal handler.
    static std::unique_ptr<RangeLock> take(const WriteSet& targets);
    // Returns when no launch holds what the targets meet, or after a while, so that the caller can look for Ctrl-C.
    static void wait(const WriteSet& targets);
    static bool any();  // whether any launch holds a claim
    ~RangeLock();
    RangeLock(const RangeLock&) = delete;
    RangeLock& operator=(const RangeLock&) = delete;

  private:
    explicit RangeLock(const WriteSet& targets) : targets_(targets), thread_(std::this_thread::get_id()) {}
    static const RangeLock* other(const WriteSet& targets);

    WriteSet targets_;
    std::thread::id thread_;
};

}  // namespace wc
