"""Timings and traces: which activities they have, where, and that one lies within another."""

import json

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.devices import timeline


@wp.kernel
def scale(x: wp.array[float], y: wp.array[float], by: float):
    i = wp.tid()
    y[i] = by * x[i]


@pytest.fixture
def arrays(device):
    x, y = (wp.ones(1000, dtype=float) for _ in range(2))
    wp.launch(scale, dim=1000, inputs=[x, y, 2.0])  # compiled
    with wp.ScopedCapture() as capture:
        wp.launch(scale, dim=1000, inputs=[x, y, 2.0])
    return x, y, capture.graph


def activities(results):
    return [(str(r.device), r.name, r.filter) for r in results]


def test_launches_fills_copies_and_algorithms(arrays, device):
    x, y, _ = arrays
    wp.timing_begin()
    wp.launch(scale, dim=1000, inputs=[x, y, 2.0])
    y.zero_()
    wp.copy(y, x)
    results = wp.timing_end()
    where = device.alias
    assert activities(results) == [
        (where, "kernel scale", wp.TIMING_KERNEL),
        (where, "memset", wp.TIMING_MEMSET),
        (where, "memcpy", wp.TIMING_MEMCPY),
    ]
    assert all(r.elapsed >= 0.0 for r in results)
    assert wp.timing_end() == []


@pytest.mark.cpu
def test_algorithms_of_the_cpu():
    x = wp.array(np.arange(1000), dtype=wp.int32)
    wp.timing_begin(wp.TIMING_KERNEL_BUILTIN)
    wp.utils.array_scan(x, x)
    (result,) = wp.timing_end()
    assert (result.name, result.filter) == ("builtin kernel scan", wp.TIMING_KERNEL_BUILTIN)


@pytest.mark.parametrize(
    ("filter", "kinds"),
    [(wp.TIMING_KERNEL, ["kernel scale"]), (wp.TIMING_MEMSET | wp.TIMING_MEMCPY, ["memset"]), (0, [])],
)
def test_filters(arrays, filter, kinds):
    x, y, _ = arrays
    wp.timing_begin(cuda_filter=filter, synchronize=False)
    wp.launch(scale, dim=1000, inputs=[x, y, 2.0])
    y.fill_(1.0)
    assert [r.name for r in wp.timing_end(synchronize=False)] == kinds


def test_graphs_are_one_activity(arrays, device):
    *_, graph = arrays
    wp.timing_begin()
    wp.capture_launch(graph)
    assert activities(wp.timing_end()) == [(device.alias, "graph", wp.TIMING_GRAPH)]
    wp.timing_begin(wp.TIMING_KERNEL)
    wp.capture_launch(graph)
    assert [r.name for r in wp.timing_end()] == (["kernel scale"] if device.is_cpu else [])


def test_recorded_launches_and_adjoints(arrays):
    x, y, _ = arrays
    x.requires_grad = y.requires_grad = True
    command = wp.launch(scale, dim=1000, inputs=[x, y, 2.0], record_cmd=True)
    seed = wp.ones(1000, dtype=float)
    wp.timing_begin(wp.TIMING_KERNEL)
    command.launch()
    with wp.Tape() as tape:
        wp.launch(scale, dim=1000, inputs=[x, y, 2.0])
    tape.backward(grads={y: seed})
    names = [r.name for r in wp.timing_end()]
    assert names[:2] == ["kernel scale"] * 2 and names[2:] == ["kernel adjoint of scale"]


def test_what_is_captured_has_not_run(arrays):
    x, y, _ = arrays
    wp.timing_begin(wp.TIMING_KERNEL)
    with wp.ScopedCapture():
        wp.launch(scale, dim=1000, inputs=[x, y, 2.0])
    assert wp.timing_end() == []


def test_beginning_again_begins_anew(arrays):
    x, y, _ = arrays
    wp.timing_begin()
    wp.launch(scale, dim=1000, inputs=[x, y, 2.0])
    wp.timing_begin()
    y.zero_()
    assert [r.name for r in wp.timing_end()] == ["memset"]
    assert not timeline._recordings and timeline.native.size() == 0


def test_launches_that_fail(monkeypatch):
    @wp.kernel
    def fail(x: wp.array[float]):
        assert x[0] > 1.0

    monkeypatch.setattr(wp.config, "mode", "debug")
    x = wp.zeros(1, dtype=float)
    wp.timing_begin(wp.TIMING_KERNEL)
    with pytest.raises(wp.KernelError):
        wp.launch(fail, dim=1, inputs=[x])
        wp.synchronize()
    wp.timing_end()
    assert timeline.native.size() == 0


