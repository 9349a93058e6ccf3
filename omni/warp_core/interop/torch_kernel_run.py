"""Launches of a kernel on tensors: the kernel, its tangent kernel, its adjoint, and the adjoint of its tangent kernel.

The tangent kernel has the parameters of the kernel, then their tangents. Start with `KernelRun`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from .. import _native
from ..arrays.array import array
from ..arrays.dtypes import element
from ..autodiff.vjp.read_time import AFTER, BEFORE
from ..compiler import effects
from ..devices.device import CPU, Device
from ..dispatch import capture
from ..lang.errors import CompileError
from ..lang.kernel import Kernel
from ..lang.kernel_transforms import ScalarArrays, Tangent
from ..lang.types import Array
from ..launches import plans
from ..launches.launch import launch
from ..tape import launch_vjp
from .call_signature import Shape, Signature
from .jax_primitives import IN_OUT, INPUT, OUTPUT, VALUE, Subject
from .torch_runs import Run, Tensors, adjoint_on_a_tape, copied, device_of, unobserved


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
    ):
        super().__init__(signature, late, shapes, dims)
        inputs = [VALUE if s is None else IN_OUT if p.is_in_out else INPUT for p, s in zip(signature.inputs, shapes)]
        roles = (*inputs, *(OUTPUT for _ in signature.outputs))
        derived = kernel.derive(ScalarArrays(tuple(late))) if late else kernel
        self.subject = Subject(derived, roles, tuple(shapes), (), dims, block_dim)

    def run(self, args: Sequence[Any]) -> None:
        """As `Run.run`."""
        device = next((a.device for a in args if isinstance(a, array)), None)
        launch(self.subject.kernel, self.dims, args, device=device, block_dim=self.subject.block_dim)

    @cached_property
    def _covered(self) -> list[bool]:
        """For each parameter, whether the launch is known to write each element of its array."""
        fits = [s is not None and tuple(s[: self._ndim(i)]) == self.dims for i, s in enumerate(self.shapes)]
        return [bool(a.covers) and fit for a, fit in zip(effects(self.subject.kernel).params, fits)]

    def _ndim(self, i: int) -> int:
        t = self.types[i]
        return t.ndim if isinstance(t, Array) else 0

    def launch(self, values: dict[int, Any], x: Tensors, is_exact: bool = False) -> list[Any]:
        """As `Run.launch`."""
        results = self._launch(self.subject, values, x, is_exact)
        return [results[i] for i in self.made]

    def _launch(self, subject: Subject, values: dict[int, Any], x: Tensors, is_exact: bool) -> dict[int, Any]:
        """The results of the kernel or of its tangent kernel, by their parameters."""
        given = dict(zip(subject.taken, x))
        found: dict[int, Any] = {}
        count = len(self.shapes)
        for i, role in enumerate(subject.roles):
            if role == IN_OUT:
                found[i] = copied(given[i])
            elif role == OUTPUT:
                own = i if i < count else self._source(subject, i)
                found[i] = self.new(own, x, is_empty=i < count and self._covered[i])
        args = [
            found[i] if i in found else given[i].contiguous() if i in given else values[i]
            for i in range(len(subject.roles))
        ]
        self._run(subject, args, device_of(x), is_exact=is_exact)
        return found

    def _source(self, subject: Subject, i: int) -> int:
        """The parameter whose tangent parameter i of a tangent kernel is."""
        transform = subject.kernel.transform[-1]
        assert isinstance(transform, Tangent)
        return [k for k, active in enumerate(transform.active) if active][i - len(self.shapes)]

    def _run(
        self, subject: Subject, args: list[Any], device: Device, is_exact: bool = False, adjoint: Any = None
    ) -> None:
        """Launch a kernel, or its adjoint with the options `adjoint`."""
        import torch

        kernel, dims, block_dim = subject.kernel, self.dims, subject.block_dim
        with torch.no_grad(), unobserved(device):
            if adjoint is None and not is_exact:
                launch(kernel, dims, args, device=device, block_dim=block_dim)
                return
            options = adjoint or plans.options_for(kernel, device, block_dim)._replace(exact=True)
            capture.run(kernel, plans.plan_for(kernel, options), dims, args)

    # -- derivatives ------------------------------------------------------------------------------------------------

    def tangent(self, values: dict[int, Any], x: Tensors, dx: Tensors, active: Sequence[int]) -> list[Any]:
        """As `Run.tangent`."""
        moved, directions = self._moved(x, dx, active)
        found = self._launch(moved, values, [*x, *directions], False)
        return [found[i] for i in moved.moving if i >= len(self.shapes)]

    def _moved(self, x: Tensors, dx: Tensors, active: Sequence[int]) -> tuple[Subject, list[Any]]:
        """The tangent kernel, and the tangents that it takes."""
        given = {self.taken[k]: t for k, t in zip(active, dx)}
        needed = self.subject.with_needed(list(given))
        return self.subject.tangent(needed), [given[i] if i in given else self.new(i, x) for i in needed]

    @cached_property
    def after(self) -> tuple[int, ...]:  # type: ignore[override]
        """As `Run.after`."""
        if not launch_vjp.deciding_setting(self.subject.kernel)[1]:
            return ()
        try:
            reads = self._facts.reads
        except CompileError:  # the kernel has no gradient, which `adjoint` says
            return ()
        return () if self._facts.notes else tuple(k for k, i in enumerate(self.made) if reads[i] == AFTER)

    @cached_property
    def _facts(self) -> Any:
        return _adjoint_of(self.subject, CPU)[1]

    def adjoint(self, values: dict[int, Any], x: Tensors, y: Tensors, w: Tensors, wanted: Sequence[int]) -> list[Any]:
        """As `Run.adjoint`."""
        self._check_enabled()
        after = {self.made[k]: t for k, t in zip(self.after, y)}
        cotangents = {self.made[k]: t for k, t in zip(self.moving, w)}
        if self._facts.notes:
            return adjoint_on_a_tape(self, values, x, w, wanted)
        return self._adjoint(self.subject, values, x, after, cotangents, wanted)

    def _check_enabled(self) -> None:
        why, is_enabled = launch_vjp.deciding_setting(self.subject.kernel)
        if not is_enabled:
            raise RuntimeError(
                f"{self.signature.name} has no gradient, as {why}, and torch asks for one: enable it, or pass the "
                "arguments as x.detach()"
            )

    def _adjoint(
        self,
        subject: Subject,
        values: dict[int, Any],
        x: Tensors,
        after: dict[int, Any],
        cotangents: dict[int, Any],
        wanted: Sequence[int],
    ) -> list[Any]:
        """The gradients of the operands `wanted` of the kernel or of its tangent kernel."""
        device = device_of(x)
        options, facts = _adjoint_of(subject, device)
        given, needed = dict(zip(subject.taken, x)), {subject.taken[k] for k in wanted}
        gradients: dict[int, Any] = {}
        args = []
        for i, role in enumerate(subject.roles):
            if role == VALUE:
                args.append(values[i])
                continue
            if i in cotangents:
                gradients[i] = copied(cotangents[i])  # the adjoint clears it
            elif i in needed:
                gradients[i] = self.new(i, x)
            if role == INPUT:
                data = given[i].contiguous()
            elif facts.reads[i] == AFTER:
                data = copied(after[i]) if facts.replays else after[i].contiguous()
            elif facts.reads[i] == BEFORE or facts.replays:
                data = copied(given[i]) if i in given else self.new(self._own(subject, i), x)
            else:  # only its shape is read
                data = gradients[i] if i in gradients else self.new(self._own(subject, i), x)
            args.append(_descriptor(subject, i, data, gradients.get(i)))
        self._run(subject, args, device, adjoint=options)
        return [gradients[subject.taken[k]] for k in wanted]

    def _own(self, subject: Subject, i: int) -> int:
        return i if i < len(self.shapes) else self._source(subject, i)

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
        moved, directions = self._moved(x, dx, active)
        operands = [*x, *directions]
        _, facts = _adjoint_of(moved, device_of(x))
        if facts.notes:
            raise NotImplementedError(
                f"{self.signature.name}: its second derivative needs the results of its atomics: split the kernel, so "
                "that the counters are in a kernel without gradient"
            )
        read = [i for i in moved.made if facts.reads[i] == AFTER]
        results = self._launch(moved, values, operands, True) if read else {}
        cotangents = dict(zip(moved.moving, [*dw, *w]))  # w is that of the tangents
        return self._adjoint(moved, values, operands, {i: results[i] for i in read}, cotangents, wanted)


def _adjoint_of(subject: Subject, device: Device) -> tuple[plans.Options, Any]:
    """The options of an adjoint, and what is known of it."""
    options = plans.options_for(subject.kernel, device, subject.block_dim)
    options = options._replace(debug=False, adjoint="distinct")
    facts = launch_vjp.facts(subject.kernel, options)
    if AFTER in facts.reads:
        options = options._replace(exact=True)
        facts = launch_vjp.facts(subject.kernel, options)
    return options, facts


def _descriptor(subject: Subject, i: int, data: Any, gradient: Any) -> Any:
    t = subject.kernel.params[i][1]
    assert isinstance(t, Array)
    number = element(t.dtype).id
    shown = None if gradient is None else _native.exchange.describe_tensor(gradient, number)
    return _native.exchange.describe_tensor(data, number, shown)
