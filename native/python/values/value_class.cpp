// The classes of values and how instances are constructed.
#include <cstring>
#include <map>
#include <string>
#include <tuple>

#include "arrays/buffers.h"
#include "arrays/numbers.h"
#include "values/values.h"

namespace wc {
namespace {

constexpr Py_ssize_t kLargest = PY_SSIZE_T_MAX / 64;  // bytes of a value

PyObject* class_maker = nullptr;  // makes the class of a type from the type's key
PyObject* array_maker = nullptr;  // makes the class of arrays of `ctypes` from a class and a length

// -- construction from the usual arguments ----------------------------------------------------------------------------

bool is_plain_sequence(PyObject* x) { return PyList_CheckExact(x) || PyTuple_CheckExact(x); }

// Numbers to consecutive components. Nothing here runs Python code, so the items stay what they are.
bool fill_numbers(const ValueInfo& t, PyObject* const* items, Py_ssize_t count, std::byte* to) {
    for (Py_ssize_t i = 0; i < count; ++i, to += t.itemsize)
        if (!store(t.scalar, items[i], to)) return false;
    return true;
}

// Components of another value; false if one needs more than a conversion of width.
bool fill_components(const ValueInfo& t, Value* from, std::byte* to) {
    const ValueInfo& f = info(from);
    if (f.scalar == t.scalar) {
        std::memcpy(to, from->data, f.size);
        return true;
    }
    for (Py_ssize_t i = 0; i < f.count; ++i, to += t.itemsize) {
        nb::object number = nb::steal(plain_number(f.scalar, from->at(i)));
        if (!number.is_valid()) PyErr_Clear();
        if (!number.is_valid() || !store(t.scalar, number.ptr(), to)) return false;
    }
    return true;
}

// One argument that gives `count` components: a vector or a plain sequence.
bool fill_part(const ValueInfo& t, PyObject* part, Py_ssize_t count, std::byte* to) {
    if (Value* v = as_value(part)) return info(v).count == count && !info(v).is_matrix() && fill_components(t, v, to);
    return is_plain_sequence(part) && PySequence_Fast_GET_SIZE(part) == count &&
           fill_numbers(t, PySequence_Fast_ITEMS(part), count, to);
}

void fill_rotation(const ValueInfo& t, std::byte* data) {
    nb::object one = nb::steal(PyLong_FromLong(1));
    store(t.scalar, one.ptr(), data + 6 * t.itemsize);
}

// Sequences that together give the components: rows, vector and number, position and rotation, two vectors.
bool fill_parts(const ValueInfo& t, PyObject* const* args, Py_ssize_t n, std::byte* data) {
    if (t.is_matrix()) {
        if (n != t.rows) return false;
        for (Py_ssize_t r = 0; r < n; ++r)
            if (!fill_part(t, args[r], t.cols, data + r * t.cols * t.itemsize)) return false;
        return true;
    }
    if (n != 2) return false;
    std::byte* rest = data + 3 * t.itemsize;
    if (t.form == Form::Quat) return fill_part(t, args[0], 3, data) && fill_numbers(t, args + 1, 1, rest);
    if (t.form == Form::Transform) return fill_part(t, args[0], 3, data) && fill_part(t, args[1], 4, rest);
    return t.count == 6 && fill_part(t, args[0], 3, data) && fill_part(t, args[1], 3, rest);
}

bool fill_items(const ValueInfo& t, PyObject* const* items, Py_ssize_t n, std::byte* data) {
    if (n == t.count && fill_numbers(t, items, n, data)) return true;
    return fill_parts(t, items, n, data);
}

bool fill_value(const ValueInfo& t, Value* from, std::byte* data) {
    const ValueInfo& f = info(from);
    if (t.form == Form::Transform && f.count == 3 && !f.is_matrix()) {
        fill_rotation(t, data);
        return fill_components(t, from, data);
    }
    bool fits = !t.is_matrix() || !f.is_matrix() || (t.rows == f.rows && t.cols == f.cols);
    return f.count == t.count && fits && fill_components(t, from, data);
}

// Memory with numbers of the shape of the value, NumPy arrays above all.
bool fill_buffer(const ValueInfo& t, PyObject* object, std::byte* data) {
    if (!PyObject_CheckBuffer(object) || PyBytes_Check(object)) return false;
    BufferView view(object, PyBUF_STRIDES | PyBUF_FORMAT);
    if (!view.held) {
        PyErr_Clear();
        return false;
    }
    Py_ssize_t rows = view.ndim == 2 ? view.shape[0] : 1, cols = view.ndim > 0 ? view.shape[view.ndim - 1] : 0;
    bool flat = view.ndim == 1 && cols == t.count;
    bool matrix = view.ndim == 2 && t.is_matrix() && rows == t.rows && cols == t.cols;
    Scalar s = buffer_scalar(view.format, view.itemsize);
    if ((!flat && !matrix) || s.kind == Kind::None) return false;
    for (Py_ssize_t r = 0; r < rows; ++r) {
        auto* from = static_cast<const std::byte*>(view.buf) + (matrix ? r * view.strides[0] : 0);
        for (Py_ssize_t c = 0; c < cols; ++c, from += view.strides[view.ndim - 1], data += t.itemsize) {
            if (s == t.scalar && s.kind != Kind::Bool) {
                std::memcpy(data, from, t.itemsize);
                continue;
            }
            nb::object number = nb::steal(plain_number(s, from));
            if (!number.is_valid()) PyErr_Clear();
            if (!number.is_valid() || !store(t.scalar, number.ptr(), data)) return false;
        }
    }
    return true;
}

// Sets the components to what the usual arguments say. False for all others, which Python takes apart.
bool fill(Value* v, PyObject* const* args, Py_ssize_t n) {
    const ValueInfo& t = info(v);
    if (n == 0) {
        if (t.form == Form::Transform) fill_rotation(t, v->data);
        return true;
    }
    if (n > 1) return fill_items(t, args, n, v->data);
    PyObject* only = args[0];
    if (store(t.scalar, only, v->data)) {
        for (Py_ssize_t i = 1; i < t.count; ++i) std::memcpy(v->at(i), v->data, t.itemsize);
        return true;
    }
    if (Value* from = as_value(only)) return fill_value(t, from, v->data);
    if (!is_plain_sequence(only)) return fill_buffer(t, only, v->data);
    if (t.form == Form::Transform && fill_part(t, only, 3, v->data)) {
        fill_rotation(t, v->data);
        return true;
    }
    return fill_items(t, PySequence_Fast_ITEMS(only), PySequence_Fast_GET_SIZE(only), v->data);
}

bool parse(Value* v, PyObject* const* args, size_t n, PyObject* names) {
    nb::object method = nb::steal(PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(v)), hooks().parse));
    if (!method.is_valid()) return false;
    nb::object numbers = nb::steal(PyObject_Vectorcall(method.ptr(), args, n, names));
    return numbers.is_valid() && assign_numbers(v, numbers.ptr());
}

