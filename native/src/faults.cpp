// The handler of faults. It runs on the thread at fault, on a stack of its own, and may do hardly anything: it looks
// whether the thread is in kernel code and, if so, lets it go on at the end of wc_enter, with the stack and the
// registers of the caller. Returning from the handler does that, so that the mask of signals, the state of the
// floating-point unit and the handler's stack are as before. Any other fault goes to whoever handled faults before.
#include "warp_core/faults.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

extern "C" void wc_leave();

// int wc_enter(args, dims, begin, end, context, visitor) calls visitor->kernel with the first five, and gives 0. It
// saves all that its caller relies on, so that wc_leave, with the stack alone given back, can return 1 from it.
#if defined(__x86_64__)
asm(R"(
    .text
    .p2align 4
    .globl wc_enter
    .hidden wc_enter
    .type wc_enter, @function
wc_enter:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    pushq %r9
    pushq (%r9)
    subq $8, %rsp
    movq %rsp, (%r9)
    callq *8(%r9)
    xorl %eax, %eax
.Lwc_out:
    movq 8(%rsp), %rdx
    movq 16(%rsp), %rcx
    movq %rdx, (%rcx)
    addq $24, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    .cfi_def_cfa rsp, 8
    retq
    .cfi_endproc
    .size wc_enter, . - wc_enter
    .globl wc_leave
    .hidden wc_leave
    .type wc_leave, @function
wc_leave:
    leaq 64(%rsp), %rbp
    movl $1, %eax
    jmp .Lwc_out
    .size wc_leave, . - wc_leave
)");
#elif defined(__aarch64__)
asm(R"(
    .text
    .p2align 4
    .globl wc_enter
    .hidden wc_enter
    .type wc_enter, %function
wc_enter:
    .cfi_startproc
    stp x29, x30, [sp, -192]!
    .cfi_def_cfa_offset 192
    .cfi_offset 29, -192
    .cfi_offset 30, -184
    mov x29, sp
    stp x19, x20, [sp, 16]
    stp x21, x22, [sp, 32]
    stp x23, x24, [sp, 48]
    stp x25, x26, [sp, 64]
    stp x27, x28, [sp, 80]
    stp d8, d9, [sp, 96]
    stp d10, d11, [sp, 112]
    stp d12, d13, [sp, 128]
    stp d14, d15, [sp, 144]
    ldr x9, [x5]
    stp x5, x9, [sp, 160]
    mov x9, sp
    str x9, [x5]
    ldr x9, [x5, 8]
    blr x9
    mov w0, 0
.Lwc_out:
    ldp x10, x11, [sp, 160]
    str x11, [x10]
    ldp x19, x20, [sp, 16]
    ldp x21, x22, [sp, 32]
    ldp x23, x24, [sp, 48]
    ldp x25, x26, [sp, 64]
    ldp x27, x28, [sp, 80]
    ldp d8, d9, [sp, 96]
    ldp d10, d11, [sp, 112]
    ldp d12, d13, [sp, 128]
    ldp d14, d15, [sp, 144]
    ldp x29, x30, [sp], 192
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
    .size wc_enter, . - wc_enter
    .globl wc_leave
    .hidden wc_leave
    .type wc_leave, %function
wc_leave:
    mov x29, sp
    mov w0, 1
    b .Lwc_out
    .size wc_leave, . - wc_leave
)");
#else
#error "no way into kernels for this processor"
#endif

namespace wc {

WC_SIGNAL_SAFE_TLS __thread Visitor* visitor = nullptr;
static_assert(offsetof(Visitor, way_out) == 0 && offsetof(Visitor, kernel) == 8, "as the assembly has them");

namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE};
constexpr int kMostHandlers = 16;
constexpr size_t kHandlerStack = 65536;
constexpr uintptr_t kLargestFrame = 64 << 20;  // of kernels

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

// A stack that somebody else has put another one in place of is kept: they may put it back.
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
WC_SIGNAL_SAFE_TLS __thread int handing_on = 0;  // how many handlers of others this thread is in

Handlers& handlers_of(int signal) {
    return before[std::find(std::begin(kSignals), std::end(kSignals), signal) - std::begin(kSignals)];
}

// What is no business of ours. A handler that raises the signal again for the one before it, as Python's faulthandler
// does, may come back here, if we were installed between the two: so each time it is the turn of an earlier one.
void hand_on(int signal, siginfo_t* info, void* context) {
    const Handlers& handlers = handlers_of(signal);
    int at = handlers.count - 1 - handing_on;
    bool sent = info->si_code <= 0;
    if (at >= 0 && handlers.found[at].sa_handler != SIG_DFL && handlers.found[at].sa_handler != SIG_IGN) {
        const struct sigaction& action = handlers.found[at];
        ++handing_on;
        if (action.sa_flags & SA_SIGINFO)
            action.sa_sigaction(signal, info, context);
        else
            action.sa_handler(signal);
        --handing_on;
        return;
    }
    if (at >= 0 && handlers.found[at].sa_handler == SIG_IGN && sent) return;
    struct sigaction action{};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
    if (sent) raise(signal);  // else the instruction runs again, and ends the process
}

void leave(const Visitor& v, void* context) {
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
Fault described(const Visitor& v, int signal, const siginfo_t* info, void* context) {
    Fault f;
    f.signal = signal;
    f.located = signal != SIGFPE && info->si_code > 0 && info->si_code != SI_KERNEL;
    if (!f.located) return f;
    f.address = reinterpret_cast<uintptr_t>(info->si_addr);
    f.refused = signal == SIGSEGV && info->si_code == SEGV_ACCERR;
    if (signal == SIGSEGV) f.access = access_of(context);
    auto top = reinterpret_cast<uintptr_t>(v.way_out);
    f.on_stack = f.address < top && top - f.address < kLargestFrame;
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
    v->fault = described(*v, signal, info, context);
    leave(*v, context);
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
    v->stack = make_stack();
    visitor = v;
    static thread_local AtExit at_exit;
    (void)&at_exit;
    return v;
}

// Handlers of others that were installed since are called by ours from now on.
void watch_faults() {
    for (int signal : kSignals) {
        struct sigaction now;
        if (sigaction(signal, nullptr, &now) != 0 || ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault))
            continue;
        handlers_of(signal).push(now);
        struct sigaction action{};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        sigemptyset(&action.sa_mask);
        sigaction(signal, &action, nullptr);
    }
}

}  // namespace wc
