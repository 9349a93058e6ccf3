// Memory that other libraries hand to this package: by DLPack's table and capsules, or by the buffer protocol.
#include "interop/exchange.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>

#include "interop/dlpack_export.h"
#include "launches/plan.h"

namespace wc {
namespace {

struct Names {
    PyObject* table = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
    PyObject* requires_grad = PyUnicode_InternFromString("requires_grad");
    PyObject* stop_gradient = PyUnicode_InternFromString("stop_gradient");
    PyObject* is_neg = PyUnicode_InternFromString("is_neg");
};

const Names& names() {
    static const Names n;
    return n;
}

// What is known of the objects of a class.
struct ForeignClass {
    nb::object cls;  // held, so that no other class gets its address
    const dlpack::Table* table = nullptr;
    bool requires_grad = false, stop_gradient = false, is_neg = false;  // attributes that it has
};

constexpr size_t kMostClasses = 1024;

ForeignClass look_up(PyTypeObject* type) {
    ForeignClass found{nb::borrow(reinterpret_cast<PyObject*>(type))};
    if (PyType_IsSubtype(type, array_type)) return found;  // not foreign
    nb::object capsule = nb::steal(PyObject_GetAttr(found.cls.ptr(), names().table));
    if (!capsule.is_valid() || !PyCapsule_IsValid(capsule.ptr(), dlpack::kTableName)) {
        PyErr_Clear();
        return found;
    }
    auto* table = static_cast<const dlpack::Table*>(PyCapsule_GetPointer(capsule.ptr(), dlpack::kTableName));
    while (table && table->version.major > dlpack::kMajor) table = table->previous;
    found.table = table && table->version.major == dlpack::kMajor ? table : nullptr;
    auto has = [&](PyObject* name) { return PyObject_HasAttr(found.cls.ptr(), name) == 1; };
    found.requires_grad = has(names().requires_grad);
    found.stop_gradient = has(names().stop_gradient);
    found.is_neg = has(names().is_neg);
    return found;
}

const ForeignClass& class_at(PyTypeObject* type) {
    static auto& classes = *new std::unordered_map<PyTypeObject*, ForeignClass>;
    static const ForeignClass* latest = nullptr;
    if (latest && latest->cls.ptr() == reinterpret_cast<PyObject*>(type)) return *latest;
    auto found = classes.find(type);
    if (found == classes.end()) {
        if (classes.size() == kMostClasses) classes.clear();
        found = classes.emplace(type, look_up(type)).first;
    }
    latest = &found->second;
    return *latest;
}

const ForeignClass& class_of(PyObject* object) { return class_at(Py_TYPE(object)); }

bool is_true(nb::object value) {
    if (!value.is_valid()) throw nb::python_error();
    return value.ptr() == Py_True;
}

// Only views of the imaginary parts of conjugate numbers have a negative bit, and these have even strides. As asking
// the tensor takes longer than all else, others are not asked.
bool may_be_negative(const ForeignMemory& m) {
    if (m.scalar.kind != Kind::Float) return false;
    for (int i = 0; i < m.ndim && m.ndim <= ForeignMemory::kMost; ++i)
        if (m.shape[i] > 1 && m.strides[i] / m.scalar.size % 2 != 0) return false;
    return true;
}

void check_negative(const ForeignClass& cls, PyObject* object, const ForeignMemory& memory) {
    if (!cls.is_neg || !may_be_negative(memory)) return;
    if (is_true(nb::steal(PyObject_VectorcallMethod(names().is_neg, &object, 1, nullptr))))
        raise(PyExc_ValueError,
              "it has its negative bit set, so that its memory holds the numbers with the wrong sign: "
              "pass x.resolve_neg()");
}

// Throws if a function of a table has failed, whether or not it has said why. `object` is the tensor.
void check_result(bool is_done, nb::handle object) {
    if (is_done) return;
    if (!PyErr_Occurred()) raise(PyExc_BufferError, "the tensor's library gave no tensor, and no reason");
    nb::python_error error;
    if (!error.matches(PyExc_Exception)) throw error;
    exchange_hooks().check_usable(object);
    std::string words = nb::str(error.value()).c_str();
    raise(error.type().ptr(), words.substr(0, words.find('\n')));  // without the lines of C++ below
}

bool has_elements(const ForeignMemory& m) {
    const int ndim = std::min(m.ndim, ForeignMemory::kMost);
    return std::find(m.shape, m.shape + ndim, 0) == m.shape + ndim;
}

// Raises for a tensor that has elements, but no memory for them, if its library can say why.
void check_data(const ForeignMemory& memory, nb::handle object) {
    if (!memory.data && has_elements(memory)) exchange_hooks().check_usable(object);
}

// Raises if the library would expect gradients of what is done with the tensor.
void check_gradient(const ForeignClass& cls, PyObject* object) {
    bool tracked = cls.requires_grad   ? is_true(nb::steal(PyObject_GetAttr(object, names().requires_grad)))
                   : cls.stop_gradient ? !is_true(nb::steal(PyObject_GetAttr(object, names().stop_gradient)))
                                       : false;
    if (tracked) exchange_hooks().check_untracked(nb::handle(object));
}

Scalar scalar_of(const dlpack::Tensor& t) {
    constexpr std::array<Kind, 7> kinds{Kind::Int,    Kind::Uint, Kind::Float, Kind::None,
                                        Kind::Bfloat, Kind::None, Kind::Bool};
    Kind kind = t.code < kinds.size() && t.lanes == 1 ? kinds[t.code] : Kind::None;
    bool whole = t.bits == 8 || t.bits == 16 || t.bits == 32 || t.bits == 64;
    bool fits = (kind == Kind::Float && t.bits > 8) || (kind == Kind::Bfloat && t.bits == 16) ||
                (kind == Kind::Bool && t.bits == 8) || kind == Kind::Int || kind == Kind::Uint;
    return whole && fits ? Scalar{kind, static_cast<uint8_t>(t.bits / 8)} : Scalar{};
}

std::string type_words(const dlpack::Tensor& t) {
    std::string bits = std::to_string(t.bits);
    if (t.code == 5 && t.lanes == 1) return "complex" + bits;
    if (t.code >= 7 && t.code <= 17 && t.lanes == 1) return "float" + bits;
    return "type code " + std::to_string(t.code) + " of DLPack, " + bits + " bits, " + std::to_string(t.lanes) +
           " lanes";
}

ForeignMemory memory_of(const dlpack::Tensor& t) {
    ForeignMemory m;
    m.data = static_cast<std::byte*>(t.data) + t.offset;
    m.device = t.device;
    m.scalar = scalar_of(t);
    if (m.scalar.kind == Kind::None) m.type_name = type_words(t);
    m.ndim = t.ndim;
    if (t.ndim > ForeignMemory::kMost) return m;
    int64_t size = m.scalar.size, step = size;
    for (int i = t.ndim - 1; i >= 0; step *= t.shape[i--]) {
        m.shape[i] = t.shape[i];
        m.strides[i] = t.strides ? t.strides[i] * size : step;
    }
    return m;
}

// Whether numbers of one type in memory can be used as those of another.
bool shows(const Scalar& given, const Scalar& wanted) {
    if (given == wanted) return true;
    auto is_integer = [](Kind k) { return k == Kind::Int || k == Kind::Uint; };
    if (given.size != wanted.size || wanted.kind == Kind::None) return false;
    if (is_integer(given.kind) && is_integer(wanted.kind)) return true;
    return given.kind == Kind::Bool && wanted.kind == Kind::Uint;
}

bool is_aligned(const ForeignMemory& m) {
    auto bits = reinterpret_cast<uintptr_t>(m.data);
    for (int i = 0; i < m.ndim; ++i)
        if (m.shape[i] > 1) bits |= static_cast<uintptr_t>(m.strides[i]);
    return bits % m.scalar.size == 0;
}

Misfit check_components(const ForeignMemory& m, const Dtype& d, int outer, bool empty) {
    int64_t step = m.scalar.size;
    bool dense = true;
    for (int i = d.rank - 1; i >= 0; step *= d.shape[i--]) {
        if (m.shape[outer + i] != d.shape[i]) return Misfit::Components;
        dense &= d.shape[i] == 1 || m.strides[outer + i] == step;
    }
    return dense || empty ? Misfit::None : Misfit::NotDense;
}

int id_of(const Scalar& s) { return type_id(scalar_key(s), s.size); }

}  // namespace

std::string scalar_words(const Scalar& s) {
    const char* kinds[] = {"bool", "int", "uint", "float", "bfloat", "?"};
    std::string kind = kinds[static_cast<int>(s.kind)];
    return s.kind == Kind::Bool || s.kind == Kind::None ? kind : kind + std::to_string(s.size * 8);
}

std::string ForeignMemory::shape_words() const {
    if (ndim > kMost) return std::to_string(ndim) + " dimensions";
    std::string out = "(";
    for (int i = 0; i < ndim; ++i) out += (i ? ", " : "") + std::to_string(shape[i]);
    return out + (ndim == 1 ? ",)" : ")");
}

std::string ForeignMemory::words() const {
    return "data of " + (scalar.kind == Kind::None ? type_name : scalar_words(scalar)) + " with shape " + shape_words();
}

Misfit fit(const ForeignMemory& m, int dtype_id, int ndim, Array& out) {
    if (m.scalar.kind == Kind::None) return Misfit::Type;
    if (m.ndim > ForeignMemory::kMost) return Misfit::TooMany;
    const int id = dtype_id < 0 ? id_of(m.scalar) : dtype_id;
    const Dtype& d = dtype(id);
    if (!shows(m.scalar, d.scalar)) return Misfit::Type;
    const int outer = m.ndim - d.rank;
    const bool empty = !has_elements(m);
    if (outer < 0) return Misfit::Components;
    if (Misfit why = check_components(m, d, outer, empty); why != Misfit::None) return why;
    if (outer > kMaxNdim) return Misfit::TooMany;
    out.ndim = std::max(outer, 1);
    if (ndim >= 0 && out.ndim != ndim) return Misfit::Dimensions;
    if (!m.data && !empty) return Misfit::NoData;
    if (!empty && !is_aligned(m)) return Misfit::NotAligned;
    out.dtype = id;
    out.flags = m.read_only ? kReadOnly : 0;
    out.view.data = m.data;
    out.view.shape[0] = 1;  // of memory without dimensions
    out.view.strides[0] = d.itemsize;
    std::copy_n(m.shape, outer, out.view.shape);
    std::copy_n(m.strides, outer, out.view.strides);
    finish(out);
    return Misfit::None;
}

bool borrow(PyObject* object, ForeignMemory& out, bool checks_gradient) {
    const ForeignClass& cls = class_of(object);
    if (!cls.table || !cls.table->borrow) return false;
    if (checks_gradient) check_gradient(cls, object);
    dlpack::Tensor tensor{};
    check_result(cls.table->borrow(object, &tensor) == 0, object);
    out = memory_of(tensor);
    check_data(out, object);
    check_negative(cls, object, out);
    return true;
}

namespace {

// -- taken, to be kept ------------------------------------------------------------------------------------------------

template <class T>
T* look(nb::handle capsule) {
    return static_cast<T*>(PyCapsule_GetPointer(capsule.ptr(), T::fresh));
}

bool is_versioned(nb::handle capsule) {
    if (PyCapsule_IsValid(capsule.ptr(), dlpack::Unversioned::fresh)) return false;
    if (PyCapsule_IsValid(capsule.ptr(), dlpack::Managed::fresh)) {
        uint32_t major = look<dlpack::Managed>(capsule)->version.major;
        if (major == dlpack::kMajor) return true;
        PyErr_Format(PyExc_BufferError, "the capsule is of DLPack version %u, but only versions before 2 are supported",
                     major);
        throw nb::python_error();
    }
    const char* name = PyCapsule_CheckExact(capsule.ptr()) ? PyCapsule_GetName(capsule.ptr()) : nullptr;
    bool used = name && std::string_view(name).starts_with("used_");
    raise(PyExc_BufferError, used ? "the capsule has been consumed already: each can be imported once"
                                  : "expected a capsule of DLPack, named dltensor or dltensor_versioned");
}

constexpr const char* kLoan = "omni_warp_loan";

template <class T>
void end_loan(PyObject* owner) {
    auto* managed = static_cast<T*>(PyCapsule_GetPointer(owner, kLoan));
    if (managed->deleter) managed->deleter(managed);
}

// An object that keeps a tensor, and gives it back when it dies.
template <class T>
nb::object loan_of(T* managed) {
    nb::object owner = nb::steal(PyCapsule_New(managed, kLoan, end_loan<T>));
    if (owner.is_valid()) return owner;
    if (managed->deleter) managed->deleter(managed);
    throw nb::python_error();
}

struct Taken {
    nb::object owner;
    ForeignMemory memory;
};

template <class T>
Taken take_capsule(nb::handle capsule) {
    T* managed = look<T>(capsule);
    if (PyCapsule_SetName(capsule.ptr(), T::used) != 0) throw nb::python_error();
    Taken taken{loan_of(managed), memory_of(managed->tensor)};
    if constexpr (std::is_same_v<T, dlpack::Managed>) taken.memory.read_only = managed->flags & dlpack::kReadOnly;
    return taken;
}

Taken take_object(const ForeignClass& cls, PyObject* object) {
    dlpack::Managed* managed = nullptr;
    check_result(cls.table->from_object(object, &managed) == 0 && managed, object);
    Taken taken{loan_of(managed), memory_of(managed->tensor)};
    check_data(taken.memory, object);
    taken.memory.read_only = managed->flags & dlpack::kReadOnly;
    check_negative(cls, object, taken.memory);
    return taken;
}

Taken take_any(nb::handle source) {
    if (PyCapsule_CheckExact(source.ptr()))
        return is_versioned(source) ? take_capsule<dlpack::Managed>(source) : take_capsule<dlpack::Unversioned>(source);
    const ForeignClass& cls = class_of(source.ptr());
    if (!cls.table) raise(PyExc_TypeError, "the class has no __dlpack_c_exchange_api__");
    return take_object(cls, source.ptr());
}

}  // namespace

bool has_moved(const PyArray& a) {
    dlpack::Tensor now{};
    if (class_of(a.tensor).table->borrow(a.tensor, &now) == 0)
        return static_cast<std::byte*>(now.data) + now.offset != a.view.data;
    PyErr_Clear();
    return true;
}

nb::object held_tensor(PyObject* object) {
    const ForeignClass& cls = class_of(object);
    if (!cls.table) return {};
    check_gradient(cls, object);
    Taken taken = take_object(cls, object);
    return taken.owner;
}

int device_number(const dlpack::Device& device) {
    if (device.type == dlpack::kHost || device.type == dlpack::kPinned) return 0;
    if (device.type == dlpack::kCuda || device.type == dlpack::kManagedMemory) return device.id + 1;
    return -1;
}

void refuse_misfit(Misfit why, const ForeignMemory& m, int dtype_id) {
    std::string found = m.scalar.kind == Kind::None ? m.type_name : scalar_words(m.scalar);
    std::string wanted = dtype_id < 0 ? "" : dtype(dtype_id).display;
    switch (why) {
        case Misfit::Type:
            if (wanted.empty()) raise(PyExc_TypeError, "arrays do not support numbers of " + found);
            [[fallthrough]];
        case Misfit::Components:
        case Misfit::Dimensions:
            raise(PyExc_TypeError,
                  "expected elements of " + wanted + ", got " + found + " of shape " + m.shape_words());
        case Misfit::NotDense:
            raise(PyExc_ValueError, "the components of an element must be contiguous, as after .contiguous()");
        case Misfit::NotAligned:
            raise(PyExc_ValueError, "the memory is not aligned to its " + found + "; pass a copy");
        case Misfit::NoData:
            raise(PyExc_ValueError, "it has elements, but no memory for them");
        case Misfit::TooMany:
            raise(PyExc_ValueError, "arrays have up to 4 dimensions, got " + m.shape_words());
        case Misfit::None:
            break;
    }
}

namespace {

// Lets an array that is not initialised yet show the memory. Returns its type and the device.
nb::tuple take(nb::handle made, nb::handle source, int dtype_id) {
    Taken taken = take_any(source);
    PyArray a;
    if (Misfit why = fit(taken.memory, dtype_id, -1, a); why != Misfit::None)
        refuse_misfit(why, taken.memory, dtype_id);
    const dlpack::Device& on = taken.memory.device;
    a.device = std::max(device_number(on), 0);
    a.owner = std::move(taken.owner);
    nb::tuple found = nb::make_tuple(a.dtype, on.type, on.id);
    new (nb::inst_ptr<PyArray>(made)) PyArray(std::move(a));
    nb::inst_mark_ready(made);
    return found;
}

// A bare array over the memory of a tensor, which it holds. Launches look whether the tensor still has that memory.
nb::object describe_tensor(nb::handle tensor, int dtype_id, nb::handle gradient) {
    ForeignMemory memory;
    Descriptor made;
    if (!borrow(tensor.ptr(), memory, false)) raise(PyExc_TypeError, "the class has no table of DLPack");
    if (Misfit why = fit(memory, dtype_id, -1, made); why != Misfit::None) refuse_misfit(why, memory, dtype_id);
    made.device = device_number(memory.device);
    made.owner = nb::borrow(tensor);
    made.tensor = tensor.ptr();
    if (const PyArray* grad = as_array(gradient.ptr())) {
        made.view.grad = grad->view.data;
        made.owner = nb::make_tuple(tensor, gradient);
    }
    return nb::cast(std::move(made));
}

nb::tuple device_of(nb::handle capsule) {
    const dlpack::Device& d = is_versioned(capsule) ? look<dlpack::Managed>(capsule)->tensor.device
                                                    : look<dlpack::Unversioned>(capsule)->tensor.device;
    return nb::make_tuple(d.type, d.id);
}

uintptr_t stream_of(nb::handle source, int type, int id) {
    void* stream = nullptr;
    check_result(class_of(source.ptr()).table->current_stream(type, id, &stream) == 0, source);
    return reinterpret_cast<uintptr_t>(stream);
}

// An object of a class with a table over the memory of an array.
nb::object give(nb::handle cls, nb::handle array) {
    const ForeignClass& found = class_at(reinterpret_cast<PyTypeObject*>(cls.ptr()));
    if (!found.table) raise(PyExc_TypeError, "the class has no __dlpack_c_exchange_api__");
    void* made = nullptr;
    check_result(found.table->to_object(managed_of(array.ptr()), &made) == 0 && made, array);
    return nb::steal(static_cast<PyObject*>(made));
}

}  // namespace

void bind_exchange(nb::module_& m) {
    nb::module_ sub = m.def_submodule("exchange", "Memory shared with other libraries.");
    bind_exports(sub);
    sub.def("describe_tensor", &describe_tensor, nb::arg("tensor"), nb::arg("dtype_id"),
            nb::arg("gradient").none() = nb::none());
    sub.def("take", &take, nb::arg("made"), nb::arg("source"), nb::arg("dtype_id") = -1);
    sub.def("device", &device_of, nb::arg("capsule"));
    sub.def(
        "has_table", [](nb::handle object) { return class_of(object.ptr()).table != nullptr; },
        nb::arg("object").none());
    sub.def("stream_of", &stream_of, nb::arg("source"), nb::arg("device_type"), nb::arg("device_id"));
    sub.def("give", &give, nb::arg("cls"), nb::arg("array"));
}

}  // namespace wc
