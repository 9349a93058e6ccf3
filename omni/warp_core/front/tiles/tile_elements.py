"""Single elements of tiles, read and written by threads."""

from __future__ import annotations

from ...lang.types import Mat, Packed, Tile
from ..context import Context
from ..values import Front
from .tile_arguments import Arguments, tile_function
from .tile_views import element, element_index, whole


@tile_function("tile_extract", views=True)
def _extract(cx: Context, a: Arguments) -> Front:
    view = whole(a.view("a"))
    t, given = view.type, a.rest("i")
    inner = _component_extents(t)
    if not t.ndim <= len(given) <= t.ndim + len(inner) or len(given) not in (t.ndim, t.ndim + len(inner)):
        raise a.error(
            "arguments", f"{a.function} takes {t.ndim} indices for the tile, and one for each axis of a component"
        )
    extents = (*t.shape, *inner)
    at = [element_index(cx, x, n, node, False, d) for d, ((x, node), n) in enumerate(zip(given, extents))]
    found = element(cx, view, at[: t.ndim], a.node)
    if len(at) == t.ndim:
        return found
    row, *column = at[t.ndim :]
    index = cx.b.op("add", cx.b.op("mul", row, cx.b.i32(inner[1])), column[0]) if column else row
    return cx.at(a.node).op("extract_dyn", found, index)


def _component_extents(t: Tile) -> tuple[int, ...]:
    if isinstance(t.dtype, Mat):
        return t.dtype.rows, t.dtype.cols
    return (t.dtype.count,) if isinstance(t.dtype, Packed) else ()
