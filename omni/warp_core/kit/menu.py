"""Menu entries of the extension: the documentation, and the code of the stage once more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MENU = "Window"
TITLE = "Omni Warp Core"


class Menu:
    """The entries, while they are there. `utils` is `omni.kit.menu.utils`."""

    def __init__(self, utils: Any, review_code: Callable[[], None]):
        self._utils = utils
        entry = utils.MenuItemDescription(name="Code in This Stage...", onclick_fn=review_code)
        self._items = [utils.MenuItemDescription(name=TITLE, sub_menu=[entry])]
        utils.add_menu_items(self._items, MENU)

    def close(self) -> None:
        """Remove the entries."""
        self._utils.remove_menu_items(self._items, MENU)
        self._items = []
