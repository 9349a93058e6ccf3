"""The number of elements of outputs and persistent arrays, and the shape in which a kernel sees an array.

`inputs:NAME:length` is a number, the name of an input array, or "kernel"; `inputs:NAME:dims` is a shape.
"""

from __future__ import annotations

import math

from ..graph.node_graph import GraphError
from .dimensions import extents
from .kernel_bindings import Binding
from .node_values import NodeValues

KERNEL = "kernel"  # the length that is one element for each thread


def count_of(values: NodeValues, binding: Binding, dims: tuple[int, ...], held: int = 0) -> int:
    """The number of elements of an output or persistent array. `held` is the length of the value in the scene.

    Raises:
        GraphError: If `inputs:NAME:length` names no input array.
    """
    name = binding.name
    shape, length = values.companion(name, "dims"), values.companion(name, "length")
    if shape is not None:
        return math.prod(extents(f"{name}:dims", shape))
    if isinstance(length, int):
        if length < 0:
            raise GraphError(f"inputs:{name}:length is {length}; a length is at least 0")
        return length
    if length not in (None, "", KERNEL):
        arrays = values.attributes.arrays
        if length not in arrays:
            known = ", ".join(arrays) or "none"
            raise GraphError(f'inputs:{name}:length is {length!r}; it must be a number, "{KERNEL}" or one of: {known}')
        return len(values.value(length))
    if length != KERNEL and binding.like:
        return len(values.value(binding.like))
    return held or math.prod(dims)


def view_shape(values: NodeValues, binding: Binding, count: int, dims: tuple[int, ...]) -> tuple[int, ...]:
    """The shape in which the kernel sees `count` elements. Raises GraphError where they do not fill it."""
    name, rank = binding.name, binding.rank
    given = values.companion(name, "dims")
    shape = extents(f"{name}:dims", given) if given is not None else (count,) if rank == 1 else dims
    if rank == 1:
        shape = (math.prod(shape),)
    if rank == len(shape) and math.prod(shape) == count:
        return shape
    where = f"the launch of {dims}" if given is None else f"inputs:{name}:dims = {shape}"
    hint = "" if given is not None else f"; add inputs:{name}:dims, an int{rank}, for another shape"
    raise GraphError(
        f"`{name}` has {rank} dimension{'s' * (rank != 1)} in the kernel; "
        f"its {count} elements do not fill {where}{hint}"
    )
