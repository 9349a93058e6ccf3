// Keys are taken apart in digits of 8 bits. What fits in a cache is sorted by its least significant digit first, on one
// thread. More than that is first distributed by its most significant bits that differ, by all threads. Each counts and
// scatters one block of the pairs, block after block within each bucket. Then every bucket is a sort of its own, by
// fewer bits, and threads take them as they come. All steps keep the order of equal keys.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "warp_core/algorithms.h"
#include "warp_core/dispatch_scalar.h"

namespace wc {
namespace {

constexpr int kDigitBits = 8;
constexpr int kBuckets = 1 << kDigitBits;
constexpr int64_t kInsertionBelow = 40;
constexpr int64_t kInCache = 1 << 19;  // bytes of pairs that a core's cache holds twice
constexpr int64_t kWorthIt = 1 << 23;  // bytes of pairs from which on a thread alone gains by distributing them

enum class Order { Unsigned, Signed, Float };

using Counts = std::array<int64_t, kBuckets>;

// The keys as unsigned integers in the order of the numbers, of which the bits [begin, end) matter. The operators need
// at least one bit.
template <class U, Order order>
struct Field {
    int begin, end;

    static constexpr int kBits = 8 * sizeof(U);
    static constexpr U kTop = U{1} << (kBits - 1);

    static U ordered(U key) {
        if constexpr (order == Order::Unsigned) return key;
        if constexpr (order == Order::Signed) return key ^ kTop;
        if constexpr (order == Order::Float) return key ^ ((U{0} - (key >> (kBits - 1))) | kTop);
    }
    U operator()(U key) const { return ordered(key) << (kBits - end) >> (kBits - end + begin); }

    U mask() const { return (~U{0} << (kBits - end) >> (kBits - end + begin)) << begin; }
    int digits() const { return (end - begin + kDigitBits - 1) / kDigitBits; }

    // Which bucket a key goes to.
    struct Digit {
        int shift;
        U mask;
        U operator()(U key) const { return (ordered(key) >> shift) & mask; }
    };
    Digit digit(int d) const {
        int shift = begin + d * kDigitBits;
        return {shift, static_cast<U>((U{1} << std::min(kDigitBits, end - shift)) - 1)};
    }
};

template <class U, class V>
struct Pairs {
    U* keys;
    V* values;

    Pairs operator+(int64_t i) const { return {keys + i, values + i}; }
};

// What to sort: n pairs at `from`, for which there is room at `other`, too; the result goes to `other` if `across`.
template <class U, class V>
struct Work {
    Pairs<U, V> from, other;
    int64_t n;
    bool across;

