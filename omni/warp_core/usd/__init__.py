"""`wp.usd`: geometry of USD stages as arrays, and the stages and pictures of the commands.

Reading: mesh_reader.py and primvars.py, over prim_access.py and polygons.py. Results of the player: output_layer.py.
Pictures: preview.py, then drawables.py, camera.py, render.py, raster_kernels.py. Public names are loaded when they are
first used, as they need usd-core.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .mesh_reader import MeshData as MeshData
    from .mesh_reader import read_mesh as read_mesh
    from .primvars import Primvar as Primvar
    from .stage import StageError as StageError

# Module -> the public names it defines.
_HOMES = {
    "mesh_reader": "MeshData read_mesh",
    "primvars": "Primvar",
    "stage": "StageError",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name != "pxr":
            raise
        text = f"wp.usd.{name} needs usd-core; install it with: pip install 'omni-warp-core[usd]'"
        raise ModuleNotFoundError(text, name="pxr") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
