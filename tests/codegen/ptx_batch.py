"""For tests that make PTX of much: in a child process, as LLVM may end it, and many kernels in one file for ptxas."""

from __future__ import annotations

import os
import pickle
import re
import traceback
import warnings
from collections.abc import Callable, Iterable

import pytest

from omni.warp_core.codegen.cuda import ptx
from omni.warp_core.codegen.target import cuda

EVERYTHING = os.environ.get("OMNI_WARP_PTX") == "all"  # `make fuzz` compiles all in all ways, the suite a part of it

# Names that a module defines: kernels and functions, and data.
_FUNCTION = re.compile(r"^(?:\.visible )?\.(?:entry|func)\s+(?:\([^)]*\)\s*)?([\w$]+)", re.MULTILINE)
_DATA = re.compile(r"^\.(?:visible )?(?:global|const)[^;\[=]*?\s([\w$]+)(?:\[\d*\])?\s*(?:=|;)", re.MULTILINE)
_OUTSIDE = re.compile(r"^\.extern \.func.*?^;", re.MULTILINE | re.DOTALL)
_LINES = re.compile(r"^\s*\.(?:loc|file|section)\b.*$", re.MULTILINE)
_HEAD = re.compile(r"\.version.*?\.address_size 64", re.DOTALL)


def in_child(work: Callable[[], Iterable[tuple[str, str]]]) -> dict[str, str]:
    """The (name, text) pairs that `work` gives, in a process of its own. The test fails where that process ends."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of fork beside the threads of the pool, which sleep
        child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            with os.fdopen(writer, "wb") as pipe:
                for pair in work():
                    pickle.dump(pair, pipe)
                    pipe.flush()
                pickle.dump(None, pipe)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)  # nothing of pytest goes on here
    os.close(writer)
    found: list[tuple[str, str] | None] = []
    with os.fdopen(reader, "rb") as pipe:
        while True:
            try:
                found.append(pickle.load(pipe))
            except EOFError:
                break
    status = os.waitpid(child, 0)[1]
    if not found or found.pop() is not None:
        last = found[-1] if found else None
        pytest.fail(f"the process ended with status {status} after {last[0] if last else 'nothing'}")
    return dict(pair for pair in found if pair is not None)


def assemble(texts: Iterable[str], capability: int) -> str:
    """Let ptxas assemble all of these modules at once; what it tells of them. Nothing where there is no ptxas."""
    made = ptx.assemble(_joined(list(texts)), cuda(capability), facts=True)
    return made[1] if made else ""


def _joined(texts: list[str]) -> str:
    """One module of many: names that a module defines get its number before them. Line tables are dropped."""
    bodies, outside, version = [], {}, max(_HEAD.match(t[t.index(".version") :])[0] for t in texts)  # type: ignore[index]
    for number, text in enumerate(texts):
        outside |= dict.fromkeys(_OUTSIDE.findall(text))
        text = _LINES.sub("", _OUTSIDE.sub("", _HEAD.sub("", text)))
        names = sorted({*_FUNCTION.findall(text), *_DATA.findall(text)}, key=len, reverse=True)
        pattern = rf"(?<![\w$%.])({'|'.join(map(re.escape, names))})(?=\b|_param)"
        bodies.append(re.sub(pattern, rf"m{number}_\1", text))
    return "\n".join([version, *outside, *bodies])
