#include "warp_core/volumes/vdb_tree.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>

#include "warp_core/half.h"

namespace wc {
namespace {

constexpr uint32_t kZlib = 1, kActiveOnly = 2, kBlosc = 4;
constexpr int32_t kRootExtent = 4096;
constexpr size_t kLargestValue = 24;

class Cursor {
  public:
    Cursor(const VdbBytes& file, size_t at) : file_(file.bytes), begin_(file.begin), at_(at) {
        if (at > file_.size()) fail("the tree lies outside of the grid's bytes");
    }

    size_t at() const { return at_; }
    size_t left() const { return file_.size() - at_; }

    Bytes take(size_t count, const char* what) {
        if (count > left()) {
            fail(std::string(what) + ": " + std::to_string(count) + " bytes are needed, but " + std::to_string(left()) +
                 " are left");
        }
        at_ += count;
        return file_.subspan(at_ - count, count);
    }

    template <class T>
    T read(const char* what) {
        T number;
        std::memcpy(&number, take(sizeof number, what).data(), sizeof number);
        return number;
    }

    [[noreturn]] void fail(const std::string& what) const { fail(what, at_); }

    [[noreturn]] void fail(const std::string& what, size_t at) const {
        throw std::invalid_argument("byte " + std::to_string(begin_ + at) + ": " + what);
    }

  private:
    Bytes file_;
    size_t begin_, at_;
};

bool is_set(Bytes mask, size_t bit) { return mask[bit / 8] >> (bit % 8) & 1; }

size_t count_set(Bytes mask) {
    size_t count = 0;
    for (size_t at = 0; at < mask.size(); at += 8) {  // masks have multiples of 8 bytes
        uint64_t word;
        std::memcpy(&word, &mask[at], sizeof word);
        count += static_cast<size_t>(std::popcount(word));
    }
    return count;
}

template <class T>
void negate_number(uint8_t* at) {
    T number;
    std::memcpy(&number, at, sizeof number);
    number = static_cast<T>(T{0} - number);
    std::memcpy(at, &number, sizeof number);
}

using Value = std::array<uint8_t, kLargestValue>;

// The value that is saved as "minus the background".
Value negated(const VdbFormat& format, Bytes background) {
    Value value{};
    std::copy(background.begin(), background.end(), value.begin());
    size_t size = static_cast<size_t>(format.scalar.size);
    for (size_t i = 0; i < format.components; ++i) {
        uint8_t* at = &value[i * size];
        if (format.scalar.kind == Kind::Float) {
            at[size - 1] ^= 0x80;  // the sign
        } else if (format.scalar.kind == Kind::Bool) {
            *at = !*at;
        } else if (size == 4) {
            negate_number<uint32_t>(at);
        } else {
            negate_number<uint64_t>(at);
        }
    }
    return value;
}

// What the values that are not saved are: `off`, or `on` where the selection has a bit.
struct InactiveValues {
    Value off, on;
    Bytes selection;
};

template <size_t N>
void expand(Bytes mask, Bytes saved, const InactiveValues& inactive, Room out) {
    size_t next = 0, count = out.size() / N;
    const uint8_t* off = inactive.off.data();
    for (size_t i = 0; i < count; ++i) {
        bool active = is_set(mask, i);
        const uint8_t* from = active                                                         ? &saved[next]
                              : !inactive.selection.empty() && is_set(inactive.selection, i) ? inactive.on.data()
                                                                                             : off;
        std::memcpy(&out[i * N], from, N);
        next += active ? N : 0;
    }
}

// Reads the arrays of values that nodes and leaves have.
class ValueReader {
  public:
    ValueReader(const VdbFormat& format, Cursor& cursor, Bytes background)
        : format_(format), cursor_(cursor), background_(background), negated_(negated(format, background)) {}

    // One value for each bit of the mask.
    void read(Bytes mask, Room out) {
        auto code = cursor_.read<int8_t>("the code of a node's inactive values");
        if (code < 0 || code > kAllSaved) {
            cursor_.fail("a node's inactive values have code " + std::to_string(code) + ", which is not defined");
        }
        size_t count = mask.size() * 8, saved = count;
        InactiveValues inactive = inactive_values(code, mask.size());
        if (format_.compression & kActiveOnly && code != kAllSaved) saved = count_set(mask);
        if (saved == count) return read_saved(saved, out);
        expanded_.resize(saved * format_.value_size());
        read_saved(saved, expanded_);
        spread(mask, inactive, out);
    }

  private:
    static constexpr int8_t kBackground = 0, kOneOther = 2, kSelectSign = 3, kSelectOther = 4, kSelectTwo = 5,
                            kAllSaved = 6;

