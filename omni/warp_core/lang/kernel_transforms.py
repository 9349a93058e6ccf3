"""Transforms: what compile requests derive from a kernel, besides its adjoint.

`Kernel.derive` gives the kernel that a transform leads to. It is launched like any other, and `compiler` applies the
transform to the IR of the kernel that it is derived from.
"""

# No annotations as strings here: the reader of facts would compile them in every process.
from collections.abc import Sequence
from inspect import Parameter
from typing import NamedTuple

from .types import Array, Type

Parameters = Sequence[tuple[Parameter, Type]]


class Tangent(NamedTuple):
    """The transform to a kernel that also computes tangents.

    The tangents of the `active` parameters follow the parameters.
    """

    active: tuple[bool, ...]

    def parameters(self, given: Parameters) -> Parameters:
        """Return the parameters after the transform."""
        moved = [(p.replace(name=f"{p.name}_tangent"), t) for (p, t), active in zip(given, self.active) if active]
        return [(p.replace(default=p.empty), t) for p, t in (*given, *moved)]

    def subject(self, of: str) -> str:
        """Return the name in error messages, from that of the kernel before the transform."""
        return f"the tangent of {of}"


class Augmented(NamedTuple):
    """The transform to a kernel that stores the results of its atomics, which its adjoint reads.

    Arrays of the types `stored` follow the parameters.
    """

    stored: tuple[Type, ...]

    def parameters(self, given: Parameters) -> Parameters:
        """Return the parameters after the transform."""
        last, _ = given[-1]
        return [*given, *((last.replace(name=f"found{i}", default=last.empty), t) for i, t in enumerate(self.stored))]

    def subject(self, of: str) -> str:
        """Return the name in error messages: the user knows the kernel only."""
        return of


class Lookup(NamedTuple):
    """Arrays of a structure, such as the points of a mesh, that a kernel finds by the id.

    Attributes:
        param: the number of the parameter that is the id.
        arrays: the attributes of the structure that are the arrays, each with its type.
        needs_arrays: whether the kernel must get them as arguments though none of them has a derivative.
    """

    param: int
    arrays: tuple[tuple[str, Array], ...]
    needs_arrays: bool


class StructureArrays(NamedTuple):
    """The transform to a kernel that gets arrays of structures as arguments, so that these have derivatives.

    The arrays of each lookup follow the parameters.
    """

    lookups: tuple[Lookup, ...]

    def parameters(self, given: Parameters) -> Parameters:
        """Return the parameters after the transform."""
        last, _ = given[-1]
        added = [(f"{given[found.param][0].name}_{name}", t) for found in self.lookups for name, t in found.arrays]
        return [*given, *((last.replace(name=name, default=last.empty), t) for name, t in added)]

    def subject(self, of: str) -> str:
        """Return the name in error messages: the user knows the kernel only."""
        return of


class ScalarArrays(NamedTuple):
    """The transform to a kernel that reads the values of some parameters from arrays of one element, so that they may
    be known late, and have derivatives.

    Arrays take the place of the parameters with the numbers `params`, which are scalars, vectors or matrices.
    """

    params: tuple[int, ...]

    def parameters(self, given: Parameters) -> Parameters:
        """Return the parameters after the transform."""
        return [
            (p.replace(default=p.empty), Array(t, 1)) if i in self.params else (p, t) for i, (p, t) in enumerate(given)
        ]

    def subject(self, of: str) -> str:
        """Return the name in error messages: the user knows the kernel only."""
        return of


Transform = Tangent | Augmented | StructureArrays | ScalarArrays


def subject_after(transforms: Sequence[Transform], kernel: str) -> str:
    """Return the name of a derived kernel in error messages, from that of the kernel."""
    for transform in transforms:
        kernel = transform.subject(kernel)
    return kernel
