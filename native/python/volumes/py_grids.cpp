// Builders of grid buffers and of tables of cells. Python has the layout (omni/warp_core/volumes/layout.py); the checks
// here keep memory safe whoever calls.
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "arrays/py_array.h"
#include "gil.h"
#include "volumes/byte_buffers.h"
#include "warp_core/volumes/grid_builder.h"

namespace wc {
namespace {

void require(bool condition, const char* what) {
    if (!condition) throw std::invalid_argument(what);
}

// The memory of an object as items, a whole number of them.
template <class T>
struct Items : ReadBuffer {
    explicit Items(nb::handle object) : ReadBuffer(object) {
        require(bytes().size() % sizeof(T) == 0 && reinterpret_cast<uintptr_t>(buf) % alignof(T) == 0,
                "the array has another type");
    }
    std::span<const T> items() const { return {static_cast<const T*>(buf), bytes().size() / sizeof(T)}; }
};

std::span<int32_t> as_numbers(Room room) {
    require(reinterpret_cast<uintptr_t>(room.data()) % alignof(int32_t) == 0, "the array has another type");
    return {reinterpret_cast<int32_t*>(room.data()), room.size() / sizeof(int32_t)};
}

nb::tuple blocks(nb::handle voxels, int32_t width) {
    Items<Voxel> given(voxels);
    require(width == kLeafWidth || width == kLowerWidth || width == kUpperWidth, "the width is that of no node");
    Blocks found;
    without_gil([&] { found = find_blocks(given.items(), width); });
    return nb::make_tuple(as_bytes(found.origins), as_bytes(found.holders));
}

nb::bytes box(const std::array<int32_t, 3>& low, const std::array<int32_t, 3>& high) {
    Blocks found;
    without_gil([&] { found = leaves_of_box({low[0], low[1], low[2]}, {high[0], high[1], high[2]}); });
    return as_bytes(found.origins);
}

nb::tuple masked_leaves(nb::handle voxels) {
    Items<Voxel> given(voxels);
    Blocks found;
    std::vector<uint8_t> masks;
    without_gil([&] {
        found = find_blocks(given.items(), kLeafWidth);
        masks.resize(kMaskOfLeaf * found.origins.size());
        set_masks(given.items(), found, masks);
    });
    return nb::make_tuple(as_bytes(found.origins), as_bytes(masks));
}

int64_t bits_of(nb::handle masks) {
    ReadBuffer given(masks);
    int64_t count = 0;
    without_gil([&] { count = count_bits(given.bytes()); });
    return count;
}

void voxels_of(nb::handle origins, nb::handle masks, nb::handle out) {
    Items<Voxel> leaves(origins);
    ReadBuffer given(masks);
    WriteBuffer to(out);
    size_t count = leaves.items().size(), size = given.bytes().size();
    require(size == 0 || size == kMaskOfLeaf * count, "the masks are not those of the leaves");
    auto voxels = size == 0 ? static_cast<int64_t>(kVoxelsOfLeaf * count) : count_bits(given.bytes());
    std::span<int32_t> room = as_numbers(to.room());
    require(room.size() == 3 * static_cast<size_t>(voxels), "there is room for another number of voxels");
    without_gil(
        [&] { list_voxels(leaves.items(), given.bytes(), {reinterpret_cast<Voxel*>(room.data()), room.size() / 3}); });
}

LeafContent content_of(const std::string& name) {
    if (name == "values") return LeafContent::Values;
    if (name == "bits") return LeafContent::Bits;
    if (name == "indices") return LeafContent::Indices;
    if (name == "active indices") return LeafContent::ActiveIndices;
    require(name == "mask", "there are no such leaves");
    return LeafContent::Mask;
}

// Each field of a layout has to lie in its record.
void check(const GridLayout& l) {
    int64_t leaf = 0;  // bytes of its values
    if (l.content == LeafContent::Values) leaf = l.value * static_cast<int64_t>(kVoxelsOfLeaf);
    if (l.content == LeafContent::Bits) leaf = kMaskOfLeaf;
    bool fits = l.value > 0 && l.value <= l.entry && l.entry >= 8 && l.entry <= 64 && l.background >= 28 &&
                l.background + 3 * l.value <= l.root && l.tile_value >= 20 && l.tile_value + l.value <= l.tile &&
                l.upper_table >= 32 + 2 * 4096 && l.upper == l.upper_table + 32768 * l.entry &&
                l.lower_table >= 32 + 2 * 512 && l.lower == l.lower_table + 4096 * l.entry && l.leaf_values >= 16 &&
                l.leaf_values + leaf <= l.leaf && l.leaf >= 96;
    bool in_a_byte = l.content != LeafContent::Bits || l.value == 1;
    bool ends_with_values = l.content != LeafContent::Values || l.leaf == l.leaf_values + leaf;
    require(fits && in_a_byte && ends_with_values, "the fields do not fit in their records");
}

void make_layout(GridLayout* self, const std::string& content, int64_t value, int64_t entry, int64_t root,
                 int64_t background, int64_t tile, int64_t tile_value, int64_t upper, int64_t upper_table,
                 int64_t lower, int64_t lower_table, int64_t leaf, int64_t leaf_values) {
    GridLayout layout{content_of(content), value, entry,       root, background, tile, tile_value, upper,
                      upper_table,         lower, lower_table, leaf, leaf_values};
    check(layout);
    new (self) GridLayout(layout);
}

void make_tree(NodeTree* self, nb::handle leaves, nb::handle tiles, nb::handle extents) {
    Items<Voxel> given(leaves), tile_origins(tiles);
    Items<int32_t> widths(extents);
    require(tile_origins.items().size() == widths.items().size(), "the number of tiles does not fit");
    without_gil([&] { new (self) NodeTree(given.items(), tile_origins.items(), widths.items()); });
}

// Whether arrays of a shape have so many items.
bool is_shape(const std::array<int64_t, 3>& shape, size_t count) {
    auto rest = static_cast<int64_t>(count);
    for (int64_t extent : shape) {
        if (extent <= 0 || rest % extent) return false;
        rest /= extent;
    }
    return rest == 1;
}

// The values of leaves: none, an array of three dimensions with a shape, or a table, perhaps with the rows of leaves.
struct GivenValues {
    ReadBuffer table;
    Items<int64_t> rows;
    std::array<int64_t, 3> shape;

