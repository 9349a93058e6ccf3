"""Lookup in meshes: a tree over the boxes of cells, and the nearest point of a cell (nearest_points.py).

Start with `find_cell_of_mesh`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined,type-var"

from collections.abc import Callable
from typing import Any

from ... import abs, dot, func_grad, max, min, sqrt, tid, vec3, where, zeros
from ...arrays.array import array, array1d, array2d
from ...arrays.factories import empty
from ...devices.device import Device
from ...dispatch import observers
from ...geometry.cpu_trees import BoxBvh
from ...geometry.gpu_trees import GpuBoxBvh
from ...lang.kernel import Function, func, kernel
from ...lang.types import F32, F64, Scalar
from ...lang.values.scalars import float64, int32
from ...lang.values.value_classes import vec3f
from ...launches.launch import launch
from ...lib.geometry.bvh_nodes import DEPTH, BvhNode, boxes_overlap, distance_sq, subtree_end
from ..kernel_records import matrix_type, scalar_class, vector_type
from .lookup import OUTSIDE, counts, padded
from .nearest_points import INFINITE, Faces, away_from, inside_of, refined, search_in, step_at

_MORE = 1.0e-6  # covers rounding to float32
_LEAF = 1  # cells


@func
def corner_of(x: Any):
    """A position as the tree has it: three coordinates in float32."""
    found = vec3()
    for k in range(len(x)):
        found[k] = float(x[k])
    return found


@func
def margin_of(x: vec3):
    """How far rounding to float32 may have moved a position."""
    return _MORE * (abs(x[0]) + abs(x[1]) + abs(x[2]))


@func
def is_at(g: Any, cell: int, coords: Any, x: Any):
    """True if coordinates of a cell are those of a position, but for rounding."""
    away, near = away_from(g, cell, coords, x), type(g.tolerance)(4.0) * g.tolerance * (sqrt(dot(x, x)) + g.cell_size)
    return dot(away, away) <= near * near


@func
def next_around(g: Any, start: int, end: int, lower: vec3, upper: vec3):
    """The next leaf of the tree whose box has a position: its cell, -1 for none, and the node behind it."""
    cell, number = -1, start
    while number < end and cell < 0:
        node = g.tree[number]
        is_there = boxes_overlap(node.lower, node.upper, lower, upper)
        number = where(is_there or node.count > 0, number + 1, -node.count)
        if is_there and node.count > 0:
            cell = g.order[node.child]
    return cell, number


@func
def cell_around(g: Any, x: Any, filter: Any, target: Any, environment: int):
    """A cell that has a position, -1 for none, and the coordinates there. Each round walks to a leaf, then looks into
    its cell: so positions that share the lanes of a processor do the same at the same time.
    """
    point, cell, coords = corner_of(x), -1, g.starts[0]
    lower, upper = point - vec3(margin_of(point)), point + vec3(margin_of(point))
    end, number = subtree_end(g.tree[0], 0), 0
    while number < end:
        index, number = next_around(g, number, end, lower, upper)
        if index >= 0 and counts(g, index, filter, target, environment):
            found, is_inside = inside_of(g, index, x)
            if is_inside and is_at(g, index, found, x):
                cell, coords, number = index, found, end
    return cell, coords


@func
def nearest_cell(g: Any, x: Any, filter: Any, target: Any, environment: int):
    """The cell with the nearest point, the coordinates of this, and the matrix of a step there. The nearer of two boxes
    comes first, and the other one waits on a stack.
    """
    point, cell = corner_of(x), -1
    coords, step = g.starts[0], g.bases[0]
    stack, distances = zeros(DEPTH, dtype=int), zeros(DEPTH, dtype=float64)
    best, limit, margin = type(g.tolerance)(INFINITE), float64(INFINITE), float64(margin_of(point))
    number, depth = 0, 0
    while number >= 0:
        node, following = g.tree[number], -1
        if node.count < 0:
            left, right = distance_sq(g.tree[number + 1], point), distance_sq(g.tree[node.child], point)
            if max(left, right) <= limit:
                stack[depth], distances[depth] = where(left <= right, node.child, number + 1), max(left, right)
                depth += 1
            if min(left, right) <= limit:
                following = where(left <= right, number + 1, node.child)
        else:
            index = g.order[node.child]
            if counts(g, index, filter, target, environment):
                other, other_step = search_in(g, index, x)
                away = away_from(g, index, other, x)
                if dot(away, away) < best:
                    best, cell, coords, step = dot(away, away), index, other, other_step
                    reach = margin + (1.0 + _MORE) * sqrt(float64(best))
                    limit = reach * reach
        while depth > 0 and following < 0:
            depth -= 1
            following = where(distances[depth] <= limit, stack[depth], -1)
        number = following
    return cell, coords, step


@func
def search_cell(g: Any, x: Any, guess: int, filter: Any, target: Any, environment: int):
    """The cell with the nearest point, the coordinates of this, and the matrix of a step there. Most positions are in
    a cell, perhaps in a given one.
    """
    cell, coords, step = -1, g.starts[0], g.bases[0]
    if guess >= 0 and counts(g, guess, filter, target, environment):
        found, is_inside = inside_of(g, guess, x)
        if is_inside and is_at(g, guess, found, x):
            cell, coords = guess, found
    if cell < 0:
        cell, coords = cell_around(g, x, filter, target, environment)
    if cell < 0:
        cell, coords, step = nearest_cell(g, x, filter, target, environment)
    else:
        step = step_at(g, cell, coords)
    return cell, coords, step


@func_grad(search_cell)
def no_gradient(
    g: Any,
    x: Any,
    guess: int,
    filter: Any,
    target: Any,
    environment: int,
    found: int,
    found_coords: Any,
    found_step: Any,
):
    """None: `refined` has it."""


@func
def find_cell_of_mesh(g: Any, x: Any, guess: int, max_dist: Any, filter: Any, target: Any, environment: int):
    """The cell with the nearest point, however far it is away, and the coordinates of this."""
    cell, coords, step = search_cell(g, x, guess, filter, target, environment)
    found = padded(coords)
    if cell >= 0:
        found = padded(refined(g, cell, coords, step, x))
    else:
        found = type(found)(found.dtype(OUTSIDE))
    return cell, found


MESH_LOOKUPS: dict[str, Function] = {"find_cell": find_cell_of_mesh}
TREE_FIELDS: dict[str, Any] = {"tree": array(dtype=BvhNode), "order": array(dtype=int32)}
_TOLERANCES = {F32: 1e-6, F64: 1e-13}


def search_fields(dimension: int, scalar: Scalar) -> dict[str, Any]:
    """The fields of a record that searches in cells read, of cells of a dimension."""
    return {
        "starts": array(dtype=vector_type(dimension, scalar)),  # see `search_faces`
        "bases": array(dtype=matrix_type(dimension, dimension, scalar)),
        "tolerance": scalar_class(scalar),  # of coordinates
        "cell_size": scalar_class(scalar),  # of the largest cell
    }


def search_tables(faces: Faces, scalar: Scalar, device: Device) -> tuple[Any, ...]:
    """The values of these fields, but for the size of cells."""
    n = faces[0].shape[1]
    types = vector_type(n, scalar), matrix_type(n, n, scalar)
    return *(array(a, dtype=t, device=device) for a, t in zip(faces, types)), _TOLERANCES[scalar]


@kernel
def write_boxes(
    positions: array1d(dtype=Any),
    vertices: array2d(dtype=int),
    lowers: array1d(dtype=vec3),
    uppers: array1d(dtype=vec3),
):
    """Write the box of each cell."""
    cell = tid()
    lower = corner_of(positions[vertices[0, cell]])
    upper = lower
    for v in range(1, vertices.shape[0]):
        corner = corner_of(positions[vertices[v, cell]])
        lower, upper = min(lower, corner), max(upper, corner)
    margin = vec3(max(margin_of(lower), margin_of(upper)))
    lowers[cell] = lower - margin
    uppers[cell] = upper + margin


class CellTree:
    """A tree over the boxes of cells.

    Args:
        count: Number of cells.
        write: Writes the lowest and the highest corner of the box of each cell.
        device: Where they are.
    """

    def __init__(self, count: int, write: Callable[[array, array], None], device: Device):
        self._lowers, self._uppers = (empty(count, dtype=vec3f, device=device) for _ in range(2))
        self._write = write
        write(self._lowers, self._uppers)
        boxes = self._lowers, self._uppers, None, _LEAF
        self._tree = GpuBoxBvh(*boxes) if device.is_cuda else BoxBvh(*boxes, False)

    @property
    def nodes(self) -> array:
        """The nodes of the tree."""
        return self._tree.nodes

    @property
    def order(self) -> array:
        """The cells in the order of leaves."""
        return self._tree.order

    def update(self) -> None:
        """Fit the tree to cells that were moved."""
        self._write(self._lowers, self._uppers)
        self._tree.refit(self._lowers, self._uppers)


class SearchedCells:
    """What geometries have whose positions are looked up in a tree over cells."""

    _tree: CellTree | None = None

    def _make_tree(self) -> CellTree:
        raise NotImplementedError

    @property
    def tree(self) -> CellTree | None:
        """The tree over cells; None before there is one."""
        return self._tree

    @property
    def _tree_arrays(self) -> tuple[array, ...]:
        """The values of `TREE_FIELDS`; none without a tree."""
        return () if self._tree is None else (self._tree.nodes, self._tree.order)

    def build_bvh(self, device: Any = None) -> None:
        """Build the tree over cells that `fem.lookup` needs.

        Args:
            device: Without effect: it is where the geometry is.
        """
        self._tree = self._make_tree()

    def update_bvh(self, device: Any = None) -> None:
        """Fit the tree to cells that were moved.

        Args:
            device: Without effect: it is where the geometry is.
        """
        if self._tree is None:
            self.build_bvh()
        else:
            self._tree.update()


def tree_of_mesh(positions: array, vertices: array, device: Device) -> CellTree:
    """Make the tree over the cells of a mesh.

    Args:
        positions: The positions of vertices.
        vertices: The vertices of cells: vertex of a cell x cell.
        device: Where they are.
    """

    def write(lowers: array, uppers: array) -> None:
        with observers.NotRecording():
            launch(write_boxes, lowers.size, [positions, vertices, lowers, uppers], device=device)

    return CellTree(vertices.shape[1], write, device)
