"""The Kernel node: compiles the text it carries, binds attributes to parameters, sizes outputs, launches.

`compute(db)` is the whole of it; `ogn/OgnKernel.py` calls it from Kit and from the headless host alike. The compiled
kernel and its bindings are kept as long as text and attributes stay the same. So also is a failure, which is then told
once and not compiled again in every frame.
"""

from __future__ import annotations

import builtins
import math
import os
import sys
import time
import traceback
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import omni.warp_core as wp

from ...lang.errors import CompileError, InternalError
from ..graph.node_graph import GraphError
from ..values.attribute_types import AttributeType
from .kernel_bindings import Attributes, Binding, bind_parameters, dynamic, make_structs, records_text
from .kernel_source import TextInfo, inspect, normalized
from .kernel_types import as_array, as_numbers, as_scalar
from .kit_code import consented_text


class Request(NamedTuple):
    """The inputs of a compiled kernel and its bindings; any change asks for new ones."""

    text: str
    rank: int
    attributes: Attributes
    records: str


# Bytes of physical memory. The system would promise more, and then end the process.
_MEMORY = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else sys.maxsize


@dataclass
class KernelState:
    """State that a node keeps between frames."""

    request: Request | None = None
    error: str = ""
    kernel: Any = None
    bindings: list[Binding] = field(default_factory=list)
    structs: tuple[Any, Any] | None = None
    compiled: bool = False


def internal_state() -> KernelState:
    """The state of a new node."""
    return KernelState()


def compute(db: Any) -> bool:
    """Run the node once. Raises GraphError with what is wrong, in the words and lines of the node's text."""
    state = db.per_instance_state
    text = _text(db)
    attributes = dynamic(db)
    dims = _dims(db, attributes.inputs)
    request = Request(text, len(dims), attributes, records_text(db))
    if request != state.request:
        state.__init__()
        state.request = request
        try:
            _prepare(db, state, request)
        except GraphError as error:
            state.error = str(error)
    if state.error:
        raise GraphError(state.error)
    try:
        _run(db, state, dims)
    except (CompileError, InternalError) as error:  # neither gets better by trying again
        state.error = str(error)
        raise GraphError(state.error) from None
    except (wp.KernelError, TypeError, ValueError) as error:
        raise GraphError(str(error)) from None
    return True


# -- what the attributes say ------------------------------------------------------------------------------------------


def _text(db: Any) -> str:
    host = getattr(db, "host", None)
    if host is not None:  # the text that was consented to, not whatever the attribute holds by now
        return normalized(host.code[db.node.get_prim_path()])
    return normalized(consented_text(db))


def _dims(db: Any, inputs: dict[str, AttributeType]) -> tuple[int, ...]:
    """The launch dimensions: explicit, or the length of an input array."""
    source = db.inputs.dimSource
    if source in ("", "explicit"):
        count = db.inputs.dimCount
        if not 1 <= count <= 4:
            raise GraphError(f"inputs:dimCount is {count}; a launch has 1 to 4 dimensions")
        return tuple(max(0, getattr(db.inputs, f"dim{i + 1}")) for i in range(count))
    if source not in inputs or not inputs[source].is_array:
        arrays = ", ".join(n for n, t in inputs.items() if t.is_array) or "none"
        raise GraphError(
            f"inputs:dimSource is {source!r}, which is not an input array of this node; "
            f"use 'explicit' or one of: {arrays}"
        )
    return (len(_value(db, "inputs", source)),)


def _value(db: Any, port: str, name: str) -> Any:
    value = getattr(getattr(db, port), name)
    return value.value if hasattr(value, "resolved") else value


# -- compiling --------------------------------------------------------------------------------------------------------


def _prepare(db: Any, state: KernelState, request: Request) -> None:
    info = inspect(request.text)
    if len(info.kernels) > 1 and not info.kernel:
        raise GraphError(
            f"the text has several kernels ({', '.join(info.kernels)}); rename the one to run to `compute`"
        )
    namespace = _namespace()
    if info.is_struct:
        state.bindings, state.structs = make_structs(request.attributes, request.records, info, request.rank)
        namespace["Inputs"], namespace["Outputs"] = (type(s) for s in state.structs)
    started = time.perf_counter()
    state.kernel = _make_kernel(db, request.text, info, namespace)
    if not info.is_struct:
        state.bindings = bind_parameters(db, request.attributes, state.kernel, info)
    _spend(db, compile_ms=(time.perf_counter() - started) * 1e3)


def _import(name: str, *args: Any, **kwargs: Any) -> Any:
    """`import` for texts: those written for omni.warp say `import warp` and mean this package."""
    if name == "warp":
        return wp
    return builtins.__import__(name, *args, **kwargs)


def _namespace() -> dict[str, Any]:
    return {"wp": wp, "warp": wp, "__builtins__": {**vars(builtins), "__import__": _import}}


def _make_kernel(db: Any, text: str, info: TextInfo, namespace: dict[str, Any]) -> Any:
    file = f"{db.node.get_prim_path()}.inputs:{'codeFile' if db.inputs.codeProvider == 'file' else 'codeStr'}"
    try:
        return wp.kernel_from_source(text, filename=file, name=info.kernel or None, namespace=namespace)
    except CompileError as error:
        raise GraphError(str(error)) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever the user's module text raises while it runs
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
        where = f"{file}:{lines[-1]}" if lines else file
        what = "".join(traceback.format_exception_only(error)).strip()  # also of an error whose text cannot be had
        raise GraphError(f"{what.removeprefix(f'{file}.')}\n --> {where}") from None


