// Memory as it is when a tape records, for later. Python derives `CowSpan` and `SavedPool` (tape/saved.py).
#pragma once
#include <unordered_map>
#include <vector>

#include "tape/py_spans.h"

namespace wc {

class SavedSpan;

// What a tape has saved: `used` bytes in copies, and the last span that it saved of each range of memory.
class SavedPool {
  public:
    SavedPool() = default;
    SavedPool(const SavedPool&) = delete;
    SavedPool& operator=(const SavedPool&) = delete;

    int64_t used = 0;

    void enter(SavedSpan& span);
    void leave(const SavedSpan& span);
    void forget() { latest_.clear(); }
    // The last span of a range; invalid if it is gone.
    nb::object latest(Range range) const;

  private:
    struct Hash {
        size_t operator()(const Range& r) const { return std::hash<uintptr_t>()(r.low ^ (r.high << 17)); }
    };
    struct Equal {
        bool operator()(const Range& a, const Range& b) const { return a.low == b.low && a.high == b.high; }
    };
    std::unordered_map<Range, SavedSpan*, Hash, Equal> latest_;
};

// A span of memory that is watched until something is about to write there, when Python makes the copy.
class SavedSpan : public Span {
  public:
    SavedSpan(Range range, nb::object device, nb::object owners, nb::object pool, nb::object graph, bool is_parameter);
    ~SavedSpan();

    int64_t size() const { return static_cast<int64_t>(range().high - range().low); }
    nb::object copy() const { return copy_; }
    void set_copy(nb::object copy);
    bool is_lost() const;

    nb::object device, owners, pool, graph;  // graph: that captured it, or None
    nb::object lost, user = nb::none();      // lost: text; what happened where there was no budget for the copy
    bool is_parameter;

  private:
    nb::object copy_ = nb::none();
};

// What a tape holds of the memory of each array: what its `SavedPool` knows or makes. No graph is captured.
Objects saved_spans(nb::handle pool, const Objects& arrays);

void bind_saved_spans(nb::module_& m);

}  // namespace wc
