"""The content hash of a kernel: equal hashes mean equal IR, up to line numbers.

It covers the text of the kernel and of every function it may call, the types of their parameters, and each value they
capture. Builtins count by name (the version of the library is part of the cache key elsewhere). Nothing is parsed: the
names a function uses come from its compiled code, and more names than needed only make the hash more careful.

A captured module, class or other object counts by the attributes that functions read of it. One that is passed on, or
that a local refers to, counts by all attributes that functions read of their locals.
"""

from __future__ import annotations

import builtins
import dis
import enum
import os
import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ..lang.annotations import evaluate_for, type_or_none
from ..lang.blake2 import blake2b
from ..lang.custom_gradients import GradientOf
from ..lang.deep_recursion import with_large_stack
from ..lang.kernel import Definition, Function, static
from ..lang.prim import Prim
from ..lang.registry import Builtin, Intrinsic
from ..lang.types import Struct, Type
from ..lang.values.struct_operators import StructOperator, all_supplied
from ..lang.values.value_classes import to_leaves
from .static_expressions import MISSING, outer, static_expressions

PACKAGE = __name__.rpartition(".front")[0]  # resolve has it too, but needs all of the front end
_MOST_OBJECTS = 10_000  # whose contents are read for a `wp.static` expression; with more no two hashes are equal
_MOST_PASSED = 1000  # objects whose attributes are read; with more of them no two hashes are equal
_OUTER = ("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME", "LOAD_CLASSDEREF", "LOAD_FROM_DICT")  # instructions
_STATIC = "static"  # the name of what `wp.static` gives
_UNKNOWN_STATIC = "unknown static"  # begins the part of an expression that cannot be computed here
_LOCAL_TYPE = re.compile(r"^\s+[A-Za-z_]\w*\s*:\s*([^=\n]+)=", re.MULTILINE)
_BUILTIN = re.compile(r"^\S+ = (builtin|operator) ")
_FUNCTION = re.compile(r"(.*) = function ([\w ]*)")  # with the numbers or hashes of its definitions
_WORD = re.compile(r"[A-Za-z_]\w*")


def digest(kernel: Definition, positions: bool = False) -> str:
    """The hash of everything that can change what the kernel means, in hexadecimal.

    Args:
        kernel: the kernel, or function.
        positions: whether the lines where the code stands count too, for code that reports them.

    Raises:
        TypeError: a parameter has no type, or one that kernels do not know.
        CompileError: functions call each other too deeply.
    """
    return Meaning(_written(kernel, positions).sections).digest()


def _hashed(parts: Iterable[str]) -> str:
    return blake2b("\0".join(parts).encode(), digest_size=20).hexdigest()


class Meaning(NamedTuple):
    """All that `digest` hashes: the parts of each definition in the order of `definitions`, and last those of locals.
    A function is named by the numbers of its definitions.
    """

    sections: list[list[str]]

    def digest(self) -> str:
        """The hash, as the function `digest` returns it."""
        return _hashed(chain.from_iterable(self.sections))

    def lines(self) -> set[str]:
        """The parts, with hashes in place of the numbers of functions: of each function with all that it uses."""
        hashes: dict[int, str] = {}
        return {line for number in range(len(self.sections)) for line in self._with_hashes(number, hashes)}

    def _with_hashes(self, number: int, hashes: dict[int, str]) -> list[str]:
        return [
            f"{m[1]} = function {' '.join(self._hash(int(n), hashes) for n in m[2].split())}" if m else line
            for line, m in ((line, _FUNCTION.fullmatch(line)) for line in self.sections[number])
        ]

    def _hash(self, number: int, hashes: dict[int, str]) -> str:
        if number not in hashes:
            hashes[number] = self.sections[number][0]  # its name, for calls of itself
            hashes[number] = _hashed(self._with_hashes(number, hashes))
        return hashes[number]


def meaning(kernel: Definition) -> tuple[Meaning, list[Definition]]:
    """What a kernel means now, to compare with what it means later, and its `definitions`."""
    writer = _written(kernel)
    return Meaning(writer.sections), writer.definitions


