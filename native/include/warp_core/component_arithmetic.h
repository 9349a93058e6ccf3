// Arithmetic on the components of vectors, matrices, quaternions and transforms, as lang/semantics.py has it. Integers
// wrap, integer division truncates and gives 0 for a zero divisor, each float operation rounds once to its own type.
// Sums of float32 and float64 products are fused as kernels fuse them (passes/fma_contraction.py), so that both give
// the same.
#pragma once
#include <cstddef>
#include <cstdint>

#include "warp_core/dtypes.h"

namespace wc {

enum class Op : uint8_t { Add, Sub, Mul, Div, Rem, And, Or, Xor, Shl, Shr };

// Whether an operation works on bits: on integers, and the first three on truth values.
constexpr bool is_bitwise(Op op) { return op >= Op::And; }

// The components of a value, or one scalar that stands for all of them.
struct Operand {
    const std::byte* data;
    bool is_scalar = false;
};

void combine(Op op, Scalar s, Operand a, Operand b, std::byte* out, int64_t count);
void invert(Scalar s, const std::byte* a, std::byte* out, int64_t count);
void negate(Scalar s, const std::byte* a, std::byte* out, int64_t count);
bool equal(Scalar s, const std::byte* a, const std::byte* b, int64_t count);

// The product of matrices in row-major order; a vector is a matrix of one row or one column.
void multiply(Scalar s, const std::byte* a, const std::byte* b, std::byte* out, int64_t rows, int64_t inner,
              int64_t cols);
void multiply_quaternions(Scalar s, const std::byte* a, const std::byte* b, std::byte* out);
void compose_transforms(Scalar s, const std::byte* a, const std::byte* b, std::byte* out);

}  // namespace wc
