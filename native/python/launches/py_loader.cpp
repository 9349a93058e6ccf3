#include <nanobind/stl/string.h>

#include "arrays/py_array.h"
#include "launches/py_interrupts.h"
#include "warp_core/loader.h"

namespace wc {

void bind_loader(nb::module_& m) {
    nb::exception<LoadError>(m, "LoadError", PyExc_RuntimeError);
    nb::class_<Code>(m, "Code", nb::is_weak_referenceable())
        .def(
            "__init__",
            [](Code* self, nb::bytes object) {
                new (self) Code({reinterpret_cast<const std::byte*>(object.c_str()), object.size()});
                let_interrupts_in();
            },
            nb::arg("object"))
        .def("address", &Code::address, nb::arg("symbol"))
        .def_prop_ro("symbols", [](const Code& code) {
            nb::dict out;
            for (const auto& [name, address] : code.symbols()) out[nb::str(name.c_str(), name.size())] = address;
            return out;
        });
}

}  // namespace wc
