#include "warp_core/accumulate.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "warp_core/short_floats.h"

namespace wc {
namespace {

constexpr size_t kNear = 16384;  // bytes that a log whose turn it is collects before they are applied
constexpr int kMostKept = 512;   // blocks in logs that wait: 32 MiB

thread_local Log current;  // keeps a block from one chunk to the next

// -- applying a log --------------------------------------------------------------------------------------------------

struct Header {
    int type, lanes, count;
    uint32_t mask;

    explicit Header(uint64_t bits)
        : type(static_cast<int>(bits & 0xff)),
          lanes(static_cast<int>(bits >> 8 & 0xff)),
          count(static_cast<int>(bits >> 16 & 0xffff)),
          mask(static_cast<uint32_t>(bits >> 32)) {}

    bool full() const { return mask == (lanes == 32 ? ~0u : (1u << lanes) - 1); }
};

struct Half {
    uint16_t bits;
    Half& operator+=(Half x) {
        bits = half_bits(half_number(bits) + half_number(x.bits));
        return *this;
    }
};

struct Bfloat {
    uint16_t bits;
    Bfloat& operator+=(Bfloat x) {
        bits = bfloat_bits(bfloat_number(bits) + bfloat_number(x.bits));
        return *this;
    }
};

template <int N, class T>
void add_all(T* const* to, const T* values, int lanes) {
    for (int l = 0; l < lanes; ++l)
        for (int i = 0; i < N; ++i) to[l][i] += values[i * lanes + l];
}

template <class T>
void add_many(T* __restrict to, const T* values, int count) {
    for (int i = 0; i < count; ++i) to[i] += values[i];
}

template <class T>
void add(const Header& h, const std::byte* addresses, const std::byte* given) {
    auto to = reinterpret_cast<T* const*>(addresses);
    auto values = reinterpret_cast<const T*>(given);
    if (h.full() && h.count <= 4) {
        switch (h.count) {
            case 1:
                return add_all<1>(to, values, h.lanes);
            case 2:
                return add_all<2>(to, values, h.lanes);
            case 3:
                return add_all<3>(to, values, h.lanes);
            default:
                return add_all<4>(to, values, h.lanes);
        }
    }
    if (h.lanes == 1) return add_many(to[0], values, h.count);
    for (uint32_t rest = h.mask; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        for (int i = 0; i < h.count; ++i) to[l][i] += values[i * h.lanes + l];
    }
}

void apply_block(const LogBlock& block) {
    constexpr int kSize[] = {4, 8, 2, 2};
    for (const std::byte* at = block.bytes; at < block.end;) {
        uint64_t bits;
        std::memcpy(&bits, at, sizeof bits);
        Header h(bits);
        at += std::min(8 * h.lanes, 64);
        const std::byte* values = at + 8 * h.lanes;
        switch (h.type) {
            case 0:
                add<float>(h, at, values);
                break;
            case 1:
                add<double>(h, at, values);
                break;
            case 2:
                add<Half>(h, at, values);
                break;
            default:
                add<Bfloat>(h, at, values);
        }
        at = values + (static_cast<size_t>(h.lanes) * static_cast<size_t>(h.count * kSize[h.type]) + 7) / 8 * 8;
    }
}

}  // namespace

// -- turns -----------------------------------------------------------------------------------------------------------

std::unique_ptr<LogBlock> Turns::block() {
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
void Turns::open(Log& log) {
    std::byte* begin = log.blocks.back()->bytes;
    log.at = begin;
    log.limit = begin + (is_turn(log) ? kNear : kLogBlock - kLogRecord);
}

void Turns::begin(int64_t chunk) {
    Log& log = current;
    log.turns = this;
    log.chunk = chunk;
    if (log.blocks.empty()) log.blocks.push_back(block());
    open(log);
}

void Turns::apply(LogBlocks& blocks) {
    size_t sum = 0;
    for (const auto& block : blocks) {
        apply_block(*block);
        sum += static_cast<size_t>(block->end - block->bytes);
    }
    bytes_.fetch_add(sum, std::memory_order_relaxed);
}

void Turns::apply(Log& log) {
    apply(log.blocks);
    kept_.fetch_sub(static_cast<int>(log.blocks.size()) - 1, std::memory_order_relaxed);
    log.blocks.resize(1);
}

void Turns::full(Log& log) {
    log.blocks.back()->end = static_cast<std::byte*>(log.at);
    if (!is_turn(log) && kept_.load(std::memory_order_relaxed) < kMostKept) {
        kept_.fetch_add(1, std::memory_order_relaxed);
        log.blocks.push_back(block());
    } else {
        if (!is_turn(log)) {
            std::unique_lock lock(mutex_);
            moved_.wait(lock, [&] { return is_turn(log); });
        }
        apply(log);
    }
    open(log);
}

void Turns::end() {
    Log& log = current;
    log.blocks.back()->end = static_cast<std::byte*>(log.at);
    bool turn = is_turn(log);
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
    moved_.wait(lock, [&] { return kept_.load(std::memory_order_relaxed) < kMostKept || next_ > log.chunk; });
}

// Apply the logs that wait for nothing but this, unless another thread is about it.
void Turns::pass(std::unique_lock<std::mutex>& lock) {
    if (passing_) return;
    passing_ = true;
    for (auto it = waiting_.begin(); it != waiting_.end() && it->first == next_; it = waiting_.begin()) {
        LogBlocks blocks = std::move(it->second);
        waiting_.erase(it);
        lock.unlock();
        apply(blocks);
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

bool any_meets(const std::vector<Bytes>& a, const std::vector<Bytes>& b) {
    return std::any_of(a.begin(), a.end(), [&](const Bytes& x) {
        return std::any_of(b.begin(), b.end(), [&](const Bytes& y) { return x.meets(y); });
    });
}

// A child of fork has none of the launches that were under way, and the mutex may be held by a thread that is gone.
struct Claims {
    std::mutex mutex;
    std::condition_variable freed;
    std::vector<const Claim*> held;
    std::atomic<size_t> count{0};
};

std::atomic<Claims*> all_claims{nullptr};

Claims& claims() {
    static const bool ready = [] {
        all_claims = new Claims;
        pthread_atfork(nullptr, nullptr, [] { all_claims = new Claims; });
        return true;
    }();
    (void)ready;
    return *all_claims.load(std::memory_order_acquire);
}

}  // namespace

bool Targets::meets(const Targets& other) const {
    return any_meets(alone, other.alone) || any_meets(alone, other.atomic) || any_meets(atomic, other.alone);
}

// A claim that these targets meet, or null. The mutex is held.
const Claim* Claim::other(const Targets& targets) {
    const auto& held = claims().held;
    auto found = std::find_if(held.begin(), held.end(), [&](const Claim* c) { return c->targets_.meets(targets); });
    return found == held.end() ? nullptr : *found;
}

std::unique_ptr<Claim> Claim::take(const Targets& targets) {
    Claims& c = claims();
    std::lock_guard lock(c.mutex);
    if (const Claim* before = other(targets)) {
        if (before->thread_ == std::this_thread::get_id())
            throw std::runtime_error(
                "a signal handler launched a kernel that adds to an array to which the interrupted launch adds, too; "
                "launch it when that one has ended");
        return nullptr;
    }
    std::unique_ptr<Claim> mine(new Claim(targets));
    c.held.push_back(mine.get());
    c.count = c.held.size();
    return mine;
}

void Claim::wait(const Targets& targets) {
    Claims& c = claims();
    std::unique_lock lock(c.mutex);
    c.freed.wait(lock, [&] { return !other(targets); });
}

Claim::~Claim() {
    Claims& c = claims();
    {
        std::lock_guard lock(c.mutex);
        std::erase(c.held, this);
        c.count = c.held.size();
    }
    c.freed.notify_all();
}

bool Claim::any() { return claims().count.load(std::memory_order_acquire) > 0; }

}  // namespace wc

wc_log* wc_log_of_thread() { return &wc::current; }

void wc_log_full(wc_log* log) {
    auto& mine = *static_cast<wc::Log*>(log);
    mine.turns->full(mine);
}
