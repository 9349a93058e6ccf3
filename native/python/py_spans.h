// Spans of memory that Python watches: it is told before native code writes to them.
#pragma once
#include "py_array.h"
#include "warp_core/spans.h"

namespace wc {

extern SpanSet watched;  // the spans, as Span objects of Python

inline bool watching() { return !watched.empty(); }

// To be called before native code writes to `range`, with the GIL. Raises what Python raises.
void before_write(Range range);
void before_write(const Array& array);
// The same where it is not known which memory is written.
void before_any_write();

void bind_spans(nb::module_& m);

}  // namespace wc
