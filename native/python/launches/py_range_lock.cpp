#include "launches/py_range_lock.h"

#include <nanobind/nanobind.h>

#include "arrays/py_array.h"
#include "gil.h"

namespace wc {
namespace {

// Memory that a `with` block adds to.
struct Reservation {
    ByteRange range;
    std::unique_ptr<RangeLock> lock;
};

}  // namespace

std::unique_ptr<RangeLock> reserve(const WriteSet& targets) {
    std::unique_ptr<RangeLock> lock;
    while (!(lock = RangeLock::take(targets))) {
        without_gil([&] { RangeLock::wait(targets); });
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    return lock;
}

void bind_range_locks(nb::module_& m) {
    nb::class_<Reservation>(m, "Reservation")
        .def(
            "__init__",
            [](Reservation* r, uintptr_t low, uintptr_t high) { new (r) Reservation{{low, high}, nullptr}; },
            nb::arg("low"), nb::arg("high"))
        .def("__enter__", [](Reservation& r) { r.lock = reserve({.alone = {r.range}, .atomic = {}}); })
        .def("__exit__", [](Reservation& r, nb::args) { r.lock.reset(); });
}

}  // namespace wc
