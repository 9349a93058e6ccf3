"""Lowers operations of tiles to memory of the block and loops over elements. Start with `lower_tiles`."""

from __future__ import annotations

from ...ir.nodes import Function
from ...lang.types import Tile
from ..barriers import CPU_SHARED_BYTES
from ..dce import dce
from ..simplify import simplify
from .divergent_updates import lend_updated_tiles
from .tile_choices import branch_on_tiles
from .tile_emission import emit_tiles
from .tile_expansion import expand_tiles
from .tile_fusion import fuse_maps


def lower_tiles(kernel: Function, compares: bool = False, limit: int = CPU_SHARED_BYTES) -> Function:
    """Return an inlined kernel without tiles.

    Args:
        kernel: a kernel as `check_blocks` lets it pass.
        compares: whether launches compare the arrays that `Function.private` tells them.
        limit: the bytes of shared memory that a block may have.

    Raises:
        PassError: the tiles take more memory than that, or only some threads assign one.
    """
    new = expand_tiles(lend_updated_tiles(branch_on_tiles(kernel)))
    dce(new)
    new, compared = fuse_maps(new, compares)
    dce(new)
    new = simplify(emit_tiles(new, limit))
    new.private.update(((new.params[number], False), None) for number in sorted(compared))
    return new


def has_tiles(kernel: Function) -> bool:
    """True if a kernel has a value that is a tile."""
    return any(isinstance(v.type, Tile) for op in kernel.body.walk() for v in op.results)
