// 16-bit floats in software, rounded once to nearest even. A float converts exactly to double first, so one routine
// each is enough.
#pragma once
#include <cstdint>

namespace wc {

uint16_t to_half(double x);    // IEEE binary16
uint16_t to_bfloat(double x);  // bfloat16: the upper half of a float
float from_half(uint16_t bits);

}  // namespace wc
