"""Where kernels come from: files, text, `python -c`, the prompt; and what stays apart."""

import doctest
import gc
import importlib
import linecache
import py_compile
import subprocess
import sys
import threading
import zipfile

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_kernel
from tests.lang.terminal import typed

PROGRAM = """
import omni.warp_core as wp
from omni.warp_core.front.lower import lower_kernel

@wp.kernel
def k(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 2.0 * x[i]

print([op.code for op in lower_kernel(k).body.walk()])
"""
CODES = ["tid", "const", "load", "mul", "store", "return"]


def python(*args, **kwargs):
    return subprocess.run([sys.executable, *args], capture_output=True, text=True, check=False, **kwargs)


def test_command_line_string():
    done = python("-c", PROGRAM)
    assert sorted(eval(done.stdout)) == sorted(CODES), done.stderr


def test_command_line_string_that_runs_another():
    done = python("-c", f"text = {PROGRAM!r}\nexec(text)")
    assert sorted(eval(done.stdout)) == sorted(CODES), done.stderr


def test_standard_input_from_a_file(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    with open(path) as f:
        done = python("-", stdin=f)
    assert sorted(eval(done.stdout)) == sorted(CODES), done.stderr


def test_standard_input_from_a_pipe_says_what_to_do():
    done = python("-", input=PROGRAM)
    assert "the source of `k` is not available" in done.stderr
    assert "wp.kernel_from_source" in done.stderr


TYPED = """\
import omni.warp_core as wp
@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] += 1.0

x = wp.ones(3, dtype=float)
wp.launch(k, 3, inputs=[x])
@wp.kernel
def k(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 50.0 * x[i]

wp.launch(k, 3, inputs=[x])
print(sum(x.list()) * 3.0)
@wp.kernel
def k(x: wp.array(dtype=float)):
    x[0] = nothing

wp.launch(k, 3, inputs=[x])
"""


def test_prompt():
    """Definitions typed one after the other under one name, the last one with a mistake."""
    shown = typed(["-iq"], TYPED.splitlines(), "^^^^^^^\r\n>>>")
    assert "900.0" in shown, shown
    assert ":3:12" in shown and "3 |     x[0] = nothing" in shown.replace("\r", ""), shown


@pytest.mark.cpu
def test_ipython_prompt():
    lines = [*TYPED.splitlines()[:7], "print(sum(x.list()) * 3.0)"]
    shown = typed(["-m", "IPython", "--simple-prompt", "--no-banner", "--no-autoindent"], lines, "18.0")
    assert "18.0" in shown, shown


def run(text, filename, how=exec):
    space = {"__name__": "__main__"}
    how(compile(text, filename, "exec"), space)
    return space


TEXT = PROGRAM.split("print")[0]


@pytest.mark.parametrize("filename", ["<string>", "name", __file__])
def test_text_given_to_exec(filename):
    text = "\n" * 5 + TEXT.replace("    x[i] = 2.0", "    x[i] = missing")
    with pytest.raises(wp.CompileError) as caught:
        lower_kernel(run(text, filename)["k"])
    (found,) = caught.value.diagnostics
    assert (found.place.span.line, found.place.text) == (13, "    x[i] = missing * x[i]\n")


@pytest.mark.filterwarnings("ignore::omni.warp_core.KernelWarning")  # of a race
def test_a_failure_in_text_given_to_exec_shows_its_line(monkeypatch):
    monkeypatch.setattr(wp.config, "mode", "debug")
    kernel = run(TEXT.replace("    x[i] = 2.0", "    x[i + 1] = 2.0"), "<string>")["k"]
    with pytest.raises(wp.KernelError, match=r"\| +x\[i \+ 1\] = 2\.0"):
        wp.launch(kernel, dim=1, inputs=[wp.ones(1, dtype=float)])


def test_text_given_to_exec_is_told_from_others_alike():
    texts = [TEXT.replace("2.0", number) for number in ("3.0", "4.0", "5.0")]
    (four,) = [op.attr for op in lower_kernel(run(texts[1], "<string>")["k"]).body.walk() if op.code == "const"]
    assert four == 4.0


def test_text_given_to_exec_as_bytes_with_inherited_future():
    data = TEXT.encode()
    space = {"__name__": "__main__"}
    exec(compile("from __future__ import annotations\n", "<string>", "exec"), space)
    exec(data, space)
    assert lower_kernel(space["k"]).name == "k"


def test_zip_archive(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "package.zip", "w") as archive:
        archive.writestr("zipped_kernels.py", TEXT)
    monkeypatch.syspath_prepend(str(tmp_path / "package.zip"))
    import zipped_kernels

    assert lower_kernel(zipped_kernels.k).name == "k"


def test_compiled_file_without_source(tmp_path, monkeypatch):
    path = tmp_path / "only_compiled.py"
    path.write_text("\n" + TEXT)
    py_compile.compile(path, tmp_path / "only_compiled.pyc")
    path.unlink()
    monkeypatch.syspath_prepend(tmp_path)
    import only_compiled

    with pytest.raises(wp.CompileError, match="the source of `k` is not available"):
        lower_kernel(only_compiled.k)


def documented():
    """An example with a kernel.

    >>> import omni.warp_core as wp
    >>> @wp.kernel
    ... def k(x: wp.array(dtype=float)):
    ...     x[wp.tid()] = 3.0
    >>> x = wp.zeros(2, dtype=float)
    >>> wp.launch(k, 2, inputs=[x])
    >>> x.list()
    [3.0, 3.0]
    """


def test_doctest():
    (test,) = doctest.DocTestFinder().find(documented, globs={})
    assert doctest.DocTestRunner().run(test).failed == 0


def test_notebook_cell(tmp_path):
    """A cell is a file name known to linecache only, like IPython's."""
    import linecache

    text = PROGRAM.split("print")[0]
    linecache.cache["<ipython-input-1>"] = (len(text), None, text.splitlines(True), "<ipython-input-1>")
    space = {"__name__": "__main__"}
    exec(compile(text, "<ipython-input-1>", "exec"), space)
    assert lower_kernel(space["k"]).name == "k"


def test_text_reports_lines_of_the_text():
    text = "import omni.warp_core as wp\n\n@wp.kernel\ndef k(n: int):\n    m = n + 0.5\n"
    with pytest.raises(wp.CompileError) as caught:
        lower_kernel(wp.kernel_from_source(text, filename="/Graph/node", first_line=10))
    (found,) = caught.value.diagnostics
    assert (found.place.span.file, found.place.span.line) == ("/Graph/node", 14)
    assert "--> /Graph/node:14:9" in str(caught.value)


def test_later_edits_of_the_file_change_nothing(tmp_path, monkeypatch):
    path = tmp_path / "edited.py"
    path.write_text(PROGRAM.split("print")[0])
    monkeypatch.syspath_prepend(tmp_path)
    import edited

    path.write_text("# something else\n" * 20)
    assert [op.code for op in lower_kernel(edited.k).body.walk()].count("mul") == 1


def test_a_mistake_leaves_other_kernels_alone():
    @wp.kernel
    def bad(x: wp.array(dtype=float)):
        x[0] = nothing  # noqa: F821

    @wp.kernel
    def good(x: wp.array(dtype=float)):
        x[0] = 1.0

    with pytest.raises(wp.CompileError):
        lower_kernel(bad)
    assert lower_kernel(good).name == "good"


def test_redefinition():
    def make(value):
        @wp.kernel
        def k(x: wp.array(dtype=float)):
            x[0] = value

        return k

    stored = [[op.attr for op in lower_kernel(make(v)).body.walk() if op.code == "const"] for v in (1.0, 2.0)]
    assert stored == [[0, 1.0], [0, 2.0]] or stored == [[1.0, 0], [2.0, 0]]


def test_reloaded_module(tmp_path, monkeypatch):
    path = tmp_path / "reloaded_kernels.py"
    path.write_text(TEXT)
    monkeypatch.syspath_prepend(tmp_path)
    import reloaded_kernels as module

    first, x = module.k, wp.ones(2, dtype=float)
    old = wp.launch(first, 2, inputs=[x], record_cmd=True)
    path.write_text("# a line more\n" + TEXT.replace("2.0", "10.0"))
    importlib.reload(module)
    wp.launch(module.k, 2, inputs=[x])
    assert x.list() == [10.0, 10.0]
    old.launch()
    assert x.list() == [20.0, 20.0]


def test_recorded_launch_outlives_its_kernel_in_another_thread():
    text = "import omni.warp_core as wp\n@wp.kernel\ndef k(x: wp.array(dtype=int)):\n    x[wp.tid()] += {}\n"
    x = wp.zeros(1000, dtype=int)
    old = wp.launch(wp.kernel_from_source(text.format(1)), 1000, inputs=[x], record_cmd=True)
    times = 300
    thread = threading.Thread(target=lambda: [old.launch() for _ in range(times)])
    thread.start()
    y = wp.zeros(1000, dtype=int)
    for i in range(2, 7):
        wp.launch(wp.kernel_from_source(text.format(i)), 1000, inputs=[y])
    thread.join()
    assert np.array_equal(x.numpy(), np.full(1000, times))
    assert np.array_equal(y.numpy(), np.full(1000, sum(range(2, 7))))


def test_odd_layouts():
    @wp.kernel
    def k(
        x: wp.array(dtype=float),
    ):
        i = wp.tid()
        x[
            i
        ] = (
            1.0 +
2.0
)  # fmt: skip
        # a comment

    assert lower_kernel(k).name == "k"


@wp.func
def with_a_docstring_alone(
    x: float,
):
    """A docstring alone: compiled code does not tell where such a definition ends."""


@wp.kernel
def calls_it(x: wp.array(dtype=float)):
    with_a_docstring_alone(x[wp.tid()])


def test_a_docstring_alone_is_a_body():
    assert with_a_docstring_alone.source.block()[-1].strip().startswith('"""A docstring alone')
    wp.launch(calls_it, dim=1, inputs=[wp.zeros(1, dtype=float)])


def test_options():
    @wp.kernel(enable_backward=False, module="unique", lanes=1)
    def k(x: wp.array(dtype=float)):
        x[0] = 1.0

    assert (k.enable_backward, k.lanes, k.options, k.module.name) == (False, 1, {"enable_backward": False}, k.key)
    with pytest.raises(TypeError, match="did you mean 'lanes'"):
        wp.kernel(lane=1)
    with pytest.raises(TypeError, match=r"wp.launch\(k"):
        k(1)


QUOTED = """
import typing
import omni.warp_core as wp

def make():
    T = wp.float32
    def inner():
        U = "wp.array(dtype=T)"
        @wp.struct
        class S:
            a: "wp.vec3"
            b: "typing.Any" if False else "float"
        @wp.func
        def f(x: "T", s: "S") -> "T":
            return x + s.b
        @wp.kernel
        def k(x: "wp.array(dtype=float)", y: "'wp.array(dtype=T)'", s: "S", t: "Later", n: " int"):
            y[0] = f(x[0], s) + t.c
        @wp.struct
        class Later:
            c: "float"
        return k
    k = inner()
    k.params
    return k
k = make()
"""


@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
def test_annotations_in_quotes(future):
    """Of locals, of locals of the function around it, of names that come later, and in quotes twice."""
    k = wp.kernel_from_source(future + QUOTED)
    types = k.arg_types
    assert types["x"] is types["y"]
    assert [t.name for t in (types["s"], types["t"])] == ["S", "Later"]
    assert lower_kernel(k).name == "k"


def test_quoted_annotations_of_a_loop_keep_their_values():
    made = []
    for T in (wp.float32, wp.float64):  # noqa: B007

        @wp.kernel
        def k(x: "wp.array(dtype=T)"):
            x[0] = x[1]

        made.append(k)
    assert [str(k.params[0][1].dtype.key) for k in made] == ["f32", "f64"]


def test_lambda_says_what_to_write():
    with pytest.raises(wp.CompileError, match="write `def`"):
        lower_kernel(wp.kernel(lambda: None))


def test_stacked_decorators():
    def same(f):
        return f

    @wp.kernel
    @same
    def k(x: wp.array(dtype=float)):
        x[0] = 1.0

    @same
    @wp.kernel
    @same
    def h(x: wp.array(dtype=float)):
        x[0] = 1.0

    assert (lower_kernel(k).name, lower_kernel(h).name) == ("k", "h")


def test_redefined_functions_reach_kernels_launched_before():
    space = {"wp": wp, "__name__": "redefined"}
    exec(
        """
@wp.func
def f(x: float):
    return x + 1.0

@wp.kernel
def k(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = f(x[i])
""",
        space,
    )
    x = wp.zeros(2, dtype=float)
    wp.launch(space["k"], 2, inputs=[x])
    recorded = wp.launch(space["k"], 2, inputs=[x], record_cmd=True)
    exec("@wp.func\ndef f(x: float):\n    return x + 100.0\n", space)
    wp.launch(space["k"], 2, inputs=[x])
    assert x.list() == [101.0, 101.0]
    recorded.launch()
    assert x.list() == [102.0, 102.0]


def test_the_text_of_a_kernel_goes_with_its_kernel():
    text = "import omni.warp_core as wp\n@wp.kernel\ndef k(x: wp.array[float]):\n    x[0] = 1.0\n"
    first = wp.kernel_from_source(text, filename="<goes>")
    assert linecache.getline("<goes>", 4) == "    x[0] = 1.0\n"
    second = wp.kernel_from_source(text, filename="<goes>")
    wp.launch(first, 1, [wp.zeros(1, dtype=float)])
    del first
    gc.collect()
    assert linecache.getline("<goes>", 4) == "    x[0] = 1.0\n"
    del second
    gc.collect()
    assert "<goes>" not in linecache.cache
    with pytest.raises(ZeroDivisionError):
        wp.kernel_from_source("1 / 0", filename="<fails>")
    gc.collect()
    assert "<fails>" not in linecache.cache
