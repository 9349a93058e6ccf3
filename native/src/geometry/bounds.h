// Boxes that grow, with a vector for each corner. The fourth component counts for nothing.
#pragma once
#include <limits>

namespace wc {

using V4 = float __attribute__((vector_size(16)));

inline V4 least(V4 a, V4 b) { return a < b ? a : b; }
inline V4 most(V4 a, V4 b) { return a > b ? a : b; }
inline V4 all(float x) { return V4{x, x, x, x}; }
inline V4 load3(const float* p) { return V4{p[0], p[1], p[2], 0}; }

struct Bounds {
    V4 lower = all(std::numeric_limits<float>::infinity()), upper = all(-std::numeric_limits<float>::infinity());

    void add(V4 low, V4 high) {
        lower = least(lower, low);
        upper = most(upper, high);
    }
    float half_area() const {
        V4 size = upper - lower;
        return size[0] * size[1] + size[1] * size[2] + size[2] * size[0];
    }
};

}  // namespace wc
