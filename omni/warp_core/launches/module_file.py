"""A module compiled ahead of time as the bytes of a file: artifacts for one target, as the kernel cache stores them.

The file is a header (magic, format, checksum, length of the table), a table as JSON, and the artifacts. The checksum
covers everything after it. Each artifact is what `artifact.py` writes, with a checksum, a format and checked facts of
its own, compressed. Bytes that are cut or altered, or that another version has written, are a `DamagedModule` whose
text says what is wrong. A checksum tells no friend from foe: the code of a file runs, so its origin must be trusted as
that of a Python module.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from .. import config
from ..compiler import Artifact
from ..lang.blake2 import blake2b
from . import artifact

MAGIC = b"OmWarpM\n"
FORMAT = 1
_HEADER = struct.Struct("<8sI32sI")  # magic, format, checksum, length of the table
_CHECKED_FROM = _HEADER.size - 4
MAX_BYTES = 1 << 30
_MAX_TABLE = 1 << 24


class DamagedModule(ValueError):
    """The bytes are not a module of this version."""


class CompiledModule(NamedTuple):
    """The content of a file.

    Attributes:
        name: the name of the module.
        target: the name of the machine that the code is for.
        by_name: whether keys have the names of kernels in place of their content.
        images: the artifacts by their keys (`ahead_table.key_of`), as `packed` gives them.
    """

    name: str
    target: str
    by_name: bool
    images: dict[str, bytes]


def packed(made: Artifact, key: str) -> bytes:
    """Return the image of an artifact. Raises `artifact.TooLarge`."""
    return zlib.compress(artifact.to_bytes(made, key))


def unpacked(image: bytes, key: str) -> Artifact:
    """Return the artifact of an image. Raises DamagedModule for other bytes."""
    try:
        opened = zlib.decompressobj()
        return artifact.from_bytes(opened.decompress(image, artifact.MAX_BYTES), key)
    except (zlib.error, artifact.DamagedArtifact) as why:
        raise DamagedModule(f"one of its kernels cannot be read ({why})") from None


def to_bytes(module: CompiledModule) -> bytes:
    """Return the file image of a module. Raises `artifact.TooLarge`."""
    images = module.images
    table = {
        "version": [config.package_version, artifact.FORMAT],
        "module": module.name,
        "target": module.target,
        "by_name": module.by_name,
        "kernels": {key: len(image) for key, image in images.items()},
    }
    text = json.dumps(table, separators=(",", ":")).encode()
    content = struct.pack("<I", len(text)) + text + b"".join(images.values())
    if len(text) > _MAX_TABLE or len(content) > MAX_BYTES - _HEADER.size:
        raise artifact.TooLarge(f"module {module.name!r}: {len(content)} bytes")
    return MAGIC + struct.pack("<I", FORMAT) + blake2b(content, digest_size=32).digest() + content


def from_bytes(data: bytes) -> CompiledModule:
    """Return the module whose file image is `data`. Raises DamagedModule on anything else."""
    if len(data) < _HEADER.size or len(data) > MAX_BYTES:
        raise DamagedModule(f"it has {len(data)} bytes")
    magic, version, digest, length = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise DamagedModule("it is no module that wp.compile_aot_module has written")
    if version != FORMAT:
        raise DamagedModule(f"it has format {version}, and this version reads format {FORMAT}")
    if blake2b(memoryview(data)[_CHECKED_FROM:], digest_size=32).digest() != digest:
        raise DamagedModule("its checksum differs, so it was cut or altered")
    if length > min(_MAX_TABLE, len(data) - _HEADER.size):
        raise DamagedModule("its table is longer than the file")
    start = _HEADER.size + length
    try:
        table = _checked(json.loads(data[_HEADER.size : start]))
    except (ValueError, RecursionError, MemoryError) as why:
        raise DamagedModule(f"its table cannot be read ({why})") from None
    return CompiledModule(table["module"], table["target"], table["by_name"], _images(table["kernels"], data, start))


def _checked(table: Any) -> dict[str, Any]:
    """Return a table whose values have the right types. Raises ValueError or DamagedModule."""
    types = {"version": list, "module": str, "target": str, "by_name": bool, "kernels": dict}
    if type(table) is not dict or table.keys() != types.keys():
        raise ValueError("other names")
    if any(type(table[name]) is not t for name, t in types.items()):
        raise ValueError("other types")
    if table["version"] != [config.package_version, artifact.FORMAT]:
        made, this = (".".join(map(str, v)) for v in (table["version"], [config.package_version, artifact.FORMAT]))
        raise DamagedModule(f"version {made} of this package has written it, and this is version {this}")
    if any(type(length) is not int or length < 0 for length in table["kernels"].values()):
        raise ValueError("other lengths")
    return table


def _images(lengths: Mapping[str, int], data: bytes, start: int) -> dict[str, bytes]:
    """Return the images that lie behind each other from `start` on."""
    if start + sum(lengths.values()) != len(data):
        raise DamagedModule("its lengths disagree")
    found = {}
    for key, length in lengths.items():
        found[key] = data[start : start + length]
        start += length
    return found