PyObject* construct(PyObject* cls, PyObject* const* args, size_t flagged, PyObject* names) {
    Value* v = allocate(reinterpret_cast<PyTypeObject*>(cls));
    auto n = static_cast<size_t>(PyVectorcall_NARGS(flagged));
    if (!v || (!names && fill(v, args, static_cast<Py_ssize_t>(n)))) return object(v);
    if (parse(v, args, n, names)) return object(v);
    Py_DECREF(object(v));
    return nullptr;
}

int init(PyObject* self, PyObject* args, PyObject* keywords) {
    auto* v = reinterpret_cast<Value*>(self);
    std::memset(v->data, 0, info(v).size);
    if (!keywords && fill(v, &PyTuple_GET_ITEM(args, 0), PyTuple_GET_SIZE(args))) return 0;
    nb::object method = nb::steal(PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(v)), hooks().parse));
    if (!method.is_valid()) return -1;
    nb::object numbers = nb::steal(PyObject_Call(method.ptr(), args, keywords));
    return numbers.is_valid() && assign_numbers(v, numbers.ptr()) ? 0 : -1;
}

PyObject* make_empty(PyTypeObject* cls, PyObject*, PyObject*) { return object(allocate(cls)); }

void dealloc(PyObject* self) {
    PyTypeObject* cls = Py_TYPE(self);
    Py_XDECREF(reinterpret_cast<Value*>(self)->owner);
    cls->tp_free(self);
    Py_DECREF(reinterpret_cast<PyObject*>(cls));
}

// -- classes ----------------------------------------------------------------------------------------------------------

Form form_of(const std::string& key) {
    if (key.starts_with("mat")) return Form::Mat;
    if (key.starts_with("quat")) return Form::Quat;
    return key.starts_with("transform") ? Form::Transform : Form::Vec;
}

