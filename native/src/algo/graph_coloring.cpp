#include "warp_core/graph_coloring.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace wc {
namespace {

constexpr int32_t kNone = -1;

// Nodes by a key that changes by one at a time. A node that changes is added again, and its older entry is passed over.
class Buckets {
  public:
    explicit Buckets(std::vector<int32_t> keys) : keys_(std::move(keys)) {
        for (size_t node = keys_.size(); node-- > 0;) add(static_cast<int32_t>(node));
    }

    bool has(int32_t node) const { return keys_[node] != kNone; }
    void change(int32_t node, int32_t by) {
        keys_[node] += by;
        add(node);
        at_ = std::min(at_, static_cast<size_t>(keys_[node]));
    }
    // The node with the smallest key. There must be one.
    int32_t take_smallest() {
        for (;; ++at_)
            if (int32_t node = take_at(at_); node != kNone) return node;
    }
    // The node with the largest key.
    int32_t take_largest() {
        for (;; buckets_.pop_back())
            if (int32_t node = take_at(buckets_.size() - 1); node != kNone) return node;
    }

  private:
    void add(int32_t node) {
        auto key = static_cast<size_t>(keys_[node]);
        if (key >= buckets_.size()) buckets_.resize(key + 1);
        buckets_[key].push_back(node);
    }
    int32_t take_at(size_t key) {
        auto& bucket = buckets_[key];
        while (!bucket.empty()) {
            int32_t node = bucket.back();
            bucket.pop_back();
            if (keys_[node] != static_cast<int32_t>(key)) continue;
            keys_[node] = kNone;
            return node;
        }
        return kNone;
    }

    std::vector<int32_t> keys_;  // kNone for nodes that were taken
    std::vector<std::vector<int32_t>> buckets_;
    size_t at_ = 0;  // no smaller key has a node
};

std::vector<int32_t> by_cardinality(const Adjacency& graph) {
    std::vector<int32_t> order(static_cast<size_t>(graph.nodes()));
    Buckets buckets(std::vector<int32_t>(order.size(), 0));
    for (int32_t& node : order) {
        node = buckets.take_largest();
        for (int32_t next : graph.of(node))
            if (buckets.has(next)) buckets.change(next, 1);
    }
    return order;
}

std::vector<int32_t> smallest_last(const Adjacency& graph) {
    std::vector<int32_t> degrees(static_cast<size_t>(graph.nodes())), order(degrees.size());
    for (size_t i = 0; i < degrees.size(); ++i)
        degrees[i] = static_cast<int32_t>(graph.of(static_cast<int64_t>(i)).size());
    Buckets buckets(std::move(degrees));
    for (size_t i = order.size(); i-- > 0;) {
        order[i] = buckets.take_smallest();
        for (int32_t next : graph.of(order[i]))
            if (buckets.has(next)) buckets.change(next, -1);
    }
    return order;
}

// The numbers of colours that neighbours have, and the first one that none has.
class FreeColor {
  public:
    int32_t find(const Adjacency& graph, int32_t node, std::span<const int32_t> colors) {
        for (int32_t next : graph.of(node)) {
            int32_t color = colors[next];
            if (color == kNone) continue;
            if (static_cast<size_t>(color) >= used_by_.size()) used_by_.resize(color + 1, kNone);
            used_by_[color] = node;
        }
        auto free = std::find_if(used_by_.begin(), used_by_.end(), [&](int32_t by) { return by != node; });
        return static_cast<int32_t>(free - used_by_.begin());
    }

  private:
    std::vector<int32_t> used_by_;  // the last node with a neighbour of that colour
};

// Moves nodes between two colours, so that their numbers come closer.
class Balance {
  public:
    Balance(const Adjacency& graph, std::span<int32_t> colors, int32_t count)
        : graph_(graph), colors_(colors), members_(static_cast<size_t>(count)), seen_(colors.size(), 0) {
        check();
        for (size_t i = 0; i < colors.size(); ++i) members_[colors[i]].push_back(static_cast<int32_t>(i));
        order_.resize(members_.size());
        for (size_t c = 0; c < order_.size(); ++c) order_[c] = static_cast<int32_t>(c);
    }

    double ratio() const {
        auto [low, high] = std::minmax_element(members_.begin(), members_.end(),
                                               [](const auto& a, const auto& b) { return a.size() < b.size(); });
        if (low->empty()) return colors_.empty() ? 1.0 : std::numeric_limits<double>::infinity();
        return static_cast<double>(high->size()) / static_cast<double>(low->size());
    }

    // One exchange between the two colours that are furthest apart and have one that helps. False if none have.
    bool improve() {
        std::stable_sort(order_.begin(), order_.end(), [&](int32_t a, int32_t b) { return size(a) > size(b); });
        for (size_t from = 0; from < order_.size(); ++from)
            for (size_t to = order_.size() - 1; to > from && size(order_[from]) - size(order_[to]) > 1; --to)
                if (exchange(order_[from], order_[to])) return true;
        return false;
    }

  private:
    int64_t size(int32_t color) const { return static_cast<int64_t>(members_[color].size()); }

    void check() const {
        auto count = static_cast<int64_t>(members_.size());
        for (size_t i = 0; i < colors_.size(); ++i) {
            auto node = [&] { return "node " + std::to_string(i) + " has colour " + std::to_string(colors_[i]); };
            if (colors_[i] < 0 || colors_[i] >= count)
                throw std::invalid_argument(node() + ", but there are " + std::to_string(count) + " colours");
            for (int32_t next : graph_.of(static_cast<int64_t>(i)))
                if (colors_[next] == colors_[i])
                    throw std::invalid_argument(node() + ", and so has node " + std::to_string(next) +
                                                ", with which an edge joins it");
        }
    }

