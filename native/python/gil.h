// Leaving the GIL and taking it back, in threads that the interpreter may not outlive.
#pragma once
#include <nanobind/nanobind.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <exception>

#include "warp_core/pool.h"

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

// For calls that hardly ever wait, such as a launch on a GPU, which does while the driver's queue is full. Letting the
// GIL go for each of them would cost more than it gives. So the clock is read now and then, and after a call that has
// waited the next are made without the GIL until one does not wait.
class AdaptiveGilRelease {
  public:
    template <class Work>
    void run(Work&& work) {
        if (!waits_ && ++calls_ % kLookEvery != 0) return work();
        auto timed = [&] {
            int64_t start = now_ns();
            work();
            waits_ = now_ns() - start > kWaitNs;
        };
        if (waits_) return without_gil(timed);
        timed();
    }

  private:
    static constexpr uint32_t kLookEvery = 16;
    static constexpr int64_t kWaitNs = 100'000;

    uint32_t calls_ = 0;
    std::atomic<bool> waits_ = false;  // written without the GIL
};

}  // namespace wc
