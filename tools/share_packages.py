"""Let another virtual environment see the packages of this one, besides its own: `python -m tools.share_packages DIR`.

Its own packages come first. So a framework can be installed there without building the native module once more.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path


def share(environment: Path) -> Path:
    """Write the file that adds this environment's packages to `environment`; return its path."""
    here = sysconfig.get_path("purelib")
    there = Path(sysconfig.get_path("purelib", vars={"base": str(environment), "platbase": str(environment)}))
    file = there / "_omni_warp_core.pth"
    file.write_text(f"import site; site.addsitedir({here!r})\n")
    return file


if __name__ == "__main__":
    share(Path(sys.argv[1]).resolve())
