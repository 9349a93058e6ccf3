// What a launch raises for what its threads did: `report` for what code of debug mode found, `explain` for faults.
#include <nanobind/stl/string.h>

#include <cstring>

#include "launches/plan.h"
#include "warp_core/spans.h"

namespace wc {

namespace {

// Raises an exception that Python made, so that the traceback begins at the launch and not where it was made.
void raise_made(const nb::object& error) {
    if (!PyExceptionInstance_Check(error.ptr())) return;
    PyErr_SetObject(PyExceptionInstance_Class(error.ptr()), error.ptr());
    throw nb::python_error();
}

}  // namespace

void Plan::report(const wc_context& context, const Grid& g) {
    const wc_failure& f = context.failure;
    nb::list values;
    for (int i = 0; i < f.count; ++i) values.append(f.values[i]);
    if (!on_failure.is_none()) raise_made(on_failure(f.thread, f.site, values, dims_of(g)));
    raise(PyExc_RuntimeError,
          "kernel `" + name + "` failed in thread " + std::to_string(f.thread) + " at site " + std::to_string(f.site));
}

nb::tuple Plan::dims_of(const Grid& g) const {
    nb::list dims;
    for (int i = 0; i < (arity == 1 ? 1 : g.ndim); ++i) dims.append(g.dims[i]);
    return nb::tuple(dims);
}

// The arrays among the arguments, or those that the kernel may write: names, and the addresses that elements take.
nb::list Plan::places(const std::byte* block, bool written) const {
    nb::list out;
    each_array(block, [&](const ParamSpec& p, const std::byte* at, int ndim, int64_t itemsize, bool writable) {
        wc_array a;
        std::memcpy(&a, at, sizeof a);
        Range data = range_of(a, a.data, ndim, itemsize), grad = range_of(a, a.grad, ndim, itemsize);
        if (writable || !written)
            out.append(nb::make_tuple(p.name, reinterpret_cast<uintptr_t>(a.data), data.low, data.high));
        if (a.grad)
            out.append(nb::make_tuple(p.name + ".grad", reinterpret_cast<uintptr_t>(a.grad), grad.low, grad.high));
    });
    return out;
}

void Plan::explain(const wc_context& context, const std::byte* block, const Grid& g) {
    const Fault& f = context.fault;
    nb::object address = f.located ? nb::object(nb::int_(f.address)) : nb::object(nb::none());
    const char* access = f.access == Access::Write ? "wrote" : f.access == Access::Read ? "read" : "used";
    if (!on_fault.is_none())
        raise_made(on_fault(f.signal, address, access, f.refused, f.on_stack,
                            nb::make_tuple(context.begin, context.end), dims_of(g),
                            places(block, f.access == Access::Write)));
    raise(PyExc_RuntimeError, "kernel `" + name + "` " + access + " memory that it must not use, in threads " +
                                  std::to_string(context.begin) + " to " + std::to_string(context.end - 1));
}

}  // namespace wc
