// Dispatcher: builtins at Python scope. A call whose argument types are known runs compiled code on packed arguments;
// any other goes to the method `_interpret` of the Python class. Signatures that come often are offered to `_compile`,
// which may add code for them. Start with `call`.
#include <cstring>
#include <memory>
#include <vector>

#include "arrays/numbers.h"
#include "launches/plan.h"
#include "values/values.h"
#include "warp_core/context.h"

namespace wc {
namespace {

constexpr size_t kMaxBytes = 2048;     // of arguments and results
constexpr size_t kMaxArguments = 16;   // in a call,
constexpr size_t kMaxSignatures = 64;  // and of one dispatcher; what is beyond is always interpreted
constexpr uint32_t kFirstOffer = 200;  // calls before `_compile` is asked

// What decides about the type of an argument: the class of a number, the Type of a value. Null for anything else.
using Tag = PyObject*;

Tag tag_of(PyObject* x) {
    PyTypeObject* type = Py_TYPE(x);
    if (type == &PyFloat_Type || type == &PyLong_Type || PyType_IsSubtype(type, &number_type))
        return reinterpret_cast<PyObject*>(type);
    if (const Value* v = as_value(x)) return info(v).type;
    return nullptr;
}

// An argument or result in memory: a scalar, or a value of class `cls`.
struct Slot {
    PyTypeObject* cls;
    Scalar scalar;
    bool is_value;
    uint32_t offset, size;
};

struct Code {
    wc_kernel entry;
    nb::object owner;  // keeps the code in memory
    std::vector<Slot> arguments, results;
    std::vector<uint32_t> descriptors;  // offsets of the arrays, of one element each, that the results go to
    alignas(16) std::byte block[kMaxBytes];
};

struct Signature {
    Signature(const Tag* from, size_t n) : count(n) {
        for (size_t i = 0; i < n; ++i) Py_INCREF(tags[i] = from[i]);
    }
    Signature(const Signature&) = delete;
    ~Signature() {
        for (size_t i = 0; i < count; ++i) Py_DECREF(tags[i]);
    }

    size_t count;
    Tag tags[kMaxArguments];                     // kept alive, lest another class gets the address of one
    uint32_t calls = 0, offer_at = kFirstOffer;  // 0: never again
    std::unique_ptr<Code> code;
};

struct Dispatcher {
    PyObject_HEAD;
    vectorcallfunc vectorcall;
    std::vector<std::unique_ptr<Signature>>* signatures;
};

Dispatcher* self_of(PyObject* self) { return reinterpret_cast<Dispatcher*>(self); }

// Fills `tags`; false if some argument has none.
bool read_tags(PyObject* const* args, size_t count, Tag* tags) {
    if (count > kMaxArguments) return false;
    for (size_t i = 0; i < count; ++i)
        if (!(tags[i] = tag_of(args[i]))) return false;
    return true;
}

// The signature of the arguments, made when it is new; null for what is always interpreted.
Signature* find(Dispatcher* self, PyObject* const* args, size_t count) {
    Tag tags[kMaxArguments];
    if (!read_tags(args, count, tags)) return nullptr;
    for (auto& s : *self->signatures)
        if (s->count == count && std::memcmp(s->tags, tags, count * sizeof(Tag)) == 0) return s.get();
    if (self->signatures->size() == kMaxSignatures) return nullptr;
    self->signatures->push_back(std::make_unique<Signature>(tags, count));
    return self->signatures->back().get();
}

bool pack(const Code& code, PyObject* const* args, std::byte* block) {
    for (const Slot& slot : code.arguments) {
        PyObject* x = *args++;
        if (slot.is_value) {
            std::memcpy(block + slot.offset, reinterpret_cast<Value*>(x)->data, slot.size);
        } else if (!store_operand(slot.scalar, x, block + slot.offset)) {
            return false;  // a literal that takes another type
        }
    }
    return true;
}

PyObject* unpack(const Slot& slot, const std::byte* block) {
    if (!slot.is_value) return component(slot.scalar, block + slot.offset);
    Value* v = allocate(slot.cls);
    if (v) std::memcpy(v->data, block + slot.offset, slot.size);
    return v ? object(v) : nullptr;
}

PyObject* unpack_all(const Code& code, const std::byte* block) {
    if (code.results.size() == 1) return unpack(code.results[0], block);
    nb::object out = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(code.results.size())));
    if (!out.is_valid()) return nullptr;
    for (size_t i = 0; i < code.results.size(); ++i) {
        PyObject* part = unpack(code.results[i], block);
        if (!part) return nullptr;
        PyTuple_SET_ITEM(out.ptr(), i, part);
    }
    return out.release().ptr();
}

