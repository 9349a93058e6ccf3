#include "warp_core/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "warp_core/array.h"
#include "warp_core/clones.h"
#include "warp_core/pool.h"

namespace wc {
namespace {

constexpr int64_t kHuge = 2 << 20;
constexpr int64_t kHugeFrom = 4 << 20;

// Bytes for one thread: large enough that memcpy chooses its streaming form, else an even share.
int64_t share(int64_t nbytes) { return std::max<int64_t>(kParallelBytes / 2, (nbytes / num_threads() + 4095) & -4096); }

struct Bytes {
    char* to;
    const char* from;
    int64_t size;
};

void copy_part(void* data, int64_t begin, int64_t end) {
    auto& b = *static_cast<Bytes*>(data);
    std::memcpy(b.to + begin, b.from + begin, static_cast<size_t>(end - begin));
}

constexpr int64_t kLine = 64;

// Writes a line again and again; what is left at the end of `to` gets its beginning.
WC_AVX2_CLONE void repeat_line(char* to, int64_t nbytes, const char* line) {
    int64_t done = 0;
    for (; done + kLine <= nbytes; done += kLine) std::memcpy(to + done, line, kLine);
    std::memcpy(to + done, line, static_cast<size_t>(nbytes - done));
}

// Doubles what is already filled: one pass of memcpy whatever the pattern.
void double_up(char* to, int64_t nbytes, const char* pattern, int64_t size) {
    int64_t done = std::min(size, nbytes);
    std::memcpy(to, pattern, static_cast<size_t>(done));
    while (done < nbytes) {
        int64_t step = std::min({done, nbytes - done, std::max<int64_t>(size, (1 << 14) / size * size)});
        std::memcpy(to + done, to, static_cast<size_t>(step));
        done += step;
    }
}

void repeat(char* to, int64_t nbytes, const char* pattern, int64_t size) {
    char line[kLine];
    if (kLine % size != 0) return double_up(to, nbytes, pattern, size);
    double_up(line, kLine, pattern, size);
    repeat_line(to, nbytes, line);
}

void fill_part(void* data, int64_t begin, int64_t end) {
    auto& b = *static_cast<Bytes*>(data);
    repeat(b.to + begin, end - begin, b.from, b.size);
}

void set_part(void* data, int64_t begin, int64_t end) {
    auto& b = *static_cast<Bytes*>(data);
    std::memset(b.to + begin, b.from[0], static_cast<size_t>(end - begin));
}

struct Search {
    const char* bytes;
    std::atomic<bool> found{false};
};

void search_part(void* data, int64_t begin, int64_t end) {
    constexpr int64_t kBlock = 4096;
    static const std::array<char, kBlock> zeros{};
    auto& search = *static_cast<Search*>(data);
    for (int64_t i = begin; i < end && !search.found.load(std::memory_order_relaxed); i += kBlock)
        if (std::memcmp(search.bytes + i, zeros.data(), static_cast<size_t>(std::min(kBlock, end - i))) != 0)
            search.found = true;
}

// A strided walk, contiguous dimensions merged. Dimension 0 is split between threads. A fill reads
// one item with stride 0.
struct Walk {
    char* to;
    const char* from;
    int64_t itemsize;
    int ndim = 0;
    int64_t shape[kMaxNdim] = {}, to_strides[kMaxNdim] = {}, from_strides[kMaxNdim] = {};

    void push(int64_t extent, int64_t to_stride, int64_t from_stride) {
        if (extent == 1) return;
        if (ndim > 0) {
            int last = ndim - 1;
            if (to_strides[last] == extent * to_stride && from_strides[last] == extent * from_stride) {
                shape[last] *= extent;
                to_strides[last] = to_stride;
                from_strides[last] = from_stride;
                return;
            }
        }
        shape[ndim] = extent;
        to_strides[ndim] = to_stride;
        from_strides[ndim++] = from_stride;
    }
};

template <class T>
void copy_items(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        T item;
        std::memcpy(&item, from + i * from_stride, sizeof item);
        std::memcpy(to + i * to_stride, &item, sizeof item);
    }
}

void copy_row(const Walk& w, char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t n) {
    if (to_stride == w.itemsize && from_stride == w.itemsize) {
        std::memcpy(to, from, static_cast<size_t>(n * w.itemsize));
        return;
    }
    switch (w.itemsize) {
        case 1:
            return copy_items<uint8_t>(to, to_stride, from, from_stride, n);
        case 2:
            return copy_items<uint16_t>(to, to_stride, from, from_stride, n);
        case 4:
            return copy_items<uint32_t>(to, to_stride, from, from_stride, n);
        case 8:
            return copy_items<uint64_t>(to, to_stride, from, from_stride, n);
        default:
            for (int64_t i = 0; i < n; ++i)
                std::memcpy(to + i * to_stride, from + i * from_stride, static_cast<size_t>(w.itemsize));
    }
}

void walk(const Walk& w, int dim, char* to, const char* from, int64_t begin, int64_t end) {
    if (dim == w.ndim - 1 || dim == kMaxNdim - 1) {
        int64_t ts = w.to_strides[dim], fs = w.from_strides[dim];
        copy_row(w, to + begin * ts, ts, from + begin * fs, fs, end - begin);
        return;
    }
    for (int64_t i = begin; i < end; ++i)
        walk(w, dim + 1, to + i * w.to_strides[dim], from + i * w.from_strides[dim], 0, w.shape[dim + 1]);
}

void walk_part(void* data, int64_t begin, int64_t end) {
    auto& w = *static_cast<Walk*>(data);
    walk(w, 0, w.to, w.from, begin, end);
}

}  // namespace