// Reads a Type of lang/types.py.
ValueInfo describe_type(nb::handle type) {
    ValueInfo t{};
    t.scalar = parse_dtype(nb::str(type.attr("scalar").attr("key")).c_str(), 0).scalar;
    t.form = form_of(nb::str(type.attr("key")).c_str());
    t.count = nb::cast<Py_ssize_t>(type.attr("count"));
    t.rows = t.is_matrix() ? nb::cast<Py_ssize_t>(type.attr("rows")) : 1;
    t.cols = t.is_matrix() ? nb::cast<Py_ssize_t>(type.attr("cols")) : t.count;
    t.itemsize = t.scalar.size;
    Py_ssize_t least = t.form == Form::Quat ? 4 : t.form == Form::Transform ? 7 : 0;
    if (t.scalar.kind == Kind::None || t.count < least || t.rows < 0 || t.cols < 0)
        throw nb::type_error("__wc_type__ is not a packed type");
    Py_ssize_t count;
    if (__builtin_mul_overflow(t.rows, t.cols, &count) || count != t.count || count > kLargest / t.itemsize)
        throw nb::value_error("a value of this type would be too large");
    t.size = t.count * t.itemsize;
    t.type = type.inc_ref().ptr();
    return t;
}

bool is_concrete(PyObject* cls) {
    return PyObject_TypeCheck(cls, &value_meta) && info(reinterpret_cast<PyTypeObject*>(cls)).type;
}

void complete(PyTypeObject* cls, PyObject* type) {
    auto* made = reinterpret_cast<ValueClass*>(cls);
    if (cls->tp_basicsize != sizeof(Value) || cls->tp_dictoffset || cls->tp_weaklistoffset)
        throw nb::type_error("the class of a type has __slots__ = (), like all its bases");
    made->info = describe_type(type);
    cls->tp_basicsize += (made->info.size + 7) / 8 * 8;
    cls->tp_vectorcall = construct;
    cls->tp_dealloc = dealloc;
    if (!add_attributes(cls)) throw nb::python_error();
}

PyObject* make_class(PyTypeObject* meta, PyObject* args, PyObject* keywords) {
    nb::object made = nb::steal(PyType_Type.tp_new(meta, args, keywords));
    if (!made.is_valid()) return nullptr;
    auto* cls = reinterpret_cast<PyTypeObject*>(made.ptr());
    if (!PyType_IsSubtype(cls, &value_type) || !PyObject_TypeCheck(made.ptr(), &value_meta))
        return PyErr_Format(PyExc_TypeError, "%s is not a class of values", cls->tp_name);
    PyTypeObject* base = cls->tp_base;
    if (is_concrete(reinterpret_cast<PyObject*>(base))) {
        reinterpret_cast<ValueClass*>(cls)->info = info(base);
        Py_INCREF(info(base).type);
        return made.release().ptr();
    }
    try {
        nb::object own = nb::steal(PyObject_GetAttrString(made.ptr(), "__dict__"));
        nb::object type = own.is_valid() ? nb::steal(PyMapping_GetItemString(own.ptr(), "__wc_type__")) : nb::object();
        if (!type.is_valid()) {
            PyErr_Clear();
        } else {
            complete(cls, type.ptr());
        }
    } catch (nb::python_error& e) {
        e.restore();
        return nullptr;
    } catch (const nb::builtin_exception& e) {
        PyErr_SetString(e.type() == nb::exception_type::value_error ? PyExc_ValueError : PyExc_TypeError, e.what());
        return nullptr;
    } catch (const std::exception& e) {
        PyErr_SetString(PyExc_TypeError, e.what());
        return nullptr;
    }
    return made.release().ptr();
}

// `cls * length`, as for types of `ctypes`.
PyObject* array_class(PyObject* cls, Py_ssize_t length) {
    if (is_concrete(cls) && array_maker) return PyObject_CallFunction(array_maker, "On", cls, length);
    return PyErr_Format(PyExc_TypeError, "%s has no components to make arrays of",
                        reinterpret_cast<PyTypeObject*>(cls)->tp_name);
}

PySequenceMethods class_as_sequence = {.sq_repeat = array_class};

void dealloc_class(PyObject* self) {
    PyObject* type = reinterpret_cast<ValueClass*>(self)->info.type;
    PyType_Type.tp_dealloc(self);
    Py_XDECREF(type);
}

