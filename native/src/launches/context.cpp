#include "warp_core/context.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

constexpr size_t kMaxPrinted = 64 << 20;

// The fewest digits that give the number back, as Python writes them: 100.0, 1e-05, 1.5e+20.
template <class T>
std::string shortest(T x) {
    if (std::isnan(x)) return "nan";
    char text[64] = {};
    char* end = std::to_chars(text, text + sizeof text - 1, x, std::chars_format::scientific).ptr;
    std::string_view found(text, static_cast<size_t>(end - text));
    size_t split = found.find('e');
    if (split == std::string_view::npos) return std::string(found);  // an infinity
    bool negative = found.front() == '-';
    std::string digits(1, found[negative]);
    if (split > size_t{2} + negative) digits += found.substr(2 + negative, split - 2 - negative);
    int exponent = std::atoi(found.data() + split + 1);
    std::string sign = negative ? "-" : "";
    if (exponent < -4 || exponent >= 16) {
        std::string whole = digits.substr(0, 1) + (digits.size() > 1 ? "." + digits.substr(1) : "");
        return sign + whole + std::string(found.substr(split));
    }
    if (exponent < 0) return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
    auto point = static_cast<size_t>(exponent) + 1;
    if (digits.size() <= point) digits.append(point - digits.size(), '0').append("0");
    return sign + digits.insert(point, ".");
}

// One operand in the form of `spec`: a conversion with its flags, width and precision.
void append_slot(std::string& out, const std::string& spec, char conversion, bool single, uint64_t slot) {
    char text[4000];
    int n = 0;
    auto form = [&](const char* length) { return spec + length + conversion; };
    if (conversion == 'c') {
        n = std::snprintf(text, sizeof text, form("").c_str(), static_cast<int>(slot));
    } else if (std::strchr("di", conversion)) {
        n = std::snprintf(text, sizeof text, form("ll").c_str(), static_cast<long long>(slot));
    } else if (std::strchr("uxXo", conversion)) {
        n = std::snprintf(text, sizeof text, form("ll").c_str(), static_cast<unsigned long long>(slot));
    } else if (std::strchr("feEgG", conversion)) {
        n = std::snprintf(text, sizeof text, form("").c_str(), std::bit_cast<double>(slot));
    } else if (conversion == 'r') {
        double x = std::bit_cast<double>(slot);
        out += single ? shortest(static_cast<float>(x)) : shortest(x);
        return;
    } else if (conversion == 's') {
        n = std::snprintf(text, sizeof text, form("").c_str(), slot ? "True" : "False");
    }
    out.append(text, static_cast<size_t>(std::clamp<int>(n, 0, sizeof text - 1)));
}

void append_formatted(std::string& out, std::string_view format, const uint64_t* slots) {
    while (!format.empty()) {
        size_t plain = std::min(format.find('%'), format.size());
        out.append(format.substr(0, plain));
        format.remove_prefix(plain);
        if (format.empty()) return;
        size_t flags = std::min(format.find_first_not_of("-+ 0#.123456789", 1), format.size());
        size_t at = std::min(format.find_first_not_of("hlz", flags), format.size());
        if (at == format.size()) return;
        if (format[at] == '%') {
            out.push_back('%');
        } else {
            append_slot(out, std::string(format.substr(0, flags)), format[at], at > flags, *slots++);
        }
        format.remove_prefix(at + 1);
    }
}

}  // namespace

void wc_fail(wc_context* context, int64_t thread, int32_t site, int32_t count, const uint64_t* values) {
    wc::SuspendFaultHandling aside;
    std::lock_guard lock(context->mutex);
    wc_failure& f = context->failure;
    if (thread >= f.thread) return;
    f.thread = thread;
    f.site = site;
    f.count = std::clamp<int32_t>(count, 0, 8);
    std::copy_n(values, f.count, f.values);
}

void wc_printf(wc_context* context, const char* format, const uint64_t* slots) {
    wc::SuspendFaultHandling aside;
    std::lock_guard lock(context->mutex);
    if (context->printed.size() < kMaxPrinted) {
        append_formatted(context->printed, format, slots);
    } else {
        ++context->dropped;
    }
}