    InactiveValues inactive_values(int8_t code, size_t mask_size) {
        InactiveValues inactive{negated_, {}, {}};
        std::copy(background_.begin(), background_.end(), inactive.on.begin());
        if (code == kBackground) inactive.off = inactive.on;
        if (code == kOneOther || code == kSelectOther || code == kSelectTwo) read_value(inactive.off);
        if (code == kSelectTwo) read_value(inactive.on);
        if (code == kSelectSign || code == kSelectOther || code == kSelectTwo) {
            inactive.selection = cursor_.take(mask_size, "the selection of inactive values");
        }
        return inactive;
    }

    void read_value(Value& value) {
        Bytes bytes = cursor_.take(format_.value_size(), "an inactive value");
        std::copy(bytes.begin(), bytes.end(), value.begin());
    }

    void spread(Bytes mask, const InactiveValues& inactive, Room out) const {
        Bytes saved = expanded_;
        switch (format_.value_size()) {
            case 1:
                return expand<1>(mask, saved, inactive, out);
            case 2:
                return expand<2>(mask, saved, inactive, out);
            case 4:
                return expand<4>(mask, saved, inactive, out);
            case 8:
                return expand<8>(mask, saved, inactive, out);
            case 12:
                return expand<12>(mask, saved, inactive, out);
            case 24:
                return expand<24>(mask, saved, inactive, out);
            default:
                throw std::invalid_argument("values of this size cannot be read");
        }
    }

    void read_saved(size_t count, Room out) {
        if (!format_.half) return read_bytes(out);
        if (count == 0) return;  // not even its size is saved
        size_t numbers = count * format_.components;
        halves_.resize(numbers * sizeof(uint16_t));
        read_bytes(halves_);
        for (size_t i = 0; i < numbers; ++i) {
            uint16_t bits;
            std::memcpy(&bits, &halves_[i * sizeof bits], sizeof bits);
            if (format_.scalar.size == 4) {
                float number = from_half(bits);
                std::memcpy(&out[i * sizeof number], &number, sizeof number);
            } else {
                double number = from_half(bits);
                std::memcpy(&out[i * sizeof number], &number, sizeof number);
            }
        }
    }

    void read_bytes(Room out) {
        if (!(format_.compression & (kZlib | kBlosc))) {
            return copy(cursor_.take(out.size(), "values"), out);
        }
        size_t before = cursor_.at();
        auto size = cursor_.read<int64_t>("the size of compressed values");
        if (size <= 0) {
            if (size != -static_cast<int64_t>(out.size())) {
                cursor_.fail("values should have " + std::to_string(out.size()) + " bytes, and the file says " +
                             std::to_string(size));
            }
            return copy(cursor_.take(out.size(), "values"), out);
        }
        Bytes chunk = cursor_.take(static_cast<size_t>(size), "compressed values");
        try {
            format_.compression& kBlosc ? blosc_decode(chunk, out) : format_.inflate(chunk, out);
        } catch (const std::invalid_argument& error) {
            cursor_.fail(error.what(), before);
        }
    }

    static void copy(Bytes from, Room to) { std::copy(from.begin(), from.end(), to.begin()); }

    const VdbFormat& format_;
    Cursor& cursor_;
    Bytes background_;
    Value negated_;
    std::vector<uint8_t> expanded_, halves_;
};

struct Origin {
    int32_t x, y, z;
    auto operator<=>(const Origin&) const = default;
};

// A level of nodes: 2^log2 entries along an edge, each for an entry or leaf of `extent` voxels along an edge.
struct Level {
    int log2;
    int32_t extent;

    size_t entries() const { return size_t{1} << (3 * log2); }
    Origin origin(const Origin& node, size_t entry) const {
        size_t edge = (size_t{1} << log2) - 1;
        auto along = [&](int32_t begin, int axis) {
            return begin + static_cast<int32_t>(entry >> (axis * log2) & edge) * extent;
        };
        return {along(node.x, 2), along(node.y, 1), along(node.z, 0)};
    }
};

constexpr Level kUpper{5, 128}, kLower{4, 8};

class TopologyReader {
  public:
    TopologyReader(const VdbFormat& format, const VdbBytes& file, size_t begin)
        : format_(format), cursor_(file, begin) {}

