// Spans of memory that Python watches: it is told before native code writes to them; so are the seals of tapes.
#pragma once
#include "tape/mutation_tracker.h"
#include "warp_core/spans.h"

namespace wc {

extern RangeIndex watched;  // the spans, as Span objects of Python

// Whether anybody is to be told of writes.
inline bool watching() { return !watched.empty() || sealed_tapes != 0; }

// To be called before native code writes to `range`, with the GIL. Raises what Python raises.
void before_write(Range range);
void before_write(const Array& array);
// The same where it is not known which memory is written.
void before_any_write();
// The same for the memory that kernels may write by the id of a structure, such as the values of a volume.
void before_write_to_structure(uint64_t id);
void before_write_to_any_structure();

// Whether arrays share no memory, and each has the gradient that is bound to its memory (see grad_binding.py).
bool are_disjoint_with_gradients(const nb::list& arrays);

// What a tape holds of the memory of each array, which its `SavedPool` knows or makes (see saved.py).
nb::list held_spans(nb::handle pool, const nb::list& arrays);

void bind_spans(nb::module_& m);

}  // namespace wc
