"""Many functions in one compact file, each loaded when it is asked for.

`write` makes the bytes, `Pack` reads them. Opening a pack checks its tables and touches no function; `load` finds a
name by binary search over hashes, decompresses that function alone and, through it, the ones it calls. Damage raises
`PackError`, always: tables carry a CRC, each function the checksum of its compressed stream.

Layout, little-endian: header; index records sorted by name hash; offsets of strings; string data; 64-bit constants;
function streams. A function stream is zlib over 32-bit words (see `_Encoder` and `_Decoder`, which mirror each other).
Types, operation codes and names are strings. Of source positions the line in the function's own file is kept.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any

from ..lang import semantics
from ..lang.blake2 import blake2s
from ..lang.types import Packed, Scalar, Type, element, parse_type
from .attrs import decode, encode
from .nodes import Function, Loc, Operation, Region, Value
from .ops import OPS
from .printer import reachable

_MAGIC = b"WCIRPACK"
_VERSION = 1
_HEADER = struct.Struct("<8sIIIIII")  # magic, version, records, strings, string bytes, constants, CRC of the tables
_RECORD = struct.Struct("<QIIII")  # name hash, name, offset of the stream, its size, words in it
_MAX_WORDS = 1 << 24
_KERNEL, _LIBRARY, _COLD = 1, 2, 4
# What reading damaged words can run into.
_DAMAGE = (IndexError, KeyError, ValueError, TypeError, AttributeError, OverflowError, RecursionError, zlib.error)


class PackError(Exception):
    """The bytes are no pack, a damaged one, or lack the function asked for."""


def _hash(name: str) -> int:
    return int.from_bytes(blake2s(name.encode(), digest_size=8).digest(), "little")


# -- writing ----------------------------------------------------------------------------------------------------


def write(functions: Mapping[str, Function]) -> bytes:
    """The pack of `functions` by name, and of what they call under names of its own making."""
    named = _all_names(functions)
    tables = _Tables()
    streams = []
    for function, name in named.items():
        words = _Encoder(tables, named).function(function)
        streams.append((_hash(name), tables.string(name), len(words), zlib.compress(words.tobytes(), 9)))
    streams.sort(key=lambda s: s[0])
    strings = [s.encode() for s in tables.strings]
    offsets = array("I", [0])
    for s in strings:
        offsets.append(offsets[-1] + len(s))
    index, at = b"", 0
    for key, name_id, count, stream in streams:
        index += _RECORD.pack(key, name_id, at, len(stream), count)
        at += len(stream)
    body = index + _little(offsets) + b"".join(strings) + b"".join(c.to_bytes(8, "little") for c in tables.constants)
    counts = len(streams), len(strings), offsets[-1], len(tables.constants)
    head = _HEADER.pack(_MAGIC, _VERSION, *counts, 0)
    crc = zlib.crc32(body, zlib.crc32(head))
    return _HEADER.pack(_MAGIC, _VERSION, *counts, crc) + body + b"".join(s[3] for s in streams)


def _little(words: array) -> bytes:
    return struct.pack(f"<{len(words)}I", *words)


def _all_names(functions: Mapping[str, Function]) -> dict[Function, str]:
    """A name for each function that must go into the pack; callees get one with a `#`."""
    named = {function: name for name, function in functions.items()}
    if len(named) != len(functions):
        raise PackError("the same function under two names")
    for function in reachable(list(functions.values())):
        if function not in named:
            named[function] = f"{function.name}#{len(named)}"
    return named


class _Tables:
    """Tables that all functions share: strings and constants, each once."""

    def __init__(self) -> None:
        self.strings: dict[str, int] = {}
        self.constants: list[int] = []
        self._runs: dict[tuple[int, ...], int] = {}

    def string(self, s: str) -> int:
        return self.strings.setdefault(s, len(self.strings))

    def run(self, bits: tuple[int, ...]) -> int:
        """Return where the constants `bits` stand one after the other."""
        if bits not in self._runs:
            self._runs[bits] = len(self.constants)
            self.constants += bits
        return self._runs[bits]


class _Encoder:
    def __init__(self, tables: _Tables, names: Mapping[Function, str]):
        self._tables, self._names = tables, names
        self._numbers: dict[Value, int] = {}
        self._file = ""
        self._words = array("I")

    def function(self, function: Function) -> array:
        flags = _KERNEL * function.is_kernel | _LIBRARY * function.is_library | _COLD * function.is_cold
        self._file = function.loc.file if function.loc else ""
        place = _relative(self._file)
        string = self._tables.string
        self._put(string(function.name), flags, string(place), self._line(function.loc))
        self._put(len(function.results), *(string(t.key) for t in function.results))
        self._region(function.body)
        return self._words

    def _put(self, *words: int) -> None:
        self._words.extend(words)

    def _line(self, loc: Loc | None) -> int:
        return loc.line if loc is not None and loc.file == self._file else 0

    def _define(self, values: Any) -> None:
        self._put(len(values))
        for v in values:
            self._numbers[v] = len(self._numbers)
            self._put(self._tables.string(v.type.key), self._tables.string(v.name))

    def _region(self, region: Region) -> None:
        self._define(region.params)
        self._put(len(region.ops))
        for op in region.ops:
            self._operation(op)

    def _operation(self, op: Operation) -> None:
        self._put(self._tables.string(op.code), self._line(op.loc), len(op.args))
        self._put(*(self._numbers[a] for a in op.args))
        self._define(op.results)
        if op.code == "const":
            self._put(self._constant(op.attr, op.results[0].type))
        else:
            atoms = encode(op)
            self._put(len(atoms))
            for atom in atoms:
                self._put(*self._atom(atom))
        for region in op.regions:
            self._region(region)

    def _constant(self, value: Any, t: Type) -> int:
        s = element(t)
        assert isinstance(s, Scalar)
        return self._tables.run(
            tuple(semantics.bits_of(v, s) for v in (value if isinstance(value, tuple) else (value,)))
        )

    def _atom(self, atom: Any) -> tuple[int, int]:
        if isinstance(atom, Function):
            return 2, self._tables.string(self._names[atom])
        if isinstance(atom, str):
            return 1, self._tables.string(atom)
        return 0, atom << 1 if atom >= 0 else (-atom << 1) - 1


def _relative(file: str) -> str:
    """A library file without the directories that differ between machines."""
    _, mark, after = file.replace("\\", "/").rpartition("omni/warp_core/")
    return mark + after if mark else file


# -- reading ----------------------------------------------------------------------------------------------------


class Pack:
    """A pack in memory. `load` may be called from several threads."""

    def __init__(self, data: bytes | mmap.mmap):
        view = memoryview(data)
        if len(view) < _HEADER.size:
            raise PackError("not a pack: too short")
        magic, version, records, strings, string_bytes, constants, crc = _HEADER.unpack_from(view)
        if magic != _MAGIC or version != _VERSION:
            raise PackError("not a pack of this version")
        at = _HEADER.size
        sizes = records * _RECORD.size, 4 * (strings + 1), string_bytes, 8 * constants
        if at + sum(sizes) > len(view):
            raise PackError("the tables are cut off")
        head = _HEADER.pack(magic, version, records, strings, string_bytes, constants, 0)
        if zlib.crc32(view[at : at + sum(sizes)], zlib.crc32(head)) != crc:
            raise PackError("the tables are damaged")
        sections = []
        for size in sizes:
            sections.append(view[at : at + size])
            at += size
        self._records, self._offsets, self._strings, self._constants = sections
        self._streams = view[at:]
        self._count = records
        self._loaded: dict[str, Function] = {}
        self._known: dict[int, str] = {}
        self._types: dict[int, Type] = {}

    @classmethod
    def open(cls, path: str | PathLike) -> Pack:
        """The pack in a file, mapped into memory. Raises `OSError` and `PackError`."""
        with open(path, "rb") as f:
            try:
                return cls(mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ))
            except ValueError as e:  # an empty file cannot be mapped
                raise PackError(f"{path}: {e}") from None

    def names(self) -> list[str]:
        """All names in the pack."""
        return [self.string(_RECORD.unpack_from(self._records, i * _RECORD.size)[1]) for i in range(self._count)]

    def __contains__(self, name: str) -> bool:
        return self._find(name) is not None

    def load(self, name: str) -> Function:
        """The function `name`; the same object each time. Raises `PackError`."""
        return self._load(name, ())

    def _load(self, name: str, callers: tuple[str, ...]) -> Function:
        found = self._loaded.get(name)
        if found is None:
            if name in callers:
                raise PackError(f"{name!r} calls itself")
            try:
                words = self._words(name)
                decoder = _Decoder(self, words, lambda callee: self._load(callee, (*callers, name)))
                found = self._loaded.setdefault(name, decoder.function())
            except _DAMAGE as e:
                raise PackError(f"function {name!r} is damaged: {e!r}") from e
        return found

    def _find(self, name: str) -> tuple[int, int, int] | None:
        """Offset, size and word count of the stream of `name`."""
        key = _hash(name)
        first = bisect_left(range(self._count), key, key=self._key) if self._count else 0
        for i in range(first, self._count):
            found, name_id, *place = _RECORD.unpack_from(self._records, i * _RECORD.size)
            if found != key:
                break
            if self.string(name_id) == name:
                return tuple(place)  # type: ignore[return-value]
        return None

    def _key(self, i: int) -> int:
        return _RECORD.unpack_from(self._records, i * _RECORD.size)[0]

    def _words(self, name: str) -> tuple[int, ...]:
        place = self._find(name)
        if place is None:
            raise PackError(f"no function {name!r}")
        offset, size, count = place
        if count > _MAX_WORDS or offset + size > len(self._streams):
            raise PackError(f"the stream of {name!r} is cut off")
        stream = zlib.decompressobj()
        data = stream.decompress(self._streams[offset : offset + size], 4 * count + 1)
        if not stream.eof or len(data) != 4 * count:
            raise PackError(f"the stream of {name!r} is damaged")
        return struct.unpack(f"<{count}I", data)

    # -- tables -------------------------------------------------------------------------------------------------

    def string(self, i: int) -> str:
        """Entry `i` of the string table."""
        found = self._known.get(i)
        if found is None:
            if 4 * i + 8 > len(self._offsets):
                raise PackError(f"no string {i}")
            start, end = struct.unpack_from("<II", self._offsets, 4 * i)
            found = self._known[i] = str(self._strings[start:end], "utf-8")
        return found

    def type(self, i: int) -> Type:
        """The type whose key is entry `i` of the string table."""
        found = self._types.get(i)
        if found is None:
            found = self._types[i] = parse_type(self.string(i))
        return found

    def constant(self, i: int, t: Type) -> Any:
        """The constant of type `t` that starts at entry `i`."""
        s = element(t)
        if not isinstance(s, Scalar):
            raise PackError(f"a constant of type {t}")
        count = t.count if isinstance(t, Packed) else 1
        if 8 * (i + count) > len(self._constants):
            raise PackError(f"no constants {i}..{i + count}")
        bits = struct.unpack_from(f"<{count}Q", self._constants, 8 * i)
        leaves = tuple(semantics.from_bits(b & ((1 << s.bits) - 1), s) for b in bits)
        return leaves if isinstance(t, Packed) else leaves[0]


class _Decoder:
    def __init__(self, pack: Pack, words: tuple[int, ...], link: Callable[[str], Function]):
        self._pack, self._link = pack, link
        self._next = iter(words).__next__
        self._values: list[Value] = []
        self._file = ""

    def function(self) -> Function:
        try:
            return self._function()
        except StopIteration:
            raise PackError("the words end early") from None

    def _function(self) -> Function:
        take, string = self._next, self._pack.string
        name, flags, self._file, line = string(take()), take(), string(take()), take()
        results = tuple([self._pack.type(take()) for _ in range(take())])
        kernel, library, cold = (bool(flags & bit) for bit in (_KERNEL, _LIBRARY, _COLD))
        function = Function(name, [], results, kernel, self._loc(line), library, cold)
        function.body = self._region()
        return function

    def _loc(self, line: int) -> Loc | None:
        return Loc(self._file, line) if line else None

    def _define(self, op: Operation | None) -> list[Value]:
        take, pack = self._next, self._pack
        new = []
        for i in range(take()):
            t = pack.type(take())
            new.append(Value(t, op, i if op is not None else 0, pack.string(take())))
        self._values += new
        return new

    def _region(self) -> Region:
        region = Region(self._define(None))
        region.ops = [self._operation() for _ in range(self._next())]
        return region

    def _operation(self) -> Operation:
        take, pack, values = self._next, self._pack, self._values
        code, line = pack.string(take()), take()
        op = Operation(code, [values[take()] for _ in range(take())], None, self._loc(line))
        op.results = tuple(self._define(op))
        if code == "const":
            op.attr = pack.constant(take(), op.results[0].type)
        else:
            atoms = tuple([self._atom() for _ in range(take())])
            op.attr = decode(code, atoms, op.results[0].type if op.results else None)
        op.regions = tuple([self._region() for _ in range(OPS[code].regions)])
        return op

    def _atom(self) -> Any:
        tag, word = self._next(), self._next()
        if tag == 2:
            return self._link(self._pack.string(word))
        if tag == 1:
            return self._pack.string(word)
        return -(word + 1 >> 1) if word & 1 else word >> 1
