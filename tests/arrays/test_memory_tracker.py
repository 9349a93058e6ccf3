"""Reports of memory: the numbers are those of arrays that the test makes."""

import gc
import io
import re

import numpy as np
import pytest

import omni.warp_core as wp


@pytest.fixture(autouse=True)
def _nothing_tracked():
    gc.collect()
    wp.ScopedMemoryTracker().clear()
    yield
    wp.ScopedMemoryTracker().clear()


@pytest.fixture
def tracked(monkeypatch):
    monkeypatch.setattr(wp.config, "track_memory", True)


def report(**options) -> list[str]:
    out = io.StringIO()
    wp.print_memory_report(file=out, **options)
    return out.getvalue().splitlines()


def row(lines, title) -> str:
    return lines[lines.index(title) + 1].strip()


def test_live_and_peak(tracked, device):
    where = device.alias
    kept = wp.zeros(1000, dtype=wp.vec3)
    gone = wp.empty(5000, dtype=wp.float64)
    del gone
    small = wp.ones(8, dtype=wp.uint8)
    lines = report()
    assert row(lines, "  Total allocations:") == f"{where:<16} 3 ({52008 / 1024:.2f} KB)"
    assert row(lines, "  Peak usage:") == f"{where:<16} {52000 / 1024:.2f} KB"
    assert row(lines, "  Live allocations:") == f"{where:<16} 2 ({12008 / 1024:.2f} KB)"
    largest, smallest = lines[-2:]
    assert re.fullmatch(
        rf"    11.72 KB : {where} : array\[vec3f, 1000\] : .*test_memory_tracker.py:\d+ : zeros\(\)", largest
    )
    assert re.fullmatch(rf"    8 B : {where} : array\[uint8, 8\] : .*test_memory_tracker.py:\d+ : ones\(\)", smallest)
    del kept, small
    assert row(report(), "  Live allocations:") == "(none)"


@pytest.mark.cpu
def test_views_take_no_memory_and_keep_it(tracked):
    view = wp.zeros(100, dtype=float)[10:20]
    lines = report()
    assert row(lines, "  Live allocations:") == f"{'cpu':<16} 1 (400 B)"
    assert view.size == 10


def test_order_and_number_of_rows(tracked):
    small, large, many = wp.zeros(1), wp.zeros(100), [wp.zeros(20) for _ in range(3)]
    by_size = [line.split(" : ")[0].strip() for line in report()[-3:]]
    assert by_size == ["400 B", "240 B in 3", "4 B"]
    by_time = [line.split(" : ")[0].strip() for line in report(sort="chronological")[-3:]]
    assert by_time == ["4 B", "400 B", "240 B in 3"]
    assert len(report()) - len(report(max_items=1)) == 2
    with pytest.raises(ValueError, match="sort: expected 'size' or 'chronological', got 'name'"):
        report(sort="name")
    assert small and large and many


@pytest.mark.cpu
def test_scopes(capsys):
    texts = []
    with wp.ScopedMemoryTracker("outer", report_func=texts.append) as outer:
        a = wp.zeros(256, dtype=float)
        with wp.ScopedMemoryTracker("inner", print=False):
            b = wp.zeros(512, dtype=float)
            del b
        with wp.ScopedMemoryTracker("off", active=False):
            c = wp.zeros(1, dtype=float)
    untracked = wp.zeros(10_000, dtype=float)
    assert capsys.readouterr().out == ""
    assert texts[0].splitlines() == report()
    lines = report()
    at = lines.index("  Scope breakdown:")
    assert [line.strip() for line in lines[at + 1 : at + 5]] == [
        "outer:",
        "cpu: 2 allocs, 1.00 KB, at most 1.00 KB, 2 live (1.00 KB)",
        "outer/inner:",
        "cpu: 1 allocs, 2.00 KB, at most 2.00 KB, 0 live (0 B)",
    ]
    outer.report()
    assert capsys.readouterr().out == texts[0]
    outer.clear()
    del a
    outer.report()
    assert "(none)" in capsys.readouterr().out
    assert c.size and untracked.size


def test_without_tracking():
    x = wp.zeros(3)
    with pytest.raises(RuntimeError, match=r"no memory was tracked: set wp.config.track_memory = True"):
        wp.print_memory_report()
    assert x.size


def test_copies_that_a_tape_keeps(tracked):
    @wp.kernel
    def square(x: wp.array[float], y: wp.array[float]):
        y[wp.tid()] = x[wp.tid()] * x[wp.tid()]

    x = wp.ones(1000, dtype=float, requires_grad=True)
    y = wp.zeros(1000, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(square, dim=1000, inputs=[x, y])
        x.fill_(3.0)
    assert any("copy of an array" in line and line.startswith("    3.91 KB") for line in report())
    tape.backward(grads={y: wp.ones(1000, dtype=float)})
    assert (x.grad.numpy() == 2.0).all()


@pytest.mark.cpu
def test_the_option_is_checked_and_ends(monkeypatch):
    with pytest.raises(ValueError, match="track_memory = 'yes': it must be True or False"):
        wp.config.track_memory = "yes"
    wp.config.track_memory = True
    a = wp.array(np.zeros(4, np.float32))
    wp.config.track_memory = False
    b = wp.array(np.zeros(4, np.float32))
    assert row(report(), "  Total allocations:") == f"{'cpu':<16} 1 (16 B)"
    assert a.size == b.size
