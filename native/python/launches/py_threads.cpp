// Work that threads of Python do in C while the process ends.
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "arrays/py_array.h"

namespace wc {
namespace {

std::atomic<int> working{0};

// Destructors of libraries would take away what their code, still running, uses.
void end_now(int status, void*) {
    if (working <= 0) return;
    fflush(nullptr);
    _exit(status);
}

// What is registered last runs first, so before the destructors of all libraries loaded so far.
void end_without_destructors() {
#if defined(__GLIBC__)
    [[maybe_unused]] static const int registered = on_exit(end_now, nullptr);
#endif
}

}  // namespace

void bind_threads(nb::module_& m) {
    m.def("count_work", [](int change) { working += change; }, nb::arg("change"));
    m.def("end_without_destructors", &end_without_destructors);
    m.def(
        "raise_in_thread",
        [](unsigned long ident, nb::handle exception) { PyThreadState_SetAsyncExc(ident, exception.ptr()); },
        nb::arg("ident"), nb::arg("exception"));
}

}  // namespace wc
