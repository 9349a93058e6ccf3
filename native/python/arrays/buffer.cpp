// The buffer protocol: memory of other objects that launches use, and memory of arrays that other objects use.
#include "arrays/buffers.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "interop/dlpack_export.h"

namespace wc {

bool borrow_buffer(PyObject* object, ForeignMemory& out, Py_buffer& view) {
    if (!PyObject_CheckBuffer(object)) return false;
    if (PyObject_GetBuffer(object, &view, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
        PyErr_Clear();
        return false;
    }
    out = {};
    out.data = view.buf;
    out.ndim = view.ndim;
    out.read_only = view.readonly;
    out.scalar = buffer_scalar(view.format, view.itemsize);
    if (out.scalar.kind == Kind::None) out.type_name = std::string("format ") + view.format;
    if (view.ndim > ForeignMemory::kMost) return true;
    std::copy_n(view.shape, view.ndim, out.shape);
    std::copy_n(view.strides, view.ndim, out.strides);
    return true;
}

namespace {

// The extents of a view of an array, those of its components behind them.
struct Extents {
    Py_ssize_t shape[ForeignMemory::kMost], strides[ForeignMemory::kMost];
};

int refuse_buffer(Py_buffer* view, const char* why) {
    PyErr_SetString(PyExc_BufferError, why);
    view->obj = nullptr;
    return -1;
}

const char* why_not(const PyArray* a, const Dtype& d, int flags) {
    if (!a->view.data && a->size) return "the memory of the array was freed";
    if (a->device != 0) return "the array is on a GPU: pass a copy, a.numpy()";
    if (d.scalar.kind == Kind::None) return "buffers of arrays of structs have no format: pass a.numpy()";
    if (!buffer_format(d.scalar)) return "buffers have no format for bfloat16: pass a.view(wp.uint16)";
    if (flags & PyBUF_WRITABLE && a->flags & kReadOnly) return "the array is read-only";
    const bool c = (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS || (flags & PyBUF_STRIDES) != PyBUF_STRIDES;
    const bool any = (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS;
    if ((c || any) && !a->contiguous && a->size > 1)
        return "the array is not contiguous, as the buffer has to be: pass a copy, a.contiguous()";
    const bool fortran = (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && !any;
    if (fortran && a->size > 1 && (!a->contiguous || a->ndim > 1 || d.rank > 0))
        return "the array is in C order, not in Fortran order";
    return nullptr;
}

}  // namespace

int get_array_buffer(PyObject* self, Py_buffer* view, int flags) {
    const PyArray* a = as_array(self);
    if (!a) return refuse_buffer(view, "the array was never initialised");
    const Dtype& d = dtype(a->dtype);
    if (const char* why = why_not(a, d, flags)) return refuse_buffer(view, why);
    try {
        exchange_hooks().exported(nb::handle(self));
    } catch (nb::python_error& e) {
        e.restore();
        view->obj = nullptr;
        return -1;
    }
    auto extents = std::make_unique<Extents>();
    *view = {};
    view->ndim = a->ndim + d.rank;
    std::copy_n(a->view.shape, a->ndim, extents->shape);
    std::copy_n(a->view.strides, a->ndim, extents->strides);
    Py_ssize_t step = d.scalar.size;
    for (int i = d.rank - 1; i >= 0; step *= d.shape[i--]) {
        extents->shape[a->ndim + i] = d.shape[i];
        extents->strides[a->ndim + i] = step;
    }
    view->buf = a->view.data;
    view->len = a->size * d.itemsize;
    view->itemsize = d.scalar.size;
    view->readonly = (a->flags & kReadOnly) != 0;
    view->format = flags & PyBUF_FORMAT ? const_cast<char*>(buffer_format(d.scalar)) : nullptr;
    if ((flags & PyBUF_ND) == PyBUF_ND) view->shape = extents->shape;
    if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES) view->strides = extents->strides;
    view->internal = extents.release();
    view->obj = Py_NewRef(self);
    return 0;
}

void release_array_buffer(PyObject*, Py_buffer* view) { delete static_cast<Extents*>(view->internal); }

}  // namespace wc
