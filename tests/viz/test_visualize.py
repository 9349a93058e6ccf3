"""Pictures by `Tape.visualize`: the versions that each step reads and writes, loops once, and boxes that keep apart."""

import itertools
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

import omni.warp_core as wp
from omni.warp_core.viz import layered_layout, loop_folding


@wp.kernel
def square(x: wp.array(dtype=float), result: wp.array(dtype=float)):
    i = wp.tid()
    result[i] = x[i] * x[i]


@wp.kernel
def push(position: wp.array(dtype=wp.vec3), velocity: wp.array(dtype=wp.vec3), dt: float):
    i = wp.tid()
    position[i] = position[i] + velocity[i] * dt


@wp.kernel
def total(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    wp.atomic_add(loss, 0, x[wp.tid()])


def active(n, dtype=float):
    return wp.zeros(n, dtype=dtype, requires_grad=True)


def parsed(text):
    """Label of each node by its name, and the edges as (label, label, options)."""
    labels = dict(re.findall(r'(array\d+) \[.*?label="(.*?)"', text))
    labels |= dict(re.findall(r"(step\d+) \[.*?<B>(.*?)</B>", text))
    labels = {name: label.split("\\n")[0] for name, label in labels.items()}
    edges = re.findall(r"^    (\w+)(?::p\d+)? -> (\w+)(?::p\d+)?(?: \[(.*)\])?;$", text, re.M)
    return labels, {(labels[a], labels[b], options) for a, b, options in edges}


def boxes(svg):
    """(name, x, y, width, height) of each step and array, and the same of the groups."""
    root = ElementTree.fromstring(svg)
    tag = "{http://www.w3.org/2000/svg}"

    def box(rect, name):
        return (name, *(float(rect.get(key)) for key in ("x", "y", "width", "height")))

    nodes = [box(g.find(f"{tag}rect"), g.find(f"{tag}text").text) for g in root.findall(f"{tag}g")]
    rects = [r for r in root.findall(f"{tag}rect") if r.get("x")]
    return nodes, [box(r, t.text) for r, t in zip(rects, root.findall(f"{tag}text"))]


def simple():
    x, y, loss = active(3), active(3), active(1)
    tape = wp.Tape()
    with tape:
        tape.record_scope_begin("first")
        wp.launch(square, 3, inputs=[x, y])
        tape.record_scope_end()
        wp.launch(total, 3, inputs=[y, loss])
    return tape, x, y, loss


@pytest.mark.cpu
def test_launches_and_arrays():
    tape, *_ = simple()
    text = tape.visualize()
    _, edges = parsed(text)
    assert edges == {("x", "square", ""), ("square", "result", ""), ("result", "total", ""), ("total", "loss", "")}
    assert 'label="first"' in text and "dim 3 · test_visualize.py:" in text and "float32 [3]" in text
    assert "rankdir=LR" in text and "rankdir=TB" in tape.visualize(graph_direction="TB")
    assert 'label="first"' not in tape.visualize(ignore_graph_scopes=True)
    with_grad = "#bfe3b4"
    assert text.count(with_grad) == 3


@pytest.mark.cpu
def test_versions_of_what_is_overwritten():
    x, y = active(2), active(2)
    tape = wp.Tape()
    with tape:
        wp.launch(square, 2, inputs=[x, x])
        wp.launch(square, 1, inputs=[x, y])
    _, edges = parsed(tape.visualize(array_labels={x: "X", y: "Y"}))
    assert edges == {("X v0", "square", ""), ("square", "X v1", ""), ("X v1", "square", ""), ("square", "Y", "")}


def test_what_is_added_to_depends_on_what_was_there():
    x, loss = active(2), active(1)
    tape = wp.Tape()
    with tape:
        wp.launch(total, 1, inputs=[x, loss])
        wp.launch(total, 2, inputs=[x, loss])
    _, edges = parsed(tape.visualize(simplify_graph=False))
    assert {("total", "loss v1", ""), ("loss v1", "total", ""), ("total", "loss v2", "")} < edges
    assert not any(a == "loss v0" for a, *_ in edges)


def test_views_come_from_what_they_show():
    x, y, loss = active(4), active(4), active(1)
    tape = wp.Tape()
    with tape:
        wp.launch(square, 2, inputs=[x[:2], y[:2]])
        wp.launch(total, 4, inputs=[y, loss])
    _, edges = parsed(tape.visualize(array_labels={loss: "L"}, hide_readonly_arrays=True))
    assert ("square", "result", "") in edges and ("total", "L", "") in edges
    _, edges = parsed(tape.visualize())
    assert ("result", "x", "style=dotted, label=view") in edges


def simulation(turns):
    p, v, x, y = active(3, wp.vec3), active(3, wp.vec3), active(3), active(3)
    tape = wp.Tape()
    with tape:
        for _ in range(turns):
            tape.record_scope_begin("step")
            for _ in range(2):
                wp.launch(push, 3, inputs=[p, v, 0.5])
            wp.launch(square, 3, inputs=[x, y])
            tape.record_scope_end()
    return tape


def test_loops_are_drawn_once():
    text = simulation(5).visualize()
    labels, edges = parsed(text)
    assert sorted(n for n in labels.values() if n in ("push", "square")) == ["push", "square"]
    assert 'label="5 times"' in text and 'label="2 times"' in text and text.count('label="step"') == 1
    assert ("push", "position v1…v10", "") in edges
    assert ("position v1…v10", "push", "constraint=false, style=dashed, label=next") in edges
    assert "dt = 0.5" in text
    labels, _ = parsed(simulation(5).visualize(simplify_graph=False))
    assert sum(n == "push" for n in labels.values()) == 10 and "position v10" in labels.values()


def test_arrays_that_take_turns_are_both_named():
    p, q = a, b = active(3), active(3)
    tape = wp.Tape()
    with tape:
        for _ in range(5):
            wp.launch(square, 3, inputs=[p, q])
            p, q = q, p
    _, edges = parsed(tape.visualize(array_labels={a: "A", b: "B"}))
    assert ("A", "square", "") in edges and ("square", "B, A v1…v3", "") in edges


def test_long_tapes():
    labels, _ = parsed(simulation(300).visualize())
    assert len(labels) < 10


def test_steps_of_ones_own_and_copies():
    x, y = active(2), active(2)
    tape = wp.Tape()

    def my_step():
        pass

    with tape:
        wp.copy(y, x)
        y += x
        tape.record_func(my_step, [y])
    text = tape.visualize()
    assert "<B>copy</B>" in text and "<B>my_step</B>" in text
    assert re.search(r"array\d+ -> step2 \[style=dashed, dir=none\]", text)


@wp.struct
class Inner:
    x: wp.array(dtype=float)


@wp.struct
class Outer:
    inner: Inner
    k: float


@wp.kernel
def held(o: Outer, y: wp.array(dtype=float)):
    y[0] = o.inner.x[0] * o.k


def test_arrays_in_structs_and_products():
    o, y, m = Outer(), active(1), active((2, 2))
    o.inner.x = active(1)
    tape = wp.Tape()
    with tape:
        wp.launch(held, 1, inputs=[o, y])
        m @ m
    text = tape.visualize()
    _, edges = parsed(text)
    assert ("o.inner.x", "held", "") in edges and "<B>matmul</B>" in text


@pytest.mark.cpu
def test_launches_without_gradients_are_gray():
    tape = wp.Tape()
    with tape:
        wp.launch(square, 1, inputs=[wp.zeros(1), wp.zeros(1)])
    assert "no gradient · test_visualize.py" in tape.visualize() and "#eeeeee" in tape.visualize()


def test_names_and_what_is_shown():
    tape, x, _, loss = simple()
    extra = active(1)
    labels, _ = parsed(
        tape.visualize(hide_readonly_arrays=True, track_outputs=[loss, extra], track_output_names=["the loss", "more"])
    )
    assert "x" not in labels.values() and {"the loss", "more"} < set(labels.values())
    labels, _ = parsed(tape.visualize(hide_readonly_arrays=True, track_inputs=[x], track_input_names=["in"]))
    assert "in" in labels.values()
    labels, _ = parsed(tape.visualize(choose_longest_node_name=False))
    assert "result" not in labels.values()


def test_quotes_and_brackets_in_names(tmp_path):
    tape, x, *_ = simple()
    text = tape.visualize(str(tmp_path / "a.svg"), array_labels={x: 'a "b" <c> \\'})
    assert r'label="a \"b\" <c> \\' in text
    assert 'a "b" <c> \\' in [name for name, *_ in boxes((tmp_path / "a.svg").read_text())[0]]


# -- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["LR", "TB"])
@pytest.mark.parametrize("simplify", [True, False])
def test_pictures(tmp_path, direction, simplify):
    path = tmp_path / "tape.svg"
    simulation(4).visualize(path, simplify_graph=simplify, graph_direction=direction)
    nodes, groups = boxes(path.read_text())
    for (_, x, y, w, h), (_, p, q, v, u) in itertools.combinations(nodes, 2):
        assert x + w <= p or p + v <= x or y + h <= q or q + u <= y
    for _, x, y, w, h in nodes:  # inside of a group, or out of it
        for _, p, q, v, u in groups:
            inside = p <= x and x + w <= p + v and q <= y and y + h <= q + u
            assert inside or x + w <= p or p + v <= x or y + h <= q or q + u <= y
    assert len(groups) == (3 if simplify else 4)
    assert sum(name == "push" for name, *_ in nodes) == (1 if simplify else 8)


def test_text_files(tmp_path):
    tape, *_ = simple()
    for name in ("tape.dot", "tape.gv", "tape"):
        assert tape.visualize(tmp_path / name) == (tmp_path / name).read_text()


def test_pictures_by_graphviz(tmp_path, monkeypatch):
    tape, *_ = simple()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"\.png is drawn by Graphviz, which is not installed; \.svg needs nothing"):
        tape.visualize(tmp_path / "tape.png")
    program = tmp_path / "dot"
    program.write_text('#!/bin/sh\n/bin/cat > "$3"\necho "$@" > "$3.args"\n')
    program.chmod(0o755)
    text = tape.visualize(tmp_path / "tape.png")
    assert (tmp_path / "tape.png").read_text() == text
    assert (tmp_path / "tape.png.args").read_text().startswith("-Tpng -o ")


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, words",
    [
        ({"filename": "tape.bmp"}, r"filename: \.bmp is not one of \.svg, \.dot"),
        ({"graph_direction": "up"}, "graph_direction: expected LR, TB, RL or BT, got 'up'"),
        (
            {"filename": "tape.svg", "graph_direction": "RL"},
            r"graph_direction: expected LR or TB, got 'RL'; a .dot file takes all directions of Graphviz",
        ),
        ({"track_input_names": ["a"]}, r"more names than arrays: \['a'\]"),
    ],
)
def test_refused(options, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=words):
        simple()[0].visualize(**options)
    assert not list(tmp_path.iterdir())


