"""The file that an internal error of the compiler leaves behind: all that a report needs."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from typing import Any

from . import config
from .compiler import CompileRequest
from .ir.printer import print_function


def write(request: CompileRequest, made: dict[str, Any]) -> str:
    """Write what is known about a failed compilation to a new file.

    Args:
        request: what was to be compiled.
        made: what the stages made before the failure: "ir", "llvm".

    Returns:
        The file's name, or why it was not written.
    """
    parts = [f"omni.warp_core {config.package_version}, Python {sys.version}", repr(request), traceback.format_exc()]
    parts.append("".join(request.kernel.source.block()))
    if "ir" in made:
        try:
            parts.append(print_function(made["ir"]))
        except Exception as why:  # the IR may be what is broken
            parts.append(f"the IR cannot be printed: {why!r}")
    if "llvm" in made:
        parts.append(made["llvm"].text)
    try:
        handle, name = tempfile.mkstemp(prefix=f"omni-warp-core-{request.kernel.name}-", suffix=".txt")
        with os.fdopen(handle, "w") as f:
            f.write("\n\n".join(parts))
    except OSError as why:
        return f"no file: {why}"
    return name
