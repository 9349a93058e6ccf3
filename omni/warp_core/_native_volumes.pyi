"""The part of `_native` that is for volumes: compression, trees of grids, files. Sources in native/."""

from collections.abc import Callable, Sequence
from typing import Any

def blosc_decoded_size(chunk: Any) -> int:
    """Bytes that a chunk of blosc 1 decodes to, at most 255 times its own size. Raises ValueError if it is damaged."""

def blosc_decode(chunk: Any, out: Any) -> None:
    """Decode a chunk of blosc 1 to memory of its decoded size. Raises ValueError if it is damaged."""

def blosc_encode(data: Any, item_size: int) -> bytes:
    """A chunk of blosc 1 with at most 2^31 - 17 bytes of data, whose items have 1 to 16 bytes."""

def find_blocks(voxels: Any, width: int) -> tuple[bytes, bytes]:
    """The origins of the blocks of a width, 8, 128 or 4096, that hold voxels, and which block holds each voxel.

    Voxels and origins are int32 (n, 3). Blocks come in the order of a grid's tree.
    """

def leaves_of_box(low: Sequence[int], high: Sequence[int]) -> bytes:
    """The origins of the leaves of the box of voxels from `low` to `high`, which it includes."""

def masked_leaves(voxels: Any) -> tuple[bytes, bytes]:
    """The origins of the leaves that hold voxels, and their masks with these voxels, 64 bytes each."""

def count_bits(masks: Any) -> int:
    """How many bits are set."""

def list_voxels(origins: Any, masks: Any, out: Any) -> None:
    """Write the voxels of leaves, int32 (n, 3), to `out`: those in their masks, or all if `masks` is empty."""

class GridLayout:
    """Bytes of values and of records of a grid, and offsets of fields in these records.

    `content` is what a leaf has: "values", "bits", "indices", "active indices", or "mask" for nothing but a mask.
    """

    def __init__(self, content: str, **bytes_and_offsets: int) -> None: ...

class NodeTree:
    """The nodes above leaves and tiles, which are given by their origins and, for tiles, their extents."""

    lower: bytes
    upper: bytes
    root: bytes
    counts: tuple[int, int, int, int]
    """How many leaves, lower nodes, upper nodes and entries of the root there are."""

    def __init__(self, leaves: Any, tiles: Any, extents: Any) -> None: ...
    def offsets(self, layout: GridLayout) -> list[int]:
        """Where upper nodes, lower nodes and leaves begin in a buffer, and where it ends."""

    def write(
        self,
        layout: GridLayout,
        masks: Any,
        background: Any,
        values: tuple[Any, ...],
        tiles: tuple[Any, Any],
        header: bytes,
        placement: tuple[Any, Any, Any],
        out: Any,
    ) -> int:
        """Write a grid; return how many voxels of leaves are active.

        `values` are a table, rows and a shape. A table has rows of 512 values for leaves, in their order or as `rows`
        says, or is an array of a shape, whose element (i, j, k) is voxel (i, j, k). `tiles` are values and states.
        `header` is without what follows from nodes and `placement`: a matrix, its inverse and a translation. `out` is
        an array or a buffer.
        """

    def write_cells(self, layout: GridLayout, grid: Any, first: Any, dims: Any, out: Any) -> None:
        """Write the table of cells of the grid that `write` has written."""

def cells_around(leaves: Any) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """The first cell around leaves with these origins, and the number of cells along each axis."""

def place_grid(grid: Any, placement: tuple[Any, Any, Any], root: Any) -> None:
    """Write where a grid is in the world into its header: the map, the size of voxels, and the box of the root's."""

def write_cells(
    layout: GridLayout, grid: Any, root: int, nodes: Sequence[tuple[Any, Any]], first: Any, dims: Any, out: Any
) -> None:
    """Write the table of cells of a grid. `nodes` are offsets and origins of tiles, upper nodes and lower nodes."""

class VdbFormat:
    """How a tree of a .vdb file has its values. Its methods raise ValueError if the file is damaged.

    `leaves` is "values", "bits" or "mask"; `compression` as in the file; `inflate(data, size)` decompresses zlib data.
    """

    def __init__(
        self,
        scalar: str,
        components: int,
        half: bool,
        leaves: str,
        compression: int,
        inflate: Callable[[bytes, int], bytes],
    ) -> None: ...
    def topology(
        self, file: Any, file_begin: int, begin: int
    ) -> tuple[bytes, bytes, bytes, bytes, bytes, bytes, bytes, int]:
        """Background; origins and masks of leaves; origins, extents, values and states of tiles; where this ends.

        `file` is a part of a file, from `file_begin` on, and the topology is at `begin` of that.
        """

    def leaves(self, file: Any, file_begin: int, begin: int, background: bytes, masks: bytes, values: Any) -> int:
        """Read the values of all leaves from `begin` on; return where they end."""
