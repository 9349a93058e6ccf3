// From a scalar type at run time to a C++ type: calls a generic function with a value of the type that holds it.
#pragma once
#include <cstdint>
#include <stdexcept>

#include "warp_core/dtypes.h"

namespace wc {

[[noreturn]] inline void unknown_type() { throw std::invalid_argument("the algorithm does not know the element type"); }

// The numbers that algorithms compute with: 4- and 8-byte integers and floats.
template <class F>
decltype(auto) visit_number(Scalar s, F&& f) {
    if (s == Scalar{Kind::Float, 4}) return f(float{});
    if (s == Scalar{Kind::Float, 8}) return f(double{});
    if (s == Scalar{Kind::Int, 4}) return f(int32_t{});
    if (s == Scalar{Kind::Int, 8}) return f(int64_t{});
    if (s == Scalar{Kind::Uint, 4}) return f(uint32_t{});
    if (s == Scalar{Kind::Uint, 8}) return f(uint64_t{});
    unknown_type();
}

struct Half {
    uint16_t bits;
};

struct Bfloat {
    uint16_t bits;
};

template <class F>
decltype(auto) visit_scalar(Scalar s, F&& f) {
    if (s == Scalar{Kind::Bool, 1}) return f(bool{});
    if (s == Scalar{Kind::Int, 1}) return f(int8_t{});
    if (s == Scalar{Kind::Int, 2}) return f(int16_t{});
    if (s == Scalar{Kind::Uint, 1}) return f(uint8_t{});
    if (s == Scalar{Kind::Uint, 2}) return f(uint16_t{});
    if (s == Scalar{Kind::Float, 2}) return f(Half{});
    if (s == Scalar{Kind::Bfloat, 2}) return f(Bfloat{});
    return visit_number(s, f);
}

}  // namespace wc
