"""Moments of the nodes of a mesh on a GPU, with which winding numbers take far faces together.

lib/geometry/mesh_winding.py describes them. They come from a pyramid over the faces in the order of leaves, as the
boxes of nodes do: see lbvh.py.
"""

from __future__ import annotations

from itertools import pairwise

from ..arrays.array import array
from ..arrays.factories import empty, zeros
from ..launches.launch import launch
from ..lib.geometry.mesh_winding import MOMENTS, SLOTS
from . import moment_kernels as kernels
from .lbvh import Boxes, Lbvh


def room_for_moments(nodes: array) -> array:
    """Return memory for the moments of nodes, float32."""
    return zeros(-(-nodes.size // SLOTS) * SLOTS * MOMENTS, dtype=float, device=nodes.device)


def fit_moments(bvh: Lbvh, pyramid: Boxes, points: array, indices: array, wrong: array, moments: array) -> None:
    """Write the moments of all nodes. A graph can capture this.

    Args:
        bvh: the tree over the faces, whose boxes were fitted.
        pyramid: what the fit returned.
        points: vec3.
        indices: int32.
        wrong: int32, any number of them. If one is not `lbvh_kernels.GOOD`, all stays as it is.
        moments: what `room_for_moments` returned.
    """
    device, count = points.device, bvh.order.size
    least, most, ends = pyramid
    parts = empty(least.size, dtype=kernels.Moments, device=device)
    launch(kernels.mesh_find_face_moments, count, [points, indices, bvh.order, least, most, parts], device=device)
    for (begin, end), (_, behind) in pairwise(pairwise(ends)):
        launch(kernels.mesh_join_moments, behind - end, [begin, end, least, most, parts], device=device)
    given = [least, most, parts, count, bvh.places, wrong, bvh.nodes, moments]
    launch(kernels.mesh_fit_moments, bvh.nodes.size, given, device=device)
