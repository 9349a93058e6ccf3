// 16-bit floats by bit operations on a float, free of branches so that loops over them vectorise.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace wc {

// A float that rounds to any 16-bit float like x does: x cut off, its last bit set if anything was lost.
inline float round_to_odd(double x) {
    auto near = static_cast<float>(x);
    auto bits = std::bit_cast<uint32_t>(near);
    bits -= std::fabs(near) > std::fabs(x);
    bits |= near != x && x == x;
    return std::bit_cast<float>(bits);
}

inline uint16_t half_bits(float x) {
    uint32_t bits = std::bit_cast<uint32_t>(x);
    auto size = static_cast<int32_t>(bits & 0x7fffffff);  // signed, since vectors compare that at once
    float small = std::bit_cast<float>(size) + 0.5f;      // the last bit of 0.5f is worth the smallest half
    int32_t below = std::bit_cast<int32_t>(small) - 0x3f000000;
    int32_t normal = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
    int32_t result = size < 0x38800000 ? below : normal;
    result = size >= 0x477ff000 ? 0x7c00 : result;  // from 65520 on
    result = size > 0x7f800000 ? 0x7e00 : result;
    return static_cast<uint16_t>((bits >> 16 & 0x8000) | static_cast<uint32_t>(result));
}

inline uint16_t bfloat_bits(float x) {
    uint32_t bits = std::bit_cast<uint32_t>(x);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? (bits >> 16 & 0x8000) | 0x7fc0 : rounded);
}

inline float half_number(uint16_t half) {
    uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16, size = static_cast<uint32_t>(half & 0x7fff) << 13;
    float finite = std::bit_cast<float>(size) * 0x1p112f;
    uint32_t bits = size >= 0x0f800000 ? size | 0x7f800000 : std::bit_cast<uint32_t>(finite);
    return std::bit_cast<float>(sign | bits);
}

inline float bfloat_number(uint16_t bfloat) { return std::bit_cast<float>(static_cast<uint32_t>(bfloat) << 16); }

}  // namespace wc
