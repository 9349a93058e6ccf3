// A launch as a tape has it: what was launched, and what its adjoint will read. Python derives `RecordedLaunch` and
// `LaunchTemplate` from these (tape/launch_vjp.py).
#pragma once
#include <vector>

#include "tape/mutation_tracker.h"

namespace wc {

// What recorded launches of a kernel have in common.
struct StepTemplate {
    StepTemplate(nb::object kernel, nb::object options, nb::object facts, int block_dim, nb::object device);

    nb::object kernel, options, facts, device;  // options: of the adjoint, which has these facts
    int block_dim;
    nb::dict plans;             // of the kernel, by options
    nb::object epoch;           // when the facts were found
    std::vector<bool> moved;    // for each parameter, whether the adjoint reads its arrays
    bool on_gpu, takes_python;  // takes_python: to run the adjoint
};

struct LaunchStep {
    nb::object launch_template;  // a StepTemplate
    nb::object dim, place;
    Objects args;
    Objects held;           // the memory that the adjoint reads as it was before the launch
    Objects active;         // the arrays with gradients
    Objects arrays;         // all arrays
    Objects written;        // those that the launch may have written
    nb::object cut, left;   // a gradient that ends here; saved tensors of the time after the launch; or None
    nb::object structures;  // that it may find by id
};

// The step of a launch that native code records: nothing is cut, left, or found by id.
nb::object make_step(LaunchStep step);

// A recorded operation that fills an array with a gradient of its own.
struct FillStep {
    nb::object array;
};

nb::object make_fill(nb::handle array);

void bind_launch_steps(nb::module_& m);

}  // namespace wc
