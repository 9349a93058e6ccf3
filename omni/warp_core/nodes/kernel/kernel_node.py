"""The Kernel node: compiles the text it carries, binds attributes to parameters, sizes outputs, launches.

`compute(db)` is the whole of it; `ogn/OgnKernel.py` calls it from Kit and from the headless host alike. A compiled
program is kept as long as text and attributes stay the same. So also is a failure, which is then told once and not
compiled again in every frame. A text that changes while the node runs is compiled in a thread, and the last good
program runs until there is a better one.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import Any

import omni.warp_core as wp

from ...lang.errors import CompileError, InternalError
from ..graph.node_graph import GraphError
from .compilation import Compilation
from .device_memory import DeviceMemory
from .diagnostics import COMPILED, COMPILING, ERROR, ProgramError, Status, show_diagnostics, show_status
from .dimensions import rank_of
from .kernel_bindings import records_text
from .kernel_memory import Memory
from .kernel_run import Run
from .kernel_source import KernelUse, normalized
from .kernel_structures import Structures
from .kit_code import KERNEL_CODE, consented_text
from .kit_states import note_state
from .node_values import Attributes, NodeValues, dynamic
from .program import Program, Request, uses_to_run
from .unread_attributes import unread

RUNS_ON = "the new text does not compile, so the last good one runs on"
_DEVICE = re.compile(r"cpu|cuda(:[0-9]+)?")


@dataclass
class KernelState:
    """State that a node keeps between frames: the last good program, and the compilation of the newest request."""

    program: Program | None = None
    newest: Compilation | None = None
    is_taken: bool = False
    works: bool = False  # in the last frame
    error: ProgramError | None = None
    memory: Memory | DeviceMemory = field(default_factory=Memory)
    structures: Structures = field(default_factory=Structures)
    status: Status = field(default_factory=Status)
    told: set[str] = field(default_factory=set)
    frame: int = 0
    run: Run | None = None
    attributes: Attributes | None = None
    layout: tuple[Any, Any] | None = None  # the node whose attributes these were, and its layout


def internal_state() -> KernelState:
    """The state of a new node."""
    return KernelState()


def take_old_dimension(node: Any) -> None:
    """Let `inputs:dim1` of a node be its `inputs:dim`, by value and connections."""
    if node.get_attribute_exists("inputs:dim"):
        old, new = node.get_attribute("inputs:dim"), node.get_attribute("inputs:dim1")
        new.set(old.get())
        for source in old.get_upstream_connections():
            source.connect(new, True)


def compute(db: Any) -> bool:
    """Run the node once. Raises GraphError with what is wrong, in the words and lines of the node's text."""
    state: KernelState = db.per_instance_state
    note_state(db, state)
    error: GraphError | None = None
    try:
        _compute(db, state)
    except GraphError as failure:
        error = failure if isinstance(failure, ProgramError) else ProgramError(str(failure))
        raise
    finally:
        found = error or state.error
        is_compiling = state.newest is not None and not state.is_taken
        state.status.state = COMPILING if is_compiling else ERROR if found else COMPILED
        show_diagnostics(db, found.diagnostics if isinstance(found, ProgramError) else [])
        show_status(db, state.status)
        state.works = error is None
    return True


def _compute(db: Any, state: KernelState) -> None:
    values = NodeValues(db, _attributes(db, state))
    program = _program(db, state, values)
    device = program.request.device
    if device != getattr(state.memory, "device", "cpu"):
        state.memory = Memory() if device == "cpu" else DeviceMemory(device)
    if _begins_anew(db, state):
        state.memory.reset()
    state.run = None
    run = Run(program, values, state.memory, state.structures)
    try:
        run.perform(_substeps(db))
    except (CompileError, InternalError) as error:  # neither gets better by trying again
        state.program, state.error = None, ProgramError(str(error))
        raise state.error from None
    except (wp.KernelError, TypeError, ValueError) as error:
        raise GraphError(str(error)) from None
    state.status.device = program.request.device
    state.status.kernel_ms, state.status.dims = round(run.kernel_ms, 3), [list(map(int, dims)) for dims in run.dims]
    _spend(db, kernel_ms=run.kernel_ms, launches=run.launches)
    state.status.replay = "launched"
    state.run = run
    publish(db, state, run)


def publish(db: Any, state: KernelState, run: Run, only: Container[str] | None = None) -> None:
    """Give what the kernels have written to outputs, `only` some or all. Raises GraphError; see Run.publish."""
    run.publish(lambda about, text: _warn_once(db, state, about, text), only)