// Runs the code; null without an exception if the arguments are not for it after all.
PyObject* run(const Code& code, PyObject* const* args) {
    alignas(16) std::byte block[kMaxBytes];
    uint32_t used = code.results.back().offset + code.results.back().size;
    std::memcpy(block, code.block, used);
    if (!pack(code, args, block)) return nullptr;
    for (size_t i = 0; i < code.descriptors.size(); ++i) {
        void* to = block + code.results[i].offset;
        std::memcpy(block + code.descriptors[i] + offsetof(wc_array, data), &to, sizeof to);
    }
    static constexpr int64_t dims[4] = {1, 1, 1, 1};
    wc_context context;
    if (!enter(code.entry, block, dims, 0, 1, &context)) {
        PyErr_SetString(PyExc_RuntimeError, "a builtin accessed invalid memory: this is an error in the library");
        return nullptr;
    }
    return unpack_all(code, block);
}

// Asks `_compile(args, calls)`, which says after how many calls to ask again, 0 for never.
bool offer(PyObject* self, Signature& s, PyObject* const* args) {
    s.offer_at = 0;  // whatever comes of it, and for calls on the way
    nb::object given = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(s.count)));
    if (!given.is_valid()) return false;
    for (size_t i = 0; i < s.count; ++i) PyTuple_SET_ITEM(given.ptr(), i, Py_NewRef(args[i]));
    static PyObject* name = PyUnicode_InternFromString("_compile");
    nb::object calls = nb::steal(PyLong_FromUnsignedLong(s.calls));
    nb::object next = nb::steal(PyObject_CallMethodObjArgs(self, name, given.ptr(), calls.ptr(), nullptr));
    if (!next.is_valid()) return false;
    unsigned long at = PyLong_AsUnsignedLong(next.ptr());
    if (PyErr_Occurred()) return false;
    s.offer_at = static_cast<uint32_t>(at);
    return true;
}

PyObject* call(PyObject* self, PyObject* const* args, size_t flagged, PyObject* names) {
    auto count = static_cast<size_t>(PyVectorcall_NARGS(flagged));
    if (Signature* s = names ? nullptr : find(self_of(self), args, count)) {
        if (!s->code && s->offer_at && ++s->calls >= s->offer_at && !offer(self, *s, args)) return nullptr;
        if (s->code) {
            PyObject* result = run(*s->code, args);
            if (result || PyErr_Occurred()) return result;
        }
    }
    static PyObject* name = PyUnicode_InternFromString("_interpret");
    nb::object method = nb::steal(PyObject_GetAttr(self, name));
    return method.is_valid() ? PyObject_Vectorcall(method.ptr(), args, count, names) : nullptr;
}

// -- adding code ------------------------------------------------------------------------------------------------------

// Lays out slots like the fields of a C struct.
class Layout {
  public:
    Slot slot(nb::handle cls) {
        auto* type = reinterpret_cast<PyTypeObject*>(cls.ptr());
        if (PyType_Check(cls.ptr()) && PyObject_TypeCheck(cls.ptr(), &value_meta) && info(type).type)
            return place(type, info(type).scalar, true, static_cast<size_t>(info(type).size));
        Scalar s = PyType_Check(cls.ptr()) ? scalar_of(type) : Scalar{};
        if (s.kind == Kind::None) throw nb::type_error("expected classes of numbers and values");
        return place(type, s, false, s.size);
    }

