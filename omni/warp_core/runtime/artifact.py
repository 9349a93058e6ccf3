"""A compiled kernel as the bytes of a file.

The file is a header (magic, format, checksum, two lengths), the facts as JSON, the object (for a GPU, PTX and machine
code). The reader trusts nothing:
lengths are checked against the data and the checksum covers everything after it, so that a truncated or altered file is
a `DamagedArtifact` and never a crash.
"""

from __future__ import annotations

import json
import struct

from ..compiler import Accumulation, Artifact, Grid, Site
from ..lang.hashes import blake2b

MAGIC = b"OmWarpK\n"
FORMAT = 8
_HEADER = struct.Struct("<8sI32sII")  # magic, format, checksum, length of the facts, length of the object
_CHECKED_FROM = 8 + 4 + 32
MAX_BYTES = 1 << 30


class DamagedArtifact(ValueError):
    """The bytes are not an artifact of this format."""


def to_bytes(artifact: Artifact) -> bytes:
    """The file image of `artifact`."""
    facts = {k: v for k, v in artifact._asdict().items() if k not in ("code", "machine_code")}
    facts["code_bytes"] = len(artifact.code)
    meta = json.dumps(facts, separators=(",", ":")).encode()
    code = artifact.code + artifact.machine_code
    lengths = struct.pack("<II", len(meta), len(code))
    digest = blake2b(lengths + meta + code, digest_size=32).digest()
    return MAGIC + struct.pack("<I", FORMAT) + digest + lengths + meta + code


def from_bytes(data: bytes) -> Artifact:
    """The artifact whose file image is `data`. Raises DamagedArtifact on anything else."""
    if len(data) < _HEADER.size or len(data) > MAX_BYTES:
        raise DamagedArtifact(f"{len(data)} bytes")
    magic, version, digest, meta_length, code_length = _HEADER.unpack_from(data)
    if magic != MAGIC or version != FORMAT:
        raise DamagedArtifact("not an artifact of this format")
    if len(data) != _HEADER.size + meta_length + code_length:
        raise DamagedArtifact("lengths disagree")
    if blake2b(memoryview(data)[_CHECKED_FROM:], digest_size=32).digest() != digest:
        raise DamagedArtifact("checksum differs")
    body = _HEADER.size + meta_length
    try:
        facts = json.loads(data[_HEADER.size : body])
        facts["sites"] = tuple(Site(*s)._replace(operands=tuple(s[-1])) for s in facts["sites"])
        facts["needed"] = tuple((int(i), int(at), str(name)) for i, at, name in facts["needed"])
        facts["warnings"] = tuple((int(i), int(k), str(message)) for i, k, message in facts["warnings"])
        *places, anywhere, in_order, alone, parts, following, private = facts["accumulation"]
        logged, touched, atomic = (tuple(map(tuple, group)) for group in places)
        follow = tuple((tuple(at), tuple(index), tuple(map(tuple, offsets))) for at, index, offsets in following)
        facts["accumulation"] = Accumulation(
            *(logged, touched, atomic, anywhere, in_order, alone, parts, follow), tuple(map(tuple, private))
        )
        facts |= {name: tuple(facts[name]) for name in ("params", "written", "reads")}
        if facts["grid"] is not None:
            facts["grid"] = Grid(*facts["grid"])
            facts["grid"] = facts["grid"]._replace(stashes=tuple(facts["grid"].stashes))
        end = body + facts.pop("code_bytes")
        return Artifact(**facts, code=data[body:end], machine_code=data[end:])
    except (ValueError, TypeError, KeyError) as e:
        raise DamagedArtifact(f"facts: {e}") from None