def _attributes(db: Any, state: KernelState) -> Attributes:
    """The user's attributes. In this host they are found once, unless one came or went or may take another type."""
    layout = db.node, getattr(db.node, "layout", None)
    if state.attributes is None or state.layout != layout:
        is_open = layout[1] is None or any(a.is_dynamic() and a.type.is_any for a in db.node.get_attributes())
        state.attributes, state.layout = dynamic(db), None if is_open else layout
    return state.attributes


def _substeps(db: Any) -> int:
    count: int = db.inputs.substeps
    if count < 0:
        raise GraphError(f"inputs:substeps is {count}; it must be at least 0")
    return count


def _program(db: Any, state: KernelState, values: NodeValues) -> Program:
    """The program to run in this frame: the newest one, or the last good one. Raises GraphError without any."""
    request = _request(db, values)
    if state.newest is not None and state.newest.is_done and not state.is_taken:
        _take(db, state, state.newest, values)
    if state.newest is None or request != state.newest.request:
        for use in _uses(request.text, request.kernels):
            rank_of(values, use)  # settings that are wrong are told before the text is compiled
        last = state.program.request if state.program else None
        is_live = last is not None and request._replace(text=last.text, kernels=last.kernels) == last
        state.newest, state.is_taken = Compilation(request, in_background=is_live), False
        if not is_live:
            state.program = None
            _take(db, state, state.newest, values)
    if state.program is None:
        assert state.error is not None
        raise state.error
    return state.program


def _take(db: Any, state: KernelState, done: Compilation, values: NodeValues) -> None:
    """Use the result of a compilation. An error leaves the last good program in place."""
    state.is_taken, state.error = True, done.error
    if done.program is not None:
        state.program = done.program
        state.status.compile_ms = round(done.program.compile_ms, 3)
        _spend(db, compile_ms=done.program.compile_ms)
        for text in (*done.program.warnings, *_unread(values, done.program)):
            db.log_warning(text)
    elif state.program is not None:
        db.log_warning(f"{RUNS_ON}: {done.error}")


def _unread(values: NodeValues, program: Program) -> Iterator[str]:
    """What to say about attributes that the kernels do not read. Those of struct style may be left over."""
    names = {binding.name for step in program.steps for binding in step.bindings}
    return iter(()) if program.structs else unread(values, names)


def settled_run(db: Any, state: KernelState) -> Run | None:
    """The last run of a node if it was one of the newest text; None while another text is being compiled."""
    is_settled = state.newest is not None and state.is_taken and state.error is None
    return state.run if is_settled and not db.inputs.reset else None


def _request(db: Any, values: NodeValues) -> Request:
    text = _text(db)
    file = f"{db.node.get_prim_path()}.inputs:{'codeFile' if db.inputs.codeProvider == 'file' else 'codeStr'}"
    kernels = tuple(db.inputs.kernels)
    uses = _uses(text, kernels)
    rank = rank_of(values, uses[0]) if uses and uses[0].is_struct else 0
    return Request(text, file, kernels, rank, values.attributes, records_text(db), _device(db))


def _device(db: Any) -> str:
    """The device of the play, or in Kit that of the node. Raises GraphError."""
    host, own = getattr(db, "host", None), db.inputs.device
    if not _DEVICE.fullmatch(own):
        raise GraphError(f"inputs:device is {own!r}; it must be cpu, or a GPU such as cuda:0")
    return own if host is None else str(host.device)


def _uses(text: str, kernels: tuple[str, ...]) -> tuple[KernelUse, ...]:
    """The kernels to run; none where the compilation will tell what is wrong."""
    try:
        return uses_to_run(text, kernels)
    except GraphError:
        return ()


def _text(db: Any) -> str:
    host = getattr(db, "host", None)
    if host is not None:  # the text that was consented to, not whatever the attribute holds by now
        return normalized(host.code[db.node.get_prim_path()])
    return normalized(consented_text(db, KERNEL_CODE))


def _begins_anew(db: Any, state: KernelState) -> bool:
    """True if persistent arrays take their first values: the timeline went back, or `inputs:reset` says so."""
    host = getattr(db, "host", None)
    frame = host.timeline.frame if host is not None else state.frame
    before, state.frame = state.frame, frame
    return frame < before or bool(db.inputs.reset)


def _warn_once(db: Any, state: KernelState, about: str, text: str) -> None:
    if about not in state.told:
        state.told.add(about)
        db.log_warning(text)


def _spend(db: Any, **amounts: float) -> None:
    timing = getattr(db.node, "timing", None)
    for name, amount in amounts.items() if timing else ():
        setattr(timing, name, getattr(timing, name) + amount)
