"""Kernels and functions as differentiable operations of PyTorch: `torch_kernel` and `torch_callable`.

A call allocates the outputs and runs. If torch records gradients, it does so inside of a Function of autograd. Its
backward pass runs the operation once more on a tape of its own, and then that tape. Start with `Operation`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from ..arrays.array import array
from ..arrays.dtypes import element
from ..arrays.factories import zeros
from ..compiler import effects
from ..dispatch import observers
from ..lang.launch_constants import DEFAULT_BLOCK_DIM
from ..lang.types import Packed, Struct
from ..lang.values.structs import spell
from ..launches.launch import launch
from ..tape.tape import Tape
from .call_signature import Parameter, Shape, Signature, of_function, of_kernel
from .torch import dtype_to_torch, from_torch, to_torch

__all__ = ["torch_callable", "torch_kernel"]

Run = Callable[[Any, Sequence[Any]], None]  # launch dimensions, arguments


class Operation:
    """A kernel or a function that makes tensors of tensors. `run` launches."""

    def __init__(self, signature: Signature, run: Run, output_dims: Any):
        import torch

        for p in signature.parameters:
            if p.is_array and isinstance(p.element.type, Struct):
                raise TypeError(f"{signature.name}: `{p.name}` is {spell(p.type)}, but tensors hold numbers")
        self.signature, self.run, self.output_dims = signature, run, output_dims
        self.__name__ = self.__qualname__ = signature.name.split("`")[1]
        self._eager = torch.compiler.disable(self._dispatch)  # torch.compile leaves its graph for the call

    def covers(self, p: Parameter, dims: Shape) -> bool:
        """True if a run over this grid is known to write each element of an output."""
        return False

    def dims(self, launch_dims: Any, shapes: Sequence[Shape | None]) -> Shape:
        """The grid of a call, which is also the shape of outputs without one."""
        return self.signature.launch_dims(launch_dims, shapes)

    def _dispatch(self, inputs: tuple[Any, ...], launch_dims: Any, output_dims: Any) -> Any:
        import torch

        name = self.signature.name
        self.signature.check_count(inputs)
        _refuse_transforms(torch, name)
        for p, x in zip(self.signature.inputs, inputs):
            self._check(torch, p, x)
        shapes = [self.signature.outer_shape(p, x.shape) if p.is_array else None for p, x in self._pairs(inputs)]
        dims = self.dims(launch_dims, shapes)
        made = self.signature.output_shapes(self.output_dims if output_dims is None else output_dims, dims)
        is_tracked = torch.is_grad_enabled() and any(_requires_grad(x) for x in inputs)
        results = _function().apply(self, dims, made, *inputs) if is_tracked else self.forward(dims, made, inputs)
        return results[0] if len(results) == 1 else tuple(results)

    def _check(self, torch: Any, p: Parameter, x: Any) -> None:
        name = f"{self.signature.name}: argument `{p.name}`"
        if p.is_array and not isinstance(x, torch.Tensor):
            raise TypeError(f"{name} expects a tensor, got {type(x).__name__}")
        if not p.is_array and _requires_grad(x):
            raise TypeError(
                f"{name} is {spell(p.type)}, whose gradient is not computed: declare it as an array of one element, "
                "or pass x.detach()"
            )

    def _pairs(self, inputs: Sequence[Any]) -> list[tuple[Parameter, Any]]:
        return list(zip(self.signature.inputs, inputs))

    def forward(self, dims: Shape, shapes: Sequence[Shape], inputs: Sequence[Any]) -> list[Any]:
        """The results: copies of the in-outs, and new tensors."""
        import torch

        where = next((x.device for p, x in self._pairs(inputs) if p.is_array), None)
        results = [_copy(x) for p, x in self._pairs(inputs) if p.is_in_out]
        for p, shape in zip(self.signature.outputs, shapes):
            new = torch.empty if self.covers(p, dims) else torch.zeros
            results.append(new(shape, dtype=_torch_dtype(p), device=where))
        with torch.no_grad(), observers.NotRecording():
            shown = [_shown(p, x, False) for p, x in zip(self.signature.results, results)]
            in_outs = iter(shown)
            args = [next(in_outs) if p.is_in_out else _argument(p, x, False) for p, x in self._pairs(inputs)]
            self.run(dims, [*args, *in_outs])
        return results

    def backward(
        self, dims: Shape, shapes: Sequence[Shape], inputs: Sequence[Any], needed: Sequence[bool], cotangents: Sequence
    ) -> list[Any]:
        """The gradients of the inputs that need one, from those of the results."""
        with observers.NotRecording():
            args = [
                _argument(p, _copy(x) if p.is_in_out else x, needs or p.is_in_out)
                for (p, x), needs in zip(self._pairs(inputs), needed)
            ]
            device = next((a.device for a in args if isinstance(a, array)), None)
            made = []
            for p, shape in zip(self.signature.outputs, shapes):
                outer = shape[: p.ndim]
                made.append(zeros(outer, dtype=p.element.dtype, device=device, requires_grad=p.element.is_active))
            with Tape() as tape:
                self.run(dims, [*args, *made])
            results = [a for p, a in zip(self.signature.inputs, args) if p.is_in_out] + made
            parts = zip(self.signature.results, results, cotangents)
            seeds = {a: _shown(p, c, False) for p, a, c in parts if a.grad is not None}
            tape.backward(grads=seeds)
        return [to_torch(a.grad) if needs else None for a, needs in zip(args, needed)]


class KernelOperation(Operation):
    """A kernel as an operation."""

    def __init__(self, kernel: Any, signature: Signature, launch_dims: Any, output_dims: Any, block_dim: int):
        def run(dims: Any, args: Sequence[Any]) -> None:
            device = next((a.device for a in args if isinstance(a, array)), None)
            launch(kernel, dims, args, device=device, block_dim=block_dim)

        super().__init__(signature, run, output_dims)
        self.kernel, self.launch_dims = kernel, launch_dims
        self._accesses: Any = None

    def __call__(self, *inputs: Any, launch_dims: Any = None, output_dims: Any = None) -> Any:
        """Launch the kernel. Return its result, or a tuple of its results."""
        return self._eager(inputs, self.launch_dims if launch_dims is None else launch_dims, output_dims)

    def covers(self, p: Parameter, dims: Shape) -> bool:
        if self._accesses is None:
            self._accesses = effects(self.kernel).params
            for q in self.signature.inputs:
                if self._accesses[q.position].writes and not q.is_in_out:
                    raise ValueError(
                        f"{self.signature.name} writes its input `{q.name}`, which torch would not see: name it in "
                        "in_out_argnames, and count it in num_outputs"
                    )
        return bool(self._accesses[p.position].covers) and len(dims) == p.ndim

    def forward(self, dims: Shape, shapes: Sequence[Shape], inputs: Sequence[Any]) -> list[Any]:
        for p in self.signature.parameters[:1]:
            self.covers(p, dims)  # refuses writes to inputs before anything runs
        return super().forward(dims, shapes, inputs)


class CallableOperation(Operation):
    """A Python function that launches as an operation."""

    def __init__(self, func: Callable[..., Any], signature: Signature, output_dims: Any):
        super().__init__(signature, lambda _, args: func(*args), output_dims)

    def __call__(self, *inputs: Any, output_dims: Any = None) -> Any:
        """Call the function. Return its result, or a tuple of its results."""
        return self._eager(inputs, None, output_dims)


def _requires_grad(x: Any) -> bool:
    return bool(getattr(x, "requires_grad", False))


def _refuse_transforms(torch: Any, name: str) -> None:
    if torch._C._are_functorch_transforms_active() or torch.autograd.forward_ad._current_level >= 0:
        raise NotImplementedError(
            f"{name} takes no part in transforms of torch.func and in forward mode: use torch.autograd, or wp.jvp"
        )


def _torch_dtype(p: Parameter) -> Any:
    t = p.element.type
    return dtype_to_torch(element(t.scalar).dtype if isinstance(t, Packed) else p.element.dtype)


def _copy(x: Any) -> Any:
    import torch

    return x.detach().clone(memory_format=torch.contiguous_format)


def _shown(p: Parameter, x: Any, has_gradient: bool) -> array:
    """The array over a tensor, whose components are contiguous."""
    return from_torch(x.detach().contiguous(), p.element.dtype, requires_grad=has_gradient and p.element.is_active)


def _argument(p: Parameter, x: Any, has_gradient: bool) -> Any:
    """An argument of the kernel: an array, or a number or tuple of numbers that may come as a tensor."""
    if p.is_array:
        return _shown(p, x, has_gradient)
    return x.tolist() if hasattr(x, "tolist") else x


@cache
def _function() -> Any:
    """The Function of autograd that all operations share."""
    import torch

    class Launched(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, operation: Operation, dims: Shape, shapes: Sequence[Shape], *inputs: Any) -> Any:
            results = operation.forward(dims, shapes, inputs)
            ctx.operation, ctx.dims, ctx.shapes = operation, dims, shapes
            ctx.others = [None if isinstance(x, torch.Tensor) else x for x in inputs]
            ctx.save_for_backward(*(x if isinstance(x, torch.Tensor) else None for x in inputs))
            ctx.mark_non_differentiable(*(x for x in results if not x.is_floating_point()))
            return tuple(results)

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            inputs = [other if x is None else x for x, other in zip(ctx.saved_tensors, ctx.others)]
            with torch.no_grad():
                found = ctx.operation.backward(ctx.dims, ctx.shapes, inputs, ctx.needs_input_grad[3:], cotangents)
            return (None, None, None, *(_once(torch, found) if torch.is_grad_enabled() else found))

    return Launched


def _once(torch: Any, gradients: Sequence[Any]) -> list[Any]:
    """Gradients that raise where something differentiates them again."""
    given = [g.requires_grad_() for g in gradients if g is not None]
    text = "the second derivative of a wp.torch_kernel or wp.torch_callable is not computed"
    found = torch._C._functions.DelayedError(text, len(given))(*given)
    guarded = iter(found if isinstance(found, tuple) else (found,))
    return [None if g is None else next(guarded) for g in gradients]


def torch_kernel(
    kernel: Any,
    num_outputs: int = 1,
    launch_dims: Any = None,
    output_dims: Any = None,
    in_out_argnames: Sequence[str] | str | None = None,
    *,
    block_dim: int = DEFAULT_BLOCK_DIM,
) -> KernelOperation:
    """A kernel as a differentiable operation on tensors of PyTorch.

    The parameters of the kernel are inputs, then outputs, which each call makes. `torch.compile` leaves its graph for
    the call. Second derivatives, forward mode and the transforms of `torch.func` are refused.

    Args:
        kernel: The kernel, or one overload of a generic one.
        num_outputs: How many results it has, in-outs included.
        launch_dims: The grid of all calls; by default the shape of the first array of a call, without components.
        output_dims: The shape of outputs: for all, or a dict by name; by default that of the grid. With or without
            components.
        in_out_argnames: Names of inputs that the kernel also writes. A call copies them, and returns the copies before
            the outputs.
        block_dim: As for `wp.launch`.

    Returns:
        The operation. It takes the inputs, and `launch_dims` and `output_dims` for one call. It returns a tensor, or a
        tuple of them.

    Raises:
        TypeError: The kernel is generic, or results are no arrays of numbers.
        ValueError: Names or numbers do not fit the parameters. A call raises it for a kernel that writes an input.
    """
    signature = of_kernel(kernel, num_outputs, in_out_argnames)
    return KernelOperation(kernel, signature, launch_dims, output_dims, block_dim)


def torch_callable(
    func: Callable[..., Any],
    num_outputs: int = 1,
    output_dims: Any = None,
    in_out_argnames: Sequence[str] | str | None = None,
) -> CallableOperation:
    """A Python function that launches kernels as a differentiable operation on tensors of PyTorch.

    The function gets arrays: its inputs, then its outputs, which start as zeros. Its gradient comes from a tape of its
    own, for which it runs a second time. So it computes nothing but by launches, copies and fills.

    Args:
        func: The function; its annotations name the types of all parameters.
        num_outputs: As for `torch_kernel`.
        output_dims: As for `torch_kernel`; by default the shape of the first array.
        in_out_argnames: As for `torch_kernel`.

    Returns:
        The operation.

    Raises:
        TypeError, ValueError: As for `torch_kernel`.
    """
    return CallableOperation(func, of_function(func, num_outputs, in_out_argnames), output_dims)
