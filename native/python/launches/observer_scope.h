// Changes of what observes a thread, for a time. Native code ends them: an interrupt may come before the first line of
// a Python function, such as `__exit__`, and between the lines of a `finally`.
#pragma once
#include "arrays/py_array.h"

namespace wc {

void bind_observer_scopes(nb::module_& m);

}  // namespace wc
