"""Operators of PyTorch, `torch.ops.omni_warp.*`, through which its compiler and its transforms see kernels.

Let y = f(x) be a launch, or a call of a function that launches. Four operators are closed under two derivatives:
`launch`, `tangent`, `adjoint` and `hvp`, as torch_runs.py says what they compute. Each has

- an implementation, which takes tensors with leading batch dimensions and runs once for each example,
- one for fake tensors, of which only shapes are known,
- a Function of autograd whose `backward` and `jvp` call the other operators. It stands for one level of autograd, so
  that `torch.func` can stack levels,
- a rule for `vmap`: one more batch dimension.

All begin with the same arguments, which are a `Call`. Start with `operators`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

from ..lang.kernel import on_redefinition
from .torch_runs import Run, Tensors

Needs = Sequence[Sequence[bool]]  # whether operands need a gradient, list by list

NAMESPACE = "omni_warp"


class Call(NamedTuple):
    """What a call of an operation consists of, besides its tensors, in terms of an operator.

    Attributes:
        key: names the operation in this process.
        late: the numbers of the parameters that are no arrays, but come as tensors.
        floats, integers: the other parameters that are no arrays, component by component.
        dims: the launch dimensions, if the call says them.
        extents: the shapes of outputs: for each its number of dimensions, -1 if the call does not say it, and extents.
        batch: how many batch dimensions all tensors begin with.
    """

    key: str
    late: Sequence[int]
    floats: Sequence[float]
    integers: Sequence[int]
    dims: Sequence[int] | None
    extents: Sequence[int]
    batch: int = 0


_CALL = "str key, int[] late, float[] floats, SymInt[] integers, SymInt[]? dims, SymInt[] extents, int batch"
_HEAD = len(Call._fields)

# Of each operator, the lists of tensors, and the lists of operands that follow.
_LISTS = {
    "launch": (("x",), ()),
    "tangent": (("x", "dx"), ("active",)),
    "adjoint": (("x", "y", "w"), ("wanted",)),
    "hvp": (("x", "w", "dx", "dw"), ("active", "wanted")),
}

_operations: dict[str, Any] = {}


def _forget() -> None:
    for operation in _operations.values():
        operation.forget()


on_redefinition.append(_forget)


def register(key: str, operation: Any) -> None:
    """Let operators find an operation: an object with `prepare(call, x)`, which returns a `Run` and numbers."""
    operators()
    _operations[key] = operation


def prepared(call: Call, x: Tensors) -> tuple[Run, dict[int, Any]]:
    """The run of a call on these operands, and its numbers.

    Raises:
        ValueError: the process has no such operation.
    """
    operation = _operations.get(call.key)
    if operation is None:
        raise ValueError(
            f"the program calls an operation that this process does not know, {call.key!r}: create its wp.torch_kernel "
            "in this process first, from the same source"
        )
    return operation.prepare(call, x)


# -- implementations --------------------------------------------------------------------------------------------------


def _run(name: str, run: Run, values: dict[int, Any], lists: Sequence[Tensors], numbers: Sequence[Any]) -> list[Any]:
    if name == "launch":
        return run.launch(values, lists[0], is_exact=bool(run.after))
    return getattr(run, name)(values, *lists, *numbers)


def _shapes(name: str, run: Run, numbers: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Shape and dtype of each result of an operator."""
    if name == "launch":
        params = run.made
    elif name == "tangent":
        params = [run.made[k] for k in run.moving]
    else:
        params = [run.taken[k] for k in numbers[-1]]
    return [(run.shapes[i], run.dtypes[i]) for i in params]


def _implementation(name: str) -> Callable[..., list[Any]]:
    def implementation(*args: Any) -> list[Any]:
        import torch

        with torch.no_grad():
            return run_all(torch, args)

    def run_all(torch: Any, args: Sequence[Any]) -> list[Any]:
        call, lists, numbers = _parts(name, args)
        run, values = prepared(call, lists[0])
        if not call.batch:
            return _run(name, run, values, lists, numbers)
        extents = next(t.shape[: call.batch] for t in lists[0])
        flat = [[t.reshape(-1, *t.shape[call.batch :]) for t in tensors] for tensors in lists]
        examples = [
            _run(name, run, values, [[t[i] for t in tensors] for tensors in flat], numbers)
            for i in range(math.prod(extents))
        ]
        return [
            torch.stack([found[k] for found in examples]).reshape(*extents, *shape)
            if examples
            else torch.empty((*extents, *shape), dtype=dtype, device=lists[0][0].device)
            for k, (shape, dtype) in enumerate(_shapes(name, run, numbers))
        ]

    return implementation


