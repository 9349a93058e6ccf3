// What a running kernel may report: the first failing thread (debug mode) and printed text. One per launch, on the
// stack of the calling thread; generated code reaches it through wc_fail and wc_printf.
#pragma once
#include <mutex>
#include <string>

#include "warp_core/abi.h"

struct wc_context {
    std::mutex mutex;
    wc_failure failure{INT64_MAX, -1, 0, {}};
    std::string printed;
    size_t dropped = 0;  // lines beyond the limit of `printed`

    bool failed() const { return failure.thread != INT64_MAX; }
};
