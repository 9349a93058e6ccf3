#pragma once
#include <cstdint>

namespace wc {

// A number made of the bytes at `data`: memory that has changed has another one, but for about one case in 2^60.
uint64_t fingerprint(const void* data, uint64_t nbytes);

}  // namespace wc
