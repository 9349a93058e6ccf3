"""The settings that allow a kernel to have a gradient: its own, those of its module, and that of `wp.config`."""

from __future__ import annotations

from .. import config
from ..lang.kernel import Kernel
from .plans import module_option


def _backward_settings(kernel: Kernel) -> dict[str, bool | None]:
    """Return the settings that can disable a kernel's gradient, highest precedence first."""
    own = kernel.options.get("module_options") or {}
    return {
        "the kernel was made with enable_backward=False": kernel.enable_backward,
        "its module_options have enable_backward=False": own.get("enable_backward"),
        "its module has enable_backward=False, by wp.set_module_options or module_options": module_option(
            kernel, "enable_backward"
        ),
        "wp.config.enable_backward is False": config.enable_backward,
    }


def deciding_setting(kernel: Kernel) -> tuple[str, bool]:
    """The setting that decides whether a kernel may have a gradient, in words, and what it says."""
    return next((why, wanted) for why, wanted in _backward_settings(kernel).items() if wanted is not None)


def passes_tapes_by(kernel: Kernel) -> bool:
    """True if tapes do not see launches of a kernel: one without a gradient, in the dialect of warp-lang."""
    return config.dialect == "warp-lang" and not deciding_setting(kernel)[1]
