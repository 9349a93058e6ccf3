"""Grids of the type fpN: the codes of each leaf have a number of bits of their own, 1 to 16.

Kernels find a voxel by the size of a leaf, so such a grid becomes one of fp16. A code stands for the same value there.
"""

from __future__ import annotations

import numpy as np

from .grid_tree import GridTree, child_offsets, grid_error, read_header, read_inner_nodes
from .layout import ALIGNMENT, FP16, FPN, GRID, NO_CHECKSUM, TREE, TREE_OFFSET, VALUE_TYPES, offset_of

_HEAD = 96  # bytes of a leaf before its codes
_FLAGS, _BITS_SHIFT = 15, 5  # the byte of a leaf that has the logarithm of the bits, and where
_VOXELS = 512


def with_equal_leaves(data: np.ndarray) -> np.ndarray:
    """Return a grid buffer of fp16 for one of fpN, and any other as it is.

    Raises:
        GridError: If it is no grid buffer, or one of fpN that is cut off or contradicts itself.
    """
    header = read_header(data)
    if int(header["grid_type"]) != FPN:
        return data
    grid = read_inner_nodes(data, header, VALUE_TYPES[FP16])
    node, entry, offsets = child_offsets(grid.lower)
    logs = _logs_of_bits(grid, offsets)
    begin, end = (int(offsets.min()), int((offsets + _size(logs)).max())) if len(offsets) else (grid.data.size,) * 2
    if begin < _end_of_inner_nodes(grid):
        raise grid_error(header, begin, "a leaf begins before the end of an inner node")
    leaves = _widened(grid, offsets, logs)
    widened = np.concatenate([grid.data[:begin], leaves.view(np.uint8), grid.data[end:]])
    places = begin + np.arange(len(offsets)) * leaves.itemsize
    entries = grid.lower.offsets[node] + offset_of(grid.layout.lower, "table") + 8 * entry
    widened[entries[:, None] + np.arange(8)] = (
        (places - grid.lower.offsets[node]).astype("<i8").view(np.uint8).reshape(-1, 8)
    )
    _write_headers(widened, begin, end, len(offsets))
    return widened


def _end_of_inner_nodes(grid: GridTree) -> int:
    """Return the byte where the last node that is no leaf ends."""
    layout = grid.layout
    ends = [grid.root_offset + layout.root.itemsize + len(grid.tiles) * layout.tile.itemsize]
    ends += [
        int(level.offsets.max()) + level.nodes.itemsize for level in (grid.upper, grid.lower) if len(level.offsets)
    ]
    return max(ends)


def _size(logs: np.ndarray) -> np.ndarray:
    """The bytes of leaves."""
    return _HEAD + (_VOXELS // 8 << logs)


def _logs_of_bits(grid: GridTree, offsets: np.ndarray) -> np.ndarray:
    """The logarithms of the numbers of bits. Raises GridError if leaves overlap or lie outside of the buffer."""
    wrong = offsets[(offsets < 0) | (offsets + _HEAD > grid.data.size) | (offsets % ALIGNMENT != 0)]
    if wrong.size:
        raise grid_error(grid.header, wrong[0], "a parent has a leaf here, where none can begin")
    logs = grid.data[offsets + _FLAGS].astype(np.int64) >> _BITS_SHIFT
    order = np.argsort(offsets)
    ends = (offsets + _size(logs))[order]
    limits = np.append(offsets[order][1:], grid.data.size)
    wrong = offsets[order][(ends > limits) | (logs[order] > 4)]
    if wrong.size:
        raise grid_error(
            grid.header, wrong[0], "a leaf overlaps the next or the end, or has codes of more than 16 bits"
        )
    return logs


def _widened(grid: GridTree, offsets: np.ndarray, logs: np.ndarray) -> np.ndarray:
    """The leaves at these offsets with codes of 16 bits."""
    leaves = np.zeros(len(offsets), grid.layout.leaf)
    raw = leaves.view(np.uint8).reshape(len(offsets), -1)
    raw[:, :_HEAD] = grid.data[offsets[:, None] + np.arange(_HEAD)]
    raw[:, _FLAGS] &= (1 << _BITS_SHIFT) - 1
    for log in np.unique(logs).tolist():
        chosen, bits = np.flatnonzero(logs == log), 1 << log
        codes = grid.data[offsets[chosen, None] + _HEAD + np.arange(_VOXELS * bits // 8)]
        if bits < 16:
            steps = np.arange(0, 8, bits, dtype=np.uint8)
            codes = (codes[..., None] >> steps & np.uint8((1 << bits) - 1)).astype("<u2")
        raw[chosen, _HEAD:] = codes.reshape(len(chosen), -1).view(np.uint8)
    return leaves


def _write_headers(data: np.ndarray, begin: int, end: int, count: int) -> None:
    """Say in the headers that a grid has leaves of fp16 from `begin` on, where leaves of fpN ended at `end`."""
    header = data[:TREE_OFFSET].view(GRID)[0]
    growth = data.size - int(header["grid_size"])
    header["grid_type"], header["checksum"], header["grid_size"] = FP16, NO_CHECKSUM, data.size
    if header["blind_offset"] >= end:
        header["blind_offset"] += growth
    tree = data[TREE_OFFSET : TREE_OFFSET + TREE.itemsize].view(TREE)[0]
    tree["node_offset"][0], tree["node_count"][0] = begin - TREE_OFFSET, count