    bool large() const {
        return n * static_cast<int64_t>(sizeof(U) + sizeof(V)) > (num_threads() > 1 ? kInCache : kWorthIt);
    }
    // Its part [begin, end) after all of it was moved to `other`; the result goes where that of the whole does.
    Work moved_part(int64_t begin, int64_t end) const { return {other + begin, from + begin, end - begin, !across}; }
};

template <class U, class V>
void move(Pairs<U, V> from, Pairs<U, V> to, int64_t n) {
    std::memcpy(to.keys, from.keys, static_cast<size_t>(n) * sizeof(U));
    std::memcpy(to.values, from.values, static_cast<size_t>(n) * sizeof(V));
}

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

template <class U, class Digit>
void count_digit(const U* keys, int64_t n, Digit digit, Counts& counts) {
    counts.fill(0);
    for (int64_t i = 0; i < n; ++i) ++counts[digit(keys[i])];
}

// Counts all digits at one reading, `most` of them or fewer.
template <int most, class U, class Field>
void count_digits(const U* keys, int64_t n, Field field, Counts* counts) {
    if constexpr (most > 1)
        if (field.digits() < most) return count_digits<most - 1>(keys, n, field, counts);
    for (int d = 0; d < most; ++d) counts[d].fill(0);
    for (int64_t i = 0; i < n; ++i) {
        U rank = field(keys[i]);
        for (int d = 0; d < most; ++d) ++counts[d][(rank >> (d * kDigitBits)) & (kBuckets - 1)];
    }
}

template <class U, class V, class Digit>
void scatter(Pairs<U, V> from, Pairs<U, V> to, int64_t n, Digit digit, Counts& places) {
    for (int64_t i = 0; i < n; ++i) {
        U key = from.keys[i];
        int64_t at = places[digit(key)]++;
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

// On the calling thread, least significant digit first.
template <class U, class V, class Field>
void sort_alone(const Work<U, V>& work, Field field) {
    const int64_t n = work.n;
    if (n < kInsertionBelow || field.digits() == 0) {
        if (field.digits()) insertion_sort(work.from, n, field);
        if (work.across) move(work.from, work.other, n);
        return;
    }
    Counts counts[sizeof(U)];
    count_digits<sizeof(U)>(work.from.keys, n, field, counts);
    Pairs<U, V> from = work.from, to = work.other;
    for (int d = 0; d < field.digits(); ++d) {
        if (counts[d][field.digit(d)(from.keys[0])] == n) continue;  // all in one bucket
        make_places({&counts[d], 1});
        scatter(from, to, n, field.digit(d), counts[d]);
        std::swap(from, to);
    }
    Pairs<U, V> wanted = work.across ? work.other : work.from;
    if (from.keys != wanted.keys) move(from, wanted, n);
}

// Calls f(block, begin, size) for a block of [0, n) per thread.
template <class F>
void each_block(int64_t n, int64_t blocks, F&& f) {
    auto begin_of = [&](int64_t b) { return n / blocks * b + std::min(b, n % blocks); };
    parallel(blocks, 1, [&](int64_t first, int64_t last) {
        for (int64_t b = first; b < last; ++b) f(b, begin_of(b), begin_of(b + 1) - begin_of(b));
    });
}

// The field without the bits above and below that all keys share.
template <class U, class Field>
Field differing(const U* keys, int64_t n, Field field) {
    const int64_t blocks = num_threads();
    std::vector<U> differ(static_cast<size_t>(blocks));
    each_block(n, blocks, [&](int64_t b, int64_t begin, int64_t size) {
        U bits = 0, first = Field::ordered(keys[0]);
        for (int64_t i = begin; i < begin + size; ++i) bits |= Field::ordered(keys[i]) ^ first;
        differ[b] = bits;
    });
    U bits = 0;
    for (U b : differ) bits |= b;
    bits &= field.mask();
    return bits ? Field{std::countr_zero(bits), Field::kBits - std::countl_zero(bits)} : Field{0, 0};
}

// Moves the pairs to work.other, in buckets by the highest digit; returns where the buckets begin.
template <class U, class V, class Digit>
std::array<int64_t, kBuckets + 1> distribute(const Work<U, V>& work, Digit digit) {
    const int64_t blocks = num_threads();
    std::vector<Counts> places(static_cast<size_t>(blocks));
    each_block(work.n, blocks, [&](int64_t b, int64_t begin, int64_t size) {
        count_digit(work.from.keys + begin, size, digit, places[b]);
    });
    make_places(places);
    std::array<int64_t, kBuckets + 1> begins;
    std::copy(places[0].begin(), places[0].end(), begins.begin());
    begins[kBuckets] = work.n;
    each_block(work.n, blocks, [&](int64_t b, int64_t begin, int64_t size) {
        scatter(work.from + begin, work.other, size, digit, places[b]);
    });
    return begins;
}

template <class U, class V, class Field>
void sort_by_all(const std::vector<Work<U, V>>& works, Field field);

// By all threads, most significant digit first.
template <class U, class V, class Field>
void sort_together(const Work<U, V>& work, Field whole) {
    Field field = whole.digits() ? differing(work.from.keys, work.n, whole) : whole;
    if (field.digits() == 0) return sort_alone(work, field);
    Field rest{field.begin, std::max(field.begin, field.end - kDigitBits)};
    auto begins = distribute(work, Field{rest.end, field.end}.digit(0));
    std::vector<Work<U, V>> buckets;
    for (int b = 0; b < kBuckets; ++b)
        if (begins[b] < begins[b + 1]) buckets.push_back(work.moved_part(begins[b], begins[b + 1]));
    sort_by_all(buckets, rest);
}

// Independent sorts: those larger than the cache one by one, then the others as threads come for them.
template <class U, class V, class Field>
void sort_by_all(const std::vector<Work<U, V>>& works, Field field) {
    std::vector<Work<U, V>> small;
    int64_t items = 0;
    for (const Work<U, V>& work : works) {
        if (work.large()) {
            sort_together(work, field);
        } else {
            small.push_back(work);
            items += work.n;
        }
    }
    auto count = static_cast<int64_t>(small.size());
    int64_t pieces = std::clamp<int64_t>(items / 4096, 1, 32 * num_threads());
    parallel(count, (count + pieces - 1) / pieces, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) sort_alone(small[i], field);
    });
}

template <class U, class F>
void visit_order(Kind kind, int begin, int end, F&& f) {
    if (kind == Kind::Float) return f(Field<U, Order::Float>{begin, end});
    if (kind == Kind::Int) return f(Field<U, Order::Signed>{begin, end});
    f(Field<U, Order::Unsigned>{begin, end});
}

// Calls f(pairs, field) with the types that the arrays have.
template <class F>
void visit_pairs(Scalar key, void* keys, int64_t value_size, void* values, int begin, int end, F&& f) {
    auto with = [&](auto u, auto v) {
        using U = decltype(u);
        using V = decltype(v);
        Pairs<U, V> pairs{static_cast<U*>(keys), static_cast<V*>(values)};
        visit_order<U>(key.kind, begin, end, [&](auto field) { f(pairs, field); });
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
    visit_pairs(key, keys, value_size, values, begin_bit, end_bit, [&](auto pairs, auto field) {
        sort_by_all(std::vector{Work{pairs, pairs + count, count, false}}, field);
    });
}

void check_segments(int64_t count, const std::vector<Segment>& segments) { checked(segments, count); }

void segmented_sort_pairs(Scalar key, void* keys, int64_t value_size, void* values, int64_t count,
                          const std::vector<Segment>& segments) {
    std::vector<Segment> kept = checked(segments, count);
    visit_pairs(key, keys, value_size, values, 0, 8 * key.size, [&](auto pairs, auto field) {
        std::vector<decltype(Work{pairs, pairs, count, false})> works;
        for (const Segment& s : kept)
            works.push_back({pairs + s.begin, pairs + count + s.begin, s.end - s.begin, false});
        sort_by_all(works, field);
    });
}

}  // namespace wc
