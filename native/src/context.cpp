#include "warp_core/context.h"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace {

constexpr size_t kMaxPrinted = 64 << 20;

void append_slot(std::string& out, char conversion, uint64_t slot) {
    char text[400];
    int n = 0;
    switch (conversion) {
        case 'd':
            n = std::snprintf(text, sizeof text, "%" PRId64, static_cast<int64_t>(slot));
            break;
        case 'u':
            n = std::snprintf(text, sizeof text, "%" PRIu64, slot);
            break;
        case 'f':
            n = std::snprintf(text, sizeof text, "%f", std::bit_cast<double>(slot));
            break;
        case 'g':
            n = std::snprintf(text, sizeof text, "%g", std::bit_cast<double>(slot));
            break;
        case 's':
            n = std::snprintf(text, sizeof text, "%s", slot ? "True" : "False");
            break;
        default:
            return;
    }
    out.append(text, static_cast<size_t>(std::clamp<int>(n, 0, sizeof text - 1)));
}

void append_formatted(std::string& out, const char* format, const uint64_t* slots) {
    for (const char* c = format; *c; ++c) {
        if (*c != '%') {
            out.push_back(*c);
        } else if (*++c == '%') {
            out.push_back('%');
        } else if (*c) {
            append_slot(out, *c, *slots++);
        } else {
            return;
        }
    }
}

}  // namespace

void wc_fail(wc_context* context, int64_t thread, int32_t site, int32_t count, const uint64_t* values) {
    std::lock_guard lock(context->mutex);
    wc_failure& f = context->failure;
    if (thread >= f.thread) return;
    f.thread = thread;
    f.site = site;
    f.count = std::clamp<int32_t>(count, 0, 8);
    std::copy_n(values, f.count, f.values);
}

void wc_printf(wc_context* context, const char* format, const uint64_t* slots) {
    std::lock_guard lock(context->mutex);
    if (context->printed.size() < kMaxPrinted) {
        append_formatted(context->printed, format, slots);
    } else {
        ++context->dropped;
    }
}
