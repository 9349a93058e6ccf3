"""`wp.render`: simulations as scenes that viewers play. `UsdRenderer` writes them as USD.

Start with usd_renderer.py. Public names are loaded when they are first used, as they need usd-core.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..optional_names import loader

if TYPE_CHECKING:
    from .usd_renderer import UsdRenderer as UsdRenderer

_HOMES = {"usd_renderer": "UsdRenderer"}
__all__ = ["UsdRenderer"]
__getattr__ = loader(__name__, _HOMES, globals())


def __dir__() -> list[str]:
    return __all__
