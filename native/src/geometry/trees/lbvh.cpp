// Builds trees fast (Lauterbach et al., "Fast BVH construction on GPUs", 2009). The centres of boxes are sorted along a
// Morton curve. A range is cut where the highest bit changes in which its codes differ. Deep in the tree, and where
// codes are equal, it is cut in half, so that no tree is deeper than queries allow.
//
// The top of the tree is cut first, down to small ranges. Any thread may then count the nodes of a range, and build
// them in their place. Where the ranges lie depends on the boxes alone.
#include <algorithm>
#include <bit>
#include <vector>

#include "geometry/trees/refit_tree.h"
#include "warp_core/algorithms.h"
#include "warp_core/geometry/bvh.h"
#include "warp_core/parallel.h"

namespace wc {
namespace {

constexpr int kAxisBits = 21;
constexpr int64_t kChunk = 1 << 12;
constexpr int32_t kParts = 64;
constexpr int32_t kSmallPart = 1024;  // boxes

V4 centre(const Box& b) { return load3(b.lower) * all(0.5f) + load3(b.upper) * all(0.5f); }  // never overflows

// Puts two zeros before each of the lowest 21 bits.
uint64_t spread(uint64_t x) {
    x = (x | x << 32) & 0x001F'0000'0000'FFFF;
    x = (x | x << 16) & 0x001F'0000'FF00'00FF;
    x = (x | x << 8) & 0x100F'00F0'0F00'F00F;
    x = (x | x << 4) & 0x10C3'0C30'C30C'30C3;
    return (x | x << 2) & 0x1249'2492'4924'9249;
}

Bounds bounds_of_centres(const Box* boxes, int32_t count) {
    std::vector<Bounds> parts(static_cast<size_t>((count + kChunk - 1) / kChunk));
    for_each(count, kChunk, [&](int64_t begin, int64_t end) {
        Bounds& part = parts[begin / kChunk];
        for (int64_t i = begin; i < end; ++i) part.add(centre(boxes[i]), centre(boxes[i]));
    });
    Bounds found;
    for (const Bounds& part : parts) found.add(part.lower, part.upper);
    return found;
}

// Writes the code of each box. All axes have the same unit, so that the longest one is cut first.
void find_codes(const Box* boxes, int32_t count, uint64_t* codes) {
    Bounds bounds = bounds_of_centres(boxes, count);
    double size = 0;
    for (int k = 0; k < 3; ++k) size = std::max(size, double{bounds.upper[k]} - double{bounds.lower[k]});
    double scale = size > 0 ? ((1 << kAxisBits) - 1) / size : 0;
    for_each(count, kChunk, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            V4 place = centre(boxes[i]);
            uint64_t code = 0;
            for (int k = 0; k < 3; ++k)
                code = code << 1 | spread(static_cast<uint64_t>((double{place[k]} - double{bounds.lower[k]}) * scale));
            codes[i] = code;
        }
    });
}

struct Range {
    int32_t begin, end;
    int depth;
};

// A small range at the end of the top of the tree.
struct Part {
    Range range;
    int32_t size = 0, first = 0;  // nodes, and the number of the first
};

class CurveBuilder {
  public:
    CurveBuilder(const Box* boxes, const uint64_t* codes, const int32_t* order, int32_t leaf_size, BvhNode* nodes)
        : boxes_(boxes), codes_(codes), order_(order), leaf_size_(leaf_size), nodes_(nodes) {}

    int32_t build(int32_t count, int depth) {
        halves_begin_ = halves_begin(count, depth);
        Range whole{0, count, 0};
        small_ = std::max(kSmallPart, count / kParts);
        divide(whole);
        for_parts([&](Part& part) { part.size = count_nodes(part.range); });
        auto next = parts_.begin();
        int32_t end = place(whole, 0, next);
        for_parts([&](Part& part) { build_range(part.range, part.first); });
        for (size_t i = above_.size(); i-- > 0;) set_box_of_children(nodes_, above_[i]);
        return end;
    }

