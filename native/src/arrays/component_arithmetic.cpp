#include "warp_core/component_arithmetic.h"

#include <cmath>
#include <concepts>
#include <cstring>
#include <type_traits>

#include "warp_core/dispatch_scalar.h"
#include "warp_core/half.h"
#include "warp_core/short_floats.h"

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

// Counts of all bits and more, negative ones among them, shift everything out.
template <Integer T>
T shifted(T a, T b, bool left) {
    bool all = static_cast<std::make_unsigned_t<T>>(b) >= 8 * sizeof(T);
    if (left) return all ? T{} : static_cast<T>(static_cast<uint64_t>(a) << b);
    return all ? static_cast<T>(a < 0 ? -1 : 0) : static_cast<T>(a >> b);
}

template <Op op, Integer T>
T apply(T a, T b) {
    auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    if constexpr (op == Op::And) return static_cast<T>(x & y);
    if constexpr (op == Op::Or) return static_cast<T>(x | y);
    if constexpr (op == Op::Xor) return static_cast<T>(x ^ y);
    if constexpr (op == Op::Shl || op == Op::Shr) return shifted(a, b, op == Op::Shl);
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

template <class T>
T number(double x) {
    if constexpr (ShortFloat<T>) {
        T out;
        narrow(x, out);
        return out;
    } else {
        return static_cast<T>(x);
    }
}

template <class T>
T inverted(T x) {
    if constexpr (std::is_same_v<T, bool>) return !x;
    if constexpr (Integer<T>) return static_cast<T>(~static_cast<uint64_t>(x));
    return x;
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
T mul_add(T a, T b, T c) {
    if constexpr (std::floating_point<T>) return std::fma(a, b, c);
    return apply<Op::Add>(apply<Op::Mul>(a, b), c);
}

template <class T>
T mul(T a, T b) {
    return apply<Op::Mul>(a, b);
}

// a b - c d. The compiler of kernels fuses neither product (passes/fma_contraction.py).
template <class T>
T difference_of_products(T a, T b, T c, T d) {
    return apply<Op::Sub>(mul(a, b), mul(c, d));
}

// The sum of products, from the left. Of two products the first is fused.
template <class T>
T dot(const T* a, const T* b, int64_t n, int64_t step = 1) {
    if (n == 1) return mul(a[0], b[0]);
    T total = mul_add(a[0], b[0], mul(a[1], b[step]));
    for (int64_t i = 2; i < n; ++i) total = mul_add(a[i], b[i * step], total);
    return total;
}

template <class T>
struct Quaternion {
    T x, y, z, w;
};

template <class T>
T dot(const Quaternion<T>& a, const Quaternion<T>& b) {
    return mul_add(a.w, b.w, mul_add(a.z, b.z, mul_add(a.x, b.x, mul(a.y, b.y))));
}

template <class T>
Quaternion<T> operator*(const Quaternion<T>& a, const Quaternion<T>& b) {
    return {dot<T>({a.w, b.w, a.y, negated(b.y)}, {b.x, a.x, b.z, a.z}),
            dot<T>({a.w, b.w, a.z, negated(b.z)}, {b.y, a.y, b.x, a.x}),
            dot<T>({a.w, b.w, a.x, negated(b.x)}, {b.z, a.z, b.y, a.y}),
            mul_add(negated(a.z), b.z, mul_add(negated(a.y), b.y, difference_of_products(a.w, b.w, a.x, b.x)))};
}

// `v` rotated, in the order of quat_rotate (lib/quaternions.py).
template <class T>
void rotate(const Quaternion<T>& q, const T* v, T* out) {
    T two = number<T>(2.0), twice = mul(two, q.w), scale = mul_add(twice, q.w, number<T>(-1.0));
    T axis[3] = {q.x, q.y, q.z}, along = mul(two, dot(axis, v, 3));
    for (int i = 0; i < 3; ++i) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        T turned = difference_of_products(axis[j], v[k], axis[k], v[j]);
        out[i] = mul_add(axis[i], along, mul_add(v[i], scale, mul(turned, twice)));
    }
}

template <class T>
struct Rigid {
    T p[3];
    Quaternion<T> q;
};

template <class T>
Rigid<T> operator*(const Rigid<T>& a, const Rigid<T>& b) {
    Rigid<T> out{{}, a.q * b.q};
    rotate(a.q, b.p, out.p);
    for (int i = 0; i < 3; ++i) out.p[i] = add(a.p[i], out.p[i]);
    return out;
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

template <class T>
void combine_bits(Op op, Operand a, Operand b, std::byte* out, int64_t count) {
    if (op == Op::And) return combine_all<Op::And, T>(a, b, out, count);
    if (op == Op::Or) return combine_all<Op::Or, T>(a, b, out, count);
    if (op == Op::Xor) return combine_all<Op::Xor, T>(a, b, out, count);
    if constexpr (Integer<T>) {
        if (op == Op::Shl) return combine_all<Op::Shl, T>(a, b, out, count);
        combine_all<Op::Shr, T>(a, b, out, count);
    }
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
            default:
                if constexpr (std::is_integral_v<T>) return combine_bits<T>(op, a, b, out, count);
        }
    });
}

void invert(Scalar s, const std::byte* a, std::byte* out, int64_t count) {
    visit_scalar(s, [&]<class T>(T) {
        for (int64_t i = 0; i < count; ++i) reinterpret_cast<T*>(out)[i] = inverted(components<T>(a)[i]);
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
