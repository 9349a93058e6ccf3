// Reading and writing components, rows, slices and memory of values.
#include <algorithm>
#include <bit>
#include <cstring>

#include "arrays/buffers.h"
#include "arrays/numbers.h"
#include "values/values.h"

namespace wc {
namespace {

Value* self_of(PyObject* self) { return reinterpret_cast<Value*>(self); }

// What a key selects along one dimension.
struct Axis {
    Py_ssize_t start = 0, step = 1, count = 1;
    bool is_single = true;

    static Axis all(Py_ssize_t extent) { return {0, 1, extent, false}; }
};

bool refuse_index(Value* v, PyObject* key, Py_ssize_t extent, const char* what) {
    PyErr_Format(PyExc_IndexError, "%s %S is out of range for %s with %zd", what, key, short_name(v), extent);
    return false;
}

bool read_axis(Value* v, PyObject* key, Py_ssize_t extent, const char* what, Axis& axis) {
    if (PySlice_Check(key)) {
        Py_ssize_t stop;
        axis.is_single = false;
        if (PySlice_Unpack(key, &axis.start, &stop, &axis.step) < 0) return false;
        axis.count = PySlice_AdjustIndices(extent, &axis.start, &stop, axis.step);
        return true;
    }
    if (!PyIndex_Check(key)) {
        PyErr_Format(PyExc_TypeError, "%s indices are integers or slices, not %s", short_name(v),
                     short_name(Py_TYPE(key)));
        return false;
    }
    Py_ssize_t i = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_IndexError)) return false;
        PyErr_Clear();
        return refuse_index(v, key, extent, what);
    }
    axis.start = i < 0 ? i + extent : i;
    return (axis.start >= 0 && axis.start < extent) || refuse_index(v, key, extent, what);
}

// The components that a key selects, row by row.
struct Selection {
    Axis row, col;
    Py_ssize_t width;  // of the whole value

    Py_ssize_t count() const { return row.count * col.count; }
    template <class F>
    void each(F&& f) const {
        for (Py_ssize_t r = 0; r < row.count; ++r)
            for (Py_ssize_t c = 0; c < col.count; ++c) f((row.start + r * row.step) * width + col.start + c * col.step);
    }
};

bool select(Value* v, PyObject* key, Selection& s) {
    const ValueInfo& t = info(v);
    s.width = t.cols;
    if (!t.is_matrix()) return read_axis(v, key, t.count, "component", s.col);
    if (!PyTuple_Check(key)) {
        s.col = Axis::all(t.cols);
        return read_axis(v, key, t.rows, "row", s.row);
    }
    if (PyTuple_GET_SIZE(key) != 2) {
        PyErr_Format(PyExc_IndexError, "a %s has two dimensions, got %zd indices", short_name(v),
                     PyTuple_GET_SIZE(key));
        return false;
    }
    return read_axis(v, PyTuple_GET_ITEM(key, 0), t.rows, "row", s.row) &&
           read_axis(v, PyTuple_GET_ITEM(key, 1), t.cols, "column", s.col);
}

PyObject* take(Value* v, const Selection& s) {
    const ValueInfo& t = info(v);
    if (s.row.is_single && s.col.is_single) return component(t.scalar, v->at(s.row.start * s.width + s.col.start));
    bool matrix = !s.row.is_single && !s.col.is_single;
    if (matrix && s.count() == 0) return PyErr_Format(PyExc_IndexError, "empty slice of a %s", short_name(v));
    PyTypeObject* cls = matrix ? matrix_class(t.scalar, s.row.count, s.col.count) : vector_class(t.scalar, s.count());
    Value* out = cls ? allocate(cls) : nullptr;
    if (!out) return nullptr;
    std::byte* to = out->data;
    s.each([&](Py_ssize_t i) {
        std::memcpy(to, v->at(i), t.itemsize);
        to += t.itemsize;
    });
    return object(out);
}

