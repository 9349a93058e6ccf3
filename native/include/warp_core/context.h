// What a running kernel may report: the first failing thread (debug mode), printed text, and why it had to be left. One
// per launch, on the stack of the calling thread; generated code reaches it through wc_fail and wc_printf.
#pragma once
#include <mutex>
#include <string>

#include "warp_core/abi.h"
#include "warp_core/faults.h"

struct wc_context {
    std::mutex mutex;
    wc_failure failure{INT64_MAX, -1, 0, {}};
    std::string printed;
    size_t dropped = 0;  // lines beyond the limit of `printed`

    wc::Fault fault;             // of the first chunk that had to be left,
    int64_t begin = 0, end = 0;  // and its threads

    bool failed() const { return failure.thread != INT64_MAX; }
    void left(const wc::Fault& why, int64_t first, int64_t last) {
        std::lock_guard lock(mutex);
        if (fault.signal && begin <= first) return;
        fault = why;
        begin = first;
        end = last;
    }
};
