"""What the Kernel node does: compile the text it carries, bind attributes to parameters, size outputs, launch.

`compute(db)` is the whole of it; `ogn/OgnKernel.py` calls it from Kit and from the headless host alike. The compiled
kernel and its bindings are kept as long as text and attributes stay the same, and so is a failure, which is then told
once and not compiled again in every frame.
"""

from __future__ import annotations

import builtins
import json
import math
import time
import traceback
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

import omni.warp_core as wp

from ..lang import types as kt
from ..lang.classes import python_type
from ..lang.errors import CompileError, nearest
from .graph import GraphError
from .kernel_text import TextInfo, inspect, normalized
from .kernel_types import as_array, as_numbers, as_scalar, element_type, fits, spelled, struct_element_type
from .types import AttributeType, parse


@dataclass
class Binding:
    """How one parameter, or one field of `Inputs` or `Outputs`, gets its value.

    `source` and `target` are attribute base names, "" for none; an output that has both starts as a copy of its input.
    """

    name: str
    type: kt.Type
    attribute: AttributeType
    source: str = ""
    target: str = ""
    private: bool = False
    optional: bool = False
    like: str = ""
    buffer: np.ndarray | None = None

    @property
    def rank(self) -> int:
        """Dimensions of the array that the kernel sees, 0 for a plain value."""
        return self.type.ndim if isinstance(self.type, kt.Array) else 0

    @property
    def element(self) -> kt.Type:
        """The type of one element of that array, or of the plain value."""
        return self.type.dtype if isinstance(self.type, kt.Array) else self.type


@dataclass
class KernelState:
    """What a node keeps between frames."""

    key: Any = None
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
    dims = _dims(db)
    key = (text, len(dims), _signature(db), _records_text(db))
    if key != state.key:
        state.__init__()
        state.key = key
        try:
            _prepare(db, state, text, len(dims))
        except GraphError as error:
            state.error = str(error)
    if state.error:
        raise GraphError(state.error)
    try:
        _run(db, state, dims)
    except CompileError as error:
        state.error = str(error)
        raise GraphError(state.error) from None
    except (wp.KernelError, wp.InternalError, TypeError, ValueError) as error:
        raise GraphError(str(error)) from None
    return True


# -- what the attributes say ------------------------------------------------------------------------------------------


def _text(db: Any) -> str:
    host = getattr(db, "host", None)
    if host is not None:  # the text that was consented to, not whatever the attribute holds by now
        return normalized(host.code[db.node.get_prim_path()])
    if db.inputs.codeProvider == "file":
        with open(db.inputs.codeFile, encoding="utf-8") as source:
            return normalized(source.read())
    return normalized(db.inputs.codeStr)


def _dynamic(db: Any, port: str) -> dict[str, AttributeType]:
    """The user's attributes on one port: base name -> type."""
    found = {}
    for attribute in db.node.get_attributes():
        name = attribute.get_name()
        if attribute.is_dynamic() and name.startswith(f"{port}:"):
            kind = parse(attribute.get_resolved_type().get_ogn_type_name())
            if not kind.is_execution:
                found[name.partition(":")[2].replace(":", "_")] = kind
    return found


def _signature(db: Any) -> tuple:
    return tuple((port, name, str(kind)) for port in ("inputs", "outputs") for name, kind in _dynamic(db, port).items())


def _records_text(db: Any) -> str:
    return getattr(db.state, "userAttrDescs", "") or ""


def _records(db: Any) -> dict[tuple[int, str], dict]:
    """What the attribute editor of omni.warp noted of each attribute: (port, base name) -> record."""
    try:
        records = json.loads(_records_text(db) or "[]")
        return {(r["port_type"], r["base_name"]): r for r in records if isinstance(r, dict)}
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}


def _dims(db: Any) -> tuple[int, ...]:
    """The launch dimensions: explicit, or the length of an input array."""
    source = db.inputs.dimSource
    if source in ("", "explicit"):
        count = db.inputs.dimCount
        if not 1 <= count <= 4:
            raise GraphError(f"inputs:dimCount is {count}; a launch has 1 to 4 dimensions")
        return tuple(max(0, getattr(db.inputs, f"dim{i + 1}")) for i in range(count))
    inputs = _dynamic(db, "inputs")
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


