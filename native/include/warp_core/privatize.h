// Arrays of integers that the cores of a launch add to without atomic instructions. Start with `Privatization`.
//
// One core adds to the arrays themselves, and each other one to copies that begin as zeros. At the end the copies are
// added to the arrays: sums of integers are the same in any order. Kernels get the distance to a copy in wc_log.deltas.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "warp_core/accumulate.h"
#include "warp_core/faults.h"

namespace wc {

// Integers of `width` bytes. `whole`: they are whole numbers of them apart. `dense`: nothing else lies among them.
struct PrivatizedTarget {
    ByteRange bytes;
    int width;
    bool whole, dense;
};

class Privatization {
  public:
    // For a launch of `threads` threads. Where copies would take longer than they save, cores share the arrays.
    Privatization(std::vector<PrivatizedTarget> targets, int64_t threads);
    ~Privatization();
    Privatization(const Privatization&) = delete;
    Privatization& operator=(const Privatization&) = delete;

    struct Copies;
    // The copies of the calling thread, until it gives them back.
    Copies* take();
    void give_back(Copies* copies);
    static const int64_t* deltas(const Copies* copies);
    // The place in an array that `address` stands for where it is in a copy, or near one.
    static uintptr_t original(const Copies* copies, uintptr_t address);
    // Adds the copies to the arrays, when no chunk runs any more.
    void merge();

  private:
    std::unique_ptr<Copies> make() const;

    std::vector<PrivatizedTarget> targets_;
    bool shared_;
    std::mutex mutex_;
    std::condition_variable given_back_;
    std::vector<std::unique_ptr<Copies>> all_;
    std::vector<Copies*> idle_;
};

}  // namespace wc
