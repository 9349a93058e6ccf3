"""Lowering: from a decorated Python function to structured SSA. Start here.

The package in reading order:

- `context` (the state of lowering one function), `values` (the kinds of expressions), `names`
- `expressions`, `operators`, `comparison`, `member_access` (members, indices, stores)
- `calls` with `intrinsic_calls`, `printing`, `python_builtins` and `constructors`
- `statements`, `control_statements` (branches and loops) with `merges`, `liveness`, `inout_arguments`,
  `match_statement`
- `local_arrays`, `session` (called functions), `library`
"""

from __future__ import annotations

from typing import Any

from .. import config
from ..ir.nodes import Function as IrFunction
from ..ir.nodes import Operation
from ..ir.printer import reachable
from ..lang.errors import CompileError, Diagnostic, InternalError, compile_error
from ..lang.generics import Reference, is_generic, plain, unify
from ..lang.kernel import Function, Kernel
from ..lang.launch_constants import DEFAULT_BLOCK_DIM
from ..lang.types import FixedArray, Type
from .calls import assertions, block_intrinsics, intrinsic_calls, printing, python_builtins  # noqa: F401 - they fill the tables
from .calls.overload_resolution import Match
from .context import LoweringError
from .expressions import constructors, expressions  # noqa: F401 - they fill the tables
from .gradients import grad_call  # noqa: F401 - they fill the tables
from .library import instantiate
from .session import Instance, Session
from .signal_origin import raised_by_a_handler
from .statements import control_statements, match_statement, statements  # noqa: F401 - they fill the tables
from .tiles import (  # noqa: F401 - they fill the tables
    tile_access,
    tile_algorithm_calls,
    tile_arrangements,
    tile_elements,
    tile_making,
    tile_query_calls,
    tile_random,
    tile_reductions,
    tile_stack_calls,
    tile_updates,
)
from .warnings import tell


def lower_kernel(kernel: Kernel, block_dim: int = DEFAULT_BLOCK_DIM, tiled: int = 0) -> IrFunction:
    """The IR of a kernel. `block_dim` is how many threads a block has, for kernels that work in blocks. `tiled` is the
    number of dimensions of a launch whose last one is a block, 0 for others.

    Raises:
        CompileError: the kernel has mistakes; the exception has all of them.
        InternalError: the compiler itself failed.
    """
    found = _lower(kernel, None, True, block_dim).function
    if tiled:
        number_blocks(found, tiled)
    elif config.dialect == "warp-lang" and not found.block_dim:
        _number_alike(found)
    return found


def _indices(kernel: IrFunction) -> list[Operation]:
    """Where a kernel and the functions that it calls ask for an index of their thread."""
    return [op for function in reachable([kernel]) for op in function.body.walk() if op.code == "tid"]


def _number_alike(kernel: IrFunction) -> None:
    """Let `i = wp.tid()` beside `i, j = wp.tid()` be the first index of that, as the dialect of warp-lang means it."""
    indices = _indices(kernel)
    widest = max((op.attr[1] for op in indices), default=1)
    for op in indices:
        op.attr = op.attr[0], widest


def number_blocks(kernel: IrFunction, ndim: int) -> None:
    """Turn the indices of a kernel's threads into those of a launch of `ndim` dimensions whose last one is a block.
    Fewer names than dimensions are those of the first. All but the last index are the same in all threads of a block.
    """
    for op in _indices(kernel):
        if op.attr[1] <= ndim:
            op.attr = op.attr[0], ndim
            if kernel.block_dim and op.attr[0] < ndim - 1:
                op.code = "block_tid"


def lower_function(function: Function, types: tuple[Type, ...] | None = None) -> IrFunction:
    """The IR of a user function, for its annotated parameter types or the given ones. Raises as `lower_kernel`."""
    return _lower(function, types, False).function


def local_types(definition: Kernel | Function, types: tuple[Type, ...] | None = None) -> dict[str, Type]:
    """The types of the locals of a kernel or function. Raises as `lower_kernel`."""
    return _lower(definition, types, isinstance(definition, Kernel)).locals


def _lower(
    definition: Kernel | Function, types: tuple[Type, ...] | None, is_kernel: bool, block_dim: int = DEFAULT_BLOCK_DIM
) -> Instance:
    session = Session(instantiate, block_dim=block_dim)
    subject = definition.subject
    result = None
    try:
        m = _match(session, definition, types)
        result = session.lower(definition, m, is_kernel)
        session.check_blocks()
        result.function.block_dim = block_dim if is_kernel and session.in_blocks else 0
    except LoweringError as refused:
        session.report(refused.diagnostic)
    except (CompileError, InternalError, RecursionError):
        raise
    except Exception as e:
        if (interrupt := raised_by_a_handler(e)) is not None:
            raise interrupt from None
        if not session.diagnostics:
            raise InternalError(f"{type(e).__name__}: {e}", subject) from e
    if session.diagnostics:
        raise compile_error(subject, session.diagnostics) from None
    if not definition.quiet:
        tell(definition, ((file, line, message) for (file, line, _), message in session.warnings.items()))
    if result is None:
        raise InternalError("lowering stopped without a reason", subject)
    return result


def _left_open(definition: Kernel | Function, name: str) -> Diagnostic:
    """The report that a kernel has a parameter whose type no argument decides."""
    if definition.func.__annotations__.get(name) in (str, "str"):
        helps = f"pass a number, such as a member of an enum.IntEnum: `{name}: int`; or make a kernel for each string"
        return definition.source.at_parameter(name, f"`{name}`: kernels take no strings as arguments", helps)
    return definition.source.at_parameter(name, f"the type of parameter `{name}` is left open")


def _match(session: Session, definition: Kernel | Function, types: tuple[Type, ...] | None) -> Match:
    params = definition.params
    found = types or tuple(plain(t) for _, t in params)
    refs: dict[str, Any] = {name: None for name, t in params if isinstance(t, Reference)}
    for (name, _), t in zip(params, found):
        if is_generic(t):
            session.report(_left_open(definition, name))
        if isinstance(t, FixedArray) and isinstance(definition, Kernel):
            text = f"parameter `{name}`: local arrays are made in kernels and passed to functions only"
            session.report(definition.source.at_parameter(name, text))
    if session.diagnostics:
        raise LoweringError
    bindings: dict[str, object] = {}
    for (_, pattern), t in zip((getattr(definition, "parent", None) or definition).params, found):
        unify(plain(pattern), t, bindings)
    return Match(0, bindings, [(name, t, None) for (name, _), t in zip(params, found)], [], refs)
