// How a tape begins to go backwards, where its gradients lie apart in memory of the CPU; see tape/cotangents.py.
#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <vector>

#include "arrays/py_memory.h"
#include "attributes.h"
#include "launches/timeline.h"
#include "tape/py_spans.h"
#include "warp_core/dtypes.h"

namespace wc {
namespace {

// A gradient, and what it is to begin with: an array like it, or the bytes of one element. Nothing is set aside.
struct Seed {
    const PyArray* gradient;
    nb::handle object, given;
    Range range;
};

bool same(const PyArray& a, const PyArray& b) {
    return a.view.data == b.view.data && a.dtype == b.dtype && a.ndim == b.ndim &&
           std::equal(a.view.shape, a.view.shape + a.ndim, b.view.shape);
}

// Sorts by address and drops what is there twice; a gradient that is given something stays. False if some overlap.
bool apart(std::vector<Seed>& all) {
    std::sort(all.begin(), all.end(), [](const Seed& a, const Seed& b) {
        return a.range.low != b.range.low ? a.range.low < b.range.low : a.given.is_valid() && !b.given.is_valid();
    });
    auto end = std::unique(all.begin(), all.end(), [](const Seed& a, const Seed& b) {
        return !b.given.is_valid() && same(*a.gradient, *b.gradient);
    });
    all.erase(end, all.end());
    return std::adjacent_find(all.begin(), all.end(),
                              [](const Seed& a, const Seed& b) { return b.range.low < a.range.high; }) == all.end();
}

bool meets_any(const std::vector<Seed>& all, Range range) {
    return std::any_of(all.begin(), all.end(), [&](const Seed& b) { return b.range.meets(range); });
}

void give(const Seed& b) {
    const PyArray* from = as_array(b.given.ptr());
    if (from && same(*from, *b.gradient)) return;
    auto nbytes = static_cast<int64_t>(b.range.high - b.range.low);
    auto* to = reinterpret_cast<void*>(b.range.low);
    before_write(b.range);
    Timed timed(from ? Activity::kMemcpy : Activity::kMemset, from ? "memcpy" : "memset", nbytes);
    if (from) {
        without_gil_if_large(nbytes, [&] { copy_bytes(to, from->view.data, nbytes); });
    } else {
        nb::bytes element = nb::borrow<nb::bytes>(b.given);
        without_gil_if_large(nbytes,
                             [&] { fill_bytes(to, nbytes, element.c_str(), static_cast<int64_t>(element.size())); });
    }
}

void fill(const PyArray& a, const char* pattern, int64_t size) {
    Range range = range_of(a);
    auto nbytes = static_cast<int64_t>(range.high - range.low);
    before_write(range);
    Timed timed(Activity::kMemset, "memset", nbytes);
    without_gil_if_large(nbytes, [&] { fill_bytes(reinterpret_cast<void*>(range.low), nbytes, pattern, size); });
}

bool is_set(Range range) {
    auto nbytes = static_cast<int64_t>(range.high - range.low);
    bool found = false;
    without_gil_if_large(nbytes, [&] { found = any_set(reinterpret_cast<const void*>(range.low), nbytes); });
    return found;
}

// Gives gradients their seeds, pairs as in Seed. Returns those of the `others` that have no seed and are not zero;
// or None, with nothing done, where it takes more than that.
nb::object begin_gradients(const nb::list& others, const nb::list& seeds) {
    std::vector<Seed> all;
    auto add = [&](nb::handle object, nb::handle given) {
        const PyArray* gradient = as_array(object.ptr());
        if (!gradient || !is_plain(*gradient)) return false;
        all.push_back({gradient, object, given, range_of(*gradient)});
        return true;
    };
    for (nb::handle seed : seeds)
        if (!add(seed[0].ptr(), seed[1].ptr())) return nb::none();
    for (nb::handle gradient : others)
        if (!add(gradient, {})) return nb::none();
    if (!apart(all)) return nb::none();
    for (nb::handle seed : seeds) {
        nb::object given = seed[1];
        if (nb::isinstance<nb::bytes>(given)) continue;
        const PyArray* from = as_array(given.ptr());
        if (from && same(*from, *as_array(nb::object(seed[0]).ptr()))) continue;  // it is there already
        if (!from || !is_plain(*from) || meets_any(all, range_of(*from))) return nb::none();
    }
    nb::list set;
    for (const Seed& b : all) {
        if (b.given.is_valid())
            give(b);
        else if (is_set(b.range))
            set.append(b.object);
    }
    return set;
}

// Clears the gradients of the arrays of a tape. Returns those that take more than that.
nb::list clear_gradients(const nb::list& arrays) {
    static PyObject* name = PyUnicode_InternFromString("_grad");
    std::unordered_set<PyObject*> seen;
    nb::list others;
    for (nb::handle object : arrays) {
        nb::object gradient = attribute(object, name);
        if (gradient.is_none() || !seen.insert(gradient.ptr()).second) continue;
        if (!clear_gradient(gradient)) others.append(gradient);
    }
    return others;
}

}  // namespace

bool clear_gradient(nb::handle gradient) {
    static PyObject* set_by = PyUnicode_InternFromString("_set_by");
    const PyArray* a = as_array(gradient.ptr());
    if (!a || !is_plain_or_lent(*a)) return false;
    fill(*a, "\0", 1);
    if (PyObject_SetAttr(gradient.ptr(), set_by, Py_None) < 0) throw nb::python_error();
    return true;
}

void fill_plain(nb::handle array, const nb::bytes& pattern) {
    fill(*as_array(array.ptr()), pattern.c_str(), static_cast<int64_t>(pattern.size()));
}

void bind_gradients(nb::module_& m) {
    m.def("begin_gradients", &begin_gradients, nb::arg("others"), nb::arg("seeds"));
    m.def("clear_gradients", &clear_gradients, nb::arg("arrays"));
    m.def(
        "fill_plain",
        [](nb::handle array, const nb::bytes& pattern) {
            const PyArray* a = as_array(array.ptr());
            if (!a || !is_plain_or_lent(*a)) return false;
            fill_plain(array, pattern);
            return true;
        },
        nb::arg("array"), nb::arg("pattern"));
}

}  // namespace wc
