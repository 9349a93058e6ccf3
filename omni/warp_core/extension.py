"""Entry point of the Kit extension. Outside of Kit this module can be imported too, and does nothing.

Nodes register themselves through their `.ogn` files. What is started here needs windows, menus or settings of Kit, all
optional: an application without them has the nodes all the same.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .kit.consent_gate import ConsentGate
from .kit.dialog import ask_in_window
from .kit.menu import Menu
from .kit.older_types import OlderTypes
from .kit.property_panel import PropertyPanel
from .kit.sample_browser import Samples
from .nodes.extensions.kit_modules import StandIn

MENU = "/exts/omni.warp_core/enable_menu"

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
    """Life of the extension in Kit: the consent gate, the menu, the panel and the samples, from start to end."""

    ext_id: Any = None
    _gate: ConsentGate | None = None
    _parts: tuple[Any, ...] = ()

    def on_startup(self, ext_id: str) -> None:
        """Start what this application has the parts for."""
        self.ext_id = ext_id
        carb_settings = _part("carb.settings")
        settings = carb_settings.get_settings() if carb_settings is not None else None
        usd, ui = _part("omni.usd"), _part("omni.ui")
        if usd is not None:
            self._gate = ConsentGate(usd, settings, ask_in_window(ui) if ui is not None else None)
            self._parts = (self._gate,)
        if self._gate is not None and (settings is None or settings.get(MENU) is not False):
            self._start("omni.kit.menu.utils", lambda menus: Menu(menus, self._review))
        self._start("carb", OlderTypes)
        self._start("omni.graph.ui", PropertyPanel)
        self._start("omni.kit.browser.sample", Samples)

    def _start(self, name: str, make: Callable[[Any], Any]) -> None:
        """Start a part that needs a module of Kit, if this application has the module."""
        found = _part(name)
        if found is not None:
            self._parts = (*self._parts, make(found))

    def on_shutdown(self) -> None:
        """Undo what `on_startup` did, in reverse order."""
        for part in reversed(self._parts):
            part.close()
        self._parts, self._gate, self.ext_id = (), None, None

    def _review(self) -> None:
        usd = _part("omni.usd")
        if self._gate is not None and usd is not None:
            self._gate.look(usd.get_context().get_stage())