    uint32_t take(size_t bytes, size_t align) {
        used_ = (used_ + align - 1) / align * align;
        if (bytes > kMaxBytes - used_) throw nb::value_error("the arguments and results are too large");
        auto offset = static_cast<uint32_t>(used_);
        used_ += bytes;
        return offset;
    }

  private:
    Slot place(PyTypeObject* cls, Scalar s, bool is_value, size_t bytes) {
        if (bytes > kMaxBytes - used_) throw nb::value_error("the arguments and results are too large");
        return {cls, s, is_value, take(bytes, s.size), static_cast<uint32_t>(bytes)};
    }

    size_t used_ = 0;
};

// The part of the block that is the same in all calls: arrays of one element.
void describe_results(Code& code) {
    for (size_t i = 0; i < code.results.size(); ++i) {
        wc_array array{};
        array.shape[0] = 1;
        array.strides[0] = code.results[i].size;
        for (int d = 1; d < 4; ++d) array.shape[d] = 1;
        std::memcpy(code.block + code.descriptors[i], &array, sizeof array);
    }
}

void add(nb::handle self, nb::tuple args, nb::sequence arguments, nb::sequence results, uintptr_t address,
         nb::object owner) {
    auto count = nb::len(args);
    Signature* s = find(self_of(self.ptr()), &PyTuple_GET_ITEM(args.ptr(), 0), count);
    if (!s || nb::len(arguments) != count || nb::len(results) == 0)
        throw nb::value_error("calls with these arguments are interpreted");
    if (s->code) return;  // it may be running
    auto code = std::make_unique<Code>();
    Layout layout;
    for (size_t i = 0; i < count; ++i) {
        Slot slot = layout.slot(arguments[i]);
        bool expected = !slot.is_value ? !as_value(args[i].ptr()) : s->tags[i] == info(slot.cls).type;
        if (!expected) throw nb::type_error("an argument is not of the class given for it");
        code->arguments.push_back(slot);
    }
    for (size_t i = 0; i < nb::len(results); ++i) code->descriptors.push_back(layout.take(sizeof(wc_array), 8));
    for (nb::handle cls : results) code->results.push_back(layout.slot(cls));
    describe_results(*code);
    code->entry = reinterpret_cast<wc_kernel>(address);
    code->owner = std::move(owner);
    s->code = std::move(code);
}

PyObject* make(PyTypeObject* cls, PyObject*, PyObject*) {
    auto* self = reinterpret_cast<Dispatcher*>(cls->tp_alloc(cls, 0));
    if (!self) return nullptr;
    self->vectorcall = call;
    self->signatures = new std::vector<std::unique_ptr<Signature>>;
    return reinterpret_cast<PyObject*>(self);
}

void dealloc(PyObject* self) {
    delete self_of(self)->signatures;
    Py_TYPE(self)->tp_free(self);
}

PyTypeObject dispatcher_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

}  // namespace

void bind_dispatchers(nb::module_& m) {
    dispatcher_type.tp_name = "omni.warp_core._native.Dispatcher";
    dispatcher_type.tp_basicsize = sizeof(Dispatcher);
    dispatcher_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL;
    dispatcher_type.tp_vectorcall_offset = offsetof(Dispatcher, vectorcall);
    dispatcher_type.tp_call = PyVectorcall_Call;
    dispatcher_type.tp_new = make;
    dispatcher_type.tp_dealloc = dealloc;
    if (PyType_Ready(&dispatcher_type) < 0) throw nb::python_error();
    m.attr("Dispatcher") = nb::handle(reinterpret_cast<PyObject*>(&dispatcher_type));
    m.def(
        "add_code",
        [](nb::object dispatcher, nb::tuple args, nb::sequence arguments, nb::sequence results, uintptr_t address,
           nb::object owner) {
            if (!PyObject_TypeCheck(dispatcher.ptr(), &dispatcher_type)) throw nb::type_error("expected a Dispatcher");
            add(dispatcher, args, arguments, results, address, std::move(owner));
        },
        nb::arg("dispatcher"), nb::arg("args"), nb::arg("arguments"), nb::arg("results"), nb::arg("address"),
        nb::arg("owner").none());
}

}  // namespace wc
