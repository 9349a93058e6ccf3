// How queries of meshes go through the nodes of a wide tree, nearest first, several queries in turns.
#pragma once
#include "geometry/vectors.h"
#include "warp_core/geometry/wide_bvh.h"

namespace wc {
namespace {

constexpr float kTiny = 1.0e-37f;
constexpr float kMore = 1.0000005f, kLess = 0.9999995f;  // cover the rounding of some operations
constexpr int kInFlight = 16;                            // queries that take turns: those of a group of lanes

// Children of a node are in the order of their keys. A key says how far along the ray, or away from the point, the box
// of the child begins. It is the bits of that number, which is not negative, with the place of the child in the lowest
// three.
constexpr int32_t kPlace = kWidth - 1, kNoKey = 0x7fffffff;

WC_INLINE int32_t least_of(V8i x) {
    x = least(x, __builtin_shuffle(x, V8i{4, 5, 6, 7, 0, 1, 2, 3}));
    x = least(x, __builtin_shuffle(x, V8i{2, 3, 0, 1, 6, 7, 4, 5}));
    x = least(x, __builtin_shuffle(x, V8i{1, 0, 3, 2, 5, 4, 7, 6}));
    return x[0];
}

// The greatest key of a child by a limit, which may be -0, infinite or not a number.
WC_INLINE int32_t last_key(float limit) {
    float last = limit < kInfinite ? limit : kInfinite;
    return __builtin_bit_cast(int32_t, last + 0.0f) | kPlace;
}

// The keys of children at `at` that are found.
WC_INLINE V8i keys_of(V8 at, V8i found) {
    V8i key = (reinterpret_cast<V8i>(at) & ~kPlace) | V8i{0, 1, 2, 3, 4, 5, 6, 7};
    return found ? key : V8i{} + kNoKey;
}

// The children that a node has.
WC_INLINE V8i there(const WideNode& node) { return V8i{0, 1, 2, 3, 4, 5, 6, 7} < node.count; }

// Children of a node that are left to visit. Those that were visited have no key.
struct alignas(64) Level {
    int32_t key[kWidth], child[kWidth];
};

// Where a query is: the child to visit, and those to visit later at each level above it.
struct Walk {
    int32_t next;
    Level* top;
    Level levels[kBvhDepth];
};

// Goes to the nearest of the children with keys, and keeps the others if `more`.
WC_INLINE void descend(Walk& walk, const WideNode& node, V8i keys, bool more) {
    int32_t nearest = least_of(keys);
    walk.next = node.child[nearest & kPlace];
    store(walk.top->key, keys == nearest ? V8i{} + kNoKey : keys);
    store(walk.top->child, load<V8i>(node.child));
    walk.top += more;
}

// Goes to the nearest child of the lowest level that has one by `limit`. Returns false if none has.
WC_INLINE bool ascend(Walk& walk, float limit) {
    int32_t last = last_key(limit);
    while (walk.top != walk.levels) {
        Level& level = walk.top[-1];
        V8i keys = load<V8i>(level.key);
        int32_t nearest = least_of(keys);
        if (nearest <= last) {
            walk.next = level.child[nearest & kPlace];
            store(level.key, keys == nearest ? V8i{} + kNoKey : keys);
            return true;
        }
        --walk.top;
    }
    return false;
}

WC_INLINE void prefetch(WideBvh bvh, int32_t child) {
    // Without a branch: which of the two comes next is hard to guess.
    int64_t is_block = int64_t{child} >> 63, node = child, block = -1 - node;
    auto nodes = reinterpret_cast<int64_t>(bvh.nodes), blocks = reinterpret_cast<int64_t>(bvh.blocks);
    nodes += node * int64_t{sizeof(WideNode)};
    blocks += block * int64_t{sizeof(TriangleBlock)};
    auto at = reinterpret_cast<const char*>((nodes & ~is_block) | (blocks & is_block));
    for (size_t line = 0; line < sizeof(TriangleBlock); line += 64) __builtin_prefetch(at + line);
}

// Visits a node or a block. Returns false if nothing is left that is as near as the limit of the search.
template <class Search>
WC_INLINE bool step(Search& search) {
    Walk& walk = search.walk;
    unsigned found = 0;
    if (walk.next >= 0) {
        const WideNode& node = search.bvh.nodes[walk.next];
        V8 at;
        V8i is_found = search.find(node, at);
        found = bits(is_found);
        if (found) descend(walk, node, keys_of(at, is_found), found & (found - 1));
    } else {
        search.visit(search.bvh.blocks[-1 - walk.next]);
    }
    if (!found && !ascend(walk, search.limit())) return false;
    prefetch(search.bvh, walk.next);
    return true;
}

// Answers queries. While the memory that one of them needs is on its way, others go on.
template <class Search, class Queries, class Answers>
WC_INLINE void answer_all(const Queries& queries, Answers* answers, int count) {
    Search slots[kInFlight], *searches[kInFlight];
    int active = 0, begun = 0;
    auto begin = [&](Search& search) {
        search.begin(queries, answers, begun++);
        search.walk.next = search.bvh.first;
        search.walk.top = search.walk.levels;
    };
    while (active < kInFlight && begun < count) {
        searches[active] = &slots[active];
        begin(slots[active++]);
    }
    while (active) {
        int left = 0;
        for (int i = 0; i < active; ++i) {
            Search& search = *searches[i];
            bool goes_on = step(search);
            if (!goes_on) {
                search.end();
                if (begun < count) {
                    begin(search);
                    goes_on = true;
                }
            }
            searches[left] = &search;
            left += goes_on;
        }
        active = left;
    }
}

}  // namespace
}  // namespace wc
