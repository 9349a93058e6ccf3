// CPU memory: allocation, fill and strided copy. Large operations are spread over the pool; callers that hold the GIL
// and pass more than kParallelBytes should release it first.
#pragma once
#include <cstddef>
#include <cstdint>

namespace wc {

constexpr int64_t kParallelBytes = 1 << 18;

// Aligned to 64 bytes; from 4 MiB on to huge pages. Zero bytes give a valid, distinct pointer. Throws std::bad_alloc.
void* allocate(int64_t nbytes);
void release(void* memory);

// The filled range is a whole number of patterns.
void copy_bytes(void* to, const void* from, int64_t nbytes);
void fill_bytes(void* to, int64_t nbytes, const void* pattern, int64_t pattern_size);

// Whether any byte is not 0.
bool any_set(const void* data, int64_t nbytes);

// Element by element; `to` and `from` have the same shape. Overlap is not handled.
void copy_strided(void* to, const int64_t* to_strides, const void* from, const int64_t* from_strides,
                  const int64_t* shape, int ndim, int64_t itemsize);
void fill_strided(void* to, const int64_t* strides, const int64_t* shape, int ndim, const void* pattern,
                  int64_t itemsize);

}  // namespace wc
