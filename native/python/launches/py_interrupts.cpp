#include "launches/py_interrupts.h"

#include <nanobind/nanobind.h>
#include <signal.h>

#include "warp_core/faults.h"
#include "warp_core/interrupts.h"

namespace nb = nanobind;

namespace wc {

void let_interrupts_in() {
    if (!this_visitor().first || interrupts_watched()) return;
    struct sigaction now;
    if (sigaction(SIGINT, nullptr, &now) != 0 || now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN) return;
    nb::module_ signals = nb::module_::import_("_signal");
    nb::object handler = signals.attr("getsignal")(SIGINT);
    if (!PyCallable_Check(handler.ptr())) return;  // not Python's
    watch_interrupts(!handler.is(signals.attr("default_int_handler")));
}

void raise_interrupt() {
    if (PyErr_CheckSignals() == 0) PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
}

void drop_interrupt() {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (PyErr_CheckSignals() != 0) PyErr_Clear();
    PyErr_Restore(type, value, trace);
}

}  // namespace wc
