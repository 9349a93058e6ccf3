// Colours for the nodes of a graph, so that no edge joins two nodes of one colour. Runs on one thread; the result
// depends on nothing but the edges.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace wc {

// An undirected graph: the neighbours of node i are neighbours[starts[i] : starts[i + 1]].
struct Adjacency {
    // `edges` has two nodes for each edge. Throws std::invalid_argument for an edge that joins a node with itself, or a
    // node outside of [0, nodes).
    Adjacency(std::span<const int32_t> edges, int64_t nodes);

    int64_t nodes() const { return static_cast<int64_t>(starts.size()) - 1; }
    std::span<const int32_t> of(int64_t node) const {
        return {neighbours.data() + starts[node], neighbours.data() + starts[node + 1]};
    }

    std::vector<int64_t> starts;
    std::vector<int32_t> neighbours;
};

// In which order nodes get the smallest colour that no neighbour has.
enum class ColoringOrder {
    // Next is a node with the most coloured neighbours (maximum cardinality search). Optimal for chordal graphs, two
    // colours for bipartite ones.
    kMaximumCardinality = 0,
    // The reverse of removing a node with the fewest neighbours that are left (smallest last). At most one colour more
    // than the largest of those degrees.
    kSmallestLast = 1,
};

// Writes a colour for each node; returns how many there are.
int32_t color_graph(const Adjacency& graph, ColoringOrder order, std::span<int32_t> colors);

// Exchanges the colours of parts of the graph, so that the numbers of nodes of the colours come closer. Stops when the
// largest is at most `target` times the smallest, after so many exchanges (-1: no limit), or where none helps.
// Returns the ratio of largest to smallest, infinite for a colour that no node has. `limited` says whether the limit
// was what ended it. Throws std::invalid_argument if a colour is not in [0, count), or an edge joins one colour.
double balance_colors(const Adjacency& graph, std::span<int32_t> colors, int32_t count, double target, int64_t limit,
                      bool& limited);

}  // namespace wc