def changed_names(kernel: Definition, before: Meaning, after: Meaning) -> list[str]:
    """The outer names that the kernel or its functions use and whose values differ between two meanings.

    A meaning also has values of names that are the attributes of something else; these do not count.
    """
    loaded = {_STATIC} | {
        i.argval for d in definitions(kernel) for i in dis.get_instructions(d.func) if i.opname.startswith(_OUTER)
    }
    differing = before.lines() ^ after.lines()
    changed = {line for line in differing if line.partition(" = ")[0].partition(".")[0] in loaded}
    values = {line for line in changed if not _FUNCTION.fullmatch(line)}  # a function has changed with what it uses
    names = {line.partition(" = ")[0] for line in values or changed}
    return sorted("wp.static(...)" if name == _STATIC else name for name in names)


def definitions(kernel: Definition) -> list[Definition]:
    """The kernel (or function) and all functions that it may call, in an order that equal kernels share."""
    return _written(kernel).definitions


class UsedNames(NamedTuple):
    """The names that a kernel and the functions that it may call use, with those of builtins and struct operators.

    `has_unknown`: a function may come from a `wp.static` expression that cannot be computed here.
    """

    names: frozenset[str]
    has_unknown: bool

    def mention(self, builtins: Collection[str], unknown: bool = False) -> bool:
        """True if one of some builtins is mentioned. `unknown` is the answer where a function is unknown."""
        return (unknown and self.has_unknown) or not self.names.isdisjoint(builtins)


def used_names(kernel: Definition) -> UsedNames:
    writer = _written(kernel)
    named = {name for d in writer.definitions for name in names_of(d.func.__code__)}
    parts = list(chain.from_iterable(writer.sections))
    named.update(_BUILTIN.sub("", line) for line in parts if _BUILTIN.match(line))
    return UsedNames(frozenset(named), any(line.startswith(_UNKNOWN_STATIC) for line in parts))


@lru_cache(4096)  # many kernels use a function, and each reads it several times
def names_of(code: CodeType) -> tuple[str, ...]:
    """Every global, attribute and outer name that the code or code inside it mentions."""
    found = [*code.co_names, *code.co_freevars]
    for c in code.co_consts:
        if isinstance(c, CodeType):
            found += names_of(c)
    return tuple(dict.fromkeys(found))


@lru_cache(4096)
def attribute_reads(code: CodeType) -> tuple[tuple[str | None, tuple[str, ...]], ...]:
    """What the code reads of outer names: each name with the attributes of attributes that follow it, none if it is
    used as it is. Attributes of anything else have None for the name.
    """
    found: dict[tuple[str | None, tuple[str, ...]], None] = {}
    root: str | None = None
    path: tuple[str, ...] = ()
    for i in dis.get_instructions(code):
        if i.opname == "EXTENDED_ARG":
            continue
        is_attribute = i.opname in ("LOAD_ATTR", "LOAD_METHOD")
        if is_attribute and root is not None:
            path = (*path, i.argval)
            continue
        if root is not None:
            found[root, path] = None
        root, path = (i.argval, ()) if i.opname.startswith(_OUTER) else (None, ())
        if is_attribute:
            found[None, (i.argval,)] = None
    for c in code.co_consts:
        if isinstance(c, CodeType):
            found |= dict.fromkeys(attribute_reads(c))
    return tuple(found)


@lru_cache(4096)
def _loose_reads(code: CodeType) -> tuple[str, ...]:
    """The attributes that the code reads of anything but outer names."""
    return tuple(path[0] for root, path in attribute_reads(code) if root is None)


def normal_text(block: Iterable[str]) -> str:
    """The lines of a definition without blank and comment lines, and without their common indentation."""
    lines = list(block)
    if any('"""' in line or "'''" in line for line in lines):
        return "".join(lines)
    indent = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    kept = (line[indent:] if line[:indent].isspace() or not indent else line for line in lines)
    return "".join(line.rstrip() + "\n" for line in kept if is_code(line))


def is_code(line: str) -> bool:
    """True if a line is neither blank nor a comment."""
    return bool(line.strip()) and line.lstrip()[0] != "#"


