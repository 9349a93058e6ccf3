// Handlers of signals, and that of faults. It runs on the thread at fault, on a stack of its own, and may do hardly
// anything: it looks whether the thread is in kernel code and, if so, lets it go on at the end of wc_enter, with the
// stack and the registers of the caller. Returning from the handler does that, so that the mask of signals, the state
// of the floating-point unit and the handler's stack are as before. Any other fault goes to whoever handled faults
// before.
#include "warp_core/faults.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace wc {

WC_SIGNAL_SAFE_TLS __thread Visitor* visitor = nullptr;
static_assert(offsetof(Visitor, way_out) == 0 && offsetof(Visitor, kernel) == 8, "as the assembly has them");

namespace {

constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGFPE};
constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGINT};  // that others may have handlers of, too
constexpr int kMostHandlers = 16;
constexpr size_t kHandlerStack = 65536;
constexpr uintptr_t kProbed = 4096;  // large frames are touched in steps of so many bytes

// -- threads ---------------------------------------------------------------------------------------------------------

std::atomic<Visitor*> visitors{nullptr};  // those of ended threads are used again, and none is ever freed

size_t handler_stack() {
#ifdef _SC_SIGSTKSZ  // large registers make it grow
    return std::max<size_t>(kHandlerStack, static_cast<size_t>(std::max(0l, 2 * sysconf(_SC_SIGSTKSZ))));
#else
    return kHandlerStack;
#endif
}

