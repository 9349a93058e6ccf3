"""The environment that the peers live in, made once with venv and pip, and made anew when its requirements change."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[1]


def python(requirements: str = "peers.txt", folder: str = ".venv-peers") -> Path:
    """The peers' interpreter; their environment is made first if it is missing or stale."""
    environment = BENCHMARKS.parent / folder
    interpreter = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    installed = environment / requirements
    wanted = (BENCHMARKS / "requirements" / requirements).read_text()
    if not installed.exists() or installed.read_text() != wanted:
        print(f"Setting up the peers in {environment.name}/ (once)", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(environment)], check=True)
        subprocess.run(
            [
                str(interpreter),
                "-m",
                "pip",
                "install",
                "-q",
                "--disable-pip-version-check",
                "-r",
                str(BENCHMARKS / "requirements" / requirements),
            ],
            check=True,
        )
        installed.write_text(wanted)
    return interpreter
