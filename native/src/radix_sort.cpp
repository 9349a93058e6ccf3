// Least significant digit first, 8 bits at a time; digits that all keys share are skipped. A large sort is cut in one
// block per thread: each counts its digits, then all scatter, block after block within each bucket, which keeps the
// sort stable and its result the same for any number of blocks.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "visit.h"
#include "warp_core/algorithms.h"
#include "warp_core/memory.h"

namespace wc {
namespace {

constexpr int kDigitBits = 8;
constexpr int kBuckets = 1 << kDigitBits;
constexpr int64_t kInsertionBelow = 40;
constexpr int64_t kParallelFrom = 1 << 16;

enum class Order { Unsigned, Signed, Float };

using Counts = std::array<int64_t, kBuckets>;

// The keys as unsigned integers in the order of the numbers, of which the bits [begin, begin + width) matter.
template <class U, Order order>
struct Field {
    int begin, width;

    static constexpr int kBits = 8 * sizeof(U);
    static constexpr U kTop = U{1} << (kBits - 1);

    static U ordered(U key) {
        if constexpr (order == Order::Unsigned) return key;
        if constexpr (order == Order::Signed) return key ^ kTop;
        if constexpr (order == Order::Float) return key ^ ((U{0} - (key >> (kBits - 1))) | kTop);
    }
    U operator()(U key) const { return (ordered(key) >> begin) & (~U{0} >> (kBits - width)); }
    int digits() const { return (width + kDigitBits - 1) / kDigitBits; }
};

template <class U, class V>
struct Pairs {
    U* keys;
    V* values;
};

template <class U, class V, class Field>
void insertion_sort(Pairs<U, V> p, int64_t n, Field field) {
    for (int64_t i = 1; i < n; ++i) {
        U key = p.keys[i], rank = field(key);
        V value = p.values[i];
        int64_t j = i;
        for (; j > 0 && field(p.keys[j - 1]) > rank; --j) {
            p.keys[j] = p.keys[j - 1];
            p.values[j] = p.values[j - 1];
        }
        p.keys[j] = key;
        p.values[j] = value;
    }
}

// Counts the digits [first, last) of some keys: counts[d - first] for digit d.
template <class U, class Field>
void count_digits(const U* keys, int64_t n, Field field, int first, int last, Counts* counts) {
    for (int d = first; d < last; ++d) counts[d - first].fill(0);
    for (int64_t i = 0; i < n; ++i) {
        U rank = field(keys[i]) >> (first * kDigitBits);
        for (int d = 0; d < last - first; ++d, rank >>= kDigitBits) ++counts[d][rank % kBuckets];
    }
}

template <class U, class V, class Field>
void scatter(Pairs<U, V> from, Pairs<U, V> to, int64_t n, Field field, int digit, Counts& next) {
    for (int64_t i = 0; i < n; ++i) {
        U key = from.keys[i];
        int64_t at = next[(field(key) >> (digit * kDigitBits)) % kBuckets]++;
        to.keys[at] = key;
        to.values[at] = from.values[i];
    }
}

// Turns the counts of each block into the places where its first key of each bucket goes.
void make_places(std::span<Counts> blocks) {
    int64_t place = 0;
    for (int bucket = 0; bucket < kBuckets; ++bucket)
        for (Counts& counts : blocks) place += std::exchange(counts[bucket], place);
}

bool all_in_one_bucket(const Counts& counts, int64_t n) {
    return std::any_of(counts.begin(), counts.end(), [&](int64_t count) { return count == n; });
}

// Sorts on the calling thread; the result is in `pairs`, `spare` is scratch.
template <class U, class V, class Field>
void sort_alone(Pairs<U, V> pairs, Pairs<U, V> spare, int64_t n, Field field) {
    if (n < kInsertionBelow) return insertion_sort(pairs, n, field);
    Counts counts[sizeof(U)];
    count_digits(pairs.keys, n, field, 0, field.digits(), counts);
    Pairs<U, V> from = pairs, to = spare;
    for (int digit = 0; digit < field.digits(); ++digit) {
        if (all_in_one_bucket(counts[digit], n)) continue;
        make_places({&counts[digit], 1});
        scatter(from, to, n, field, digit, counts[digit]);
        std::swap(from, to);
    }
    if (from.keys == pairs.keys) return;
    std::memcpy(pairs.keys, from.keys, static_cast<size_t>(n) * sizeof(U));
    std::memcpy(pairs.values, from.values, static_cast<size_t>(n) * sizeof(V));
}

template <class U, class V, class Field>
void sort_together(Pairs<U, V> pairs, Pairs<U, V> spare, int64_t n, Field field) {
    const int64_t blocks = num_threads();
    auto begin_of = [&](int64_t block) { return n / blocks * block + std::min(block, n % blocks); };
    auto each_block = [&](auto&& f) {
        parallel(blocks, 1, [&](int64_t first, int64_t last) {
            for (int64_t b = first; b < last; ++b) f(b, begin_of(b), begin_of(b + 1) - begin_of(b));
        });
    };
    const int digits = field.digits();
    std::vector<Counts> all(static_cast<size_t>(blocks * digits)), places(static_cast<size_t>(blocks));
    each_block([&](int64_t b, int64_t begin, int64_t size) {
        count_digits(pairs.keys + begin, size, field, 0, digits, &all[b * digits]);
    });
    Pairs<U, V> from = pairs, to = spare;
    for (int digit = 0; digit < digits; ++digit) {
        Counts total{};
        for (int64_t b = 0; b < blocks; ++b)
            for (int k = 0; k < kBuckets; ++k) total[k] += all[b * digits + digit][k];
        if (all_in_one_bucket(total, n)) continue;
        each_block([&](int64_t b, int64_t begin, int64_t size) {
            if (from.keys == pairs.keys && digit == 0) {
                places[b] = all[b * digits];
            } else {  // the blocks hold other keys than at first
                count_digits(from.keys + begin, size, field, digit, digit + 1, &places[b]);
            }
        });
        make_places(places);
        each_block([&](int64_t b, int64_t begin, int64_t size) {
            scatter({from.keys + begin, from.values + begin}, to, size, field, digit, places[b]);
        });
        std::swap(from, to);
    }
    if (from.keys == pairs.keys) return;
    copy_bytes(pairs.keys, from.keys, n * static_cast<int64_t>(sizeof(U)));
    copy_bytes(pairs.values, from.values, n * static_cast<int64_t>(sizeof(V)));
}

template <class U, class V, class Field>
void sort_pairs(Pairs<U, V> pairs, Pairs<U, V> spare, int64_t n, Field field) {
    if (n < kParallelFrom || num_threads() == 1) {
        sort_alone(pairs, spare, n, field);
    } else {
        sort_together(pairs, spare, n, field);
    }
}

template <class U, class F>
void visit_order(Kind kind, int begin, int width, F&& f) {
    if (kind == Kind::Float) return f(Field<U, Order::Float>{begin, width});
    if (kind == Kind::Int) return f(Field<U, Order::Signed>{begin, width});
    f(Field<U, Order::Unsigned>{begin, width});
}

// Calls f(pairs, spare, field) with the types that the arrays have.
template <class F>
void visit_pairs(Scalar key, void* keys, int64_t value_size, void* values, int64_t count, int begin, int end, F&& f) {
    auto with = [&](auto u, auto v) {
        using U = decltype(u);
        using V = decltype(v);
        Pairs<U, V> pairs{static_cast<U*>(keys), static_cast<V*>(values)};
        Pairs<U, V> spare{pairs.keys + count, pairs.values + count};
        visit_order<U>(key.kind, begin, end - begin, [&](auto field) { f(pairs, spare, field); });
    };
    if (value_size != 4 && value_size != 8) throw std::invalid_argument("values must have 4 or 8 bytes");
    visit_number(key, [&](auto k) {
        using U = std::conditional_t<sizeof k == 4, uint32_t, uint64_t>;
        if (value_size == 4) return with(U{}, uint32_t{});
        with(U{}, uint64_t{});
    });
}

std::string text(const Segment& s) { return "[" + std::to_string(s.begin) + ", " + std::to_string(s.end) + ")"; }

// The segments with more than one item. Throws if one is out of bounds or two overlap.
std::vector<Segment> checked(const std::vector<Segment>& segments, int64_t count) {
    std::vector<Segment> kept;
    for (size_t i = 0; i < segments.size(); ++i) {
        const Segment& s = segments[i];
        if (s.begin < 0 || s.begin > s.end || s.end > count)
            throw std::invalid_argument("segment " + std::to_string(i) + " is " + text(s) +
                                        ", which is no range within the " + std::to_string(count) + " pairs");
        if (s.end - s.begin > 1) kept.push_back(s);
    }
    auto by_begin = [](const Segment& a, const Segment& b) { return a.begin < b.begin; };
    if (!std::is_sorted(kept.begin(), kept.end(), by_begin)) std::sort(kept.begin(), kept.end(), by_begin);
    for (size_t i = 1; i < kept.size(); ++i)
        if (kept[i].begin < kept[i - 1].end)
            throw std::invalid_argument("the segments " + text(kept[i - 1]) + " and " + text(kept[i]) + " overlap");
    return kept;
}

}  // namespace

void radix_sort_pairs(Scalar key, void* keys, int64_t value_size, void* values, int64_t count, int begin_bit,
                      int end_bit) {
    if (begin_bit >= end_bit) return;
    visit_pairs(key, keys, value_size, values, count, begin_bit, end_bit,
                [&](auto pairs, auto spare, auto field) { sort_pairs(pairs, spare, count, field); });
}

void segmented_sort_pairs(Scalar key, void* keys, int64_t value_size, void* values, int64_t count,
                          const std::vector<Segment>& segments) {
    std::vector<Segment> kept = checked(segments, count);
    int64_t items = 0;
    for (const Segment& s : kept) items += s.end - s.begin;
    auto large = [](const Segment& s) { return s.end - s.begin >= kParallelFrom; };
    auto first_large = std::partition(kept.begin(), kept.end(), [&](const Segment& s) { return !large(s); });
    auto small = static_cast<int64_t>(first_large - kept.begin());
    visit_pairs(key, keys, value_size, values, count, 0, 8 * key.size, [&](auto pairs, auto spare, auto field) {
        auto at = [](auto p, int64_t i) { return decltype(p){p.keys + i, p.values + i}; };
        auto share = [&](const Segment& s) { return s.end - s.begin; };
        for (auto s = first_large; s != kept.end(); ++s)
            sort_pairs(at(pairs, s->begin), at(spare, s->begin), share(*s), field);
        int64_t pieces = std::clamp<int64_t>(items / 4096, 1, 16 * num_threads());
        parallel(small, (small + pieces - 1) / pieces, [&](int64_t first, int64_t last) {
            for (int64_t i = first; i < last; ++i)
                sort_alone(at(pairs, kept[i].begin), at(spare, kept[i].begin), share(kept[i]), field);
        });
    });
}

}  // namespace wc
