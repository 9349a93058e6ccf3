"""Which keys a `.ogn` file may have and what each may hold: the tables that ogn_spec.py checks against.

A check returns what is wrong with a value, None when nothing is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

COLOUR = re.compile(r"#[0-9A-Fa-f]{8}")
EXCLUDES = ("c++", "docs", "icon", "python", "template", "tests", "usd")
LANGUAGES = {"C++": "C++", "c++": "C++", "cpp": "C++", "Python": "Python", "python": "Python", "py": "Python"}
HINTS = frozenset(
    [f"{family}{kind}" for family in ("global", "static", "topology", "usd") for kind in ("", "-read", "-write")]
    + ["threadsafe", "pure", "compute-default", "compute-on-request"]
)


def _kind(*types: type) -> Callable[[Any], str | None]:
    words = {str: "a text", list: "a list", dict: "an object", bool: "true or false", int: "a whole number"}

    def check(value: Any) -> str | None:
        ok = isinstance(value, types) and not (isinstance(value, bool) and bool not in types)
        return None if ok else "must be " + " or ".join(words[t] for t in types)

    return check


def _one_of(*allowed: str) -> Callable[[Any], str | None]:
    def check(value: Any) -> str | None:
        return None if isinstance(value, str) and value in allowed else f"must be one of {', '.join(allowed)}"

    return check


def texts(value: Any) -> str | None:
    """A text, or a list of texts."""
    if isinstance(value, str) or (isinstance(value, list) and all(isinstance(v, str) for v in value)):
        return None
    return "must be a text or a list of texts"


def _ui_name(value: Any) -> str | None:
    return "must be a text without quotes" if not isinstance(value, str) or set("\"'") & set(value) else None


def _version(value: Any) -> str | None:
    ok = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    return None if ok else "must be a whole number of at least 1"


def _exclude(value: Any) -> str | None:
    ok = isinstance(value, list) and all(isinstance(v, str) and v in EXCLUDES for v in value)
    return None if ok else f"must be a list of {', '.join(EXCLUDES)}"


def _icon(value: Any) -> str | None:
    if not isinstance(value, dict):
        return _kind(str, dict)(value)
    for key in ("color", "backgroundColor", "borderColor"):
        colour = value.get(key, "#00000000")
        listed = isinstance(colour, list) and len(colour) == 4 and all(type(c) is int and 0 <= c <= 255 for c in colour)
        if not listed and not (isinstance(colour, str) and COLOUR.fullmatch(colour)):
            return f'{key} must be "#AABBGGRR" or four numbers from 0 to 255'
    return None


NODE_KEYS: dict[str, Callable[[Any], str | None]] = {
    "description": texts,
    "version": _version,
    "language": _one_of(*LANGUAGES),
    "uiName": _ui_name,
    "categories": _kind(str, list, dict),
    "categoryDefinitions": _kind(str, list, dict),
    "metadata": _kind(dict),
    "memoryType": _one_of("cpu", "cuda", "any"),
    "cudaPointers": _one_of("cpu", "cuda", "na"),
    "scheduling": texts,
    "singleton": _kind(bool),
    "tags": texts,
    "tokens": _kind(str, list, dict),
    "icon": _icon,
    "exclude": _exclude,
    "extras": _kind(list),
    "typeDefinitions": _kind(str, dict),
    "inputs": _kind(dict),
    "outputs": _kind(dict),
    "state": _kind(dict),
    "tests": _kind(list),
}
ATTRIBUTE_KEYS: dict[str, Callable[[Any], str | None]] = {
    "type": _kind(str, list),
    "description": texts,
    "default": lambda value: None,
    "minimum": lambda value: None,
    "maximum": lambda value: None,
    "optional": _kind(bool),
    "unvalidated": _kind(bool),
    "memoryType": _one_of("cpu", "cuda", "any"),
    "uiName": _ui_name,
    "allowedTokens": _kind(str, list, dict),
    "deprecated": texts,
    "metadata": _kind(dict),
}
