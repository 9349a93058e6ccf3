// What faster code for a GPU may rely on: GpuOptions of codegen/target.py says what `aligned` and `disjoint` mean.
#pragma once
#include <array>

#include "warp_core/spans.h"

namespace wc {

// Is told of all arrays of a launch, and says whether they keep both promises. Where there are very many it says no.
class AliasGuard {
  public:
    // Gradients count as written.
    void add(const wc_array& array, int ndim, int64_t itemsize, bool written);
    bool kept();

  private:
    struct Span {
        Range range;
        bool written;
    };
    void add(Range range, bool written);

    std::array<Span, 64> spans_;
    size_t count_ = 0;
    bool kept_ = true;
};

}  // namespace wc
