// omni.warp_core._native: see omni/warp_core/_native.pyi for the interface.
#include "arrays/numbers.h"
#include "arrays/py_array.h"
#include "launches/observer_scope.h"
#include "launches/record.h"
#include "launches/timeline.h"
#include "tape/launch_step.h"
#include "tape/mutation_tracker.h"
#include "tape/py_spans.h"
#include "tape/saved_span.h"
#include "values/records.h"
#include "values/values.h"

namespace {

#ifdef __clang__
constexpr const char* kCompiler = "Clang " __clang_version__;
#else
constexpr const char* kCompiler = "GCC " __VERSION__;
#endif
#ifdef __SANITIZE_ADDRESS__
constexpr const char* kSanitizer = "address";
#else
constexpr const char* kSanitizer = "";
#endif

}  // namespace

NB_MODULE(_native, m) {
    nanobind::set_leak_warnings(false);  // class objects of a module live until the process ends
    wc::bind_arrays(m);
    wc::bind_memory(m);
    wc::bind_spans(m);
    wc::bind_saved_spans(m);
    wc::bind_launch_steps(m);
    wc::bind_seals(m);
    wc::bind_gradients(m);
    wc::bind_algorithms(m);
    wc::bind_graph_coloring(m);
    wc::bind_bvh(m);
    wc::bind_loader(m);
    wc::bind_range_locks(m);
    wc::bind_plans(m);
    wc::bind_choices(m);
    wc::bind_record(m);
    wc::bind_observer_scopes(m);
    wc::bind_launch(m);
    wc::bind_graphs(m);
    wc::bind_timeline(m);
    wc::bind_cuda(m);
    wc::bind_exchange(m);
    wc::bind_numbers(m);
    wc::bind_values(m);
    wc::bind_records(m);
    wc::bind_dispatchers(m);
    wc::bind_threads(m);
    wc::bind_volume_files(m);
    wc::bind_grids(m);
    wc::bind_xla(m);
    m.attr("COMPILER") = kCompiler;
    m.attr("SANITIZER") = kSanitizer;
}
