"""The stub files of the package: `files` gives their names and texts. Every public name is in one of three places:

defined in head.pyi, written out from the library or the value types, or re-exported from the module that defines it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import omni.warp_core as wp
from omni.warp_core.lang import registry

from . import modules, values
from .builtins_ import Variables, signatures
from .names import ALIASES, VALUES
from .text import function

PACKAGE = Path(wp.__file__).parent
NOTICE = """\
# Written by `python -m tools.docs` from the source of the package; edit that, or tools/stubs/head.pyi.
# Of overloads that fit the first is taken, as in the library.
# mypy: disable-error-code="overload-overlap, overload-cannot-match"
"""


def files() -> dict[str, str]:
    """Name of each stub file -> its text."""
    texts = {
        "__init__.pyi": package(),
        "types.pyi": modules.types(wp.types),
        "utils.pyi": modules.utils(wp.utils),
        "config.pyi": modules.configuration(),
    }
    return {name: NOTICE + text for name, text in texts.items()} | {"py.typed": ""}


def package() -> str:
    """The stub of the package itself."""
    head, done = modules.head()
    done |= set(VALUES.values()) | set(ALIASES) | {"__version__", *wp._MODULES}
    variables = Variables()
    library = "\n".join(_library(variables, done))
    return "\n".join(
        [
            head,
            *_constants(),
            "",
            *values.scalars(),
            *values.values(),
            *_homes(done | set(_scalar_names())),
            '_A = TypeVar("_A", bound=_Array[Any])',
            *variables.definitions(),
            "",
            library,
        ]
    )


def _scalar_names() -> list[str]:
    return wp._HOMES["lang.values.scalars"].split()


def _constants() -> Iterator[str]:
    for name in wp._HOMES["lang.values.constants"].split():
        yield f"{name}: float"


def _homes(done: set[str]) -> Iterator[str]:
    """What the runtime and the language define: re-exported, unless arrays occur in it."""
    for home, names in wp._HOMES.items():
        for name in sorted(set(names.split()) - done):
            value = getattr(wp, name)
            if home == "lang.values.constants":
                continue
            if inspect.isfunction(value) and modules.mentions_arrays(value):
                yield modules.array_function(name, value)
            else:
                yield f"from .{home} import {name} as {name}"


def _library(variables: Variables, done: set[str]) -> Iterator[str]:
    """Builtins and intrinsics."""
    for name in sorted({*registry.index(), *registry.INTRINSICS} - done):
        found = registry.public(name)
        if isinstance(found, registry.Builtin):
            yield function(name, signatures(found, variables), found.__doc__)
        elif found is not None:
            yield function(name, _intrinsic(found), found.__doc__)


def _intrinsic(intrinsic: registry.Intrinsic) -> list[str]:
    """An intrinsic that head.pyi does not type: its parameters, of any type.

    One index stands for up to four; what reads or writes an element also takes the element itself, without indices.
    """
    given = inspect.signature(intrinsic.described)
    text = f"({modules.parameters(intrinsic.described, dict.fromkeys(given.parameters, 'Any'))}) -> Any"
    if "i" not in given.parameters:
        return [text]
    counts = (1, 2, 3, 4) if intrinsic.name.startswith("atomic_") else (1, 2, 3, 4, 0)
    indices = ["".join(f", {name}: Any" for name in "ijkl"[:n]) for n in counts]
    return [text.replace(", i: Any", each) for each in indices]