def test_scopes_that_do_not_match():
    tape = wp.Tape()
    with pytest.raises(RuntimeError, match="no scope is open on this tape"):
        tape.record_scope_end()
    tape.record_scope_begin("empty", metadata={"a": 1})
    tape.record_scope_end()
    assert tape.scopes == []
    tape.record_scope_begin("empty", metadata={"a": 1})
    tape.record_scope_end(remove_scope_if_empty=False)
    assert tape.scopes == [(0, "empty", {"a": 1}), (0, None, None)]
    with pytest.raises(RuntimeError, match="no scope is open"):
        tape.record_scope_end()
    with pytest.raises(TypeError, match="scope_name: expected a text, got int"):
        tape.record_scope_begin(3)
    tape.reset()
    assert tape.scopes == []


# -- parts ------------------------------------------------------------------------------------------------------------


def unrolled(group):
    for child in itertools.chain(*group.turns) if isinstance(group, loop_folding.Loop) else group.children:
        yield from unrolled(child) if isinstance(child, loop_folding.Group) else [child]


def drawn(group):
    return sum(drawn(c) if isinstance(c, loop_folding.Group) else 1 for c in group.children)


@pytest.mark.parametrize("seed", range(30))
def test_loops_unroll_to_what_was_recorded(seed):
    rng = np.random.default_rng(seed)
    parts = ["".join(rng.choice(list("abc"), rng.integers(1, 4))) * rng.integers(1, 5) for _ in range(5)]
    letters = [(c, i) for i, c in enumerate("".join(parts) * int(rng.integers(1, 4)))]
    found = loop_folding.loops(loop_folding.tree(letters, []), lambda step: step[0])
    assert list(unrolled(found)) == letters
    assert drawn(found) <= len(set(parts)) * 15


