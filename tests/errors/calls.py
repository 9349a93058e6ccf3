"""Calls of every builtin and intrinsic with arguments that mostly do not fit."""

from omni.warp_core.lang.registry import INTRINSICS, index

NAMES = [*sorted(index()), *sorted(INTRINSICS)]

# Expressions of all kinds of arguments; those of PYTHON exist at Python scope too.
PYTHON = {
    "integer": "wp.int32(3)",
    "small": "wp.uint8(3)",
    "float": "wp.float32(0.5)",
    "double": "wp.float64(0.5)",
    "half": "wp.float16(0.5)",
    "truth": "True",
    "literal": "2",
    "fraction": "0.5",
    "text": '"text"',
    "none": "None",
    "tuple": "(1, 2, 3)",
    "nothing": "()",
    "vector": "wp.vec3(1.0, 2.0, 3.0)",
    "doubles": "wp.vec2d(wp.float64(1.0), wp.float64(2.0))",
    "integers": "wp.vec4i(1, 2, 3, 4)",
    "long": "wp.types.vector(length=5, dtype=wp.float32)()",
    "matrix": "wp.mat33(0.5)",
    "oblong": "wp.types.matrix(shape=(2, 4), dtype=wp.float64)()",
    "quaternion": "wp.quat(0.0, 0.0, 0.0, 1.0)",
    "transform": "wp.transform()",
    "spatial": "wp.spatial_vector()",
    "type": "wp.float32",
    "module": "wp",
    "lambda": "(lambda x: x)",
}
KERNEL = PYTHON | {
    "array": "x",
    "array2d": "a",
    "element": "x[0]",
    "row": "a[0]",
    "struct": "s",
    "range": "range(3)",
    "kernel": "other",
    "huge": str(10**30),
    "infinite": "1.0e400",
    "name": "wp.nothing",
}
FILE = "<calls>"
END = "z = wp.nothing_of_this_name"
PREAMBLE = """\
import omni.warp_core as wp

@wp.struct
class S:
    u: float

@wp.kernel
def other(n: int):
    pass

@wp.kernel
def k(x: wp.array(dtype=float), a: wp.array2d(dtype=wp.vec3), s: S, n: int):
"""


def arguments(kinds):
    """Argument lists: of one kind, of mixed kinds, with keywords that do not exist."""
    values = list(kinds.values())
    lists = ["", *(", ".join([e] * count) for i, e in enumerate(values) for count in (1, 2 + i % 2))]
    lists += [", ".join(values[(i * 5 + j * 7) % len(values)] for j in range(2 + i % 4)) for i in range(len(values))]
    lists += ["nonsense=1", "1.0, nonsense=wp.vec3()", "*(1, 2)", "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12"]
    return lists


def module(name, lists):
    """The text of a kernel with all the calls of one builtin, each on a line of its own, and a mistake at the end."""
    return PREAMBLE + "".join(f"    y{i} = wp.{name}({text})\n" for i, text in enumerate(lists)) + f"    {END}\n"
