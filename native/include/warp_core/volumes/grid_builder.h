// Building NanoVDB grids: blocks of voxels in the order of a grid's tree, the nodes above leaves, the bytes of a grid,
// and its table of cells. omni/warp_core/volumes/layout.py knows where fields are, and passes their offsets.
//
// Results do not depend on the number of threads.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "warp_core/volumes/blosc.h"  // Bytes, Room

namespace wc {

constexpr int32_t kLeafWidth = 8, kLowerWidth = 128, kUpperWidth = 4096;  // voxels along an edge
constexpr size_t kVoxelsOfLeaf = 512, kMaskOfLeaf = 64;                   // and the bytes of its mask

constexpr int64_t kHeader = 672, kRootOffset = 736;  // bytes of GridData, and where roots begin that are built here

struct Voxel {
    int32_t x, y, z;
};
using Voxels = std::span<const Voxel>;

// -- blocks ----------------------------------------------------------------------------------------------------------

struct Blocks {
    std::vector<Voxel> origins;    // in the order of the tree
    std::vector<int32_t> holders;  // the block that holds each voxel
};

// The blocks of a width that hold voxels.
Blocks find_blocks(Voxels voxels, int32_t width);

// The leaves of the box from `low` to `high`, which it includes.
Blocks leaves_of_box(const Voxel& low, const Voxel& high);

// The masks of leaves that hold voxels: kMaskOfLeaf bytes for each leaf.
void set_masks(Voxels voxels, const Blocks& leaves, Room masks);

// How many bits are set.
int64_t count_bits(Bytes masks);

// Writes the voxels of leaves in the order of memory: those whose bits are set in the masks, or all without masks.
// There is room for so many.
void list_voxels(Voxels origins, Bytes masks, std::span<Voxel> out);

// -- grids -----------------------------------------------------------------------------------------------------------

// What a leaf has for its voxels: values; bits; indices of all voxels or of active ones; nothing but which are active.
enum class LeafContent { Values, Bits, Indices, ActiveIndices, Mask };

// Bytes of values and records, and offsets of fields in records.
struct GridLayout {
    LeafContent content;
    int64_t value, entry;
    int64_t root, background, tile, tile_value;
    int64_t upper, upper_table, lower, lower_table;
    int64_t leaf, leaf_values;
};

// What is in a grid, and the nodes above that. A tile is a block of voxels of one value, whose extent is kLeafWidth,
// kLowerWidth or kUpperWidth. `holders` of a level are those of the nodes below, then of the tiles of their width.
struct NodeTree {
    NodeTree(Voxels leaves, Voxels tiles, std::span<const int32_t> extents);

    // Where the upper nodes, the lower nodes and the leaves begin in a buffer, and where it ends.
    std::array<int64_t, 4> offsets(const GridLayout& layout) const;

    std::vector<Voxel> leaves, tiles;  // origins, with the leaves in the order of the tree
    std::vector<int32_t> extents;
    std::array<std::vector<int32_t>, 3> tiles_of;  // numbers of the tiles in lower nodes, in upper nodes, in the root
    Blocks lower, upper, root;
};

// The values of voxels: rows of kVoxelsOfLeaf values, one for each leaf, or an array whose element (i, j, k) is voxel
// (i, j, k), or nothing but the background.
struct LeafValues {
    Bytes table;
    std::span<const int64_t> rows;      // which row each leaf has; empty if they are in the order of leaves
    std::array<int64_t, 3> shape = {};  // of an array, else zero
};

// Where a grid is in the world: a place is `matrix` times an index plus `translation`.
struct Placement {
    std::array<double, 9> matrix, inverse;
    std::array<double, 3> translation;
};

struct GridContent {
    Bytes header;  // kHeader bytes, without what follows from the placement and the nodes
    Placement placement;
    Bytes masks;       // kMaskOfLeaf bytes for each leaf: the active voxels
    Bytes background;  // one value
    LeafValues values;
    Bytes tile_values, tile_active;
};

// Writes a grid. Returns how many voxels of leaves are active.
int64_t write_grid(const NodeTree& tree, const GridLayout& layout, const GridContent& content, Room out);

// Writes where a grid is into its header: the map, the size of voxels, and the box around those from `low` to `high`.
// Where a number of `high` is below that of `low`, there are no voxels, and the box is zero.
void place_grid(const Placement& placement, const Voxel& low, const Voxel& high, Room header);

// -- cells -----------------------------------------------------------------------------------------------------------

// Nodes of one level: their offsets in a buffer and their origins.
struct CellNodes {
    std::span<const int64_t> offsets;
    Voxels origins;
};

// The table of cells around leaves with these origins: its first cell, and the number of cells along each axis.
std::pair<Voxel, std::array<int64_t, 3>> cells_around(Voxels leaves);

// Writes the table of cells of a grid, which begins at the leaf that is `first`, counted in leaves. A cell has the word
// of its leaf, or the sign bit and the word of the value that its voxels have.
void write_cells(const GridLayout& layout, Bytes grid, int64_t root, const CellNodes& tiles, const CellNodes& upper,
                 const CellNodes& lower, const Voxel& first, const std::array<int64_t, 3>& dims,
                 std::span<int32_t> cells);

}  // namespace wc
