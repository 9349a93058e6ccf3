"""A launch without its operands: what operators of frameworks know when they are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..lang.kernel import Kernel
from ..lang.kernel_transforms import Tangent
from ..lang.types import Array
from ..launches.kernel_facts import tangent_facts

Shape = tuple[int, ...]
INPUT, IN_OUT, OUTPUT, VALUE = "input", "in-out", "output", "value"


class Subject(NamedTuple):
    """A launch without its operands, of a kernel or of its tangent kernel.

    Attributes:
        kernel: the kernel.
        roles: for each parameter INPUT, IN_OUT, OUTPUT or VALUE, a value that is known.
        shapes: of each array of one example, its shape with components; None for values.
        values: (number of the parameter, bytes) of each value.
        dims: the launch dimensions.
        block_dim: threads of a block.
        has_side_effect: whether XLA must keep the call if its results are not used.
        vmap: whether `vmap` may take it.
        backward: whether it may be differentiated.
        order: how many tangents were taken.
    """

    kernel: Kernel
    roles: tuple[str, ...]
    shapes: tuple[Shape | None, ...]
    values: tuple[tuple[int, bytes], ...]
    dims: Shape
    block_dim: int = 256
    has_side_effect: bool = False
    vmap: bool = True
    backward: bool = True
    order: int = 0

    @property
    def name(self) -> str:
        """The name in errors."""
        return f"kernel `{self.kernel.name}`"

    @property
    def taken(self) -> list[int]:
        """The numbers of the parameters that are operands."""
        return [i for i, role in enumerate(self.roles) if role in (INPUT, IN_OUT)]

    @property
    def made(self) -> list[int]:
        """The numbers of the parameters that are results."""
        return [i for i, role in enumerate(self.roles) if role in (IN_OUT, OUTPUT)]

    @property
    def moving(self) -> list[int]:
        """The results that have tangents."""
        return [i for i in self.made if self.is_active(i)]

    def is_active(self, i: int) -> bool:
        """True if a parameter is an array of floating point numbers."""
        return self.roles[i] != VALUE and self.array_type(i).dtype.is_differentiable

    def shape(self, i: int) -> Shape:
        """The shape of an array, components of its elements included."""
        found = self.shapes[i]
        assert found is not None
        return found

    def array_type(self, i: int) -> Array:
        """The type of an array parameter."""
        t = self.kernel.params[i][1]
        assert isinstance(t, Array)
        return t

    def tangent(self, active: Sequence[int]) -> Subject:
        """The launch of the tangent kernel. `active` are the operands with tangents."""
        moving = [i for i in range(len(self.roles)) if i in active or i in self.moving]
        kernel = self.kernel.derive(Tangent(tuple(i in moving for i in range(len(self.roles)))))
        return self._replace(
            kernel=kernel,
            roles=(*self.roles, *(self.roles[i] for i in moving)),
            shapes=(*self.shapes, *(self.shapes[i] for i in moving)),
            order=self.order + 1,
        )

    def with_needed(self, given: Sequence[int]) -> tuple[int, ...]:
        """The operands that have tangents, and those whose tangents the tangent kernel needs in any case."""
        needed = tangent_facts(self.kernel).needed
        return tuple(i for i in self.taken if i in given or (needed[i] and self.is_active(i)))

    def check_differentiable(self) -> None:
        """Raise TypeError if gradients are switched off."""
        if not self.backward:
            raise TypeError(
                f"{self.name} is differentiated, but has no gradient, as its jax_kernel or its kernel was made "
                "with enable_backward=False: leave that out, or pass the arguments through jax.lax.stop_gradient"
            )
