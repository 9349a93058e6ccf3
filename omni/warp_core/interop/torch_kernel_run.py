"""Launches of a kernel on tensors: the kernel, its tangent kernel, its adjoint, and the adjoint of its tangent kernel.

The tangent kernel has the parameters of the kernel, then their tangents. Start with `KernelRun`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

from .. import _native
from ..arrays.array import array
from ..arrays.dtypes import element
from ..autodiff.vjp.read_time import AFTER, BEFORE
from ..compiler import effects
from ..devices.device import CPU, Device
from ..dispatch import capture
from ..lang.errors import CompileError
from ..lang.kernel import Kernel, on_redefinition
from ..lang.kernel_transforms import ScalarArrays, Tangent
from ..lang.types import Array
from ..launches import plans
from ..launches.backward_settings import deciding_setting
from ..launches.launch import launch
from ..tape import launch_vjp
from .call_signature import Shape, Signature
from .launch_subject import IN_OUT, INPUT, OUTPUT, VALUE, Subject
from .torch_runs import Run, Tensors, adjoint_on_a_tape, copied, device_of, unobserved


class _Code:
    """A kernel or its tangent kernel, ready for calls.

    Attributes:
        subject: the launch.
        taken: the parameters that get operands.
        ids: of each parameter the native number of its elements; None for numbers.
        makes: of each result its parameter, if it is an in-out, shape, dtype, and if the launch writes it all.
    """

    def __init__(self, run: Run, subject: Subject, covered: Sequence[bool]):
        count = len(run.shapes)
        sources = list(range(count))
        if len(subject.roles) > count:
            transform = subject.kernel.transform[-1]
            assert isinstance(transform, Tangent)
            sources += [i for i, is_active in enumerate(transform.active) if is_active]
        self.subject, self.taken, self.sources = subject, subject.taken, sources
        types = [t for _, t in subject.kernel.params]
        self.ids = [element(t.dtype).id if isinstance(t, Array) else None for t in types]
        self.makes = [
            (
                i,
                subject.roles[i] == IN_OUT,
                run.shapes[sources[i]],
                run.dtypes[sources[i]],
                i < len(covered) and covered[i],
            )
            for i in subject.made
        ]

    def launch(self, values: dict[int, Any], x: Tensors, is_exact: bool = False) -> list[Any]:
        """Run on operands; return the arguments, results among them."""
        import torch

        args: list[Any] = [None] * len(self.ids)
        for i, t in zip(self.taken, x):
            args[i] = t.contiguous()
        for i, value in values.items():
            args[i] = value
        where = x[0].device if x else None
        for i, is_in_out, shape, dtype, is_covered in self.makes:
            if is_in_out:
                args[i] = copied(args[i])
            else:
                args[i] = (torch.empty if is_covered else torch.zeros)(shape, dtype=dtype, device=where)
        kernel, device = self.subject.kernel, device_of(x)
        with unobserved(device):
            if is_exact:
                options = plans.options_for(kernel, device, self.subject.block_dim)._replace(exact=True)
                capture.run(kernel, plans.plan_for(kernel, options), self.subject.dims, args)
            else:
                launch(kernel, self.subject.dims, args, device=device, block_dim=self.subject.block_dim)
        return args

    def adjoint(
        self,
        values: dict[int, Any],
        x: Tensors,
        after: dict[int, Any],
        cotangents: dict[int, Any],
        wanted: Sequence[int],
        new: Callable[[int, Tensors], Any],
    ) -> list[Any]:
        """The gradients of the operands `wanted`. `after` are results that the adjoint reads, by their parameters."""
        device = device_of(x)
        options, facts = adjoint_of(self.subject, device)
        given, needed = dict(zip(self.taken, x)), {self.taken[k] for k in wanted}
        gradients: dict[int, Any] = {}
        args: list[Any] = []
        for i, number in enumerate(self.ids):
            if number is None:
                args.append(values[i])
                continue
            if i in cotangents:
                gradients[i] = copied(cotangents[i])  # the adjoint clears it
            elif i in needed:
                gradients[i] = new(self.sources[i], x)
            if self.subject.roles[i] == INPUT:
                data = given[i].contiguous()
            elif facts.reads[i] == AFTER:
                data = copied(after[i]) if facts.replays else after[i].contiguous()
            elif facts.reads[i] == BEFORE or facts.replays:
                data = copied(given[i]) if i in given else new(self.sources[i], x)
            else:  # only its shape is read
                data = gradients[i] if i in gradients else new(self.sources[i], x)
            gradient = gradients.get(i)
            shown = None if gradient is None else _native.exchange.describe_tensor(gradient, number)
            args.append(_native.exchange.describe_tensor(data, number, shown))
        with unobserved(device):
            kernel = self.subject.kernel
            capture.run(kernel, plans.plan_for(kernel, options), self.subject.dims, args)
        return [gradients[self.taken[k]] for k in wanted]


class KernelRun(Run):
    """Launches of a kernel. A `Run`."""

    def __init__(
        self,
        kernel: Kernel,
        signature: Signature,
        late: Sequence[int],
        shapes: Sequence[Any],
        dims: Shape,
        block_dim: int,
        enable_backward: bool | None,
    ):
        super().__init__(signature, late, shapes, dims)
        self._enable_backward = enable_backward
        inputs = [VALUE if s is None else IN_OUT if p.is_in_out else INPUT for p, s in zip(signature.inputs, shapes)]
        roles = (*inputs, *(OUTPUT for _ in signature.outputs))
        derived = kernel.derive(ScalarArrays(tuple(late))) if late else kernel
        self.subject = Subject(derived, roles, tuple(shapes), (), dims, block_dim)
        self._tangents: dict[tuple[int, ...], _Code] = {}

    @cached_property
    def _code(self) -> _Code:
        accesses = effects(self.subject.kernel).params
        covered = [
            bool(access.covers) and isinstance(t, Array) and tuple(shape[: t.ndim]) == self.dims
            for access, t, shape in zip(accesses, self.types, self.shapes)
        ]
        return _Code(self, self.subject, covered)

    def run(self, args: Sequence[Any]) -> None:
        """As `Run.run`."""
        device = next((a.device for a in args if isinstance(a, array)), None)
        launch(self.subject.kernel, self.dims, args, device=device, block_dim=self.subject.block_dim)

    def launch(self, values: dict[int, Any], x: Tensors, is_exact: bool = False) -> list[Any]:
        """As `Run.launch`."""
        found = self._code.launch(values, x, is_exact)
        return [found[i] for i in self.made]

    # -- derivatives ------------------------------------------------------------------------------------------------

    def tangent(self, values: dict[int, Any], x: Tensors, dx: Tensors, active: Sequence[int]) -> list[Any]:
        """As `Run.tangent`."""
        moved, operands = self._moved(x, dx, active)
        found = moved.launch(values, operands)
        return [found[i] for i in moved.subject.moving if i >= len(self.shapes)]

    def _moved(self, x: Tensors, dx: Tensors, active: Sequence[int]) -> tuple[_Code, list[Any]]:
        """The tangent kernel and its operands."""
        given = {self.taken[k]: t for k, t in zip(active, dx)}
        needed = self.subject.with_needed(list(given))
        if needed not in self._tangents:
            self._tangents[needed] = _Code(self, self.subject.tangent(needed), ())
        return self._tangents[needed], [*x, *(given[i] if i in given else self.new(i, x) for i in needed)]

    @cached_property
    def after(self) -> tuple[int, ...]:  # type: ignore[override]
        """As `Run.after`."""
        if not self._backward[1]:
            return ()
        try:
            reads = self._facts.reads
        except CompileError:  # the kernel has no gradient, which `adjoint` says
            return ()
        return () if self._facts.notes else tuple(k for k, i in enumerate(self.made) if reads[i] == AFTER)

    @cached_property
    def _facts(self) -> Any:
        return adjoint_of(self.subject, CPU)[1]

    def adjoint(self, values: dict[int, Any], x: Tensors, y: Tensors, w: Tensors, wanted: Sequence[int]) -> list[Any]:
        """As `Run.adjoint`."""
        self._check_enabled()
        after = {self.made[k]: t for k, t in zip(self.after, y)}
        cotangents = {self.made[k]: t for k, t in zip(self.moving, w)}
        if self._facts.notes:
            return adjoint_on_a_tape(self, values, x, w, wanted)
        return self._code.adjoint(values, x, after, cotangents, wanted, self.new)

    @property
    def _backward(self) -> tuple[str, bool]:
        """The setting that decides whether the operation has a gradient, in words, and what it says."""
        if self._enable_backward is not None:
            return f"its torch_kernel was made with enable_backward={self._enable_backward}", self._enable_backward
        return deciding_setting(self.subject.kernel)

    def _check_enabled(self) -> None:
        why, is_enabled = self._backward
        if not is_enabled:
            raise RuntimeError(
                f"{self.signature.name} has no gradient, as {why}, and torch asks for one: enable it, or pass the "
                "arguments as x.detach()"
            )

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
        self._check_enabled()
        moved, operands = self._moved(x, dx, active)
        _, facts = adjoint_of(moved.subject, device_of(x))
        if facts.notes:
            raise NotImplementedError(
                f"{self.signature.name}: its second derivative needs the results of its atomics: split the kernel, so "
                "that the counters are in a kernel without gradient"
            )
        read = [i for i in moved.subject.made if facts.reads[i] == AFTER]
        results = moved.launch(values, operands, is_exact=True) if read else []
        cotangents = dict(zip(moved.subject.moving, [*dw, *w]))  # w is that of the tangents
        return moved.adjoint(values, operands, {i: results[i] for i in read}, cotangents, wanted, self.new)


_adjoints: WeakKeyDictionary[Kernel, dict[Any, tuple[plans.Options, Any]]] = WeakKeyDictionary()
plans.on_options.append(_adjoints.clear)
on_redefinition.append(_adjoints.clear)


def adjoint_of(subject: Subject, device: Device) -> tuple[plans.Options, Any]:
    """The options of the adjoint of a launch, and what is known of it.

    Raises:
        CompileError: the kernel has no gradient.
    """
    known = _adjoints.setdefault(subject.kernel, {})
    key = device.id, subject.block_dim
    if key not in known:
        options = plans.options_for(subject.kernel, device, subject.block_dim)
        options = options._replace(debug=False, adjoint="distinct")
        facts = launch_vjp.facts(subject.kernel, options)
        if AFTER in facts.reads:
            options = options._replace(exact=True)
            facts = launch_vjp.facts(subject.kernel, options)
        known[key] = options, facts
    return known[key]