def test_printed_results(capsys, device):
    make = wp.TimingResult
    results = [make(device, "kernel a", 1, 1.5), make(device, "memset", 8, 0.25), make(device, "kernel a", 1, 0.5)]
    wp.timing_print(results, indent="  ")
    rows = [line.removeprefix("  ").split(" | ") for line in capsys.readouterr().out.splitlines() if " ms |" in line]
    where = device.alias
    assert [[cell.strip() for cell in row] for row in rows] == [
        *(["1.500000 ms", where, "kernel a"], ["0.250000 ms", where, "memset"], ["0.500000 ms", where, "kernel a"]),
        *(["2.000000 ms", "2", "kernel a"], ["0.250000 ms", "1", "memset"]),
        ["2.250000 ms", "3", where],
    ]


def test_timers_with_a_filter(arrays, capsys, device):
    x, y, _ = arrays
    seen = []
    inner = wp.ScopedTimer("a", cuda_filter=wp.TIMING_ALL, report_func=lambda *args: seen.append(args))
    with wp.ScopedTimer("outer", print=False), inner as timer:
        wp.launch(scale, dim=1000, inputs=[x, y, 2.0])
    ((results, indent),) = seen
    assert results is timer.timing_results and activities(results) == [(device.alias, "kernel scale", 1)]
    assert indent == "\t"
    capsys.readouterr()
    with wp.ScopedTimer("b", cuda_filter=wp.TIMING_KERNEL):
        wp.launch(scale, dim=1000, inputs=[x, y, 2.0])
    printed = capsys.readouterr().out
    assert "Timeline:" in printed and "kernel scale" in printed and "b took" in printed


# -- traces ------------------------------------------------------------------------------------------------------------


def bars(path):
    events = json.loads(path.read_text())["traceEvents"]
    assert {event["ph"] for event in events} <= {"M", "X"}
    return [event for event in events if event["ph"] == "X"], [event for event in events if event["ph"] == "M"]


def within(inner, outer) -> bool:
    return outer["ts"] <= inner["ts"] and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"]


def test_a_trace(arrays, device, tmp_path):
    x, y, graph = arrays
    with wp.ScopedTrace(tmp_path / "trace.json"), wp.ScopedTimer("step", print=False):
        wp.launch(scale, dim=1000, inputs=[x, y, 2.0])
        y.zero_()
        wp.capture_launch(graph)
    done, titles = bars(tmp_path / "trace.json")
    named = {event["name"]: event for event in done}
    assert {"scale", "memset", "graph", "step"} <= set(named)
    assert all(event["ts"] >= 0.0 and event["dur"] >= 0.0 for event in done)
    scales = [event for event in done if event["name"] == "scale"]
    assert len(scales) == (2 if device.is_cpu else 1)
    assert scales[0]["args"] == {"threads": 1000} and named["memset"]["args"] == {"bytes": 4000}
    if device.is_cpu:
        assert within(scales[1], named["graph"])
        assert all(within(event, named["step"]) for event in done)
    rows = {title["args"]["name"] for title in titles}
    assert rows == {"omni.warp_core", "CPU, thread 1", *([] if device.is_cpu else [device.alias])}


@pytest.mark.cpu
def test_a_trace_has_what_compiles(tmp_path, monkeypatch):
    monkeypatch.setattr(wp.config, "cache_kernels", False)

    @wp.kernel
    def new(x: wp.array[float]):
        x[wp.tid()] = 1.0

    with pytest.raises(KeyError), wp.ScopedTrace(tmp_path / "trace.json"):
        wp.launch(new, dim=1, inputs=[wp.zeros(1, dtype=float)])
        raise KeyError
    assert "compile kernel new" in [event["name"] for event in bars(tmp_path / "trace.json")[0]]


@pytest.mark.cpu
def test_traces_and_timings_may_overlap(tmp_path):
    x, y = wp.ones(10, dtype=float), wp.zeros(10, dtype=float)
    wp.launch(scale, dim=10, inputs=[x, y, 2.0])
    wp.timing_begin()
    with wp.ScopedTrace(tmp_path / "trace.json"):
        wp.launch(scale, dim=10, inputs=[x, y, 2.0])
    y.zero_()
    assert [r.name for r in wp.timing_end()] == ["kernel scale", "memset"]
    assert [event["name"] for event in bars(tmp_path / "trace.json")[0]] == ["scale"]
