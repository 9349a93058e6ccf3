// Arrays as tensors of DLPack: in capsules, and through the table of functions of the class.
#include "interop/dlpack_export.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "gil.h"
#include "launches/plan.h"

namespace wc {

ExchangeHooks& exchange_hooks() {
    static auto& hooks = *new ExchangeHooks;  // never destroyed: it must not drop references after the interpreter
    return hooks;
}

namespace {

// A tensor, the memory of its extents, and what it keeps alive.
template <class T>
struct Loan {
    T managed{};
    int64_t extents[2 * ForeignMemory::kMost];
    PyObject* owner = nullptr;

    // The library may call this in any thread.
    static void give_back(T* managed) {
        if (!Py_IsInitialized()) return;
        PyGILState_STATE state = take_gil([] { return PyGILState_Ensure(); });
        std::unique_ptr<Loan> mine(static_cast<Loan*>(managed->context));
        Py_DECREF(mine->owner);
        PyGILState_Release(state);
    }
};

uint8_t code_of(Kind kind) {
    constexpr uint8_t codes[] = {dlpack::kBool, dlpack::kInt, dlpack::kUint, dlpack::kFloat, dlpack::kBfloat};
    return codes[static_cast<int>(kind)];
}

// The extents of an array and of its components; strides in elements come behind the shape.
int put_extents(const PyArray& a, const Dtype& d, int64_t* extents) {
    const int ndim = a.ndim + d.rank;
    int64_t *shape = extents, *strides = extents + ndim, size = d.scalar.size;
    for (int i = 0; i < a.ndim; ++i) {
        const int64_t stride = a.view.strides[i];
        if (stride < 0 && a.view.shape[i] > 1)
            raise(PyExc_BufferError,
                  "an array with negative strides cannot be shared by DLPack, whose libraries do "
                  "not expect them: pass a copy, a.contiguous()");
        if (stride % size != 0)
            raise(PyExc_BufferError, "DLPack counts strides in elements, but the byte stride " +
                                         std::to_string(stride) + " is not a multiple of the size of " + d.display);
        shape[i] = a.view.shape[i];
        strides[i] = std::max<int64_t>(stride / size, 0);
    }
    int64_t step = 1;
    for (int i = d.rank - 1; i >= 0; step *= d.shape[i--]) {
        shape[a.ndim + i] = d.shape[i];
        strides[a.ndim + i] = step;
    }
    return ndim;
}

dlpack::Tensor tensor_of(const PyArray& a, dlpack::Device device, int64_t* extents) {
    const Dtype& d = dtype(a.dtype);
    if (d.scalar.kind == Kind::None)
        raise(PyExc_BufferError, "DLPack supports only numbers, but the elements are structs " + d.display);
    dlpack::Tensor t{};
    t.ndim = put_extents(a, d, extents);
    t.data = a.view.data;
    t.device = device;
    t.code = code_of(d.scalar.kind);
    t.bits = static_cast<uint8_t>(8 * d.scalar.size);
    t.lanes = 1;
    t.shape = extents;
    t.strides = extents + t.ndim;
    return t;
}

dlpack::Device device_of(const PyArray& a) {
    return a.device == 0 ? dlpack::Device{dlpack::kHost, 0} : dlpack::Device{dlpack::kCuda, a.device - 1};
}

const PyArray& require_array(PyObject* object) {
    const PyArray* a = as_array(object);
    if (!a) raise(PyExc_TypeError, "expected an array, got " + describe(object));
    return *a;
}

template <class T>
std::unique_ptr<Loan<T>> loan_of(const PyArray& a, dlpack::Device device) {
    auto loan = std::make_unique<Loan<T>>();
    loan->managed.tensor = tensor_of(a, device, loan->extents);
    loan->managed.context = loan.get();
    loan->managed.deleter = Loan<T>::give_back;
    return loan;
}

std::unique_ptr<Loan<dlpack::Managed>> versioned_loan(const PyArray& a, dlpack::Device device, uint32_t minor) {
    auto loan = loan_of<dlpack::Managed>(a, device);
    loan->managed.version = {dlpack::kMajor, std::min(minor, dlpack::kMinor)};
    loan->managed.flags = a.flags & kReadOnly ? dlpack::kReadOnly : 0;
    return loan;
}

// A new reference to what keeps the memory of an array alive.
PyObject* owner_of(PyObject* array) {
    const nb::object& owner = as_array(array)->owner;
    return Py_NewRef(owner.is_valid() && !owner.is_none() ? owner.ptr() : array);
}

template <class T>
void drop_capsule(PyObject* capsule) {  // of a tensor that was not imported
    if (!PyCapsule_IsValid(capsule, T::fresh)) return;
    auto* managed = static_cast<T*>(PyCapsule_GetPointer(capsule, T::fresh));
    managed->deleter(managed);
}

template <class T>
nb::object capsule_of(std::unique_ptr<Loan<T>> loan, PyObject* array) {
    nb::object capsule = nb::steal(PyCapsule_New(&loan->managed, T::fresh, drop_capsule<T>));
    if (!capsule.is_valid()) throw nb::python_error();
    loan->owner = owner_of(array);
    loan.release();
    return capsule;
}

// `minor` is that of version 1 that the other library knows, -1 for one that knows no version.
nb::object export_capsule(nb::handle array, int device_type, int device_id, bool copied, int minor) {
    const PyArray& a = require_array(array.ptr());
    const dlpack::Device device{device_type, device_id};
    if (minor < 0) return capsule_of(loan_of<dlpack::Unversioned>(a, device), array.ptr());
    auto loan = versioned_loan(a, device, static_cast<uint32_t>(minor));
    if (copied) loan->managed.flags |= dlpack::kCopied;
    return capsule_of(std::move(loan), array.ptr());
}

// -- the table --------------------------------------------------------------------------------------------------------

// Runs a function of the table; -1 with a Python exception if it throws.
template <class F>
int guarded(F&& f) {
    try {
        f();
        return 0;
    } catch (nb::python_error& e) {
        e.restore();
    } catch (const std::exception& e) {
        PyErr_SetString(PyExc_RuntimeError, e.what());
    }
    return -1;
}

int from_object(void* object, dlpack::Managed** out) {
    return guarded([&] { *out = managed_of(static_cast<PyObject*>(object)); });
}

int to_object(dlpack::Managed* tensor, void** out) {
    return guarded([&] {
        nb::object capsule = nb::steal(PyCapsule_New(tensor, dlpack::Managed::fresh, drop_capsule<dlpack::Managed>));
        if (!capsule.is_valid()) throw nb::python_error();
        *out = exchange_hooks().adopt(capsule).release().ptr();
    });
}

int borrow_array(void* object, dlpack::Tensor* out) {
    return guarded([&] {
        auto* array = static_cast<PyObject*>(object);
        require_array(array);
        exchange_hooks().exported(nb::handle(array));
        PyArray& a = *as_array(array);
        if (!a.extents) a.extents = std::make_unique<int64_t[]>(2 * ForeignMemory::kMost);
        *out = tensor_of(a, device_of(a), a.extents.get());
    });
}

int allocate_tensor(dlpack::Tensor* like, dlpack::Managed** out, void* context,
                    void (*set_error)(void*, const char*, const char*)) {
    PyGILState_STATE state = take_gil([] { return PyGILState_Ensure(); });
    int done = guarded([&] {
        nb::list shape;
        for (int i = 0; i < like->ndim; ++i) shape.append(like->shape[i]);
        nb::object made = exchange_hooks().allocate(nb::tuple(shape), like->code, like->bits, like->lanes,
                                                    like->device.type, like->device.id);
        *out = managed_of(made.ptr());
    });
    if (done != 0) {
        nb::python_error error;
        set_error(context, "MemoryError", error.what());
    }
    PyGILState_Release(state);
    return done;
}

int current_stream(int32_t type, int32_t id, void** out) {
    *out = nullptr;
    if (type != dlpack::kCuda) return 0;
    return guarded([&] { *out = reinterpret_cast<void*>(nb::cast<uintptr_t>(exchange_hooks().stream(id))); });
}

dlpack::Table table{
    {dlpack::kMajor, dlpack::kMinor}, nullptr, allocate_tensor, from_object, to_object, borrow_array, current_stream};

}  // namespace

dlpack::Managed* managed_of(PyObject* array) {
    const PyArray& a = require_array(array);
    exchange_hooks().exported(nb::handle(array));
    auto loan = versioned_loan(a, device_of(a), dlpack::kMinor);
    loan->owner = owner_of(array);
    return &loan.release()->managed;
}

void bind_exports(nb::module_& m) {
    m.def("export_dlpack", &export_capsule, nb::arg("array"), nb::arg("device_type"), nb::arg("device_id"),
          nb::arg("copied"), nb::arg("minor"));
    m.def("table", [] { return nb::steal(PyCapsule_New(&table, dlpack::kTableName, nullptr)); });
    m.def(
        "set_hooks",
        [](nb::object exported, nb::object adopt, nb::object allocate, nb::object stream, nb::object check_untracked,
           nb::object check_usable) {
            exchange_hooks() = {std::move(exported), std::move(adopt),           std::move(allocate),
                                std::move(stream),   std::move(check_untracked), std::move(check_usable)};
        },
        nb::arg("exported"), nb::arg("adopt"), nb::arg("allocate"), nb::arg("stream"), nb::arg("check_untracked"),
        nb::arg("check_usable"));
}

}  // namespace wc
