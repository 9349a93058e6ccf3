// The functions outside an object that generated code may call, by name.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>

#include "warp_core/abi.h"
#include "warp_core/half.h"
#include "warp_core/loader.h"

namespace wc {
namespace {

struct Row {
    std::string_view name;
    void* address;
};

template <class R, class... A>
void* at(R (*function)(A...)) {
    return reinterpret_cast<void*>(function);
}

// Conversions of 16-bit floats that LLVM calls where the target has no instruction. On x86-64 such values travel in the
// low half of an SSE register, as the low bits of a float do; on AArch64 LLVM needs none of them.
float carried(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
float extendhfsf2(float half) { return from_half(static_cast<uint16_t>(std::bit_cast<uint32_t>(half))); }
float truncsfhf2(float x) { return carried(to_half(x)); }
float truncdfhf2(double x) { return carried(to_half(x)); }
float truncsfbf2(float x) { return carried(to_bfloat(x)); }
float truncdfbf2(double x) { return carried(to_bfloat(x)); }

using F1 = float (*)(float);
using D1 = double (*)(double);
using F2 = float (*)(float, float);
using D2 = double (*)(double, double);

#define WC_UNARY(name) \
    {#name, at(static_cast<D1>(::name))}, { #name "f", at(static_cast<F1>(::name##f)) }
#define WC_BINARY(name) \
    {#name, at(static_cast<D2>(::name))}, { #name "f", at(static_cast<F2>(::name##f)) }

const Row kRows[] = {
    WC_UNARY(sin),
    WC_UNARY(cos),
    WC_UNARY(tan),
    WC_UNARY(asin),
    WC_UNARY(acos),
    WC_UNARY(atan),
    WC_UNARY(sinh),
    WC_UNARY(cosh),
    WC_UNARY(tanh),
    WC_UNARY(asinh),
    WC_UNARY(acosh),
    WC_UNARY(atanh),
    WC_UNARY(exp),
    WC_UNARY(exp2),
    WC_UNARY(expm1),
    WC_UNARY(log),
    WC_UNARY(log2),
    WC_UNARY(log10),
    WC_UNARY(log1p),
    WC_UNARY(sqrt),
    WC_UNARY(cbrt),
    WC_UNARY(erf),
    WC_UNARY(erfc),
    WC_UNARY(tgamma),
    WC_UNARY(lgamma),
    WC_UNARY(floor),
    WC_UNARY(ceil),
    WC_UNARY(trunc),
    WC_UNARY(round),
    WC_UNARY(rint),
    WC_UNARY(nearbyint),
    WC_UNARY(fabs),
    WC_BINARY(pow),
    WC_BINARY(atan2),
    WC_BINARY(fmod),
    WC_BINARY(remainder),
    WC_BINARY(hypot),
    WC_BINARY(fmin),
    WC_BINARY(fmax),
    WC_BINARY(fdim),
    WC_BINARY(copysign),
    WC_BINARY(nextafter),
    {"fma", at(static_cast<double (*)(double, double, double)>(::fma))},
    {"fmaf", at(static_cast<float (*)(float, float, float)>(::fmaf))},
    {"ldexp", at(static_cast<double (*)(double, int)>(::ldexp))},
    {"ldexpf", at(static_cast<float (*)(float, int)>(::ldexpf))},
    {"memcpy", at(static_cast<void* (*)(void*, const void*, size_t)>(::memcpy))},
    {"memmove", at(static_cast<void* (*)(void*, const void*, size_t)>(::memmove))},
    {"memset", at(static_cast<void* (*)(void*, int, size_t)>(::memset))},
    {"__extendhfsf2", at(&extendhfsf2)},
    {"__truncsfhf2", at(&truncsfhf2)},
    {"__truncdfhf2", at(&truncdfhf2)},
    {"__truncsfbf2", at(&truncsfbf2)},
    {"__truncdfbf2", at(&truncdfbf2)},
    {"wc_fail", at(&::wc_fail)},
    {"wc_printf", at(&::wc_printf)},
    {"wc_stash", at(&::wc_stash)},
    {"wc_stash_bytes", at(&::wc_stash_bytes)},
    {"wc_mesh_first_hit", at(&::wc_mesh_first_hit)},
    {"wc_mesh_crossings", at(&::wc_mesh_crossings)},
    {"wc_mesh_closest", at(&::wc_mesh_closest)},
    {"wc_mesh_farthest", at(&::wc_mesh_farthest)},
    {"wc_mesh_winding", at(&::wc_mesh_winding)},
    {"wc_mesh_next_in_box", at(&::wc_mesh_next_in_box)},
    {"wc_mesh_next_in_ball", at(&::wc_mesh_next_in_ball)},
    {"wc_bvh_next", at(&::wc_bvh_next)},
    {"wc_hash_grid_next", at(&::wc_hash_grid_next)},
    {"wc_hash_grid_ahead", at(&::wc_hash_grid_ahead)},
    {"wc_log_of_thread", at(&::wc_log_of_thread)},
    {"wc_log_full", at(&::wc_log_full)},
    {"wc_log_ends", at(&::wc_log_ends)},
};

}  // namespace

uintptr_t find_runtime_symbol(std::string_view name) {
    auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.name == name; });
    return row == std::end(kRows) ? 0 : reinterpret_cast<uintptr_t>(row->address);
}

}  // namespace wc
