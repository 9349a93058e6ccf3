"""The keys of a test in a `.ogn`: which attribute each one names, and the value that belongs to it."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any, NamedTuple

SETS = {"inputs": "inputs", "state_set": "state", "state": "state"}
GETS = {"outputs": "outputs", "state_get": "state"}
_OTHERS = ("description", "setup", "gpu", "file")  # keys that name no attribute
_PORTS = ("inputs", "outputs", "state")


class Entry(NamedTuple):
    """A value of a test. `section` is the word before the name, or a bare name itself."""

    section: str
    name: str
    value: Any


def entries(test: dict) -> Iterator[Entry]:
    """Yield the values of a test for attributes of its node. Raises ValueError."""
    for key, value in test.items():
        if key in _OTHERS or key.startswith(("$", "/")):
            continue
        section, colon, name = key.partition(":")
        found = {name: value} if colon else value if section in SETS | GETS else {key: value}
        if not isinstance(found, dict):
            raise ValueError(f"{key}: must be an object")
        yield from (Entry(section, base, given) for base, given in found.items())


def full_name(entry: Entry, attributes: Container[str]) -> str:
    """Return the name with its port; a bare name that only one port has needs none. Raises ValueError."""
    port = (SETS | GETS).get(entry.section)
    if port is not None:
        return f"{port}:{entry.name}"
    found = [f"{port}:{entry.name}" for port in _PORTS if f"{port}:{entry.name}" in attributes]
    if len(found) != 1:
        why = "is on more than one port; write inputs: or outputs:" if found else "no such key"
        raise ValueError(f"{entry.name}: {why}")
    return found[0]
