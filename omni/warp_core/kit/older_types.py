"""Node types of omni.warp in Kit: this extension registers them too, unless omni.warp itself is enabled.

`make extension` writes a node for each of them (see tools/older_types.py). Each asks `is_free` before it defines its
class, and without a class Kit registers no type.
"""

from __future__ import annotations

from typing import Any

OTHER = "omni.warp"
STANDS_BACK = (
    "The extension omni.warp is enabled and has the node types omni.warp.*, so those of omni.warp_core are not "
    "registered. To play stages of omni.warp with omni.warp_core, disable omni.warp and enable omni.warp_core again."
)


def is_free() -> bool:
    """Return True unless the extension omni.warp is enabled."""
    try:
        from omni.kit.app import get_app  # type: ignore[import-not-found, import-untyped]
    except ImportError:
        return True
    return not get_app().get_extension_manager().is_extension_enabled(OTHER)


class OlderTypes:
    """Says at the start why the older types are not there, if so. `carb` is Kit's module."""

    def __init__(self, carb: Any):
        if not is_free():
            carb.log_warn(STANDS_BACK)

    def close(self) -> None:
        """Do nothing: Kit removes the types of an extension that ends."""
