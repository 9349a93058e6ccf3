#include "warp_core/fingerprint.h"

#include <array>
#include <cstring>

namespace wc {

namespace {

constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;  // the golden ratio: its bits look like chance
constexpr size_t kLanes = 8;                   // independent chains, so that multiplications overlap
constexpr uint64_t kBlock = kLanes * sizeof(uint64_t);

// One to one in `word` and in `sum`: a single word that differs is always noticed. The shift lets high bits reach low
// ones, so that changed signs do not cancel.
inline uint64_t mixed(uint64_t sum, uint64_t word) {
    sum = (sum ^ word) * kOdd;
    return sum ^ (sum >> 32);
}

}  // namespace

uint64_t fingerprint(const void* data, uint64_t nbytes) {
    auto* at = static_cast<const char*>(data);
    std::array<uint64_t, kLanes> sums{1, 2, 3, 4, 5, 6, 7, 8}, words{};
    uint64_t rest = nbytes;
    for (; rest >= kBlock; rest -= kBlock, at += kBlock) {
        std::memcpy(words.data(), at, kBlock);
        for (size_t i = 0; i < kLanes; ++i) sums[i] = mixed(sums[i], words[i]);
    }
    words = {};
    std::memcpy(words.data(), at, rest);
    uint64_t whole = nbytes;
    for (size_t i = 0; i < kLanes; ++i) whole = mixed(whole, mixed(sums[i], words[i]));
    return whole;
}

}  // namespace wc