PyObject* subscript(PyObject* self, PyObject* key) {
    Selection s;
    return select(self_of(self), key, s) ? take(self_of(self), s) : nullptr;
}

// What the C sequence protocol asks for: a component, or a row of a matrix.
PyObject* item(PyObject* self, Py_ssize_t i) {
    const ValueInfo& t = info(self_of(self));
    Selection s;
    s.width = t.cols;
    if (t.is_matrix()) s.col = Axis::all(t.cols);
    (t.is_matrix() ? s.row : s.col).start = i;
    if (i >= 0 && i < (t.is_matrix() ? t.rows : t.count)) return take(self_of(self), s);
    return PyErr_Format(PyExc_IndexError, "%zd is out of range for %s", i, short_name(self_of(self)));
}

// -- assignment -------------------------------------------------------------------------------------------------------

// A number that is out of the ordinary, converted by the class.
bool store_converted(Value* v, PyObject* key, PyObject* value, Py_ssize_t at) {
    nb::object number = nb::steal(
        PyObject_CallMethodObjArgs(reinterpret_cast<PyObject*>(Py_TYPE(v)), hooks().convert, key, value, nullptr));
    if (!number.is_valid()) return false;
    if (store(info(v).scalar, number.ptr(), v->at(at))) return true;
    PyErr_Format(PyExc_TypeError, "%s got a component that is not in range", short_name(v));
    return false;
}

// Numbers for `count` components, in `to`; false for what the class must take apart.
bool usual_numbers(const ValueInfo& t, PyObject* value, Py_ssize_t count, std::byte* to) {
    if (store(t.scalar, value, to)) {
        for (Py_ssize_t i = 1; i < count; ++i) std::memcpy(to + i * t.itemsize, to, t.itemsize);
        return true;
    }
    if (Value* from = as_value(value)) {
        if (info(from).count != count || info(from).scalar != t.scalar) return false;
        std::memcpy(to, from->data, info(from).size);
        return true;
    }
    if (!(PyList_CheckExact(value) || PyTuple_CheckExact(value)) || PySequence_Fast_GET_SIZE(value) != count)
        return false;
    for (Py_ssize_t i = 0; i < count; ++i, to += t.itemsize)
        if (!store(t.scalar, PySequence_Fast_GET_ITEM(value, i), to)) return false;
    return true;
}

bool assign_by_class(Value* v, const Selection& s, PyObject* value) {
    nb::object places = nb::steal(PyList_New(0));
    bool fine = places.is_valid();
    s.each([&](Py_ssize_t i) {
        nb::object place = nb::steal(PyLong_FromSsize_t(i));
        fine = fine && place.is_valid() && PyList_Append(places.ptr(), place.ptr()) == 0;
    });
    if (!fine) return false;
    return nb::steal(PyObject_CallMethodObjArgs(object(v), hooks().assign, places.ptr(), value, nullptr)).is_valid();
}

int assign_subscript(PyObject* self, PyObject* key, PyObject* value) {
    Value* v = self_of(self);
    const ValueInfo& t = info(v);
    Selection s;
    if (!value) {
        PyErr_Format(PyExc_TypeError, "the components of a %s cannot be deleted", short_name(v));
        return -1;
    }
    if (!select(v, key, s)) return -1;
    if (s.row.is_single && s.col.is_single && !t.is_matrix()) {
        std::byte* to = v->at(s.col.start);
        return store(t.scalar, value, to) || store_converted(v, key, value, s.col.start) ? 0 : -1;
    }
    if (s.count() == 0) return assign_by_class(v, s, value) ? 0 : -1;
    nb::object scratch = nb::steal(PyBytes_FromStringAndSize(nullptr, s.count() * t.itemsize));
    if (!scratch.is_valid()) return -1;
    auto* from = reinterpret_cast<std::byte*>(PyBytes_AS_STRING(scratch.ptr()));
    if (!usual_numbers(t, value, s.count(), from)) return assign_by_class(v, s, value) ? 0 : -1;
    s.each([&](Py_ssize_t i) {
        std::memcpy(v->at(i), from, t.itemsize);
        from += t.itemsize;
    });
    return 0;
}

