// The bytes of a grid. Each byte is written once: nodes with their tables first, then the children in these tables.
#include "warp_core/volumes/grid_builder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "warp_core/parallel.h"

namespace wc {
namespace {

constexpr int64_t kAlignment = 32, kTree = kHeader, kRoot = kRootOffset;  // where TreeData and the root begin
constexpr int64_t kNumValues = 656;  // where the header has the number of values of an index grid
constexpr int64_t kLowerEntries = 4096, kUpperEntries = 32768;
constexpr uint8_t kHasBox = 2;       // a flag of a leaf
constexpr int64_t kPiece = 1 << 18;  // bytes of records that a thread writes at once

struct Box {
    Voxel low, high;

    void join(const Box& o) {
        low = {std::min(low.x, o.low.x), std::min(low.y, o.low.y), std::min(low.z, o.low.z)};
        high = {std::max(high.x, o.high.x), std::max(high.y, o.high.y), std::max(high.z, o.high.z)};
    }
};

constexpr int32_t kLeast = std::numeric_limits<int32_t>::min(), kMost = std::numeric_limits<int32_t>::max();
constexpr Box kEmptyBox{{kMost, kMost, kMost}, {kLeast, kLeast, kLeast}};

template <class T>
void put(uint8_t* at, const T& value) {
    std::memcpy(at, &value, sizeof value);
}

int64_t aligned(int64_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }

// `count` copies of an item.
std::vector<uint8_t> repeated(Bytes item, size_t count) {
    std::vector<uint8_t> all(item.size() * count);
    std::copy(item.begin(), item.end(), all.begin());
    for (size_t done = item.size(); done < all.size(); done *= 2)
        std::copy_n(all.begin(), std::min(done, all.size() - done), all.begin() + static_cast<int64_t>(done));
    return all;
}

// A level of nodes: `side` entries along an edge, for children of `width` voxels.
struct Level {
    int log2_side;
    int32_t width;
    int64_t entries, mask;  // and the bytes of a mask

    int64_t entry(const Voxel& v) const {
        auto along = [&](int32_t c) { return static_cast<int64_t>(c / width & ((1 << log2_side) - 1)); };
        return (along(v.x) << log2_side | along(v.y)) << log2_side | along(v.z);
    }
};

// Origins are multiples of a width, so that quotients are exact for negative ones too.
constexpr Level kLower{4, kLeafWidth, kLowerEntries, kLowerEntries / 8};
constexpr Level kUpper{5, kLowerWidth, kUpperEntries, kUpperEntries / 8};
constexpr int64_t kValueMask = 32;  // of an upper or lower node; its child mask follows

void set_bit(uint8_t* mask, int64_t bit) { mask[bit / 8] |= static_cast<uint8_t>(1 << (bit % 8)); }

// The words of a leaf's mask: a plane of x each, whose bytes are rows of y, whose bits are along z.
using Words = std::array<uint64_t, 8>;

// The box of the active voxels of a leaf; of all voxels if none is active.
Box box_of(const Voxel& origin, Words words) {
    uint64_t plane = 0;
    for (uint64_t word : words) plane |= word;
    if (plane == 0) {
        plane = ~uint64_t{0};
        words.fill(plane);
    }
    int x0 = 0, x1 = 7;
    while (words[x0] == 0) ++x0;
    while (words[x1] == 0) --x1;
    uint64_t row = plane | plane >> 32;
    row |= row >> 16;
    auto line = static_cast<uint8_t>(row | row >> 8);
    int y0 = std::countr_zero(plane) / 8, y1 = 7 - std::countl_zero(plane) / 8;
    int z0 = std::countr_zero(line), z1 = 7 - std::countl_zero(line);
    return {{origin.x + x0, origin.y + y0, origin.z + z0}, {origin.x + x1, origin.y + y1, origin.z + z1}};
}

// The numbers of active voxels before each word but the first, 9 bits each.
uint64_t prefix_sums(const Words& words) {
    uint64_t sums = 0, before = 0;
    for (int i = 0; i < 7; ++i) {
        before += static_cast<uint64_t>(std::popcount(words[i]));
        sums |= before << (9 * i);
    }
    return sums;
}

class GridWriter {
  public:
    GridWriter(const NodeTree& tree, const GridLayout& layout, const GridContent& content, Room out)
        : tree_(tree),
          layout_(layout),
          content_(content),
          out_(out.data()),
          offsets_(tree.offsets(layout)),
          leaf_(repeated(content.background, kVoxelsOfLeaf)),
          boxes_(tree.leaves.size()) {
        std::vector<uint8_t> entry(static_cast<size_t>(layout.entry));
        std::copy(content.background.begin(), content.background.end(), entry.begin());
        is_zero_ = std::ranges::all_of(entry, [](uint8_t byte) { return byte == 0; });
        if (!is_zero_) table_ = repeated(entry, kLowerEntries);
    }

