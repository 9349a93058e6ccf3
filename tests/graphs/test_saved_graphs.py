"""Graphs in files: another process launches them without the compiler and the source, and refuses what does not fit."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.graphs import graph_file
from omni.warp_core.graphs.graph_load import loaded_graph
from omni.warp_core.lang.blake2 import blake2b
from omni.warp_core.launches import artifact

pytestmark = pytest.mark.cpu
ROOT = Path(__file__).resolve().parents[2]


@wp.struct
class Field:
    scale: float
    values: wp.array(dtype=wp.vec3)


@wp.kernel
def push(x: wp.array(dtype=wp.vec3), field: Field, dt: float):
    i = wp.tid()
    x[i] = x[i] + field.values[i] * (field.scale * dt)


@wp.kernel
def total(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, x[wp.tid()])


@wp.kernel
def double(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 2.0 * x[i]


@wp.kernel
def until(x: wp.array(dtype=float), limit: float, more: wp.array(dtype=int)):
    x[0] = 2.0 * x[0]
    more[0] = int(x[0] < limit)


def saved(tmp_path, graph, **named) -> wp.Graph:
    wp.capture_save(graph, str(tmp_path / "graph"), inputs=named)
    return wp.capture_load(str(tmp_path / "graph"))


def param(graph, name, count, dtype=float):
    out = wp.zeros(count, dtype=dtype)
    graph.get_param(name, out)
    return out.numpy()


def test_another_process_launches_without_the_compiler(tmp_path):
    v = np.random.default_rng(1).normal(size=(30, 3)).astype(np.float32)
    x, field, sums = wp.zeros(30, dtype=wp.vec3), Field(), wp.zeros(1)
    field.scale, field.values = 2.0, wp.array(v, dtype=wp.vec3)
    numbers = wp.array(np.arange(60.0), dtype=float)
    with wp.ScopedCapture(apic=True) as captured:
        wp.launch(push, 30, [x, field, 0.25])
        sums.zero_()
        wp.launch(total, 30, [numbers[::2], sums])
    wp.capture_save(captured.graph, str(tmp_path / "step"), inputs={"x": x}, outputs={"sums": sums})
    text = """
import sys
sys.modules["llvmlite"] = None
import omni.warp_core as wp
wp.config.kernel_cache_dir = None
graph = wp.capture_load("step.wrp")
assert graph.is_loaded and graph.params == {"x": {"size": 360}, "sums": {"size": 4}}
for _ in range(4):
    wp.capture_launch(graph)
x, sums = wp.zeros(30, dtype=wp.vec3), wp.zeros(1)
graph.get_param("x", x)
graph.get_param("sums", sums)
assert "omni.warp_core.front.lower" not in sys.modules
print(x.numpy().tobytes().hex(), sums.list())
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    bits, sums_there = done.stdout.split(" ", 1)
    np.testing.assert_allclose(np.frombuffer(bytes.fromhex(bits), np.float32).reshape(30, 3), 2.0 * v, rtol=1e-5)
    assert sums_there == "[870.0]\n"
    assert not x.numpy().any()  # it has memory of its own


def test_parameters(tmp_path):
    x, y = wp.array([1.0, 2.0, 3.0], dtype=float), wp.zeros(3)
    with wp.ScopedCapture(apic=True) as captured:
        wp.launch(double, 3, [x])
        wp.copy(y, x)
    graph = saved(tmp_path, captured.graph, x=x, y=y)
    assert captured.graph.is_loaded is False and captured.graph.params == {}
    wp.capture_launch(graph)
    assert param(graph, "y", 3).tolist() == [2.0, 4.0, 6.0]  # it begins with what the arrays held
    graph.set_param("x", wp.array([10.0, 20.0, 30.0, 0.0, 0.0, 0.0], dtype=float)[:3])
    wp.capture_launch(graph)
    assert param(graph, "y", 3).tolist() == param(graph, "x", 3).tolist() == [20.0, 40.0, 60.0]
    assert x.list() == [1.0, 2.0, 3.0]
    at = graph.get_param_ptr("y")
    assert wp.array(ptr=at, shape=3, dtype=float, copy=False).list() == [20.0, 40.0, 60.0]
    assert graph.get_param_ptr("z") is None


