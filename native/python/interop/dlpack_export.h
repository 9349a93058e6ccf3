// Arrays as DLPack gives them to other libraries.
#pragma once
#include "interop/exchange.h"

namespace wc {

// Functions of Python; see arrays/dlpack.py.
struct ExchangeHooks {
    nb::object exported;         // (array): its address leaves this package
    nb::object adopt;            // (capsule): an array over its memory
    nb::object allocate;         // (shape, code, bits, device type, device id): a new array
    nb::object stream;           // (device id): the handle of the current stream
    nb::object check_untracked;  // (tensor that requires a gradient): raises if its library would miss it
    nb::object check_usable;     // (tensor that gives no memory): raises if it is known why
};

ExchangeHooks& exchange_hooks();

// A tensor over the memory of an array, which it keeps alive.
dlpack::Managed* managed_of(PyObject* array);

// The number of a device here: 0 for the CPU, n + 1 for a GPU, -1 for others.
int device_number(const dlpack::Device& device);
[[noreturn]] void refuse_misfit(Misfit why, const ForeignMemory& memory, int dtype_id);

void bind_exports(nb::module_& exchange);

}  // namespace wc
