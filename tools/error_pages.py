"""Writes docs/errors.md from the error tests, so that the page shows what the compiler says.

    python -m tools.docs    rewrites the page; tests/test_docs.py checks that it is up to date

Each file in a folder of tests/errors is one kind of mistake: its first docstring line names and explains it, `CASES`
has failing kernels, `REPAIRED` a repaired one. The page shows the case that the repaired kernel is closest to.
"""

from __future__ import annotations

import difflib
import importlib
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import omni.warp_core as wp  # noqa: E402
from tests.errors.report import PREAMBLE, check  # noqa: E402

PAGE = ROOT / "docs" / "errors.md"
HEAD = PREAMBLE + "\n"
INTRO = """\
# Errors

This page is written by `tools/error_pages.py` from the tests in `tests/errors`; edit those.

A kernel that cannot be compiled raises `wp.CompileError` at its first launch. The error lists every mistake in the
kernel. Each has a code in brackets, the place, what is wrong, and often help. `error.diagnostics` holds the same as
data. The other kernels of the file are not affected. Some mistakes also have a more precise class
(`CompileTypeError` is a `TypeError`, and so on).

An `InternalError` is a mistake of the compiler, not of your code. It names a file with the details; please report it.

A kernel that fails while it runs raises `wp.KernelError`: in debug mode (`wp.config.mode = "debug"`) with line, thread
and values; in release mode only where it uses memory that is not there, or an element that a tile does not have. See
[language.md](language.md#debugging).
"""


def report(text: str) -> str:
    """What the compiler says about the kernel `k` in `text`."""
    try:
        check(wp.kernel_from_source(text, filename="example.py", name="k"), block_dim=48)
    except wp.CompileError as error:
        return "\n\n".join(d.render() for d in error.diagnostics)
    raise SystemExit(f"this compiles, so it cannot show an error:\n{text}")


def section(module: ModuleType) -> str:
    """One mistake: what it is, a kernel that makes it, the report, the kernel repaired."""
    code, _, meaning = (module.__doc__ or "").splitlines()[0].partition(": ")
    texts = [text for text, *_ in module.CASES.values()]
    failing = HEAD + max(texts, key=lambda text: difflib.SequenceMatcher(None, text, module.REPAIRED).ratio())
    return (
        f"## {code}\n\n{meaning}\n\n"
        f"```python fails\n{failing}```\n\n```text\n{report(failing)}\n```\n\n"
        f"Repaired:\n\n```python\n{HEAD}{module.REPAIRED}```\n"
    )


def page() -> str:
    """The whole page."""
    paths = sorted((ROOT / "tests" / "errors").glob("*/test_*.py"), key=lambda path: path.stem)
    modules = [importlib.import_module(f"tests.errors.{path.parent.name}.{path.stem}") for path in paths]
    return "\n".join([INTRO, *(section(module) for module in modules if hasattr(module, "CASES"))])
