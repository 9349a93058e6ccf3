// The records of a log, and adding what they have (native/include/warp_core/abi.h has their layout). Start with
// `Record`.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "warp_core/abi.h"
#include "warp_core/clones.h"
#include "warp_core/short_floats.h"

namespace wc {
namespace {

struct Header {
    int type, lanes, count;
    size_t size;  // of the record, in bytes
    uint32_t mask;

    explicit Header(uint64_t bits)
        : type(static_cast<int>(bits & 3)),
          lanes(static_cast<int>(bits >> 2 & 0x3f)),
          count(static_cast<int>(bits >> 8 & 0xfff)),
          size((bits >> 20 & 0xfff) * 8),
          mask(static_cast<uint32_t>(bits >> 32)) {}

    void write(void* at) const {
        uint64_t bits = static_cast<uint64_t>(type) | static_cast<uint64_t>(lanes) << 2 |
                        static_cast<uint64_t>(count) << 8 | size / 8 << 20 | static_cast<uint64_t>(mask) << 32;
        std::memcpy(at, &bits, sizeof bits);
    }

    bool full() const { return mask == (lanes == 32 ? ~0u : (1u << lanes) - 1); }
};

struct Half {
    uint16_t bits;
    Half& operator+=(Half x) {
        bits = half_bits(half_number(bits) + half_number(x.bits));
        return *this;
    }
};

struct Bfloat {
    uint16_t bits;
    Bfloat& operator+=(Bfloat x) {
        bits = bfloat_bits(bfloat_number(bits) + bfloat_number(x.bits));
        return *this;
    }
};

template <class T, size_t N>
struct Packed {
    using type [[gnu::vector_size(N * sizeof(T))]] = T;
};
template <class T>
using Register = typename Packed<T, 16 / sizeof(T)>::type;  // what every processor has
template <class T>
using Pair = typename Packed<T, 2>::type;

// The pairs of lanes, from their first numbers and their second ones.
inline std::array<Pair<float>, 4> paired(Register<float> a, Register<float> b) {
    Register<float> low = __builtin_shufflevector(a, b, 0, 4, 1, 5), high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    return {__builtin_shufflevector(low, low, 0, 1), __builtin_shufflevector(low, low, 2, 3),
            __builtin_shufflevector(high, high, 0, 1), __builtin_shufflevector(high, high, 2, 3)};
}

inline std::array<Pair<double>, 2> paired(Register<double> a, Register<double> b) {
    return {__builtin_shufflevector(a, b, 0, 2), __builtin_shufflevector(a, b, 1, 3)};
}

template <class V, class T>
V read(const T* from) {
    V found;
    std::memcpy(&found, from, sizeof found);
    return found;
}

template <class T>
void add_pair(T* to, Pair<T> given) {
    Pair<T> sum = read<Pair<T>>(to) + given;
    std::memcpy(to, &sum, sizeof sum);
}

// Two numbers side by side at a time: adding takes as long as storing the sums does.
template <int N, class T>
[[gnu::always_inline]] inline void add_pairs(T* const* to, int at, const T* values, int lanes) {
    constexpr int kWidth = 16 / sizeof(T);
    for (int first = 0; first < lanes; first += kWidth) {
        std::array<Pair<T>, kWidth> pairs[N / 2];
        for (int i = 0; i < N / 2; ++i) {
            const T* column = values + 2 * i * lanes + first;
            pairs[i] = paired(read<Register<T>>(column), read<Register<T>>(column + lanes));
        }
        for (int l = 0; l < kWidth; ++l) {
            T* element = to[first + l] + at;
            for (int i = 0; i < N / 2; ++i) add_pair(element + 2 * i, pairs[i][l]);
            if (N % 2 == 1) element[N - 1] += values[(N - 1) * lanes + first + l];
        }
    }
}

// The numbers from `at` on of the elements of all lanes.
template <int N, class T>
[[gnu::always_inline]] inline void add_columns(T* const* to, int at, const T* values, int lanes) {
    if constexpr (std::is_floating_point_v<T> && N > 1) {
        if (lanes % (16 / sizeof(T)) == 0) return add_pairs<N>(to, at, values, lanes);
    }
    for (int l = 0; l < lanes; ++l)
        for (int i = 0; i < N; ++i) to[l][at + i] += values[i * lanes + l];
}

template <class T>
void add_elements(T* const* to, const T* values, int lanes, int count) {
    int at = 0;
    for (; at + 4 < count; at += 4) add_columns<4>(to, at, values + at * lanes, lanes);
    switch (count - at) {
        case 1:
            return add_columns<1>(to, at, values + at * lanes, lanes);
        case 2:
            return add_columns<2>(to, at, values + at * lanes, lanes);
        case 3:
            return add_columns<3>(to, at, values + at * lanes, lanes);
        default:
            return add_columns<4>(to, at, values + at * lanes, lanes);
    }
}

template <class T>
void add_some(T* const* to, const T* values, int lanes, int count, uint32_t mask) {
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        for (int i = 0; i < count; ++i) to[l][i] += values[i * lanes + l];
    }
}

WC_AVX2_CLONE void add_many(float* __restrict to, const float* values, int count) {
    for (int i = 0; i < count; ++i) to[i] += values[i];
}

template <class T>
void add_many(T* __restrict to, const T* values, int count) {
    for (int i = 0; i < count; ++i) to[i] += values[i];
}

template <class T>
[[gnu::always_inline]] inline void add(const Header& h, const std::byte* addresses, const std::byte* given) {
    auto to = reinterpret_cast<T* const*>(addresses);
    auto values = reinterpret_cast<const T*>(given);
    if (h.lanes == 1) return add_many(to[0], values, h.count);
    if (!h.full()) return add_some(to, values, h.lanes, h.count, h.mask);
    // Vectors, the most frequent elements, have a loop of their own.
    return h.count == 3 ? add_columns<3>(to, 0, values, h.lanes) : add_elements(to, values, h.lanes, h.count);
}

constexpr int kSize[] = {4, 8, 2, 2};

// A record that begins somewhere.
struct Record {
    Header header;
    const std::byte *addresses, *values;

    explicit Record(const std::byte* at)
        : header(header_of(at)), addresses(at + std::min(8 * header.lanes, 64)), values(addresses + 8 * header.lanes) {}

    static Header header_of(const std::byte* at) {
        uint64_t bits;
        std::memcpy(&bits, at, sizeof bits);
        return Header(bits);
    }

    [[gnu::always_inline]] void apply() const {
        switch (header.type) {
            case 0:
                return add<float>(header, addresses, values);
            case 1:
                return add<double>(header, addresses, values);
            case 2:
                return add<Half>(header, addresses, values);
            default:
                return add<Bfloat>(header, addresses, values);
        }
    }

    // The address of the first lane that is on.
    uintptr_t first() const {
        uintptr_t to;
        std::memcpy(&to, addresses + 8 * (header.mask ? __builtin_ctz(header.mask) : 0), sizeof to);
        return to;
    }

    // The lanes whose numbers are all within a span.
    uint32_t inside(const wc_span& span) const {
        uint32_t found = 0;
        for (uint32_t rest = header.mask; rest; rest &= rest - 1) {
            int l = __builtin_ctz(rest);
            uintptr_t to;
            std::memcpy(&to, addresses + 8 * l, sizeof to);
            bool own = to >= reinterpret_cast<uintptr_t>(span.low) &&
                       to + static_cast<uintptr_t>(header.count * kSize[header.type]) <=
                           reinterpret_cast<uintptr_t>(span.high);
            found |= uint32_t{own} << l;
        }
        return found;
    }
};

}  // namespace
}  // namespace wc
