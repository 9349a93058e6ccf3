// LZ4 blocks. A sequence is a token, literals, and a match: an offset back into what was decoded, and a length.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "warp_core/volumes/blosc.h"

namespace wc {
namespace {

constexpr size_t kShortestMatch = 4;
constexpr size_t kWild = 16;  // bytes that are copied at once where there is room

[[noreturn]] void damaged() { throw std::invalid_argument("the LZ4 data is damaged"); }

// A length whose four bits in the token are all set goes on in further bytes.
size_t long_length(const uint8_t*& in, const uint8_t* end) {
    size_t length = 15;
    for (uint8_t byte = 255; byte == 255; length += byte) {
        if (in == end) damaged();
        byte = *in++;
    }
    return length;
}

void copy_match(uint8_t* to, const uint8_t* end, size_t offset, size_t length) {
    const uint8_t* from = to - offset;
    if (offset >= kWild && length + kWild <= static_cast<size_t>(end - to)) {
        for (size_t i = 0; i < length; i += kWild) std::memcpy(to + i, from + i, kWild);
    } else if (offset == 1) {
        std::memset(to, *from, length);
    } else if (offset >= length) {
        std::memcpy(to, from, length);
    } else {
        for (size_t i = 0; i < length; ++i) to[i] = from[i];
    }
}

void copy_literals(uint8_t* to, const uint8_t* end, const uint8_t* from, const uint8_t* from_end, size_t length) {
    bool wild = length <= kWild && end - to >= static_cast<ptrdiff_t>(kWild) &&
                from_end - from >= static_cast<ptrdiff_t>(kWild);
    std::memcpy(to, from, wild ? kWild : length);
}

}  // namespace

void lz4_decode(Bytes block, Room room) {
    const uint8_t *in = block.data(), *in_end = in + block.size();
    uint8_t *out = room.data(), *out_end = out + room.size();
    for (;;) {
        if (in == in_end) damaged();
        uint8_t token = *in++;
        size_t literals = token >> 4;
        if (literals == 15) literals = long_length(in, in_end);
        if (literals > static_cast<size_t>(in_end - in) || literals > static_cast<size_t>(out_end - out)) damaged();
        if (literals) copy_literals(out, out_end, in, in_end, literals);
        in += literals;
        out += literals;
        if (in == in_end) break;  // the last sequence has no match
        if (in_end - in < 2) damaged();
        size_t offset = in[0] | static_cast<size_t>(in[1]) << 8, length = token & 15;
        in += 2;
        if (length == 15) length = long_length(in, in_end);
        length += kShortestMatch;
        if (offset == 0 || offset > static_cast<size_t>(out - room.data())) damaged();
        if (length > static_cast<size_t>(out_end - out)) damaged();
        copy_match(out, out_end, offset, length);
        out += length;
    }
    if (out != out_end) damaged();
}

namespace {

// The format's own limits: a match begins 12 bytes before the end at the latest, and the last 5 bytes are literals.
constexpr size_t kNoMatchBegins = 12, kLastLiterals = 5, kLargestOffset = 65535;
constexpr int kHashBits = 14;

uint32_t word(const uint8_t* at) {
    uint32_t bytes;
    std::memcpy(&bytes, at, sizeof bytes);
    return bytes;
}

void put_length(std::vector<uint8_t>& block, size_t length) {
    if (length < 15) return;
    for (length -= 15; length >= 255; length -= 255) block.push_back(255);
    block.push_back(static_cast<uint8_t>(length));
}

void put_literals(std::vector<uint8_t>& block, Bytes literals, size_t match) {
    block.push_back(static_cast<uint8_t>(std::min<size_t>(literals.size(), 15) << 4 | std::min<size_t>(match, 15)));
    put_length(block, literals.size());
    block.insert(block.end(), literals.begin(), literals.end());
}

}  // namespace

void lz4_encode(Bytes data, std::vector<uint8_t>& block) {
    std::vector<uint32_t> last(size_t{1} << kHashBits);  // one more than where a word with this hash began
    size_t at = 0, done = 0, misses = 0;
    while (at + kNoMatchBegins <= data.size()) {
        uint32_t bytes = word(&data[at]);
        uint32_t& entry = last[bytes * 2654435761u >> (32 - kHashBits)];
        size_t from = entry;
        entry = static_cast<uint32_t>(at + 1);
        if (from == 0 || at - --from > kLargestOffset || word(&data[from]) != bytes) {
            at += 1 + (misses++ >> 6);  // what does not compress is passed over faster and faster
            continue;
        }
        size_t length = kShortestMatch, longest = data.size() - kLastLiterals - at;
        while (length < longest && data[from + length] == data[at + length]) ++length;
        put_literals(block, data.subspan(done, at - done), length - kShortestMatch);
        block.push_back(static_cast<uint8_t>(at - from));
        block.push_back(static_cast<uint8_t>((at - from) >> 8));
        put_length(block, length - kShortestMatch);
        done = at += length;
        misses = 0;
    }
    put_literals(block, data.subspan(done), 0);
}

}  // namespace wc