// -- x, y, z, w -------------------------------------------------------------------------------------------------------

PyObject* get_attribute(PyObject* self, void* closure) {
    auto i = reinterpret_cast<Py_ssize_t>(closure);
    if (i < info(self_of(self)).count) return component(info(self_of(self)).scalar, self_of(self)->at(i));
    return PyErr_Format(PyExc_AttributeError, "%s has no such component", short_name(self_of(self)));
}

int set_attribute(PyObject* self, PyObject* value, void* closure) {
    auto i = reinterpret_cast<Py_ssize_t>(closure);
    Value* v = self_of(self);
    if (!value || i >= info(v).count) {
        PyErr_Format(PyExc_AttributeError, "%s: components are set, not deleted", short_name(v));
        return -1;
    }
    if (store(info(v).scalar, value, v->at(i))) return 0;
    nb::object key = nb::steal(PyLong_FromSsize_t(i));
    return key.is_valid() && store_converted(v, key.ptr(), value, i) ? 0 : -1;
}

// Translation and rotation of a transform, copies; the closure is where they begin.
PyObject* get_part(PyObject* self, void* closure) {
    const ValueInfo& t = info(self_of(self));
    auto first = reinterpret_cast<Py_ssize_t>(closure);
    if (t.form != Form::Transform)
        return PyErr_Format(PyExc_AttributeError, "%s is not a transform", short_name(self_of(self)));
    PyTypeObject* cls = first ? quaternion_class(t.scalar) : vector_class(t.scalar, 3);
    Value* out = cls ? allocate(cls) : nullptr;
    if (out) std::memcpy(out->data, self_of(self)->at(first), info(out).size);
    return out ? object(out) : nullptr;
}

int set_part(PyObject* self, PyObject* value, void* closure) {
    auto first = reinterpret_cast<Py_ssize_t>(closure);
    nb::object from = nb::steal(PyLong_FromSsize_t(first)), to = nb::steal(PyLong_FromSsize_t(first ? 7 : 3));
    nb::object slice = nb::steal(PySlice_New(from.ptr(), to.ptr(), nullptr));
    return slice.is_valid() ? assign_subscript(self, slice.ptr(), value) : -1;
}

PyGetSetDef attributes[] = {
    {"x", get_attribute, set_attribute, "Component 0.", reinterpret_cast<void*>(0)},
    {"y", get_attribute, set_attribute, "Component 1.", reinterpret_cast<void*>(1)},
    {"z", get_attribute, set_attribute, "Component 2.", reinterpret_cast<void*>(2)},
    {"w", get_attribute, set_attribute, "Component 3.", reinterpret_cast<void*>(3)},
    {"p", get_part, set_part, "The translation, a copy.", reinterpret_cast<void*>(0)},
    {"q", get_part, set_part, "The rotation, a copy.", reinterpret_cast<void*>(3)},
};

// -- the whole --------------------------------------------------------------------------------------------------------

Py_ssize_t length(PyObject* self) {
    const ValueInfo& t = info(self_of(self));
    return t.is_matrix() ? t.rows : t.count;
}

// A tuple or list of what `get(i)` gives, for i below n.
template <class New, class Set, class Get>
PyObject* gather(New make, Set set, Py_ssize_t n, Get get) {
    nb::object out = nb::steal(make(n));
    if (!out.is_valid()) return nullptr;
    for (Py_ssize_t i = 0; i < n; ++i) {
        PyObject* part = get(i);
        if (!part) return nullptr;
        set(out.ptr(), i, part);
    }
    return out.release().ptr();
}

void set_in_tuple(PyObject* tuple, Py_ssize_t i, PyObject* x) { PyTuple_SET_ITEM(tuple, i, x); }
void set_in_list(PyObject* list, Py_ssize_t i, PyObject* x) { PyList_SET_ITEM(list, i, x); }

