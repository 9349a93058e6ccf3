// Hierarchies over triangles and over boxes. Python checks what users pass (omni/warp_core/geometry); the checks here
// keep memory safe whoever calls.
#include <stdexcept>

#include "arrays/py_array.h"
#include "gil.h"
#include "tape/py_spans.h"
#include "warp_core/dtypes.h"
#include "warp_core/geometry/box_bvh.h"
#include "warp_core/geometry/wide_bvh.h"

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

BuildBvh* builder(bool fast) { return fast ? build_lbvh : build_bvh; }

// A number for each item, or null without groups.
const int32_t* groups_of(const PyArray* groups, int64_t items) {
    if (!groups) return nullptr;
    require(groups->size == items, "the number of groups does not fit");
    return memory<int32_t>(*groups, Kind::Int, 1);
}

void construct(TriangleBvh* self, const PyArray& points, const PyArray& indices, const PyArray* groups, int leaf_size,
               bool fast, bool has_moments) {
    require(leaf_size > 0 && leaf_size <= kWidth, "the size of leaves is out of range");
    Triangles triangles = triangles_of(points, indices);
    const int32_t* group_of_face = groups_of(groups, triangles.count);
    without_gil([&] { new (self) TriangleBvh(triangles, group_of_face, leaf_size, builder(fast), has_moments); });
}

void before_refit(const TriangleBvh& bvh) {
    auto range = [](const auto* first, size_t count) {
        auto low = reinterpret_cast<uintptr_t>(first);
        return Range{low, low + count * sizeof *first};
    };
    before_write(range(bvh.nodes.data(), bvh.nodes.size()));
    before_write(range(bvh.wide().nodes, bvh.wide_node_count()));
    before_write(range(bvh.wide().blocks, bvh.block_count()));
    before_write(range(bvh.moments().data(), bvh.moments().size()));
}

void refit(TriangleBvh& self, const PyArray& points, const PyArray& indices) {
    Triangles triangles = triangles_of(points, indices);
    require(static_cast<size_t>(triangles.count) == self.order.size(), "the number of faces has changed");
    before_refit(self);
    without_gil([&] { self.refit(triangles); });
}

Boxes boxes_of(const PyArray& lowers, const PyArray& uppers) {
    require(lowers.size > 0 && lowers.size <= kBvhMaxPrimitives && lowers.size == uppers.size,
            "the number of boxes does not fit");
    return {memory<float>(lowers, Kind::Float, 3), memory<float>(uppers, Kind::Float, 3),
            static_cast<int32_t>(lowers.size)};
}

void construct_boxes(BoxBvh* self, const PyArray& lowers, const PyArray& uppers, const PyArray* groups, int leaf_size,
                     bool fast) {
    Boxes boxes = boxes_of(lowers, uppers);
    require(leaf_size > 0, "the size of leaves is out of range");
    const int32_t* group_of_box = groups_of(groups, boxes.count);
    without_gil([&] { new (self) BoxBvh(boxes, group_of_box, leaf_size, builder(fast)); });
}

Boxes same_boxes(const BoxBvh& self, const PyArray& lowers, const PyArray& uppers) {
    Boxes boxes = boxes_of(lowers, uppers);
    require(static_cast<size_t>(boxes.count) == self.order.size(), "the number of boxes has changed");
    return boxes;
}

void rebuild(BoxBvh& self, const PyArray& lowers, const PyArray& uppers, bool fast) {
    Boxes boxes = same_boxes(self, lowers, uppers);
    without_gil([&] { self.rebuild(boxes, builder(fast)); });
}

void refit_boxes(BoxBvh& self, const PyArray& lowers, const PyArray& uppers) {
    Boxes boxes = same_boxes(self, lowers, uppers);
    without_gil([&] { self.refit(boxes); });
}

// Where arrays are, by name: the address and the number of elements. Arrays without elements are left out.
class Places {
  public:
    template <class T>
    void add(const char* name, const T* first, size_t count) {
        if (count) named[name] = nb::make_tuple(reinterpret_cast<uintptr_t>(first), count);
    }
    template <class T>
    void add(const char* name, const T& items) {
        add(name, std::data(items), std::size(items));
    }
    template <class T>
    void add_bytes(const char* name, const T* first, size_t count) {
        add(name, first, count * sizeof(T));
    }
    nb::dict named;
};

template <class Bvh>
Places places_in_both(const Bvh& bvh) {
    Places places;
    places.add("nodes", bvh.nodes);
    places.add("order", bvh.order);
    places.add("groups", bvh.groups());
    places.add("roots", bvh.roots());
    return places;
}

nb::dict places_of_boxes(const BoxBvh& bvh) { return places_in_both(bvh).named; }

nb::dict places_of(const TriangleBvh& bvh) {
    Places places = places_in_both(bvh);
    places.add_bytes("wide_nodes", bvh.wide().nodes, bvh.wide_node_count());
    places.add_bytes("blocks", bvh.wide().blocks, bvh.block_count());
    places.add_bytes("sources", bvh.sources().data(), bvh.sources().size());
    places.add_bytes("moments", bvh.moments().data(), bvh.moments().size());
    places.add("slots", bvh.slots);
    places.add("starts", bvh.starts);
    return places.named;
}

}  // namespace

void bind_bvh(nb::module_& m) {
    nb::class_<TriangleBvh>(m, "TriangleBvh", nb::is_weak_referenceable(),
                            "The hierarchy over the triangles of a mesh. Its memory stays where it is.")
        .def("__init__", &construct, nb::arg("points"), nb::arg("indices"), nb::arg("groups").none(),
             nb::arg("leaf_size"), nb::arg("fast"), nb::arg("has_moments"))
        .def("refit", &refit, nb::arg("points"), nb::arg("indices"))
        .def_prop_ro("places", &places_of, "Where its arrays are, by name. Nodes for queries and moments are bytes.");
    nb::class_<BoxBvh>(m, "BoxBvh", nb::is_weak_referenceable(),
                       "The hierarchy over boxes. Its memory stays where it is.")
        .def("__init__", &construct_boxes, nb::arg("lowers"), nb::arg("uppers"), nb::arg("groups").none(),
             nb::arg("leaf_size"), nb::arg("fast"))
        .def("rebuild", &rebuild, nb::arg("lowers"), nb::arg("uppers"), nb::arg("fast"))
        .def("refit", &refit_boxes, nb::arg("lowers"), nb::arg("uppers"))
        .def_prop_ro("places", &places_of_boxes, "Where its arrays are, by name.");
}

}  // namespace wc