    int64_t write() {
        std::memset(out_, 0, static_cast<size_t>(offsets_[0]));
        write_nodes(kUpper, offsets_[0], tree_.upper.origins.size(), layout_.upper, layout_.upper_table);
        write_nodes(kLower, offsets_[1], tree_.lower.origins.size(), layout_.lower, layout_.lower_table);
        count_active();
        auto leaves = static_cast<int64_t>(tree_.leaves.size());
        for_each(leaves, std::max<int64_t>(1, kPiece / layout_.leaf), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) write_leaf(i);
        });
        join({kLower, tree_.lower, offsets_[1], layout_.lower, layout_.lower_table},
             {tree_.leaves, offsets_[2], layout_.leaf, tree_.tiles_of[0]});
        join({kUpper, tree_.upper, offsets_[0], layout_.upper, layout_.upper_table},
             {tree_.lower.origins, offsets_[1], layout_.lower, tree_.tiles_of[1]});
        write_tree();
        write_header(write_root());
        return active_;
    }

  private:
    void write_nodes(const Level& level, int64_t first, size_t count, int64_t size, int64_t table) {
        const int64_t chunk = std::max<int64_t>(1, kPiece / size);
        for_each(static_cast<int64_t>(count), chunk, [&](int64_t begin, int64_t end) {
            for (uint8_t* node = out_ + first + begin * size; begin < end; ++begin, node += size) {
                if (is_zero_) {
                    std::memset(node, 0, static_cast<size_t>(size));
                    continue;
                }
                std::memset(node, 0, static_cast<size_t>(table));
                for (int64_t at = table; at < table + level.entries * layout_.entry;
                     at += static_cast<int64_t>(table_.size()))
                    std::memcpy(node + at, table_.data(), table_.size());
            }
        });
    }

    Words words_of(int64_t leaf) const {
        Words words;
        std::memcpy(words.data(), &content_.masks[kMaskOfLeaf * static_cast<size_t>(leaf)], sizeof words);
        return words;
    }

    // Finds the first index of each leaf, and the number of active voxels.
    void count_active() {
        first_.resize(tree_.leaves.size());
        for (size_t i = 0; i < tree_.leaves.size(); ++i) {
            first_[i] = static_cast<uint64_t>(1 + active_);
            for (uint64_t word : words_of(static_cast<int64_t>(i))) active_ += std::popcount(word);
        }
    }

    void write_leaf(int64_t i) {
        uint8_t* leaf = out_ + offsets_[2] + i * layout_.leaf;
        Words words = words_of(i);
        Box box = boxes_[i] = box_of(tree_.leaves[i], words);
        std::memset(leaf, 0, static_cast<size_t>(writes_values() ? layout_.leaf_values : layout_.leaf));
        put(leaf, box.low);
        leaf[12] = static_cast<uint8_t>(box.high.x - box.low.x);
        leaf[13] = static_cast<uint8_t>(box.high.y - box.low.y);
        leaf[14] = static_cast<uint8_t>(box.high.z - box.low.z);
        leaf[15] = kHasBox;
        put(leaf + 16, words);
        switch (layout_.content) {
            case LeafContent::Values:
                return write_values(i, leaf + layout_.leaf_values);
            case LeafContent::Bits:
                return write_bits(i, leaf + layout_.leaf_values);
            case LeafContent::Indices:
                return put(leaf + 80, static_cast<uint64_t>(1 + i * static_cast<int64_t>(kVoxelsOfLeaf)));
            case LeafContent::ActiveIndices:
                put(leaf + 80, first_[i]);
                return put(leaf + 88, prefix_sums(words));
            case LeafContent::Mask:
                return;
        }
    }

    bool writes_values() const { return layout_.content == LeafContent::Values; }

    void write_values(int64_t i, uint8_t* to) const {
        const LeafValues& values = content_.values;
        if (values.table.empty()) {
            std::memcpy(to, leaf_.data(), leaf_.size());
        } else if (values.shape[0]) {
            gather(tree_.leaves[i], to);
        } else {
            auto row = static_cast<size_t>(values.rows.empty() ? i : values.rows[i]);
            std::memcpy(to, &values.table[row * leaf_.size()], leaf_.size());
        }
    }

