"""Copies between matrices of different block shapes: blocks are split or joined. Start with `convert`."""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import Any

from .. import tid
from ..arrays.array import array1d, array3d
from ..arrays.factories import empty
from ..dispatch import observers
from ..lang.kernel import kernel
from ..lang.values.scalars import int32
from ..launches.launch import launch
from .grouping import group
from .matrix import BsrMatrix, block_numbers
from .matrix_operands import Operand
from .policies import install
from .rows import NUMERIC, SYMBOLIC, find_column, row_end


def check_shapes(source: BsrMatrix, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless blocks can be split or joined to blocks of a shape."""
    for size, old, new, what in zip(source.shape, source.block_shape, shape, ("rows", "columns")):
        if old % new and new % old:
            raise ValueError(
                f"Incompatible dest and src block shapes; block {what} must evenly divide one another "
                f"(Got {new}, {old})"
            )
        if size % new:
            raise ValueError(
                f"The requested block shape {shape} does not evenly divide the source matrix of total size "
                f"{source.shape}"
            )


def convert(dest: BsrMatrix, source: Operand, structure_only: bool, topology: str) -> None:
    """Assign a matrix to one of another block shape.

    Args:
        dest: The destination.
        source: The matrix, and its factor.
        structure_only: Whether values are left unset.
        topology: As for `bsr_assign`.
    """
    matrix, scale = source
    (rows, cols), old = dest.block_shape, matrix.block_shape
    sizes = matrix.shape[0] // rows, matrix.shape[1] // cols
    split = max(old[0] // rows, 1), max(old[1] // cols, 1)  # parts of a block that go to blocks of their own
    number = matrix.nnz * split[0] * split[1]
    with observers.NotRecording():
        of_slots = matrix.uncompress_rows()
        places = [empty(number, dtype=int32, device=dest.device) for _ in range(2)]
        inputs = [of_slots, matrix.columns, *old, rows, cols, *split, *places]
        launch(place_parts, (matrix.nnz, *split), inputs, device=dest.device)
        found = group(sizes, places[0], places[1], number)
        install(dest, found.pattern, topology, matrix.requires_grad and not structure_only)
    if structure_only:
        return
    values = block_numbers(matrix.values, old), block_numbers(dest.values, (rows, cols))
    dest.values.zero_()
    inputs = [of_slots, matrix.columns, values[0], matrix._number(scale)]
    inputs += [dest.offsets, dest.row_counts, dest.columns, values[1]]
    launch(move_numbers, (matrix.nnz, *old), inputs, device=dest.device)


@kernel(**SYMBOLIC)
def place_parts(
    rows: array1d(dtype=int),
    columns: array1d(dtype=int),
    old_rows: int,
    old_cols: int,
    new_rows: int,
    new_cols: int,
    down: int,
    across: int,
    part_rows: array1d(dtype=int),
    part_columns: array1d(dtype=int),
):
    """Write the row and column of the new block that each part of an old one belongs to."""
    slot, i, j = tid()
    part = (slot * down + i) * across + j
    row = rows[slot]
    part_rows[part] = -1 if row < 0 else (row * old_rows + i * new_rows) // new_rows
    part_columns[part] = (columns[slot] * old_cols + j * new_cols) // new_cols


@kernel(**NUMERIC)
def move_numbers(
    rows: array1d(dtype=int),
    columns: array1d(dtype=int),
    values: array3d(dtype=Any),
    scale: Any,
    offsets: array1d(dtype=int),
    row_counts: array1d(dtype=int),
    new_columns: array1d(dtype=int),
    out: array3d(dtype=Any),
):
    """Write each number to the block that it belongs to, if there is one."""
    slot, i, j = tid()
    if rows[slot] >= 0:
        row = rows[slot] * values.shape[1] + i
        column = columns[slot] * values.shape[2] + j
        block_row = row // out.shape[1]
        block_column = column // out.shape[2]
        at = find_column(new_columns, offsets[block_row], row_end(offsets, row_counts, block_row), block_column)
        if at >= 0:
            number = out.dtype(scale * values[slot, i, j])
            out[at, row - block_row * out.shape[1], column - block_column * out.shape[2]] = number
