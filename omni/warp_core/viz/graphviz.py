"""Pictures that Graphviz draws."""

from __future__ import annotations

import shutil
import subprocess


def draw(path: str, ending: str, text: str) -> None:
    """Draw a graph in the language of Graphviz into a file of that ending.

    Raises:
        RuntimeError: Graphviz is not installed.
    """
    program = shutil.which("dot")
    if program is None:
        raise RuntimeError(f"filename: {ending} is drawn by Graphviz, which is not installed; .svg needs nothing else")
    subprocess.run([program, f"-T{ending[1:]}", "-o", path], input=text.encode(), check=True)
