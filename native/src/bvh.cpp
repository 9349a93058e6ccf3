// Builds trees from the top: each range of primitives is cut where the surface area heuristic over 16 bins is least
// (Wald, "On fast construction of SAH-based bounding volume hierarchies", 2007). Ranges without such a cut, as those of
// equal boxes, and ranges deep in the tree are cut in half, so that no tree is deeper than queries allow.
//
// The top of the tree is cut level by level, all ranges of a level at once, until ranges are small. Each range is then
// a subtree of its own, which any thread may build: where the ranges lie depends on the boxes alone.
#include "warp_core/bvh.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <vector>

#include "bounds.h"
#include "warp_core/parallel.h"

namespace wc {
namespace {

constexpr int kBins = 16;
constexpr int32_t kSubtrees = 64;
constexpr int32_t kSmallSubtree = 1024;  // primitives

// A primitive: its box, and its number as the bits of the fourth component of `lower`. They are those of a normal
// float, so that vector instructions, whose fourth results count for nothing, are not slow.
struct Reference {
    V4 lower, upper;

    Reference() = default;
    Reference(const Box& b, int32_t number)
        : lower{b.lower[0], b.lower[1], b.lower[2], std::bit_cast<float>(number + kBvhMaxPrimitives)},
          upper{b.upper[0], b.upper[1], b.upper[2], 0} {}
    int32_t number() const { return std::bit_cast<int32_t>(lower[3]) - kBvhMaxPrimitives; }
    V4 centre() const { return lower * all(0.5f) + upper * all(0.5f); }  // never overflows
};

struct Split {
    float cost = std::numeric_limits<float>::infinity();
    int axis = -1, bin = 0;  // primitives of bins up to `bin` go left
};

using V4i = int32_t __attribute__((vector_size(16)));

// Maps centres to bins, for all axes at once.
struct Bins {
    V4 low, scale;
    bool used[3];

    explicit Bins(const Bounds& centres) : low(centres.lower) {
        for (int k = 0; k < 3; ++k) {
            float size = centres.upper[k] - centres.lower[k];
            scale[k] = kBins / size;
            used[k] = size > 0 && scale[k] < std::numeric_limits<float>::max();
            if (!used[k]) scale[k] = 0;
        }
        scale[3] = 0;
        low[3] = 0;
    }
    V4i of(V4 centre) const {
        V4 place = least(most((centre - low) * scale, V4{}), all(kBins - 1));
        return __builtin_convertvector(place, V4i);
    }
};

struct Bin {
    Bounds box;
    int32_t count = 0;
};

struct Range {
    int32_t begin, end;
    int depth;
};

class Builder {
  public:
    Builder(Reference* references, Reference* spare, int32_t leaf_size, int halves_begin)
        : references_(references), spare_(spare), leaf_size_(leaf_size), halves_begin_(halves_begin) {}

    // Builds the subtree of a range. Numbers of nodes count from the first node of the subtree.
    void build(Range range, std::vector<BvhNode>& nodes) const {
        size_t number = nodes.size();
        nodes.push_back({});
        Bounds box, centres;
        find_bounds(range, box, centres);
        BvhNode node = leaf(range, box);
        if (range.end - range.begin > leaf_size_) {
            int32_t middle = cut(range, centres);
            build({range.begin, middle, range.depth + 1}, nodes);
            node.child = static_cast<int32_t>(nodes.size());
            build({middle, range.end, range.depth + 1}, nodes);
            node.count = -static_cast<int32_t>(nodes.size());
        }
        nodes[number] = node;
    }

    static BvhNode leaf(Range range, const Bounds& box) {
        return {{box.lower[0], box.lower[1], box.lower[2]},
                range.begin,
                {box.upper[0], box.upper[1], box.upper[2]},
                range.end - range.begin};
    }

    void find_bounds(Range range, Bounds& box, Bounds& centres) const {
        for (int32_t i = range.begin; i < range.end; ++i) {
            const Reference& r = references_[i];
            box.add(r.lower, r.upper);
            V4 centre = r.centre();
            centres.add(centre, centre);
        }
    }

