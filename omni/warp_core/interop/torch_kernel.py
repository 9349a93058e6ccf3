"""Kernels and functions as differentiable operations of PyTorch: `torch_kernel` and `torch_callable`.

A call takes one of three ways, from the quickest to the most general:

1. No gradient is recorded: it makes the outputs and runs.
2. Plain autograd records: the same inside of one Function of autograd.
3. All else, as `torch.compile`, `torch.jit.trace`, `torch.func`, forward mode and fake tensors: the operators of
   torch_operators.py. The backward pass of a second way goes there too where it is differentiated again.

Start with `Operation`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..arrays.dtypes import element
from ..lang.blake2 import blake2b
from ..lang.launch_constants import DEFAULT_BLOCK_DIM
from ..lang.types import Packed, Scalar, Struct
from ..lang.values.structs import spell
from .call_signature import Parameter, Shape, Signature, of_function, of_kernel
from .foreign_values import check_layout
from .torch_function_run import FunctionRun
from .torch_kernel_run import KernelRun
from .torch_operators import Call, Spec, apart, launch_backward, needed_now, register
from .torch_runs import Run, torch_dtype

__all__ = ["torch_callable", "torch_kernel"]

_MOST_RUNS = 256  # runs that an operation keeps, one for each combination of shapes


class _Number(NamedTuple):
    """A parameter that is no array: whether it holds floating point numbers, and the shape of its components."""

    is_float: bool
    is_bool: bool
    inner: Shape


class Given(NamedTuple):
    """The arguments of a call: tensors in the order of their parameters, and the rest."""

    x: list[Any]
    late: list[int]  # the parameters that are no arrays, but come as tensors
    values: dict[int, Any]  # those that come as numbers
    launch_dims: Any
    output_dims: Any


class Operation:
    """A kernel or a function that makes tensors of tensors."""

    def __init__(self, signature: Signature, launch_dims: Any, output_dims: Any, key: str, name: str | None = None):
        for p in signature.parameters:
            if p.is_array and isinstance(p.element.type, Struct):
                raise TypeError(f"{signature.name}: `{p.name}` is {spell(p.type)}, but tensors hold numbers")
        self.signature, self.launch_dims, self.output_dims = signature, launch_dims, output_dims
        self.__name__ = self.__qualname__ = name or signature.name.split("`")[1]
        self.key = f"{self.__name__}_{key}"
        self._dtypes = [_dtype_of(p) for p in signature.inputs]
        self._numbers: list[Any] = [None if p.is_array else _number(p) for p in signature.inputs]
        self._runs: dict[Any, Run] = {}
        register(self.key, self)

    # -- calls ------------------------------------------------------------------------------------------------------

    def __call__(self, *inputs: Any, launch_dims: Any = None, output_dims: Any = None, **named: Any) -> Any:
        """Run. Return the result, or a tuple of the results."""
        import torch

        if named:
            inputs = self.signature.in_order(inputs, named)
        if torch.compiler.is_compiling():
            inputs = tuple(self._with_variable_numbers(torch, inputs))
            results = self._run_operator(torch, self._read(torch, inputs, launch_dims, output_dims))
        else:
            try:
                given = self._read(torch, inputs, launch_dims, output_dims)
                run = self._run_eagerly if _is_plain(torch, given.x) else self._run_operator
                results = run(torch, given)
            except (RuntimeError, TypeError):
                self._check_layouts(torch, inputs)
                raise
        return results[0] if len(results) == 1 else tuple(results)

    def _check_layouts(self, torch: Any, inputs: Sequence[Any]) -> None:
        """Raise TypeError for a tensor that is not in dense memory: why a call failed."""
        for p, x in zip(self.signature.inputs, inputs):
            if isinstance(x, torch.Tensor):
                try:
                    check_layout(x)
                except TypeError as why:
                    raise TypeError(f"{self.signature.name}: argument `{p.name}`: {why}") from None

    def _with_variable_numbers(self, torch: Any, inputs: Sequence[Any]) -> list[Any]:
        """The arguments with floats as tensors. torch.compile would compile anew for each value of a float, unless it
        only multiplies tensors by it.
        """
        where = None
        for x in inputs:
            if where is None and isinstance(x, torch.Tensor):
                where = x.device
        found = []
        for i, x in enumerate(inputs):
            number = self._numbers[i] if i < len(self._numbers) else None
            if isinstance(x, float) and number is not None and number.is_float and number.inner == ():
                x = torch.ones((), dtype=self._dtypes[i], device=where) * x
            found.append(x)
        return found

    def _read(self, torch: Any, inputs: Sequence[Any], launch_dims: Any, output_dims: Any) -> Given:
        """The arguments by their kinds. torch.compile traces this function."""
        if len(inputs) != len(self._numbers):
            self.signature.check_count(inputs)
        x, late, values = [], [], {}
        for i, given in enumerate(inputs):
            number = self._numbers[i]
            if isinstance(given, torch.Tensor):
                if number is not None:
                    late.append(i)
                    given = self._late(i, number, given)
                elif given.dtype is not self._dtypes[i]:
                    self._check_dtype(i, given)
                x.append(given)
            elif number is None:
                self._refuse_array(i, given)
            else:
                values[i] = given
        return Given(x, late, values, launch_dims, output_dims)

    def _late(self, i: int, number: _Number, given: Any) -> Any:
        """A number that comes as a tensor, as an array of one element."""
        if tuple(given.shape) != number.inner and given.numel() != 1:
            self._refuse(i, f"got a tensor of shape {tuple(given.shape)}: pass one of shape {number.inner}")
        if given.is_floating_point() and not number.is_float:
            self._refuse(i, f"got a tensor of {given.dtype}: pass x.to({self._dtypes[i]})")
        return given.to(self._dtypes[i]).reshape((1, *number.inner))

    def _check_dtype(self, i: int, given: Any) -> None:
        """Raise TypeError unless elements of the parameter and of the tensor are integers of one size."""
        wanted = self._dtypes[i]
        is_other = given.is_floating_point() or wanted.is_floating_point
        if given.is_complex():
            self._refuse(i, f"got a tensor of {given.dtype}: pass its parts as numbers, torch.view_as_real(x)")
        if is_other or given.dtype.itemsize != wanted.itemsize:
            self._refuse(i, f"got a tensor of {given.dtype}: pass x.to({wanted})")

    def _refuse_array(self, i: int, given: Any) -> None:
        name = type(given).__name__
        how = {"ndarray": "torch.from_numpy(x)", "array": "wp.to_torch(x)"}.get(name, "torch.as_tensor(x)")
        self._refuse(i, f"got {name}: pass a tensor, such as {how}")

    def _refuse(self, i: int, why: str) -> None:
        p = self.signature.inputs[i]
        raise TypeError(f"{self.signature.name}: argument `{p.name}` is {spell(p.type)}, but {why}")

    def _run_operator(self, torch: Any, given: Given) -> Sequence[Any]:
        return torch.ops.omni_warp.launch.default(*self._call(given), given.x)

    def _run_eagerly(self, torch: Any, given: Given) -> Sequence[Any]:
        run = self._known_run(given)
        if torch.is_grad_enabled() and any(t.requires_grad for t in given.x):
            x = given.x
            if len(run.active) < len(x):
                x = [t if k in run.active else apart(t) for k, t in enumerate(x)]
            return _function().apply(self, run, given, *x)
        return run.launch(given.values, given.x)

    def _known_run(self, given: Given) -> Run:
        key = (
            tuple(t.shape for t in given.x),
            tuple(given.late),
            _hashable(given.launch_dims),
            _hashable(given.output_dims),
        )
        found = self._runs.get(key)
        if found is None:
            if len(self._runs) >= _MOST_RUNS:
                self._runs.clear()
            shapes = self._by_parameter(key[0], given.late)
            found = self._runs[key] = self._new_run(tuple(given.late), shapes, given.launch_dims, given.output_dims)
        return found

    def forget(self) -> None:
        """Forget what is known of the kernel: functions that it calls may have been defined anew."""
        self._runs.clear()

    # -- runs -------------------------------------------------------------------------------------------------------

    def make(self, late: Sequence[int], shapes: Sequence[Any], dims: Shape) -> Run:
        """The run of calls with these shapes, of all parameters."""
        raise NotImplementedError

    def _new_run(self, late: Sequence[int], shapes: Sequence[Any], launch_dims: Any, output_dims: Any) -> Run:
        """`shapes` are those of the inputs; None for numbers."""
        signature = self.signature
        outer = [signature.outer_shape(p, s) if p.is_array else None for p, s in zip(signature.inputs, shapes)]
        dims = signature.launch_dims(self.launch_dims if launch_dims is None else launch_dims, outer)
        made = signature.output_shapes(self.output_dims if output_dims is None else output_dims, dims)
        return self.make(late, [*(None if s is None else tuple(s) for s in shapes), *made], dims)

    def _by_parameter(self, shapes: Sequence[Any], late: Sequence[int]) -> list[Any]:
        given = iter(shapes)
        return [next(given) if p.is_array or p.position in late else None for p in self.signature.inputs]

    # -- for operators ----------------------------------------------------------------------------------------------

    def prepare(self, call: Call, x: Sequence[Any]) -> tuple[Run, dict[int, Any]]:
        """The run of a call of an operator on these tensors, and its numbers."""
        shapes = self._by_parameter([t.shape[call.batch :] for t in x], call.late)
        run = self._new_run(tuple(call.late), shapes, _tuple(call.dims), self._output_dims(call.extents))
        return run, self._values(call)

    def _call(self, given: Given) -> Call:
        """The arguments of an operator. torch.compile traces this function."""
        floats: list[float] = []
        integers: list[int] = []
        for i, value in given.values.items():
            number = self._numbers[i]
            found = self._components(i, number, value)
            if number.is_float:
                floats.extend(found)
            else:
                integers.extend(found)
        dims = given.launch_dims
        dims = [dims] if isinstance(dims, int) else dims
        extents = []
        for p in self.signature.outputs:
            shape = given.output_dims
            if isinstance(shape, dict):
                shape = shape.get(p.name)
            shape = [shape] if isinstance(shape, int) else shape
            extents.extend([-1] if shape is None else [len(shape), *shape])
        return Call(self.key, given.late, floats, integers, dims, extents)

    def _components(self, i: int, number: _Number, value: Any) -> Sequence[Any]:
        if number.inner == () and isinstance(value, (int, float)):
            if isinstance(value, float) and not number.is_float:
                self._refuse(i, f"got {value}: pass an integer")
            return [int(value) if isinstance(value, bool) else value]  # torch takes no bool beside a variable integer
        if isinstance(self.signature.inputs[i].type, Struct):
            self._refuse(i, "torch.compile and transforms of torch carry numbers only: pass its fields")
        found = np.asarray(value)
        if found.shape != number.inner:
            self._refuse(i, f"got {value!r}")
        return found.ravel().tolist()

    def _values(self, call: Call) -> dict[int, Any]:
        """The numbers of a call of an operator, by their parameters."""
        floats, integers, found = iter(call.floats), iter(call.integers), {}
        for i, number in enumerate(self._numbers):
            if number is None or i in call.late:
                continue
            source = floats if number.is_float else integers
            if number.inner == ():
                value = next(source)
                found[i] = bool(value) if number.is_bool else value
            else:
                flat = [next(source) for _ in range(int(np.prod(number.inner)))]
                found[i] = np.array(flat).reshape(number.inner).tolist()
        return found

    def _output_dims(self, extents: Sequence[int]) -> dict[str, Any] | None:
        found, at = {}, 0
        for p in self.signature.outputs:
            count = int(extents[at])
            if count >= 0:
                found[p.name] = tuple(extents[at + 1 : at + 1 + count])
            at += 1 + max(count, 0)
        return found or None


class _Options(NamedTuple):
    block_dim: int
    enable_backward: bool | None


class KernelOperation(Operation):
    """A kernel as an operation."""

    def __init__(
        self, kernel: Any, signature: Signature, launch_dims: Any, output_dims: Any, options: _Options, name: str | None
    ):
        self.kernel, self.options = kernel, options
        types = tuple(t.key for _, t in kernel.params)
        told = (kernel.primal.hash, types, kernel.transform, signature.results, launch_dims, output_dims, *options)
        key = blake2b(repr(told).encode(), digest_size=8).hexdigest()
        super().__init__(signature, launch_dims, output_dims, key, name)

    def __reduce__(self) -> Any:
        made_of = self.kernel, self.signature, self.launch_dims, self.output_dims, self.options, self.__name__
        return KernelOperation, made_of

    def make(self, late: Sequence[int], shapes: Sequence[Any], dims: Shape) -> Run:
        """As `Operation.make`. Raise ValueError if the kernel writes an input."""
        self.signature.check_writes(self.kernel, "torch")
        return KernelRun(self.kernel, self.signature, late, shapes, dims, *self.options)


_numbers: dict[tuple[Any, str], int] = {}  # of functions and options; it keeps functions, so that no id comes again


class CallableOperation(Operation):
    """A Python function that launches as an operation."""

    def __init__(self, func: Callable[..., Any], signature: Signature, output_dims: Any):
        self.func = func
        told = repr(([(p.name, p.is_in_out) for p in signature.inputs], _hashable(output_dims)))
        super().__init__(signature, None, output_dims, str(_numbers.setdefault((func, told), len(_numbers))))

    def __reduce__(self) -> Any:
        return CallableOperation, (self.func, self.signature, self.output_dims)

    def make(self, late: Sequence[int], shapes: Sequence[Any], dims: Shape) -> Run:
        """As `Operation.make`."""
        return FunctionRun(self.func, self.signature, late, shapes, dims)


def _dtype_of(p: Parameter) -> Any:
    if p.is_array:
        return torch_dtype(p.element.type)
    return torch_dtype(p.type) if isinstance(p.type, (Packed, Scalar)) else None


def _number(p: Parameter) -> _Number:
    if not isinstance(p.type, (Packed, Scalar)):
        return _Number(False, False, ())
    return _Number(p.type.is_differentiable, p.type.key == "bool", element(p.type).inner)


def _tuple(dims: Sequence[int] | None) -> Shape | None:
    return None if dims is None else tuple(dims)


def _hashable(dims: Any) -> Any:
    """Shapes as the caller says them, for a dictionary."""
    if isinstance(dims, dict):
        return tuple((name, _hashable(shape)) for name, shape in dims.items())
    return tuple(dims) if isinstance(dims, list) else dims


def _is_plain(torch: Any, x: Sequence[Any]) -> bool:
    """True if all tensors have memory, and nothing but autograd watches them."""
    if torch._C._are_functorch_transforms_active() or torch.autograd.forward_ad._current_level >= 0:
        return False
    if torch._C._is_tracing():  # torch.jit.trace, which sees operators only
        return False
    kinds = (torch.Tensor, torch.nn.Parameter)
    return torch._C._len_torch_dispatch_stack() == 0 and all(type(t) in kinds and not t.is_meta for t in x)


@cache
def _function() -> Any:
    """The Function of autograd that all operations share."""
    import torch

    class Launched(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, operation: Operation, run: Run, given: Given, *x: Any) -> Any:
            results = run.launch(given.values, x, is_exact=bool(run.after))
            ctx.operation, ctx.run = operation, run
            ctx.given = Given([], *given[1:])  # x is what save_for_backward keeps, and watches for changes
            ctx.save_for_backward(*x, *(results[k] for k in run.after))
            ctx.mark_non_differentiable(*(t for k, t in enumerate(results) if k not in run.moving))
            return tuple(results)

        @staticmethod
        def backward(ctx: Any, *w: Any) -> Any:
            run, given, saved, needs = ctx.run, ctx.given, ctx.saved_tensors, needed_now(ctx)
            x, y = saved[: len(needs)], saved[len(needs) :]
            if torch.is_grad_enabled() or not _is_plain(torch, w):
                spec = Spec(ctx.operation._call(given), (len(x),), ())
                return None, None, None, *launch_backward(spec, [x], w, [needs], y)
            wanted = run.checked(needs)
            try:
                found = iter(run.adjoint(given.values, x, y, [w[k] for k in run.moving], wanted))
            except RuntimeError as why:
                raise (_batched_error(run) if "Batching rule not implemented" in str(why) else why) from None
            return None, None, None, *(next(found) if k in wanted else None for k in range(len(x)))

    return Launched


def _batched_error(run: Run) -> NotImplementedError:
    return NotImplementedError(
        f"{run.signature.name} takes no part in is_grads_batched=True and vectorize=True of torch.autograd, which use "
        "torch's older vmap: use torch.func.vmap or torch.func.jacrev"
    )


def torch_kernel(
    kernel: Any,
    num_outputs: int = 1,
    launch_dims: Any = None,
    output_dims: Any = None,
    in_out_argnames: Sequence[str] | str | None = None,
    *,
    enable_backward: bool | None = None,
    block_dim: int = DEFAULT_BLOCK_DIM,
    name: str | None = None,
) -> KernelOperation:
    """A kernel as a differentiable operation on tensors of PyTorch.

    The parameters of the kernel are inputs, then outputs, which each call makes. The operation takes part in autograd
    up to second derivatives, in forward mode, in `torch.compile` without a graph break, and in `torch.func`. A process
    keeps all operations, as programs of torch name them.

    Args:
        kernel: The kernel, or one overload of a generic one.
        num_outputs: How many results it has, in-outs included.
        launch_dims: The grid of all calls; by default the shape of the first array of a call, without components.
        output_dims: The shape of outputs: for all, or a dict by name; by default that of the grid. With or without
            components.
        in_out_argnames: Names of inputs that the kernel also writes. A call copies them, and returns the copies before
            the outputs.
        enable_backward: False refuses gradients, True allows them. None is as the kernel says.
        block_dim: As for `wp.launch`.
        name: The name of the operation in graphs of torch; by default that of the kernel.

    Returns:
        The operation. It takes the inputs, also by name, and `launch_dims` and `output_dims` for one call. Numbers may
        be tensors of one element, and then have gradients. It returns a tensor, or a tuple of them.

    Raises:
        TypeError: The kernel is generic, or results are no arrays of numbers.
        ValueError: Names or numbers do not fit the parameters. A call raises it for a kernel that writes an input.
    """
    signature = of_kernel(kernel, num_outputs, in_out_argnames)
    return KernelOperation(kernel, signature, launch_dims, output_dims, _Options(block_dim, enable_backward), name)


def torch_callable(
    func: Callable[..., Any],
    num_outputs: int = 1,
    output_dims: Any = None,
    in_out_argnames: Sequence[str] | str | None = None,
) -> CallableOperation:
    """A Python function that launches kernels as a differentiable operation on tensors of PyTorch.

    The function gets arrays: its inputs, read-only, then its outputs, which start as zeros. For its gradient it runs a
    second time, on a tape of its own. So it computes nothing but by launches, copies and fills. A process keeps all
    functions that were given: make operations once, and not anew for each call.

    Args:
        func: The function; its annotations name the types of all parameters.
        num_outputs: As for `torch_kernel`.
        output_dims: As for `torch_kernel`; by default the shape of the first array.
        in_out_argnames: As for `torch_kernel`.

    Returns:
        The operation. Its numbers have no gradients: declare them as arrays of one element.

    Raises:
        TypeError, ValueError: As for `torch_kernel`. A call raises ValueError if the function writes an input.
    """
    return CallableOperation(func, of_function(func, num_outputs, in_out_argnames), output_dims)
