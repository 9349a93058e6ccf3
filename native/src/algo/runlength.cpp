// Runs are counted chunk by chunk, then written. A chunk writes the runs that begin in it, and the last of them ends
// where the next chunk with a beginning has its first.
#include <algorithm>
#include <utility>

#include "warp_core/algorithms.h"
#include "warp_core/dispatch_scalar.h"

namespace wc {
namespace {

constexpr int64_t kChunk = 1 << 15;
constexpr int64_t kTile = 1024;

struct Chunk {
    int64_t runs = 0;    // that begin in it; later: in those before it
    int64_t first = -1;  // where the first of them begins; later: where the first run after the chunk begins
};

template <class T>
bool begins_run(const T* values, int64_t i) {
    return i == 0 || values[i] != values[i - 1];
}

template <class T>
Chunk count_runs(const T* values, int64_t begin, int64_t end) {
    Chunk chunk;
    for (int64_t i = std::max<int64_t>(begin, 1); i < end; ++i) chunk.runs += values[i] != values[i - 1];
    chunk.runs += begin == 0;
    if (chunk.runs == 0) return chunk;
    for (chunk.first = begin; !begins_run(values, chunk.first);) ++chunk.first;
    return chunk;
}

template <class T>
void write_runs(const T* values, int64_t begin, int64_t end, const Chunk& chunk, T* run_values, int32_t* run_lengths) {
    int64_t starts[kTile + 1];
    int64_t run = chunk.runs, open = -1;  // `open`: where the run before began, if it is in this chunk
    auto close = [&](int64_t at) {
        if (open >= 0) run_lengths[run++] = static_cast<int32_t>(at - open);
        open = at;
    };
    for (int64_t tile = begin; tile < end; tile += kTile) {
        int64_t found = 0, stop = std::min(tile + kTile, end);
        for (int64_t i = tile; i < stop; ++i) {
            starts[found] = i;
            found += begins_run(values, i);
        }
        for (int64_t k = 0; k < found; ++k) {
            close(starts[k]);
            run_values[run] = values[starts[k]];
        }
    }
    close(chunk.first);
}

}  // namespace

int64_t runlength_encode(Scalar type, const void* data, int64_t n, void* run_values, int32_t* run_lengths) {
    std::vector<Chunk> chunks(static_cast<size_t>((n + kChunk - 1) / kChunk));
    auto each_chunk = [&](auto&& f) {
        parallel(static_cast<int64_t>(chunks.size()), 1, [&](int64_t first, int64_t last) {
            for (int64_t c = first; c < last; ++c) f(chunks[c], c * kChunk, std::min(n, (c + 1) * kChunk));
        });
    };
    return visit_number(type, [&](auto zero) -> int64_t {
        using T = decltype(zero);
        auto* values = static_cast<const T*>(data);
        each_chunk([&](Chunk& chunk, int64_t begin, int64_t end) { chunk = count_runs(values, begin, end); });
        int64_t runs = 0, next = n;
        for (Chunk& chunk : chunks) runs += std::exchange(chunk.runs, runs);
        for (auto chunk = chunks.rbegin(); chunk != chunks.rend(); ++chunk) {
            int64_t first = std::exchange(chunk->first, next);
            if (first >= 0) next = first;
        }
        each_chunk([&](const Chunk& chunk, int64_t begin, int64_t end) {
            write_runs(values, begin, end, chunk, static_cast<T*>(run_values), run_lengths);
        });
        return runs;
    });
}

}  // namespace wc
