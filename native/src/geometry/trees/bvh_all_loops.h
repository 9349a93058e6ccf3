// The loops of trees for one instruction set: that of the file that includes this.
#pragma once
#include "geometry/trees/bvh_cut_loops.h"
#include "geometry/trees/bvh_fit_loops.h"
#include "geometry/trees/bvh_moment_loops.h"

namespace wc {
namespace {

constexpr BvhLoops kLoops{refer,      join,      cut,      sort_few,          are_in_range,    are_finite,
                          fit_blocks, fit_inner, fit_wide, fit_block_moments, fit_wide_moments};

}  // namespace
}  // namespace wc