PyTypeObject* class_of(const char* form, Scalar s, Py_ssize_t rows, Py_ssize_t cols) {
    using Key = std::tuple<char, Kind, int, Py_ssize_t, Py_ssize_t>;
    static auto& known = *new std::map<Key, PyTypeObject*>;  // kept, like the classes, until the process ends
    Key key{form[0], s.kind, s.size, rows, cols};
    if (auto found = known.find(key); found != known.end()) return found->second;
    std::string text = form;
    if (form[0] == 'm') text.append(std::to_string(rows)).append("x");
    if (form[0] != 'q') text.append(std::to_string(cols));
    text.append("<").append(scalar_key(s)).append(">");
    nb::object made = nb::steal(class_maker ? PyObject_CallFunction(class_maker, "s", text.c_str()) : nullptr);
    if (made.is_valid() && is_concrete(made.ptr()))
        return known[key] = reinterpret_cast<PyTypeObject*>(made.release().ptr());
    if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "%s has no class of values", text.c_str());
    return nullptr;
}

void ready(PyTypeObject& type) {
    if (PyType_Ready(&type) < 0) throw nb::python_error();
}

}  // namespace

PyTypeObject value_meta = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject value_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

const Hooks& hooks() {
    static const Hooks h;
    return h;
}

const char* short_name(PyTypeObject* type) {
    const char* dot = std::strrchr(type->tp_name, '.');
    return dot ? dot + 1 : type->tp_name;
}

Value* allocate(PyTypeObject* cls) {
    if (is_concrete(reinterpret_cast<PyObject*>(cls))) {
        auto* made = reinterpret_cast<Value*>(cls->tp_alloc(cls, 0));
        if (made) made->data = made->inside;
        return made;
    }
    PyErr_Format(PyExc_TypeError, "%s is the base of many types; make values of one of them", cls->tp_name);
    return nullptr;
}

bool assign_numbers(Value* v, PyObject* sequence) {
    nb::object items = nb::steal(PySequence_Tuple(sequence));
    if (!items.is_valid()) return false;
    const ValueInfo& t = info(v);
    Py_ssize_t n = PyTuple_GET_SIZE(items.ptr());
    if (n != t.count) {
        PyErr_Format(PyExc_ValueError, "%s has %zd components, got %zd", short_name(v), t.count, n);
        return false;
    }
    if (fill_numbers(t, &PyTuple_GET_ITEM(items.ptr(), 0), n, v->data)) return true;
    PyErr_Format(PyExc_TypeError, "%s got components that are not in range", short_name(v));
    return false;
}

PyTypeObject* vector_class(Scalar s, Py_ssize_t count) { return class_of("vec", s, 1, count); }
PyTypeObject* matrix_class(Scalar s, Py_ssize_t rows, Py_ssize_t cols) { return class_of("mat", s, rows, cols); }
PyTypeObject* quaternion_class(Scalar s) { return class_of("quat", s, 1, 4); }

void bind_values(nb::module_& m) {
    value_meta.tp_name = "omni.warp_core._native.ValueClass";
    value_meta.tp_base = &PyType_Type;
    value_meta.tp_basicsize = sizeof(ValueClass);
    value_meta.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL;
    value_meta.tp_vectorcall_offset = offsetof(PyTypeObject, tp_vectorcall);
#ifdef Py_TPFLAGS_ITEMS_AT_END
    value_meta.tp_flags |= Py_TPFLAGS_ITEMS_AT_END;
#endif
    value_meta.tp_as_sequence = &class_as_sequence;
    value_meta.tp_new = make_class;
    value_meta.tp_dealloc = dealloc_class;
    ready(value_meta);

    value_type.tp_name = "omni.warp_core._native.Value";
    value_type.tp_basicsize = sizeof(Value);
    value_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
    value_type.tp_new = make_empty;
    value_type.tp_init = init;
    value_type.tp_dealloc = dealloc;
    add_access(value_type);
    add_operators(value_type);
    ready(value_type);

    m.attr("ValueClass") = nb::handle(reinterpret_cast<PyObject*>(&value_meta));
    m.attr("Value") = nb::handle(reinterpret_cast<PyObject*>(&value_type));
    m.def("set_class_maker", [](nb::callable make) { class_maker = make.release().ptr(); }, nb::arg("make"));
    m.def("set_array_maker", [](nb::callable make) { array_maker = make.release().ptr(); }, nb::arg("make"));
}

}  // namespace wc
