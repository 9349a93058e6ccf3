// A chunk of blosc 1: a header of 16 bytes, where each block begins, and blocks. A block holds one stream, or one for
// each byte of an item. A stream is its size and its compressed bytes; it is stored as it is if the size is that of its
// content.
#include "warp_core/volumes/blosc.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace wc {
namespace {

constexpr size_t kHeader = 16;
constexpr uint8_t kShuffled = 1, kStored = 2, kBitShuffled = 4, kOneStream = 16;
constexpr uint8_t kLz4 = 1 << 5;
constexpr size_t kLargestRatio = 255;
constexpr size_t kMostStreams = 16, kShortestStream = 128;
constexpr size_t kEncodedBlock = size_t{1} << 18;

void require(bool condition, const std::string& otherwise) {
    if (!condition) throw std::invalid_argument(otherwise);
}

uint32_t read_u32(Bytes data, size_t at) {
    require(at <= data.size() && data.size() - at >= 4, "the blosc chunk ends too early");
    uint32_t number;
    std::memcpy(&number, &data[at], sizeof number);
    return number;
}

void put_u32(std::vector<uint8_t>& data, size_t at, size_t number) {
    auto value = static_cast<uint32_t>(number);
    std::memcpy(&data[at], &value, sizeof value);
}

struct Header {
    uint8_t flags;
    size_t item, size, block, compressed;

    explicit Header(Bytes chunk) {
        require(chunk.size() >= kHeader, "the blosc chunk ends too early");
        require(chunk[0] == 1 || chunk[0] == 2,
                "blosc chunks of format " + std::to_string(chunk[0]) + " cannot be read, only those of blosc 1");
        flags = chunk[2], item = chunk[3];
        size = read_u32(chunk, 4), block = read_u32(chunk, 8), compressed = read_u32(chunk, 12);
        require(compressed <= chunk.size() && compressed >= kHeader, "the blosc chunk ends too early");
        bool fits = flags & kStored ? size == compressed - kHeader : size / kLargestRatio <= compressed;
        require(fits, "the blosc chunk promises " + std::to_string(size) + " bytes, more than " +
                          std::to_string(compressed) + " can hold");
        require(item > 0 && (block > 0 || size == 0), "the header of the blosc chunk is damaged");
    }
};

// How many streams a block of `length` bytes has; one that is shorter than the others is not split.
size_t streams_of(uint8_t flags, size_t item, size_t block, size_t length) {
    bool split = !(flags & kOneStream) && length == block && item <= kMostStreams && block / item >= kShortestStream;
    return split && block % item == 0 ? item : 1;
}

// BloscLZ: a control byte below 32 begins literals, any other a match.
void blosclz_decode(Bytes stream, Room room) {
    size_t in = 0, out = 0;
    auto next = [&]() -> size_t {
        require(in < stream.size(), "the BloscLZ data is damaged");
        return stream[in++];
    };
    size_t control = next() & 31;
    for (;;) {
        if (control < 32) {
            size_t length = control + 1;
            require(length <= stream.size() - in && length <= room.size() - out, "the BloscLZ data is damaged");
            std::memcpy(&room[out], &stream[in], length);
            in += length, out += length;
        } else {
            size_t length = (control >> 5) + 2, high = (control & 31) << 8;
            for (size_t more = 255; length >= 9 && more == 255; length += more) more = next();
            size_t low = next(), offset = high + low + 1;
            if (low == 255 && high == 31 << 8) {
                offset = next() << 8;
                offset += next() + 8192;
            }
            require(offset <= out && length <= room.size() - out, "the BloscLZ data is damaged");
            for (size_t i = 0; i < length; ++i, ++out) room[out] = room[out - offset];
        }
        if (in == stream.size()) break;
        control = next();
    }
    require(out == room.size(), "the BloscLZ data is damaged");
}

using Decoder = void (*)(Bytes, Room);

Decoder decoder(uint8_t flags) {
    constexpr const char* kNames[] = {"BloscLZ", "LZ4", "Snappy", "zlib", "Zstandard"};
    uint8_t codec = flags >> 5;
    if (codec == 0) return blosclz_decode;
    if (codec == 1) return lz4_decode;
    std::string name = codec < 5 ? kNames[codec] : "compressor " + std::to_string(codec);
    throw std::invalid_argument("the blosc chunk is compressed by " + name + "; only LZ4 and BloscLZ can be read");
}

void decode_block(Bytes data, Room out, size_t streams, Decoder decode) {
    size_t at = 0, length = out.size() / streams;
    for (size_t i = 0; i < streams; ++i) {
        size_t size = read_u32(data, at);
        at += 4;
        require(size <= data.size() - at && size > 0, "a stream of the blosc chunk ends too early");
        Bytes stream = data.subspan(at, size);
        Room part = out.subspan(i * length, length);
        if (size == length) {
            std::memcpy(part.data(), stream.data(), length);
        } else {
            decode(stream, part);
        }
        at += size;
    }
}

template <size_t N>
void unshuffle_items(const uint8_t* in, uint8_t* out, size_t items) {
    for (size_t i = 0; i < items; ++i)
        for (size_t b = 0; b < N; ++b) out[i * N + b] = in[b * items + i];
}

// From all first bytes, all second bytes, ... to whole items. Bytes beyond the last whole item stay where they are.
void unshuffle(Bytes in, Room out, size_t item) {
    size_t items = in.size() / item;
    if (item == 4) {
        unshuffle_items<4>(in.data(), out.data(), items);
    } else if (item == 8) {
        unshuffle_items<8>(in.data(), out.data(), items);
    } else {
        for (size_t b = 0; b < item; ++b)
            for (size_t i = 0; i < items; ++i) out[i * item + b] = in[b * items + i];
    }
    std::copy(in.begin() + static_cast<ptrdiff_t>(items * item), in.end(),
              out.begin() + static_cast<ptrdiff_t>(items * item));
}

void shuffle(Bytes in, Room out, size_t item) {
    size_t items = in.size() / item;
    for (size_t b = 0; b < item; ++b)
        for (size_t i = 0; i < items; ++i) out[b * items + i] = in[i * item + b];
    std::copy(in.begin() + static_cast<ptrdiff_t>(items * item), in.end(),
              out.begin() + static_cast<ptrdiff_t>(items * item));
}

void encode_block(Bytes shuffled, size_t streams, std::vector<uint8_t>& chunk) {
    size_t length = shuffled.size() / streams;
    for (size_t i = 0; i < streams; ++i) {
        Bytes stream = shuffled.subspan(i * length, length);
        size_t begin = chunk.size() + 4;
        chunk.resize(begin);
        lz4_encode(stream, chunk);
        if (chunk.size() - begin >= length) {  // the same size says that the stream is stored
            chunk.resize(begin);
            chunk.insert(chunk.end(), stream.begin(), stream.end());
        }
        put_u32(chunk, begin - 4, chunk.size() - begin);
    }
}

}  // namespace

