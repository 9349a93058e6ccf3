"""Python programs in processes of their own: JAX reads the number of its devices once, and aborts take the process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def run(text: str, devices: int = 1, **environment: str) -> str:
    """Run a program with that many CPU devices of JAX; return its output. Fails with it if the program fails."""
    flags = f"--xla_force_host_platform_device_count={devices}"
    env = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", text], env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-4000:] + done.stdout[-1000:]
    return done.stdout


def run_file(text: str, folder: Path, devices: int = 1) -> str:
    """The same of a program in a file, as kernels need their source."""
    path = folder / "program.py"
    path.write_text(text)
    return run(f"import runpy; runpy.run_path({str(path)!r}, run_name='__main__')", devices)
