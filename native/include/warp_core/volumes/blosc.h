// Chunks of blosc 1, the compression inside of .vdb and .nvdb files: LZ4 and BloscLZ, with and without byte shuffling.
//
// Chunks come from files, so nothing in them is believed: what is wrong throws std::invalid_argument.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace wc {

using Bytes = std::span<const uint8_t>;
using Room = std::span<uint8_t>;

// The number of bytes that a chunk decodes to, at most 255 times its own size.
size_t blosc_decoded_size(Bytes chunk);

// Decodes a chunk of `out.size()` bytes.
void blosc_decode(Bytes chunk, Room out);

// A chunk of LZ4 with shuffled bytes. At most 2^31 - 17 bytes; items of 1 to 16 bytes.
std::vector<uint8_t> blosc_encode(Bytes data, size_t item_size);

// One LZ4 block. `out` is filled to its end by decoding.
void lz4_decode(Bytes block, Room out);
void lz4_encode(Bytes data, std::vector<uint8_t>& block);  // appends

}  // namespace wc
