"""Where kernels come from: files, text, `python -c`, the prompt; and what stays apart."""

import subprocess
import sys

import pytest

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_kernel

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


def test_prompt_without_history_says_what_to_do():
    done = python("-", input=PROGRAM)
    assert "the source of `k` is not available" in done.stderr
    assert "wp.kernel_from_source" in done.stderr


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


def test_options():
    @wp.kernel(enable_backward=False, module="unique", lanes=1)
    def k(x: wp.array(dtype=float)):
        x[0] = 1.0

    assert (k.enable_backward, k.lanes, k.options) == (False, 1, {"module": "unique"})
    with pytest.raises(TypeError, match="did you mean 'lanes'"):
        wp.kernel(lane=1)
    with pytest.raises(TypeError, match=r"wp.launch\(k"):
        k(1)
