// The thread pool. The calling thread always takes part, any number of threads may call at once, and a forked child
// starts with a fresh pool. Nothing here knows about Python or kernels.
#pragma once
#include <cstdint>

namespace wc {

// One piece of work: the items [begin, end). Must not throw.
using Body = void (*)(void* data, int64_t begin, int64_t end);

// Polled on the calling thread about 20 times a second; false cancels what has not begun.
using KeepGoing = bool (*)(void* data);

// Runs `body` over [0, n) in chunks (all of size `chunk` but the last) and returns when every chunk has ended.
// Chunks are begun in order. `alone`: all on the calling thread.
void parallel_for(int64_t n, int64_t chunk, Body body, void* data, KeepGoing keep_going = nullptr, bool alone = false);

// Threads that share a launch, the calling one included. The default is the number of usable cores.
int num_threads();
void set_num_threads(int count);  // at least 1, at most 1024; throws std::invalid_argument

int64_t now_ns();

// Tells the core that this thread waits in a loop.
inline void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace wc
