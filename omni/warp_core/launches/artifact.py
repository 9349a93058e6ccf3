"""A compiled kernel, or facts about a kernel, as the bytes of a file.

The file is a header (magic, format, checksum, two lengths), the facts as JSON, the object (for a GPU, PTX and machine
code). The checksum covers the key that the file is stored under and everything after it. The reader checks lengths
against the data, and each fact against the type that its class declares. A file that is truncated, altered, forged or
stored under another key is a `DamagedArtifact` and never a crash.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin

from ..compiler import Artifact
from ..ir.launch_facts import Offset, Utf8
from ..lang.blake2 import blake2b
from ..lang.types import Array, Type, parse_type

_Facts = TypeVar("_Facts", bound=NamedTuple)
_Read = TypeVar("_Read")

MAGIC = b"OmWarpK\n"
FORMAT = 14
_HEADER = struct.Struct("<8sI32sII")  # magic, format, checksum, length of the facts, length of the object
_LENGTHS = struct.Struct("<II")
MAX_BYTES = 1 << 28
_MAX_FACTS = 1 << 23  # parsed facts take some twenty times their length


class DamagedArtifact(ValueError):
    """The bytes are not an artifact of this format."""


class TooLarge(ValueError):
    """The file of an artifact would be larger than readers take."""


def to_bytes(artifact: Artifact, key: str) -> bytes:
    """Return the file image of `artifact` for storing it under `key`. Raises TooLarge."""
    facts = {k: v for k, v in artifact._asdict().items() if k not in ("code", "machine_code")}
    facts["code_bytes"] = len(artifact.code)
    return _image(facts, artifact.code + artifact.machine_code, key)


def from_bytes(data: bytes, key: str) -> Artifact:
    """Return the artifact whose file image under `key` is `data`. Raises DamagedArtifact on anything else."""
    return _parse(data, key, _artifact)


def facts_to_bytes(facts: NamedTuple, key: str) -> bytes:
    """Return the file image of facts alone, such as `Effects`, for storing them under `key`. Raises TooLarge."""
    return _image(facts, b"", key)


def facts_from_bytes(data: bytes, key: str, kind: type[_Facts]) -> _Facts:
    """Return the facts whose file image under `key` is `data`. Raises DamagedArtifact on anything else."""
    return _parse(data, key, lambda facts, _: _reader(kind)(facts))


def _image(facts: Any, code: bytes, key: str) -> bytes:
    meta = json.dumps(facts, separators=(",", ":"), default=_key).encode()
    if len(meta) > _MAX_FACTS or len(meta) + len(code) > MAX_BYTES - _HEADER.size:
        raise TooLarge(f"{len(meta)} bytes of facts and {len(code)} of code")
    content = _LENGTHS.pack(len(meta), len(code)) + meta + code
    return MAGIC + struct.pack("<I", FORMAT) + _checksum(key, content) + content


def _key(value: Any) -> str:
    """Return the text by which facts name a type."""
    if isinstance(value, Type):
        return value.key
    raise TypeError(f"{type(value).__name__} in facts")


def _parse(data: bytes, key: str, read: Callable[[Any, bytes], _Read]) -> _Read:
    """Return what `read` makes of the facts and the code in a file image."""
    if len(data) < _HEADER.size or len(data) > MAX_BYTES:
        raise DamagedArtifact(f"{len(data)} bytes")
    magic, version, digest, meta_length, code_length = _HEADER.unpack_from(data)
    if magic != MAGIC or version != FORMAT:
        raise DamagedArtifact("not an artifact of this format")
    if len(data) != _HEADER.size + meta_length + code_length or meta_length > _MAX_FACTS:
        raise DamagedArtifact("lengths disagree")
    if _checksum(key, memoryview(data)[_HEADER.size - _LENGTHS.size :]) != digest:
        raise DamagedArtifact("checksum differs")
    code = _HEADER.size + meta_length
    try:
        return read(json.loads(data[_HEADER.size : code]), data[code:])
    except (ValueError, RecursionError, MemoryError) as why:
        raise DamagedArtifact(f"facts: {why}") from None


def _checksum(key: str, content: bytes | memoryview) -> bytes:
    hashed = blake2b(f"{key}\n".encode(), digest_size=32)
    hashed.update(content)
    return hashed.digest()


# -- facts ----------------------------------------------------------------------------------------------------------

Reader = Callable[[Any], Any]  # takes a value of JSON; raises ValueError unless it is as it should be


def _exactly(kind: type) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise ValueError(f"{type(value).__name__} for {kind.__name__}")
        return value

    return read


def _within(low: int, high: int) -> Reader:
    def read(value: Any) -> int:
        if type(value) is not int or not low <= value < high:
            raise ValueError(f"no integer from {low} to {high}")
        return value

    return read


def _utf8(value: Any) -> str:
    _text(value).encode()
    return value


def _type(kind: type[Type]) -> Reader:
    def read(value: Any) -> Type:
        found = parse_type(_text(value))
        if not isinstance(found, kind):
            raise ValueError(f"{value} for {kind.__name__}")
        return found

    return read


def _each(read: Reader) -> Reader:
    return lambda value: tuple(map(read, _list(value)))


def _row(make: Reader, *reads: Reader) -> Reader:
    def read(value: Any) -> Any:
        if len(_list(value)) != len(reads):
            raise ValueError(f"{len(value)} values for {len(reads)}")
        return make([read(v) for read, v in zip(reads, value)])

    return read


def _optional(read: Reader) -> Reader:
    return lambda value: None if value is None else read(value)


def _dictionary(key: Reader, item: Reader) -> Reader:
    return lambda value: {key(k): item(v) for k, v in _dict(value).items()}


_text, _list, _dict = map(_exactly, (str, list, dict))
_SIMPLE: dict[Any, Reader] = {
    bool: _exactly(bool),
    float: _exactly(float),
    str: _text,
    Utf8: _utf8,
    int: _within(0, 1 << 31),
    Type: _type(Type),
    Array: _type(Array),
    Offset: _within(-(1 << 31), 1 << 31),
}


@cache
def _reader(t: Any) -> Reader:
    """Return the reader of values of a declared type."""
    origin, args = get_origin(t), get_args(t)
    if t in _SIMPLE:
        return _SIMPLE[t]
    if origin is dict:
        return _dictionary(*map(_reader, args))
    if origin is UnionType:
        return _optional(*(_reader(a) for a in args if a is not NoneType))
    if origin is None:
        return lambda value: _row(t._make, *_fields(t).values())(value)  # most artifacts have no value of most types
    return _each(_reader(args[0])) if args[1:] == (...,) else _row(tuple, *map(_reader, args))


@cache
def _fields(t: type) -> dict[str, Reader]:
    """Return the readers of the fields of a named tuple, whose module has no annotations as strings."""
    return {name: _reader(hint) for name, hint in t.__annotations__.items() if hint is not bytes}


def _facts() -> dict[str, Reader]:
    """Return the readers of all facts of an artifact."""
    return {**_fields(Artifact), "code_bytes": _SIMPLE[int]}


def _artifact(facts: Any, code: bytes) -> Artifact:
    readers = _facts()
    if _dict(facts).keys() != readers.keys():
        raise ValueError("other names")
    read = {name: readers[name](value) for name, value in facts.items()}
    end = _within(0, len(code) + 1)(read.pop("code_bytes"))
    artifact = Artifact(**read, code=code[:end], machine_code=code[end:])
    _check_indices(artifact)
    return artifact


def _check_indices(artifact: Artifact) -> None:
    """Raise ValueError if a fact speaks of a parameter that the kernel does not have."""
    count, found = len(artifact.params), artifact.accumulation
    parts = [*(s.array for s in found.stencils), *(p.array for p in found.privatized)]
    added = (*found.logged, *found.touched, *found.atomic, *parts, *found.exclusive)
    named = (*(need.param for need in artifact.needed), *(count.param for count in artifact.counts.arrays))
    named = (*named, *artifact.stores.ids, *(covered.param for covered in artifact.covered))
    used = (*(at.param for at in added), *named)
    if len(artifact.written) != count or len(artifact.reads) not in (0, count) or any(i >= count for i in used):
        raise ValueError("other parameters")