def _fake(name: str) -> Callable[..., list[Any]]:
    def fake(*args: Any) -> list[Any]:
        import torch

        call, lists, numbers = _parts(name, args)
        run, _ = prepared(call, lists[0])
        like = next(iter(lists[0]), None)
        extents = () if like is None else like.shape[: call.batch]
        where = None if like is None else like.device
        shapes = _shapes(name, run, numbers)
        return [torch.empty((*extents, *shape), dtype=dtype, device=where) for shape, dtype in shapes]

    return fake


def _parts(name: str, args: Sequence[Any]) -> tuple[Call, Sequence[Tensors], Sequence[Any]]:
    split = _HEAD + len(_LISTS[name][0])
    return Call(*args[:_HEAD]), args[_HEAD:split], args[split:]


def _batched(name: str) -> Callable[..., Any]:
    """The rule for `vmap`. Tensors without the dimension are shown with it, by a stride of 0."""

    def rule(info: Any, dims: Sequence[Any], *args: Any) -> Any:
        call, lists, numbers = _parts(name, args)

        def moved(t: Any, dim: int | None) -> Any:
            return t.unsqueeze(0).expand(info.batch_size, *t.shape) if dim is None else t.movedim(dim, 0)

        given = [[moved(t, d) for t, d in zip(tensors, ds)] for tensors, ds in zip(lists, dims[_HEAD:])]
        found = _operator(name)(*call._replace(batch=call.batch + 1), *given, *numbers)
        return found, [0] * len(found)

    return rule


# -- derivatives ------------------------------------------------------------------------------------------------------


class Spec(NamedTuple):
    """An operator's arguments but its tensors, which are counted."""

    call: Call
    counts: tuple[int, ...]
    numbers: tuple[Any, ...]

    def lists(self, flat: Sequence[Any]) -> list[list[Any]]:
        """The lists of tensors, from all of them in a row."""
        found = iter(flat)
        return [[next(found) for _ in range(n)] for n in self.counts]


def _filled(tangents: Sequence[Any], like: Tensors) -> list[Any]:
    import torch

    return [torch.zeros_like(x) if t is None else t for t, x in zip(tangents, like)]


def _zeros(tensors: Tensors) -> list[Any]:
    import torch

    return [torch.zeros_like(t) for t in tensors]


def _spread(found: Sequence[Any], places: Sequence[int], count: int) -> list[Any]:
    """Gradients for `count` operands: those found, and None elsewhere."""
    known = dict(zip(places, found))
    return [known.get(k) for k in range(count)]


def needed_now(ctx: Any) -> list[bool]:
    """Of each tensor that a Function of autograd got, whether the backward pass that runs now uses its gradient.

    `needs_input_grad` says whether the tensor requires one, also where `torch.autograd.grad` asks for others only. Of
    leaves no more is known: `apart` makes others of them.
    """
    import torch

    def is_used(node: Any) -> bool:
        return node is not None and (not node.next_functions or torch._C._will_engine_execute_node(node))

    required = ctx.needs_input_grad[len(ctx.needs_input_grad) - len(ctx.next_functions) :]
    return [needs and is_used(node) for needs, (node, _) in zip(required, ctx.next_functions)]


def apart(t: Any) -> Any:
    """The tensor; of a leaf that requires a gradient, a view."""
    return t.view_as(t) if t.requires_grad and t.is_leaf else t


def _third() -> NotImplementedError:
    return NotImplementedError("third derivatives of a wp.torch_kernel or wp.torch_callable are not computed")


def launch_backward(spec: Spec, lists: Sequence[Tensors], w: Tensors, needs: Needs, y: Tensors) -> list[Any]:
    """The gradients of the operands of `launch`. `y` are the results `after`, `w` the cotangents of all results."""
    (x,), (needed,) = lists, needs
    run, _ = prepared(spec.call, x)
    wanted = run.checked(needed)
    found = _operator("adjoint")(*spec.call, x, y, [w[k] for k in run.moving], wanted)
    return _spread(found, wanted, len(x))