  private:
    // Where the right side of a range begins.
    int32_t cut(Range r) const {
        int32_t middle = r.begin + (r.end - r.begin) / 2;
        uint64_t differ = codes_[r.begin] ^ codes_[r.end - 1];
        if (r.depth >= halves_begin_ || !differ) return middle;
        uint64_t highest = std::bit_floor(differ);
        const uint64_t* right =
            std::partition_point(codes_ + r.begin, codes_ + r.end, [&](uint64_t code) { return !(code & highest); });
        return static_cast<int32_t>(right - codes_);
    }
    Range left(Range r, int32_t middle) const { return {r.begin, middle, r.depth + 1}; }
    Range right(Range r, int32_t middle) const { return {middle, r.end, r.depth + 1}; }
    bool is_small(Range r) const { return r.end - r.begin <= small_; }

    void divide(Range r) {
        if (is_small(r)) {
            parts_.push_back({r});
            return;
        }
        int32_t middle = cut(r);
        divide(left(r, middle));
        divide(right(r, middle));
    }

    template <class F>
    void for_parts(F&& f) {
        for_each(static_cast<int64_t>(parts_.size()), 1, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) f(parts_[i]);
        });
    }

    int32_t count_nodes(Range r) const {
        int32_t count = r.end - r.begin;
        if (leaf_size_ == 1) return 2 * count - 1;
        if (count <= leaf_size_) return 1;
        int32_t middle = cut(r);
        return 1 + count_nodes(left(r, middle)) + count_nodes(right(r, middle));
    }

    // Numbers the nodes above the parts. Returns the number behind those of a range.
    int32_t place(Range r, int32_t number, std::vector<Part>::iterator& next) {
        if (is_small(r)) {
            next->first = number;
            return number + (next++)->size;
        }
        int32_t middle = cut(r);
        above_.push_back(number);
        nodes_[number].child = place(left(r, middle), number + 1, next);
        int32_t end = place(right(r, middle), nodes_[number].child, next);
        nodes_[number].count = -end;
        return end;
    }

    int32_t build_range(Range r, int32_t number) {
        BvhNode& node = nodes_[number];
        if (r.end - r.begin <= leaf_size_) {
            Bounds box;
            for (int32_t i = r.begin; i < r.end; ++i)
                box.add(load3(boxes_[order_[i]].lower), load3(boxes_[order_[i]].upper));
            node.child = r.begin;
            node.count = r.end - r.begin;
            set_box(node, box);
            return number + 1;
        }
        int32_t middle = cut(r);
        node.child = build_range(left(r, middle), number + 1);
        int32_t end = build_range(right(r, middle), node.child);
        node.count = -end;
        set_box_of_children(nodes_, number);
        return end;
    }

    const Box* boxes_;
    const uint64_t* codes_;
    const int32_t* order_;
    int32_t leaf_size_, small_ = 0;
    int halves_begin_ = 0;
    BvhNode* nodes_;
    std::vector<Part> parts_;
    std::vector<int32_t> above_;  // numbers of the nodes above the parts
};

}  // namespace

int32_t build_lbvh(const Box* boxes, int32_t count, Leaves leaves, int depth, BvhNode* nodes, int32_t* order) {
    auto size = static_cast<size_t>(count);
    std::vector<uint64_t> codes(2 * size);  // the second half is scratch
    std::vector<int32_t> numbers(2 * size);
    find_codes(boxes, count, codes.data());
    for (int32_t i = 0; i < count; ++i) numbers[i] = i;
    radix_sort_pairs({Kind::Uint, 8}, codes.data(), 4, numbers.data(), count, 0, 3 * kAxisBits);
    std::copy_n(numbers.begin(), size, order);
    return CurveBuilder(boxes, codes.data(), order, leaves.most, nodes).build(count, depth);
}

}  // namespace wc