    // Moves the primitives of a range to both sides of a cut. Returns where the right side begins.
    int32_t cut(Range range, const Bounds& centres) const {
        Bins bins(centres);
        Split best = range.depth < halves_begin_ ? find_split(range, bins) : Split{};
        if (best.axis < 0) return halve(range, centres);
        return divide(range, [&](const Reference& r) { return bins.of(r.centre())[best.axis] <= best.bin; });
    }

  private:
    // Moves the primitives for which `is_left` holds to the front of a range, without branches that depend on them.
    // Returns where the others begin. Both parts keep their order.
    template <class Predicate>
    int32_t divide(Range range, Predicate&& is_left) const {
        int32_t left = range.begin, right = range.begin;
        for (int32_t i = range.begin; i < range.end; ++i) {
            Reference r = references_[i];
            bool goes_left = is_left(r);
            references_[left] = r;
            spare_[right] = r;
            left += goes_left;
            right += !goes_left;
        }
        std::copy(spare_ + range.begin, spare_ + right, references_ + left);
        return left;
    }

    Split find_split(Range range, const Bins& bins) const {
        Bin table[3][kBins];
        uint32_t used[3] = {};
        for (int32_t i = range.begin; i < range.end; ++i) {
            const Reference& r = references_[i];
            V4i place = bins.of(r.centre());
            for (int axis = 0; axis < 3; ++axis) {
                Bin& bin = table[axis][place[axis]];
                bin.box.add(r.lower, r.upper);
                ++bin.count;
                used[axis] |= 1u << place[axis];
            }
        }
        Split best;
        for (int axis = 0; axis < 3; ++axis)
            if (bins.used[axis]) consider(axis, table[axis], used[axis], best);
        return best;
    }

    // Considers the cuts behind the bins that have primitives, except behind the last.
    static void consider(int axis, const Bin* table, uint32_t used, Split& best) {
        float right_cost[kBins];
        Bounds right, left;
        int32_t right_count = 0, left_count = 0;
        for (uint32_t rest = used; rest;) {
            int bin = std::bit_width(rest) - 1;
            right_cost[bin] = right.half_area() * static_cast<float>(right_count);
            right.add(table[bin].box.lower, table[bin].box.upper);
            right_count += table[bin].count;
            rest ^= 1u << bin;
        }
        for (uint32_t rest = used; rest & (rest - 1); rest &= rest - 1) {
            int bin = std::countr_zero(rest);
            left.add(table[bin].box.lower, table[bin].box.upper);
            left_count += table[bin].count;
            float cost = left.half_area() * static_cast<float>(left_count) + right_cost[bin];
            if (cost < best.cost) best = {cost, axis, bin};
        }
    }

    int32_t halve(Range range, const Bounds& centres) const {
        V4 size = centres.upper - centres.lower;
        int axis = size[1] > size[0] ? 1 : 0;
        if (size[2] > size[axis]) axis = 2;
        int32_t middle = range.begin + (range.end - range.begin) / 2;
        std::nth_element(references_ + range.begin, references_ + middle, references_ + range.end,
                         [axis](const Reference& a, const Reference& b) {
                             float x = a.centre()[axis], y = b.centre()[axis];
                             return x != y ? x < y : a.number() < b.number();
                         });
        return middle;
    }

    Reference *references_, *spare_;
    int32_t leaf_size_;
    int halves_begin_;
};

// A range at the top of the tree: a node that was cut, or a subtree to build.
struct Top {
    explicit Top(Range r) : range(r) {}

    Range range;
    BvhNode node{};
    int32_t left = -1;  // the number of the left child; that of the right one is one more
    std::vector<BvhNode> subtree;
    int32_t size = 0;  // nodes
};

class ParallelBuilder {
  public:
    ParallelBuilder(Reference* references, Reference* spare, int32_t count, int32_t leaf_size, int depth)
        : builder_(references, spare, leaf_size, halves_begin(count, depth)),
          small_(std::max(kSmallSubtree, count / kSubtrees)) {
        tops_.emplace_back(Range{0, count, 0});
    }

