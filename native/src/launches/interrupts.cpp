#include "warp_core/interrupts.h"

#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "warp_core/faults.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace wc {
namespace {

constexpr int64_t kAgainNs = 2'000'000;  // between attempts to find a thread in generated code

// -- where generated code is -----------------------------------------------------------------------------------------

// Read by handlers of signals, so nothing is locked, nor freed: a range that is forgotten is there for the next code.
struct Range {
    std::atomic<uintptr_t> begin{0}, end{0};
    std::atomic<bool> taken{false};
    Range* next = nullptr;
};

std::atomic<Range*> ranges{nullptr};

Range* free_range() {
    for (Range* r = ranges; r; r = r->next)
        if (!r->taken.exchange(true)) return r;
    auto* r = new Range;
    r->taken = true;
    r->next = ranges;
    while (!ranges.compare_exchange_weak(r->next, r)) {
    }
    return r;
}

bool is_in_code(void* context) {
    auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
    auto at = static_cast<uintptr_t>(machine.gregs[REG_RIP]);
#else
    auto at = static_cast<uintptr_t>(machine.pc);
#endif
    for (Range* r = ranges; r; r = r->next)
        if (at >= r->begin && at < r->end) return true;
    return false;
}

// -- signals ---------------------------------------------------------------------------------------------------------

std::atomic<uint64_t> count{0};
std::atomic<bool> wants_two{false};
std::atomic<uint64_t> meant{0};       // the chunk of the first thread that is to end
std::atomic<pid_t> timer_process{0};  // a child of fork has no timers
int timer;                            // as the kernel numbers them

// System calls, as the library's functions may allocate.
void set_timer(int64_t ns) {
    itimerspec when{};
    when.it_value.tv_sec = ns / 1'000'000'000;
    when.it_value.tv_nsec = ns % 1'000'000'000;
    syscall(SYS_timer_settime, timer, 0, &when, nullptr);
}

void signal_in(int64_t ns) {
    if (timer_process != getpid()) {
        sigevent event{};
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = SIGINT;
        event.sigev_notify_thread_id = getpid();  // the first thread
        if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) != 0) return;
        timer_process = getpid();
    }
    set_timer(ns);
}

Visitor* first_thread() {
    for (Visitor* v = all_visitors(); v; v = v->next)
        if (v->first && v->id) return v;
    return nullptr;
}

// The user wants it to end.
void asked() {
    count.fetch_add(1);
    Visitor* v = first_thread();
    uint64_t chunk = v ? v->steps.load() : 0;
    if (chunk % 2 == 0) return;  // that thread looks by itself
    bool again = meant.exchange(chunk) == chunk;
    if (!again && wants_two) return;
    v->timed = true;
    signal_in(again ? 1 : kPatienceNs);
    if (v->steps != chunk) stop_timer(*v);
}

bool leave_if_in_code(Visitor& v, void* context) {
    if (!v.way_out || !is_in_code(context)) return false;
    Fault why;
    why.signal = SIGINT;
    leave(v, why, context);
    return true;
}

void on_interrupt(int signal, siginfo_t* info, void* context) {
    int error = errno;
    Visitor* v = visitor;
    if (info->si_code == SI_TKILL && v && v->helper) {
        if (v->steps % 2 == 1 && v->asked == v->launch) leave_if_in_code(*v, context);
    } else if (info->si_code == SI_TIMER) {
        if (v && v->first && v->steps % 2 == 1 && v->steps == meant) {
            end_chunks(v->launch);
            if (!leave_if_in_code(*v, context)) signal_in(kAgainNs);
        }
    } else {
        asked();
        hand_on(signal, info, context);
    }
    errno = error;
}

}  // namespace

void note_code(uintptr_t begin, uintptr_t end) {
    Range* r = free_range();
    r->begin = begin;
    r->end = end;
}

void forget_code(uintptr_t begin) {
    for (Range* r = ranges; r; r = r->next) {
        if (r->begin != begin) continue;
        r->end = 0;
        r->begin = 0;
        r->taken = false;
        return;
    }
}

bool interrupts_watched() { return has_signal(SIGINT, on_interrupt); }

void watch_interrupts(bool twice) {
    wants_two = twice;
    take_signal(SIGINT, on_interrupt, 0);
}

// The program may have another handler by the time that the timer would go off.
void stop_timer(Visitor& v) {
    v.timed = false;
    if (timer_process == getpid()) set_timer(0);
}

uint64_t interrupts() { return count; }

// Where SIGINT does not come here it would do something else.
void end_chunks(const void* launch) {
    if (!interrupts_watched()) return;
    for (Visitor* v = all_visitors(); v; v = v->next) {
        if (!v->helper || v->steps % 2 == 0 || v->launch != launch) continue;
        v->asked = launch;
        if (pid_t id = v->id) syscall(SYS_tgkill, getpid(), id, SIGINT);
    }
}

}  // namespace wc
