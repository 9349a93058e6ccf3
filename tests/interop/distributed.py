"""Runs the programs of examples/distributed in several processes, for the tests of each engine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "examples" / "distributed"
SMALL = ("--rows", "48", "--columns", "37", "--steps", "20")


def free_port() -> int:
    """A port of this machine that nothing uses."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(command: list[str], **environment: str) -> subprocess.Popen:
    """Start a program that can import this package and the examples."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", **environment}
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen) -> str:
    """Return what a program prints. Fails with its errors if it fails."""
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err[-4000:] + out
    return out


def mpirun(ranks: int, name: str, *arguments: str) -> str:
    """Run a program on ranks of MPI."""
    command = [str(Path(sys.executable).parent / "mpirun"), "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]
    return finish(start([*command, sys.executable, str(PROGRAMS / name), *arguments]))
