"""Tables of the grids of volume files, for the command line. Only headers are read, however large a file is."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from .nvdb_file import GridFile, read_grids
from .vdb_file import list_vdb, read_vdb_head
from .vdb_header import VDB_MAGIC, base_name

COLUMNS = ("name", "type", "class", "voxels", "first voxel", "last voxel", "voxel size", "memory", "in file")
_UNITS = ("B", "kB", "MB", "GB", "TB")


def list_volume_file(path: str | os.PathLike[str]) -> list[tuple[str, ...]]:
    """Return a row of `COLUMNS` for each grid of a `.vdb` or `.nvdb` file.

    Raises:
        VolumeFileError: If it is no such file, or is damaged.
        OSError: If the file cannot be read.
    """
    with open(path, "rb") as file:
        is_vdb = file.read(len(VDB_MAGIC)) == VDB_MAGIC
    if is_vdb:
        return [_vdb_row(path, number) for number in range(len(list_vdb(path)))]
    return [_nvdb_row(grid) for grid in read_grids(path)]


def _nvdb_row(grid: GridFile) -> tuple[str, ...]:
    first, last = grid.index_bbox
    return (
        grid.name, grid.type, grid.grid_class, str(grid.voxel_count), *_bbox(first, last, grid.voxel_count),
        _numbers(grid.voxel_size), size_text(grid.size), f"{size_text(grid.stored)} ({grid.codec})",
    )  # fmt: skip


def _vdb_row(path: str | os.PathLike[str], number: int) -> tuple[str, ...]:
    """The row of a grid, from the statistics that OpenVDB writes into its metadata."""
    head = read_vdb_head(path, number)
    facts = head.metadata
    count = facts.get("file_voxel_count", f"those of {base_name(head.entry.parent)}" if head.entry.parent else "?")
    first, last = facts.get("file_bbox_min", ()), facts.get("file_bbox_max", ())
    memory = facts.get("file_mem_bytes")
    return (
        head.entry.name, head.type, str(facts.get("class", "unknown")), str(count), *_bbox(first, last, count),
        "?" if head.transform is None else _numbers(np.linalg.norm(head.transform[:3, :3], axis=0).tolist()),
        size_text(memory) if isinstance(memory, int) else "?", size_text(head.entry.end - head.entry.begin),
    )  # fmt: skip


def _bbox(first: Any, last: Any, count: Any) -> tuple[str, str]:
    """The corners of a box of voxels; nothing if it has none."""
    return ("", "") if count == 0 else (_numbers(first), _numbers(last))


def _numbers(numbers: Any) -> str:
    return " ".join(f"{number:g}" if isinstance(number, float) else str(number) for number in numbers)


def size_text(size: int) -> str:
    """Return a number of bytes with three digits and a unit."""
    unit = min(len(str(max(size, 0))) - 1, 3 * len(_UNITS) - 1) // 3
    return f"{size} B" if unit == 0 else f"{size / 1000**unit:.3g} {_UNITS[unit]}"


def table(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Return lines with the columns below each other."""
    lines = [COLUMNS, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(COLUMNS))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
