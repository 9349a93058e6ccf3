// Builds trees from the top: each range of primitives is cut where the surface area heuristic over bins is least
// (Wald, "On fast construction of SAH-based bounding volume hierarchies", 2007). bvh_cut_loops.h finds the cuts. Ranges
// without such a cut, as those of equal boxes, and ranges deep in the tree are cut in half, so that no tree is deeper
// than queries allow.
//
// The top of the tree is cut level by level, all ranges of a level at once, until ranges are small. Each range is then
// a subtree of its own, which any thread may build: where the ranges lie depends on the boxes alone.
#include "warp_core/geometry/bvh.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "geometry/trees/bvh_loops.h"
#include "geometry/trees/refit_tree.h"
#include "warp_core/parallel.h"

namespace wc {
namespace {

constexpr int64_t kChunk = 1 << 13;
constexpr int32_t kSubtrees = 64;
constexpr int32_t kSmallSubtree = 1024;  // primitives

struct Range {
    int32_t begin, end;
    int depth;

    int32_t size() const { return end - begin; }
};

class Builder {
  public:
    Builder(Reference* references, Reference* spare, Leaves leaves, int halves_begin)
        : references_(references), spare_(spare), leaves_(leaves), halves_begin_(halves_begin) {}

    // Builds the subtree of a range. Numbers of nodes count from `first`. Returns the number behind those of the range.
    int32_t build(Range range, BvhNode* first, int32_t number) const {
        BvhNode& node = first[number];
        if (range.size() <= leaves_.most) {
            Box box = loops_.join(references_ + range.begin, range.size());
            node = {{box.lower[0], box.lower[1], box.lower[2]},
                    range.begin,
                    {box.upper[0], box.upper[1], box.upper[2]},
                    range.size()};
            return number + 1;
        }
        int32_t middle = cut(range);
        node.child = build({range.begin, middle, range.depth + 1}, first, number + 1);
        node.count = -build({middle, range.end, range.depth + 1}, first, node.child);
        set_box_of_children(first, number);
        return -node.count;
    }

    // Moves the primitives of a range to both sides of a cut. Returns where the right side begins.
    int32_t cut(Range range) const {
        int32_t left = 0;
        if (range.depth < halves_begin_ && range.size() > leaves_.halve)
            left = loops_.cut(references_ + range.begin, spare_ + range.begin, range.size());
        if (left) return range.begin + left;
        if (range.size() > kSortable) return halve(range);
        loops_.sort_few(references_ + range.begin, spare_ + range.begin, range.size());
        return range.begin + range.size() / 2;
    }

  private:
    int32_t halve(Range range) const {
        Bounds centres;
        for (int32_t i = range.begin; i < range.end; ++i) {
            V4 c = centre(references_[i]);
            centres.add(c, c);
        }
        V4 size = centres.upper - centres.lower;
        int axis = size[1] > size[0] ? 1 : 0;
        if (size[2] > size[axis]) axis = 2;
        int32_t middle = range.begin + (range.end - range.begin) / 2;
        std::nth_element(references_ + range.begin, references_ + middle, references_ + range.end,
                         [axis](const Reference& a, const Reference& b) {
                             float x = centre(a)[axis], y = centre(b)[axis];
                             return x != y ? x < y : a.number() < b.number();
                         });
        return middle;
    }
    static V4 centre(const Reference& r) { return load3(r.lower) * all(0.5f) - load3(r.minus_upper) * all(0.5f); }

    Reference *references_, *spare_;
    Leaves leaves_;
    int halves_begin_;
    const BvhLoops& loops_ = bvh_loops();
};

// A range at the top of the tree: a node that was cut, or a subtree to build.
struct Top {
    Range range;
    int32_t left = -1;             // the number of the left child; that of the right one is one more
    int32_t size = 0, number = 0;  // of nodes, and of the first
};

class ParallelBuilder {
  public:
    ParallelBuilder(Reference* references, Reference* spare, int32_t count, Leaves leaves, int depth)
        : builder_(references, spare, leaves, halves_begin(count, depth)),
          scratch_(std::make_unique_for_overwrite<BvhNode[]>(2 * static_cast<size_t>(count))),
          small_(std::max(kSmallSubtree, count / kSubtrees)) {
        tops_.push_back({{0, count, 0}});
    }

