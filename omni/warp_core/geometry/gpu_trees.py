"""Trees over the faces of a mesh, and over boxes, on GPUs. lbvh.py builds them."""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from collections.abc import Iterable
from typing import Any

from .. import config, max, min, tid, vec3
from ..arrays.array import array, array1d
from ..arrays.factories import empty, full
from ..dispatch import capture, observers
from ..lang.kernel import kernel
from ..lang.values.scalars import int32
from ..launches.launch import launch
from ..lib.geometry.mesh_groups import NO_START
from .lbvh import Lbvh
from .lbvh_kernels import bvh_mark_roots
from .mesh_checks import find_wrong, refuse
from .moments import fit_moments, room_for_moments

_OPTIONS: dict[str, Any] = {"enable_backward": False, "module_options": {"mode": "release"}}


@kernel(**_OPTIONS)
def mesh_find_boxes(
    points: array1d(dtype=vec3), indices: array1d(dtype=int32), lowers: array1d(dtype=vec3), uppers: array1d(dtype=vec3)
):
    """Find the boxes of faces. One with an index that is out of range stays as it is."""
    i = tid()
    a, b, c = indices[3 * i], indices[3 * i + 1], indices[3 * i + 2]
    if min(min(a, b), c) >= 0 and max(max(a, b), c) < points.shape[0]:
        lowers[i] = min(min(points[a], points[b]), points[c])
        uppers[i] = max(max(points[a], points[b]), points[c])


class GpuTriangleBvh:
    """The hierarchy over the faces of a mesh on a GPU.

    Attributes:
        nodes: of `BvhNode`, in the order of a depth-first walk.
        order: the faces in the order of leaves.
        groups: the different groups of faces in ascending order, or None.
        roots: the node above all faces of each group, or None.
        starts: for each node, `NO_START` unless it is the root of a group; or None without groups.
        slots: None, as node n has the moments n.
        moments: those of nodes, or None.
    """

    def __init__(self, points: array, indices: array, groups: array | None, leaf_size: int, has_moments: bool):
        """Build the tree of at least one face. Points and indices are good."""
        with observers.NotRecording():
            self._bvh = bvh = Lbvh(*_boxes(points, indices), leaf_size, groups)
            bvh.trim()
            self.starts = None
            if bvh.roots is not None:
                self.starts = full(bvh.nodes.size, NO_START, dtype=int32, device=points.device)
                launch(bvh_mark_roots, bvh.roots.size, [bvh.roots, self.starts], device=points.device)
            self.slots = None
            self.moments = room_for_moments(bvh.nodes) if has_moments else None
            if has_moments:
                self._fit(points, indices, empty(0, dtype=int32, device=points.device))
        self.nodes, self.order, self.groups, self.roots = bvh.nodes, bvh.order, bvh.groups, bvh.roots

    @property
    def places(self) -> dict[str, tuple[int, int]]:
        """Where its arrays are, by name: the address and the number of elements."""
        return _places(self, "nodes", "order", "groups", "roots", "starts", "moments")

    def arrays(self) -> Iterable[array]:
        """Return all its arrays."""
        return (getattr(self, name) for name in self.places)

    @property
    def boxes(self) -> dict[str, array]:
        """The arrays that a refit writes."""
        return {"nodes": self.nodes} | ({} if self.moments is None else {"moments": self.moments})

    def refit(self, points: array, indices: array) -> None:
        """Fit the boxes to points that have moved. The tree stays.

        Nothing changes if a point is not finite or an index is out of range. An error tells it, unless a graph captures
        this: there launches of the graph raise in debug mode.

        Raises:
            ValueError: see above.
        """
        wrong = find_wrong(points, indices)
        with observers.NotRecording():
            self._fit(points, indices, wrong)
        captured = capture.gpu()
        if captured is None:
            refuse(wrong, points, indices)
        elif config.mode == "debug":
            captured.checks.append(lambda: refuse(wrong, points, indices))

    def _fit(self, points: array, indices: array, wrong: array) -> None:
        pyramid = self._bvh.fit(*_boxes(points, indices), wrong)
        if self.moments is not None:
            fit_moments(self._bvh, pyramid, points, indices, wrong, self.moments)


class GpuBoxBvh:
    """The hierarchy over boxes on a GPU.

    Attributes:
        nodes: of `BvhNode`, in the order of a depth-first walk, and room for as many as there may be.
        order: the boxes in the order of leaves.
        groups: the different groups of boxes in ascending order, or None.
        roots: the node above all boxes of each group, or None.
    """

    def __init__(self, lowers: array, uppers: array, groups: array | None, leaf_size: int):
        self._bvh = bvh = Lbvh(lowers, uppers, leaf_size, groups)
        self.nodes, self.order, self.groups, self.roots = bvh.nodes, bvh.order, bvh.groups, bvh.roots

    @property
    def places(self) -> dict[str, tuple[int, int]]:
        """Where its arrays are, by name: the address and the number of elements."""
        return _places(self, "nodes", "order", "groups", "roots")

    def arrays(self) -> Iterable[array]:
        """Return all its arrays."""
        return (getattr(self, name) for name in self.places)

    def refit(self, lowers: array, uppers: array) -> None:
        """Fit the nodes to boxes that have moved. The tree stays. A graph can capture this."""
        self._bvh.fit(lowers, uppers)

    def rebuild(self, lowers: array, uppers: array, fast: bool) -> None:
        """Build the tree again, in the same memory. A graph can capture this."""
        self._bvh.build(lowers, uppers)


def _places(tree: Any, *names: str) -> dict[str, tuple[int, int]]:
    found = {name: getattr(tree, name) for name in names}
    return {name: (a.ptr, a.size) for name, a in found.items() if a is not None}


def _boxes(points: array, indices: array) -> tuple[array, array]:
    """Return the lower and the upper corners of the boxes of faces."""
    count = indices.size // 3
    lowers, uppers = (empty(count, dtype=vec3, device=points.device) for _ in range(2))
    launch(mesh_find_boxes, count, [points, indices, lowers, uppers], device=points.device)
    return lowers, uppers
