// Ctrl-C. Usually a launch looks between chunks whether the user wants it to end, and no more chunks begin. A chunk
// that does not end is left in the middle: a second later, or when Ctrl-C comes again.
//
// That concerns launches of the thread that the process began with, which is Python's main thread. It may be in such a
// chunk itself, with no code of ours to look at a clock. So the handler of SIGINT sets a timer, which sends SIGINT to
// it again; helpers get the signal from the launching thread. A thread that is asked to leave, in place of having to,
// may be in libm or in the dynamic linker below it, which may hold locks: it leaves only when the signal finds it in
// generated code itself (`note_code`), and is asked again until it does.
#pragma once
#include <cstdint>

namespace wc {

constexpr int64_t kPatienceNs = 1'000'000'000;  // how long a chunk may take to end by itself

// That there is generated code at [begin, end), and no longer.
void note_code(uintptr_t begin, uintptr_t end);
void forget_code(uintptr_t begin);

// Whether SIGINT comes here first, and seeing to it. `twice`: chunks are only left when it comes twice, as what the
// program does about it need not end a launch.
bool interrupts_watched();
void watch_interrupts(bool twice);

uint64_t interrupts();  // how often the user wanted something to end

// Makes the helpers that run chunks of a launch leave them. Called again until they have.
void end_chunks(const void* launch);

}  // namespace wc
