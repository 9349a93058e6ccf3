"""Texture Write: colors for a dynamic texture.

Headless, each frame becomes a PNG beside the result. The asset attributes of the stage that name the texture, such as
those of shaders, name the file of the frame. In Kit the colors go to the texture of the renderer.
"""

from __future__ import annotations

import math
import re
from functools import partial
from typing import Any

import numpy as np

from ...usd.output_layer import FrameFile
from ...usd.pictures.texture_file import color_bytes, write_png
from ..graph.attribute import GraphError

SCHEME = "dynamic://"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


class TextureState:
    """What a node has found out about its texture: where the stage names it, or Kit's object for it."""

    def __init__(self) -> None:
        self.name = ""
        self.places: tuple[tuple[str, str], ...] = ()
        self.provider: Any = None


def write(db: Any) -> None:
    """Compute Texture Write. Raises GraphError."""
    colors, state = _colors(db), db.per_instance_state
    name, host = _name(db.inputs.uri), getattr(db, "host", None)
    is_new, state.name = name != state.name, name
    if host is None:
        _upload(db, state, is_new, colors)
        return
    store = host.store
    if is_new:
        state.places = _places(store.stage, SCHEME + name)
        if not state.places:
            text = f"no asset attribute of the stage is @{SCHEME}{name}@, so nothing shows this texture; its files are"
            db.log_warning(f"{text} written all the same")
    store.prims.attach(FrameFile(name, state.places, store.frame, ".png", partial(write_png, color_bytes(colors))))


def _colors(db: Any) -> np.ndarray:
    """Return the colors of the pixels, float32 (rows, columns, 4)."""
    inputs = db.inputs
    if not 1 <= inputs.dimCount <= 4:
        raise GraphError(f"inputs:dimCount is {inputs.dimCount}; it must be 1 to 4")
    shape = [int(getattr(inputs, f"dim{i + 1}")) for i in range(inputs.dimCount)]
    if min(shape) < 1 or math.prod(shape) != len(inputs.data):
        raise GraphError(f"inputs:data has {len(inputs.data)} colors for {' x '.join(map(str, shape))} pixels")
    colors: np.ndarray = np.asarray(inputs.data, np.float32).reshape(-1, shape[-1], 4)
    return colors


def _name(uri: str) -> str:
    name = uri.removeprefix(SCHEME)
    if name == uri or not _NAME.fullmatch(name):
        raise GraphError(f"inputs:uri is {uri!r}; it must be {SCHEME} and a name of letters, digits, '_', '-' and '.'")
    return name


def _places(stage: Any, uri: str) -> tuple[tuple[str, str], ...]:
    """Return the prims and attributes that name a texture."""
    return tuple(
        (str(prim.GetPath()), attribute.GetName())
        for prim in stage.Traverse()
        for attribute in prim.GetAuthoredAttributes()
        if attribute.GetTypeName() == "asset" and getattr(attribute.Get(), "path", "") == uri
    )


def _upload(db: Any, state: TextureState, is_new: bool, colors: np.ndarray) -> None:
    """Give colors to the texture of Kit's renderer. Applications without windows have none."""
    try:
        import omni.ui as ui  # type: ignore[import-not-found, import-untyped]
    except ImportError:
        if is_new:
            db.log_warning("this application has no omni.ui, so no renderer takes the texture")
        return
    if is_new:
        state.provider = ui.DynamicTextureProvider(state.name)
    state.provider.set_bytes_data(color_bytes(colors).reshape(-1).data, [colors.shape[1], colors.shape[0]])
