"""The layout of the Kernel node in Kit's property panel: `ogn/template_omni.warp_core.Kernel.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def template() -> Path:
    """Return the file with the layout."""
    return Path(__file__).parents[3] / "ogn" / "template_omni.warp_core.Kernel.py"


class PropertyPanel:
    """The layout, while the panel knows it. `graph_ui` is `omni.graph.ui`."""

    def __init__(self, graph_ui: Any):
        self._widget = graph_ui.ComputeNodeWidget.get_instance()
        if self._widget is not None:
            self._widget.add_template_path(str(template()))

    def close(self) -> None:
        """Let the panel forget the layout, where this version of Kit can."""
        forget = getattr(self._widget, "remove_template_path", None)
        if forget is not None:
            forget(str(template()))