// Gives the thread a stack for handlers, unless it has one: that of a kernel may be used up.
void* make_stack() {
    stack_t now{};
    if (sigaltstack(nullptr, &now) != 0 || !(now.ss_flags & SS_DISABLE)) return nullptr;
    void* memory = mmap(nullptr, handler_stack(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    now = {};
    now.ss_sp = memory;
    now.ss_size = handler_stack();
    if (sigaltstack(&now, nullptr) == 0) return memory;
    munmap(memory, handler_stack());
    return nullptr;
}

// A stack that other code has replaced is kept, because that code may restore it.
void drop_stack(void* memory) {
    stack_t now{};
    if (!memory || sigaltstack(nullptr, &now) != 0 || now.ss_sp != memory) return;
    now = {};
    now.ss_flags = SS_DISABLE;
    if (sigaltstack(&now, nullptr) == 0) munmap(memory, handler_stack());
}

struct AtExit {
    ~AtExit() {
        drop_stack(visitor->stack);
        visitor->id = 0;
        visitor = nullptr;
    }
};

// A child of fork has this thread alone, as its first.
void forked() {
    for (Visitor* v = visitors; v; v = v->next)
        if (v != visitor) v->id = 0;
    if (!visitor) return;
    visitor->id = gettid();
    visitor->first = true;
    visitor->helper = false;
}

// -- handlers --------------------------------------------------------------------------------------------------------

// Those that handled a signal before, the latest last.
struct Handlers {
    struct sigaction found[kMostHandlers];
    int count = 0;

    void push(const struct sigaction& action) {
        auto* end = std::remove_if(found, found + count, [&](const auto& a) { return same(a, action); });
        count = std::min(static_cast<int>(end - found), kMostHandlers - 1);
        found[count++] = action;
    }

    static bool same(const struct sigaction& a, const struct sigaction& b) {
        return a.sa_handler == b.sa_handler;  // sa_sigaction is the same pointer
    }
};

Handlers before[std::size(kSignals)];
// How many handlers of others this thread is in, and the innermost one's frame: some never return, but jump away.
WC_SIGNAL_SAFE_TLS __thread int handing_on = 0;
WC_SIGNAL_SAFE_TLS __thread uintptr_t handing_frame = 0;

Handlers& handlers_of(int signal) {
    return before[std::find(std::begin(kSignals), std::end(kSignals), signal) - std::begin(kSignals)];
}

uintptr_t stack_end_of(void* context) {
    auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
    return static_cast<uintptr_t>(machine.gregs[REG_RSP]);
#else
    return static_cast<uintptr_t>(machine.sp);
#endif
}

#if defined(__SANITIZE_ADDRESS__)
// Native functions mark the memory around their local variables as invalid, and remove the marks when they return.
// Those that a fault ends do not return, so their marks would stay for the next functions on this stack.
// A handler that raised the signal again did so on the stack of signals, so the distance is limited.
void drop_marks(const Visitor& v, void* context) {
    constexpr uintptr_t kMost = 1 << 20;
    auto begin = reinterpret_cast<uintptr_t>(v.way_out);
    uintptr_t size = std::min(begin - stack_end_of(context), kMost);
    __asan_unpoison_memory_region(reinterpret_cast<void*>(begin - size), size);
}
#else
void drop_marks(const Visitor&, void*) {}
#endif

}  // namespace

// A handler that raises the signal again for the one before it, as Python's faulthandler
// does, may come back here, if we were installed between the two: so each time it is the turn of an earlier one.
void hand_on(int signal, siginfo_t* info, void* context) {
    const Handlers& handlers = handlers_of(signal);
    auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    uintptr_t outer = frame < handing_frame ? handing_frame : 0;
    int depth = outer ? handing_on : 0;
    int at = handlers.count - 1 - depth;
    bool sent = info->si_code <= 0;
    if (at >= 0 && handlers.found[at].sa_handler != SIG_DFL && handlers.found[at].sa_handler != SIG_IGN) {
        const struct sigaction& action = handlers.found[at];
        handing_on = depth + 1;
        handing_frame = frame;
        if (action.sa_flags & SA_SIGINFO)
            action.sa_sigaction(signal, info, context);
        else
            action.sa_handler(signal);
        handing_on = depth;
        handing_frame = outer;
        return;
    }
    if (at >= 0 && handlers.found[at].sa_handler == SIG_IGN && sent) return;
    struct sigaction action{};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
    if (sent) raise(signal);  // else the instruction runs again, and ends the process
}

void leave(Visitor& v, const Fault& why, void* context) {
    v.fault = why;
    drop_marks(v, context);
    auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
    constexpr greg_t kDirection = 0x400;
    machine.gregs[REG_RSP] = reinterpret_cast<greg_t>(v.way_out);
    machine.gregs[REG_RIP] = reinterpret_cast<greg_t>(&wc_leave);
    machine.gregs[REG_EFL] &= ~kDirection;
#else
    machine.sp = reinterpret_cast<uint64_t>(v.way_out);
    machine.pc = reinterpret_cast<uint64_t>(&wc_leave);
#endif
}

namespace {

Access access_of(void* context) {
#if defined(__x86_64__)
    constexpr greg_t kWrite = 2;  // of the page fault's error code
    auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
    return machine.gregs[REG_ERR] & kWrite ? Access::Write : Access::Read;
#else
    (void)context;
    return Access::Unknown;
#endif
}

// An address of bits that no address has is not told.
Fault described(int signal, const siginfo_t* info, void* context) {
    Fault f;
    f.signal = signal;
    f.located = signal != SIGFPE && info->si_code > 0 && info->si_code != SI_KERNEL;
    if (!f.located) return f;
    f.address = reinterpret_cast<uintptr_t>(info->si_addr);
    f.refused = signal == SIGSEGV && info->si_code == SEGV_ACCERR;
    if (signal == SIGSEGV) f.access = access_of(context);
    uintptr_t end = stack_end_of(context);
    f.on_stack = f.address + kProbed >= end && f.address < end + kProbed;
    return f;
}

// Whether the signal is about what this thread does: a handler that was installed later than ours, such as that of
// faulthandler, may have raised it again.
bool is_fault(const siginfo_t* info) {
    return info->si_code > 0 || (info->si_code == SI_TKILL && info->si_pid == getpid());
}

void on_fault(int signal, siginfo_t* info, void* context) {
    Visitor* v = visitor;
    if (!v || !v->way_out || !is_fault(info)) return hand_on(signal, info, context);
    leave(*v, described(signal, info, context), context);
}

}  // namespace

Visitor* register_visitor() {
    static const bool ready = pthread_atfork(nullptr, nullptr, forked) == 0;
    (void)ready;
    Visitor* v = visitors;
    for (pid_t none = 0; v && !v->id.compare_exchange_strong(none, gettid()); none = 0) v = v->next;
    if (!v) {
        v = new Visitor;
        v->id = gettid();
        v->next = visitors;
        while (!visitors.compare_exchange_weak(v->next, v)) {
        }
    }
    v->way_out = nullptr;
    v->steps = 0;
    v->first = gettid() == getpid();
    v->helper = false;
    v->stack = make_stack();
    visitor = v;
    static thread_local AtExit at_exit;
    (void)&at_exit;
    return v;
}

Visitor* all_visitors() { return visitors; }

bool has_signal(int signal, Handler handler) {
    struct sigaction now;
    return sigaction(signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == handler;
}

// What was there until now is handed on to from now on.
void take_signal(int signal, Handler handler, int flags) {
    struct sigaction now;
    if (sigaction(signal, nullptr, &now) != 0) return;
    handlers_of(signal).push(now);
    struct sigaction action{};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | flags | (now.sa_flags & SA_RESTART);
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
}

void watch_faults() {
    for (int signal : kFaults)
        if (!has_signal(signal, on_fault)) take_signal(signal, on_fault, SA_NODEFER);
}

}  // namespace wc