    void write_bits(int64_t i, uint8_t* to) const {
        std::array<uint8_t, kVoxelsOfLeaf> values;
        write_values(i, values.data());
        for (size_t voxel = 0; voxel < kVoxelsOfLeaf; ++voxel)
            if (values[voxel]) set_bit(to, static_cast<int64_t>(voxel));
    }

    // Copies the rows of a leaf from an array, where that has them.
    void gather(const Voxel& origin, uint8_t* to) const {
        const auto& shape = content_.values.shape;
        const auto size = static_cast<size_t>(layout_.value), row = kLeafWidth * size;
        const uint8_t* from = content_.values.table.data();
        const auto within = static_cast<size_t>(std::clamp<int64_t>(shape[2] - origin.z, 0, kLeafWidth)) * size;
        for (int64_t x = origin.x; x < int64_t{origin.x} + kLeafWidth; ++x) {
            for (int64_t y = origin.y; y < int64_t{origin.y} + kLeafWidth; ++y, to += row) {
                size_t part = x < shape[0] && y < shape[1] ? within : 0;
                const uint8_t* source = part ? from + ((x * shape[1] + y) * shape[2] + origin.z) * layout_.value : from;
                if (part == 32 && row == 32) {  // floats: a copy of a size that the compiler knows
                    std::memcpy(to, source, 32);
                } else {
                    std::memcpy(to, source, part);
                    std::memcpy(to + part, leaf_.data(), row - part);
                }
            }
        }
    }

    Box tile_box(int32_t tile) const {
        const Voxel& low = tree_.tiles[tile];
        int32_t last = tree_.extents[tile] - 1;
        if (!content_.tile_active[tile]) return kEmptyBox;
        return {low, {low.x + last, low.y + last, low.z + last}};
    }

    Bytes tile_value(int32_t tile) const {
        auto size = static_cast<size_t>(layout_.value);
        return content_.tile_values.subspan(static_cast<size_t>(tile) * size, size);
    }

    // Nodes of a level: where the first begins, their size, and where their tables begin in them.
    struct Nodes {
        const Level& level;
        const Blocks& blocks;
        int64_t first, size, table;
    };

    // What is below these nodes: children, where the first begins, their size; and tiles.
    struct Below {
        Voxels children;
        int64_t first, size;
        const std::vector<int32_t>& tiles;
    };

    // Writes children and tiles into tables, and the boxes around them.
    void join(const Nodes& nodes, const Below& below) {
        std::vector<Box> joined(nodes.blocks.origins.size(), kEmptyBox);
        auto offset_of = [&](int32_t node) { return nodes.first + node * nodes.size; };
        const size_t count = below.children.size();
        for (size_t i = 0; i < count; ++i) {
            int32_t parent = nodes.blocks.holders[i];
            joined[parent].join(boxes_[i]);
            int64_t at = offset_of(parent), entry = nodes.level.entry(below.children[i]);
            put(out_ + at + nodes.table + entry * layout_.entry,
                below.first + static_cast<int64_t>(i) * below.size - at);
            set_bit(out_ + at + kValueMask + nodes.level.mask, entry);
        }
        for (size_t i = 0; i < below.tiles.size(); ++i) {
            int32_t parent = nodes.blocks.holders[count + i], tile = below.tiles[i];
            joined[parent].join(tile_box(tile));
            int64_t entry = nodes.level.entry(tree_.tiles[tile]);
            uint8_t* node = out_ + offset_of(parent);
            copy_value(tile_value(tile), node + nodes.table + entry * layout_.entry);
            if (content_.tile_active[tile]) set_bit(node + kValueMask, entry);
        }
        for (size_t i = 0; i < joined.size(); ++i) put(out_ + offset_of(static_cast<int32_t>(i)), joined[i]);
        boxes_ = std::move(joined);
    }

    static void copy_value(Bytes value, uint8_t* to) { std::copy(value.begin(), value.end(), to); }

    void write_header(const Box& box) {
        std::ranges::copy(content_.header, out_);
        place_grid(content_.placement, box.low, box.high, {out_, static_cast<size_t>(kHeader)});
        auto voxels = static_cast<int64_t>(kVoxelsOfLeaf * tree_.leaves.size());
        if (layout_.content == LeafContent::Indices) put(out_ + kNumValues, 1 + voxels);
        if (layout_.content == LeafContent::ActiveIndices) put(out_ + kNumValues, 1 + active_);
    }