    VdbTopology read() {
        auto buffers = cursor_.read<int32_t>("the tree");
        if (buffers != 1) cursor_.fail("trees with " + std::to_string(buffers) + " buffers cannot be read");
        Bytes background = cursor_.take(format_.value_size(), "the background");
        found_.background.assign(background.begin(), background.end());
        ValueReader values(format_, cursor_, background);
        auto tiles = cursor_.read<uint32_t>("the number of tiles");
        auto children = cursor_.read<uint32_t>("the number of nodes");
        std::vector<Origin> origins;
        for (uint32_t i = 0; i < tiles; ++i) {
            origins.push_back(read_origin());
            Bytes value = cursor_.take(format_.value_size(), "the value of a tile");
            add_tile(origins.back(), kRootExtent, value, cursor_.read<uint8_t>("the state of a tile") != 0);
        }
        for (uint32_t i = 0; i < children; ++i) {
            origins.push_back(read_origin());
            read_node(kUpper, origins.back(), values);
        }
        std::sort(origins.begin(), origins.end());
        if (std::adjacent_find(origins.begin(), origins.end()) != origins.end()) {
            cursor_.fail("two entries of the tree's root have the same origin");
        }
        found_.end = cursor_.at();
        return std::move(found_);
    }

  private:
    Origin read_origin() {
        Origin origin{};
        for (int32_t* axis : {&origin.x, &origin.y, &origin.z}) {
            *axis = cursor_.read<int32_t>("the origin of an entry");
            if (*axis % kRootExtent != 0) cursor_.fail("the origin of an entry is not a multiple of 4096");
        }
        return origin;
    }

    void add_tile(const Origin& origin, int32_t extent, Bytes value, bool active) {
        bool is_background = std::memcmp(value.data(), found_.background.data(), value.size()) == 0;
        if (is_background && !active) return;
        found_.tile_origins.insert(found_.tile_origins.end(), {origin.x, origin.y, origin.z});
        found_.tile_extents.push_back(extent);
        found_.tile_values.insert(found_.tile_values.end(), value.begin(), value.end());
        found_.tile_active.push_back(active);
    }

    void read_node(const Level& level, const Origin& origin, ValueReader& values) {
        size_t entries = level.entries(), size = format_.value_size();
        Bytes children = cursor_.take(entries / 8, "the children of a node");
        Bytes active = cursor_.take(entries / 8, "the active entries of a node");
        std::vector<uint8_t>& table = tables_[level.extent == kLower.extent];
        table.resize(entries * size);
        values.read(active, table);
        for (size_t i = 0; i < entries; ++i) {
            if (!is_set(children, i)) {
                add_tile(level.origin(origin, i), level.extent, Bytes(table).subspan(i * size, size),
                         is_set(active, i));
            }
        }
        for (size_t i = 0; i < entries; ++i) {
            if (!is_set(children, i)) continue;
            Origin child = level.origin(origin, i);
            level.extent == kLower.extent ? read_leaf(child) : read_node(kLower, child, values);
        }
    }

    void read_leaf(const Origin& origin) {
        Bytes mask = cursor_.take(kLeafMask, "the mask of a leaf");
        found_.leaf_origins.insert(found_.leaf_origins.end(), {origin.x, origin.y, origin.z});
        found_.leaf_masks.insert(found_.leaf_masks.end(), mask.begin(), mask.end());
    }

    const VdbFormat& format_;
    Cursor cursor_;
    VdbTopology found_;
    std::vector<uint8_t> tables_[2];
};

void unpack_bits(Bytes bits, Room out) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = is_set(bits, i);
}

void read_bits(VdbLeaves kind, Cursor& cursor, Bytes mask, Room out) {
    cursor.take(3 * sizeof(int32_t), "the origin of a leaf");
    unpack_bits(kind == VdbLeaves::Bits ? cursor.take(kLeafMask, "the values of a leaf") : mask, out);
}

}  // namespace

VdbTopology read_vdb_topology(const VdbFormat& format, const VdbBytes& file, size_t begin) {
    return TopologyReader(format, file, begin).read();
}

size_t read_vdb_leaves(const VdbFormat& format, const VdbBytes& file, size_t begin, Bytes background, Bytes masks,
                       Room values) {
    Cursor cursor(file, begin);
    ValueReader reader(format, cursor, background);
    size_t size = format.value_size() * kLeafVoxels;
    for (size_t i = 0; i < masks.size() / kLeafMask; ++i) {
        Bytes mask = cursor.take(kLeafMask, "the mask of a leaf");
        Bytes known = masks.subspan(i * kLeafMask, kLeafMask);
        if (!std::equal(mask.begin(), mask.end(), known.begin())) {
            cursor.fail("leaf " + std::to_string(i) + " has another mask than in the tree's topology");
        }
        Room leaf = values.subspan(i * size, size);
        format.leaves == VdbLeaves::Values ? reader.read(mask, leaf) : read_bits(format.leaves, cursor, mask, leaf);
    }
    return cursor.at();
}

}  // namespace wc
