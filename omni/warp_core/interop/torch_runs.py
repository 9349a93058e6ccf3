"""Runs of operations on tensors: a kernel or a function, its tangent, its adjoint, and the derivative of the adjoint.

A `Run` serves all calls with the same shapes. Let y = f(x). Its methods compute on tensors with memory, and know
nothing of autograd:

- `launch` f(x),
- `tangent` J(x) x',
- `adjoint` J(x)^T w,
- `hvp` J(x)^T w' + H(x, w) x', where H is the Hessian of w . f(x).

torch_kernel_run.py has those of kernels, torch_function_run.py those of functions. Start with `Run`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from .. import _native
from ..arrays.array import array
from ..arrays.dtypes import element
from ..arrays.factories import zeros
from ..devices.device import CPU, Device
from ..devices.stream import ScopedStream
from ..dispatch import observers
from ..lang.types import Array, Packed
from ..lang.values.structs import spell
from ..tape.tape import Tape
from .call_signature import Shape, Signature
from .torch import device_from_torch, dtype_to_torch, from_torch, stream_from_torch

Tensors = Sequence[Any]


class Run:
    """A call of an operation without its tensors and numbers.

    Attributes:
        taken: the parameters that get tensors; "operands" are these tensors.
        made: the parameters whose tensors are results: in-outs, then outputs.
        active: the operands, by their place, that have derivatives.
        moving: the results, by their place, that have derivatives.
        after: the results, by their place, that `adjoint` reads.
        shapes: of each parameter the shape, with components; None for a number.
        dtypes: of each parameter the dtype of its tensor; None for a number.
        dims: the launch dimensions.
    """

    after: tuple[int, ...] = ()

    def __init__(self, signature: Signature, late: Sequence[int], shapes: Sequence[Any], dims: Shape):
        self.signature, self.shapes, self.dims = signature, shapes, dims
        self.types: list[Any] = [
            Array(p.type, 1) if p.position in late else p.type  # a number that comes as a tensor
            for p in signature.parameters
        ]
        inputs = range(len(signature.inputs))
        self.taken = [i for i in inputs if shapes[i] is not None]
        self.made = [p.position for p in signature.results]
        self.dtypes = [torch_dtype(t.dtype) if isinstance(t, Array) else None for t in self.types]
        self.active = tuple(k for k, i in enumerate(self.taken) if self.has_derivative(i))
        self.moving = tuple(k for k, i in enumerate(self.made) if self.has_derivative(i))

    def has_derivative(self, i: int) -> bool:
        """True if a parameter is an array of floating point numbers."""
        return isinstance(self.types[i], Array) and self.types[i].dtype.is_differentiable

    def checked(self, needed: Sequence[bool]) -> list[int]:
        """The operands, by their place, that need a derivative.

        Raises:
            TypeError: an operand that needs one cannot have it.
        """
        for k, needs in enumerate(needed):
            if needs and k not in self.active:
                p = self.signature.parameters[self.taken[k]]
                raise TypeError(
                    f"{self.signature.name}: argument `{p.name}` is {spell(p.type)}, whose gradient is not computed: "
                    "declare it as an array of one element, or pass x.detach()"
                )
        return [k for k in self.active if needed[k]]

    def new(self, i: int, x: Tensors, is_empty: bool = False) -> Any:
        """A tensor for a parameter, beside the operands, of zeros or left as its memory is."""
        import torch

        where = x[0].device if x else None
        return (torch.empty if is_empty else torch.zeros)(self.shapes[i], dtype=self.dtypes[i], device=where)

    def run(self, args: Sequence[Any]) -> None:
        """Launch on arrays and numbers."""
        raise NotImplementedError

    def argument(self, i: int, x: Any) -> Any:
        """The argument of a parameter that a tensor is for."""
        return shown(self, i, x, False)

    # -- what the kinds of runs define ------------------------------------------------------------------------------

    def launch(self, values: dict[int, Any], x: Tensors, is_exact: bool = False) -> list[Any]:
        """The results. `values` are the numbers; `is_exact`: to the bits that the adjoint recomputes."""
        raise NotImplementedError

    def tangent(self, values: dict[int, Any], x: Tensors, dx: Tensors, active: Sequence[int]) -> list[Any]:
        """The tangents of the results `moving`; `dx` are those of the operands `active`."""
        raise NotImplementedError

    def adjoint(self, values: dict[int, Any], x: Tensors, y: Tensors, w: Tensors, wanted: Sequence[int]) -> list[Any]:
        """The gradients of the operands `wanted`; `y` are the results `after`, `w` the cotangents of `moving`."""
        raise NotImplementedError

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
        """The derivative of `adjoint`, for the operands `wanted`, along `dx` of the operands `active` and `dw`."""
        raise NotImplementedError


def torch_dtype(t: Any) -> Any:
    """The dtype of the numbers of an element type."""
    return dtype_to_torch(element(t.scalar if isinstance(t, Packed) else t).dtype)


def device_of(tensors: Tensors) -> Device:
    """The device of the first tensor."""
    return CPU if not tensors or tensors[0].is_cpu else device_from_torch(tensors[0].device)


def unobserved(device: Device) -> AbstractContextManager[Any]:
    """A `with` block in which no tape or trace of ours sees what runs. On a GPU it runs on torch's current stream."""
    if device.is_cpu and not observers.observed:
        return _NOTHING
    return _unobserved(device)


