"""The passes in order, on one page. Start with `run`.

Callees are finished by the same passes, once, before they are inlined or called; the results are kept as long as the
function they came from. The function given is not changed: the first pass makes a copy, the in-place ones work on it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

from ..ir.analysis.size import INLINE_LIMIT, base_name, repeated
from ..ir.interp.block_runner import has_any
from ..ir.nodes import Function
from ..ir.printer import reachable
from .atomic_demotion import demote_atomics
from .barriers import CPU_SHARED_BYTES, check_blocks
from .checks import drop_asserts, insert_checks
from .dce import dce
from .fma_contraction import FusionRecord, contract
from .index_normalization import normalize_indices
from .inline import inline, inline_calls
from .licm import licm
from .load_elimination import eliminate_loads
from .reciprocals import use_reciprocals
from .simplify import simplify
from .tiles.tile_lowering import has_tiles, lower_tiles


@dataclass(frozen=True)
class PassOptions:
    """Options by which two compilations of the same function may differ.

    debug: check bounds, NaN, asserts and integer division. contract: form fused multiply-adds. inline_limit: callees of
    at least so many operations stay calls. calls: functions that stay calls whatever their size, by name. native:
    functions that native code runs, by name; they stay calls, too. private: among which arrays `demote_atomics` may
    look for those of one thread. fast_math: divide vectors by numbers with one division. shared_bytes: the most shared
    memory that a block may take.
    """

    debug: bool = False
    contract: bool = True
    inline_limit: int = INLINE_LIMIT
    calls: frozenset[str] = frozenset()
    native: frozenset[str] = frozenset()
    private: str = "all"
    fast_math: bool = False
    shared_bytes: int = CPU_SHARED_BYTES


def _may_fail(callee: Function) -> bool:
    return has_any(callee, frozenset(("fail",)))


_finished: WeakKeyDictionary[Function, dict[PassOptions, Function]] = WeakKeyDictionary()


def run(function: Function, options: PassOptions = PassOptions(), primal: Function | None = None) -> Function:
    """The optimised form of `function`, which stays as it is; of an adjoint that computes values of `primal` again, as
    the optimised form of that computes them.
    """
    if options.debug:
        function = insert_checks(function)
        if function.block_dim:
            function = inline_calls(function, _may_fail)  # only the kernel can end its block
    options = replace(options, debug=False, calls=options.calls | _repeated(function, primal))
    like = FusionRecord(_optimise(primal, options)) if primal is not None and options.contract else None
    return _optimise(function, options, like)


def _repeated(function: Function, primal: Function | None) -> frozenset[str]:
    """The functions that stay calls as there are many calls of them. In an adjoint, the functions of its kernel are
    calls or not as they are there: what is fused differs between the two, and with it the bits of recomputed values.
    """
    found = repeated(reachable([function]))
    if primal is None:
        return found
    known = frozenset(map(base_name, reachable([primal])))
    return found - known | repeated(reachable([primal]))


def _optimise(function: Function, options: PassOptions, like: FusionRecord | None = None) -> Function:
    """`function` after all passes; the finished functions it calls came out of here too."""
    new = inline(
        function, options.inline_limit, lambda callee: _finish(callee, options), options.calls | options.native
    )
    drop_asserts(new)
    new = simplify(new)
    if new.block_dim:
        check_blocks(new, options.shared_bytes)
        new = lower_tiles(new, options.private == "all", options.shared_bytes) if has_tiles(new) else new
    if options.fast_math:
        use_reciprocals(new)
    normalize_indices(new)
    eliminate_loads(new)
    demote_atomics(new, options.private)
    licm(new)
    if options.contract:
        contract(new, like)
    dce(new)
    return new


def _finish(callee: Function, options: PassOptions) -> Function:
    if callee.name.partition("#")[0] in options.native:
        return callee  # no code is made of it
    kept = _finished.setdefault(callee, {})
    if options not in kept:
        kept[options] = _optimise(callee, options)
    return kept[options]
