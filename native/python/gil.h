// Leaving the GIL and taking it back, in threads that the interpreter may not outlive.
#pragma once
#include <nanobind/nanobind.h>
#include <unistd.h>

#include <exception>

namespace wc {

// Once the interpreter is finalizing, a thread that asks for the GIL is ended by unwinding its stack, through
// destructors that need the GIL. Such a thread sleeps here instead: the process is about to end.
template <class Take>
auto take_gil(Take&& take) {
    try {
        return take();
    } catch (...) {
        for (;;) pause();
    }
}

// Runs `work` while other threads may run Python.
template <class Work>
void without_gil(Work&& work) {
    PyThreadState* state = PyEval_SaveThread();
    std::exception_ptr error;
    try {
        work();
    } catch (const std::exception&) {
        error = std::current_exception();
    }
    take_gil([&] { PyEval_RestoreThread(state); });
    if (error) std::rethrow_exception(error);
}

}  // namespace wc
