// Colours of graphs. Python checks what users pass (omni/warp_core/algo/graph_coloring.py); the checks here keep memory
// safe whoever calls.
#include <stdexcept>

#include "arrays/py_array.h"
#include "gil.h"
#include "launches/timeline.h"
#include "tape/py_spans.h"
#include "warp_core/dtypes.h"
#include "warp_core/graph_coloring.h"

namespace wc {
namespace {

std::span<int32_t> integers(const PyArray& a) {
    if (!a.contiguous || a.device != 0 || !(dtype(a.dtype).scalar == Scalar{Kind::Int, 4}) || dtype(a.dtype).rank != 0)
        throw std::invalid_argument("the array must be of int32, contiguous and on the CPU");
    return {static_cast<int32_t*>(a.view.data), static_cast<size_t>(a.size)};
}

int32_t assign(const PyArray& edges, const PyArray& colors, int order) {
    auto joined = integers(edges), out = integers(colors);
    if (order != 0 && order != 1) throw std::invalid_argument("there is no such order");
    before_write(colors);
    Timed timed(Activity::kBuiltin, "graph_coloring_assign", edges.size);
    int32_t count = 0;
    without_gil([&] {
        Adjacency graph(joined, colors.size);
        count = color_graph(graph, static_cast<ColoringOrder>(order), out);
    });
    return count;
}

nb::tuple balance(const PyArray& edges, const PyArray& colors, int32_t count, double target, int64_t limit) {
    auto joined = integers(edges), out = integers(colors);
    if (count < 1) throw std::invalid_argument("there must be colours");
    before_write(colors);
    Timed timed(Activity::kBuiltin, "graph_coloring_balance", edges.size);
    double ratio = 0;
    bool limited = false;
    without_gil([&] {
        Adjacency graph(joined, colors.size);
        ratio = balance_colors(graph, out, count, target, limit, limited);
    });
    return nb::make_tuple(ratio, limited);
}

}  // namespace

void bind_graph_coloring(nb::module_& m) {
    m.def("graph_coloring_assign", &assign, nb::arg("edges"), nb::arg("node_colors"), nb::arg("order"));
    m.def("graph_coloring_balance", &balance, nb::arg("edges"), nb::arg("node_colors"), nb::arg("count"),
          nb::arg("target"), nb::arg("limit"));
}

}  // namespace wc
