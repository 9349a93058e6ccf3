"""Tables of the grids of volume files, for the command line. Only headers are read, however large a file is."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from .nvdb_file import GridFile, read_grids
from .vdb.vdb_file import VdbHead, read_vdb_heads
from .vdb.vdb_header import base_name, is_vdb

COLUMNS = ("name", "type", "class", "voxels", "first voxel", "last voxel", "voxel size", "memory", "in file")
_UNITS = ("B", "kB", "MB", "GB", "TB")


def list_volume_file(path: str | os.PathLike[str]) -> list[tuple[str, ...]]:
    """Return a row of `COLUMNS` for each grid of a `.vdb` or `.nvdb` file.

    Raises:
        VolumeFileError: If it is no such file, or is damaged.
        OSError: If the file cannot be read.
    """
    if is_vdb(path):
        return [_vdb_row(head) for head in read_vdb_heads(path)]
    return [_nvdb_row(grid) for grid in read_grids(path)]


def _nvdb_row(grid: GridFile) -> tuple[str, ...]:
    first, last = grid.index_bbox
    return (
        grid.name, grid.type, grid.grid_class, str(grid.voxel_count), *_bbox(first, last, grid.voxel_count),
        _numbers(grid.voxel_size), size_text(grid.size), f"{size_text(grid.stored)} ({grid.codec})",
    )  # fmt: skip


def _vdb_row(head: VdbHead) -> tuple[str, ...]:
    """The row of a grid, from the statistics that OpenVDB writes into its metadata."""
    facts = head.metadata
    count = facts.get("file_voxel_count", f"those of {base_name(head.entry.parent)}" if head.entry.parent else "?")
    first, last = (_corner(facts.get(name)) for name in ("file_bbox_min", "file_bbox_max"))
    memory = facts.get("file_mem_bytes")
    return (
        head.entry.name, head.type, str(facts.get("class", "unknown")), str(count), *_bbox(first, last, count),
        "?" if head.transform is None else _numbers(_voxel_size(head.transform)),
        size_text(memory) if type(memory) is int and memory >= 0 else "?", size_text(head.entry.end - head.entry.begin),
    )  # fmt: skip


def _corner(fact: Any) -> tuple[Any, ...]:
    """The corner of a box of voxels; nothing if the metadata has another type."""
    return fact if isinstance(fact, tuple) else ()


def _voxel_size(transform: np.ndarray) -> list[float]:
    with np.errstate(over="ignore"):  # of a damaged file
        return np.linalg.norm(transform[:3, :3], axis=0).tolist()


def _bbox(first: Any, last: Any, count: Any) -> tuple[str, str]:
    """The corners of a box of voxels; nothing if it has none."""
    return ("", "") if count == 0 else (_numbers(first), _numbers(last))


def _numbers(numbers: Any) -> str:
    return " ".join(f"{number:g}" if isinstance(number, float) else str(number) for number in numbers)


def size_text(size: int) -> str:
    """Return a number of bytes with three digits and a unit."""
    value, unit = float(size), 0
    while value >= 999.5 and unit < len(_UNITS) - 1:  # which three digits round to 1000
        value, unit = value / 1000, unit + 1
    return f"{size} B" if unit == 0 else f"{value:.{'3g' if value < 999.5 else '0f'}} {_UNITS[unit]}"


def table(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Return lines with the columns below each other."""
    lines = [COLUMNS, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(COLUMNS))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
