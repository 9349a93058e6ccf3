"""Lowers operations of tiles to memory of the block and loops over elements. Start with `lower_tiles`."""

from __future__ import annotations

from ...ir.nodes import Function
from ...lang.types import Tile
from ..dce import dce
from .divergent_updates import lend_updated_tiles
from .tile_emission import emit_tiles
from .tile_expansion import expand_tiles


def lower_tiles(kernel: Function) -> Function:
    """Return an inlined kernel without tiles."""
    new = expand_tiles(lend_updated_tiles(kernel))
    dce(new)
    return emit_tiles(new)


def has_tiles(kernel: Function) -> bool:
    """True if a kernel has a value that is a tile."""
    return any(isinstance(v.type, Tile) for op in kernel.body.walk() for v in op.results)