size_t blosc_decoded_size(Bytes chunk) { return Header(chunk).size; }

void blosc_decode(Bytes chunk, Room out) {
    Header header(chunk);
    require(header.size == out.size(),
            "the blosc chunk holds " + std::to_string(header.size) + " bytes instead of " + std::to_string(out.size()));
    chunk = chunk.first(header.compressed);
    if (out.empty()) return;
    if (header.flags & kStored) {
        std::memcpy(out.data(), &chunk[kHeader], out.size());
        return;
    }
    require(!(header.flags & kBitShuffled), "the blosc chunk has shuffled bits; only shuffled bytes can be read");
    Decoder decode = decoder(header.flags);
    bool shuffled = header.flags & kShuffled && header.item > 1;
    std::vector<uint8_t> scratch(shuffled ? std::min(header.block, out.size()) : 0);
    for (size_t at = 0, block = 0; at < out.size(); at += header.block, ++block) {
        size_t begin = read_u32(chunk, kHeader + 4 * block);
        require(begin <= chunk.size(), "a block of the blosc chunk lies outside of it");
        Room part = out.subspan(at, std::min(header.block, out.size() - at));
        Room decoded = shuffled ? Room(scratch).first(part.size()) : part;
        size_t streams = streams_of(header.flags, header.item, header.block, part.size());
        decode_block(chunk.subspan(begin), decoded, streams, decode);
        if (shuffled) unshuffle(decoded, part, header.item);
    }
}

std::vector<uint8_t> blosc_encode(Bytes data, size_t item) {
    require(item >= 1 && item <= kMostStreams, "items have 1 to 16 bytes");
    require(data.size() <= size_t{INT32_MAX} - kHeader, "a blosc chunk has less than 2 GiB");
    size_t block = std::min(data.size(), kEncodedBlock / item * item);
    size_t blocks = data.empty() ? 0 : (data.size() + block - 1) / block;
    std::vector<uint8_t> chunk(kHeader + 4 * blocks), scratch(block);
    for (size_t i = 0; i < blocks; ++i) {
        Bytes part = data.subspan(i * block, std::min(block, data.size() - i * block));
        shuffle(part, scratch, item);
        put_u32(chunk, kHeader + 4 * i, chunk.size());
        encode_block(Room(scratch).first(part.size()), streams_of(0, item, block, part.size()), chunk);
    }
    uint8_t flags = kShuffled | kLz4;
    if (chunk.size() > data.size() + kHeader) {
        flags = kStored;
        chunk.resize(kHeader);
        chunk.insert(chunk.end(), data.begin(), data.end());
    }
    chunk[0] = 2, chunk[1] = 1, chunk[2] = flags, chunk[3] = static_cast<uint8_t>(item);
    put_u32(chunk, 4, data.size());
    put_u32(chunk, 8, block);
    put_u32(chunk, 12, chunk.size());
    return chunk;
}

}  // namespace wc
