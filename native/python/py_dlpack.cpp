// omni.warp_core._native.dlpack: capsules of DLPack, made and taken. What they mean is in arrays/dlpack.py.
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "gil.h"
#include "py_array.h"

namespace wc {
namespace {

// The layout of DLPack 0.8 and 1.x: https://dmlc.github.io/dlpack/latest/c_api.html
struct Tensor {
    void* data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;  // in elements; no strides: C order
    uint64_t offset;           // in bytes
};
struct ManagedTensor {
    Tensor tensor;
    void* context;
    void (*deleter)(ManagedTensor*);
};
struct Versioned {
    uint32_t major, minor;
    void* context;
    void (*deleter)(Versioned*);
    uint64_t flags;
    Tensor tensor;
};
constexpr uint64_t kReadOnly = 1, kCopied = 2;

template <class T>
struct Names;
template <>
struct Names<ManagedTensor> {
    static constexpr const char *fresh = "dltensor", *used = "used_dltensor";
};
template <>
struct Names<Versioned> {
    static constexpr const char *fresh = "dltensor_versioned", *used = "used_dltensor_versioned";
};

// -- made -------------------------------------------------------------------------------------------------------------

// What a capsule is about, and what it keeps alive.
template <class T>
struct CapsuleContext {
    T managed{};
    std::vector<int64_t> shape, strides;
    PyObject* owner = nullptr;

