#include "tape/mutation_tracker.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "arrays/py_memory.h"
#include "warp_core/fingerprint.h"

namespace wc {

int64_t sealed_tapes = 0;

namespace {

class MutationTracker;

std::vector<MutationTracker*>& all_seals() {
    static auto& seals = *new std::vector<MutationTracker*>;
    return seals;
}

thread_local MutationTracker* current = nullptr;  // of the observers that see what this thread writes

// Gives the place of the program, never destroyed: it must not drop a Python reference after the interpreter is gone.
nb::object& where() {
    static nb::object& callback = *new nb::object(nb::none());
    return callback;
}

// Memory that a recorded step has used.
struct Seal {
    enum State {
        kIntact,
        kWritten,      // by the tape, which will tell of it
        kOverwritten,  // by something that this package has done, but the tape does not record
        kChanged       // by others
    };

    Range range;
    std::vector<nb::object> owners;  // keep the memory alive
    nb::object place, writer;        // of the last step that used it, and of who overwrote it
    bool host;                       // the processor can read it
    bool open;                       // others may write there unseen
    State state = kIntact;
    uint64_t seen = 0;  // the fingerprint, if it is open

    void look() { seen = open ? now() : 0; }
    void verify() {
        if (state == kIntact && open && seen != now()) state = kChanged;
    }
    void expose() {
        if (!host || std::exchange(open, true)) return;
        if (state == kIntact) look();
    }
    void touch(bool by_tape) {
        verify();
        if (state == kChanged || state == kOverwritten) return;
        state = by_tape ? kWritten : kOverwritten;
        if (!by_tape) writer = where()();
    }
    void settle() {
        state = kIntact;
        look();
    }

    uint64_t now() const { return fingerprint(reinterpret_cast<const void*>(range.low), range.high - range.low); }
};

// What one tape has seen: disjoint spans.
class MutationTracker {
  public:
    MutationTracker() = default;
    MutationTracker(const MutationTracker&) = delete;
    MutationTracker& operator=(const MutationTracker&) = delete;
    ~MutationTracker() {
        clear();
        if (current == this) current = nullptr;
    }

    // Records that a step at the call site `place` uses arrays. If the memory of one is not what the tape has seen, it
    // returns that array's number and how its memory was changed. It also returns the call sites of the step before and
    // of the change.
    nb::object use(const Objects& arrays, const nb::object& place) {
        std::vector<Seal*> whole;  // of the arrays of which one seal has all
        size_t number = 0;
        for (nb::handle object : arrays) {
            Range range = range_of(array(object));
            auto at = first(range);
            if (covers(at, range)) whole.push_back(&at->second);
            for (; reaches(at, range); ++at) {
                Seal& seal = at->second;
                seal.verify();
                if (seal.state != Seal::kIntact)
                    return nb::make_tuple(number, static_cast<int>(seal.state), seal.place, seal.writer);
            }
            ++number;
        }
        if (whole.size() == number)
            for (Seal* seal : whole) seal->place = place;
        else
            for (nb::handle object : arrays) note(array(object), place);
        return nb::none();
    }

    // The tape has recorded a write to arrays: they are `changed`, or native code has reported the write.
    void wrote(const Objects& arrays, bool changed) {
        for (nb::handle object : arrays) {
            Range range = range_of(array(object));
            for (auto at = first(range); reaches(at, range); ++at) {
                Seal& seal = at->second;
                if (seal.state == Seal::kWritten || (changed && seal.state == Seal::kIntact && seal.open))
                    seal.settle();
            }
        }
    }

    // What was there does not matter any more: an array is overwritten as a whole. False if others show some of it,
    // too.
    bool renew(nb::handle object) {
        Range range = range_of(array(object));
        for (auto at = first(range); reaches(at, range); ++at)
            if (at->second.range.low < range.low || range.high < at->second.range.high) return false;
        for (auto at = first(range); reaches(at, range); ++at) at->second.settle();
        return true;
    }

    void touch(Range range) {
        if (suspended) return;
        for (auto at = first(range); reaches(at, range); ++at) at->second.touch(current == this);
    }

    void expose(Range range) {
        for (auto at = first(range); reaches(at, range); ++at) at->second.expose();
    }

    void clear() {
        if (seals_.empty()) return;
        std::exchange(seals_, {}).clear();
        std::erase(all_seals(), this);
        --sealed_tapes;
    }

