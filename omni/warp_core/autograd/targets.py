"""Targets of differentiation: a kernel with its launch, a function of the kernel language, or a Python function.

All of them become a `Target`, which has named inputs and can be run for its outputs. Start with `target_of`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..algo.map import map as map_function
from ..arrays.array import array
from ..arrays.dtypes import element
from ..arrays.factories import full
from ..devices.device import Device
from ..lang.inference import type_of_value
from ..lang.kernel import Function, Kernel
from ..lang.registry import Builtin
from ..lang.types import F32, Struct, Type
from ..launches.launch import launch
from ..tape.launch_vjp import arrays_in
from .flatten import has_gradient, is_float

Mask = Sequence[tuple[int | str, int | str]]
Pair = tuple[int, int]


@dataclass
class FunctionMetadata:
    """The names that Jacobians are shown under.

    Args:
        key: what the function is called.
        input_labels: the name of each input.
        output_labels: the name of each output.
        input_strides, output_strides, input_dtypes, output_dtypes: accepted; they are read from the arrays.
    """

    key: str | None = None
    input_labels: list[str] | None = None
    output_labels: list[str] | None = None
    input_strides: list[Any] | None = None
    output_strides: list[Any] | None = None
    input_dtypes: list[Any] | None = None
    output_dtypes: list[Any] | None = None


@dataclass
class Target:
    """A function of arrays."""

    name: str
    inputs: list[Any]
    labels: list[str]
    call: Callable[[], list[array]]
    outputs: list[array] = field(default_factory=list)  # arrays that are there before the call
    output_labels: list[str] | None = None  # None where only a call tells how many there are
    launches_only: bool = False  # whether it does nothing that forward mode could miss

    def arrays(self) -> list[array]:
        """All arrays that are there before a call, each once, those within structs too."""
        found = [a for value in (*self.inputs, *self.outputs) for a in arrays_in(value)]
        return list({id(a): a for a in found}.values())

    def labels_of(self, outputs: Sequence[array]) -> list[str]:
        """The names of the outputs."""
        return self.output_labels or [f"output_{i}" for i in range(len(outputs))]

    def pairs(self, outputs: Sequence[array], mask: Mask | None) -> list[Pair]:
        """The inputs and outputs to differentiate, by position: those with a gradient, or what the mask says.

        Raises:
            ValueError: There are none, or the mask names what is no input, no output or has no gradient.
        """
        if mask is not None:
            return [
                (_find(i, self.inputs, self.labels, "input"), _find(o, outputs, self.labels_of(outputs), "output"))
                for i, o in mask
            ]
        _refuse_structs(self.inputs, self.labels)
        ins = [i for i, a in enumerate(self.inputs) if has_gradient(a)]
        outs = [o for o, a in enumerate(outputs) if has_gradient(a)]
        for found, what in ((ins, "input"), (outs, "output")):
            if not found:
                raise ValueError(
                    f"`{self.name}`: none of the {what}s is a floating point array with a gradient: make "
                    "one with requires_grad=True"
                )
        return [(i, o) for i in ins for o in outs]


def target_of(
    function: Any,
    dim: Any,
    inputs: Sequence[Any] | None,
    outputs: Sequence[Any] | None,
    metadata: FunctionMetadata | None = None,
    options: dict[str, Any] | None = None,
) -> Target:
    """Return the target of a differentiation.

    Raises:
        TypeError: `function` is not a function, or `inputs` is not a list.
        ValueError: `dim` or `outputs` is missing for a kernel, or given for a function.
    """
    for name, given in (("inputs", inputs), ("outputs", outputs)):
        if given is not None and not isinstance(given, (list, tuple)):
            raise TypeError(f"{name}: expected a list, got {type(given).__name__}")
    if inputs is None:
        raise ValueError("inputs: pass the list of arguments")
    if isinstance(function, Kernel):
        made = _kernel(function, dim, list(inputs), outputs, options or {})
    elif isinstance(function, (Function, Builtin)):
        made = _mapped(function, list(inputs))
    elif callable(function):
        made = _python(function, list(inputs), outputs)
    else:
        raise TypeError(f"function: expected a kernel or a function, got {type(function).__name__}")
    if metadata is not None:
        made.name = metadata.key or made.name
        made.labels = list(metadata.input_labels or made.labels)
        made.output_labels = list(metadata.output_labels) if metadata.output_labels else made.output_labels
    return made


def _kernel(kernel: Kernel, dim: Any, inputs: list[Any], outputs: Any, options: dict[str, Any]) -> Target:
    if dim is None:
        raise ValueError(f"dim: kernel `{kernel.name}` needs the number of threads to launch")
    if not outputs:
        raise ValueError(f"outputs: pass the list of arrays that kernel `{kernel.name}` writes (its last parameters)")
    names = [name for name, _ in kernel.params]
    if len(names) != len(inputs) + len(outputs):
        raise ValueError(
            f"kernel `{kernel.name}` has {len(names)} parameters ({', '.join(names)}), "
            f"got {len(inputs)} inputs and {len(outputs)} outputs"
        )

    def call() -> list[array]:
        launch(kernel, dim, inputs=inputs, outputs=list(outputs), **options)
        return list(outputs)

    split = len(inputs)
    return Target(kernel.name, inputs, names[:split], call, list(outputs), names[split:], launches_only=True)


def _mapped(function: Function | Builtin, inputs: list[Any]) -> Target:
    """A function of the kernel language, applied to the elements of arrays; values count as arrays of one."""
    params = function.params if isinstance(function, Function) and len(function.overloads) == 1 else ()
    device = next((x.device for x in inputs if isinstance(x, array)), None)
    given = [_as_array(x, params[i][1] if i < len(params) else None, device) for i, x in enumerate(inputs)]
    labels = [params[i][0] if i < len(params) else f"input_{i}" for i in range(len(inputs))]

    def call() -> list[array]:
        return _arrays_of(function.name, map_function(function, *given))

    return Target(function.name, given, labels, call, launches_only=True)


def _as_array(value: Any, wanted: Any, device: Device | None) -> Any:
    t = wanted if isinstance(wanted, Type) else F32 if isinstance(value, float) else type_of_value(value)
    if isinstance(value, array) or not isinstance(t, Type) or isinstance(t, Struct):
        return value
    made = full(1, value, dtype=element(t).dtype, device=device)
    if not is_float(made):
        return value
    made.requires_grad = True
    return made


def _python(function: Callable, inputs: list[Any], outputs: Any) -> Target:
    name = getattr(function, "__name__", type(function).__name__)

    def call() -> list[array]:
        found = function(*inputs)
        return list(outputs) if found is None and outputs else _arrays_of(name, found)

    return Target(name, inputs, _parameter_names(function, len(inputs)), call, list(outputs or []))


def _parameter_names(function: Callable, number: int) -> list[str]:
    plain = [f"input_{i}" for i in range(number)]
    try:
        params = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of builtins
        return plain
    names = [p.name for p in params if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [*names[:number], *plain[len(names) :]]


def _arrays_of(name: str, found: Any) -> list[array]:
    results = list(found) if isinstance(found, (list, tuple)) else [found]
    for x in results:
        if not isinstance(x, array):
            raise TypeError(f"`{name}` must return a wp.array or a list of them, got {type(x).__name__}")
    return results


def _refuse_structs(inputs: Sequence[Any], labels: Sequence[str]) -> None:
    for label, value in zip(labels, inputs):
        if isinstance(value, array):
            if isinstance(value._require_element().type, Struct) and value.grad is not None:
                kind = value._require_element().name
                raise TypeError(
                    f"input `{label}`: Jacobians for arrays of structs ({kind}) are not defined; "
                    "differentiate with a tape, or drop its gradient (requires_grad = False)"
                )
        elif any(has_gradient(a) for a in arrays_in(value)):
            raise TypeError(
                f"input `{label}`: Jacobians for the arrays of a struct are not defined; make them inputs of their "
                "own, or drop their gradients (requires_grad = False)"
            )


def _find(wanted: int | str, given: Sequence[Any], labels: Sequence[str], what: str) -> int:
    names = ", ".join(f"{i}: {label}" for i, label in enumerate(labels))
    if isinstance(wanted, str):
        if wanted not in labels:
            raise ValueError(f"input_output_mask: the function has no {what} {wanted!r}; it has {names}")
        wanted = list(labels).index(wanted)
    if not 0 <= wanted < len(given):
        raise ValueError(f"input_output_mask: the function has no {what} {wanted}; it has {names}")
    if not has_gradient(given[wanted]):
        raise ValueError(
            f"input_output_mask: {what} `{labels[wanted]}` is not a floating point array with a "
            "gradient: make it with requires_grad=True"
        )
    return wanted
