// How the additions of a kernel are made, from what is known of the arrays of a launch.
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>

#include "launches/plan.h"
#include "warp_core/spans.h"

namespace wc {

ByteRange ArrayAt::bytes(const std::byte* block) const {
    wc_array array;
    std::memcpy(&array, block + offset, sizeof array);
    auto low = reinterpret_cast<uintptr_t>(gradient ? array.grad : array.data);
    if (!low) return {0, 0};
    uintptr_t high = low + static_cast<uintptr_t>(itemsize);
    for (int k = 0; k < ndim; ++k) {
        if (array.shape[k] == 0) return {0, 0};
        int64_t reach = (array.shape[k] - 1) * array.strides[k];
        (reach < 0 ? low : high) += static_cast<uintptr_t>(reach);
    }
    return {low, high};
}

namespace {

wc_array array_at(const ArrayAt& at, const std::byte* block) {
    wc_array array;
    std::memcpy(&array, block + at.offset, sizeof array);
    return array;
}

// Whether equal indices of two arrays are the same elements.
bool same_places(const ArrayAt& a, const ArrayAt& b, const std::byte* block) {
    wc_array x = array_at(a, block), y = array_at(b, block);
    return a.ndim == b.ndim && (a.gradient ? x.grad : x.data) == (b.gradient ? y.grad : y.data) &&
           std::equal(x.strides, x.strides + a.ndim, y.strides);
}

}  // namespace

bool Accumulation::overlap(const std::byte* block) const {
    for (const ArrayAt& a : logged)
        for (const ArrayAt& b : touched)
            if (a.bytes(block).meets(b.bytes(block))) return true;
    for (const Privatized& p : privatized) {
        auto meets = [&](const ArrayAt& other) { return p.array.bytes(block).meets(other.bytes(block)); };
        if (std::any_of(touched.begin(), touched.end(), meets)) return true;
        if (std::any_of(logged.begin(), logged.end(), meets)) return true;
    }
    for (size_t i = 0; i < exclusive.size(); ++i) {
        if (meets_itself(array_at(exclusive[i], block), exclusive[i].ndim, exclusive[i].itemsize)) return true;
        for (size_t k = 0; k < i; ++k)
            if (exclusive[i].bytes(block).meets(exclusive[k].bytes(block)) &&
                !same_places(exclusive[i], exclusive[k], block))
                return true;
    }
    return false;
}

bool Accumulation::apart(const std::byte* block) const {
    for (size_t i = 0; i < logged.size(); ++i)
        for (size_t k = 0; k < i; ++k)
            if (logged[i].bytes(block).meets(logged[k].bytes(block))) return false;
    return true;
}

WriteSet Accumulation::targets(const std::byte* block, bool overlap) const {
    WriteSet t;
    std::vector<ByteRange>& plain = overlap ? t.atomic : t.alone;
    for (const ArrayAt& a : logged) plain.push_back(a.bytes(block));
    for (const Privatized& p : privatized) plain.push_back(p.array.bytes(block));
    for (const ArrayAt& a : demoted) plain.push_back(a.bytes(block));
    for (const ArrayAt& a : atomic) t.atomic.push_back(a.bytes(block));
    if (atomic_anywhere) t.atomic.push_back({0, UINTPTR_MAX});
    return t;
}

StencilTarget Accumulation::Stencil::follower(const std::byte* block) const {
    wc_array a;
    std::memcpy(&a, block + array.offset, sizeof a);
    StencilTarget f;
    f.base = reinterpret_cast<uintptr_t>(array.gradient ? a.grad : a.data);
    f.size = array.itemsize;
    for (int k = 0; k < array.ndim; ++k) {
        f.alone &= a.strides[k] % array.itemsize == 0;
        if (dimensions[k] >= 0) f.steps[dimensions[k]] += a.strides[k];
    }
    f.first = INT64_MAX;
    f.last = INT64_MIN;
    for (const auto& offset : offsets) {
        int64_t sum = 0;
        for (int k = 0; k < array.ndim; ++k) sum += offset[k] * a.strides[k];
        f.first = std::min(f.first, sum);
        f.last = std::max(f.last, sum);
    }
    return f;
}

std::vector<StencilTarget> Accumulation::followers(const std::byte* block) const {
    std::vector<StencilTarget> found;
    for (const Stencil& f : stencils) {
        found.push_back(f.follower(block));
        for (const ArrayAt& a : logged)
            if (a != f.array && a.bytes(block).meets(f.array.bytes(block))) found.back().alone = false;
    }
    return found;
}

std::vector<PrivatizedTarget> Accumulation::privatized_targets(const std::byte* block) const {
    std::vector<PrivatizedTarget> found;
    for (const Privatized& p : privatized) {
        wc_array a = array_at(p.array, block);
        ByteRange bytes = p.array.bytes(block);
        int64_t size = p.array.itemsize;
        bool whole = std::all_of(a.strides, a.strides + p.array.ndim, [&](int64_t s) { return s % p.width == 0; });
        for (int k = 0; k < p.array.ndim; ++k) size *= a.shape[k];
        found.push_back({bytes, p.width, whole, static_cast<uintptr_t>(size) == bytes.high - bytes.low});
    }
    return found;
}

ArrayAt Plan::array_at(nb::handle given) const {
    auto param = nb::cast<size_t>(given.attr("param"));
    auto offset = nb::cast<uint32_t>(given.attr("offset"));
    auto ndim = nb::cast<int>(given.attr("ndim"));
    if (param >= params.size() || offset + sizeof(wc_array) > params[param].size || ndim < 1 || ndim > kMaxNdim)
        throw nb::value_error("no such array");
    return {params[param].offset + offset, ndim, nb::cast<int64_t>(given.attr("itemsize")),
            nb::cast<bool>(given.attr("gradient"))};
}

void Plan::set_accumulation(nb::handle facts) {
    auto arrays = [&](const char* name) {
        std::vector<ArrayAt> found;
        for (nb::handle given : facts.attr(name)) found.push_back(array_at(given));
        return found;
    };
    auto flag = [&](const char* name) { return nb::cast<bool>(facts.attr(name)); };
    std::vector<Accumulation::Stencil> stencils;
    for (nb::handle given : facts.attr("stencils"))
        stencils.push_back({array_at(given.attr("array")), nb::cast<std::vector<int>>(given.attr("dimensions")),
                            nb::cast<std::vector<std::vector<int64_t>>>(given.attr("offsets"))});
    std::vector<Accumulation::Privatized> privatized;
    for (nb::handle given : facts.attr("privatized"))
        privatized.push_back({array_at(given.attr("array")), nb::cast<int>(given.attr("width"))});
    std::vector<ArrayAt> exclusive = arrays("exclusive"), atomic = arrays("atomic"), demoted = exclusive;
    std::erase_if(demoted, [&](const ArrayAt& a) {
        auto copied = [&](const Accumulation::Privatized& p) { return p.array == a; };
        return std::find(atomic.begin(), atomic.end(), a) != atomic.end() ||
               std::any_of(privatized.begin(), privatized.end(), copied);
    });
    if (privatized.size() > kMostPrivatized) throw nb::value_error("too many arrays");
    accumulation_ = {.logged = arrays("logged"),
                     .touched = arrays("touched"),
                     .atomic = std::move(atomic),
                     .atomic_anywhere = flag("atomic_anywhere"),
                     .in_order = flag("in_order"),
                     .order_dependent = flag("order_dependent"),
                     .has_reductions = flag("has_reductions"),
                     .stencils = std::move(stencils),
                     .exclusive = std::move(exclusive),
                     .demoted = std::move(demoted),
                     .privatized = std::move(privatized)};
}

}  // namespace wc
