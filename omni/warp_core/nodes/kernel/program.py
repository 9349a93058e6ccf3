"""The program of a Kernel node: its compiled kernels, and how their parameters are bound to attributes.

Start with `build`. It needs no node, so that a text can be compiled while the node runs its last good one.
"""

from __future__ import annotations

import builtins
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import omni.warp_core as wp

from ...lang.errors import CompileError, InternalError
from ...launches.plans import cached, options_for
from ..graph.node_graph import GraphError
from .diagnostics import ProgramError, entry, of_compiler
from .kernel_bindings import Binding, bind_parameters, make_structs, parameters_of
from .kernel_source import KernelUse, chosen, inspect
from .node_values import Attributes
from .signature import is_companion

uses_of = lru_cache(maxsize=256)(inspect)


class Request(NamedTuple):
    """All that decides a program. `rank` is the number of launch dimensions in struct style, else 0."""

    text: str
    file: str
    kernels: tuple[str, ...]
    rank: int
    attributes: Attributes
    records: str
    device: str


@dataclass
class Step:
    """One kernel of a program."""

    kernel: Any
    use: KernelUse
    bindings: list[Binding]

    def covers(self, binding: Binding, device: str) -> bool:
        """True if a launch over the shape of an array neither reads nor leaves what was there."""
        loaded = cached(self.kernel, options_for(self.kernel, wp.get_device(device)))
        name = f"outputs.{binding.name}" if self.use.is_struct else binding.name
        return loaded is not None and any(array.name == name for array in loaded.artifact.covered)


@dataclass
class Program:
    """Kernels in the order in which they run. `structs` are `Inputs` and `Outputs` of struct style."""

    request: Request
    steps: list[Step]
    structs: tuple[Any, Any] | None = None
    warnings: list[str] = field(default_factory=list)
    compile_ms: float = 0.0

    @property
    def name(self) -> str:
        """The names of the kernels as errors give them."""
        return ", ".join(f"`{step.kernel.name}`" for step in self.steps)


def build(request: Request) -> Program:
    """Compile the text of a node and bind its parameters. Raises ProgramError."""
    started = time.perf_counter()
    try:
        program = _built(request)
        wp.force_load(request.device, [SimpleNamespace(**{s.kernel.name: s.kernel for s in program.steps})])
    except CompileError as error:
        raise ProgramError(str(error), of_compiler(error)) from None
    except (GraphError, InternalError) as error:
        raise error if isinstance(error, ProgramError) else ProgramError(str(error)) from None
    program.compile_ms = (time.perf_counter() - started) * 1e3
    return program


def uses_to_run(text: str, kernels: Sequence[str]) -> tuple[KernelUse, ...]:
    """Return the kernels of a text that a node runs, in order. Raises GraphError."""
    return chosen(uses_of(text), kernels)


def kernels_of(request: Request, uses: tuple[KernelUse, ...]) -> list[Any]:
    """Run the text of a request, in plain style, and return its kernels without compiling them. Raises ProgramError."""
    return _kernels(request, uses, text_namespace())


def _built(request: Request) -> Program:
    uses = uses_to_run(request.text, request.kernels)
    namespace = text_namespace()
    struct_use = next((use for use in uses if use.is_struct), None)
    if struct_use:
        if len(uses) > 1:
            raise GraphError("a kernel that takes `inputs: Inputs, outputs: Outputs` must be the only one that runs")
        bindings, structs = make_structs(request.attributes, request.records, struct_use, request.rank)
        namespace["Inputs"], namespace["Outputs"] = (type(s) for s in structs)
        kernel = _kernels(request, uses, namespace)[0]
        return Program(request, [Step(kernel, struct_use, bindings)], structs)
    steps = []
    for kernel, use in zip(_kernels(request, uses, namespace), uses or (None,), strict=True):
        use = use or _unknown_use(kernel)
        steps.append(Step(kernel, use, bind_parameters(kernel.name, parameters_of(kernel, use), request.attributes)))
    return _shared(Program(request, steps))


def _shared(program: Program) -> Program:
    """Check what kernels have in common: an array that one of them writes to is private for all."""
    everything = [b for step in program.steps for b in step.bindings]
    private = {b.key for b in everything if b.private}
    for binding in everything:
        binding.private = binding.key in private
    names = {b.name for b in everything}
    unused = [n for n in program.request.attributes.outputs if n not in names and not is_companion(n, names)]
    if unused:
        text = f"no parameter of {program.name} writes outputs:{', outputs:'.join(unused)}"
        if len(unused) == len(program.request.attributes.outputs):
            raise GraphError(f"{text}, so nothing would leave the node" + "; is inputs:codeStr set?" * (not everything))
        program.warnings.append(text)
    inputs = program.request.attributes.inputs
    read_only = {b.name for b in everything if b.source and not b.target and not b.state}
    for name in sorted(n for n in read_only if f"{n}_length" in inputs and f"{n}_length" not in names):
        program.warnings.append(
            f"inputs:{name}:length has no effect: it is for outputs and persistent arrays, and `{name}` is an input"
        )
    return program


def _unknown_use(kernel: Any) -> KernelUse:
    """The use of a kernel that does not stand in the text as a function: it may write to anything."""
    touched = frozenset(("", name) for name, _ in kernel.params)
    return replace(KernelUse(kernel.name), touched=touched, mentioned=touched, threads=None)


def _kernels(request: Request, uses: tuple[KernelUse, ...], namespace: dict[str, Any]) -> list[Any]:
    """Run the text and return its kernels. Raises ProgramError for whatever the text raises."""
    file = request.file
    try:
        first = wp.kernel_from_source(
            request.text, filename=file, name=uses[0].name if uses else None, namespace=namespace
        )
        return [first, *(namespace[use.name] for use in uses[1:])]
    except (CompileError, KeyboardInterrupt):
        raise
    except BaseException as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
        where = f"{file}:{lines[-1]}" if lines else file
        what = "".join(traceback.format_exception_only(error)).strip()  # also of an error whose text cannot be had
        what = what.removeprefix(f"{file}.")
        found = entry(what, file, lines[-1] or 0 if lines else 0)
        raise ProgramError(f"{what}\n --> {where}", [found]) from None


def _import(name: str, *args: Any, **kwargs: Any) -> Any:
    """`import` for texts: those written for omni.warp say `import warp` and mean this package."""
    if name == "warp":
        return wp
    return builtins.__import__(name, *args, **kwargs)


def text_namespace() -> dict[str, Any]:
    """Return the names that a text finds before its first line."""
    return {"wp": wp, "warp": wp, "__builtins__": {**vars(builtins), "__import__": _import}}
