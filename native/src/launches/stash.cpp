// The stash of a thread: address space that is reserved once and filled with pages as adjoints touch them.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "warp_core/abi.h"
#include "warp_core/faults.h"
#include "warp_core/pool.h"

namespace {

// Half of the memory of the machine, shared out to both stashes of every thread.
int64_t limit() {
    static const int64_t memory = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
    return memory / 4 / std::max(1, wc::num_threads());
}

struct Block {
    void* address = nullptr;
    int64_t size = 0;

    ~Block() { release(); }

    void release() {
        if (address) munmap(address, static_cast<size_t>(size));
        address = nullptr;
        size = 0;
    }

    void* reserve(int64_t bytes) {
        if (size >= bytes) return address;
        release();
        void* p = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) return nullptr;
        address = p;
        size = bytes;
        return address;
    }
};

thread_local Block blocks[2];

}  // namespace

void* wc_stash(int32_t cell) {
    wc::SuspendFaultHandling aside;
    return blocks[cell > 4].reserve(limit());
}

int64_t wc_stash_bytes(int32_t cell) { return blocks[cell > 4].size; }
