"""Array access, temporary memory and launches that all algorithms on GPUs share."""

from __future__ import annotations

from typing import Any

from ...arrays.array import array
from ...arrays.dtypes import element
from ...lang.kernel import Kernel
from ...lang.types import F32, F64, Scalar
from ...launches.launch import launch
from ..argument_checks import components, scalar_of

BLOCK = 256  # threads
OPTIONS: dict[str, Any] = {"enable_backward": False, "module_options": {"mode": "release"}}  # of all kernels here


def numbers(a: array, count: int | None = None, kind: Any = None) -> array:
    """The first `count` components of the elements of a contiguous array, in C order: a view of one dimension. With
    `kind` elements of that type in their place.
    """
    found = element(scalar_of(a) if kind is None else kind)
    size = a.size * components(a) if count is None else count
    view = array.__new__(array)
    view._init(found, a._address, (size,), (found.type.size,), a.owner, a.flags, a.device)
    return view


def temporary(like: array, size: int, t: Any) -> array:
    """Memory for `size` elements of a type, where `like` is; it goes back to the pool in the order of streams."""
    return array._empty(element(t), (size,), like.device)


def sums_of(t: Scalar) -> Scalar:
    """Return the type in which numbers are added: float64 for floats; integers wrap."""
    return F64 if t in (F32, F64) else t


def run(kernel: Kernel, blocks: int, args: list, like: array, block_dim: int = BLOCK) -> None:
    """Launch so many blocks."""
    launch(kernel, blocks * block_dim, args, device=like.device, block_dim=block_dim)


def each(kernel: Kernel, threads: int, args: list, like: array) -> None:
    """Launch so many threads."""
    launch(kernel, threads, args, device=like.device)