    size_t size() const { return seals_.size(); }

    bool suspended = false;  // what is written is restored before anybody looks

  private:
    using Map = std::map<uintptr_t, Seal>;  // by the first address

    static const PyArray& array(nb::handle object) {
        PyArray* found = as_array(object.ptr());
        if (!found) throw nb::type_error("expected arrays");
        return *found;
    }

    Map::iterator first(Range range) {
        auto at = seals_.upper_bound(range.low);
        if (at != seals_.begin() && std::prev(at)->second.range.high > range.low) --at;
        return at;
    }
    bool reaches(Map::iterator at, Range range) const {
        return at != seals_.end() && !range.empty() && at->first < range.high;
    }
    bool covers(Map::iterator at, Range range) const {
        return reaches(at, range) && at->second.range.low <= range.low && range.high <= at->second.range.high;
    }

    void note(const PyArray& a, const nb::object& place) {
        Range range = range_of(a);
        if (range.empty()) return;
        auto at = first(range);
        if (covers(at, range)) {
            at->second.place = place;
            return;
        }
        if (seals_.empty()) {
            all_seals().push_back(this);
            ++sealed_tapes;
        }
        Seal seal{range, {a.owner}, place, nb::none(), a.device == 0, a.device == 0 && !is_private(a)};
        while (reaches(at, range)) {  // several that overlap become one
            Seal& other = at->second;
            seal.range = {std::min(seal.range.low, other.range.low), std::max(seal.range.high, other.range.high)};
            seal.owners.insert(seal.owners.end(), other.owners.begin(), other.owners.end());
            seal.open |= other.open;
            at = seals_.erase(at);
        }
        seal.look();
        seals_.emplace(seal.range.low, std::move(seal));
    }

    Map seals_;
};

}  // namespace

void touch_seals(Range range) {
    for (size_t i = 0; i < all_seals().size(); ++i) {
        nb::object alive = nb::borrow(nb::find(all_seals()[i]));  // asking for the place may run what drops a tape
        all_seals()[i]->touch(range);
    }
}

void doubt_seals() { open_seals({0, UINTPTR_MAX}); }

void open_seals(Range range) {
    for (MutationTracker* seals : all_seals()) seals->expose(range);
}

nb::object tracker_of_writes() { return current ? nb::find(current) : nb::none(); }

void track_writes(nb::handle tracker) { current = tracker.is_none() ? nullptr : nb::cast<MutationTracker*>(tracker); }

Objects items(nb::handle list) {
    Objects found;
    found.reserve(nb::len(list));
    for (nb::handle item : list) found.push_back(nb::borrow(item));
    return found;
}

nb::list listed(const Objects& items) {
    nb::list found;
    for (const nb::object& item : items) found.append(item);
    return found;
}

nb::object use_arrays(nb::handle tracker, const Objects& arrays, const nb::object& place) {
    return nb::cast<MutationTracker&>(tracker).use(arrays, place);
}

void wrote_arrays(nb::handle tracker, const Objects& arrays, bool changed) {
    nb::cast<MutationTracker&>(tracker).wrote(arrays, changed);
}

void bind_seals(nb::module_& m) {
    nb::class_<MutationTracker>(m, "MutationTracker")
        .def(nb::init<>())
        .def(
            "use", [](MutationTracker& t, nb::list arrays, nb::object place) { return t.use(items(arrays), place); },
            nb::arg("arrays"), nb::arg("place"))
        .def(
            "wrote", [](MutationTracker& t, nb::list arrays, bool changed) { t.wrote(items(arrays), changed); },
            nb::arg("arrays"), nb::arg("changed"))
        .def("renew", &MutationTracker::renew, nb::arg("array"))
        .def("clear", &MutationTracker::clear)
        .def("__len__", &MutationTracker::size)
        .def_rw("suspended", &MutationTracker::suspended);
    m.attr("OVERWRITTEN") = static_cast<int>(Seal::kOverwritten);
    m.attr("CHANGED") = static_cast<int>(Seal::kChanged);
    m.def("tracker_of_writes", &tracker_of_writes);
    m.def("on_unseen_write", [](nb::object f) { where() = std::move(f); }, nb::arg("function"));
    m.def(
        "fingerprint", [](uintptr_t at, uint64_t n) { return fingerprint(reinterpret_cast<const void*>(at), n); },
        nb::arg("ptr"), nb::arg("nbytes"));
}

}  // namespace wc
