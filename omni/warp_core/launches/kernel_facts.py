"""Facts about kernels: found once, and kept on disk beside compiled kernels.

Tapes and forward mode ask for them before a launch. The front end and passes find them, and some need the adjoint. A
process whose kernels are in the cache does without all of these. Start with `effects`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from .. import compiler
from ..compiler import CompileRequest
from ..ir.launch_facts import AdjointFacts, ArrayLookups, Dependences, Effects, TangentFacts
from ..lang.kernel import Kernel, on_redefinition
from . import kernel_cache

_Facts = TypeVar("_Facts", bound=NamedTuple)

_known: WeakKeyDictionary[Kernel, dict[type, Any]] = WeakKeyDictionary()
on_redefinition.append(_known.clear)


def effects(kernel: Kernel) -> Effects:
    """Return the mod/ref effects of a kernel. Raises as `compile`."""
    return _facts(kernel, Effects, compiler.effects)


def differentiable_dependences(kernel: Kernel) -> Dependences:
    """Return between which parameters of a kernel derivatives flow. Raises as `compile`."""
    return _facts(kernel, Dependences, compiler.differentiable_dependences)


def tangent_facts(kernel: Kernel) -> TangentFacts:
    """Return the facts that a launch in forward mode needs before it runs. Raises as `compile`."""
    return _facts(kernel, TangentFacts, compiler.tangent_facts)


def array_lookups(kernel: Kernel) -> ArrayLookups:
    """Return how a kernel finds arrays of structures. Raises as `compile`."""
    return _facts(kernel, ArrayLookups, compiler.array_lookups)


def adjoint_facts(request: CompileRequest, key: str) -> AdjointFacts:
    """Return the facts about an adjoint that a tape needs. `key` is that of the request. Raises as `compile`."""
    return _kept(compiler.adjoint_facts_key(key), request.kernel, AdjointFacts, lambda: compiler.adjoint_facts(request))


def _facts(kernel: Kernel, kind: type[_Facts], find: Callable[[Kernel], _Facts]) -> _Facts:
    known = _known.setdefault(kernel, {})
    if kind not in known:
        known[kind] = _kept(compiler.facts_key(kernel, kind.__name__), kernel, kind, lambda: find(kernel))
    return known[kind]


def _kept(key: str, kernel: Kernel, kind: type[_Facts], find: Callable[[], _Facts]) -> _Facts:
    """Return the facts that the cache keeps under `key`; if it has none, find and store them."""
    found = kernel_cache.load_facts(key, kind)
    if found is None:
        found = find()
        kernel_cache.store_facts(key, kernel.name, found)
    return found
