"""Which texts may run while they are typed. Each refused text would touch something when it is compiled."""

import sys

import pytest

from omni.warp_core.studio.live_text import why_it_waits
from tests.studio_scenes import LIFT

HARMLESS = [
    LIFT,
    "import math\nimport numpy as np\nimport warp as wp\nimport omni.warp_core as wp\nG = -9.81\nN: int = 3 * 4",
    '"""A text."""\nUP = wp.constant(wp.vec3(0.0, 1.0, 0.0))\n@wp.struct\nclass S:\n    """Doc."""\n    x: float',
    "@wp.kernel(enable_backward=False)\ndef f(x: wp.array2d(dtype=wp.vec3), n: int = 3):\n    x[0, 0] = wp.vec3()",
    "@wp.func\ndef f(x: wp.array[float]) -> float:\n    return x[0]",
    "import numpy as num\nimport math as m\nimport omni.warp_core as warp\nX: float = m.pi",
    "@wp.kernel(module='unique')\ndef f(x: wp.array[float]):\n    x[0] = 1.0",
    "def half typed(",  # does not parse, so nothing runs
]
HARMFUL = [
    ("import os", "line 1 imports os"),
    ("import os.path as wp", "line 1 imports os.path"),
    ("from os import remove", "line 1 imports from os"),
    ("\nos.remove('x')", "line 2 runs a statement at module level"),
    ("x = open('f', 'w')", "line 1 calls a function at module level"),
    ("x = wp.load_module('f')", "line 1 calls a function at module level"),
    ("x = np.fromfile('f')", "line 1 calls a function at module level"),
    ("wp.config = 1", "line 1 assigns to more than a name"),
    ("def f():\n    pass", "line 1 defines f without wp.kernel or wp.func"),
    ("@wp.kernel\n@other\ndef f():\n    pass", "decorates f with more than"),
    ("@wp.kernel(module=open('f'))\ndef f():\n    pass", "calls a function at module level"),
    ("@evil.kernel\ndef f():\n    pass", "decorates f with more than"),
    ("@wp.kernel\ndef f(x: open('f')):\n    pass", "calls a function at module level"),
    ("@wp.kernel\ndef f(x=open('f')):\n    pass", "calls a function at module level"),
    ("@wp.kernel\ndef f() -> open('f'):\n    pass", "calls a function at module level"),
    ("@wp.kernel\ndef f():\n    x = wp.static(print(1))", "line 3 uses static"),
    ("@wp.kernel\ndef f():\n    x = f.__globals__", "line 3 uses __globals__"),
    ("class A(metaclass=M):\n    pass", "defines the class A"),
    ("@wp.struct\nclass S:\n    x = open('f')", "runs a statement in S"),
    ("@wp.struct\nclass S:\n    x: open('f')", "calls a function at module level"),
    ("x = [y for y in (1, 2)]", "computes at module level"),
    ("x = 9 ** 9 ** 9", "raises to a power"),
    ("x = (lambda: 1)()", "calls a function at module level"),
    ("x = f'{open(1)}'", "computes at module level"),
    ("for i in range(9):\n    pass", "runs a statement at module level"),
    ("while True:\n    pass", "runs a statement at module level"),
    ("async def f():\n    pass", "runs a statement at module level"),
    ("x = (y := open('f'))", "computes at module level"),
    # Harmless names with another meaning.
    ("import numpy as np\nint = np.load\nx = int('f', allow_pickle=True)", "line 2 gives int another meaning"),
    ("import numpy as np\nwp = np\nx = wp.array('f')", "line 2 gives wp another meaning"),
    ("float: int = 1", "line 1 gives float another meaning"),
    ("import numpy as wp", "line 1 gives wp another meaning"),
    ("import math as bool", "line 1 gives bool another meaning"),
    ("@wp.func\ndef int(x: float):\n    return x", "gives int another meaning"),
    ("@wp.struct\nclass warp:\n    x: float", "gives warp another meaning"),
    # Places where Python evaluates what looks like a declaration.
    ("@wp.func\ndef f(*a: open('f')):\n    pass", "calls a function at module level"),
    ("@wp.func\ndef f(**a: open('f')):\n    pass", "calls a function at module level"),
    ("@wp.struct\nclass S:\n    open('f').x: float", "runs a statement in S"),
    ("@wp.struct\nclass S:\n    x[open('f')]: float", "runs a statement in S"),
    # Annotations that are texts are evaluated.
    ("@wp.func\ndef f(a: \"open('f')\"):\n    pass", "line 2 has a text at module level"),
    ("@wp.struct\nclass S:\n    a: \"open('f')\"", "line 3 has a text at module level"),
    ("T = \"open('f')\"\n@wp.func\ndef f(a: T):\n    pass", "line 1 has a text at module level"),
    # Texts that the compiler may read, though a look at them fails.
    ("\ufeffimport os", "line 1 imports os"),
    ("import os\nx = 1" + " + 1" * 600, "nested too deeply"),
    ("import os\nx = 1" + " + 1" * 5000, "nested too deeply"),
]


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_texts_may_run(text):
    assert why_it_waits(text) == ""


@pytest.mark.parametrize(("text", "why"), HARMFUL, ids=[text[:40] for text, _ in HARMFUL])
def test_other_texts_wait(text, why):
    assert why in why_it_waits(text)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are of Python 3.12")
@pytest.mark.parametrize("text", ["@wp.func\ndef f[T: open('f')](x: T): pass", "@wp.struct\nclass S[T]:\n    x: T"])
def test_type_parameters_wait(text):
    assert why_it_waits(text)
