#include <nanobind/stl/string.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

#include "arrays/py_memory.h"
#include "launches/timeline.h"
#include "tape/py_spans.h"
#include "warp_core/pool.h"

namespace wc {
namespace {

void* pointer(uintptr_t p) { return reinterpret_cast<void*>(p); }

void copy(uintptr_t to, uintptr_t from, int64_t nbytes) {
    if (nbytes < 0) throw std::invalid_argument("nbytes must not be negative");
    before_write(Range{to, to + static_cast<uintptr_t>(nbytes)});
    Timed timed(Activity::kMemcpy, "memcpy", nbytes);
    without_gil_if_large(nbytes, [&] { copy_bytes(pointer(to), pointer(from), nbytes); });
}

void fill(uintptr_t to, int64_t nbytes, nb::bytes pattern) {
    auto size = static_cast<int64_t>(pattern.size());
    if (size == 0 || nbytes < 0 || nbytes % size != 0)
        throw std::invalid_argument("nbytes must be a multiple of the length of the pattern");
    before_write(Range{to, to + static_cast<uintptr_t>(nbytes)});
    Timed timed(Activity::kMemset, "memset", nbytes);
    without_gil_if_large(nbytes, [&] { fill_bytes(pointer(to), nbytes, pattern.c_str(), size); });
}

bool any_set_at(uintptr_t at, int64_t nbytes) {
    bool found = false;
    without_gil_if_large(nbytes, [&] { found = any_set(pointer(at), nbytes); });
    return found;
}

// The integers of `values`, of which there must be `count`.
std::vector<int64_t> integers(nb::tuple values, size_t count) {
    if (values.size() != count || count > kMaxNdim)
        throw std::invalid_argument("shape and strides must be tuples of one length, 4 at most");
    std::vector<int64_t> out;
    for (nb::handle v : values) out.push_back(nb::cast<int64_t>(v));
    return out;
}

int64_t bytes_of(const std::vector<int64_t>& shape, int64_t itemsize) {
    int64_t n = itemsize;
    for (int64_t extent : shape) n *= extent;
    return n;
}

void before_strided_write(uintptr_t to, const std::vector<int64_t>& shape, const std::vector<int64_t>& strides,
                          int64_t itemsize) {
    wc_array view{};
    std::copy(shape.begin(), shape.end(), view.shape);
    std::copy(strides.begin(), strides.end(), view.strides);
    before_write(range_of(view, pointer(to), static_cast<int>(shape.size()), itemsize));
}

void copy_nd(uintptr_t to, nb::tuple to_strides, uintptr_t from, nb::tuple from_strides, nb::tuple shape,
             int64_t itemsize) {
    auto extents = integers(shape, shape.size());
    auto ts = integers(to_strides, shape.size()), fs = integers(from_strides, shape.size());
    before_strided_write(to, extents, ts, itemsize);
    Timed timed(Activity::kMemcpy, "memcpy", bytes_of(extents, itemsize));
    without_gil_if_large(bytes_of(extents, itemsize), [&] {
        copy_strided(pointer(to), ts.data(), pointer(from), fs.data(), extents.data(), static_cast<int>(extents.size()),
                     itemsize);
    });
}

void fill_nd(uintptr_t to, nb::tuple strides, nb::tuple shape, nb::bytes pattern) {
    auto extents = integers(shape, shape.size()), ts = integers(strides, shape.size());
    auto itemsize = static_cast<int64_t>(pattern.size());
    if (itemsize == 0) throw std::invalid_argument("the pattern is empty");
    before_strided_write(to, extents, ts, itemsize);
    Timed timed(Activity::kMemset, "memset", bytes_of(extents, itemsize));
    without_gil_if_large(bytes_of(extents, itemsize), [&] {
        fill_strided(pointer(to), ts.data(), extents.data(), static_cast<int>(extents.size()), pattern.c_str(),
                     itemsize);
    });
}

}  // namespace

void bind_memory(nb::module_& m) {
    nb::class_<Buffer>(m, "Buffer", nb::is_weak_referenceable())
        .def(nb::init<int64_t>(), nb::arg("nbytes"))
        .def_prop_ro("ptr", [](const Buffer& b) { return reinterpret_cast<uintptr_t>(b.memory); })
        .def_ro("nbytes", &Buffer::nbytes)
        .def_rw("shared", &Buffer::shared);
    m.def("alloc", [](int64_t n) { return reinterpret_cast<uintptr_t>(allocate(n)); }, nb::arg("nbytes"));
    m.def("free", [](uintptr_t p) { release(pointer(p)); }, nb::arg("ptr"));
    m.def("copy", &copy, nb::arg("to"), nb::arg("from_"), nb::arg("nbytes"));
    m.def(
        "copy_of",
        [](uintptr_t from, int64_t nbytes) {
            auto made = std::make_unique<Buffer>(nbytes);
            Timed timed(Activity::kMemcpy, "memcpy", nbytes);
            without_gil_if_large(nbytes, [&] { copy_bytes(made->memory, pointer(from), nbytes); });
            return made.release();
        },
        nb::arg("from_"), nb::arg("nbytes"), nb::rv_policy::take_ownership);
    m.def("any_set", &any_set_at, nb::arg("ptr"), nb::arg("nbytes"));
    m.def("fill", &fill, nb::arg("ptr"), nb::arg("nbytes"), nb::arg("pattern"));
    m.def("copy_strided", &copy_nd, nb::arg("to"), nb::arg("to_strides"), nb::arg("from_"), nb::arg("from_strides"),
          nb::arg("shape"), nb::arg("itemsize"));
    m.def("fill_strided", &fill_nd, nb::arg("ptr"), nb::arg("strides"), nb::arg("shape"), nb::arg("pattern"));
    m.def("get_num_threads", &num_threads);
    m.def("set_num_threads", &set_num_threads, nb::arg("count"));
}

}  // namespace wc
