"""Programs that tests run as processes of their own, with caches of their own."""

import os
import sys
import textwrap
from pathlib import Path
from typing import Any

FORKS = ("-W", "ignore::DeprecationWarning")  # Python 3.12 and later warn of fork


def command(folder: Path, prelude: str, text: str, *options: str) -> dict[str, Any]:
    """What `subprocess` is given to run a text after a prelude, with options of Python's."""
    script = folder / "program.py"
    script.write_text(prelude + textwrap.dedent(text))
    env = os.environ | {"OMNI_WARP_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)}
    return {"args": [sys.executable, *options, str(script)], "env": env, "text": True}
