"""Signatures of operations that another framework calls: inputs, in-outs and outputs of a kernel or function.

They also decide the grid of a call and the shapes of its results. Parameters come in this order: inputs, in-outs among
them where the caller says so, then outputs. The results of a call are the in-outs, then the outputs. Frameworks have no
vectors: trailing dimensions of their shapes are components. Start with `Signature`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..arrays.dtypes import Element, element
from ..compiler import effects
from ..lang.annotations import evaluate_for, type_of
from ..lang.generics import is_generic
from ..lang.kernel import Kernel
from ..lang.types import Array, Type
from ..lang.values.structs import spell

Shape = tuple[int, ...]


class Parameter(NamedTuple):
    """A parameter of the kernel or function."""

    name: str
    position: int  # among the parameters
    type: Type
    is_in_out: bool = False

    @property
    def is_array(self) -> bool:
        """True if it takes an array, False for a number, vector or struct."""
        return isinstance(self.type, Array)

    @property
    def element(self) -> Element:
        """The element type of an array parameter."""
        assert isinstance(self.type, Array)
        return element(self.type.dtype)

    @property
    def ndim(self) -> int:
        """The dimensions of an array parameter, without components."""
        assert isinstance(self.type, Array)
        return self.type.ndim


class Signature(NamedTuple):
    """The parameters of an operation by their roles."""

    name: str  # in messages: "kernel `scale`"
    inputs: tuple[Parameter, ...]  # arguments of a call, in-outs included
    outputs: tuple[Parameter, ...]  # that a call makes

    def check_writes(self, kernel: Kernel, framework: str) -> None:
        """Raise ValueError if the kernel writes an input that is no in-out."""
        for p, access in zip(self.inputs, effects(kernel).params):
            if access.writes and not p.is_in_out:
                raise ValueError(
                    f"{self.name} writes its input `{p.name}`, which {framework} would not see: name it in "
                    "in_out_argnames, and count it in num_outputs"
                )

    @property
    def in_outs(self) -> tuple[Parameter, ...]:
        """The inputs that are results too."""
        return tuple(p for p in self.inputs if p.is_in_out)

    @property
    def results(self) -> tuple[Parameter, ...]:
        """In-outs, then outputs."""
        return self.in_outs + self.outputs

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All of them, in the order of the kernel."""
        return self.inputs + self.outputs

    # -- shapes -----------------------------------------------------------------------------------------------------

    def outer_shape(self, p: Parameter, shape: Sequence[int]) -> Shape:
        """The shape of an array argument without its components.

        Raises:
            TypeError: it has other dimensions or components than the parameter.
        """
        inner = p.element.inner
        split = len(shape) - len(inner)
        if split == p.ndim and tuple(shape[split:]) == inner:
            return tuple(shape[:split])
        wanted = ", ".join(["n"] * p.ndim + [str(n) for n in inner])
        raise TypeError(
            f"{self.name}: argument `{p.name}` expects {spell(p.type)}, which is a shape of ({wanted}), got shape "
            f"{tuple(shape)}"
        )

    def launch_dims(self, given: Any, shapes: Sequence[Shape | None]) -> Shape:
        """The grid of a call: as given, or the outer shape of the first array. `shapes` has None for other inputs.

        Raises:
            TypeError, ValueError: the dimensions are no dimensions, or there is nothing to take them from.
        """
        if given is not None:
            return self._extents("launch_dims", given)
        found = next((shape for shape in shapes if shape is not None), None)
        if found is None:
            raise ValueError(f"{self.name}: no input is an array to take the launch dimensions from: pass launch_dims=")
        return found

    def output_shapes(self, given: Any, launch_dims: Shape) -> list[Shape]:
        """The shapes of the outputs, components included.

        Args:
            given: one extent or shape for all, or a dict of them by name; with or without components.
            launch_dims: the shape of outputs that are not given.

        Raises:
            TypeError, ValueError: a shape does not fit its output, or there is no output of that name.
        """
        by_name = given if isinstance(given, Mapping) else {p.name: given for p in self.outputs if given is not None}
        unknown = [name for name in by_name if name not in [p.name for p in self.outputs]]
        if unknown:
            names = ", ".join(f"`{p.name}`" for p in self.outputs) or "none"
            raise ValueError(f"{self.name} has no output `{unknown[0]}`: output_dims names outputs, which are {names}")
        return [self._output_shape(p, by_name.get(p.name), launch_dims) for p in self.outputs]

    def _output_shape(self, p: Parameter, given: Any, launch_dims: Shape) -> Shape:
        shape = launch_dims if given is None else self._extents("output_dims", given)
        inner = p.element.inner
        if len(shape) == p.ndim:
            return shape + inner
        if given is not None and len(shape) == p.ndim + len(inner) and shape[p.ndim :] == inner:
            return shape
        source = "from the launch dimensions" if given is None else "in output_dims"
        raise ValueError(
            f"{self.name}: output `{p.name}` is {spell(p.type)}, but gets the shape {shape} {source}: pass "
            f"output_dims={{'{p.name}': ...}} with {p.ndim} extents"
        )

    def _extents(self, what: str, given: Any) -> Shape:
        items = tuple(given) if isinstance(given, (list, tuple)) else (given,)
        if not items or not all(hasattr(n, "__index__") for n in items):
            raise TypeError(f"{self.name}: {what}: expected an integer or a tuple of integers, got {given!r}")
        if any(n.__index__() < 0 for n in items):
            raise ValueError(f"{self.name}: {what}: extents must not be negative, got {given!r}")
        return tuple(n.__index__() for n in items)

    def in_order(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """The arguments of a call: the first ones as given, then those by name.

        Raises:
            TypeError: a name is that of no input, or an input has no argument, or two.
        """
        names = [p.name for p in self.inputs]
        rest = names[len(arguments) :]
        for name in named:
            if name not in names:
                outputs = [p.name for p in self.outputs]
                why = ", as the call makes it" if name in outputs else ""
                raise TypeError(f"{self.name} takes no `{name}`{why}: its inputs are {', '.join(names)}")
            if name not in rest:
                raise TypeError(f"{self.name} got `{name}` twice, by its place and by its name")
        missing = [name for name in rest if name not in named]
        if missing:
            raise TypeError(f"{self.name} got no argument for `{missing[0]}`")
        return (*arguments, *(named[name] for name in rest))

    def check_count(self, arguments: Sequence[Any]) -> None:
        """Raise TypeError unless there is one argument for each input."""
        if len(arguments) != len(self.inputs):
            names = ", ".join(p.name for p in self.inputs)
            raise TypeError(
                f"{self.name} takes {len(self.inputs)} inputs ({names}), got {len(arguments)}; the call makes the "
                f"outputs ({', '.join(p.name for p in self.outputs)})"
            )


def of_kernel(kernel: Any, num_outputs: int, in_out_argnames: Sequence[str] | str | None) -> Signature:
    """The signature of a kernel. `num_outputs` counts in-outs.

    Raises:
        TypeError: it is no kernel, or a generic one.
        ValueError: the numbers or names do not fit its parameters.
    """
    if not isinstance(kernel, Kernel):
        raise TypeError(f"expected a kernel, a function under @wp.kernel, got {type(kernel).__name__}: {kernel!r}")
    name = f"kernel `{kernel.name}`"
    if kernel.is_generic:
        raise TypeError(f"{name} is generic: pass one overload of it, wp.overload(kernel, [types of the parameters])")
    return _signature(name, kernel.params, num_outputs, in_out_argnames)


def of_function(func: Callable[..., Any], num_outputs: int, in_out_argnames: Sequence[str] | str | None) -> Signature:
    """The signature of an annotated function or bound method that launches kernels.

    Raises:
        TypeError: it is neither, or a parameter has no annotation that names a type.
        ValueError: the numbers or names do not fit its parameters.
    """
    if not inspect.isfunction(getattr(func, "__func__", func)):
        raise TypeError(f"expected a function or a bound method of Python, got {type(func).__name__}: {func!r}")
    name, params = f"function `{func.__name__}`", []
    for p in inspect.signature(func).parameters.values():
        if p.annotation is p.empty:
            raise TypeError(f"{name}: parameter `{p.name}` has no annotation, such as wp.array(dtype=float)")
        try:
            found = type_of(evaluate_for(p.annotation, func))
        except TypeError as why:
            raise TypeError(f"{name}: parameter `{p.name}`: {why}") from None
        if is_generic(found):
            raise TypeError(f"{name}: parameter `{p.name}` leaves its type open: name one, as wp.array(dtype=float)")
        params.append((p.name, found))
    return _signature(name, params, num_outputs, in_out_argnames)


def _signature(
    name: str, params: Sequence[tuple[str, Any]], num_outputs: Any, in_out_argnames: Sequence[str] | str | None
) -> Signature:
    in_outs = [in_out_argnames] if isinstance(in_out_argnames, str) else list(in_out_argnames or ())
    names = [n for n, _ in params]
    for wanted in in_outs:
        if wanted not in names:
            raise ValueError(f"{name} has no parameter `{wanted}`, which in_out_argnames names: it has {names}")
    if isinstance(num_outputs, bool) or not hasattr(num_outputs, "__index__"):
        raise TypeError(f"{name}: num_outputs: expected an integer, got {num_outputs!r}")
    made = num_outputs.__index__() - len(set(in_outs))
    if num_outputs < 1 or made < 0 or made > len(params) - len(set(in_outs)):
        raise ValueError(
            f"{name}: num_outputs={num_outputs} does not fit its {len(params)} parameters and {len(in_outs)} in-outs: "
            "num_outputs counts the in-outs, and is 1 or more"
        )
    split = len(params) - made
    found = [Parameter(n, i, t, n in in_outs) for i, (n, t) in enumerate(params)]
    for p in found:
        if p.is_in_out and p.position >= split:
            raise ValueError(f"{name}: in-out `{p.name}` stands among the outputs: in-outs come before all outputs")
        if (p.is_in_out or p.position >= split) and not p.is_array:
            raise TypeError(f"{name}: `{p.name}` is {spell(p.type)}, but results are arrays")
    return Signature(name, tuple(found[:split]), tuple(found[split:]))
