"""Size limits of a kernel. Beyond them compiling would take minutes, so they are reported as errors in the source.

What happens at compile time (unrolled loops, comprehensions, lambdas, tuples, literals) is counted while it happens;
values are checked when a function is complete.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ..ir.nodes import Function
from ..lang.errors import CompileError, compile_error
from ..lang.generics import spell
from ..lang.types import Array, Mat, Packed, Struct, Type, leaves

if TYPE_CHECKING:
    import ast

    from .context import Context

STEPS = 400_000  # expressions lowered for one kernel
ITEMS = 4096  # items of a compile-time tuple, those of its tuples included
BITS = 4096  # of an integer that is computed at compile time
COMPONENTS = {Mat: 256, Struct: 2048}  # of one value; the time for products of matrices grows with the cube
VECTOR = 1024


def too_many_steps(cx: Context, node: ast.AST) -> CompileError:
    """The end of lowering a kernel that never seems to end."""
    refused = cx.error(
        "too-large",
        f"the kernel grows beyond {STEPS} expressions here",
        node,
        help="compile-time loops, lambdas and generic calls are written out: loop over a range of run-time length, "
        "or put shared code into a @wp.func",
    )
    assert refused.diagnostic
    return compile_error("the kernel", [*cx.session.diagnostics, refused.diagnostic])


def check_items(cx: Context, count: int, node: ast.AST) -> None:
    """Refuse a tuple of so many items."""
    if count > ITEMS:
        raise cx.error(
            "too-large",
            f"this has more than {ITEMS} compile-time items",
            node,
            help="use an array, or loop over a range",
        )


def check_bits(cx: Context, bits: float, node: ast.AST) -> None:
    """Refuse an integer of so many bits."""
    if bits > BITS:
        raise cx.error("too-large", f"this integer has more than {BITS} bits", node, help="use a float")


@lru_cache(maxsize=4096)
def excess(t: Type) -> str:
    """Return why values of a type are too large to compute with, or ""."""
    if isinstance(t, Array) or not isinstance(t, (Packed, Struct)):
        return ""
    count = t.count if isinstance(t, Packed) else len(leaves(t))
    limit = next((n for kind, n in COMPONENTS.items() if isinstance(t, kind)), VECTOR)
    if count <= limit:
        return ""
    return f"{spell(t)} has {count} components; kernels compute with values of at most {limit}"


def check_type(cx: Context, t: Type, node: ast.AST) -> None:
    """Refuse an operand that is too large."""
    if excess(t):
        raise cx.error("too-large", excess(t), node, help=ADVICE)


ADVICE = "keep the numbers in an array, and read those you need: a[i][j]"


def check_values(cx: Context, function: Function) -> None:
    """Report the first value of a function that is too large."""
    for op in function.body.walk():
        for v in op.results:
            if excess(v.type):
                cx.report("too-large", excess(v.type), op.loc, help=ADVICE)
                return