class _Text(NamedTuple):
    """What of a definition is the same whatever its names stand for.

    Attributes:
        normal: its text, see `normal_text`.
        annotations: the words in annotations of its locals.
    """

    normal: str
    annotations: list[str]


_texts: WeakKeyDictionary[Definition, _Text] = WeakKeyDictionary()


def _text_of(d: Definition) -> _Text:
    found = _texts.get(d)
    if found is None:
        text = normal_text(d.source.block())
        words = [w for m in _LOCAL_TYPE.finditer(text) for w in _WORD.findall(m.group(1))]
        found = _texts[d] = _Text(text, words)
    return found


def _written(kernel: Definition, positions: bool = False) -> _Writer:
    """Return a writer that has collected the parts of `kernel`."""

    def write() -> _Writer:
        writer = _Writer(positions)
        writer.definition(kernel)
        writer.sections.append(writer.parts)
        writer.attributes_of_locals()
        return writer

    return with_large_stack(write, kernel.subject)


class _Writer:
    """Collects the parts of the hash; each function and namespace once.

    Attributes:
        definitions: those that were found.
        sections: the parts of each definition, and last those of locals.
        parts: the section that is written.
    """

    def __init__(self, positions: bool) -> None:
        self.definitions: list[Definition] = []
        self.sections: list[list[str]] = []
        self.parts: list[str] = []
        self._finds_static = False  # whether the definition that is written may call `wp.static`
        self._sections: dict[Definition, int] = {}  # numbers of definitions
        self._numbers: dict[tuple[str, int], int] = {}  # of objects that are written once, by how and by their ids
        self._kept: list[Any] = []  # these objects, as ids are those of objects that live
        self._passed: list[tuple[str, Any]] = []  # objects that locals may be, with names for them
        self._positions = positions
        self._seen: set[Any] = set()

    def definition(self, d: Definition) -> int:
        """A kernel or function with everything it uses. Returns its number."""
        if d not in self._sections:
            self._sections[d] = len(self.definitions)
            self.definitions.append(d)
            before = self.parts, self._finds_static
            self.parts = []
            self.sections.append(self.parts)
            self._write(d)
            self.parts, self._finds_static = before
        return self._sections[d]

    def _write(self, d: Definition) -> None:
        text, annotations = _text_of(d)
        self.parts += [d.name, text]
        if self._positions:
            self.parts += [f"{d.source.filename}:{d.source.first_line}", *d.source.block()]
        for name, t in d.params:
            self.parts.append(f"{name}: {t!r}")
            self._supplied(t)
        for name, value in d.defaults.items():
            self.value(name, value)
        returns = d.func.__annotations__.get("return")
        if returns is not None:
            self.parts.append(self._return_type(d, returns))
        names = names_of(d.func.__code__)
        self._finds_static = "static" in names
        self._captures(d.func, names, annotations)
        if self._finds_static:
            self._statics(d)

    def _is_first(self, how: str, name: str, x: Any) -> bool:
        """True if an object is to be written. One that was written before counts by its number."""
        number = self._numbers.setdefault((how, id(x)), len(self._kept))
        if number < len(self._kept):
            self.parts.append(f"{name} = {how} {number}")
            return False
        self._kept.append(x)
        return True

    def _supplied(self, t: Any) -> None:
        """The functions that a struct type supplies for operators."""
        if isinstance(t, Struct) and t not in self._seen:
            self._seen.add(t)
            for name, f in all_supplied(t):
                self.value(name, f)

    def _return_type(self, d: Definition, annotation: Any) -> str:
        try:
            found = evaluate_for(annotation, d.func, d.frame_locals)
        except Exception:
            return "?"
        parts = getattr(found, "__args__", None) or (found,)
        return f"-> {[repr(type_or_none(p)) for p in parts]}"

    def _captures(self, func: FunctionType | Any, names: tuple[str, ...], annotations: list[str]) -> None:
        """The values that names stand for where the function was defined."""
        found = {name: outer(func, name) for name in dict.fromkeys([*names, *annotations])}
        for name, x in found.items():
            if x is not MISSING:
                self.value(name, x)
            elif hasattr(builtins, name):
                self.parts.append(f"builtin {name}")
        owners = {name for name, x in found.items() if _has_attributes(x)}
        for root, path in attribute_reads(func.__code__) if owners else ():
            if root in owners:
                self._attributes(root, found[root], path)
        for name in owners.intersection(annotations):
            for other in annotations:
                self._attribute(name, found[name], other)

    def _attributes(self, name: str, x: Any, path: Sequence[str]) -> None:
        """What attributes of attributes lead to, which may be passed on."""
        for attribute in path:
            name, x = f"{name}.{attribute}", self._attribute(name, x, attribute)
            if x is MISSING:
                return
        self._pass(name, x)

    def _attribute(self, owner: str, x: Any, name: str) -> Any:
        """An attribute as the front end finds it, or MISSING."""
        try:
            found = getattr(x, name, MISSING)
        except Exception as e:
            self.parts.append(f"{owner}.{name} raises {type(e).__name__}")
            return MISSING
        if found is not MISSING:
            self.value(f"{owner}.{name}", found)
        return found

    def _pass(self, name: str, x: Any) -> None:
        """Record what a local may be."""
        if isinstance(x, (tuple, list)):
            for item in x:
                self._pass(name, item)
        elif _has_attributes(x) and self._is_first("object", name, x):
            self._passed.append((name, x))

    def attributes_of_locals(self) -> None:
        """The attributes of what locals may be, until they lead to nothing more."""
        done: set[tuple[int, str]] = set()
        while left := [(i, read) for read in self._loose() for i in range(len(self._passed)) if (i, read) not in done]:
            done.update(left)
            for i, read in left:
                name, x = self._passed[i]
                if len(self._passed) < _MOST_PASSED:
                    self._pass(f"{name}.{read}", self._attribute(name, x, read))
                else:  # attributes that are made when they are read
                    self._is_unlike_others(f"{name}.{read}")

    def _loose(self) -> list[str]:
        """The attributes that functions read of their locals."""
        if not self._passed:
            return []
        return list(dict.fromkeys(read for d in self.definitions for read in _loose_reads(d.func.__code__)))

    def value(self, name: str, x: Any) -> None:
        """A captured value under its name."""
        if x is None or isinstance(x, (bool, int, float, str, bytes)):
            number = x.value if isinstance(x, enum.Enum) else x
            self.parts.append(f"{name} = {type(number).__name__} {number!r}")
        elif isinstance(x, (tuple, list)):
            self.parts.append(f"{name} = {len(x)} items")
            for item in x:
                self.value(name, item)
        elif isinstance(x, Function):
            self._function(name, x)
        elif isinstance(x, GradientOf):
            self.value(f"{name} = gradient", x.of)
        elif isinstance(x, (Builtin, Intrinsic, Prim)):
            self.parts.append(f"{name} = builtin {x.name}")
        elif isinstance(x, StructOperator):
            self.parts.append(f"{name} = operator {x.name}")
        elif isinstance(x, ModuleType):
            self.parts.append(f"{name} = module {x.__name__}")
        else:
            self._object(name, x)

    def _function(self, name: str, f: Function) -> None:
        numbers = [self.definition(overload) for overload in f.overloads]
        for custom in f.customs:
            self.parts.append(f"{name} has {type(custom).__name__}")
            numbers.append(self.definition(custom))
        self.parts.append(f"{name} = function {' '.join(map(str, numbers))}")

    def _object(self, name: str, x: Any) -> None:
        t = type_or_none(x)
        if isinstance(getattr(type(x), "__wc_type__", None), Type) and not hasattr(x, "ndim"):
            leaves = to_leaves(x, type(x).__wc_type__)
            self.parts.append(f"{name} = {type(x).__wc_type__!r} {leaves!r}")
        elif t is not None:
            self.parts.append(f"{name} = type {t!r}")
            self._supplied(t)
        elif isinstance(x, enum.Enum):
            self.value(name, x.value)
        elif isinstance(x, (FunctionType, MethodType)):
            self._finds_static |= x is static
            self._plain_function(name, x.__func__ if isinstance(x, MethodType) else x)
        elif isinstance(x, type):
            self.parts.append(f"{name} = class {x.__qualname__}")
        elif getattr(x, "shape", None) == () and hasattr(x, "item"):
            self.parts.append(f"{name} = {type(x).__name__} {x.item()!r}")
        else:
            self.parts.append(f"{name} = {type(x).__qualname__}")

    def _plain_function(self, name: str, f: Any) -> None:
        """A Python function: it can matter to `wp.static` only, through what it computes."""
        if id(f) in self._seen:
            return
        self._seen.add(id(f))
        self.parts.append(f"{name} = python {_code_text(f.__code__)}")

    def _statics(self, d: Definition) -> None:
        """The values of `wp.static` expressions; the contents of what they read, where that cannot be computed here."""
        for expression in static_expressions(d):
            if expression.value is not MISSING:
                self.value(_STATIC, expression.value)
                self._pass(_STATIC, expression.value)
                continue
            self.parts.append(_UNKNOWN_STATIC)
            for name, x in expression.reads:
                self._contents(name, x)

    def _contents(self, name: str, x: Any) -> None:
        """All that a Python expression may find in an object."""
        if x is None or isinstance(x, (bool, int, float, str, bytes, Function, GradientOf, Builtin, Intrinsic, Prim)):
            self.value(name, x)
        elif self._is_first("contents", name, x):
            self._contents_of(name, x)

    def _contents_of(self, name: str, x: Any) -> None:
        if len(self._kept) > _MOST_OBJECTS:
            self._is_unlike_others(name)
        elif isinstance(x, (tuple, list, set, frozenset)):
            self.parts.append(f"{name} = {type(x).__name__} of {len(x)}")
            for item in sorted(x, key=repr) if isinstance(x, (set, frozenset)) else x:
                self._contents(name, item)
        elif isinstance(x, dict):
            self.parts.append(f"{name} = dict of {len(x)}")
            for pair in x.items():
                self._contents(name, pair)
        elif isinstance(x, FunctionType):
            self._function_contents(name, x)
        elif isinstance(x, MethodType):
            self._contents(name, (x.__func__, x.__self__))
        elif isinstance(x, (ModuleType, type)) or type_or_none(x) is not None:
            self.value(name, x)
            self._pass(name, x)
        elif hasattr(x, "tobytes") and hasattr(x, "dtype") and not getattr(x.dtype, "hasobject", True):
            self.parts.append(f"{name} = {x.dtype!r} {x.shape} {blake2b(x.tobytes(), digest_size=20).hexdigest()}")
        elif hasattr(x, "__dict__") and not hasattr(x, "__array__"):
            self.parts.append(f"{name} = {type(x).__qualname__}")
            self._contents(name, vars(x))
            for base in type(x).__mro__[:-1]:
                self._contents(name, [f for f in vars(base).values() if isinstance(f, FunctionType)])
        else:
            self._is_unlike_others(name)

    def _function_contents(self, name: str, f: FunctionType) -> None:
        self.parts.append(f"{name} = python {_code_text(f.__code__)}")
        self._contents(name, (f.__defaults__, f.__kwdefaults__))
        for other in names_of(f.__code__):
            if (found := outer(f, other)) is not MISSING:
                self._contents(other, found)

    def _is_unlike_others(self, name: str) -> None:
        """Let no other hash be equal, as what a kernel finds there is unknown."""
        self.parts.append(f"{_UNKNOWN_STATIC} {name} {os.urandom(8).hex()}")


def _has_attributes(x: Any) -> bool:
    """True if functions may read attributes of an object, or of one in a tuple (names.py says which).

    Attributes of the package itself, of its types and of builtin types do not count: they are the same everywhere.
    """
    if isinstance(x, (tuple, list)):
        return any(map(_has_attributes, x))
    if isinstance(x, ModuleType):
        return x.__name__.split(".")[:2] != PACKAGE.split(".") and not x.__name__.startswith(PACKAGE)
    if isinstance(x, (Definition, Builtin, Intrinsic, Prim, StructOperator, Type)) or x is static:
        return False
    if isinstance(x, (type, FunctionType)):
        return True
    return type(x).__module__ != "builtins" and not hasattr(x, "__array_interface__")


def _code_text(code: CodeType) -> str:
    """What a function does, with the functions that are defined in it."""
    consts = [_code_text(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {consts}"
