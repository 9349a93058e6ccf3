"""Every kernel of the test-suite and every library function as PTX; and assembled, where there is a ptxas. That LLVM
can select all of it is part of the test: it ends the process where it cannot.

The suite compiles every sixth kernel for one architecture in one of three ways, and each library function forward or
as an adjoint. `OMNI_WARP_PTX=all`, which `make fuzz` sets, compiles each kernel and function in all ways.
"""

from __future__ import annotations

import contextlib
import functools
import io
import sys
import tempfile
import warnings
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

import omni.warp_core as wp
from omni.warp_core.autodiff.vjp.adjoint import adjoint_kernel
from omni.warp_core.codegen.cpu.cpu_kernel import EmitOptions
from omni.warp_core.codegen.cuda import ptx
from omni.warp_core.codegen.cuda.cuda_kernel import emit_cuda
from omni.warp_core.codegen.target import GpuOptions, cuda
from omni.warp_core.compiler import CompileRequest, compile
from omni.warp_core.front.gradients.library_rules import library_gradient
from omni.warp_core.lang.errors import NotDifferentiable
from omni.warp_core.lang.kernel import Kernel
from omni.warp_core.passes import pipeline
from tests.codegen.ptx_batch import EVERYTHING, assemble, in_child
from tests.fuzz.corpus import everything, generated, kernels_by_hand
from tools import costs

_PARTS = 8
_OTHERS = {1: 75, 3: 100, 5: 120}  # parts that the suite compiles for other architectures than the usual one
_USUAL = 90
_RUNS = (
    [*((part, _USUAL) for part in range(_PARTS)), *_OTHERS.items()]
    if EVERYTHING
    else [(part, _OTHERS.get(part, _USUAL)) for part in range(_PARTS)]
)
_FORBIDDEN = (".sys", "fence", "membar")


# What the tests have in common is made once in a process.
@functools.cache
def _by_hand() -> list[tuple[str, str]]:
    return list(everything())


@functools.cache
def _modules() -> list[str]:
    return sorted({*(text for _, text in _by_hand()), *generated()})


@functools.cache
def _functions() -> list:
    return sorted(costs.functions(), key=lambda row: row[0])


def _part(things: list, part: int) -> list:
    return things[part::_PARTS]


def _check(found: dict[str, str], capability: int) -> None:
    for name, text in found.items():
        assert not [word for word in _FORBIDDEN if word in _instructions(text)], name
    assemble(found.values(), capability)


def _instructions(text: str) -> str:
    """The text without data, whose names and strings may be anything."""
    return "\n".join(line for line in text.splitlines() if line.startswith("\t"))


@contextlib.contextmanager
def _as_a_program() -> Iterator[None]:
    """Programs of tests change options for themselves, and put caches into the folder that they are given."""
    before = {name: getattr(wp.config, name) for name in wp.config.OPTIONS}
    try:
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(sys, "argv", ["<corpus>", folder]):
            yield
    finally:
        for name, value in before.items():
            if getattr(wp.config, name) != value:
                setattr(wp.config, name, value)


@functools.cache
def _kernels(text: str) -> list[Kernel]:
    space: dict = {}
    with _as_a_program(), contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
        wp.kernel_from_source(text, filename="<corpus>", namespace=space)
    return [k for k in space.values() if isinstance(k, Kernel)]


@functools.cache
def _every_kernel() -> list[Kernel]:
    """All kernels, each once: what stands beside the kernels of a test is in the text of each test of its file."""
    found: dict[str, Kernel] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kernel in (k for text in _modules() for k in _kernels(text)):
            with contextlib.suppress(wp.CompileError, TypeError):
                found.setdefault(_request(kernel, 90, GpuOptions()).key(), kernel)
    return list(found.values())


def _request(kernel: Kernel, capability: int, gpu: GpuOptions, **way: Any) -> CompileRequest:
    return CompileRequest(kernel, tuple(t for _, t in kernel.params), cuda(capability), gpu=gpu, **way)


_WAYS: tuple[dict[str, Any], ...] = ({}, {"debug": True}, {"adjoint": "distinct"})
_OPTIONS = (
    GpuOptions(),
    GpuOptions(aligned=True, disjoint=True),
    GpuOptions(64, 128, 2, aligned=True, disjoint=True, lines=True),
)


def _compiled(kernels: list[Kernel], capability: int) -> Iterator[tuple[str, str]]:
    """PTX of these kernels, of their adjoints, or of them with checks, in turn and with options in turn."""
    warnings.simplefilter("ignore")
    for number, kernel in enumerate(kernels):
        for i, way in enumerate(_WAYS):
            if EVERYTHING or i == number % len(_WAYS):
                with contextlib.suppress(wp.CompileError, TypeError):
                    code = compile(_request(kernel, capability, _OPTIONS[(number // 3 + i) % 3], **way)).code
                    yield f"{number} {kernel.name} {way}", code.decode()


# Those whose decorators or types are arguments of the test around them, or that stand in the text of a program.
_LEFT_OUT = {
    "tests/autodiff/test_exclusive_stores.py": {"rows", "told", "read", "again"},
    "tests/codegen/test_nvptx.py": {"k"},
    "tests/front/test_captured_attributes.py": {"kernel"},
    "tests/front/test_struct_operators.py": {"areas", "of_disc", "of_number", "of_square"},
    "tests/gpu/test_deployment.py": {"wave"},
    "tests/lang/test_keys.py": {"deep"},
    "tests/lang/test_sources.py": {"h"},
    "tests/launches/test_ahead_of_time.py": {"half", "times", "wave", "wrong"},
    "tests/launches/test_launch.py": {"made"},
    "tests/tape/test_deterministic.py": {"numbered"},
}


def test_no_kernel_of_the_test_suite_is_left_out():
    warnings.simplefilter("ignore")
    found = {(file, k.name) for file, text in _by_hand() for k in _kernels(text)}
    assert kernels_by_hand() - found == {(file, name) for file, names in _LEFT_OUT.items() for name in names}


@pytest.mark.parametrize(("part", "capability"), _RUNS)
def test_kernels_of_the_test_suite(part, capability):
    kernels = _part(_every_kernel()[:: 1 if EVERYTHING else 6], part)
    found = in_child(lambda: _compiled(kernels, capability))
    assert len(found) > 0.6 * len(kernels) * (len(_WAYS) if EVERYTHING else 1)  # some have no adjoint
    _check(found, capability)


def _library(functions: list, capability: int) -> Iterator[tuple[str, str]]:
    for number, (name, function) in enumerate(functions):
        forward = costs.kernel(function)
        made = [(name, forward)]
        if EVERYTHING or number % 2:
            with contextlib.suppress(NotDifferentiable):
                made.append((f"adjoint of {name}", adjoint_kernel(forward, library_gradient).function))
        for title, fn in made if EVERYTHING else made[-1:]:
            unit = emit_cuda(pipeline.run(fn), cuda(capability), EmitOptions(), GpuOptions(aligned=True))
            needs = [n for n, _ in unit.needs]
            if not needs or ptx.find_libdevice() is not None:
                yield title, ptx.ptx(unit.text, cuda(capability), 0, needs)


@pytest.mark.parametrize(("part", "capability"), _RUNS)
def test_library_functions(part, capability):
    functions = _part(_functions(), part)
    found = in_child(lambda: _library(functions, capability))
    assert len(found) > len(functions) / 2
    _check(found, capability)
