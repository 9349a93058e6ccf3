// Ctrl-C, as Python's module `signal` sees it.
#pragma once

namespace wc {

// Sees to it that Ctrl-C can end chunks that do not end (interrupts.h), unless the program wants something else of it.
// Called with the GIL when code is loaded and before long launches, as programs may set handlers at any time.
void let_interrupts_in();

// Raises what signals have raised in Python; KeyboardInterrupt if that is nothing, as a launch was left.
[[noreturn]] void raise_interrupt();

// The user may have asked twice, and gets one exception: drops what the second one raises.
void drop_interrupt();

}  // namespace wc