    // Returns the box of the active voxels.
    Box write_root() {
        uint8_t* root = out_ + kRoot;
        Box box = kEmptyBox;
        for (const Box& part : boxes_) box.join(part);
        for (int32_t tile : tree_.tiles_of[2]) box.join(tile_box(tile));
        put(root, box);
        put(root + 24, static_cast<uint32_t>(tree_.root.origins.size()));
        for (int i = 0; i < 3; ++i)  // and least and most value
            copy_value(content_.background, root + layout_.background + i * layout_.value);
        for (size_t i = 0; i < tree_.root.origins.size(); ++i) {
            auto part = [](int32_t c) { return static_cast<uint64_t>(static_cast<uint32_t>(c) / kUpperWidth); };
            const Voxel& v = tree_.root.origins[i];
            put(root + layout_.root + static_cast<int64_t>(i) * layout_.tile,
                part(v.x) << 42 | part(v.y) << 21 | part(v.z));
        }
        const size_t uppers = tree_.upper.origins.size();
        auto record = [&](size_t child) { return root + layout_.root + tree_.root.holders[child] * layout_.tile; };
        for (size_t i = 0; i < uppers; ++i)
            put(record(i) + 8, offsets_[0] - kRoot + static_cast<int64_t>(i) * layout_.upper);
        for (size_t i = 0; i < tree_.tiles_of[2].size(); ++i) {
            int32_t tile = tree_.tiles_of[2][i];
            put(record(uppers + i) + 16, uint32_t{content_.tile_active[tile] != 0});
            copy_value(tile_value(tile), record(uppers + i) + layout_.tile_value);
        }
        return box;
    }

    void write_tree() {
        uint8_t* tree = out_ + kTree;
        int64_t begins[] = {offsets_[2] - kTree, offsets_[1] - kTree, offsets_[0] - kTree, kRoot - kTree};
        uint32_t counts[6] = {static_cast<uint32_t>(tree_.leaves.size()),
                              static_cast<uint32_t>(tree_.lower.origins.size()),
                              static_cast<uint32_t>(tree_.upper.origins.size())};
        constexpr uint64_t kWidths[] = {kLeafWidth, kLowerWidth, kUpperWidth};
        auto voxels = static_cast<uint64_t>(active_);
        for (int level = 0; level < 3; ++level) {
            for (int32_t tile : tree_.tiles_of[level]) counts[3 + level] += content_.tile_active[tile] != 0;
            voxels += counts[3 + level] * kWidths[level] * kWidths[level] * kWidths[level];
        }
        put(tree, begins);
        put(tree + 32, counts);
        put(tree + 56, voxels);
    }

    const NodeTree& tree_;
    const GridLayout& layout_;
    const GridContent& content_;
    uint8_t* out_;
    std::array<int64_t, 4> offsets_;
    std::vector<uint8_t> leaf_, table_;  // of the background alone
    bool is_zero_;
    std::vector<uint64_t> first_;
    std::vector<Box> boxes_;  // of the level that was written last
    int64_t active_ = 0;
};

}  // namespace

NodeTree::NodeTree(Voxels given_leaves, Voxels given_tiles, std::span<const int32_t> given_extents)
    : leaves(given_leaves.begin(), given_leaves.end()),
      tiles(given_tiles.begin(), given_tiles.end()),
      extents(given_extents.begin(), given_extents.end()) {
    for (size_t i = 0; i < extents.size(); ++i) {
        int level = extents[i] == kLeafWidth ? 0 : extents[i] == kLowerWidth ? 1 : 2;
        tiles_of[level].push_back(static_cast<int32_t>(i));
    }
    auto parents = [&](std::vector<Voxel> children, int level, int32_t width) {
        for (int32_t tile : tiles_of[level]) children.push_back(tiles[tile]);
        return find_blocks(children, width);
    };
    lower = parents(leaves, 0, kLowerWidth);
    upper = parents(lower.origins, 1, kUpperWidth);
    root = parents(upper.origins, 2, kUpperWidth);
}

std::array<int64_t, 4> NodeTree::offsets(const GridLayout& layout) const {
    int64_t end = kRoot + layout.root;
    std::array<int64_t, 4> found{};
    const std::pair<size_t, int64_t> levels[] = {{root.origins.size(), layout.tile},
                                                 {upper.origins.size(), layout.upper},
                                                 {lower.origins.size(), layout.lower},
                                                 {leaves.size(), layout.leaf}};
    for (int i = 0; i < 4; ++i)
        found[i] = end = aligned(end + static_cast<int64_t>(levels[i].first) * levels[i].second);
    return found;
}

int64_t write_grid(const NodeTree& tree, const GridLayout& layout, const GridContent& content, Room out) {
    return GridWriter(tree, layout, content, out).write();
}

}  // namespace wc