@pytest.mark.parametrize(
    "text, steps", [("a" * 1000, 1), ("ab" * 50, 2), ("aab" * 7, 2), ("aabaabc" * 9, 3), ("abc", 3)]
)
def test_loops_are_found(text, steps):
    letters = [(c, i) for i, c in enumerate(text)]
    assert drawn(loop_folding.loops(loop_folding.tree(letters, []), lambda step: step[0])) == steps


@pytest.mark.parametrize("seed", range(30))
def test_layers(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 25))
    sizes = {i: tuple(rng.uniform(10, 100, 2)) for i in range(count)}
    links = [(a, b) for a in range(count) for b in range(a + 1, count) if rng.random() < 2 / count]
    found = layered_layout.layered(sizes, links)
    place = {i: (*found.corners[i], *sizes[i]) for i in range(count)}
    for a, b in itertools.combinations(range(count), 2):
        (x, y, w, h), (p, q, v, u) = place[a], place[b]
        assert x + w <= p + 1e-9 or p + v <= x + 1e-9 or y + h <= q + 1e-9 or q + u <= y + 1e-9
    for a, b in links:
        assert place[a][0] + place[a][2] <= place[b][0]
    for x, y, w, h in place.values():
        assert min(x, y) > -1e-9 and x + w < found.width + 1e-9 and y + h < found.height + 1e-9


def test_layers_of_a_circle():
    found = layered_layout.layered(dict.fromkeys(range(3), (10.0, 10.0)), [(0, 1), (1, 2), (2, 0)])
    assert sorted(x for x, _ in found.corners.values()) == [0.0, 58.0, 116.0]


@pytest.mark.parametrize("seed", range(10))
def test_places_are_the_nearest_that_keep_apart(seed):
    rng = np.random.default_rng(seed)
    heights, wanted, gap = rng.uniform(1, 10, 12), rng.uniform(0, 60, 12), 2.0
    offsets = np.concatenate([[0.0], np.cumsum((heights[:-1] + heights[1:]) / 2 + gap)])
    want = isotonic_regression(wanted - offsets).x + offsets
    np.testing.assert_allclose(layered_layout._apart(list(wanted), list(heights), gap), want, atol=1e-9)
