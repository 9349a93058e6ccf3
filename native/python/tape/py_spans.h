// Spans of memory that Python watches: it is told before native code writes to them; so are the seals of tapes.
#pragma once
#include <stdexcept>
#include <utility>

#include "tape/mutation_tracker.h"
#include "warp_core/spans.h"

namespace wc {

extern RangeIndex watched;  // the spans, as Span objects of Python

// One span of a set for as long as the object lives, or until it is left.
class Span {
  public:
    Span(Range range, RangeIndex& set) : range_(range), set_(set) {
        if (range_.empty()) throw std::invalid_argument("the span is empty");
        enter();
    }
    ~Span() { leave(); }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

    void enter() {
        if (!std::exchange(inside_, true)) set_.add(range_, this);
    }
    void leave() {
        if (std::exchange(inside_, false)) set_.remove(range_, this);
    }

    bool inside() const { return inside_; }
    Range range() const { return range_; }

  private:
    Range range_;
    RangeIndex& set_;
    bool inside_ = false;
};

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
bool are_disjoint_with_gradients(const Objects& arrays);
// How many of the arrays have a gradient, or show memory that has one.
size_t count_gradients(const Objects& arrays);

void bind_spans(nb::module_& m);

}  // namespace wc
