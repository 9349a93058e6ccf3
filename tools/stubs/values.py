"""Stubs of the classes of scalars, vectors, matrices, quaternions and transforms."""

from __future__ import annotations

from collections.abc import Iterator

import omni.warp_core as wp
from omni.warp_core.lang.types import Mat, Quat, Scalar, Transform, Type, Vec

from .names import ALIASES, PLAIN, SCALARS, VALUES, accepted, literal, order, spell
from .text import docstring, indented


def scalars() -> Iterator[str]:
    """The scalar types that are not plain Python numbers."""
    for t in SCALARS:
        if t not in PLAIN:
            name = str(spell(t))
            base = "_Float" if t.is_float else "_Integer"
            yield f"class {name}({base}):\n{indented(docstring(getattr(wp, name).__doc__))}\n"


def values() -> Iterator[str]:
    """The named types, then their shorter names."""
    for t in sorted(VALUES, key=lambda t: (type(t).__name__, order(t))):
        yield _class(t)
    for alias, name in sorted(ALIASES.items()):
        yield f"{alias} = {name}\n"


def _named(t: Type) -> str:
    return VALUES.get(t) or "Any"


def _class(t: Type) -> str:
    s: Scalar = t.scalar  # type: ignore[attr-defined]
    pair = f"{spell(s)}, {literal(s)}"
    body: list[str] = [docstring(getattr(wp, VALUES[t]).__doc__)]
    if isinstance(t, Vec):
        base = f"_Vector[{pair}]"
        body += [_component(name, s) for name in "xyzw"[: t.count]]
    elif isinstance(t, Mat):
        base = f"_Matrix[{pair}, {_named(Vec(t.cols, s))}]"
    elif isinstance(t, Quat):
        base = f"_Quaternion[{pair}]"
        body += [_component(name, s) for name in "xyzw"]
    else:
        base = f"_Transform[{pair}, {_named(Vec(3, s))}, {_named(Quat(s))}]"
    body += [f"@typing.overload\ndef __init__(self, {form}) -> None: ..." for form in _forms(t, s)]
    return f"class {VALUES[t]}({base}):\n" + indented("\n".join(body)) + "\n"


def _component(name: str, s: Scalar) -> str:
    """An attribute; one of a type that is no Python number can be set to literals too."""
    if s in PLAIN:
        return f"{name}: {spell(s)}"
    get = f"@property\ndef {name}(self) -> {spell(s)}: ...\n"
    return get + f"@{name}.setter\ndef {name}(self, value: {accepted(s)}) -> None: ..."


def _forms(t: Type, s: Scalar) -> Iterator[str]:
    """The parameter lists of the constructor."""
    number, vec3 = f"{accepted(s)} | np.number[Any]", f"{_named(Vec(3, s))} | _Numbers"
    count = t.count  # type: ignore[attr-defined]
    single = "_Numbers" if isinstance(t, Transform) else f"{number} | _Numbers"
    yield f"value: {single} = ..., /"
    letters = "xyzw" if isinstance(t, (Vec, Quat)) and count <= 4 else [f"m{i}" for i in range(count)]
    yield ", ".join(f"{x}: {number}" for x in letters[:count]) + ", /"
    if isinstance(t, Mat):
        yield ", ".join(f"row{i}: {_named(Vec(t.cols, s))} | _Numbers" for i in range(t.rows)) + ", /"
    elif isinstance(t, Quat):
        yield f"v: {vec3}, w: {number}, /"
    elif isinstance(t, Transform):
        yield f"p: {vec3} = ..., q: {_named(Quat(s))} | _Numbers = ..."
    elif count == 6:
        yield f"top: {vec3}, bottom: {vec3}, /"
