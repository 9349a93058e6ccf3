"""What the code generator must know about a machine.

A `Target` is a frozen value and part of every cache key. `host()` reads the processor's own feature list, so that a
cached kernel starts without loading LLVM; it picks one of a few levels rather than an exact model, which makes cached
code portable between machines of a level.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Target:
    """A machine to generate code for.

    `lanes` is the width of a 32-bit SIMD register, `fma` says whether multiply-add rounds once in hardware, `half`
    whether there are instructions that convert between float16 and float32.
    """

    name: str
    triple: str
    cpu: str
    features: str
    lanes: int
    fma: bool
    half: bool
    vector_bits: int


# Levels from best to least: needed flags of /proc/cpuinfo, then what LLVM is told.
_X86_LEVELS = (
    ("avx512", {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx2", "fma"}, "x86-64-v4", 16, 512),
    ("avx2", {"avx2", "fma", "bmi2", "f16c"}, "x86-64-v3", 8, 256),
    ("sse4", {"sse4_2", "popcnt"}, "x86-64-v2", 4, 128),
)


def _triple() -> str:
    machine = platform.machine().lower()
    arch = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    system = {"Linux": "unknown-linux-gnu", "Darwin": "apple-darwin", "Windows": "pc-windows-msvc"}
    return f"{arch}-{system.get(platform.system(), 'unknown-unknown')}"


def x86(name: str) -> Target:
    """The x86-64 target of a level: avx512, avx2 or sse4."""
    for level, flags, cpu, lanes, bits in _X86_LEVELS:
        if level == name:
            features = "-prefer-256-bit" if bits == 512 else ""
            modern = "fma" in flags  # every processor with fma converts half floats
            return Target(name, _triple(), cpu, features, lanes, modern, modern, bits)
    raise ValueError(f"no x86-64 level {name!r}; there are {[row[0] for row in _X86_LEVELS]}")


def _cpu_flags() -> set[str]:
    try:
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                if line.startswith("flags"):
                    return set(line.partition(":")[2].split())
    except OSError:
        pass
    return set()


@lru_cache(maxsize=1)
def host() -> Target:
    """The target of the machine this process runs on."""
    if not _triple().startswith("x86_64"):
        return Target("generic", _triple(), "generic", "", 4, True, True, 128)
    flags = _cpu_flags()
    return x86(next((row[0] for row in _X86_LEVELS if row[1] <= flags), "sse4"))
