"""type-mismatch: Operands, stored values and arguments of constructors must have fitting types."""

import pytest

from tests.errors.report import accepted, refused

CASES = {
    "no_return": (
        """\
@wp.func
def nothing(a: float):
    b = a + 1.0

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    x[0] = nothing(x[0])
""",
        "nothing(x[0])",
        ["None, as of a function without `return`"],
    ),
    "no_return_in_a_sum": (
        """\
@wp.func
def nothing(a: float):
    b = a + 1.0

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    y = nothing(x[0])
    x[0] = y + 1.0
""",
        "y + 1.0",
        ["let it return its result"],
    ),
    "literal_out_of_range": (
        """\
@wp.kernel
def k(x: wp.array(dtype=int)):
    x[0] = 3000000000
""",
        "3000000000",
        ["`x[0]` holds int32, whose range does not include 3000000000"],
    ),
    "operator": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = x[i] * n
""",
        "x[i] * n",
        ["`*` cannot combine float32 and int32", "float(n)"],
    ),
    "widths": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int, d: wp.float64):
    i = wp.tid()
    x[i] = x[i] + d
""",
        "x[i] + d",
        ["float32 and float64"],
    ),
    "comparison": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    if x[i] < n:
        x[i] = 0.0
""",
        "x[i] < n",
        ["`<` cannot combine float32 and int32", "float(n)"],
    ),
    "vectors": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = wp.vec3(1.0, 2.0, 3.0)
    b = a * a
""",
        "a * a",
        ["wp.cw_mul", "wp.dot"],
    ),
    "vector_plus_number": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = wp.vec3(1.0, 2.0, 3.0) + 1.0
""",
        "wp.vec3(1.0, 2.0, 3.0) + 1.0",
        ["help: write `wp.vec3f(1.0)`, which has the number in every component"],
    ),
    "element_plus_number": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), v: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    v[i] += x[i]
""",
        "v[i] += x[i]",
        [
            "`+=` cannot combine vec2f and float32",
            "help: write `wp.vec2f(x[i])`, which has the number in every component",
        ],
    ),
    "stored": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = n
""",
        "n",
        ["`x[i]` holds float32, but this is int32", "float(n)"],
    ),
    "component": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = wp.vec3(1.0, n, 2.0)
""",
        "n",
        ["the component is float32", "float(n)"],
    ),
    "index": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[x[0]] = 1.0
""",
        "x[0]",
        ["an index must be an integer, not float32", "int(...)"],
    ),
    "condition": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    if wp.vec3(1.0, 2.0, 3.0):
        x[i] = 1.0
""",
        "wp.vec3(1.0, 2.0, 3.0)",
        ["vec3f cannot be used as a condition"],
    ),
    "literal_fraction": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = n + 0.5
""",
        "n + 0.5",
        ["int32 and float32"],
    ),
    "literal_negative": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int, u: wp.uint32):
    i = wp.tid()
    a = u + -1
""",
        "u + -1",
        ["uint32 and int32"],
    ),
    "bitwise_float": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = x[i] & x[i]
""",
        "x[i] & x[i]",
        ["works on integers"],
    ),
    "atomic_value": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    wp.atomic_add(x, i, n)
""",
        "n",
        ["the element is float32"],
    ),
    "augmented_element": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] += n
""",
        "x[i] += n",
        ["`+=` cannot combine float32 and int32"],
    ),
    "iterating_a_number": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    for j in n:
        pass
""",
        "n",
        ["int32 cannot be iterated", "range(...)"],
    ),
    "condition_of_a_query": (
        """\
@wp.kernel
def k(id: wp.uint64, p: wp.vec3, out: wp.array(dtype=int)):
    near = wp.mesh_query_point(id, p, 1.0)
    if near:
        out[0] = near.face
""",
        "near",
        ["MeshQueryPoint cannot be used as a condition", "ask for its field `.result`"],
    ),
    "iterating_a_query_hash_grid": (
        """\
@wp.kernel
def k(id: wp.uint64, p: wp.vec3):
    query = wp.hash_grid_query(id, p, 1.0)
    other = query
    for j in other:
        pass
""",
        "other",
        ["cannot be iterated", "`while wp.hash_grid_query_next(query, index):`"],
    ),
    "iterating_a_query_mesh": (
        """\
@wp.kernel
def k(id: wp.uint64, p: wp.vec3):
    query = wp.mesh_query_aabb(id, p, p)
    other = query
    for j in other:
        pass
""",
        "other",
        ["cannot be iterated", "`while wp.mesh_query_next(query, index):`"],
    ),
    "iterating_a_query_boxes": (
        """\
@wp.kernel
def k(id: wp.uint64, p: wp.vec3):
    query = wp.bvh_query_aabb(id, p, p)
    other = query
    for j in other:
        pass
""",
        "other",
        ["cannot be iterated", "`while wp.bvh_query_next(query, index):`"],
    ),
    "string": (
        """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = "one"
""",
        '"one"',
        ["holds float32, but this is 'one'"],
    ),
}

REPAIRED = """\
@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    x[i] = x[i] * float(n)
"""


@pytest.mark.parametrize("case", CASES)
def test_refused(case):
    text, under, fragments = CASES[case]
    refused(text, "type-mismatch", under, *fragments)


def test_repaired():
    accepted(REPAIRED)