def _launch_jvp(spec: Spec, lists: Sequence[Tensors], d: Sequence[Sequence[Any]]) -> list[Any]:
    (x,), (dx,) = lists, d
    run, _ = prepared(spec.call, x)
    active = run.checked([t is not None for t in dx])
    found = _operator("tangent")(*spec.call, x, [dx[k] for k in active], active) if active else ()
    return _spread(found, run.moving, len(run.made))


def _tangent_backward(spec: Spec, lists: Sequence[Tensors], w: Tensors, needs: Needs, __: Tensors) -> list[Any]:
    x, dx = lists
    (active,) = spec.numbers
    run, _ = prepared(spec.call, x)
    y = _results(spec, run, x)
    along = [k for k, wanted in zip(active, needs[1]) if wanted]
    linear = _operator("adjoint")(*spec.call, x, y, w, along) if along else ()
    curved = _curved(spec, run, x, w, dx, _zeros(w), active, needs[0])
    return [*curved, *(dict(zip(along, linear)).get(k) for k in active)]


def _results(spec: Spec, run: Run, x: Tensors) -> list[Any]:
    """The results of the launch that `adjoint` reads."""
    if not run.after:
        return []
    found = _operator("launch")(*spec.call, x)
    return [found[k] for k in run.after]


def _curved(
    spec: Spec, run: Run, x: Tensors, w: Tensors, dx: Tensors, dw: Tensors, active: Sequence[int], needs: Sequence[bool]
) -> list[Any]:
    """J^T w' + H x' for the operands that need it."""
    wanted = [k for k in run.active if needs[k]]
    found = _operator("hvp")(*spec.call, x, w, dx, dw, active, wanted) if wanted else ()
    return _spread(found, wanted, len(x))


def _adjoint_backward(spec: Spec, lists: Sequence[Tensors], c: Tensors, needs: Needs, __: Tensors) -> list[Any]:
    x, y, w = lists  # y has no gradient of its own, as hvp knows that it is f(x)
    (wanted,) = spec.numbers
    run, _ = prepared(spec.call, x)
    along = _operator("tangent")(*spec.call, x, c, wanted) if any(needs[2]) else [None] * len(w)
    curved = _curved(spec, run, x, w, c, _zeros(w), wanted, needs[0])
    return [*curved, *(None for _ in y), *along]


def _adjoint_jvp(spec: Spec, lists: Sequence[Tensors], d: Sequence[Sequence[Any]]) -> list[Any]:
    (x, _, w), (dx, _, dw) = lists, d
    (wanted,) = spec.numbers
    run, _ = prepared(spec.call, x)
    active = [k for k in run.active if dx[k] is not None]
    return _operator("hvp")(*spec.call, x, w, [dx[k] for k in active], _filled(dw, w), active, wanted)


def _hvp_backward(spec: Spec, lists: Sequence[Tensors], c: Tensors, needs: Needs, __: Tensors) -> list[Any]:
    """J^T w' + H x' is linear in x' and w', and H is symmetric. By x and w it has third derivatives."""
    x, w, _, dw = lists
    active, wanted = spec.numbers
    if any(needs[0]) or any(needs[1]):
        raise _third()
    used = [k for k, is_needed in zip(active, needs[2]) if is_needed]
    curved = _operator("hvp")(*spec.call, x, w, c, _zeros(dw), wanted, used) if used else ()
    along = _operator("tangent")(*spec.call, x, c, wanted) if any(needs[3]) else [None] * len(dw)
    found = dict(zip(used, curved))
    return [*(None for _ in (*x, *w)), *(found.get(k) for k in active), *along]


def _refuse(*_: Any) -> list[Any]:
    raise _third()


def _tangent_jvp(spec: Spec, lists: Sequence[Tensors], d: Sequence[Sequence[Any]]) -> list[Any]:
    (x, dx), (ddx_x, ddx) = lists, d
    if any(t is not None for t in ddx_x):
        raise NotImplementedError(
            "forward mode over forward mode of a wp.torch_kernel or wp.torch_callable is not computed: use "
            "torch.func.hessian, or jvp of grad"
        )
    return _operator("tangent")(*spec.call, x, _filled(ddx, dx), *spec.numbers)


