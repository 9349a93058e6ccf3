// The algorithms on arrays. Python checks what users pass (omni/warp_core/algo); the checks here keep memory safe
// whoever calls.
#include <algorithm>
#include <stdexcept>

#include "arrays/py_array.h"
#include "gil.h"
#include "launches/py_range_lock.h"
#include "launches/timeline.h"
#include "tape/py_spans.h"
#include "warp_core/algorithms.h"

namespace wc {
namespace {

constexpr int64_t kWithoutGil = 1 << 14;  // bytes

template <class F>
void run(const char* name, int64_t nbytes, F&& f) {
    Timed timed(Activity::kBuiltin, name, nbytes);
    if (nbytes < kWithoutGil) return f();
    without_gil(f);
}

const Dtype& type_of(const Array& a) { return dtype(a.dtype); }
int64_t components(const Array& a) { return type_of(a).shape[0] * type_of(a).shape[1]; }
int64_t bytes(const Array& a) { return a.size * type_of(a).itemsize; }

void require(bool condition, const char* what) {
    if (!condition) throw std::invalid_argument(what);
}

void require_room(const Array& a, int64_t size) {
    require(a.contiguous && a.device == 0, "the array must be contiguous and on the CPU");
    require(size >= 0 && size <= a.size, "the array is too small");
}

void require_pairs(const Array& keys, const Array& values, int64_t count) {
    require(count >= 0 && count <= INT64_MAX / 2, "count is out of range");
    require_room(keys, 2 * count);
    require_room(values, 2 * count);
    require(type_of(keys).rank == 0, "keys must be scalars");
}

void sort(const PyArray& keys, const PyArray& values, int64_t count, int begin_bit, int end_bit) {
    require_pairs(keys, values, count);
    Scalar key = type_of(keys).scalar;
    require(0 <= begin_bit && begin_bit <= end_bit && end_bit <= 8 * key.size,
            "the range of bits does not fit the key");
    for (const PyArray* a : {&keys, &values}) before_write(*a);
    run("radix_sort_pairs", bytes(keys), [&] {
        radix_sort_pairs(key, keys.view.data, type_of(values).itemsize, values.view.data, count, begin_bit, end_bit);
    });
}

int32_t* integers(const PyArray& a) {
    require(type_of(a).scalar == Scalar{Kind::Int, 4}, "the arrays must be of int32");
    return static_cast<int32_t*>(a.view.data);
}

void sort_buckets(const PyArray& keys, const PyArray& order, int64_t count, const PyArray& starts) {
    require_pairs(keys, order, count);
    require_room(starts, 1);
    int32_t *key = integers(keys), *places = integers(order), *begins = integers(starts);
    uint32_t most = 0;
    for (int64_t i = 0; i < count; ++i) most = std::max(most, static_cast<uint32_t>(key[i]));
    require(starts.size <= INT32_MAX && most < starts.size, "a key is the number of no bucket");
    for (const PyArray* a : {&keys, &order, &starts}) before_write(*a);
    run("sort_into_buckets", bytes(keys) + bytes(starts),
        [&] { sort_into_buckets(key, places, count, begins, starts.size); });
}

std::vector<Segment> segments_of(const Array& begins, const Array& ends, int64_t count) {
    require(type_of(begins).scalar == Scalar{Kind::Int, 4} && begins.dtype == ends.dtype, "indices must be int32");
    require_room(begins, count);
    require_room(ends, count);
    auto *begin = static_cast<const int32_t*>(begins.view.data), *end = static_cast<const int32_t*>(ends.view.data);
    std::vector<Segment> segments(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) segments[i] = {begin[i], end[i]};
    return segments;
}

// Without ends each segment ends where the next begins.
std::vector<Segment> segments_of(const PyArray& begins, const PyArray* ends) {
    if (ends) return segments_of(begins, *ends, begins.size);
    if (begins.size < 2) return {};
    Array next = begins;
    next.view.data = static_cast<int32_t*>(begins.view.data) + 1;
    return segments_of(static_cast<const Array&>(begins), next, begins.size - 1);
}

void sort_segments(const PyArray& keys, const PyArray& values, int64_t count, const PyArray& begins,
                   const PyArray* ends) {
    require_pairs(keys, values, count);
    std::vector<Segment> segments = segments_of(begins, ends);
    for (const PyArray* a : {&keys, &values}) before_write(*a);
    run("segmented_sort_pairs", bytes(keys), [&] {
        segmented_sort_pairs(type_of(keys).scalar, keys.view.data, type_of(values).itemsize, values.view.data, count,
                             segments);
    });
}

void scan_array(const PyArray& in, const PyArray& out, bool inclusive) {
    require(in.dtype == out.dtype, "the types differ");
    require_room(in, in.size);
    require_room(out, in.size);
    before_write(out);
    run("scan", bytes(in),
        [&] { scan(type_of(in).scalar, out.view.data, in.view.data, in.size, components(in), inclusive); });
}

int64_t encode(const PyArray& values, int64_t count, const PyArray& run_values, const PyArray& run_lengths) {
    require(values.dtype == run_values.dtype && type_of(values).rank == 0, "the types differ");
    require(type_of(run_lengths).scalar == Scalar{Kind::Int, 4}, "run lengths must be int32");
    for (const PyArray* a : {&values, &run_values, &run_lengths}) require_room(*a, count);
    require(count <= INT32_MAX, "count is out of range");
    for (const PyArray* a : {&run_values, &run_lengths}) before_write(*a);
    int64_t runs = 0;
    run("runlength_encode", count * type_of(values).itemsize, [&] {
        runs = runlength_encode(type_of(values).scalar, values.view.data, count, run_values.view.data,
                                static_cast<int32_t*>(run_lengths.view.data));
    });
    return runs;
}

void reduce(const PyArray& out, const PyArray& a, const PyArray* b, int64_t outer, int64_t length, int64_t inner) {
    Extents extents{outer, length, inner, components(a)};
    require(outer >= 0 && length >= 0 && inner >= 0, "an extent is negative");
    int64_t items;
    require(!__builtin_mul_overflow(outer, length, &items) && !__builtin_mul_overflow(items, inner, &items) &&
                !__builtin_mul_overflow(outer, inner, &outer),
            "the extents are too large");
    require_room(a, items);
    require_room(out, outer);
    require(type_of(a).scalar == type_of(out).scalar, "the types differ");
    require(components(out) == (b ? 1 : components(a)), "the types differ");
    if (b) {
        require(b->dtype == a.dtype, "the types differ");
        require_room(*b, items);
    }
    before_write(out);
    run("reduce", items * type_of(a).itemsize, [&] {
        Scalar type = type_of(a).scalar;
        if (b) return inner_product(type, out.view.data, a.view.data, b->view.data, extents);
        sum(type, out.view.data, a.view.data, extents);
    });
}

// False, with nothing done, unless the arrays lie apart, without gaps, and hold as many numbers of the same 4- or
// 8-byte floating point type.
bool add_array(const PyArray& to, const PyArray& from) {
    Scalar type = type_of(to).scalar;
    int64_t n = to.size * components(to);
    if (type.kind != Kind::Float || type.size < 4 || type != type_of(from).scalar || n != from.size * components(from))
        return false;
    for (const PyArray* a : {&to, &from})
        if (!a->contiguous || a->device != 0 || (to.flags & kReadOnly)) return false;
    auto *sums = static_cast<std::byte*>(to.view.data), *more = static_cast<std::byte*>(from.view.data);
    if (sums < more + bytes(from) && more < sums + bytes(to)) return false;
    before_write(to);
    std::unique_ptr<RangeLock> lock;  // what is short holds the GIL, and so needs none where nothing is under way
    if (bytes(to) >= kWithoutGil || RangeLock::any()) {
        auto low = reinterpret_cast<uintptr_t>(sums);
        lock = reserve({.alone = {{low, low + static_cast<uintptr_t>(bytes(to))}}, .atomic = {}});
    }
    run("add", bytes(to), [&] { add(type, sums, more, n); });
    return true;
}

void cast_array(const PyArray& in, const PyArray& out, int64_t count) {
    for (const PyArray* a : {&in, &out}) {
        require_room(*a, a->size);
        require(count >= 0 && count <= a->size * components(*a), "the array is too small");
    }
    before_write(out);
    run("cast", count * type_of(in).scalar.size,
        [&] { cast(type_of(out).scalar, out.view.data, type_of(in).scalar, in.view.data, count); });
}

}  // namespace

void bind_algorithms(nb::module_& m) {
    m.def("radix_sort_pairs", &sort, nb::arg("keys"), nb::arg("values"), nb::arg("count"), nb::arg("begin_bit"),
          nb::arg("end_bit"));
    m.def("segmented_sort_pairs", &sort_segments, nb::arg("keys"), nb::arg("values"), nb::arg("count"),
          nb::arg("begins"), nb::arg("ends").none());
    m.def("sort_into_buckets", &sort_buckets, nb::arg("keys"), nb::arg("order"), nb::arg("count"), nb::arg("starts"));
    m.def(
        "check_segments",
        [](int64_t count, const PyArray& begins, const PyArray& ends) {
            check_segments(count, segments_of(begins, &ends));
        },
        nb::arg("count"), nb::arg("begins"), nb::arg("ends"));
    m.def("scan", &scan_array, nb::arg("input"), nb::arg("output"), nb::arg("inclusive"));
    m.def("runlength_encode", &encode, nb::arg("values"), nb::arg("count"), nb::arg("run_values"),
          nb::arg("run_lengths"));
    m.def("reduce", &reduce, nb::arg("out"), nb::arg("a"), nb::arg("b").none(), nb::arg("outer"), nb::arg("length"),
          nb::arg("inner"));
    m.def("add", &add_array, nb::arg("to"), nb::arg("more"));
    m.def("cast", &cast_array, nb::arg("input"), nb::arg("output"), nb::arg("count"));
}

}  // namespace wc
