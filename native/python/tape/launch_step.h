// A launch as a tape has it: what was launched, and what its adjoint will read. Python derives `RecordedLaunch` from it
// (tape/launch_vjp.py).
#pragma once
#include "arrays/py_array.h"

namespace wc {

struct LaunchStep {
    nb::object launch_template;  // what it has in common with others: the LaunchTemplate of Python
    nb::object dim, place;
    nb::list args;
    nb::list held;                   // the memory that the adjoint reads as it was before the launch
    nb::list active;                 // the arrays with gradients
    nb::list arrays;                 // all arrays
    nb::list written;                // those that the launch may have written
    nb::object cut, left;            // a gradient that ends here; saved tensors of the time after the launch; or None
    nb::object structures;           // that it may find by id
};

// The step of a launch that native code records: nothing is cut, left, or found by id.
nb::object make_step(LaunchStep step);

void bind_launch_steps(nb::module_& m);

}  // namespace wc
