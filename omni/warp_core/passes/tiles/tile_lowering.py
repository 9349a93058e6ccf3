"""Lowers operations of tiles to memory of the block and loops over elements. Start with `lower_tiles`."""

from __future__ import annotations

from ...ir.nodes import Function
from ...lang.types import Tile
from ..dce import dce
from ..simplify import simplify
from .divergent_updates import lend_updated_tiles
from .tile_choices import branch_on_tiles
from .tile_emission import emit_tiles
from .tile_expansion import expand_tiles
from .tile_fusion import fuse_maps


def lower_tiles(kernel: Function, compares: bool = False) -> Function:
    """Return an inlined kernel without tiles. `compares` says whether launches compare arrays that they are told."""
    new = expand_tiles(lend_updated_tiles(branch_on_tiles(kernel)))
    dce(new)
    new, compared = fuse_maps(new, compares)
    dce(new)
    new = simplify(emit_tiles(new))
    new.private.update(((new.params[number], False), None) for number in sorted(compared))
    return new


def has_tiles(kernel: Function) -> bool:
    """True if a kernel has a value that is a tile."""
    return any(isinstance(v.type, Tile) for op in kernel.body.walk() for v in op.results)