# -- running ----------------------------------------------------------------------------------------------------------


def _run(db: Any, state: KernelState, dims: tuple[int, ...]) -> None:
    arguments, results = [], []
    arrays = [b.source for b in state.bindings if b.source and b.attribute.is_array]
    for binding in state.bindings:
        if binding.target:
            value = _output(db, binding, dims, arrays)
            results.append(binding)
        else:
            value = _input(db, binding, dims)
        if state.structs:
            setattr(state.structs[1 if binding.target else 0], binding.name, value)
        else:
            arguments.append(value)
    _launch(db, state, dims, list(state.structs) if state.structs else arguments)
    for binding in results:
        assert binding.buffer is not None
        made = binding.buffer.view(np.uint8) != 0 if binding.attribute.base == "bool" else binding.buffer
        setattr(db.outputs, binding.target, made if binding.attribute.is_array else made[0])


def _launch(db: Any, state: KernelState, dims: tuple[int, ...], arguments: list[Any]) -> None:
    host = getattr(db, "host", None)
    device = host.device if host is not None else db.inputs.device
    if not state.compiled:
        started = time.perf_counter()
        wp.force_load(device, [SimpleNamespace(kernel=state.kernel)])
        state.compiled = True
        _spend(db, compile_ms=(time.perf_counter() - started) * 1e3)
    if 0 in dims:
        return
    started = time.perf_counter()
    wp.launch(state.kernel, dim=dims, inputs=arguments, device=device)
    _spend(db, kernel_ms=(time.perf_counter() - started) * 1e3, launches=1)


def _spend(db: Any, **amounts: float) -> None:
    timing = getattr(db.node, "timing", None)
    for name, amount in amounts.items() if timing else ():
        setattr(timing, name, getattr(timing, name) + amount)


def _input(db: Any, binding: Binding, dims: tuple[int, ...]) -> Any:
    """The argument for an input."""
    if not binding.rank:
        return as_scalar(_value(db, "inputs", binding.source), binding.attribute, binding.type)
    numbers = _numbers(db, binding.source, binding, dims)
    if binding.private:
        numbers = numbers.copy()
    return as_array(numbers, binding.element, _view_shape(binding, len(numbers), dims))


def _numbers(db: Any, name: str, binding: Binding, dims: tuple[int, ...]) -> np.ndarray:
    """The elements of an input array. Raises GraphError if it has none and the launch would read them."""
    numbers = as_numbers(_value(db, "inputs", name), binding.attribute)
    if len(numbers) or binding.optional or 0 in dims:
        return numbers
    if db.node.get_attribute(f"inputs:{name}").get_upstream_connection_count() == 0:
        text = "is empty and nothing is connected to it; connect it, give it a value, or mark it as optional"
        raise GraphError(f"inputs:{name} {text}")
    return numbers


def _view_shape(binding: Binding, count: int, dims: tuple[int, ...]) -> tuple[int, ...]:
    """The shape in which the kernel sees `count` elements."""
    rank = binding.rank
    if rank == 1:
        return (count,)
    if rank == len(dims) and math.prod(dims) == count:
        return dims
    raise GraphError(
        f"`{binding.name}` has {rank} dimensions in the kernel; its {count} elements do not fill the launch of {dims}"
    )


def _output(db: Any, binding: Binding, dims: tuple[int, ...], arrays: list[str]) -> Any:
    """The array an output is written to: zeros, or a copy of the input of the same name in plain style.

    `arrays` names the input arrays that the kernel reads.
    """
    kind = binding.attribute
    like = _numbers(db, binding.like, binding, dims) if binding.like and kind.is_array else None
    if not kind.is_array:
        count, shape = 1, (1,) * binding.rank
    else:
        count = len(like) if like is not None else math.prod(dims)
        shape = _view_shape(binding, count, dims)
    binding.buffer = _buffer(binding, (count, *kind.shape), [_value(db, "inputs", name) for name in arrays])
    if binding.source:
        binding.buffer[...] = _value(db, "inputs", binding.source) if like is None else like
    else:
        binding.buffer[...] = 0
    return as_array(binding.buffer, binding.element, shape)


def _buffer(binding: Binding, shape: tuple[int, ...], read: list[Any]) -> np.ndarray:
    """The buffer of the frame before, or a new one where sizes changed or one of the arrays `read` is that memory.

    The latter happens on a cycle that carries a state. Raises GraphError where memory cannot hold the buffer and the
    copy that becomes a time sample.
    """
    old = binding.buffer
    dtype = np.dtype(np.uint64) if binding.attribute.base == "token" else binding.attribute.dtype
    if old is not None and old.shape == shape and not any(_shares(value, old) for value in read):
        return old
    size = math.prod(shape) * dtype.itemsize
    if size > _MEMORY // 2:
        raise GraphError(
            f"outputs:{binding.target} would take {size / 1e9:.1f} GB, and as much again in the result; "
            f"this machine has {_MEMORY / 1e9:.1f} GB of memory"
        )
    return np.empty(shape, dtype)


def _shares(value: Any, buffer: np.ndarray) -> bool:
    return isinstance(value, np.ndarray) and np.may_share_memory(value, buffer)
