"""no-member: A field, component or module member that does not exist."""

import pytest

from tests.errors.report import accepted, refused

CASES = {
    "field": (
        """\
@wp.struct
class S:
    radius: float
    mass: float

@wp.kernel
def k(x: wp.array(dtype=float), n: int, s: S):
    i = wp.tid()
    x[i] = s.raduis
""",
        "s.raduis",
        ["struct S has no field `raduis`", "radius"],
    ),
    "component": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    v = wp.vec3(1.0, 2.0, 3.0)
    x[i] = v.w
""",
        "v.w",
        ["vec3f has no member `w`", "`x`, `y`, `z`"],
    ),
    "module": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    v = wp.vec3(1.0, 2.0, 3.0)
    x[i] = wp.lenght(v)
""",
        "wp.lenght",
        ["`wp` has no member `lenght`", "wp.length"],
    ),
    "array": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = float(x.shpe[0])
""",
        "x.shpe",
        ["has no member `shpe`", "shape"],
    ),
    "number": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = n.real
""",
        "n.real",
        ["int32 has no member `real`"],
    ),
    "list": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    found = [x[0]]
    found.append(x[1])
""",
        "found.append",
        ["(float32,) has no member `append`", "wp.zeros(shape, dtype) makes a local array"],
    ),
    "stored_field": (
        """\
@wp.struct
class S:
    radius: float
    mass: float

@wp.kernel
def k(x: wp.array(dtype=float), n: int, s: S):
    i = wp.tid()
    s.mas = 1.0
""",
        "s.mas",
        ["mass"],
    ),
    "method": (
        """\
@wp.struct
class S:
    radius: float

    def area(self):
        return 3.14 * self.radius**2.0

@wp.kernel
def k(x: wp.array(dtype=float), n: int, s: S):
    x[0] = s.area()
""",
        "s.area",
        ["struct S has no field `area`", "kernels cannot call methods: write a @wp.func that takes the struct"],
    ),
}

CASES["method"] = (
    """\
@wp.kernel
def k(x: wp.array(dtype=wp.vec3), n: int):
    x[0] = x[1].normalize()
""",
    "x[1].normalize",
    ["vec3f has no member `normalize`", "values have no methods: write `wp.normalize(x[1])`"],
)

REPAIRED = """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    v = wp.vec3(1.0, 2.0, 3.0)
    x[i] = wp.length(v)
"""


CASES["private"] = (
    """\
@wp.kernel
def k(id: wp.uint64, x: wp.array(dtype=wp.vec3)):
    x[0] = wp.mesh_eval_positions(id)
""",
    "wp.mesh_eval_positions",
    ["`wp` has no member `mesh_eval_positions`", "wp.mesh_eval_position"],
)


@pytest.mark.parametrize("case", CASES)
def test_refused(case):
    text, under, fragments = CASES[case]
    refused(text, "no-member", under, *fragments)


def test_repaired():
    accepted(REPAIRED)