    // How many nodes should go from the larger colour to the smaller one: none beyond the mean of all colours, unless
    // both are on one side of it.
    int64_t wanted(int32_t from, int32_t to) const {
        int64_t gap = size(from) - size(to);
        int64_t mean = static_cast<int64_t>(colors_.size()) / static_cast<int64_t>(members_.size());
        int64_t within = std::min(size(from) - mean, mean - size(to));
        return within > 0 ? std::min(within, gap / 2) : gap / 2;
    }

    // Kempe chains: in a part that is connected by edges between two colours, both may change places.
    bool exchange(int32_t from, int32_t to) {
        int64_t left = wanted(from, to), gap = size(from) - size(to), smallest = gap;
        std::vector<int32_t> part, kept;  // the least part that overshoots, in case none fits
        bool changed = false;
        ++round_;
        for (int32_t start : members_[from]) {
            if (left == 0) break;
            if (seen_[start] == round_) continue;
            int64_t moved = collect(start, from, to, part);
            if (moved > 0 && moved <= left) {
                swap(part, from, to);
                left -= moved;
                changed = true;
            } else if (moved > 0 && moved < smallest) {
                smallest = moved;
                kept = part;
            }
        }
        if (!changed && !kept.empty()) {
            swap(kept, from, to);
            changed = true;
        }
        if (changed) regroup(from, to);
        return changed;
    }

    // The part that holds a node, and how many nodes more of its colour than of the other.
    int64_t collect(int32_t start, int32_t from, int32_t to, std::vector<int32_t>& part) {
        part.assign(1, start);
        seen_[start] = round_;
        int64_t surplus = 0;
        for (size_t i = 0; i < part.size(); ++i) {
            int32_t node = part[i];
            surplus += colors_[node] == from ? 1 : -1;
            for (int32_t next : graph_.of(node)) {
                if ((colors_[next] != from && colors_[next] != to) || seen_[next] == round_) continue;
                seen_[next] = round_;
                part.push_back(next);
            }
        }
        return surplus;
    }

    void swap(const std::vector<int32_t>& part, int32_t from, int32_t to) {
        for (int32_t node : part) colors_[node] = colors_[node] == from ? to : from;
    }

    void regroup(int32_t from, int32_t to) {
        std::vector<int32_t> both = std::move(members_[from]);
        both.insert(both.end(), members_[to].begin(), members_[to].end());
        members_[from].clear();
        members_[to].clear();
        for (int32_t node : both) members_[colors_[node]].push_back(node);
    }

    const Adjacency& graph_;
    std::span<int32_t> colors_;
    std::vector<std::vector<int32_t>> members_;  // nodes by colour
    std::vector<int32_t> order_;                 // colours, those of most nodes first
    std::vector<int64_t> seen_;                  // the round that has been at a node
    int64_t round_ = 0;
};

[[noreturn]] void refuse_edge(size_t number, int32_t a, int32_t b, int64_t nodes) {
    std::string edge = "edge " + std::to_string(number) + " joins node";
    if (a == b && a >= 0 && a < nodes)
        throw std::invalid_argument(edge + " " + std::to_string(a) + " with itself, which can have no colour then");
    throw std::invalid_argument(edge + "s " + std::to_string(a) + " and " + std::to_string(b) + ", but there are " +
                                std::to_string(nodes) + " nodes");
}

}  // namespace

Adjacency::Adjacency(std::span<const int32_t> edges, int64_t nodes) : starts(static_cast<size_t>(nodes) + 1, 0) {
    for (size_t i = 0; i + 1 < edges.size(); i += 2) {
        int32_t a = edges[i], b = edges[i + 1];
        if (a < 0 || a >= nodes || b < 0 || b >= nodes || a == b) refuse_edge(i / 2, a, b, nodes);
        ++starts[a + 1];
        ++starts[b + 1];
    }
    for (size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
    neighbours.resize(static_cast<size_t>(starts.back()));
    std::vector<int64_t> next(starts.begin(), starts.end() - 1);
    for (size_t i = 0; i + 1 < edges.size(); i += 2) {
        neighbours[next[edges[i]]++] = edges[i + 1];
        neighbours[next[edges[i + 1]]++] = edges[i];
    }
}

int32_t color_graph(const Adjacency& graph, ColoringOrder order, std::span<int32_t> colors) {
    std::fill(colors.begin(), colors.end(), kNone);
    FreeColor free;
    int32_t count = 0;
    for (int32_t node : order == ColoringOrder::kSmallestLast ? smallest_last(graph) : by_cardinality(graph)) {
        colors[node] = free.find(graph, node, colors);
        count = std::max(count, colors[node] + 1);
    }
    return count;
}

double balance_colors(const Adjacency& graph, std::span<int32_t> colors, int32_t count, double target, int64_t limit,
                      bool& limited) {
    Balance balance(graph, colors, count);
    limited = false;
    double ratio = balance.ratio();
    for (int64_t i = 0; ratio > target; ++i, ratio = balance.ratio()) {
        limited = i == limit;
        if (limited || !balance.improve()) break;
    }
    return ratio;
}

}  // namespace wc
