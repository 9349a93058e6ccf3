// Hierarchies over triangles. Python checks what users pass (omni/warp_core/geometry); the checks here keep memory safe
// whoever calls.
#include <stdexcept>

#include "gil.h"
#include "py_array.h"
#include "py_spans.h"
#include "warp_core/dtypes.h"
#include "warp_core/wide_bvh.h"

namespace wc {
namespace {

void require(bool condition, const char* what) {
    if (!condition) throw std::invalid_argument(what);
}

// The memory of an array of elements of `components` numbers.
template <class T>
const T* memory(const PyArray& a, Kind kind, int64_t components) {
    const Dtype& type = dtype(a.dtype);
    require(a.contiguous && a.device == 0, "the array must be contiguous and on the CPU");
    require(type.scalar == Scalar{kind, sizeof(T)} && type.shape[0] * type.shape[1] == components,
            "the array has another type");
    return static_cast<const T*>(a.view.data);
}

Triangles triangles_of(const PyArray& points, const PyArray& indices) {
    require(indices.size > 0 && indices.size % 3 == 0 && indices.size / 3 <= kBvhMaxPrimitives,
            "the number of indices does not fit");
    return {memory<float>(points, Kind::Float, 3), memory<int32_t>(indices, Kind::Int, 1),
            static_cast<int32_t>(indices.size / 3), points.size};
}

void construct(TriangleBvh* self, const PyArray& points, const PyArray& indices, int leaf_size) {
    require(leaf_size > 0 && leaf_size <= kWidth, "the size of leaves is out of range");
    Triangles triangles = triangles_of(points, indices);
    without_gil([&] { new (self) TriangleBvh(triangles, leaf_size); });
}

void refit(TriangleBvh& self, const PyArray& points, const PyArray& indices) {
    Triangles triangles = triangles_of(points, indices);
    require(static_cast<size_t>(triangles.count) == self.order.size(), "the number of faces has changed");
    without_gil([&] { self.refit(triangles); });
}

template <class T>
uintptr_t address(const std::vector<T>& v) {
    return reinterpret_cast<uintptr_t>(v.data());
}

}  // namespace

void bind_bvh(nb::module_& m) {
    nb::class_<TriangleBvh>(m, "TriangleBvh", nb::is_weak_referenceable(),
                            "The hierarchy over the triangles of a mesh. Its memory stays where it is.")
        .def("__init__", &construct, nb::arg("points"), nb::arg("indices"), nb::arg("leaf_size"))
        .def("refit", &refit, nb::arg("points"), nb::arg("indices"))
        .def_prop_ro("address", [](const TriangleBvh& b) { return reinterpret_cast<uintptr_t>(&b); })
        .def_prop_ro("nodes", [](const TriangleBvh& b) { return address(b.nodes); })
        .def_prop_ro("node_count", [](const TriangleBvh& b) { return b.nodes.size(); })
        .def_prop_ro("order", [](const TriangleBvh& b) { return address(b.order); });
}

}  // namespace wc
