// What tapes last saw of memory with gradients, so that a write which a tape does not see is found when a recorded step
// uses that memory again. Start with MutationTracker::use.
#pragma once
#include <vector>

#include "arrays/py_array.h"
#include "warp_core/spans.h"

namespace wc {

using Objects = std::vector<nb::object>;

// The items of a list, and a list of items.
Objects items(nb::handle list);
nb::list listed(const Objects& items);

extern int64_t sealed_tapes;  // how many tapes have seals

// To be called before native code writes to `range`, with the GIL.
void touch_seals(Range range);
// The same where it is not known whether it writes there.
void doubt_seals();
// Another library may write to `range` from now on, unseen by tapes.
void open_seals(Range range);

// The tracker that the writes of this thread belong to, or None. The others take them for writes that nothing records.
nb::object tracker_of_writes();
void track_writes(nb::handle tracker);

// `MutationTracker::use` and `MutationTracker::wrote` of a tracker of Python.
nb::object use_arrays(nb::handle tracker, const Objects& arrays, const nb::object& place);
void wrote_arrays(nb::handle tracker, const Objects& arrays, bool changed);

void bind_seals(nb::module_& m);

}  // namespace wc
