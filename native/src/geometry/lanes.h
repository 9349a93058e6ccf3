// The active lanes of a kernel that calls native code. codegen/cpu/native_calls.py has the layout of the buffer.
#pragma once
#include <bit>
#include <cstdint>

namespace wc {

struct Lanes {
    char* buffer;
    int64_t count;

    template <class T>
    T* column(int64_t number) const {
        return reinterpret_cast<T*>(buffer + 8 * number * count);
    }
    template <class T>
    T& at(int64_t number, int64_t lane) const {
        return column<T>(number)[lane];
    }
    template <class T, int n>
    void read(T (&to)[n], int64_t column, int64_t lane) const {
        for (int k = 0; k < n; ++k) to[k] = at<T>(column + k, lane);
    }
};

template <class F>
void for_lanes(uint64_t mask, F&& body) {
    for (; mask; mask &= mask - 1) body(static_cast<int64_t>(std::countr_zero(mask)));
}

constexpr uint64_t kStructureAddress = 0x0000'FFFF'FFFF'FFFF;  // of an id: lib/geometry/structure_ids.py

}  // namespace wc