def test_wrong_parameters_are_refused(tmp_path):
    x = wp.zeros(3)
    with wp.ScopedCapture(apic=True) as captured:
        wp.launch(double, 3, [x])
    graph = saved(tmp_path, captured.graph, x=x)
    with pytest.raises(ValueError, match="no parameter 'y'; there are 'x'"):
        graph.set_param("y", x)
    with pytest.raises(ValueError, match="'x' has 12 bytes, and the array has 8"):
        graph.set_param("x", wp.zeros(2))
    with pytest.raises(TypeError, match=r"expected a wp\.array, got list"):
        graph.set_param("x", [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="has gaps"):
        graph.get_param("x", wp.zeros(6)[::2])
    with pytest.raises(RuntimeError, match="uses the arrays of the program"):
        captured.graph.set_param("x", x)


def test_a_name_stands_for_a_whole_allocation(tmp_path):
    whole = wp.array([1.0, 2.0, 3.0, 4.0], dtype=float)
    with wp.ScopedCapture(apic=True) as captured:
        wp.launch(double, 2, [whole[1:3]])
    graph = saved(tmp_path, captured.graph, part=whole[1:3])
    assert graph.params == {"part": {"size": 16}}
    wp.capture_launch(graph)
    assert param(graph, "part", 4).tolist() == [1.0, 4.0, 6.0, 4.0]


def test_conditions_and_inner_graphs(tmp_path):
    x, more, flag = wp.ones(1), wp.ones(1, dtype=int), wp.ones(1, dtype=int)
    with wp.ScopedCapture() as inner:
        wp.launch(double, 1, [x])
    with wp.ScopedCapture(apic=True) as captured:
        wp.capture_while(more, lambda: wp.launch(until, 1, [x, 100.0, more]))
        wp.capture_launch(inner.graph)
        wp.capture_if(flag, on_true=lambda: wp.launch(double, 1, [x]), on_false=lambda: x.fill_(-1.0))
    graph = saved(tmp_path, captured.graph, x=x, flag=flag)
    wp.capture_launch(graph)
    assert param(graph, "x", 1).tolist() == [512.0]
    graph.set_param("flag", wp.zeros(1, dtype=int))
    wp.capture_launch(graph)
    assert param(graph, "x", 1).tolist() == [-1.0]


def test_copies_fills_and_algorithms(tmp_path):
    a = np.random.default_rng(2).normal(size=(6, 5)).astype(np.float32)
    source, target, gaps = wp.array(a, dtype=float), wp.zeros((5, 6)), wp.zeros((6, 5))
    keys, order = wp.array([5, 1, 4, 2, 3, 0, 0, 0, 0, 0], dtype=int), wp.array(np.arange(10), dtype=int)
    sums, scanned, doubles = wp.zeros(1), wp.zeros(30), wp.zeros(30, dtype=wp.float64)
    with wp.ScopedCapture(apic=True) as captured:
        wp.copy(target, source.transpose())
        gaps[:, ::2].fill_(3.0)
        gaps[1].assign(source[0])
        wp.utils.radix_sort_pairs(keys, order, 5)
        wp.utils.array_sum(source.flatten(), out=sums)
        wp.utils.array_scan(source.flatten(), scanned, inclusive=True)
        wp.utils.array_cast(source.flatten(), doubles)
    named = {"target": target, "gaps": gaps, "keys": keys, "sums": sums, "scanned": scanned, "doubles": doubles}
    graph = saved(tmp_path, captured.graph, **named)
    wp.capture_launch(graph)
    right = np.zeros((6, 5), np.float32)
    right[:, ::2], right[1] = 3.0, a[0]
    np.testing.assert_array_equal(param(graph, "target", (5, 6)), a.T)
    np.testing.assert_array_equal(param(graph, "gaps", (6, 5)), right)
    assert param(graph, "keys", 10, int)[:5].tolist() == [1, 2, 3, 4, 5]
    np.testing.assert_allclose(param(graph, "sums", 1), a.sum(), rtol=1e-5)
    np.testing.assert_allclose(param(graph, "scanned", 30), np.cumsum(a), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(param(graph, "doubles", 30, wp.float64), a.ravel().astype(np.float64))


def test_gradients_are_a_part_of_the_graph(tmp_path):
    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    y = wp.zeros(1, requires_grad=True)
    with wp.ScopedCapture(apic=True) as captured:
        tape = wp.Tape()
        with tape:
            wp.launch(total, 3, [x, y])
        tape.backward(y)
    graph = saved(tmp_path, captured.graph, x=x, slope=x.grad)
    wp.capture_launch(graph)
    assert param(graph, "slope", 3).tolist() == [1.0, 1.0, 1.0]


# -- what cannot be saved -------------------------------------------------------------------------------------------


def test_what_cannot_be_saved_says_why(tmp_path):
    path, x = str(tmp_path / "no"), wp.zeros(3)
    with wp.ScopedCapture() as captured:
        wp.launch(double, 3, [x])
    with pytest.raises(RuntimeError, match=r"captured without apic=True"):
        wp.capture_save(captured.graph, path)
    with pytest.raises(TypeError, match="expected the graph of a capture, got int"):
        wp.capture_save(5, path)
    with wp.ScopedCapture(apic=True) as captured:
        wp.launch(double, 3, [x])
    with pytest.raises(TypeError, match=r"'x': expected a wp\.array, got list"):
        wp.capture_save(captured.graph, path, inputs={"x": [1.0]})
    a = wp.zeros((2, 2))
    with wp.ScopedCapture(apic=True) as captured:
        wp.matmul(a, a, a, wp.zeros((2, 2)))
    with pytest.raises(RuntimeError, match=r"the node 'product of .*only launches, copies, fills"):
        wp.capture_save(captured.graph, path)
    assert not list(tmp_path.iterdir())


def test_structures_are_refused(tmp_path):
    @wp.kernel
    def near(mesh: wp.uint64, out: wp.array(dtype=float)):
        i = wp.tid()
        out[i] = wp.mesh_eval_position(mesh, 0, 0.5, 0.25)[0]

    mesh = wp.Mesh(wp.zeros(3, dtype=wp.vec3), wp.array([0, 1, 2], dtype=int))
    with wp.ScopedCapture(apic=True) as captured:
        wp.launch(near, 2, [mesh.id, wp.zeros(2)])
    with pytest.raises(RuntimeError, match=r"the node 'near .*finds a mesh, tree, hash grid or volume by an id"):
        wp.capture_save(captured.graph, str(tmp_path / "no"))


# -- files from outside ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    x, more, whole = wp.ones(1), wp.ones(1, dtype=int), wp.zeros((4, 4))
    with wp.ScopedCapture(apic=True) as captured:
        wp.capture_while(more, lambda: wp.launch(until, 1, [x, 100.0, more]))
        whole[:, ::2].fill_(3.0)
        wp.copy(wp.zeros((4, 4)), whole.transpose())
        wp.utils.array_scan(whole.flatten(), wp.zeros(16))
    path = tmp_path_factory.mktemp("image") / "graph.wrp"
    wp.capture_save(captured.graph, str(path), inputs={"x": x})
    return path.read_bytes()


def test_bytes_load_as_files_do(image):
    for data in (image, bytearray(image), memoryview(image)):
        graph = wp.capture_load_from_bytes(data)
        wp.capture_launch(graph)
        assert param(graph, "x", 1).tolist() == [128.0]
    with pytest.raises(TypeError):
        wp.capture_load_from_bytes("text")


def test_cut_and_altered_bytes_are_refused(image):
    rng = random.Random(1)
    changed = [image[:n] for n in range(0, len(image), 97)] + [image + b"\0"]
    for _ in range(500):
        other = bytearray(image)
        other[rng.randrange(len(image))] ^= 1 << rng.randrange(8)
        changed.append(bytes(other))
    for data in changed:
        with pytest.raises(ValueError, match=r"the bytes are refused: .*Save the graph again with wp.capture_save"):
            wp.capture_load_from_bytes(data)


def signed(content: bytes) -> bytes:
    """A file with a right checksum, as someone who means harm would write it."""
    head = graph_file.MAGIC + graph_file.FORMAT.to_bytes(4, "little")
    return head + blake2b(content, digest_size=32).digest() + content


def test_forged_bytes_are_refused_or_load(image):
    """Changes under a right checksum reach the table, which must not lead out of the memory of the graph."""
    content, rng = image[graph_file._CHECKED_FROM :], random.Random(2)
    size = int.from_bytes(content[:4], "little")
    for _ in range(3000):
        changed = bytearray(content)
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(4, size + 4)
            changed[at] = rng.choice(b'0123456789[]{},:"-ef') if rng.random() < 0.8 else rng.randrange(256)
        try:
            wp.capture_load_from_bytes(signed(bytes(changed)))
        except ValueError as why:
            assert "the bytes are refused" in str(why)


def mutated(table, rng):
    """Replace one value somewhere in a table."""
    at = table
    while True:
        key = rng.choice([*at]) if isinstance(at, dict) else rng.randrange(len(at))
        if isinstance(at[key], (dict, list)) and at[key] and rng.random() < 0.85:
            at = at[key]
            continue
        values = (None, -1, 0, 1, 7, 1 << 40, 1 << 70, 0.5, "", "ff", [], {}, [0, 0], True)
        at[key] = rng.choice(values)
        return table


def test_tables_of_other_values_are_refused_or_load(image):
    table, blobs = graph_file.from_bytes(image)
    text, rng = json.dumps(table), random.Random(3)
    for _ in range(4000):
        try:
            loaded_graph(mutated(json.loads(text), rng), blobs, "it")
        except graph_file.DamagedGraph:
            continue


def test_refusals_say_why(tmp_path, image, monkeypatch):
    with pytest.raises(ValueError, match=r"it is no graph that wp.capture_save has written"):
        wp.capture_load_from_bytes(b"x" * 100)
    with pytest.raises(FileNotFoundError):
        wp.capture_load(str(tmp_path / "nowhere"))
    table, blobs = graph_file.from_bytes(image)
    table["kernels"][0]["target"] = "avx9000"
    with pytest.raises(graph_file.DamagedGraph, match="its code is for avx9000, and this processor runs"):
        loaded_graph(table, blobs, "it")
    monkeypatch.setattr(artifact, "FORMAT", artifact.FORMAT + 1)
    with pytest.raises(ValueError, match=r"version .* of this package has written it, and this is version"):
        wp.capture_load_from_bytes(image)


@wp.kernel
def count_visits(visits: wp.array2d(dtype=int)):
    i, j = wp.tid()
    wp.atomic_add(visits, i, j, 1)


def test_indices_beyond_the_last_dimension_are_zero(tmp_path, monkeypatch):
    monkeypatch.setattr(wp.config, "dialect", "warp-lang")
    visits = wp.zeros((4, 2), dtype=int)
    with wp.ScopedCapture(apic=True) as captured:
        wp.launch(count_visits, dim=3, inputs=[visits])
    graph = saved(tmp_path, captured.graph, visits=visits)
    wp.capture_launch(graph)
    graph.get_param("visits", visits)
    assert visits.numpy().tolist() == [[1, 0], [1, 0], [1, 0], [0, 0]]
