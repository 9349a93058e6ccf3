"""Debug mode: a failing thread becomes an exception that tells kernel, line, thread and values."""

import contextlib
import importlib.util
import pathlib

import numpy as np
import pytest

import omni.warp_core as wp

pytestmark = pytest.mark.filterwarnings("ignore::omni.warp_core.KernelWarning")  # of `/` on integers


@pytest.fixture(autouse=True)
def debug(tmp_path, monkeypatch):
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path / "cache"))
    monkeypatch.setattr(wp.config, "mode", "debug")


@wp.kernel
def shifted(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i + 2] = 1.0  # shifted


@wp.kernel
def shifted_2d(a: wp.array2d(dtype=float)):
    i, j = wp.tid()
    a[i, j + 1] = 1.0


@wp.kernel
def divided(a: wp.array(dtype=int), b: wp.array(dtype=int)):
    i = wp.tid()
    a[i] = a[i] / b[i]  # divided


@wp.kernel
def rooted(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = wp.sqrt(a[i])  # rooted


@wp.kernel
def asserted(a: wp.array(dtype=int)):
    i = wp.tid()
    assert a[i] < 10  # asserted
    a[i] = a[i] + 1


@wp.func
def element(a: wp.array(dtype=float), k: int):
    return a[k]  # element


@wp.kernel
def calls(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = element(a, i * 5)


def line_of(mark):
    with open(__file__) as f:
        return next(n for n, text in enumerate(f, 1) if text.rstrip().endswith(f"# {mark}"))


def fail(kernel, dim, *args):
    with pytest.raises(wp.KernelError) as caught:
        wp.launch(kernel, dim, list(args))
    return caught.value


@pytest.mark.cpu
def test_an_index_out_of_range():
    a = np.zeros(100, np.float32)
    e = fail(shifted, 100, a)
    assert isinstance(e, IndexError)
    assert (e.kernel, e.kind, e.thread, e.values) == ("shifted", "bounds", (98,), (100, 100))
    assert (e.file, e.line) == (__file__, line_of("shifted"))
    text = str(e)
    assert "kernel `shifted`, thread 98: index 100 is out of range for dimension 0 of array 'a' of length 100" in text
    assert "a[i + 2] = 1.0" in text
    assert (a[2:] == 1).all()  # the other threads ran


def test_the_thread_index_has_the_launchs_dimensions():
    e = fail(shifted_2d, (3, 4), np.zeros((3, 4), np.float32))
    assert e.thread == (0, 3)
    assert "thread (0, 3)" in str(e)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_first_failing_thread_is_told_whatever_the_number_of_threads(monkeypatch, threads):
    monkeypatch.setattr(wp.config, "num_threads", threads)
    a, b = np.ones(500_000, np.int32), np.ones(500_000, np.int32)
    b[[123_457, 400_000]] = 0
    for _ in range(3):
        e = fail(divided, a.size, a, b)
        assert e.thread == (123_457,)


def test_division_by_zero():
    e = fail(divided, 3, np.full(3, 7, np.int32), np.array([1, 1, 0], np.int32))
    assert isinstance(e, ArithmeticError)
    assert (e.kind, e.thread, e.values, e.line) == ("division", (2,), (7,), line_of("divided"))


def test_nan_where_it_arises():
    e = fail(rooted, 4, np.array([1, 4, -9, np.nan], np.float32))
    assert (e.kind, e.thread, e.values, e.line) == ("nan", (2,), (-9.0,), line_of("rooted"))
    wp.launch(rooted, 1, [np.array([np.nan], np.float32)])  # a NaN that was there before is no failure


@wp.kernel
def several(x: wp.array(dtype=float), y: wp.array(dtype=float), at: wp.array(dtype=int)):
    i = wp.tid()
    y[i] = 1.0
    root = wp.sqrt(x[i])  # first
    ratio = x[i] / x[i]  # second
    away = ratio - (root - root) / x[i]  # third
    y[at[i]] = root + away  # fourth
    y[i] += 1.0


def test_the_first_of_several_failures_is_told():
    """Threads that fail at lines of their own, each at more than one: its first one counts."""
    infinite, far = np.inf, 99
    given = np.array([4.0, np.nan, -1.0, 0.0, infinite, 4.0], np.float32)
    at = np.array([0, far, 2, 3, far, far], np.int32)
    expected = {
        1: ("bounds", (far, 6), "fourth"),  # what was NaN before is no failure
        2: ("nan", (-1.0,), "first"),
        3: ("nan", (0.0, 0.0), "second"),
        4: ("nan", (infinite, infinite), "second"),
        5: ("bounds", (far, 6), "fourth"),
    }
    for thread, (kind, values, line) in expected.items():
        x, y, where = np.full(6, 4.0, np.float32), wp.zeros(6, dtype=float), np.arange(6, dtype=np.int32)
        x[thread:], where[thread:] = given[thread:], at[thread:]  # threads behind it fail too
        e = fail(several, 6, x, y, where)
        assert (e.thread, e.kind, e.values, e.line) == ((thread,), kind, values, line_of(line))
        assert y.numpy().tolist()[: thread + 1] == [4.0] * thread + [1.0]  # it stored before, and not behind


@wp.kernel
def in_branches(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    if x[i] > 0.0:
        y[i] = wp.sqrt(x[i]) + wp.log(x[i])
    else:
        y[i] = wp.sqrt(-x[i]) + 2.0 * wp.sqrt(x[i])  # where it is negative


def test_a_branch_that_a_thread_does_not_take_fails_for_others_only():
    e = fail(in_branches, 5, np.array([1.0, 4.0, 0.0, -4.0, 9.0], np.float32), y := wp.zeros(5, dtype=float))
    assert (e.thread, e.values, e.line) == ((3,), (-4.0,), line_of("where it is negative"))
    assert np.allclose(y.numpy(), [1.0, 2.0 + np.log(4.0), 0.0, 0.0, 3.0 + np.log(9.0)])


@wp.func
def quotient(x: float):
    less = x - 1.0
    return (x * x - 1.0) / less + less / less  # inside


@wp.kernel
def of_quotients(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = quotient(x[i]) * wp.sqrt(x[i])  # outside


@wp.kernel
def alternatives(x: wp.array(dtype=float), n: wp.array(dtype=int), out: wp.array2d(dtype=float)):
    i = wp.tid()
    a, k = x[i], n[i]
    if a != 0.0 and a / a > 0.5:
        out[i, 0] = 1.0
    out[i, 1] = 0.0 if a == 0.0 or a / a > 2.0 else 1.0
    q = a
    if a > 0.0:
        q = -a
        if k != 0:
            q = a / a + 1.0 + float(7 // k) + float(7 % k)
    out[i, 2] = q
    out[i, 3] = wp.where(a >= 0.0, wp.sqrt(a), -1.0)
    v = wp.vec3(a, a, a)
    out[i, 4] = (v / a if a != 0.0 else v)[0]


def test_what_is_computed_for_a_discarded_alternative_does_not_fail():
    x, n, out = np.array([1.0, 0.0, -1.0, 2.0], np.float32), [0, 0, 3, 2], wp.zeros((4, 5), dtype=float)
    wp.launch(alternatives, dim=4, inputs=[x, wp.array(n, dtype=int), out])
    expected = [[1, 1, -1, 1, 1], [0, 0, 0, 0, 0], [1, 1, -1, -1, 1], [1, 1, 6, np.sqrt(2), 1]]
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-6)


@wp.kernel
def chosen(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    q = x[i]
    if x[i] >= 0.0:
        q = x[i] / x[i]  # chosen
    out[i] = q


def test_a_chosen_alternative_fails():
    with pytest.raises(wp.KernelError, match="thread 2") as failed:
        wp.launch(chosen, dim=3, inputs=[np.array([1.0, -1.0, 0.0], np.float32), wp.zeros(3, dtype=float)])
    assert "# chosen" in str(failed.value)


def test_a_failure_inside_a_function_comes_before_those_of_its_caller():
    y = np.zeros(4, np.float32)
    e = fail(of_quotients, 4, np.array([2.0, 1.0, -1.0, 3.0], np.float32), y)
    assert (e.thread, e.values, e.line) == ((1,), (0.0, 0.0), line_of("inside"))
    e = fail(of_quotients, 4, np.array([2.0, 4.0, -1.0, 1.0], np.float32), y)
    assert (e.thread, e.values, e.line) == ((2,), (-1.0,), line_of("outside"))


@pytest.mark.cpu
def test_assert():
    a = np.array([1, 20, 3], np.int32)
    e = fail(asserted, 3, a)
    assert isinstance(e, AssertionError)
    assert (e.kind, e.thread, e.line, e.values) == ("assert", (1,), line_of("asserted"), (20,))  # no constants
    assert a.tolist() == [2, 20, 4]  # the failing thread left at the assert


@wp.kernel
def guarded(x: wp.array(dtype=float), limit: float):
    i = wp.tid()
    assert x[i] < limit, "too large"
    x[i] += 1.0


def test_launches_after_one_that_failed(device):
    x = wp.array([1.0, 9.0, 2.0], dtype=float)
    with pytest.raises(wp.KernelError, match="too large") as why:
        wp.launch(guarded, dim=3, inputs=[x, 5.0])
    assert "thread 1" in str(why.value)
    wp.launch(guarded, dim=3, inputs=[x, 50.0])
    assert x.list()[1] == 10.0


def test_a_failure_inside_a_function_is_told_at_its_line():
    e = fail(calls, 4, np.zeros(8, np.float32))
    assert (e.thread, e.line) == ((2,), line_of("element"))


def test_strided_arrays_fail_alike():
    a = np.zeros(200, np.float32)[::2]
    e = fail(shifted, 100, a)
    assert (e.thread, e.line, e.values) == ((98,), line_of("shifted"), (100, 100))


def test_recorded_launches_fail_too():
    cmd = wp.launch(shifted, 4, [np.zeros(8, np.float32)], record_cmd=True)
    cmd.launch()
    cmd.set_dim(8)
    with pytest.raises(wp.KernelError, match="thread 6"):
        cmd.launch()


def test_release_mode_checks_nothing(monkeypatch):
    monkeypatch.setattr(wp.config, "mode", "release")
    a = np.array([1, 20, 3], np.int32)
    wp.launch(asserted, 3, [a])
    assert a.tolist() == [2, 21, 4]
    wp.launch(divided, 3, [a, np.zeros(3, np.int32)])
    assert a.tolist() == [0, 0, 0]
    monkeypatch.setattr(wp.config, "mode", "debug")
    fail(asserted, 1, np.full(1, 11, np.int32))


def test_one_kernel_may_ask_for_debug_mode(monkeypatch):
    monkeypatch.setattr(wp.config, "mode", "release")

    @wp.kernel(module_options={"mode": "debug"})
    def careful(a: wp.array(dtype=int)):
        a[wp.tid()] = 1

    fail(careful, 2, np.zeros(1, np.int32))
    with pytest.raises(wp.KernelError):
        monkeypatch.setattr(wp.config, "verify_fp", True)
        wp.launch(rooted, 1, [np.array([-1.0], np.float32)])


def test_a_module_may_ask_for_debug_mode(monkeypatch):
    monkeypatch.setattr(wp.config, "mode", "release")
    a = np.ones(2, np.int32)
    wp.launch(divided, 2, [a, np.zeros(2, np.int32)])
    assert wp.get_module_options()["mode"] is None
    wp.set_module_options({"mode": "debug", "enable_backward": False})
    try:
        fail(divided, 2, a, np.zeros(2, np.int32))
        assert wp.get_module_options(__name__)["enable_backward"] is False
        assert wp.get_module_options("numpy")["mode"] is None
    finally:
        wp.set_module_options({"mode": None})
    wp.launch(divided, 2, [a, np.zeros(2, np.int32)])
    for options, words in (({"modes": "debug"}, "did you mean 'mode'"), ({"mode": "interpret"}, "one of None, 'rel")):
        with pytest.raises(ValueError, match=words):
            wp.set_module_options(options)
    with pytest.raises(ValueError, match="no module 'nowhere'"):
        wp.get_module_options("nowhere")


def test_lines_follow_the_file_even_when_the_code_is_cached(tmp_path):
    source = "import omni.warp_core as wp\n{}@wp.kernel\ndef k(a: wp.array(dtype=int)):\n    a[wp.tid() + 1] = 1\n"
    lines = []
    for i, space in enumerate(["", "\n\n\n"]):
        kernel = wp.kernel_from_source(source.format(space), filename=f"<text {i}>")
        lines.append(fail(kernel, 1, np.zeros(1, np.int32)).line)
    assert lines == [4, 7]


@pytest.mark.cpu
@pytest.mark.parametrize("tape", [None, wp.Tape])
def test_a_traceback_ends_at_the_line_of_the_launch(tape):
    kernel = wp.kernel_from_source(
        "import omni.warp_core as wp\n@wp.kernel\ndef k(a: wp.array(dtype=float)):\n    a[wp.tid() + 2] = 1.0\n"
    )
    recorded = wp.launch(kernel, dim=1, inputs=[wp.zeros(3, dtype=float)], record_cmd=True)
    recorded.set_dim(2)

    def launch(*args):
        with (tape or contextlib.nullcontext)():
            wp.launch(kernel, dim=2, inputs=args)

    short = wp.zeros(3, dtype=float)
    for expected, failing in (
        (wp.KernelError, lambda: launch(short)),  # the first launch, and one that native code does by itself
        (wp.KernelError, lambda: launch(short)),
        (wp.KernelError, recorded.launch),
        (TypeError, launch),
        (TypeError, lambda: launch("a")),
    ):
        with pytest.raises(expected) as caught:
            failing()
        assert {str(entry.path) for entry in caught.traceback} == {__file__}


@pytest.mark.cpu
def test_the_first_launch_refuses_an_argument_at_the_users_line():
    kernel = wp.kernel_from_source("import omni.warp_core as wp\n@wp.kernel\ndef k(v: wp.vec3):\n    pass\n")
    with pytest.raises(TypeError, match="argument `v` expects vec3f, got vec3d") as caught:
        wp.launch(kernel, dim=1, inputs=[wp.vec3d(1.0, 2.0, 3.0)])
    assert [str(entry.path) for entry in caught.traceback] == [__file__]


MOVED = """
import omni.warp_core as wp


@wp.func
def nearest(mesh: wp.uint64):
    return wp.mesh_query_point(mesh, wp.vec3(), 1.0).u


@wp.kernel
def moved(mesh: wp.uint64, out: wp.array(dtype=float)):
    out[0] = nearest(mesh)
"""


def test_a_kernel_of_the_cache_names_the_line_where_its_code_stands_now(tmp_path, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", "release")
    cached = []
    for above in (0, 3, 1):
        file = tmp_path / f"moved_by_{above}.py"
        file.write_text("# a comment\n" * above + MOVED)
        spec = importlib.util.spec_from_file_location(f"moved_by_{above}", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        with pytest.raises(wp.KernelError, match=r"return wp\.mesh_query_point") as found:
            wp.launch(module.moved, 1, [0, wp.zeros(1, dtype=float)])
        assert (found.value.file, found.value.line) == (str(file), 7 + above)
        cached.append(sorted(path for path in pathlib.Path(wp.config.kernel_cache_dir).rglob("*") if path.is_file()))
    assert cached[0] and cached[0] == cached[1] == cached[2]  # it was compiled once