def _prepare(db: Any, state: KernelState, text: str, rank: int) -> None:
    info = inspect(text)
    if len(info.kernels) > 1 and not info.kernel:
        raise GraphError(f"the text has several kernels ({', '.join(info.kernels)}); call the one to run `compute`")
    namespace = _namespace()
    if info.is_struct:
        state.structs = _make_structs(db, state, info, rank)
        namespace["Inputs"], namespace["Outputs"] = (type(s) for s in state.structs)
    started = time.perf_counter()
    state.kernel = _make_kernel(db, text, info, namespace)
    if not info.is_struct:
        state.bindings = _bind_parameters(db, state.kernel, info)
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
    except Exception as error:  # whatever the user's module text raises while it runs
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
        where = f"{file}:{lines[-1]}" if lines else file
        raise GraphError(f"{type(error).__name__}: {error}\n --> {where}") from None


def _bind_parameters(db: Any, kernel: Any, info: TextInfo) -> list[Binding]:
    """Plain style: parameters by attribute names. Raises GraphError listing every parameter that has no match."""
    inputs, outputs = _dynamic(db, "inputs"), _dynamic(db, "outputs")
    problems: list[str] = []
    bindings = []
    try:
        params = kernel.params
    except TypeError as error:
        raise GraphError(str(error)) from None
    for name, wanted in params:
        given = outputs.get(name) or inputs.get(name)
        if given is None:
            near = nearest(name, {*inputs, *outputs})
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            problems.append(
                f"parameter `{name}` ({spelled(wanted)}) has no attribute inputs:{name} or outputs:{name}{hint}"
            )
            continue
        port = "outputs" if name in outputs else "inputs"
        wrong = _mismatch(f"{port}:{name}", given, name, wanted, port)
        if not wrong and name in outputs and name in inputs and inputs[name] != given:
            wrong = f"inputs:{name} is {inputs[name]} but outputs:{name} is {given}; make them the same"
        if wrong:
            problems.append(wrong)
            continue
        source, target = name if name in inputs else "", name if name in outputs else ""
        private = bool(source and not target and ("", name) in info.touched)
        bindings.append(Binding(name, wanted, given, source, target, private, like=source))
    if problems:
        raise GraphError(f"kernel `{kernel.name}` does not fit the attributes:\n  " + "\n  ".join(problems))
    unused = [n for n in outputs if n not in {b.name for b in bindings}]
    if unused:
        db.log_warning(f"no parameter of `{kernel.name}` writes outputs:{', outputs:'.join(unused)}")
    return bindings


def _mismatch(attribute: str, given: AttributeType, name: str, wanted: kt.Type, port: str) -> str:
    """Why an attribute cannot be a parameter of type `wanted`, "" when it can."""
    element = element_type(given)
    if element is None or (port == "outputs" and given.base == "token"):
        return f"{attribute} is {given}, which kernels cannot {'take' if port == 'inputs' else 'make'}"
    if isinstance(wanted, kt.Array):
        if (given.is_array or port == "outputs") and fits(element, wanted.dtype):
            return ""
        kind = "an array" if given.is_array else "one value"
        return f"parameter `{name}` is a {spelled(wanted)} but {attribute} is {given}: {kind} of {spelled(element)}"
    if port == "outputs":
        return f"parameter `{name}` is written to outputs:{name}, so it must be an array, not {spelled(wanted)}"
    plain = isinstance(wanted, kt.Scalar) and isinstance(element, kt.Scalar)
    if not given.is_array and (plain or fits(element, wanted) or _same_shape(element, wanted)):
        return ""
    kind = "an array of " if given.is_array else ""
    return f"parameter `{name}` is {spelled(wanted)} but {attribute} is {given}: {kind}{spelled(element)}"


def _same_shape(a: kt.Type, b: kt.Type) -> bool:
    """Whether only the precision differs: vec3f and vec3d, quatf and quatd."""
    return isinstance(a, kt.Packed) and type(a) is type(b) and isinstance(b, kt.Packed) and a.count == b.count