    int32_t build(BvhNode* nodes) {
        std::vector<int32_t> level{0};
        while (!level.empty()) level = cut_level(level);
        for_subtrees([&](Top& top) { top.size = builder_.build(top.range, subtree(top), 0); });
        number_nodes();
        for_subtrees([&](const Top& top) { place(top, nodes + top.number); });
        for (size_t i = tops_.size(); i-- > 0;)
            if (tops_[i].left >= 0) place_top(tops_[i], nodes);
        return tops_[0].size;
    }

  private:
    // Cuts ranges of one level of the tree that are not small. Returns the ranges of the next level.
    std::vector<int32_t> cut_level(std::vector<int32_t>& level) {
        std::erase_if(level, [&](int32_t i) { return tops_[i].range.size() <= small_; });
        std::vector<int32_t> middles(level.size()), next;
        for_each(static_cast<int64_t>(level.size()), 1, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) middles[i] = builder_.cut(tops_[level[i]].range);
        });
        for (size_t i = 0; i < level.size(); ++i) {
            Range range = tops_[level[i]].range;
            auto left = static_cast<int32_t>(tops_.size());
            tops_.push_back({{range.begin, middles[i], range.depth + 1}});
            tops_.push_back({{middles[i], range.end, range.depth + 1}});
            tops_[level[i]].left = left;
            next.insert(next.end(), {left, left + 1});
        }
        return next;
    }

    // A range of primitives has fewer than twice as many nodes.
    BvhNode* subtree(const Top& top) const { return &scratch_[2 * static_cast<size_t>(top.range.begin)]; }

    template <class F>
    void for_subtrees(F&& f) {
        for_each(static_cast<int64_t>(tops_.size()), 1, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i)
                if (tops_[i].left < 0) f(tops_[i]);
        });
    }

    void number_nodes() {
        for (size_t i = tops_.size(); i-- > 0;)
            if (tops_[i].left >= 0) tops_[i].size = 1 + tops_[tops_[i].left].size + tops_[tops_[i].left + 1].size;
        for (const Top& top : tops_)  // children are behind their node
            if (top.left >= 0) {
                tops_[top.left].number = top.number + 1;
                tops_[top.left + 1].number = top.number + 1 + tops_[top.left].size;
            }
    }

    void place(const Top& top, BvhNode* to) const {
        const BvhNode* from = subtree(top);
        for (int32_t i = 0; i < top.size; ++i) {
            to[i] = from[i];
            if (from[i].count < 0) {
                to[i].child += top.number;
                to[i].count -= top.number;
            }
        }
    }

    void place_top(const Top& top, BvhNode* nodes) const {
        nodes[top.number].child = tops_[top.left + 1].number;
        nodes[top.number].count = -(top.number + top.size);
        set_box_of_children(nodes, top.number);
    }

    Builder builder_;
    std::unique_ptr<BvhNode[]> scratch_;
    int32_t small_;
    std::vector<Top> tops_;
};

}  // namespace

int halves_begin(int32_t count, int depth) {
    return std::min(32, depth - 1 - static_cast<int>(std::bit_width(static_cast<uint32_t>(count - 1))));
}

int32_t build_bvh(const Box* boxes, int32_t count, Leaves leaves, int depth, BvhNode* nodes, int32_t* order) {
    auto references =
        std::make_unique_for_overwrite<Reference[]>(2 * static_cast<size_t>(count));  // the second half is scratch
    for_each(count, kChunk, [&](int64_t begin, int64_t end) {
        auto first = static_cast<int32_t>(begin);
        bvh_loops().refer(boxes + begin, first, static_cast<int32_t>(end - begin), &references[begin]);
    });
    int32_t made = ParallelBuilder(references.get(), &references[count], count, leaves, depth).build(nodes);
    for_each(count, kChunk, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) order[i] = references[i].number();
    });
    return made;
}

}  // namespace wc
