"""Entry point of the Kit extension. Outside of Kit this module can be imported too, and does nothing."""

from __future__ import annotations

from typing import Any

try:
    from omni.ext import IExt as _Base  # type: ignore[import-not-found]
except ImportError:
    _Base = object  # type: ignore[assignment,misc]


class WarpCoreExtension(_Base):  # type: ignore[misc]
    """Life of the extension in Kit. The nodes register themselves through their `.ogn` files."""

    def on_startup(self, ext_id: str) -> None:
        """Remember under which id Kit knows the extension."""
        self.ext_id: Any = ext_id

    def on_shutdown(self) -> None:
        """Nothing is held: nodes release what is theirs."""
        self.ext_id = None
