// Entering kernel code, and leaving it where it touched memory that is not there or the user wants it to end. `enter`
// is the only way into generated code. Start with `on_fault` in faults.cpp.
//
// What may be left, and when. A thread in kernel code owns nothing but its stack: generated code takes no locks and
// allocates nothing, and neither do the functions of libm and memcpy that it calls. So a fault there ends with the
// stack as it was before. Functions of this library that generated code calls and that do hold locks, such as
// wc_printf, hide the way out while they run (`SuspendFaultHandling`). A fault in them is a crash, as anywhere else.
#pragma once
#include <signal.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "warp_core/abi.h"

namespace wc {

enum class Access : uint8_t { Unknown, Read, Write };

// Why kernel code was left.
struct Fault {
    int signal = 0;  // 0: it was not; SIGINT: the user wanted it to end
    Access access = Access::Unknown;
    bool located = false;   // whether the address is known
    bool refused = false;   // memory is there, but not for this
    bool on_stack = false;  // it is where the stack ends, which is full
    uintptr_t address = 0;
};

// A thread that enters kernel code.
struct Visitor {
    void* way_out = nullptr;     // the stack that it entered with; null outside of kernel code. Known to faults.cpp's
    wc_kernel kernel = nullptr;  // assembly, as is what it runs
    Fault fault;                 // why it left last
    std::atomic<pid_t> id{0};    // 0 when the thread has ended
    void* stack = nullptr;       // for handlers of signals
    Visitor* next = nullptr;
    std::atomic<uint64_t> steps{0};            // odd within a chunk of a launch, each of which has its own number
    std::atomic<const void*> launch{nullptr};  // whose chunk that is,
    std::atomic<const void*> asked{nullptr};   // and which launch it was asked to leave
    std::atomic<bool> timed{false};            // a timer runs that will make it leave its chunk
    bool helper = false;                       // that launch is another thread's
    bool first = false;                        // the thread that the process began with
};

#if defined(__GLIBC__)  // so that handlers of signals can read it: otherwise the first access of a thread allocates
#define WC_SIGNAL_SAFE_TLS [[gnu::tls_model("initial-exec")]]
#else
#define WC_SIGNAL_SAFE_TLS
#endif
WC_SIGNAL_SAFE_TLS extern __thread Visitor* visitor;

Visitor* register_visitor();
inline Visitor& this_visitor() { return *(visitor ? visitor : register_visitor()); }

extern "C" {
int wc_enter(const void* args, const int64_t* dims, int64_t begin, int64_t end, wc_context* context, Visitor* visitor);
void wc_leave();  // where a thread goes on that leaves: the end of wc_enter
}

// Runs `kernel`. False if it had to be left, for the reason in this_visitor().fault.
inline bool enter(wc_kernel kernel, const void* args, const int64_t* dims, int64_t begin, int64_t end,
                  wc_context* context) {
    Visitor& v = this_visitor();
    v.kernel = kernel;
    return wc_enter(args, dims, begin, end, context, &v) == 0;
}

void stop_timer(Visitor& visitor);  // interrupts.cpp

// While it lives, the calling thread runs a chunk of `launch`, which the user may end (interrupts.h).
class Chunk {
  public:
    Chunk(const void* launch, bool helper) : visitor_(this_visitor()) {
        visitor_.launch.store(launch, std::memory_order_relaxed);
        visitor_.asked.store(nullptr, std::memory_order_relaxed);
        visitor_.helper = helper;
        step();
    }
    ~Chunk() {
        step();
        if (visitor_.timed.load(std::memory_order_relaxed)) stop_timer(visitor_);
    }
    Chunk(const Chunk&) = delete;
    Chunk& operator=(const Chunk&) = delete;

  private:
    void step() { visitor_.steps.store(visitor_.steps.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }

    Visitor& visitor_;
};

// While it lives, the calling thread is not within kernel code as far as faults are concerned.
class SuspendFaultHandling {
  public:
    SuspendFaultHandling() : visitor_(visitor), way_out_(visitor_ ? visitor_->way_out : nullptr) {
        if (visitor_) visitor_->way_out = nullptr;
    }
    ~SuspendFaultHandling() {
        if (visitor_) visitor_->way_out = way_out_;
    }
    SuspendFaultHandling(const SuspendFaultHandling&) = delete;
    SuspendFaultHandling& operator=(const SuspendFaultHandling&) = delete;

  private:
    Visitor* visitor_;
    void* way_out_;
};

// Sees to it that faults come here first. Called when code is loaded, as handlers that others install may come between.
void watch_faults();

// -- for handlers of signals -----------------------------------------------------------------------------------------

using Handler = void (*)(int signal, siginfo_t* info, void* context);

// Lets the thread leave kernel code when its handler returns.
void leave(Visitor& visitor, const Fault& why, void* context);
// Lets others handle what is no business of ours.
void hand_on(int signal, siginfo_t* info, void* context);
bool has_signal(int signal, Handler handler);
void take_signal(int signal, Handler handler, int flags);
Visitor* all_visitors();

}  // namespace wc