def _make_structs(db: Any, state: KernelState, info: TextInfo, rank: int) -> tuple[Any, Any]:
    """Struct style: an `Inputs` and an `Outputs` made of the attributes, and the bindings of their fields."""
    records = _records(db)
    inputs, outputs = _dynamic(db, "inputs"), _dynamic(db, "outputs")
    for name, given in inputs.items():
        element = _field_element(f"inputs:{name}", given, ("inputs", name) in info.mentioned)
        if element is not None:
            optional = bool(records.get((0, name), {}).get("optional"))
            private = ("inputs", name) in info.touched
            kind = kt.Array(element, 1) if given.is_array else element
            state.bindings.append(Binding(name, kind, given, name, "", private, optional))
    for name, given in outputs.items():
        element = _field_element(f"outputs:{name}", given, ("outputs", name) in info.mentioned)
        if element is None:
            continue
        if given.base == "token":
            raise GraphError(f"outputs:{name} is {given}; kernels can read tokens but not make them")
        if not given.is_array:
            raise GraphError(f"outputs:{name} is {given}; outputs of this style must be arrays")
        like_kernel = records.get((1, name), {}).get("array_shape_source") == 1
        like = name if not like_kernel and name in inputs and inputs[name].is_array else ""
        ndim = info.ranks.get(("outputs", name), 1 if like else rank)
        state.bindings.append(Binding(name, kt.Array(element, ndim), given, "", name, like=like))
    fields = [b for b in state.bindings if not b.target], [b for b in state.bindings if b.target]
    return _struct("Inputs", fields[0]), _struct("Outputs", fields[1])


def _field_element(attribute: str, given: AttributeType, mentioned: bool) -> kt.Type | None:
    """The type of a field's element; None for leftovers of types that kernels do not know and the text does not use."""
    element = struct_element_type(given)
    if element is None and mentioned:
        raise GraphError(f"{attribute} is {given}, which kernels cannot take")
    return element


def _struct(name: str, bindings: list[Binding]) -> Any:
    annotations = {
        b.name: wp.array(dtype=python_type(b.element), ndim=b.rank) if b.rank else python_type(b.element)
        for b in bindings
    }
    return wp.struct(type(name, (), {"__annotations__": annotations, "__module__": __name__}))()


# -- running ----------------------------------------------------------------------------------------------------------


def _run(db: Any, state: KernelState, dims: tuple[int, ...]) -> None:
    arguments, results = [], []
    for binding in state.bindings:
        if binding.target:
            value = _output(db, binding, dims)
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
    """The elements of an input array. Raises GraphError where nobody gives it any and the launch would read them."""
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


def _output(db: Any, binding: Binding, dims: tuple[int, ...]) -> Any:
    """The array an output is written to: zeros, or a copy of the input of the same name in plain style."""
    kind = binding.attribute
    like = _numbers(db, binding.like, binding, dims) if binding.like and kind.is_array else None
    if not kind.is_array:
        count, shape = 1, (1,) * binding.rank
    else:
        count = len(like) if like is not None else math.prod(dims)
        shape = _view_shape(binding, count, dims)
    binding.buffer = _buffer(db, binding, (count, *kind.shape))
    if binding.source:
        binding.buffer[...] = _value(db, "inputs", binding.source) if like is None else like
    else:
        binding.buffer[...] = 0
    return as_array(binding.buffer, binding.element, shape)


def _buffer(db: Any, binding: Binding, shape: tuple[int, ...]) -> np.ndarray:
    """The buffer of the frame before, or a new one where sizes changed or an input of this node still looks at it."""
    old = binding.buffer
    dtype = np.dtype(np.uint64) if binding.attribute.base == "token" else binding.attribute.dtype
    if old is None or old.shape != shape or _is_read(db, old):
        return np.empty(shape, dtype)
    return old


def _is_read(db: Any, buffer: np.ndarray) -> bool:
    """Whether an input of the node is that very memory, as on a cycle that carries a state."""
    values = (_value(db, "inputs", name) for name, kind in _dynamic(db, "inputs").items() if kind.is_array)
    return any(isinstance(v, np.ndarray) and np.may_share_memory(v, buffer) for v in values)
