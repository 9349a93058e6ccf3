// Blocks of voxels. A table of hashes finds the block of each voxel, and then the blocks alone are sorted.
#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "warp_core/algorithms.h"
#include "warp_core/clones.h"
#include "warp_core/volumes/grid_builder.h"

namespace wc {
namespace {

constexpr int kEntryBits = 27;  // of a leaf in an upper node: 15 for the lower node, then 12 for the leaf

// What orders blocks: the entry of the root, then that of each level below.
struct Key {
    uint64_t root;
    uint32_t entry;
    bool operator==(const Key&) const = default;
};

Key key_of(const Voxel& v) {
    auto root = [](int32_t c) { return static_cast<uint64_t>(static_cast<uint32_t>(c) / kUpperWidth); };
    auto along = [](int32_t c, int shift, uint32_t mask) { return static_cast<uint32_t>(c) >> shift & mask; };
    uint32_t upper = along(v.x, 7, 31) << 10 | along(v.y, 7, 31) << 5 | along(v.z, 7, 31);
    uint32_t lower = along(v.x, 3, 15) << 8 | along(v.y, 3, 15) << 4 | along(v.z, 3, 15);
    return {root(v.x) << 42 | root(v.y) << 21 | root(v.z), upper << 12 | lower};
}

// The number of each key, in the order in which they come.
class KeyTable {
  public:
    KeyTable() : slots_(64, -1) {}

    int32_t number(const Key& key) {
        size_t at = find(key);
        if (slots_[at] < 0) {
            slots_[at] = static_cast<int32_t>(keys.size());
            keys.push_back(key);
            if (2 * keys.size() > slots_.size()) grow();
            return static_cast<int32_t>(keys.size() - 1);
        }
        return slots_[at];
    }

    std::vector<Key> keys;

  private:
    size_t find(const Key& key) const {
        uint64_t mixed = (key.root ^ std::rotl(uint64_t{key.entry} * 0x9E3779B97F4A7C15, 32)) * 0xD6E8FEB86659FD93;
        size_t mask = slots_.size() - 1, at = (mixed ^ mixed >> 32) & mask;
        while (slots_[at] >= 0 && keys[slots_[at]] != key) at = (at + 1) & mask;
        return at;
    }

    void grow() {
        slots_.assign(4 * slots_.size(), -1);
        for (size_t i = 0; i < keys.size(); ++i) slots_[find(keys[i])] = static_cast<int32_t>(i);
    }

    std::vector<int32_t> slots_;  // the number of a key, or -1
};

// For keys that differ: which of them comes first, which next, and so on.
std::vector<int32_t> order_of(const std::vector<Key>& keys) {
    std::vector<uint64_t> roots;
    for (const Key& key : keys)
        if (roots.empty() || roots.back() != key.root) roots.push_back(key.root);
    std::sort(roots.begin(), roots.end());
    roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
    const size_t count = keys.size();
    std::vector<uint64_t> ranks(2 * count);
    std::vector<int32_t> order(2 * count);
    size_t rank = 0;
    for (size_t i = 0; i < count; ++i) {
        if (roots[rank] != keys[i].root)
            rank = std::lower_bound(roots.begin(), roots.end(), keys[i].root) - roots.begin();
        ranks[i] = uint64_t{rank} << kEntryBits | keys[i].entry;
    }
    std::iota(order.begin(), order.begin() + static_cast<ptrdiff_t>(count), 0);
    if (!std::is_sorted(ranks.begin(), ranks.begin() + static_cast<ptrdiff_t>(count))) {
        int bits = kEntryBits + std::bit_width(roots.size());
        radix_sort_pairs({Kind::Uint, 8}, ranks.data(), 4, order.data(), static_cast<int64_t>(count), 0, bits);
    }
    order.resize(count);
    return order;
}

WC_AVX2_CLONE int64_t bits_of_words(const uint8_t* words, size_t count) {
    int64_t bits = 0;
    for (size_t i = 0; i < count; ++i) {
        uint64_t word;
        std::memcpy(&word, words + i * sizeof word, sizeof word);
        bits += std::popcount(word);
    }
    return bits;
}

}  // namespace

Blocks find_blocks(Voxels voxels, int32_t width) {
    KeyTable table;
    std::vector<Voxel> origins;
    Blocks found;
    found.holders.resize(voxels.size());
    const int32_t mask = -width;
    Voxel last{};
    int32_t number = -1;
    for (size_t i = 0; i < voxels.size(); ++i) {
        const Voxel& v = voxels[i];
        bool same = (((v.x ^ last.x) | (v.y ^ last.y) | (v.z ^ last.z)) & mask) == 0;
        if (!same || number < 0) {
            last = {v.x & mask, v.y & mask, v.z & mask};
            number = table.number(key_of(last));
            if (static_cast<size_t>(number) == origins.size()) origins.push_back(last);
        }
        found.holders[i] = number;
    }
    std::vector<int32_t> order = order_of(table.keys), place(order.size());
    found.origins.reserve(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
        place[order[i]] = static_cast<int32_t>(i);
        found.origins.push_back(origins[order[i]]);
    }
    for (int32_t& holder : found.holders) holder = place[holder];
    return found;
}

Blocks leaves_of_box(const Voxel& low, const Voxel& high) {
    std::vector<Voxel> corners;
    constexpr int32_t mask = -kLeafWidth;
    for (int64_t x = low.x & mask; x <= high.x; x += kLeafWidth)
        for (int64_t y = low.y & mask; y <= high.y; y += kLeafWidth)
            for (int64_t z = low.z & mask; z <= high.z; z += kLeafWidth)
                corners.push_back({static_cast<int32_t>(x), static_cast<int32_t>(y), static_cast<int32_t>(z)});
    return find_blocks(corners, kLeafWidth);
}

void set_masks(Voxels voxels, const Blocks& leaves, Room masks) {
    std::fill(masks.begin(), masks.end(), uint8_t{0});
    for (size_t i = 0; i < voxels.size(); ++i) {
        const Voxel& v = voxels[i];
        uint8_t* mask = &masks[kMaskOfLeaf * static_cast<size_t>(leaves.holders[i])];
        mask[(v.x & 7) << 3 | (v.y & 7)] |= static_cast<uint8_t>(1 << (v.z & 7));
    }
}

void list_voxels(Voxels origins, Bytes masks, std::span<Voxel> out) {
    Voxel *to = out.data(), *end = to + out.size();
    const uint8_t* mask = masks.data();
    for (const Voxel& origin : origins)
        for (int32_t x = 0; x < kLeafWidth; ++x) {  // a word of the mask is a plane of 64 voxels
            uint64_t word = ~uint64_t{0};
            if (!masks.empty()) {
                std::memcpy(&word, mask, sizeof word);
                mask += sizeof word;
            }
            for (; word && to != end; word &= word - 1) {  // another thread may set bits meanwhile
                int32_t place = std::countr_zero(word);
                *to++ = {origin.x + x, origin.y + (place >> 3), origin.z + (place & 7)};
            }
        }
}

int64_t count_bits(Bytes masks) {
    size_t words = masks.size() / sizeof(uint64_t);
    int64_t bits = bits_of_words(masks.data(), words);
    for (uint8_t byte : masks.subspan(words * sizeof(uint64_t))) bits += std::popcount(byte);
    return bits;
}

}  // namespace wc
