// The table of cells of a grid: the values of tiles first, then what the lower nodes lead to.
#include <algorithm>
#include <bit>
#include <cstring>

#include "warp_core/parallel.h"
#include "warp_core/volumes/grid_builder.h"

namespace wc {
namespace {

constexpr int64_t kWord = 4, kValueMask = 32;
constexpr int64_t kEntriesOfLower = 4096, kEntriesOfUpper = 32768;
constexpr int64_t kCellsOfLower = kLowerWidth / kLeafWidth, kCellsOfUpper = kUpperWidth / kLeafWidth;  // along an edge

// Cells from `low` up to `high`, which is not included, along each axis; they may be none.
struct Range {
    int64_t low[3], high[3];
};

class CellWriter {
  public:
    CellWriter(const GridLayout& layout, Bytes grid, const Voxel& first, const std::array<int64_t, 3>& dims,
               std::span<int32_t> cells)
        : layout_(layout), grid_(grid.data()), first_{first.x, first.y, first.z}, dims_(dims), cells_(cells) {}

    void fill_tile(const Voxel& origin, int64_t width, int64_t value) {
        Range range = within(origin, width);
        const int64_t count = range.high[2] - range.low[2];
        if (count <= 0) return;
        for (int64_t x = range.low[0]; x < range.high[0]; ++x)
            for (int64_t y = range.low[1]; y < range.high[1]; ++y)
                std::fill_n(&cell(x, y, range.low[2]), count, tile(value));
    }

    // Fills the tiles of an upper node. Where it has children, they fill all of their cells.
    void fill_upper(int64_t at, const Voxel& origin) {
        Range range = within(origin, kCellsOfUpper);
        int64_t low[3], high[3];  // entries that meet the table
        const int64_t corner[] = {origin.x, origin.y, origin.z};
        for (int k = 0; k < 3; ++k) {
            if (range.low[k] >= range.high[k]) return;
            int64_t begin = corner[k] / kLeafWidth - first_[k];
            low[k] = (range.low[k] - begin) / kCellsOfLower;
            high[k] = (range.high[k] - 1 - begin) / kCellsOfLower + 1;
        }
        for (int64_t x = low[0]; x < high[0]; ++x)
            for (int64_t y = low[1]; y < high[1]; ++y)
                for (int64_t z = low[2]; z < high[2]; ++z) {
                    int64_t entry = x << 10 | y << 5 | z;
                    if (is_child(at, kEntriesOfUpper, entry)) continue;
                    auto along = [&](int64_t i, int32_t begin) {
                        return static_cast<int32_t>(begin + i * kLowerWidth);
                    };
                    Voxel part{along(x, origin.x), along(y, origin.y), along(z, origin.z)};
                    fill_tile(part, kCellsOfLower, at + layout_.upper_table + entry * layout_.entry);
                }
    }

    void fill_lower(int64_t at, const Voxel& origin) {
        Range range = within(origin, kCellsOfLower);
        const int64_t begin[] = {origin.x / kLeafWidth - first_[0], origin.y / kLeafWidth - first_[1],
                                 origin.z / kLeafWidth - first_[2]};
        if (range.low[2] >= range.high[2]) return;
        for (int64_t x = range.low[0]; x < range.high[0]; ++x)
            for (int64_t y = range.low[1]; y < range.high[1]; ++y)
                fill_row(at, (x - begin[0]) << 8 | (y - begin[1]) << 4, range.low[2] - begin[2],
                         range.high[2] - begin[2], &cell(x, y, range.low[2]));
    }

  private:
    Range within(const Voxel& origin, int64_t width) const {
        const int64_t corner[] = {origin.x, origin.y, origin.z};
        Range range;
        for (int k = 0; k < 3; ++k) {
            int64_t begin = corner[k] / kLeafWidth - first_[k];
            range.low[k] = std::max<int64_t>(begin, 0);
            range.high[k] = std::min(begin + width, dims_[k]);
        }
        return range;
    }

    // Fills cells along z from entries of a lower node, which are counted from `row`: first as tiles, then children.
    void fill_row(int64_t at, int64_t row, int64_t low, int64_t high, int32_t* cells) const {
        int64_t table = at + layout_.lower_table + row * layout_.entry;
        const auto words = static_cast<int32_t>(layout_.entry / kWord), first = tile(table + low * layout_.entry);
        for (int32_t i = 0; i < static_cast<int32_t>(high - low); ++i) cells[i] = first + i * words;
        uint16_t children;
        std::memcpy(&children, grid_ + at + kValueMask + (kEntriesOfLower + row) / 8, sizeof children);
        for (unsigned left = children; left; left &= left - 1) {
            int64_t z = std::countr_zero(left);
            if (z >= low && z < high) cells[z - low] = child(at, table + z * layout_.entry);
        }
    }

    bool is_child(int64_t node, int64_t entries, int64_t entry) const {
        return grid_[node + kValueMask + entries / 8 + entry / 8] >> (entry % 8) & 1;
    }
    int32_t child(int64_t node, int64_t place) const {
        int64_t offset;
        std::memcpy(&offset, grid_ + place, sizeof offset);
        return static_cast<int32_t>((node + offset) / kWord);
    }
    static int32_t tile(int64_t value) {
        return static_cast<int32_t>(uint32_t{1} << 31 | static_cast<uint32_t>(value / kWord));
    }
    int32_t& cell(int64_t x, int64_t y, int64_t z) const { return cells_[(x * dims_[1] + y) * dims_[2] + z]; }

    const GridLayout& layout_;
    const uint8_t* grid_;
    int64_t first_[3];
    std::array<int64_t, 3> dims_;
    std::span<int32_t> cells_;
};

}  // namespace

std::pair<Voxel, std::array<int64_t, 3>> cells_around(Voxels leaves) {
    if (leaves.empty()) return {{0, 0, 0}, {0, 0, 0}};
    Voxel low = leaves[0], high = leaves[0];
    for (const Voxel& v : leaves) {
        low = {std::min(low.x, v.x), std::min(low.y, v.y), std::min(low.z, v.z)};
        high = {std::max(high.x, v.x), std::max(high.y, v.y), std::max(high.z, v.z)};
    }
    // Origins are multiples of the width, so that quotients are exact.
    auto count = [](int32_t first, int32_t last) { return int64_t{last} / kLeafWidth - first / kLeafWidth + 1; };
    return {{low.x / kLeafWidth, low.y / kLeafWidth, low.z / kLeafWidth},
            {count(low.x, high.x), count(low.y, high.y), count(low.z, high.z)}};
}

void write_cells(const GridLayout& layout, Bytes grid, int64_t root, const CellNodes& tiles, const CellNodes& upper,
                 const CellNodes& lower, const Voxel& first, const std::array<int64_t, 3>& dims,
                 std::span<int32_t> cells) {
    CellWriter writer(layout, grid, first, dims, cells);
    const Voxel corner{first.x * kLeafWidth, first.y * kLeafWidth, first.z * kLeafWidth};
    writer.fill_tile(corner, std::max({dims[0], dims[1], dims[2]}), root + layout.background);
    for (size_t i = 0; i < tiles.offsets.size(); ++i)
        writer.fill_tile(tiles.origins[i], kCellsOfUpper, tiles.offsets[i] + layout.tile_value);
    for (size_t i = 0; i < upper.offsets.size(); ++i) writer.fill_upper(upper.offsets[i], upper.origins[i]);
    for (size_t i = 0; i < lower.offsets.size(); ++i) writer.fill_lower(lower.offsets[i], lower.origins[i]);
}

}  // namespace wc
