"""Matrices from triplets: rows, columns and blocks in any order, those of one place summed in the order given.

Start with `bsr_set_from_triplets`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import Any

from .. import tid
from ..algo.argument_checks import require_elements
from ..arrays.array import array, array1d, array3d
from ..arrays.factories import clone, empty
from ..arrays.layouts import may_share_memory
from ..devices.device import get_device
from ..dispatch import observers
from ..lang.kernel import kernel
from ..lang.types import I32
from ..lang.values.scalars import bool as bool_type
from ..lang.values.scalars import int32
from ..lang.values.type_registry import wc_type
from ..launches.launch import launch
from .block_kernels import sum_blocks
from .grouping import Groups, group
from .matrix import BsrMatrix, block_numbers, block_type, new_matrix
from .matrix_checks import capacity as checked_capacity
from .matrix_checks import scalar_type, sizes
from .matrix_operands import destination
from .policies import install, policy
from .rows import SYMBOLIC

__all__ = ["BsrTripletMap", "bsr_from_triplets", "bsr_set_from_mapped_values", "bsr_set_from_triplets"]


class BsrTripletMap:
    """Where the blocks of triplets go in a matrix, so that new values need no sort.

    `bsr_set_from_triplets(..., build_mapping=True)` makes one, and `bsr_set_from_mapped_values` uses it. The rows of
    the matrix must not change meanwhile.

    Args:
        capacity: For how many triplets; it grows.
        device: Where it is.
    """

    def __init__(self, capacity: int = 0, device: Any = None):
        self._capacity = checked_capacity("capacity", capacity)
        self._device = None if device is None else get_device(device)
        self._dest: BsrMatrix | None = None
        self._rows: tuple[Any, ...] = ()
        self._count = 0

    @property
    def capacity(self) -> int:
        """For how many triplets it was made, or used."""
        return self._capacity

    @property
    def device(self) -> Any:
        """Where it is."""
        return self._dest.device if self._dest is not None else self._device

    def _bind(self, dest: BsrMatrix, groups: Groups, links: array) -> None:
        self._dest, self._groups, self._links = dest, groups, links
        self._rows = (dest.nrow, dest.ncol, dest.offsets, dest.columns)
        self._count = groups.pattern.nnz
        self._capacity = max(self._capacity, self._count)

    def validate(self, dest: BsrMatrix) -> None:
        """Raise ValueError unless a matrix has the sizes and arrays of the one that the map was built for.

        Args:
            dest: The matrix.
        """
        if self._dest is None:
            raise ValueError("The triplet map has not been built; pass it to bsr_set_from_triplets() first")
        now = (dest.nrow, dest.ncol, dest.offsets, dest.columns)
        if dest.row_counts is not None or any(a is not b and a != b for a, b in zip(now[:2], self._rows[:2])):
            raise ValueError("Destination BSR dimensions differ from those used to build the triplet map")
        if any(a is not b for a, b in zip(now[2:], self._rows[2:])):
            raise ValueError("Destination BSR topology storage differs from that used to build the triplet map")


def bsr_from_triplets(
    rows_of_blocks: int,
    cols_of_blocks: int,
    rows: array,
    columns: array,
    values: array,
    prune_numerical_zeros: bool = True,
) -> BsrMatrix:
    """Return the matrix of triplets. Triplets of one place are summed, those out of range are left out.

    Args:
        rows_of_blocks: Number of rows of blocks.
        cols_of_blocks: Number of columns of blocks.
        rows: The row of each block: int32.
        columns: The column of each block: int32.
        values: The blocks: an array of scalars or matrices, or of numbers with three dimensions (block, row, column).
        prune_numerical_zeros: Whether blocks of zeros are left out. Those whose sum is zero stay.

    Returns:
        A matrix whose `nnz` is the number of triplets, as nothing is read from the device; `nnz_sync()` makes it exact.

    Raises:
        TypeError: If rows or columns are not of int32.
        ValueError: If lengths or types do not fit.

    >>> rows, columns = wp.array([1, 0, 1], dtype=int), wp.array([0, 0, 0], dtype=int)
    >>> A = wp.sparse.bsr_from_triplets(2, 2, rows, columns, wp.array([1.0, 2.0, 3.0], dtype=float))
    >>> A.nnz_sync(), A.values.list()[:2]
    (2, [2.0, 4.0])
    """
    if not isinstance(values, array):
        raise TypeError(f"values: expected an array of blocks, got {type(values).__name__}")
    if values.ndim == 3:
        dtype = block_type(scalar_type("values", values.dtype), (values.shape[1], values.shape[2]))
    elif values.ndim == 1:
        dtype = values.dtype
    else:
        raise ValueError(f"Number of dimension for values array should be 1 or 3, got {values.ndim}")
    made = new_matrix(*sizes(rows_of_blocks, cols_of_blocks), dtype, values.device, 0)
    bsr_set_from_triplets(made, rows, columns, values, prune_numerical_zeros=prune_numerical_zeros)
    return made


def bsr_set_from_triplets(
    dest: BsrMatrix,
    rows: array,
    columns: array,
    values: array | None = None,
    count: array | None = None,
    prune_numerical_zeros: bool = True,
    topology: str | None = None,
    build_mapping: BsrTripletMap | bool | None = None,
) -> BsrTripletMap | None:
    """Give a matrix the blocks of triplets in place of its own.

    Args:
        dest: The matrix.
        rows: The row of each block: int32.
        columns: The column of each block: int32.
        values: The blocks, as for `bsr_from_triplets`. If left out, values are not set.
        count: How many triplets count: an array of one int32 on the device; all if left out.
        prune_numerical_zeros: Whether blocks of zeros are left out.
        topology: "compact" gives the matrix the places of the triplets. "masked" keeps its blocks and leaves out other
            triplets. "padded" fills its rows as far as they have room.
        build_mapping: True to return a map for later values, or a map to build anew.

    Returns:
        The map, if one was asked for.

    Raises:
        TypeError: If rows or columns are not of int32.
        ValueError: If lengths or types do not fit, or a map is asked for with zeros left out or another topology.
    """
    dest, chosen = destination(dest, "dest"), policy(topology)
    if not (build_mapping is None or isinstance(build_mapping, (bool, BsrTripletMap))):
        raise TypeError(f"build_mapping: expected True or a BsrTripletMap, got {type(build_mapping).__name__}")
    if count is not None:
        require_elements("count", count, I32)
    if build_mapping and prune_numerical_zeros:
        raise ValueError("build_mapping requires prune_numerical_zeros=False")
    if build_mapping and chosen != "compact":
        raise ValueError('build_mapping requires topology="compact"')
    _check_places(rows, columns)
    numbers = None if values is None else _checked_values(dest, values, rows.size)
    with observers.NotRecording():
        keep = _not_zero(numbers) if numbers is not None and prune_numerical_zeros else None
        groups = group((dest.nrow, dest.ncol), rows.flatten(), columns.flatten(), rows.size, count, keep)
        links = install(dest, groups.pattern, chosen, values is not None and values.requires_grad)
    if numbers is not None:
        _sum_up(dest, links, groups, numbers)
    if not build_mapping:
        return None
    mapping = build_mapping if isinstance(build_mapping, BsrTripletMap) else BsrTripletMap()
    mapping._bind(dest, groups, links)
    return mapping


def bsr_set_from_mapped_values(
    dest: BsrMatrix, mapping: BsrTripletMap, values: array, reduction: str = "gather"
) -> None:
    """Give a matrix new values by a map, without a sort.

    Args:
        dest: The matrix that the map was built for.
        mapping: The map.
        values: One block for each triplet, as for `bsr_from_triplets`.
        reduction: "gather" or "atomic". Both sum up the blocks of each place in the order given.

    Raises:
        ValueError: If the map was built for another matrix, or values do not fit.
    """
    if reduction not in ("gather", "atomic"):
        raise ValueError(f"Unsupported mapped reduction {reduction!r}, expected 'gather' or 'atomic'")
    if not isinstance(mapping, BsrTripletMap):
        remedy = "bsr_set_from_triplets(..., build_mapping=True) returns one"
        raise TypeError(f"mapping: expected a BsrTripletMap, got {type(mapping).__name__}; {remedy}")
    mapping.validate(destination(dest, "dest"))
    numbers = _checked_values(dest, values, mapping._count)
    if values.requires_grad and not dest.values.requires_grad:
        dest.values.requires_grad = True
    _sum_up(dest, mapping._links, mapping._groups, numbers)


def _sum_up(dest: BsrMatrix, links: array, groups: Groups, numbers: array) -> None:
    shape, number = dest.block_shape, min(dest.nnz, links.size)
    inputs = [links, groups.starts, groups.order, numbers, block_numbers(dest.values, shape)]
    launch(sum_blocks, (number, *shape), inputs, device=dest.device)


def _check_places(rows: Any, columns: Any) -> None:
    if not (isinstance(rows, array) and isinstance(columns, array) and rows.dtype is columns.dtype is int32):
        names = [a.dtype.__name__ if isinstance(a, array) else type(a).__name__ for a in (rows, columns)]
        remedy = "write wp.array(rows, dtype=int) and wp.array(columns, dtype=int)"
        raise TypeError(f"Rows and columns arrays must be of type int32, got {' and '.join(names)}; {remedy}")
    if rows.size != columns.size:
        raise ValueError(f"Rows and columns arrays must have the same length, got {rows.size} and {columns.size}")


def _checked_values(dest: BsrMatrix, values: array, number: int) -> array:
    """The numbers of values, which must be blocks of the matrix: block, row, column. They survive writes to it."""
    if not isinstance(values, array):
        raise TypeError(f"values: expected an array of blocks, got {type(values).__name__}")
    if values.shape[0] != number:
        raise ValueError(f"values: expected {number} blocks, one for each triplet, got {values.shape[0]}")
    if not values.is_contiguous:
        raise ValueError("Values array must be contiguous")
    if may_share_memory(values, dest.values):
        values = clone(values)
    shape, name = dest.block_shape, values.dtype.__name__
    if values.ndim == 3:
        if values.shape[1:] != shape:
            raise ValueError(
                f"Last two dimensions in values array ({values.shape[1:]}) should correspond to matrix block shape "
                f"({shape})"
            )
        if wc_type(values.dtype) is not wc_type(dest.scalar_type):
            raise ValueError(
                f"Scalar type of values array ({name}) should correspond to that of matrix "
                f"({dest.scalar_type.__name__})"
            )
        return values
    if values.ndim != 1:
        raise ValueError(f"Number of dimension for values array should be 1 or 3, got {values.ndim}")
    if wc_type(values.dtype) is not wc_type(dest.dtype):
        raise ValueError(
            f"Values array type must correspond to that of the dest matrix, got {name} and {dest.dtype.__name__}"
        )
    return block_numbers(values, shape)


def _not_zero(numbers: array) -> array:
    keep = empty(numbers.shape[0], dtype=bool_type, device=numbers.device)
    launch(find_values, numbers.shape[0], [numbers, keep], device=numbers.device)
    return keep


@kernel(**SYMBOLIC)
def find_values(values: array3d(dtype=Any), keep: array1d(dtype=bool_type)):
    """Find the blocks that have a number besides zero."""
    block = tid()
    has_value = False
    for i in range(values.shape[1]):
        for j in range(values.shape[2]):
            has_value = has_value or values[block, i, j] != values.dtype(0)
    keep[block] = has_value