    int32_t build(BvhNode* nodes) {
        std::vector<int32_t> level{0};
        while (!level.empty()) level = cut_level(level);
        build_subtrees();
        count_nodes();
        place(0, 0, nodes);
        return tops_[0].size;
    }

  private:
    // Cuts ranges of one level of the tree that are not small. Returns the ranges of the next level.
    std::vector<int32_t> cut_level(std::vector<int32_t>& level) {
        std::erase_if(level, [&](int32_t i) { return tops_[i].range.end - tops_[i].range.begin <= small_; });
        std::vector<int32_t> middles(level.size()), next;
        for_each(static_cast<int64_t>(level.size()), 1, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) middles[i] = cut_top(tops_[level[i]]);
        });
        for (size_t i = 0; i < level.size(); ++i) {
            Range range = tops_[level[i]].range;
            auto left = static_cast<int32_t>(tops_.size());
            tops_.emplace_back(Range{range.begin, middles[i], range.depth + 1});
            tops_.emplace_back(Range{middles[i], range.end, range.depth + 1});
            tops_[level[i]].left = left;
            next.insert(next.end(), {left, left + 1});
        }
        return next;
    }

    int32_t cut_top(Top& top) const {
        Bounds box, centres;
        builder_.find_bounds(top.range, box, centres);
        top.node = Builder::leaf(top.range, box);
        return builder_.cut(top.range, centres);
    }

    void build_subtrees() {
        std::vector<int32_t> todo;
        for (size_t i = 0; i < tops_.size(); ++i) {
            if (tops_[i].left >= 0) continue;
            todo.push_back(static_cast<int32_t>(i));
            tops_[i].subtree.reserve(2 * static_cast<size_t>(tops_[i].range.end - tops_[i].range.begin));
        }
        for_each(static_cast<int64_t>(todo.size()), 1, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) builder_.build(tops_[todo[i]].range, tops_[todo[i]].subtree);
        });
    }

    void count_nodes() {
        for (size_t i = tops_.size(); i-- > 0;) {
            Top& top = tops_[i];
            top.size = top.left < 0 ? static_cast<int32_t>(top.subtree.size())
                                    : 1 + tops_[top.left].size + tops_[top.left + 1].size;
        }
    }

    void place(int32_t number, int32_t first, BvhNode* nodes) const {
        const Top& top = tops_[number];
        if (top.left < 0) {
            for (size_t i = 0; i < top.subtree.size(); ++i) {
                BvhNode node = top.subtree[i];
                if (node.count < 0) {
                    node.child += first;
                    node.count -= first;
                }
                nodes[first + i] = node;
            }
            return;
        }
        int32_t right = first + 1 + tops_[top.left].size;
        nodes[first] = top.node;
        nodes[first].child = right;
        nodes[first].count = -(first + top.size);
        place(top.left, first + 1, nodes);
        place(top.left + 1, right, nodes);
    }

    Builder builder_;
    int32_t small_;
    std::vector<Top> tops_;
};

}  // namespace

int halves_begin(int32_t count, int depth) {
    return std::min(32, depth - 1 - static_cast<int>(std::bit_width(static_cast<uint32_t>(count - 1))));
}

int32_t build_bvh(const Box* boxes, int32_t count, int32_t leaf_size, int depth, BvhNode* nodes, int32_t* order) {
    auto references = std::make_unique_for_overwrite<Reference[]>(static_cast<size_t>(count));
    auto spare = std::make_unique_for_overwrite<Reference[]>(static_cast<size_t>(count));
    for_each(count, 1 << 14, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) references[i] = Reference(boxes[i], static_cast<int32_t>(i));
    });
    int32_t made = ParallelBuilder(references.get(), spare.get(), count, leaf_size, depth).build(nodes);
    for (int32_t i = 0; i < count; ++i) order[i] = references[i].number();
    return made;
}

}  // namespace wc
