#include "warp_core/half.h"

#include <bit>
#include <cmath>

namespace wc {
namespace {

// Rounds |x| to a binary format with `mantissa` stored bits and the exponent range [low, high] of normal numbers.
// Returns its bits without sign; all numbers beyond the range become infinity.
uint16_t narrow(double x, int mantissa, int low, int high) {
    uint16_t infinity = static_cast<uint16_t>((high - low + 2) << mantissa);
    if (std::isnan(x)) return static_cast<uint16_t>(infinity | (1 << (mantissa - 1)));
    x = std::fabs(x);
    if (x == 0) return 0;
    if (std::isinf(x)) return infinity;
    int exponent = std::ilogb(x);
    if (exponent > high) return infinity;
    int scale = exponent < low ? low : exponent;
    // The significand as an integer: at most mantissa + 2 bits, so nearbyint rounds exactly once (to even).
    auto significand = static_cast<uint32_t>(std::nearbyint(std::ldexp(x, mantissa - scale)));
    // A normal significand has the hidden bit, which raises the exponent field by one; so does a carry.
    return static_cast<uint16_t>((static_cast<uint32_t>(scale - low) << mantissa) + significand);
}

uint16_t sign_bit(double x) { return std::signbit(x) ? 0x8000 : 0; }

}  // namespace

uint16_t to_half(double x) { return sign_bit(x) | narrow(x, 10, -14, 15); }
uint16_t to_bfloat(double x) { return sign_bit(x) | narrow(x, 7, -126, 127); }

float from_half(uint16_t bits) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float magnitude;
    if (exponent == 31) {
        magnitude = std::bit_cast<float>(0x7f800000u | static_cast<uint32_t>(fraction) << 13);
    } else if (exponent == 0) {
        magnitude = std::ldexp(static_cast<float>(fraction), -24);
    } else {
        magnitude = std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
    }
    return bits & 0x8000 ? -magnitude : magnitude;
}

}  // namespace wc