PyObject* numbers(Value* v, Py_ssize_t first, Py_ssize_t count) {
    return gather(PyTuple_New, set_in_tuple, count,
                  [&](Py_ssize_t i) { return plain_number(info(v).scalar, v->at(first + i)); });
}

PyObject* iterate(PyObject* self) {
    nb::object parts =
        nb::steal(gather(PyList_New, set_in_list, length(self), [&](Py_ssize_t i) { return item(self, i); }));
    return parts.is_valid() ? PyObject_GetIter(parts.ptr()) : nullptr;
}

Py_hash_t hash(PyObject* self) {
    Value* v = self_of(self);
    const ValueInfo& t = info(v);
    auto row = [&](Py_ssize_t r) { return numbers(v, r * t.cols, t.cols); };
    nb::object parts = nb::steal(t.is_matrix() ? gather(PyTuple_New, set_in_tuple, t.rows, row) : row(0));
    return parts.is_valid() ? PyObject_Hash(parts.ptr()) : -1;
}

PyObject* leaves(PyObject* self, PyObject*) { return numbers(self_of(self), 0, info(self_of(self)).count); }

PyObject* pack(PyObject* self, PyObject*) {
    return PyBytes_FromStringAndSize(reinterpret_cast<char*>(self_of(self)->data), info(self_of(self)).size);
}

PyObject* from_leaves(PyObject* cls, PyObject* sequence) {
    Value* v = allocate(reinterpret_cast<PyTypeObject*>(cls));
    if (!v || assign_numbers(v, sequence)) return object(v);
    Py_DECREF(object(v));
    return nullptr;
}

// Sets the component at a flat index to a number in range.
PyObject* save(PyObject* self, PyObject* const* args, Py_ssize_t n) {
    Value* v = self_of(self);
    Py_ssize_t i = n == 2 ? PyNumber_AsSsize_t(args[0], PyExc_IndexError) : -1;
    if (i == -1 && PyErr_Occurred()) return nullptr;
    if (i < 0 || i >= info(v).count) return PyErr_Format(PyExc_IndexError, "no such component");
    if (!store(info(v).scalar, args[1], v->at(i)))
        return PyErr_Format(PyExc_TypeError, "%s got a component that is not in range", short_name(v));
    Py_RETURN_NONE;
}

// The bytes of a value in a buffer from `offset` on, as a memoryview; null with an exception.
nb::object bytes_in(PyTypeObject* cls, PyObject* buffer, Py_ssize_t offset) {
    nb::object view = nb::steal(PyMemoryView_FromObject(buffer));
    if (!view.is_valid()) return view;
    const Py_buffer* memory = PyMemoryView_GET_BUFFER(view.ptr());
    if (!PyBuffer_IsContiguous(memory, 'C')) {
        PyErr_SetString(PyExc_TypeError, "the buffer is not C-contiguous");
    } else if (offset < 0) {
        PyErr_SetString(PyExc_ValueError, "the offset is negative");
    } else if (memory->len < info(cls).size || offset > memory->len - info(cls).size) {
        PyErr_Format(PyExc_ValueError, "a %s needs %zd bytes, the buffer has %zd after the offset %zd", short_name(cls),
                     info(cls).size, std::max<Py_ssize_t>(memory->len - offset, 0), offset);
    } else {
        return view;
    }
    return {};
}