_DERIVATIVES = {
    "launch": (launch_backward, _launch_jvp),
    "tangent": (_tangent_backward, _tangent_jvp),
    "adjoint": (_adjoint_backward, _adjoint_jvp),
    "hvp": (_hvp_backward, _refuse),
}


def _function(name: str) -> Any:
    """The Function of autograd for one level of an operator."""
    import torch

    backward_rule, jvp_rule = _DERIVATIVES[name]

    class OneLevel(torch.autograd.function._SingleLevelFunction):
        @staticmethod
        def forward(ctx: Any, spec: Spec, modes: tuple[bool, bool], *flat: Any) -> Any:
            with torch._C._AutoDispatchBelowAutograd(), _modes(*modes):
                found = _operator(name)(*spec.call, *spec.lists(flat), *spec.numbers)
            ctx.spec, kept = spec, ()
            if name == "launch":
                run, _ = prepared(spec.call, flat)
                kept = tuple(found[k] for k in run.after)
                ctx.mark_non_differentiable(*(t for k, t in enumerate(found) if k not in run.moving))
            ctx.save_for_backward(*flat, *kept)
            ctx.save_for_forward(*flat)
            return tuple(found)

        @staticmethod
        def backward(ctx: Any, *w: Any) -> Any:
            spec, saved, count = ctx.spec, ctx.saved_tensors, sum(ctx.spec.counts)
            needs = spec.lists(needed_now(ctx))
            return None, None, *backward_rule(spec, spec.lists(saved), list(w), needs, saved[count:])

        @staticmethod
        def jvp(ctx: Any, _: Any, __: Any, *d: Any) -> Any:
            # This level's tangents are in `d`. Autograd hides those of outer levels here, too, which would lose them.
            saved = [torch.autograd.forward_ad.unpack_dual(t, level=0).primal for t in ctx.saved_tensors]
            with torch.autograd.forward_ad._set_fwd_grad_enabled(True):
                return tuple(jvp_rule(ctx.spec, ctx.spec.lists(saved), ctx.spec.lists(d)))

    OneLevel.__name__ = OneLevel.__qualname__ = f"omni_warp_{name}"
    return OneLevel


@contextmanager
def _modes(records: bool, moves: bool) -> Iterator[None]:
    """A `with` block with the modes of outer levels, which a Function of autograd switches off for its own."""
    import torch

    with torch.set_grad_enabled(records), torch.autograd.forward_ad._set_fwd_grad_enabled(moves):
        yield


def _autograd(name: str) -> Callable[..., Any]:
    import torch
    from torch._functorch.utils import enable_single_level_autograd_function

    function = _function(name)

    def autograd(*args: Any) -> Any:
        call, lists, numbers = _parts(name, args)
        spec = Spec(call, tuple(len(tensors) for tensors in lists), tuple(numbers))
        modes = torch.is_grad_enabled(), torch._C._is_fwd_grad_enabled()
        with enable_single_level_autograd_function():
            return list(function.apply(spec, modes, *map(apart, _flat(lists))))

    return autograd


def _flat(lists: Sequence[Tensors]) -> Iterator[Any]:
    return (t for tensors in lists for t in tensors)


# -- registration -----------------------------------------------------------------------------------------------------


@cache
def operators() -> Any:
    """The library of the four operators, made on the first call."""
    import torch

    library = torch.library.Library(NAMESPACE, "FRAGMENT")
    for name, (lists, numbers) in _LISTS.items():
        more = "".join([*(f", Tensor[] {tensors}" for tensors in lists), *(f", int[] {n}" for n in numbers)])
        library.define(f"{name}({_CALL}{more}) -> Tensor[]")
        library.impl(name, _implementation(name), "CompositeExplicitAutograd")
        library.impl(name, _autograd(name), "Autograd")
        torch.library.register_fake(f"{NAMESPACE}::{name}", _fake(name), lib=library)
        torch.library.register_vmap(f"{NAMESPACE}::{name}", _batched(name), lib=library)
    return library


@cache
def _operator(name: str) -> Any:
    import torch

    return getattr(getattr(torch.ops, NAMESPACE), name).default
