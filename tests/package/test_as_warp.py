"""`python -m omni.warp_core.as_warp`: programs that say `import warp` run as they would under Python itself."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from omni.warp_core import __version__

ROOT = Path(__file__).resolve().parents[2]
RUNNER = ("-m", "omni.warp_core.as_warp")

KERNEL = """\
import {imports}

@wp.kernel
def double(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 2.0 * x[i]

x = wp.ones(3, dtype=float)
wp.launch(double, dim=3, inputs=[x])
assert x.numpy().tolist() == [2.0, 2.0, 2.0]
"""
UNASSIGNED = """\
import warp as wp

@wp.kernel
def k(x: wp.array(dtype=float)):
    i = wp.tid()
    if i == 1:
        y = 1.0
    elif i == 2:
        y = 2.0
    x[i] = y

x = wp.zeros(4, dtype=float)
wp.launch(k, dim=4, inputs=[x])
print(x.numpy().tolist())
"""
CUT = """\
import warp as wp

@wp.kernel
def largest(x: wp.array2d(dtype=float), m: wp.array(dtype=float)):
    i = wp.tid()
    m[i] = wp.max(x[i, 0], x[i, 1])

@wp.kernel
def entropy(x: wp.array2d(dtype=float), m: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    s = wp.exp(x[i, 0] - m[i]) + wp.exp(x[i, 1] - m[i])
    wp.atomic_add(loss, 0, wp.log(s) + m[i] - x[i, 1])

x = wp.array([[0.0, 0.5], [2.0, 1.0]], dtype=float, requires_grad=True)
m, loss = wp.zeros(2, dtype=float), wp.zeros(1, dtype=float, requires_grad=True)
with wp.Tape() as tape:
    wp.launch(largest, dim=2, inputs=[x, m])
    wp.launch(entropy, dim=2, inputs=[x, m, loss])
tape.backward(loss)
print(x.grad.numpy().tolist())
"""
IMPORTS = {
    "as": "warp as wp",
    "plain": "warp; wp = warp",
    "utils": "warp as wp, warp.utils, warp.types, warp.config; assert warp.utils is wp.utils",
}
STATE = """\
import sys
names = ["__name__", "__doc__", "__package__", "__spec__", "__file__", "__cached__"]
print(sys.argv, sys.path[0], [globals().get(n, "absent") for n in names], type(__builtins__).__name__)
print(sys.modules["__main__"].__dict__ is globals(), __name__, type(globals().get("__loader__")).__name__)
"""


def python(*arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, *arguments], cwd=cwd, env=env, capture_output=True, text=True, timeout=300)


def both(*arguments: str, cwd: Path) -> tuple[tuple, tuple]:
    """(exit code, output, errors) of a program under Python itself and under the runner."""
    runs = [python(*arguments, cwd=cwd), python(*RUNNER, *arguments, cwd=cwd)]
    return tuple((r.returncode, r.stdout, r.stderr) for r in runs)  # type: ignore[return-value]


@pytest.mark.parametrize("imports", IMPORTS.values(), ids=IMPORTS)
def test_scripts_run_unchanged(imports, tmp_path):
    (tmp_path / "script.py").write_text(KERNEL.format(imports=imports))
    ran = python(*RUNNER, "script.py", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr


def test_names_may_be_imported_from_warp(tmp_path):
    text = "from warp import vec3, dot\nfrom warp.utils import array_sum\nprint(dot(vec3(1.0), vec3(2.0)))"
    ran = python(*RUNNER, "-c", text, cwd=tmp_path)
    assert ran.stdout == "6.0\n", ran.stderr


def test_locals_that_a_path_leaves_unassigned_are_zero(tmp_path):
    (tmp_path / "script.py").write_text(UNASSIGNED)
    ran = python(*RUNNER, "script.py", cwd=tmp_path)
    assert ran.stdout == "[0.0, 1.0, 2.0, 0.0]\n", ran.stderr
    assert "KernelWarning: `y` is zero here where no path has assigned it" in ran.stderr


@pytest.mark.parametrize("setting", ["", "wp.config.quiet = True", 'wp.config.cut_gradients = "error"'])
def test_gradients_end_in_arrays_without_one_and_warn(setting, tmp_path):
    (tmp_path / "script.py").write_text(CUT.replace("\n\n", f"\n{setting}\n", 1))
    ran = python(*RUNNER, "script.py", cwd=tmp_path)
    assert "reads an array without a gradient, which kernel `largest`" in ran.stderr
    if "error" in setting:
        assert (ran.returncode, ran.stdout) == (1, "")
        return
    assert "CutGradientWarning" in ran.stderr
    share = 1 / (1 + np.exp([0.5, -1.0]))  # of the first number of each row: the largest number has no part in it
    expected = np.stack([share, -share], axis=1)
    np.testing.assert_allclose(ast.literal_eval(ran.stdout), expected, rtol=1e-5)


def test_code_and_modules_run_kernels(tmp_path):
    text = KERNEL.format(imports="warp as wp")
    (tmp_path / "program.py").write_text(text)
    for arguments in (("-c", text), ("-m", "program")):
        ran = python(*RUNNER, *arguments, cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("arguments", [("folder/state.py", "a", "-b"), ("-c", STATE, "-c", "d"), ("-m", "state", "e")])
def test_programs_see_what_they_see_under_python(arguments, tmp_path):
    (tmp_path / "folder").mkdir()
    for place in (tmp_path, tmp_path / "folder"):
        (place / "state.py").write_text(STATE)
    itself, ours = both(*arguments, cwd=tmp_path)
    # The spec of a module names its loader by address.
    assert [re.sub(r"0x\w+", "", str(x)) for x in ours] == [re.sub(r"0x\w+", "", str(x)) for x in itself]


ENDINGS = {
    "returns": "pass",
    "exits": "import sys; sys.exit(7)",
    "exits with a message": "raise SystemExit('no more')",
    "raises": "def f():\n    return 1 / 0\n\nf()",
    "raises from": "try:\n    {}['k']\nexcept KeyError as e:\n    raise ValueError('no k') from e",
    "does not parse": "x = (\n",
    "prints at exit": "import atexit; atexit.register(print, 'bye'); raise RuntimeError('end')",
    "has a hook": "import sys\nsys.excepthook = lambda t, e, b: print('hook', t.__name__)\nraise TypeError",
}


@pytest.mark.parametrize("text", ENDINGS.values(), ids=ENDINGS)
def test_programs_end_as_under_python(text, tmp_path):
    (tmp_path / "ends.py").write_text(text)
    itself, ours = both("ends.py", cwd=tmp_path)
    assert ours == itself
    itself, ours = both("-c", text, cwd=tmp_path)
    assert ours == itself
    itself, ours = both("-m", "ends", cwd=tmp_path)
    # Python's own traceback begins with two lines about how it runs a module.
    assert ours[:2] == itself[:2]
    assert ours[2].splitlines()[-1:] == itself[2].splitlines()[-1:]
    assert "as_warp" not in ours[2]


@pytest.mark.parametrize("arguments", [("no_such.py",), ("-m", "no_such"), ("-m", "no_such.part")])
def test_programs_that_do_not_exist(arguments, tmp_path):
    ran = python(*RUNNER, *arguments, cwd=tmp_path)
    assert ran.returncode == (2 if arguments[0] != "-m" else 1)
    assert "no_such" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


@pytest.mark.parametrize("arguments", [(), ("-m",), ("-c",)])
def test_usage(arguments, tmp_path):
    ran = python(*RUNNER, *arguments, cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("usage: ")
    assert python(*RUNNER, "--help", cwd=tmp_path).returncode == 0


MISSING = {
    "import warp as wp; wp.no_such_name": ("AttributeError", "no_such_name"),
    "import warp as wp; wp.normalise": ("AttributeError", "did you mean wp.normalize"),
    "from warp import no_such_name": ("ImportError", "no_such_name"),
    "import warp.no_such_module": ("ModuleNotFoundError", "no_such_module"),
    "import warp.lang.types": ("ModuleNotFoundError", "lang"),
    "import warp; warp.utils.no_such_function": ("AttributeError", "no_such_function"),
    "import warp.render; warp.render.OpenGLRenderer": ("AttributeError", "wp.render.UsdRenderer writes"),
    "import warp; warp.map_cuda_device": ("AttributeError", "name the device: wp.get_device"),
    "from warp.tests.unittest_utils import *": ("ModuleNotFoundError", "numpy.testing"),
    "import warp._src.codegen": ("ModuleNotFoundError", "public names are in wp"),
}


@pytest.mark.parametrize("text", MISSING)
def test_what_is_missing_is_named(text, tmp_path):
    kind, name = MISSING[text]
    last = python(*RUNNER, "-c", text, cwd=tmp_path).stderr.splitlines()[-1]
    assert last.startswith(f"{kind}: ")
    assert name in last


def test_programs_are_told_the_version_of_warp_lang(tmp_path):
    text = (
        "import warp as wp; print(wp.__version__, wp.config.version, wp.config.package_version, wp.config.max_unroll); "
        "x = wp.zeros(2); print(wp.map(lambda a: a + 1.0, x).list())"
    )
    ran = python(*RUNNER, "-c", text, cwd=tmp_path)
    assert ran.stdout == f"1.19.0 1.19.0 {__version__} 16\n[1.0, 1.0]\n", ran.stderr


def test_programs_find_warp_lang_as_an_installed_package(tmp_path):
    """They ask for its version before they import it."""
    text = (
        "from importlib import metadata, util; "
        "print(metadata.version('warp-lang'), metadata.version('warp_lang'), metadata.files('warp-lang')); "
        "print([d.name for d in metadata.distributions() if d.name.startswith('warp')], bool(util.find_spec('warp'))); "
        "print(metadata.version('numpy'))"
    )
    ran = python(*RUNNER, "-c", text, cwd=tmp_path)
    assert ran.stdout == f"1.19.0 1.19.0 None\n['warp-lang'] True\n{np.__version__}\n", ran.stderr


def test_another_warp_is_refused(tmp_path):
    (tmp_path / "warp.py").write_text("")
    text = "import warp; from omni.warp_core import as_warp; as_warp.install()"
    last = python("-c", text, cwd=tmp_path).stderr.splitlines()[-1]
    assert last.startswith("ImportError: another module named 'warp' is imported already (")
    assert "warp.py" in last


def test_another_warp_on_the_path_is_not_looked_at(tmp_path):
    (tmp_path / "warp").mkdir()
    (tmp_path / "warp" / "__init__.py").write_text("raise SystemExit('the other one')")
    (tmp_path / "warp" / "sim.py").write_text("")
    text = "from omni.warp_core import as_warp; as_warp.install(); as_warp.install(); import warp; print(warp.__name__)"
    assert python("-c", text, cwd=tmp_path).stdout == "omni.warp_core\n"
    assert "no module 'sim'" in python(*RUNNER, "-c", "import warp.sim", cwd=tmp_path).stderr


def test_all_missing_imports_of_a_file_are_listed_at_once(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        "import warp as wp\nimport warp.utils\nfrom warp import vec3, Texture9\n"
        "def later():\n    import warp.fem.types\n    from warp.fem.operator import Node\n"
    )
    script.write_text("import warp.sim\n" + script.read_text())
    error = python(*RUNNER, str(script), cwd=tmp_path).stderr.splitlines()[-1]
    assert "no module 'sim'" in error and "Newton" in error
    assert error.endswith("this file imports: warp.Texture9, warp.fem.types, warp.fem.operator")


def test_modules_of_earlier_versions_are_the_package(tmp_path):
    text = (
        "import warp as wp; wp.context.init(); from warp.context import Kernel; from warp.tape import Tape; "
        "print(Kernel is wp.Kernel)"
    )
    assert python(*RUNNER, "-c", text, cwd=tmp_path).stdout == "True\n"


def test_modules_are_loaded_once(tmp_path):
    text = "import warp.config, omni.warp_core.config as c; print(warp.config is c, c.__spec__.name, c.__name__)"
    assert python(*RUNNER, "-c", text, cwd=tmp_path).stdout == "True omni.warp_core.config omni.warp_core.config\n"