// `from_buffer`, or `from_buffer_copy` where `shared` is false.
PyObject* of_buffer(PyObject* type, PyObject* args, PyObject* keywords, bool shared) {
    static const char* const names[] = {"source", "offset", nullptr};
    auto* cls = reinterpret_cast<PyTypeObject*>(type);
    PyObject* source;
    Py_ssize_t offset = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|n", const_cast<char**>(names), &source, &offset))
        return nullptr;
    nb::object made = nb::steal(object(allocate(cls)));
    nb::object view = made.is_valid() ? bytes_in(cls, source, offset) : nb::object();
    if (!view.is_valid()) return nullptr;
    Py_buffer* memory = PyMemoryView_GET_BUFFER(view.ptr());
    auto* from = static_cast<std::byte*>(memory->buf) + offset;
    Value* v = self_of(made.ptr());
    if (!shared) {
        std::memcpy(v->data, from, info(v).size);
    } else if (memory->readonly) {
        return PyErr_Format(PyExc_TypeError, "the buffer is not writable; %s.from_buffer_copy copies it",
                            short_name(cls));
    } else {
        v->data = from;
        v->owner = view.release().ptr();
    }
    return made.release().ptr();
}

PyObject* from_buffer(PyObject* type, PyObject* args, PyObject* keywords) {
    return of_buffer(type, args, keywords, true);
}
PyObject* from_buffer_copy(PyObject* type, PyObject* args, PyObject* keywords) {
    return of_buffer(type, args, keywords, false);
}

template <class F>
PyCFunction method(F* function) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef methods[] = {
    {"_from", from_leaves, METH_CLASS | METH_O, "A value of components that are in range."},
    {"_leaves", leaves, METH_NOARGS, "The components as Python numbers, in memory order."},
    {"_save", method(save), METH_FASTCALL, "Set the component at a flat index to a number in range."},
    {"_wc_pack", pack, METH_NOARGS, "The memory as kernels see it."},
    {"from_buffer", method(from_buffer), METH_CLASS | METH_VARARGS | METH_KEYWORDS,
     "A value that shares the memory of a writable buffer from an offset in bytes on."},
    {"from_buffer_copy", method(from_buffer_copy), METH_CLASS | METH_VARARGS | METH_KEYWORDS,
     "A value whose bytes are copied from a buffer, from an offset in bytes on."},
    {}};

// -- memory -----------------------------------------------------------------------------------------------------------

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
    const ValueInfo& t = info(self_of(self));
    const char* format = buffer_format(t.scalar);
    if (!format && flags & PyBUF_FORMAT) {
        PyErr_Format(PyExc_BufferError, "buffers have no format for the components of a %s", short_name(self_of(self)));
        view->obj = nullptr;
        return -1;
    }
    *view = {};
    view->obj = Py_NewRef(self);
    view->buf = self_of(self)->data;
    view->len = t.size;
    view->itemsize = t.itemsize;
    view->ndim = 1;
    view->format = flags & PyBUF_FORMAT ? const_cast<char*>(format) : nullptr;
    view->shape = flags & PyBUF_ND ? const_cast<Py_ssize_t*>(&t.count) : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? const_cast<Py_ssize_t*>(&t.itemsize) : nullptr;
    return 0;
}

PySequenceMethods sequence;
PyMappingMethods mapping;
PyBufferProcs buffer;

}  // namespace

bool add_attributes(PyTypeObject* cls) {
    const ValueInfo& t = info(cls);
    if (t.is_matrix()) return true;
    bool transform = t.form == Form::Transform;
    for (int i = transform ? 4 : 0; i < (transform ? 6 : std::min<Py_ssize_t>(t.count, 4)); ++i) {
        nb::object made = nb::steal(PyDescr_NewGetSet(&value_type, &attributes[i]));
        auto* object = reinterpret_cast<PyObject*>(cls);
        if (!made.is_valid() || PyObject_SetAttrString(object, attributes[i].name, made.ptr()) < 0) return false;
    }
    return true;
}

void add_access(PyTypeObject& type) {
    sequence.sq_length = mapping.mp_length = length;
    sequence.sq_item = item;
    mapping.mp_subscript = subscript;
    mapping.mp_ass_subscript = assign_subscript;
    buffer.bf_getbuffer = get_buffer;
    type.tp_as_sequence = &sequence;
    type.tp_as_mapping = &mapping;
    type.tp_as_buffer = &buffer;
    type.tp_iter = iterate;
    type.tp_hash = hash;
    type.tp_methods = methods;
}

}  // namespace wc
