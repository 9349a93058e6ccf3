"""The driver's `vprintf`: `printed`."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tests.ptx.machine import load

_FORM = re.compile(r"%([-+ 0#]*\d*(?:\.\d+)?)(ll|l|)([diuoxXcfeEgGsp%])")


def printed(m: Any, who: Any, form: np.ndarray, slots: np.ndarray) -> list[str]:
    """The text of each thread. Values lie one after the other, each aligned to its size."""
    return [_line(m, t, f, at) for t, f, at in zip(m.ids[who].tolist(), form.tolist(), slots.tolist())]


def _line(m: Any, thread: int, form: int, at: int) -> str:
    pattern, values = _text(m, form), []
    for _flags, length, kind in _FORM.findall(pattern):
        if kind == "%":
            continue
        size = 8 if length or kind in "feEgGsp" else 4
        at = -(-at // size) * size
        (bits,) = load(m, np.array([thread]), "", np.array([at], np.uint64), size, 1, False)
        at += size
        if kind in "feEgG":
            values.append(float(bits.view(np.float64)[0]))
        elif kind == "s":
            values.append(_text(m, int(bits[0])))
        elif kind in "di":
            values.append(int(bits.view(f"i{size}")[0]))
        else:
            values.append(int(bits[0]))
    return _FORM.sub(lambda found: f"%{found[1]}{found[3]}", pattern) % tuple(values)


def _text(m: Any, at: int) -> str:
    found = b""
    while not found.endswith(b"\0"):
        for _, content, offset in m.memory.find(np.array([at], np.uint64), 1):
            found += bytes(content[offset])
        at += 1
    return found[:-1].decode()
