#include "warp_core/packed.h"

#include <cmath>
#include <concepts>
#include <cstring>
#include <type_traits>

#include "warp_core/half.h"
#include "warp_core/short_floats.h"
#include "warp_core/visit.h"

namespace wc {
namespace {

double widen(Half x) { return half_number(x.bits); }
double widen(Bfloat x) { return bfloat_number(x.bits); }
void narrow(double x, Half& to) { to.bits = to_half(x); }
void narrow(double x, Bfloat& to) { to.bits = to_bfloat(x); }

template <class T>
concept ShortFloat = std::same_as<T, Half> || std::same_as<T, Bfloat>;

template <Op op, std::floating_point T>
T apply(T a, T b) {
    if constexpr (op == Op::Add) return a + b;
    if constexpr (op == Op::Sub) return a - b;
    if constexpr (op == Op::Mul) return a * b;
    if constexpr (op == Op::Div) return a / b;
    return std::fmod(a, b);
}

template <Op op, ShortFloat T>
T apply(T a, T b) {
    T out;
    narrow(apply<op>(widen(a), widen(b)), out);
    return out;
}

template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

template <Op op, Integer T>
T apply(T a, T b) {
    auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    if constexpr (op == Op::Add) return static_cast<T>(x + y);
    if constexpr (op == Op::Sub) return static_cast<T>(x - y);
    if constexpr (op == Op::Mul) return static_cast<T>(x * y);
    if (b == 0) return 0;
    if (std::is_signed_v<T> && b == static_cast<T>(-1))  // the quotient of the lowest number wraps
        return op == Op::Div ? static_cast<T>(0 - x) : 0;
    return op == Op::Div ? a / b : a % b;
}

template <Op op>
bool apply(bool a, bool b) {
    return apply<op>(static_cast<int>(a), static_cast<int>(b)) != 0;
}

template <class T>
T negated(T x) {
    if constexpr (ShortFloat<T>) {
        x.bits ^= 0x8000;
        return x;
    } else if constexpr (std::is_same_v<T, bool>) {
        return x;
    } else if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(0 - static_cast<uint64_t>(x));
    } else {
        return -x;
    }
}

template <class T>
bool same(T a, T b) {
    if constexpr (ShortFloat<T>) {
        return widen(a) == widen(b);
    } else {
        return a == b;
    }
}

template <class T>
const T* components(const std::byte* data) {
    return reinterpret_cast<const T*>(data);
}

template <Op op, class T>
void combine_all(Operand a, Operand b, std::byte* out, int64_t count) {
    const T *x = components<T>(a.data), *y = components<T>(b.data);
    T* to = reinterpret_cast<T*>(out);
    for (int64_t i = 0; i < count; ++i) to[i] = apply<op>(x[a.is_scalar ? 0 : i], y[b.is_scalar ? 0 : i]);
}

template <class T>
T add(T a, T b) {
    return apply<Op::Add>(a, b);
}

template <class T>
T mul(T a, T b) {
    return apply<Op::Mul>(a, b);
}

// The sum of products, from the left.
template <class T>
T dot(const T* a, const T* b, int64_t n, int64_t step = 1) {
    T total = mul(a[0], b[0]);
    for (int64_t i = 1; i < n; ++i) total = add(total, mul(a[i], b[i * step]));
    return total;
}

template <class T>
struct Quaternion {
    T x, y, z, w;
};

template <class T>
T dot(const Quaternion<T>& a, const Quaternion<T>& b) {
    return add(add(add(mul(a.x, b.x), mul(a.y, b.y)), mul(a.z, b.z)), mul(a.w, b.w));
}

template <class T>
Quaternion<T> operator*(const Quaternion<T>& a, const Quaternion<T>& b) {
    return {dot<T>({a.w, b.w, a.y, negated(b.y)}, {b.x, a.x, b.z, a.z}),
            dot<T>({a.w, b.w, a.z, negated(b.z)}, {b.y, a.y, b.x, a.x}),
            dot<T>({a.w, b.w, a.x, negated(b.x)}, {b.z, a.z, b.y, a.y}),
            dot<T>({a.w, negated(a.x), negated(a.y), negated(a.z)}, {b.w, b.x, b.y, b.z})};
}

template <class T>
struct Rigid {
    T p[3];
    Quaternion<T> q;
};

template <class T>
Rigid<T> operator*(const Rigid<T>& a, const Rigid<T>& b) {
    const Quaternion<T>& q = a.q;
    Quaternion<T> v =
        q * Quaternion<T>{b.p[0], b.p[1], b.p[2], T{}} * Quaternion<T>{negated(q.x), negated(q.y), negated(q.z), q.w};
    return {{add(a.p[0], v.x), add(a.p[1], v.y), add(a.p[2], v.z)}, q * b.q};
}

template <class F>
void visit_float(Scalar s, F&& f) {
    visit_scalar(s, [&](auto x) {
        if constexpr (!std::is_integral_v<decltype(x)>) f(x);
    });
}

template <template <class> class Value>
void product(Scalar s, const std::byte* a, const std::byte* b, std::byte* out) {
    visit_float(s, [&]<class T>(T) {
        auto made = *reinterpret_cast<const Value<T>*>(a) * *reinterpret_cast<const Value<T>*>(b);
        std::memcpy(out, &made, sizeof made);
    });
}

}  // namespace

void combine(Op op, Scalar s, Operand a, Operand b, std::byte* out, int64_t count) {
    visit_scalar(s, [&]<class T>(T) {
        switch (op) {
            case Op::Add:
                return combine_all<Op::Add, T>(a, b, out, count);
            case Op::Sub:
                return combine_all<Op::Sub, T>(a, b, out, count);
            case Op::Mul:
                return combine_all<Op::Mul, T>(a, b, out, count);
            case Op::Div:
                return combine_all<Op::Div, T>(a, b, out, count);
            case Op::Rem:
                return combine_all<Op::Rem, T>(a, b, out, count);
        }
    });
}

void negate(Scalar s, const std::byte* a, std::byte* out, int64_t count) {
    visit_scalar(s, [&]<class T>(T) {
        for (int64_t i = 0; i < count; ++i) reinterpret_cast<T*>(out)[i] = negated(components<T>(a)[i]);
    });
}

bool equal(Scalar s, const std::byte* a, const std::byte* b, int64_t count) {
    return visit_scalar(s, [&]<class T>(T) {
        for (int64_t i = 0; i < count; ++i)
            if (!same(components<T>(a)[i], components<T>(b)[i])) return false;
        return true;
    });
}

void multiply(Scalar s, const std::byte* a, const std::byte* b, std::byte* out, int64_t rows, int64_t inner,
              int64_t cols) {
    visit_scalar(s, [&]<class T>(T) {
        T* to = reinterpret_cast<T*>(out);
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < cols; ++c)
                *to++ = dot(components<T>(a) + r * inner, components<T>(b) + c, inner, cols);
    });
}

void multiply_quaternions(Scalar s, const std::byte* a, const std::byte* b, std::byte* out) {
    product<Quaternion>(s, a, b, out);
}

void compose_transforms(Scalar s, const std::byte* a, const std::byte* b, std::byte* out) {
    product<Rigid>(s, a, b, out);
}

}  // namespace wc
