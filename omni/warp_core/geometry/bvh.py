"""Trees over boxes, which kernels query. lib/geometry/bvh_queries.py has the queries.

Native code builds them on CPUs (cpu_trees.py), and kernels on GPUs (gpu_trees.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..algo.argument_checks import integer
from ..arrays.array import array
from ..devices.device import Device
from ..dispatch import capture, observers
from ..dispatch.operation import Operation, Write, execute
from ..eager.addressed_memory import register_arrays_of
from ..lang.annotations import Structure
from ..lang.types import F32, I32, Vec
from ..tape import structures
from .array_checks import check_array, is_fast
from .bvh_descriptor import BvhDescriptor
from .cpu_trees import BoxBvh
from .gpu_trees import GpuBoxBvh

__all__ = ["Bvh"]

_VEC3 = Vec(3, F32)
_MOST = 1 << 29  # boxes


class Bvh(Structure):
    """A bounding volume hierarchy: a tree over boxes, which kernels query by its id.

    The tree refers to the arrays and does not copy them. Call `refit` or `rebuild` after boxes were written in place.

    Args:
        lowers: the lower corners of the boxes, a contiguous array of vec3 of shape (n,). There may be none.
        uppers: the upper corners, likewise. A box with a coordinate that is NaN, or with a lower corner above the
            upper one, is empty: no query finds it.
        constructor: how the tree is built. "sah" makes queries fast: it is the default. "lbvh" builds several times
            faster, for trees that are built again in each frame; its queries are slower. "median" and "cubql" are for
            programs written for warp-lang, and build as "sah" does. GPUs build as "lbvh" does in any case.
        groups: None, or an array of int32 of shape (n,): the group of each box. The boxes of a group are the boxes
            below one node, which `wp.bvh_get_group_root` returns, so that a query can be restricted to them. The
            groups are read once, here.
        leaf_size: the most boxes of a leaf. One is right for most programs; more take less memory.

    Attributes:
        lowers, uppers, groups: the arrays that were given.
        device: where the arrays are.
        id: a uint64 for queries. It is valid for as long as this object exists: keep the object while kernels use the
            id. After that, a query with the id is a `KernelError`.

    Raises:
        TypeError: If an argument is not an array, or has elements of another type.
        ValueError: If a shape does not fit, an array has gaps or is on another device, the constructor is unknown, or
            `leaf_size` is below 1.
        RuntimeError: If a graph of a GPU is captured, and the arrays are on that GPU.

    The result of a query is the same for all constructors and leaf sizes, but for the order of the boxes. Queries have
    no derivative, and what a kernel computes of the boxes that it finds has one. A tape keeps the tree as it was at
    each launch.

    >>> @wp.kernel
    ... def count(bvh: wp.uint64, p: wp.array[wp.vec3], found: wp.array[int]):
    ...     i = wp.tid()
    ...     query = wp.bvh_query_aabb(bvh, p[i], p[i])
    ...     index = int(0)
    ...     while wp.bvh_query_next(query, index):
    ...         found[i] += 1
    >>> lowers = wp.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> uppers = wp.array([[2.0, 1.0, 1.0], [3.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu")
    >>> bvh = wp.Bvh(lowers, uppers)
    >>> p = wp.array([[0.5, 0.5, 0.5], [1.5, 0.5, 0.5], [9.0, 0.5, 0.5]], dtype=wp.vec3, device="cpu")
    >>> found = wp.zeros(3, dtype=int, device="cpu")
    >>> wp.launch(count, dim=3, inputs=[bvh.id, p, found], device="cpu")
    >>> found.list()
    [1, 2, 0]
    """

    _another = "make another one of its arrays, wp.Bvh(lowers, uppers)"

    def __init__(
        self,
        lowers: array,
        uppers: array,
        constructor: str | None = None,
        groups: array | None = None,
        leaf_size: int = 1,
    ):
        check_array("lowers", lowers, _VEC3)
        check_array("uppers", uppers, _VEC3)
        _check_like("uppers", uppers, lowers)
        if groups is not None:
            check_array("groups", groups, I32)
            _check_like("groups", groups, lowers)
        if lowers.size > _MOST:
            raise ValueError(f"lowers: {lowers.size} boxes are more than the limit of 2**29")
        if integer("leaf_size", leaf_size) < 1:
            raise ValueError(f"leaf_size: expected at least one box, got {leaf_size}")
        self._fast = is_fast("constructor", constructor)
        self._lowers, self._uppers, self._groups = lowers, uppers, groups
        self.device: Device = lowers.device
        self._descriptor = BvhDescriptor(self.device)
        self.id = self._descriptor.id
        if self.device.is_cuda:
            capture.refuse("making a wp.Bvh", self.device)
        self._tree: BoxBvh | GpuBoxBvh | None = None
        if lowers.size and self.device.is_cuda:
            self._tree = GpuBoxBvh(lowers, uppers, groups, int(leaf_size))
        elif lowers.size:
            self._tree = BoxBvh(lowers, uppers, groups, int(leaf_size), self._fast)
        where = {"lowers": lowers.ptr, "uppers": uppers.ptr}
        self._descriptor.write(lowers.size, self._tree, **where)
        register_arrays_of(self)

    @property
    def lowers(self) -> array:
        """The lower corners of the boxes."""
        return self._lowers

    @property
    def uppers(self) -> array:
        """The upper corners of the boxes."""
        return self._uppers

    @property
    def groups(self) -> array | None:
        """The groups of the boxes, or None."""
        return self._groups

    def refit(self) -> None:
        """Fit the tree to boxes that were written in place. A query before that may find old boxes or new ones.

        A graph can capture this. The tree stays as it is, so that queries of boxes that have moved far are faster after
        `rebuild`.

        >>> lowers = wp.array([[0.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
        >>> bvh = wp.Bvh(lowers, wp.array([[9.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu"))
        >>> lowers.assign([[5.0, 0.0, 0.0]])
        >>> bvh.refit()
        """
        if self._tree is not None:
            self._change("wp.Bvh.refit", self._tree.refit)

    def rebuild(self, constructor: str | None = None) -> None:
        """Build the tree again, of the boxes that are now in the arrays. The id stays.

        A graph can capture this. Nodes have other numbers afterwards: ask for the roots of groups again.

        Args:
            constructor: how, as for `wp.Bvh`; None is as the tree was built first.

        Raises:
            ValueError: If the constructor is unknown.

        >>> lowers = wp.array([[0.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
        >>> bvh = wp.Bvh(lowers, wp.array([[9.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu"))
        >>> lowers.assign([[5.0, 0.0, 0.0]])
        >>> bvh.rebuild("lbvh")
        """
        fast = self._fast if constructor is None else is_fast("constructor", constructor)
        if self._tree is not None:
            self._change("wp.Bvh.rebuild", self._tree.rebuild, fast)

    def _change(self, label: str, change: Callable[..., None], *more: Any) -> None:
        def run() -> None:
            structures.note_build(self._descriptor)
            change(self._lowers, self._uppers, *more)

        if not observers.observed:
            run()
            return
        written = {name: getattr(self._tree, name) for name in ("nodes", "order", "roots")}
        execute(
            Operation(
                label,
                writes={name: Write(a) for name, a in written.items() if a is not None},
                reads={"lowers": self._lowers, "uppers": self._uppers},
                run=run,
                vjp=lambda: lambda: None,  # boxes have no derivative
                jvp=[],
            )
        )

    def _addressed_arrays(self) -> Iterable[array]:
        """Return all arrays that its descriptor leads to."""
        return (self._lowers, self._uppers, *(() if self._tree is None else self._tree.arrays()))

    def _summary(self) -> str:
        return f"boxes={self.lowers.size}, device={self.device}"


def _check_like(name: str, a: array, lowers: array) -> None:
    if a.device is not lowers.device:
        raise ValueError(f"{name}: is on {a.device}, but lowers is on {lowers.device}")
    if a.size != lowers.size:
        raise ValueError(f"{name}: {a.size} of them, but there are {lowers.size} boxes")
