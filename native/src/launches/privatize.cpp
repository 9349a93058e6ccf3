#include "warp_core/privatize.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "warp_core/pool.h"

namespace wc {

namespace {

constexpr int64_t kShared = INT64_MIN;      // _SHARED of codegen/accumulate/privatization.py
constexpr uintptr_t kBytesPerThread = 4;    // of a copy: more take longer to clear and to add than they save
constexpr int64_t kMergedAtOnce = 1 << 16;  // integers

const int64_t kAllShared[kMostPrivatized] = {kShared, kShared, kShared, kShared, kShared, kShared, kShared, kShared};

uintptr_t page_size() {
    static const auto size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    return size;
}

// Zeros between two pages that cannot be touched: indices outside of a copy are found as those outside of an array are.
class ZeroPages {
  public:
    explicit ZeroPages(uintptr_t bytes) : size_((bytes / page_size() + 4) * page_size()) {
        void* found = mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (found == MAP_FAILED) return;
        at_ = reinterpret_cast<uintptr_t>(found);
        if (mprotect(reinterpret_cast<void*>(first()), size_ - 2 * page_size(), PROT_READ | PROT_WRITE) != 0) unmap();
    }
    ZeroPages(ZeroPages&& other) noexcept : size_(other.size_), at_(other.at_) { other.at_ = 0; }
    ~ZeroPages() { unmap(); }

    bool there() const { return at_ != 0; }
    uintptr_t first() const { return at_ + page_size(); }
    bool holds(uintptr_t address) const { return at_ && address >= at_ && address < at_ + size_; }

  private:
    void unmap() {
        if (at_) munmap(reinterpret_cast<void*>(at_), size_);
        at_ = 0;
    }

    uintptr_t size_, at_ = 0;
};

struct Merge {
    void* to;
    const void* from;
    bool dense;
};

template <class T>
void add(void* data, int64_t begin, int64_t end) {
    auto& merge = *static_cast<const Merge*>(data);
    T* to = static_cast<T*>(merge.to);
    const T* from = static_cast<const T*>(merge.from);
    if (merge.dense)
        for (int64_t i = begin; i < end; ++i) to[i] += from[i];
    else  // what lies between the integers may change meanwhile
        for (int64_t i = begin; i < end; ++i)
            if (from[i] != 0) to[i] += from[i];
}

}  // namespace

struct Privatization::Copies {
    const int64_t* deltas = kInPlace;
    int64_t own[kMostPrivatized] = {};
    std::vector<ZeroPages> pages;
};

Privatization::Privatization(std::vector<PrivatizedTarget> targets, int64_t threads) : targets_(std::move(targets)) {
    uintptr_t bytes = 0;
    for (const PrivatizedTarget& t : targets_) bytes += t.bytes.high - t.bytes.low;
    shared_ = bytes / kBytesPerThread > static_cast<uintptr_t>(threads) ||
              !std::all_of(targets_.begin(), targets_.end(), [](const PrivatizedTarget& t) { return t.whole; });
    all_.push_back(std::make_unique<Copies>());
    if (shared_) all_.back()->deltas = kAllShared;
    idle_.push_back(all_.back().get());
}

Privatization::~Privatization() = default;

const int64_t* Privatization::deltas(const Copies* copies) { return copies->deltas; }

std::unique_ptr<Privatization::Copies> Privatization::make() const {
    auto made = std::make_unique<Copies>();
    for (size_t i = 0; i < targets_.size(); ++i) {
        const ByteRange& array = targets_[i].bytes;
        made->pages.emplace_back(array.high - array.low);
        if (!made->pages.back().there()) return nullptr;
        uintptr_t copy = made->pages.back().first() + array.low % page_size();
        made->own[i] = static_cast<int64_t>(copy - array.low);
    }
    made->deltas = made->own;
    return made;
}

Privatization::Copies* Privatization::take() {
    std::unique_lock lock(mutex_);
    if (shared_) return all_.front().get();
    if (idle_.empty()) {
        if (auto made = make()) {
            all_.push_back(std::move(made));
            return all_.back().get();
        }
        given_back_.wait(lock, [&] { return !idle_.empty(); });
    }
    Copies* found = idle_.back();
    idle_.pop_back();
    return found;
}

void Privatization::give_back(Copies* copies) {
    if (shared_) return;
    {
        std::lock_guard lock(mutex_);
        idle_.push_back(copies);
    }
    given_back_.notify_one();
}

uintptr_t Privatization::original(const Copies* copies, uintptr_t address) {
    for (size_t i = 0; i < copies->pages.size(); ++i)
        if (copies->pages[i].holds(address)) return address - static_cast<uintptr_t>(copies->own[i]);
    return address;
}

void Privatization::merge() {
    for (const auto& copies : all_)
        for (size_t i = 0; i < copies->pages.size(); ++i) {
            const PrivatizedTarget& t = targets_[i];
            uintptr_t from = t.bytes.low + static_cast<uintptr_t>(copies->own[i]);
            Merge merge{reinterpret_cast<void*>(t.bytes.low), reinterpret_cast<const void*>(from), t.dense};
            auto count = static_cast<int64_t>((t.bytes.high - t.bytes.low) / static_cast<uintptr_t>(t.width));
            parallel_for(count, kMergedAtOnce, t.width == 8 ? add<uint64_t> : add<uint32_t>, &merge);
        }
}

}  // namespace wc
