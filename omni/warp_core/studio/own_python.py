"""Other processes of the studio: Python that finds no module in the folder where it starts.

`python -c` and `python -m` look for modules there first. A folder with a scene from elsewhere may also have a
`struct.py`, which would run without consent.
"""

from __future__ import annotations

import sys

_FIRST = "import sys; sys.path[:] = filter(None, sys.path); "  # "" is the folder where Python starts


def command(code: str, *arguments: str) -> list[str]:
    """Return the command of a Python that runs `code`, which finds the arguments in `sys.argv[1:]`."""
    return [sys.executable, "-c", _FIRST + code, *arguments]


def omni_warp(*arguments: str) -> list[str]:
    """Return the command that does what `omni-warp` does with these arguments."""
    return command("from omni.warp_core.cli import main; sys.exit(main())", *arguments)
