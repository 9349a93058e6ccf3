"""Tensors that require a gradient, as plain arguments of launches: their library would not see what a launch computes.

`check_untracked` refuses them. Native code calls it for a tensor that says that it requires a gradient.
"""

from __future__ import annotations

import sys
from typing import Any


def check_untracked(tensor: Any) -> None:
    """Raise TypeError if the tensor's library records operations for a backward pass now."""
    library = type(tensor).__module__.partition(".")[0]
    module = sys.modules.get(library)
    is_recording = getattr(module, "is_grad_enabled", None)
    if is_recording is not None and not is_recording():
        return
    made, off = (
        ("wp.from_paddle(x) with a wp.Tape", "paddle.no_grad()")
        if library == "paddle"
        else ("wp.torch_kernel(kernel), or wp.from_torch(x) with a wp.Tape", "torch.no_grad()")
    )
    raise TypeError(
        f"requires a gradient, which {library} would not see flow through a plain launch: use {made}; or, if no "
        f"gradient is wanted, pass x.detach() or launch inside of {off}"
    )