    LeafValues checked(Voxels leaves, size_t value) const {
        size_t size = table.bytes().size(), row = value * kVoxelsOfLeaf, count = size / row;
        if (shape[0]) {
            auto is_inside = [](const Voxel& v) { return v.x >= 0 && v.y >= 0 && v.z >= 0; };
            require(size % value == 0 && is_shape(shape, size / value) && std::ranges::all_of(leaves, is_inside),
                    "the array of values has another shape, or there are leaves outside");
        } else if (size) {
            auto has = [&](int64_t i) { return i >= 0 && static_cast<size_t>(i) < count; };
            bool in_order = rows.items().empty() && count == leaves.size();
            bool fits = in_order || (rows.items().size() == leaves.size() && std::ranges::all_of(rows.items(), has));
            require(size % row == 0 && fits, "the number of values does not fit");
        }
        return {table.bytes(), rows.items(), shape};
    }
};

using Shape = std::array<int64_t, 3>;

template <size_t n>
std::array<double, n> numbers_of(nb::handle object) {
    Items<double> given(object);
    require(given.items().size() == n, "the placement has another size");
    std::array<double, n> found;
    std::ranges::copy(given.items(), found.begin());
    return found;
}

// A matrix, its inverse and a translation.
using GivenPlacement = std::tuple<nb::object, nb::object, nb::object>;

Placement placement_of(const GivenPlacement& given) {
    const auto& [matrix, inverse, translation] = given;
    return {numbers_of<9>(matrix), numbers_of<9>(inverse), numbers_of<3>(translation)};
}

int64_t write(const NodeTree& tree, const GridLayout& layout, nb::handle masks, nb::handle background,
              const std::tuple<nb::object, nb::object, Shape>& values, const std::pair<nb::object, nb::object>& tiles,
              nb::handle header, const GivenPlacement& placement, nb::handle out) {
    ReadBuffer head(header);
    ReadBuffer bits(masks), one(background), of_tiles(tiles.first), active(tiles.second);
    const auto& [table, rows, shape] = values;
    GivenValues given{ReadBuffer(table), Items<int64_t>(rows), shape};
    WritableBytes to(out);
    auto value = static_cast<size_t>(layout.value);
    GridContent content{head.bytes(),  placement_of(placement),           bits.bytes(),
                        one.bytes(),   given.checked(tree.leaves, value), of_tiles.bytes(),
                        active.bytes()};
    bool fits = content.masks.size() == kMaskOfLeaf * tree.leaves.size() && content.background.size() == value &&
                content.tile_values.size() == value * tree.tiles.size() &&
                content.tile_active.size() == tree.tiles.size() && content.header.size() == kHeader &&
                to.room.size() == static_cast<size_t>(tree.offsets(layout)[3]);
    require(fits, "the arrays do not fit each other");
    int64_t count = 0;
    without_gil([&] { count = write_grid(tree, layout, content, to.room); });
    return count;
}

// Nodes whose bytes all lie in a grid.
struct GivenNodes {
    Items<int64_t> offsets;
    Items<Voxel> origins;

