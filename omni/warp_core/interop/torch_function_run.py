"""Calls of a function that launches, on tensors: as it is, in forward mode, on a tape, and both.

Start with `FunctionRun`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import _native
from ..arrays.array import array
from ..forward_mode.jvp import program_jvp
from ..lang.types import Array
from ..tape.tape import Tape
from .call_signature import Shape, Signature
from .torch_runs import Run, Tensors, adjoint_on_a_tape, copied, device_of, shown, tensor_of, unobserved


class FunctionRun(Run):
    """Calls of a function that launches. A `Run`."""

    def __init__(
        self,
        function: Callable[..., Any],
        signature: Signature,
        late: Sequence[int],
        shapes: Sequence[Any],
        dims: Shape,
    ):
        super().__init__(signature, late, shapes, dims)
        self.function, self.late = function, frozenset(late)

    def has_derivative(self, i: int) -> bool:
        """As `Run.has_derivative`."""
        return super().has_derivative(i) and isinstance(self.signature.parameters[i].type, Array)

    def run(self, args: Sequence[Any]) -> None:
        """Run the function."""
        self.function(*args)

    def launch(self, values: dict[int, Any], x: Tensors, is_exact: bool = False) -> list[Any]:
        """As `Run.run`."""
        given = dict(zip(self.taken, x))
        results = {p.position: copied(given[p.position]) for p in self.signature.in_outs}
        results |= {p.position: self.new(p.position, x) for p in self.signature.outputs}
        with unobserved(device_of(x)):
            try:
                self.run(self._arguments(values, given | results))
            except ValueError as why:
                if "read-only" in str(why):
                    raise self._written(why) from why
                raise
        return [results[i] for i in self.made]

    def _arguments(self, values: dict[int, Any], tensors: dict[int, Any]) -> list[Any]:
        args = [self.argument(i, tensors[i]) if i in tensors else values[i] for i in range(len(self.types))]
        return [_read_only(a) if isinstance(a, array) and i not in self.made else a for i, a in enumerate(args)]

    def _written(self, why: ValueError) -> ValueError:
        """The error for a function that writes an input, from that of the write."""
        names = ", ".join(f"`{p.name}`" for p in self.signature.inputs if p.is_array and not p.is_in_out)
        return ValueError(
            f"{self.signature.name} may write an input ({names}), which torch would not see: name the input in "
            f"in_out_argnames, and count it in num_outputs, or use a copy, wp.clone(x). What happened: {why}"
        )

    def argument(self, i: int, x: Any) -> Any:
        """As `Run.argument`."""
        return x[0].tolist() if i in self.late else super().argument(i, x)

    def adjoint(self, values: dict[int, Any], x: Tensors, y: Tensors, w: Tensors, wanted: Sequence[int]) -> list[Any]:
        """As `Run.adjoint`."""
        return adjoint_on_a_tape(self, values, x, w, wanted)

    def tangent(self, values: dict[int, Any], x: Tensors, dx: Tensors, active: Sequence[int]) -> list[Any]:
        """As `Run.tangent`."""
        with unobserved(device_of(x)):
            _, _, tangents = self._moved(values, x, dx, active, False)
        return [tensor_of(tangents[self.made[k]]) for k in self.moving]

    def _moved(
        self, values: dict[int, Any], x: Tensors, dx: Tensors, active: Sequence[int], is_taped: bool
    ) -> tuple[list[Any], list[Any], Sequence[Any]]:
        """The arguments, their tangents as given, and their tangents after the function ran."""
        given, directions = dict(zip(self.taken, x)), {self.taken[k]: t for k, t in zip(active, dx)}
        args: list[Any] = []
        for i in range(len(self.types)):
            if i not in given and i not in self.made:
                args.append(values[i])
            elif i in self.late:
                args.append(self.argument(i, given[i]))
            else:
                start = copied(given[i]) if i in given else self.new(i, x)
                args.append(shown(self, i, start, is_taped))
        changes = [self._direction(i, x, directions, is_taped) for i in range(len(args))]
        _, tangents = program_jvp(lambda *a: self.run(a), args, changes, differentiated=is_taped)
        return args, changes, tangents

    def _direction(self, i: int, x: Tensors, directions: dict[int, Any], is_taped: bool) -> Any:
        """The tangent of an argument. That of a result begins as zeros, so that all its parts lie in known memory."""
        if i in directions:
            return shown(self, i, copied(directions[i]), is_taped)
        if i in self.made and self.has_derivative(i):
            return shown(self, i, self.new(i, x), is_taped)
        return None

    def hvp(
        self,
        values: dict[int, Any],
        x: Tensors,
        w: Tensors,
        dx: Tensors,
        dw: Tensors,
        active: Sequence[int],
        wanted: Sequence[int],
    ) -> list[Any]:
        """As `Run.hvp`."""
        with unobserved(device_of(x)), Tape() as tape:
            args, _, tangents = self._moved(values, x, dx, active, True)
            seeds = {}
            for k, t, dt in zip(self.moving, w, dw):
                i = self.made[k]
                seeds[args[i]] = shown(self, i, dt, False)
                seeds[tangents[i]] = shown(self, i, t, False)
        with unobserved(device_of(x)):
            tape._backward(grads=seeds)
        return [tensor_of(args[self.taken[k]].grad) for k in wanted]


def _read_only(a: array) -> array:
    """The array, which launches refuse to write."""
    made = array.__new__(array)
    made._init(a._element, a._address, a.shape, a.strides, a, _native.READONLY, a.device)
    return made