    // Whoever takes the capsule may call this in any thread.
    static void give_back(T* managed) {
        if (!Py_IsInitialized()) return;
        PyGILState_STATE state = take_gil([] { return PyGILState_Ensure(); });
        std::unique_ptr<CapsuleContext> mine(static_cast<CapsuleContext*>(managed->context));
        Py_DECREF(mine->owner);
        PyGILState_Release(state);
    }
};

template <class T>
void drop_capsule(PyObject* capsule) {  // of a tensor that was not imported
    if (!PyCapsule_IsValid(capsule, Names<T>::fresh)) return;
    auto* managed = static_cast<T*>(PyCapsule_GetPointer(capsule, Names<T>::fresh));
    managed->deleter(managed);
}

template <class T>
nb::object capsule_of(nb::handle owner, Tensor tensor, std::vector<int64_t> shape, std::vector<int64_t> strides,
                      uint64_t flags) {
    auto lent = std::make_unique<CapsuleContext<T>>();
    lent->shape = std::move(shape);
    lent->strides = std::move(strides);
    tensor.ndim = static_cast<int32_t>(lent->shape.size());
    tensor.shape = lent->shape.data();
    tensor.strides = lent->strides.data();
    lent->managed.tensor = tensor;
    lent->managed.context = lent.get();
    lent->managed.deleter = CapsuleContext<T>::give_back;
    if constexpr (std::is_same_v<T, Versioned>) {
        lent->managed.major = 1;
        lent->managed.flags = flags;
    }
    nb::object capsule = nb::steal(PyCapsule_New(&lent->managed, Names<T>::fresh, drop_capsule<T>));
    if (!capsule.is_valid()) throw nb::python_error();
    lent->owner = nb::borrow(owner).release().ptr();
    lent.release();
    return capsule;
}

nb::object export_dlpack(nb::handle owner, uintptr_t data, std::vector<int64_t> shape, std::vector<int64_t> strides,
                         int code, int bits, int device_type, int device_id, bool read_only, bool copied,
                         bool versioned) {
    Tensor tensor{reinterpret_cast<void*>(data), device_type, device_id, 0,       static_cast<uint8_t>(code),
                  static_cast<uint8_t>(bits),    1,           nullptr,   nullptr, 0};
    uint64_t flags = (read_only ? kReadOnly : 0) | (copied ? kCopied : 0);
    return versioned ? capsule_of<Versioned>(owner, tensor, std::move(shape), std::move(strides), flags)
                     : capsule_of<ManagedTensor>(owner, tensor, std::move(shape), std::move(strides), 0);
}

// -- taken ------------------------------------------------------------------------------------------------------------

template <class T>
T* look(nb::handle capsule) {
    return static_cast<T*>(PyCapsule_GetPointer(capsule.ptr(), Names<T>::fresh));
}

bool is_versioned(nb::handle capsule) {
    if (PyCapsule_IsValid(capsule.ptr(), Names<ManagedTensor>::fresh)) return false;
    if (PyCapsule_IsValid(capsule.ptr(), Names<Versioned>::fresh)) {
        uint32_t major = look<Versioned>(capsule)->major;
        if (major == 1) return true;
        PyErr_Format(PyExc_BufferError, "the capsule is of DLPack version %u, but only versions before 2 are supported",
                     major);
        throw nb::python_error();
    }
    bool capsule_at_all = PyCapsule_CheckExact(capsule.ptr());
    const char* name = capsule_at_all ? PyCapsule_GetName(capsule.ptr()) : nullptr;
    bool used = name && std::strncmp(name, "used_", 5) == 0;
    PyErr_SetString(PyExc_BufferError, used ? "the capsule has been consumed already: each can be imported once"
                                            : "expected a capsule of DLPack, named dltensor or dltensor_versioned");
    throw nb::python_error();
}

std::pair<int, int> device_of(nb::handle capsule) {
    const Tensor& t = is_versioned(capsule) ? look<Versioned>(capsule)->tensor : look<ManagedTensor>(capsule)->tensor;
    return {t.device_type, t.device_id};
}

template <class T>
void end_loan(PyObject* owner) {
    auto* managed = static_cast<T*>(PyCapsule_GetPointer(owner, "omni_warp_loan"));
    if (managed->deleter) managed->deleter(managed);
}

// The owner of the memory, address, shape, strides in elements or None, code, bits and lanes, and whether the memory is
// not to be written.
template <class T>
nb::tuple take_as(nb::handle capsule) {
    T* managed = look<T>(capsule);
    nb::object owner = nb::steal(PyCapsule_New(managed, "omni_warp_loan", nullptr));
    if (!owner.is_valid() || PyCapsule_SetName(capsule.ptr(), Names<T>::used) != 0) throw nb::python_error();
    PyCapsule_SetDestructor(owner.ptr(), end_loan<T>);  // it is ours from here on
    const Tensor& t = managed->tensor;
    std::vector<int64_t> shape(t.shape, t.shape + t.ndim);
    nb::object strides = nb::none();
    if (t.strides) strides = nb::cast(std::vector<int64_t>(t.strides, t.strides + t.ndim));
    bool read_only = false;
    if constexpr (std::is_same_v<T, Versioned>) read_only = managed->flags & kReadOnly;
    uintptr_t data = reinterpret_cast<uintptr_t>(t.data) + t.offset;
    return nb::make_tuple(owner, data, nb::cast(shape), strides, t.code, t.bits, t.lanes, read_only);
}

nb::tuple take(nb::handle capsule) {
    return is_versioned(capsule) ? take_as<Versioned>(capsule) : take_as<ManagedTensor>(capsule);
}

}  // namespace

void bind_dlpack(nb::module_& m) {
    nb::module_ sub = m.def_submodule("dlpack", "Capsules of DLPack.");
    sub.def("export_dlpack", &export_dlpack, nb::arg("owner"), nb::arg("data"), nb::arg("shape"), nb::arg("strides"),
            nb::arg("code"), nb::arg("bits"), nb::arg("device_type"), nb::arg("device_id"), nb::arg("read_only"),
            nb::arg("copied"), nb::arg("versioned"));
    sub.def(
        "device",
        [](nb::handle capsule) {
            auto [type, id] = device_of(capsule);
            return nb::make_tuple(type, id);
        },
        nb::arg("capsule"));
    sub.def("take", &take, nb::arg("capsule"));
}

}  // namespace wc