    CellNodes checked(int64_t node, Bytes grid) const {
        auto within = [&](int64_t at) { return at >= 0 && at <= static_cast<int64_t>(grid.size()) - node; };
        bool fits = offsets.items().size() == origins.items().size() && std::ranges::all_of(offsets.items(), within);
        require(fits, "the nodes do not fit in the grid");
        return {offsets.items(), origins.items()};
    }
};

void cells(const GridLayout& layout, nb::handle grid, int64_t root,
           const std::array<std::pair<nb::object, nb::object>, 3>& levels_of, const std::array<int32_t, 3>& first,
           const Shape& dims, nb::handle out) {
    ReadBuffer bytes(grid);
    WritableBytes to(out);
    auto nodes = [&](int level) {
        const auto& [offsets, origins] = levels_of[level];
        return GivenNodes{Items<int64_t>(offsets), Items<Voxel>(origins)};
    };
    GivenNodes tiles = nodes(0), upper = nodes(1), lower = nodes(2);
    CellNodes levels[] = {tiles.checked(layout.tile, bytes.bytes()), upper.checked(layout.upper, bytes.bytes()),
                          lower.checked(layout.lower, bytes.bytes())};
    std::span<int32_t> places = as_numbers(to.room);
    require(is_shape(dims, places.size()), "the table has another size");
    without_gil([&] {
        write_cells(layout, bytes.bytes(), root, levels[0], levels[1], levels[2], {first[0], first[1], first[2]}, dims,
                    places);
    });
}

void cells_of_built(const NodeTree& tree, const GridLayout& layout, nb::handle grid,
                    const std::array<int32_t, 3>& first, const Shape& dims, nb::handle out) {
    WritableBytes from(grid), to(out);
    const std::array<int64_t, 4> begins = tree.offsets(layout);
    require(static_cast<int64_t>(from.room.size()) == begins[3], "the grid has another size");
    std::vector<int64_t> offsets[3];  // of tiles of the root, upper and lower nodes
    std::vector<Voxel> tiles;
    for (size_t i = tree.upper.origins.size(); i < tree.root.holders.size(); ++i) {
        int32_t entry = tree.root.holders[i];
        offsets[0].push_back(kRootOffset + layout.root + entry * layout.tile);
        tiles.push_back(tree.root.origins[entry]);
    }
    for (size_t i = 0; i < tree.upper.origins.size(); ++i)
        offsets[1].push_back(begins[0] + static_cast<int64_t>(i) * layout.upper);
    for (size_t i = 0; i < tree.lower.origins.size(); ++i)
        offsets[2].push_back(begins[1] + static_cast<int64_t>(i) * layout.lower);
    std::span<int32_t> places = as_numbers(to.room);
    require(is_shape(dims, places.size()), "the table has another size");
    without_gil([&] {
        write_cells(layout, from.room, kRootOffset, {offsets[0], tiles}, {offsets[1], tree.upper.origins},
                    {offsets[2], tree.lower.origins}, {first[0], first[1], first[2]}, dims, places);
    });
}

nb::tuple cells_around_leaves(nb::handle leaves) {
    auto [first, dims] = cells_around(Items<Voxel>(leaves).items());
    return nb::make_tuple(nb::make_tuple(first.x, first.y, first.z), nb::make_tuple(dims[0], dims[1], dims[2]));
}

void place(nb::handle grid, const GivenPlacement& placement, nb::handle root) {
    WriteBuffer to(grid);
    ReadBuffer box(root);
    Voxel ends[2];
    require(to.room().size() >= kHeader && box.bytes().size() >= sizeof ends, "the grid is too small");
    std::memcpy(ends, box.bytes().data(), sizeof ends);
    place_grid(placement_of(placement), ends[0], ends[1], to.room());
}

}  // namespace

void bind_grids(nb::module_& m) {
    m.def("find_blocks", &blocks, nb::arg("voxels"), nb::arg("width"));
    m.def("leaves_of_box", &box, nb::arg("low"), nb::arg("high"));
    m.def("masked_leaves", &masked_leaves, nb::arg("voxels"));
    m.def("count_bits", &bits_of, nb::arg("masks"));
    m.def("list_voxels", &voxels_of, nb::arg("origins"), nb::arg("masks"), nb::arg("out"));
    nb::class_<GridLayout>(m, "GridLayout")
        .def("__init__", &make_layout, nb::arg("content"), nb::arg("value"), nb::arg("entry"), nb::arg("root"),
             nb::arg("background"), nb::arg("tile"), nb::arg("tile_value"), nb::arg("upper"), nb::arg("upper_table"),
             nb::arg("lower"), nb::arg("lower_table"), nb::arg("leaf"), nb::arg("leaf_values"));
    nb::class_<NodeTree>(m, "NodeTree")
        .def("__init__", &make_tree, nb::arg("leaves"), nb::arg("tiles"), nb::arg("extents"))
        .def("offsets", &NodeTree::offsets, nb::arg("layout"))
        .def("write", &write, nb::arg("layout"), nb::arg("masks"), nb::arg("background"), nb::arg("values"),
             nb::arg("tiles"), nb::arg("header"), nb::arg("placement"), nb::arg("out"))
        .def("write_cells", &cells_of_built, nb::arg("layout"), nb::arg("grid"), nb::arg("first"), nb::arg("dims"),
             nb::arg("out"))
        .def_prop_ro("counts",
                     [](const NodeTree& tree) {
                         return nb::make_tuple(tree.leaves.size(), tree.lower.origins.size(), tree.upper.origins.size(),
                                               tree.root.origins.size());
                     })
        .def_prop_ro("lower", [](const NodeTree& tree) { return as_bytes(tree.lower.origins); })
        .def_prop_ro("upper", [](const NodeTree& tree) { return as_bytes(tree.upper.origins); })
        .def_prop_ro("root", [](const NodeTree& tree) { return as_bytes(tree.root.origins); });
    m.def("cells_around", &cells_around_leaves, nb::arg("leaves"));
    m.def("place_grid", &place, nb::arg("grid"), nb::arg("placement"), nb::arg("root"));
    m.def("write_cells", &cells, nb::arg("layout"), nb::arg("grid"), nb::arg("root"), nb::arg("nodes"),
          nb::arg("first"), nb::arg("dims"), nb::arg("out"));
}

}  // namespace wc
