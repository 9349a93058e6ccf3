"""Entry point of the Kit extension. Outside of Kit this module can be imported too, and does nothing.

Nodes register themselves through their `.ogn` files. What is started here needs windows, menus or settings of Kit, all
optional: an application without them has the nodes all the same.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from .kit.consent_gate import ConsentGate
from .kit.dialog import ask_in_window
from .kit.menu import Menu
from .nodes.extensions.kit_modules import StandIn

try:
    from omni.ext import IExt as _Base  # type: ignore[import-not-found]
except ImportError:
    _Base = object  # type: ignore[assignment,misc]


def _part(name: str) -> ModuleType | None:
    """Return a module of Kit, None if this application does not have it."""
    try:
        found = importlib.import_module(name)
    except ImportError:
        return None
    return None if isinstance(found, StandIn) else found


class WarpCoreExtension(_Base):  # type: ignore[misc]
    """Life of the extension in Kit: the consent gate and the menu, from start to end."""

    ext_id: Any = None
    _gate: ConsentGate | None = None
    _menu: Menu | None = None

    def on_startup(self, ext_id: str) -> None:
        """Start what this application has the parts for."""
        self.ext_id = ext_id
        usd, carb_settings, ui, menus = map(_part, ("omni.usd", "carb.settings", "omni.ui", "omni.kit.menu.utils"))
        if usd is not None:
            settings = carb_settings.get_settings() if carb_settings is not None else None
            self._gate = ConsentGate(usd, settings, ask_in_window(ui) if ui is not None else None)
        if menus is not None and self._gate is not None:
            self._menu = Menu(menus, self._review)

    def on_shutdown(self) -> None:
        """Undo what `on_startup` did, in reverse order."""
        for part in (self._menu, self._gate):
            if part is not None:
                part.close()
        self._menu = self._gate = self.ext_id = None

    def _review(self) -> None:
        usd = _part("omni.usd")
        if self._gate is not None and usd is not None:
            self._gate.look(usd.get_context().get_stage())