_NOTHING = nullcontext()


@contextmanager
def _unobserved(device: Device) -> Iterator[None]:
    with observers.NotRecording():
        if device.is_cpu:
            yield
            return
        with ScopedStream(stream_from_torch(device.alias), sync_enter=False):
            yield


def copied(x: Any) -> Any:
    """A contiguous copy of a tensor, which autograd does not see."""
    import torch

    return x.detach().clone(memory_format=torch.contiguous_format)


def adjoint_on_a_tape(run: Any, values: dict[int, Any], x: Tensors, w: Tensors, wanted: Sequence[int]) -> list[Any]:
    """`Run.adjoint` by running once more, on a tape of its own."""
    given, device = dict(zip(run.taken, _disjoint(x))), device_of(x)
    needed = {run.taken[k] for k in wanted}
    with unobserved(device):
        args: list[Any] = []
        for i in range(len(run.types)):
            if i in run.made:
                start = copied(given[i]) if i in given else None
                made = shown(run, i, start, True) if start is not None else _zeros(run, i, device)
                args.append(made)
            elif i in given:
                args.append(shown(run, i, given[i], True) if i in needed else run.argument(i, given[i]))
            else:
                args.append(values[i])
        with Tape() as tape:
            run.run(args)
        if not tape.launches:
            raise ValueError(
                f"{run.signature.name} has no gradient, as it made no launch, copy or fill of this package. A gradient "
                "follows these alone: compute by kernels, or write it with torch.autograd.Function"
            )
        seeds = {args[run.made[k]]: shown(run, run.made[k], t, False) for k, t in zip(run.moving, w)}
        tape._backward(grads=seeds)
        return [tensor_of(args[run.taken[k]].grad) for k in wanted]


def _disjoint(x: Tensors) -> list[Any]:
    """The tensors, each with memory of its own, as tapes tell gradients of arrays apart by their memory."""
    memory, found = set(), []
    for t in x:
        address = t.untyped_storage().data_ptr()
        found.append(copied(t) if address in memory else t)
        memory.add(address)
    return found


def _zeros(run: Run, i: int, device: Device) -> array:
    t = run.types[i]
    outer = run.shapes[i][: t.ndim]
    return zeros(outer, dtype=element(t.dtype).dtype, device=device, requires_grad=run.has_derivative(i))


def shown(run: Run, i: int, x: Any, has_gradient: bool) -> array:
    """The array over a tensor, whose components are contiguous."""
    has_gradient = has_gradient and run.has_derivative(i)
    return from_torch(x.detach().contiguous(), element(run.types[i].dtype).dtype, requires_grad=has_gradient)


def tensor_of(a: Any) -> Any:
    """The tensor over an array."""
    import torch

    return _native.exchange.give(torch.Tensor, a)
