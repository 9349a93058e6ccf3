"""Control flow that lanes take differently, at every width, against the interpreter."""

from __future__ import annotations

from pathlib import Path

import pytest

from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.interp.array_memory import MemArray
from omni.warp_core.ir.parser import parse
from omni.warp_core.ir.verifier import verify
from omni.warp_core.lang.types import I32
from tests.codegen.machine import Machine, same, targets

_SIZE = 53  # not a multiple of any width
_TEXT = (Path(__file__).parent / "kernels" / "divergence.wir").read_text()
_KERNELS = {fn.name: fn for fn in parse(_TEXT) if fn.is_kernel}


def _arguments(fn):
    args = []
    for p in fn.params:
        args.append(MemArray(I32, (_SIZE,), [(7 * i) % 11 for i in range(_SIZE)]) if p.type is not I32 else 19)
    return args


@pytest.mark.parametrize("target", targets(), ids=lambda t: t.name)
@pytest.mark.parametrize("lanes", [1, 4, 8, 16])
@pytest.mark.parametrize("name", sorted(_KERNELS))
def test_equals_interpreter(name, lanes, target):
    fn = _KERNELS[name]
    verify(fn)
    expected, got = _arguments(fn), _arguments(fn)
    interp.run_kernel(fn, expected, _SIZE)
    Machine(fn, target, lanes).run(got, _SIZE)
    for a, b in zip(expected, got):
        assert not isinstance(a, MemArray) or all(map(same, a.values(), b.values()))


@pytest.mark.parametrize("lanes", [1, 4, 8, 16])
def test_ranges_of_a_launch_are_independent(lanes):
    fn = _KERNELS["collatz"]
    whole, parts = _arguments(fn), _arguments(fn)
    machine = Machine(fn, targets()[-1], lanes)
    machine.run(whole, _SIZE)
    for begin, end in ((17, 31), (0, 17), (31, _SIZE)):
        machine.run(parts, _SIZE, begin, end)
    assert whole[0].data == parts[0].data
