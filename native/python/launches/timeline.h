// What this process did, and when: launches, copies, fills, algorithms and graphs, while someone asks for it. All of it
// happens with the GIL held. omni/warp_core/devices/timeline.py reads it.
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <string_view>

#include "warp_core/cuda.h"

namespace wc {

// The numbers are those of `TIMING_KERNEL` and so on. What Python adds has the last one.
enum class Activity : uint32_t { kKernel = 1, kBuiltin = 2, kMemcpy = 4, kMemset = 8, kGraph = 16, kHost = 32 };

extern bool timing;  // whether someone asks

// Its scope is one activity. Costs a look at `timing` where no one asks. What a GPU is given lies between two events.
class Timed {
  public:
    // `amount` is the number of threads of a launch, else of bytes.
    Timed(Activity kind, std::string_view name, int64_t amount = 0, cuda::Context context = nullptr,
          cuda::Stream stream = nullptr)
        : open_(timing ? begin(kind, name, amount, context, stream) : nullptr) {}
    ~Timed() {
        if (open_) end(open_);
    }
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;

  private:
    struct Open;
    static Open* begin(Activity kind, std::string_view name, int64_t amount, cuda::Context context,
                       cuda::Stream stream);
    static void end(Open* open);

    Open* open_;
};

void bind_timeline(nanobind::module_& m);

}  // namespace wc