void* allocate(int64_t nbytes) {
    if (nbytes < 0) throw std::bad_alloc();
    int64_t align = nbytes >= kHugeFrom ? kHuge : 64;
    if (nbytes > INT64_MAX - align) throw std::bad_alloc();
    int64_t size = std::max<int64_t>(1, (nbytes + align - 1) / align) * align;
    void* memory = std::aligned_alloc(static_cast<size_t>(align), static_cast<size_t>(size));
    if (!memory) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (align == kHuge) madvise(memory, static_cast<size_t>(size), MADV_HUGEPAGE);
#endif
    return memory;
}

void release(void* memory) { std::free(memory); }

void copy_bytes(void* to, const void* from, int64_t nbytes) {
    Bytes bytes{static_cast<char*>(to), static_cast<const char*>(from), 0};
    if (nbytes < kParallelBytes) {
        std::memcpy(to, from, static_cast<size_t>(nbytes));
    } else {
        parallel_for(nbytes, share(nbytes), copy_part, &bytes);
    }
}

void fill_bytes(void* to, int64_t nbytes, const void* pattern, int64_t pattern_size) {
    Bytes bytes{static_cast<char*>(to), static_cast<const char*>(pattern), pattern_size};
    auto* p = static_cast<const char*>(pattern);
    bool uniform = std::all_of(p, p + pattern_size, [&](char c) { return c == p[0]; });
    int64_t chunk = nbytes < kParallelBytes ? nbytes : share(nbytes);
    chunk = (chunk + pattern_size - 1) / pattern_size * pattern_size;
    parallel_for(nbytes, chunk, uniform ? set_part : fill_part, &bytes);
}

bool any_set(const void* data, int64_t nbytes) {
    Search search{static_cast<const char*>(data)};
    parallel_for(nbytes, nbytes < kParallelBytes ? nbytes : share(nbytes), search_part, &search);
    return search.found;
}

void copy_strided(void* to, const int64_t* to_strides, const void* from, const int64_t* from_strides,
                  const int64_t* shape, int ndim, int64_t itemsize) {
    Walk w{static_cast<char*>(to), static_cast<const char*>(from), itemsize};
    int64_t items = 1;
    for (int i = 0; i < ndim; ++i) {
        items *= shape[i];
        w.push(shape[i], to_strides[i], from_strides[i]);
    }
    if (items == 0) return;
    bool dense = w.ndim == 0 || (w.ndim == 1 && w.to_strides[0] == itemsize && w.from_strides[0] == itemsize);
    if (dense) return copy_bytes(to, from, items * itemsize);
    int64_t row_bytes = items / w.shape[0] * itemsize;
    parallel_for(w.shape[0], std::max<int64_t>(1, kParallelBytes / 4 / row_bytes), walk_part, &w);
}

void fill_strided(void* to, const int64_t* strides, const int64_t* shape, int ndim, const void* pattern,
                  int64_t itemsize) {
    int64_t items = 1, expected = itemsize;
    bool dense = true;
    for (int i = ndim - 1; i >= 0; --i) {
        if (shape[i] > 1 && strides[i] != expected) dense = false;
        items *= shape[i];
        expected *= shape[i];
    }
    if (items == 0) return;
    if (dense) return fill_bytes(to, items * itemsize, pattern, itemsize);
    int64_t still[kMaxNdim] = {0, 0, 0, 0};
    copy_strided(to, strides, pattern, still, shape, ndim, itemsize);
}

}  // namespace wc
