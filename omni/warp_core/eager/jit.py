"""Machine code for builtins at Python scope.

A call is interpreted until its argument types have come 200 times (native/python/launches/dispatcher.cpp counts). Then
the code comes from the cache on disk, or LLVM compiles it if it is loaded already. Otherwise compiling waits for a
thousand calls, so that a program which calls a few builtins never loads LLVM. From there on native code calls it. The
code is that of a kernel of one thread, which has the builtin's call as its only statement. Start with `compile_call`.
"""

from __future__ import annotations

import sys
from typing import Any

from .. import _native, config
from ..ir.nodes import Function
from ..lang import registry
from ..lang.errors import CompileError, InternalError
from ..lang.kernel import Kernel
from ..lang.types import Array, Packed, Scalar, Type
from ..lang.values.value_classes import python_type
from ..launches import plans
from . import call

COMPILE_AFTER_CALLS = 1000  # calls before LLVM is loaded for them
DISABLED = 0
MAX_ARGUMENT_BYTES = 1024  # bytes of arguments and results


def compile_call(callee: registry.Builtin | registry.Intrinsic, args: tuple, calls: int) -> int:
    """Give `callee` code for arguments like `args`, which came `calls` times, if the time has come.

    Returns the number of calls after which to ask again; 0 for never.
    """
    if isinstance(callee, registry.Intrinsic) and callee.run is not None:
        return DISABLED
    found = call.lower_type_generic(callee, args)
    if found is None:
        return DISABLED
    params, fn = found
    if not fn.results or not _fits((*params, *fn.results)) or not _is_safe(fn):
        return DISABLED
    kernel = _kernel(callee, params, fn.results)
    options = plans.Options(debug=False, cpu_target=config.cpu_target)
    try:
        loaded = plans.cached(kernel, options)
        if loaded is None and "llvmlite" not in sys.modules and calls < COMPILE_AFTER_CALLS:
            return COMPILE_AFTER_CALLS
        loaded = loaded or plans.load(kernel, options)
    except (CompileError, InternalError, ImportError):  # the interpreter does it, too
        return DISABLED
    arguments, results = ([python_type(t) for t in types] for types in (params, fn.results))
    _native.add_code(callee, args, arguments, results, loaded.address, loaded)
    return DISABLED


def _fits(types: tuple[Type, ...]) -> bool:
    """True if native code accepts values of these types."""
    return all(isinstance(t, (Scalar, Packed)) for t in types) and sum(t.size for t in types) <= MAX_ARGUMENT_BYTES


_CHECKED = frozenset(("extract_dyn", "insert_dyn", "load", "store", "atomic"))  # by the interpreter alone


def _is_safe(fn: Function) -> bool:
    """True if no argument can make the compiled code access memory out of bounds."""
    return all(op.code not in _CHECKED and (op.code != "call" or _is_safe(op.attr)) for op in fn.body.walk())


def _kernel(callee: Any, params: tuple[Type, ...], results: tuple[Type, ...]) -> Kernel:
    """The kernel that calls `callee` and stores what it returns."""
    given = [f"a{i}" for i in range(len(params))]
    made = [f"x{i}" for i in range(len(results))]
    outs = [f"out{i}" for i in range(len(results))]
    stores = "".join(f"    {out}[0] = {x}\n" for out, x in zip(outs, made))
    body = f"    {', '.join(made)} = callee({', '.join(given)})\n{stores}"
    annotations = {**dict(zip(given, params)), **{out: Array(t, 1) for out, t in zip(outs, results)}}
    return call.define(callee.name, body, annotations, {"callee": callee}, lambda f: Kernel(f, options={"lanes": 1}))
