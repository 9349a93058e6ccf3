// How launches are recorded on a tape. If an earlier launch of the kernel was like this one, native code does most of
// it; else Python does. Start with record_launch.
#pragma once
#include "tape/mutation_tracker.h"

namespace wc {

// A launch that is recorded and about to run.
class Recording {
  public:
    Recording() = default;
    Recording(nb::object tape, nb::object step, nb::object tracker, Objects active)
        : tape_(std::move(tape)), step_(std::move(step)), tracker_(std::move(tracker)), active_(std::move(active)) {}

    bool is_valid() const { return tape_.is_valid(); }
    // To be called when the launch has run, or has failed.
    void done() const;
    void failed() const;

  private:
    nb::object tape_, step_, tracker_;
    Objects active_;
};

// Records a launch by the template of an earlier one. Invalid if only Python can.
Recording record_launch(nb::handle launch_template, nb::handle dim, PyObject* const* values, size_t count);

// Records that an array is filled with the bytes of one element, and fills it. False, with nothing done, if only Python
// can. `called` is the function that the program calls, which calls another one that calls this.
bool fill_on_tape(nb::handle array, nb::bytes pattern, const char* called);

// Whether some thread has observers.
bool is_observed();

// The observers of this thread, innermost last.
nb::tuple observers();
void set_observers(nb::tuple stack);

void bind_record(nb::module_& m);

}  // namespace wc
