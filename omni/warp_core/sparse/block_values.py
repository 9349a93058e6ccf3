"""Operations on whole arrays of blocks. Tapes record them."""

from __future__ import annotations

from ..arrays.array import array
from ..launches.launch import launch
from .block_kernels import read_blocks, scale_blocks
from .matrix import BsrMatrix, block_numbers
from .matrix_operands import Operand


def copy_blocks(links: array, source: Operand, out: array) -> None:
    """Write the blocks of links, times the factor of the source; zero for links of -1."""
    matrix, scale = source
    shape = matrix.block_shape
    blocks = block_numbers(matrix.values, shape), block_numbers(out, shape)
    launch(read_blocks, (links.size, *shape), [links, *blocks, matrix._number(scale)], device=out.device)


def scale_in_place(values: array, count: int, matrix: BsrMatrix, factor: float) -> None:
    """Multiply values by a number that fits a matrix. 0 clears them, whatever they are."""
    if factor == 0.0:
        values.zero_()
    elif factor != 1.0:
        launch(scale_blocks, count, [values, matrix._number(factor)], device=values.device)
