// Trees of .vdb files: a root, nodes of 32^3 and 16^3 entries, leaves of 8^3 voxels.
//
// The topology comes first in a file, then the values of all leaves in the same order. Both come from files, so nothing
// in them is believed: what is wrong throws std::invalid_argument, which names the byte.
#pragma once
#include <functional>

#include "warp_core/dtypes.h"
#include "warp_core/volumes/blosc.h"

namespace wc {

constexpr size_t kLeafVoxels = 512, kLeafMask = kLeafVoxels / 8;

enum class VdbLeaves { Values, Bits, MaskOnly };  // of numbers; of bool; of masks, whose values are the mask

struct VdbFormat {
    Scalar scalar;
    size_t components;
    bool half;  // floats are saved with 16 bits
    VdbLeaves leaves;
    uint32_t compression;  // bits: 1 zlib, 2 only active values are saved, 4 blosc
    std::function<void(Bytes, Room)> inflate;

    size_t value_size() const { return static_cast<size_t>(scalar.size) * components; }
};

// A part of a file, and where it begins there, for messages.
struct VdbBytes {
    Bytes bytes;
    size_t begin;
};

struct VdbTopology {
    std::vector<uint8_t> background;    // one value
    std::vector<int32_t> leaf_origins;  // three for each leaf
    std::vector<uint8_t> leaf_masks;    // kLeafMask bytes for each leaf: which voxels are active
    std::vector<int32_t> tile_origins;  // three for each tile that is active or not of the background's value
    std::vector<int32_t> tile_extents;  // voxels along an edge: 8, 128 or 4096
    std::vector<uint8_t> tile_values;
    std::vector<uint8_t> tile_active;
    size_t end;  // where the values of the leaves begin in the part
};

VdbTopology read_vdb_topology(const VdbFormat& format, const VdbBytes& file, size_t begin);

// Reads the values of all leaves, kLeafVoxels each, from byte `begin` of the part; returns where they end.
size_t read_vdb_leaves(const VdbFormat& format, const VdbBytes& file, size_t begin, Bytes background, Bytes masks,
                       Room values);

}  // namespace wc
