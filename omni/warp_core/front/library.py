"""Instances of library functions: taken from the pack of pre-lowered IR if it has them, else lowered from source.

Instances live as long as the process; library code captures nothing that changes. `pack_lookup` gets the text key of
an instance and returns its function, or None; it is unset while a pack is made.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any

from ..ir.nodes import Function
from ..lang.errors import InternalError
from ..lang.generics import Reference, plain, unify
from ..lang.registry import Builtin, Overload
from ..lang.types import Type
from . import library_pack
from .calls.overload_resolution import Match
from .context import LoweringError
from .names import captures_of
from .session import Instance, Session, _static_key
from .values import Static, flatten

pack_lookup: Callable[[str], Function | None] | None = library_pack.lookup

_instances: dict[tuple, Instance] = {}
_lock = RLock()  # kernels may be lowered by several threads at once


def instance_key(builtin: Builtin, index: int, types: tuple[Type, ...], statics: dict[str, Any]) -> str:
    """The text that names an instance in packs: `dot#0(vec3<f32>, vec3<f32>)`, compile-time arguments after a `;`."""
    extra = "".join(f"; {name}={_spell_static(x)}" for name, x in sorted(statics.items()))
    return f"{builtin.name}#{index}({', '.join(t.key for t in types)}{extra})"


def _spell_static(x: Any) -> str:
    obj = getattr(x, "obj", x)
    t = getattr(obj, "__wc_type__", obj)
    return t.key if isinstance(t, Type) else str(_static_key(x))


def instantiate(
    builtin: Builtin,
    index: int,
    types: tuple[Type, ...],
    bindings: dict[str, Any] | None = None,
    statics: dict[str, Any] | None = None,
) -> Instance:
    """The instance of overload `index` for run-time arguments of these types.

    Args:
        builtin: the overload set.
        index: which of its overloads.
        types: types of the run-time arguments, in order.
        bindings: type variables, where the caller has them; else they are found by matching.
        statics: compile-time arguments by parameter name, as front values.

    Raises:
        InternalError: the library function itself does not compile for these types.
    """
    statics = statics or {}
    key = (builtin.name, index, types, tuple((n, _static_key(x)) for n, x in sorted(statics.items())))
    found = _instances.get(key)
    if found is not None:
        return found
    with _lock:
        if key not in _instances:
            text, overload = instance_key(builtin, index, types, statics), builtin.overloads[index]
            ready = pack_lookup(text) if pack_lookup else None
            if ready is not None:
                found = _unpacked(ready, overload)
            else:
                found = _lower(builtin, index, types, bindings, statics, text)
            _instances[key] = found
        return _instances[key]


def _unpacked(fn: Function, overload: Overload) -> Instance:
    refs = sum(isinstance(pattern, Reference) for _, pattern, _ in overload.params)
    results = fn.results[: len(fn.results) - refs]
    return Instance(fn, tuple(results) if len(results) > 1 else results[0] if results else flatten(Static(None))[0])


_active: list[str] = []


def _lower(
    builtin: Builtin,
    index: int,
    types: tuple[Type, ...],
    bindings: dict[str, Any] | None,
    statics: dict[str, Any],
    text: str,
) -> Instance:
    overload = builtin.overloads[index]
    runtime = [(name, pattern) for name, pattern, _ in overload.params if name not in statics]
    bound = dict(bindings or {})
    if bindings is None:
        for (_, pattern), t in zip(runtime, types):
            unify(plain(pattern), t, bound)
    refs: dict[str, Any] = {name: None for name, pattern in runtime if isinstance(pattern, Reference)}
    m = Match(0, bound, [(name, t, None) for (name, _), t in zip(runtime, types)], list(statics.items()), refs)
    if text in _active:
        raise InternalError(f"library function {text} calls itself")
    session = Session(instantiate, quiet=True)
    _active.append(text)
    try:
        found = session.lower_body(text, overload.source, overload.func, captures_of(overload.func), m, False)
    except LoweringError as refused:
        session.report(refused.diagnostic)
        if statics:  # what the caller gave for them is not what the function can use
            raise LoweringError(session.diagnostics[0]) from None
        problems = "\n".join(d.render() for d in session.diagnostics)
        raise InternalError(f"library function {text} does not compile:\n{problems}") from None
    finally:
        _active.pop()
    found.function.is_library, found.function.is_cold = True, overload.cold
    return found
