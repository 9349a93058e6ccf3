// How queries of meshes go through the nodes of a wide tree, nearest first, several queries in turns.
#pragma once
#include "geometry/vectors.h"
#include "warp_core/wide_bvh.h"

namespace wc {
namespace {

constexpr float kTiny = 1.0e-37f;
constexpr float kMore = 1.0000005f, kLess = 0.9999995f;  // cover the rounding of some operations
constexpr int kStack = kBvhDepth * kWidth;
constexpr int kInFlight = 16;  // queries that take turns: those of a group of lanes

// A child to visit: how far along the ray, or away from the point, its box begins, and its number. Distances are not
// negative, so entries are in the order of their bits.
using Entry = uint64_t;

WC_INLINE Entry entry(float at, int32_t child) {
    return uint64_t{__builtin_bit_cast(uint32_t, at)} << 32 | static_cast<uint32_t>(child);
}
WC_INLINE float at_of(Entry e) { return __builtin_bit_cast(float, static_cast<uint32_t>(e >> 32)); }
WC_INLINE int32_t child_of(Entry e) { return static_cast<int32_t>(e); }

// Puts the nearer of two entries first.
WC_INLINE void put_in_order(Entry& a, Entry& b) {
    Entry less = a < b ? a : b, more = a < b ? b : a;
    a = less;
    b = more;
}

// Where a query is: the child to visit, and those to visit later.
struct Walk {
    Entry next, *top;
    Entry stack[kStack];
};

// Goes to the nearest of the children whose bits are set, at least one, and pushes the others, the nearest of them
// last.
WC_INLINE void descend(Walk& walk, const WideNode& node, unsigned found, const float* at) {
    auto take = [&] {
        auto i = static_cast<unsigned>(__builtin_ctz(found));
        found &= found - 1;
        return entry(at[i], node.child[i]);
    };
    walk.next = take();
    if (!found) return;
    Entry second = take();
    put_in_order(walk.next, second);
    Entry* bottom = walk.top;
    *walk.top++ = second;
    while (found) {
        Entry further = take();
        put_in_order(walk.next, further);
        Entry* place = walk.top++;
        for (; place > bottom && place[-1] < further; --place) *place = place[-1];
        *place = further;
    }
}

WC_INLINE void prefetch(WideBvh bvh, int32_t child) {
    const char* at = child >= 0 ? reinterpret_cast<const char*>(bvh.nodes + child)
                                : reinterpret_cast<const char*>(bvh.blocks + (-1 - child));
    for (size_t line = 0; line < sizeof(TriangleBlock); line += 64) __builtin_prefetch(at + line);
}

// Visits a node or a block. Returns false if nothing is left that is as near as the limit of the search.
template <class Search>
WC_INLINE bool step(Search& search) {
    Walk& walk = search.walk;
    int32_t child = child_of(walk.next);
    unsigned found = 0;
    if (child >= 0) {
        const WideNode& node = search.bvh.nodes[child];
        alignas(32) float at[kWidth];
        found = search.find(node, at);
        if (found) descend(walk, node, found, at);
    } else {
        search.visit(search.bvh.blocks[-1 - child]);
    }
    if (!found) {
        do {
            if (walk.top == walk.stack) return false;
            walk.next = *--walk.top;
        } while (at_of(walk.next) > search.limit());
    }
    prefetch(search.bvh, child_of(walk.next));
    return true;
}

// Answers queries. While the memory that one of them needs is on its way, others go on.
template <class Search, class Query, class Answer>
WC_INLINE void answer_all(const Query* queries, Answer* answers, int count) {
    Search slots[kInFlight], *searches[kInFlight];
    int active = 0, begun = 0;
    auto begin = [&](Search& search) {
        search.walk.next = entry(0, queries[begun].bvh.first);
        search.walk.top = search.walk.stack;
        search.begin(queries[begun], &answers[begun]);
        ++begun;
    };
    while (active < kInFlight && begun < count) {
        searches[active] = &slots[active];
        begin(slots[active++]);
    }
    for (int i = 0; active;) {
        Search& search = *searches[i];
        if (!step(search)) {
            search.end();
            if (begun < count)
                begin(search);
            else
                searches[i] = searches[--active];
        }
        if (++i >= active) i = 0;
    }
}

}  // namespace
}  // namespace wc
