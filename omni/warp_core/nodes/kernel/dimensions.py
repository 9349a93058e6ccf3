"""The number of threads of a launch: what `inputs:dimSource` says, or what follows from the kernel's own indices.

Start with `launch_dims`. `rank_of` gives the number of dimensions before there are values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..graph.node_graph import GraphError
from ..values.attribute_types import AttributeType
from .kernel_source import KernelUse, Name
from .node_values import Attributes, NodeValues

UNSET = -1  # the value of dim1 to dim4 where nothing set them
_MOST = 4
_SETTINGS = tuple(f"dim{i + 1}" for i in range(_MOST))


def rank_of(values: NodeValues, use: KernelUse) -> int:
    """The number of dimensions of the launch of a kernel. Raises GraphError."""
    source = _source(values)
    if source == "explicit":
        return _count(values)
    if source == "auto":
        return use.threads or 1
    names = _named(source, values.attributes)
    if len(names) > 1:
        return 1 if use.threads == 1 else len(names)
    kind = values.attributes.inputs[names[0]]
    dims = values.attributes.inputs.get(f"{names[0]}_dims")
    return kind.count if not kind.is_array else dims.count if dims else 1


def launch_dims(values: NodeValues, use: KernelUse) -> tuple[int, ...]:
    """The launch dimensions of a kernel. Raises GraphError with the attributes that can say them."""
    source = _source(values)
    if source == "explicit":
        return _explicit(values)
    if source == "auto":
        return _inferred(values, use)
    names = _named(source, values.attributes)
    if len(names) == 1:
        return _shape(values, names[0])
    dims = tuple(len(values.value(name)) for name in names)
    return (math.prod(dims),) if use.threads == 1 else dims


def _source(values: NodeValues) -> str:
    source = values.value("dimSource").strip()
    if source not in ("", "auto"):
        return source
    is_set = values.value("dimCount") != 1 or any(values.value(name) != UNSET for name in _SETTINGS)
    return "explicit" if is_set else "auto"


def _count(values: NodeValues) -> int:
    count = values.value("dimCount")
    if not 1 <= count <= _MOST:
        raise GraphError(f"inputs:dimCount is {count}; a launch has 1 to {_MOST} dimensions")
    return count


def _explicit(values: NodeValues) -> tuple[int, ...]:
    names = _SETTINGS[: _count(values)]
    dims = [values.value(name) for name in names]
    if UNSET in dims:
        name = names[dims.index(UNSET)]
        raise GraphError(f"inputs:{name} is not set; a launch with {len(dims)} dimensions needs {_listed(names)}")
    for name, n in zip(names, dims, strict=True):
        if n < 0:
            raise GraphError(f"inputs:{name} is {n}; set the number of threads, or leave it out ({UNSET})")
    return tuple(dims)


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(f"inputs:{name}" for name in names)


def _named(source: str, attributes: Attributes) -> list[str]:
    """The inputs that `inputs:dimSource` names: one, or arrays with `*` between them. Raises GraphError."""
    names = [part.strip().replace(":", "_") for part in source.split("*")]
    fits = [n for n, kind in attributes.inputs.items() if kind.is_array or (len(names) == 1 and _is_extent(kind))]
    wrong = [name for name in names if name not in fits]
    if wrong:
        raise GraphError(
            f"inputs:dimSource is {source!r}, which is not an input array of this node; "
            f"use 'auto', 'explicit' or one of: {', '.join(fits) or 'none'}"
        )
    if len(names) > _MOST:
        raise GraphError(f"inputs:dimSource names {len(names)} arrays; a launch has 1 to {_MOST} dimensions")
    return names


def _is_extent(kind: AttributeType) -> bool:
    """True for an int, int2, int3 or int4, whose value can be the dimensions of a launch."""
    return kind.base == "int" and not kind.is_array


def _shape(values: NodeValues, name: str) -> tuple[int, ...]:
    """The dimensions that one input gives: its shape if it is an array, else its value."""
    if values.attributes.inputs[name].is_array:
        dims = values.companion(name, "dims")
        return (len(values.value(name)),) if dims is None else extents(f"{name}:dims", dims)
    return extents(name, values.value(name))


def extents(name: str, value: int | np.ndarray) -> tuple[int, ...]:
    """The value of the input `name`, an int, int2, int3 or int4, as dimensions. A negative one raises GraphError."""
    found = tuple(np.asarray(value).reshape(-1).tolist())
    if min(found, default=0) < 0:
        told = found[0] if len(found) == 1 else found
        raise GraphError(f"inputs:{name} is {told}; the extent of a dimension is at least 0")
    return found


# -- what follows from the kernel -------------------------------------------------------------------------------------


def _inferred(values: NodeValues, use: KernelUse) -> tuple[int, ...]:
    """Dimensions from the arrays that the kernel indexes by its thread indices; one thread if it has no such index.

    Empty arrays to which nothing is connected do not count, as they may be optional.
    """
    if use.threads == 0:
        return (1,)
    dims = []
    for d in range(use.threads or 1):
        indexed = dict(_indexed(values, use, d))
        # an output with a length of its own decides only where no input does
        found = {name: n for name, n in indexed.items() if not _has_length(values, name)} or indexed
        found = found or (_lengths(values, use) if use.threads in (1, None) else {})
        filled = {name: n for name, n in found.items() if n or values.has_source(name)}
        if found and not filled:
            raise GraphError(_without_elements(values, next(iter(found))))
        if len(set(filled.values())) != 1:
            raise GraphError(_unknown(values, use, filled))
        dims.append(next(iter(filled.values())))
    return tuple(dims)


def _has_length(values: NodeValues, name: str) -> bool:
    """True if `inputs:NAME:length` or `:dims` gives an output or persistent array its size."""
    attributes = values.attributes
    is_ours = name in attributes.outputs or name in attributes.states
    return is_ours and (values.companion(name, "length") is not None or values.companion(name, "dims") is not None)


def _without_elements(values: NodeValues, name: str) -> str:
    """Return the error for an array without elements that should give the number of threads."""
    dims, count = values.companion(name, "dims"), len(values.value(name))
    if dims is None or not count:
        return empty_input(name)
    shown = tuple(np.asarray(dims).reshape(-1).tolist())
    return f"inputs:{name}:dims = {shown} leaves nothing of the {count} elements; its sizes must have that product"


def empty_input(name: str) -> str:
    """Return the error for an input array without elements where some are needed."""
    return (
        f"inputs:{name} is empty and nothing is connected to it; connect it, give it a value, or let the kernel do "
        f"without: custom bool inputs:{name}:optional = true"
    )


def beyond_end(kernel: str, array: str, extent: int, threads: int) -> str:
    """Return the error for a kernel whose threads index an array behind its end."""
    return (
        f"kernel `{kernel}` runs {threads} threads, and each uses the element of `{array}` at its own index, but "
        f"`{array}` has {extent}; run at most {extent} threads (inputs:dim1, inputs:dimSource), or compare the index "
        f"in the kernel: if i >= {array}.shape[0]: return"
    )


def _indexed(values: NodeValues, use: KernelUse, dimension: int) -> Iterator[tuple[str, int]]:
    """Yield the arrays with the thread index of one dimension, each with the extent that the index runs over."""
    for array, position, index in use.indexed:
        if index == dimension:
            extent = _extent(values, array, position, use.ranks.get(array, 1))
            if extent is not None:
                yield array[1], extent


def _extent(values: NodeValues, array: Name, position: int, rank: int) -> int | None:
    """The extent of one dimension of an array, None if only the launch can say it."""
    name = array[1]
    dims = values.companion(name, "dims")
    if dims is not None:
        shape = extents(f"{name}:dims", dims)
        return shape[position] if position < len(shape) else None
    length = values.companion(name, "length")
    if rank != 1:
        return None
    if _has_length(values, name):
        if isinstance(length, int):
            return max(0, length)
        if length in values.attributes.arrays:
            return len(values.value(length))
    kind, target = values.attributes.inputs.get(name), values.attributes.outputs.get(name)
    if target is not None and not target.is_array:
        return 1
    if array[0] != "outputs" and kind is not None and kind.is_array:
        return len(values.value(name))
    held = values.value(name, "state") if name in values.attributes.states and kind is None else ()
    return len(held) or None if isinstance(held, np.ndarray) else None


def _lengths(values: NodeValues, use: KernelUse) -> dict[str, int]:
    """The lengths of all input arrays with one dimension that the kernel mentions."""
    names = {name for port, name in use.mentioned if port != "outputs" and use.ranks.get((port, name), 1) == 1}
    arrays = values.attributes.arrays
    return {name: len(values.value(name)) for name in arrays if name in names}


def _unknown(values: NodeValues, use: KernelUse, found: dict[str, int]) -> str:
    """Return the error for dimensions that do not follow from the kernel."""
    arrays = [
        a for a in values.attributes.arrays if "_" not in a or a.rpartition("_")[0] not in values.attributes.inputs
    ]
    names = " or ".join(f'"{name}"' for name in found or arrays)
    if found:
        why = "input arrays differ in length: " + ", ".join(f"{name} has {n}" for name, n in found.items())
    else:
        why = f"kernel `{use.name}` indexes no input array by its thread index"
    rank = use.threads or 1
    settings = f"inputs:dimCount = {rank} with {_listed(_SETTINGS[:rank])}" if rank > 1 else "inputs:dim1"
    what = f", or inputs:dimSource to {names}" if names and rank == 1 else ""
    return f"the number of threads is not known, because {why}; set {settings}{what}"
