"""The content hash changes exactly when the meaning may: every edit of a pair below, and none of the equal ones."""

import itertools
import textwrap
import types

import pytest

import omni.warp_core as wp
from omni.warp_core.front.content_hash import digest, used_names

_numbers = itertools.count()
BASE = """
import omni.warp_core as wp
import enum
SCALE = 2.0
PAIR = (1, 2)
UP = wp.vec3(0.0, 1.0, 0.0)
REAL = float

class Kind(enum.IntEnum):
    A = 1

class Config:
    size = 4

def helper():
    return 3

@wp.func
def inner(a: float):
    return a * SCALE

@wp.func
def outer(a: float):
    return inner(a) + 1.0

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    y: REAL = 0.0
    y = outer(x[i]) + UP[1] + float(PAIR[0] + Kind.A + Config.size)
    y += float(wp.static(helper()))
    f = lambda a: a * SCALE
    x[i] = f(y)
"""


def digest_of(text):
    return digest(wp.kernel_from_source(text, filename=f"<digest {next(_numbers)}>"))


CHANGES = {
    "operator": ("outer(x[i]) +", "outer(x[i]) -"),
    "captured number": ("SCALE = 2.0", "SCALE = 3.0"),
    "captured kind": ("SCALE = 2.0", "SCALE = 2"),
    "captured tuple": ("PAIR = (1, 2)", "PAIR = (2, 2)"),
    "captured vector": ("wp.vec3(0.0, 1.0", "wp.vec3(0.0, 2.0"),
    "enum": ("A = 1", "A = 2"),
    "class attribute": ("size = 4", "size = 5"),
    "transitive function": ("return a * SCALE", "return SCALE / a"),
    "static": ("return 3", "return 4"),
    "parameter type": ("n: int)", "n: float)"),
    "function parameter type": ("def inner(a: float)", "def inner(a: float, b: int = 0)"),
    "type of a local": ("REAL = float", "REAL = wp.float32"),
    "lambda": ("lambda a: a * SCALE", "lambda a: a + SCALE"),
    "name": ("def k(", "def k2("),
}
SAME = {
    "comment": ("    i = wp.tid()\n", "    # thread\n    i = wp.tid()\n\n"),
    "unused global": ("SCALE = 2.0", "SCALE = 2.0\nUNUSED = 5"),
    "moved": ("import enum", "import enum\n\n\n\n"),
}


@pytest.mark.parametrize("change", [c for c in CHANGES if c != "type of a local"])
def test_changes(change):
    old, new = CHANGES[change]
    assert old in BASE
    assert digest_of(BASE.replace(old, new)) != digest_of(BASE)


def test_type_of_a_local():
    assert digest_of(BASE.replace("REAL = float", "REAL = wp.float64")) != digest_of(BASE)
    assert digest_of(BASE.replace("REAL = float", "REAL = wp.float32")) == digest_of(BASE)


@pytest.mark.parametrize("change", SAME)
def test_equal(change):
    old, new = SAME[change]
    assert old in BASE
    assert digest_of(BASE.replace(old, new)) == digest_of(BASE)


def test_closures():
    def make(value):
        @wp.kernel
        def k(x: wp.array(dtype=float)):
            x[0] = value

        return k

    assert digest(make(1.0)) == digest(make(1.0))
    assert len({digest(make(v)) for v in (1.0, 2.0, 1, True, wp.float64(1.0))}) == 5


def test_members_of_modules():
    def make(size):
        module = types.ModuleType("settings")
        module.SIZE, module.other = size, size * 2
        text = textwrap.dedent(
            """
            import omni.warp_core as wp
            @wp.kernel
            def k(x: wp.array(dtype=int)):
                x[0] = settings.SIZE
            """
        )
        name = f"<module {next(_numbers)}>"
        return digest(wp.kernel_from_source(text, filename=name, namespace={"settings": module}))

    assert make(1) == make(1) != make(2)


def test_builtins_are_not_imported():
    import subprocess
    import sys

    program = (
        "import omni.warp_core as wp, sys, tempfile, os\n"
        "from omni.warp_core.front.content_hash import digest, used_names\n"
        "@wp.kernel\n"
        "def k(x: wp.array(dtype=float)):\n"
        "    x[0] = wp.sin(x[0])\n"
        "digest(k)\n"
        "print([m for m in sys.modules if m.startswith('omni.warp_core.lib.') and not m.endswith('index')])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr


def test_statics_of_locals_that_are_static():
    """The function of a static expression counts where its argument is the value of an earlier one."""

    def tiled(size):
        @wp.func
        def total(x: wp.array[float]):
            return wp.tile_extract(wp.tile_sum(wp.tile_load(x, shape=size)), 0)

        return total

    @wp.kernel
    def k(x: wp.array[float], out: wp.array[float]):
        SIZE = wp.static(16)
        out[wp.tid()] = wp.static(tiled(SIZE))(x)

    assert used_names(k).mention(("tile_load",))
    for block in (32, 64):
        out = wp.zeros(1, dtype=float)
        wp.launch_tiled(k, dim=[1], inputs=[wp.ones(16, dtype=float), out], block_dim=block)
        assert out.list() == [16.0]


def test_statics_of_loop_indices_may_mention_anything():
    @wp.func
    def plain(x: float):
        return x + 1.0

    @wp.kernel
    def k(x: wp.array[float]):
        for i in range(2):
            x[i] = wp.static([plain, plain][i])(x[i])

    assert used_names(k).mention(("tile_load",), unknown=True) and not used_names(k).mention(("tile_load",))


def test_the_functions_inside_of_a_python_function_count():
    def text(inner):
        return f"def factory(i):\n    def f():\n        return {inner}\n    return f\n"

    def of(inner):
        space = {}
        exec(text(inner), space)
        factory = space["factory"]

        @wp.kernel
        def k(x: wp.array[float]):
            for i in range(2):
                x[i] = float(wp.static(factory(i)()))

        return digest(k)

    assert of("i + 1") == of("i + 1") != of("i + 2")
