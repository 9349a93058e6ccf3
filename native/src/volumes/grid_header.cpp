// The header of a grid: where it is in the world. omni/warp_core/volumes/layout.py has the fields.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "warp_core/volumes/grid_builder.h"

namespace wc {
namespace {

constexpr size_t kMap = 296, kWorldBox = 560, kVoxelSize = 608;
constexpr size_t kMapOfDoubles = 88;  // in the map, behind the same numbers as floats

// Writes numbers, and what is behind them.
template <class T>
uint8_t* put_as(uint8_t* at, std::span<const double> numbers) {
    for (double number : numbers) {
        auto value = static_cast<T>(number);
        std::memcpy(at, &value, sizeof value);
        at += sizeof value;
    }
    return at;
}

template <class T>
void put_map(uint8_t* at, const Placement& placement) {
    const double taper[] = {1.0};
    at = put_as<T>(at, placement.matrix);
    at = put_as<T>(at, placement.inverse);
    at = put_as<T>(at, placement.translation);
    put_as<T>(at, taper);
}

// The least and the greatest coordinates of the corners of the voxels from `low` to `high`. Rounding keeps the order of
// sums, so the extreme products make the extreme sums.
std::array<double, 6> world_box(const Placement& placement, const Voxel& low, const Voxel& high) {
    std::array<double, 6> box{};
    if (low.x > high.x || low.y > high.y || low.z > high.z) return box;
    const double ends[][2] = {{1.0 * low.x, high.x + 1.0}, {1.0 * low.y, high.y + 1.0}, {1.0 * low.z, high.z + 1.0}};
    for (size_t k = 0; k < 3; ++k) {
        double least = 0, most = 0;
        for (size_t j = 0; j < 3; ++j) {
            double a = placement.matrix[3 * k + j] * ends[j][0], b = placement.matrix[3 * k + j] * ends[j][1];
            least += std::min(a, b);
            most += std::max(a, b);
        }
        box[k] = least + placement.translation[k];
        box[3 + k] = most + placement.translation[k];
    }
    return box;
}

}  // namespace

void place_grid(const Placement& placement, const Voxel& low, const Voxel& high, Room header) {
    put_map<float>(&header[kMap], placement);
    put_map<double>(&header[kMap + kMapOfDoubles], placement);
    put_as<double>(&header[kWorldBox], world_box(placement, low, high));
    std::array<double, 3> sizes;
    for (size_t j = 0; j < 3; ++j) {
        const double x = placement.matrix[j], y = placement.matrix[3 + j], z = placement.matrix[6 + j];
        sizes[j] = std::sqrt(x * x + y * y + z * z);
    }
    put_as<double>(&header[kVoxelSize], sizes);
}

}  // namespace wc
