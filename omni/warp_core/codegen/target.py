"""Target descriptions: everything that the code generator must know about a machine.

A `Target` is a frozen value and part of every cache key: a processor level (`x86`, `host`) or a GPU architecture
(`cuda`). `host()` reads the processor's own feature list, so that a
cached kernel starts without loading LLVM. It picks one of a few levels rather than an exact model, which makes cached
code portable between machines of a level.
"""

from __future__ import annotations

import platform
from functools import lru_cache
from typing import NamedTuple

from ..lang.launch_constants import DEFAULT_BLOCK_DIM


class Target(NamedTuple):
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

    @property
    def is_gpu(self) -> bool:
        return self.triple.startswith("nvptx")


# Levels from best to least: needed flags of /proc/cpuinfo, then what LLVM is told.
_X86_LEVELS = (
    ("avx512", {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx2", "fma"}, "x86-64-v4", 16, 512),
    ("avx2", {"avx2", "fma", "bmi2", "f16c"}, "x86-64-v3", 8, 256),
    ("sse4", {"sse4_2", "popcnt"}, "x86-64-v2", 4, 128),
)


class GpuOptions(NamedTuple):
    """Options of compiling a kernel for a GPU.

    Attributes:
        block_dim: the most threads a block of the launch may have.
        max_registers: registers that a thread may take, 0 for what suits the code.
        min_blocks: blocks that are to fit into a multiprocessor at least, 0 for what suits the code.
        aligned: True if all array arguments are aligned, gradients and arrays in structs too. Their addresses and
            strides are multiples of the largest power of two, up to 16, that divides the size of their elements. Then
            vectors of 2 or 4 numbers, quaternions and small matrices are read and written at once.
        disjoint: whether no two array arguments share memory, gradients included. Then arrays that are only read take
            the path of constant data.
        lines: whether the code tells profilers which line of the source it belongs to.
        assemble: whether NVIDIA's assembler makes machine code of the PTX, if it is found. Otherwise the driver does
            when it loads the kernel.
    """

    block_dim: int = DEFAULT_BLOCK_DIM
    max_registers: int = 0
    min_blocks: int = 0
    aligned: bool = False
    disjoint: bool = False
    lines: bool = False
    assemble: bool = False


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


# Intrinsics of x86 that estimate 1 / sqrt(x), by the number of lanes.
ROOT_ESTIMATES = {4: "x86.sse.rsqrt.ps", 8: "x86.avx.rsqrt.ps.256", 16: "x86.avx512.rsqrt14.ps.512"}


# GPU architectures that are compiled for, by compute capability (10 times it). PTX made for one runs on all later ones,
# such as that for sm_100 on sm_103, which only newer versions of LLVM and drivers know.
CUDA_ARCHITECTURES = (75, 80, 86, 89, 90, 100, 120)


def cuda(capability: int) -> Target:
    """The best target for an NVIDIA GPU of a compute capability, given as 10 times it: 75 is Turing, 90 Hopper.

    Raises:
        ValueError: the GPU is older than all architectures there is code for.
    """
    known = [arch for arch in CUDA_ARCHITECTURES if arch <= capability]
    if not known:
        found, least = (f"{n // 10}.{n % 10}" for n in (capability, CUDA_ARCHITECTURES[0]))
        raise ValueError(f"the GPU has compute capability {found}, kernels need {least} or higher")
    name = f"sm_{known[-1]}"
    return Target(name, "nvptx64-nvidia-cuda", name, "", 1, True, True, 128)


def cpu_fact(name: str) -> str:
    """What Linux tells of the processor, such as its "flags" or its "model name"; empty where it does not."""
    try:
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                if line.startswith(name):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return ""


@lru_cache(maxsize=len(_X86_LEVELS) + 1)
def host(best: str | None = None) -> Target:
    """The target of the machine this process runs on, with instructions of level `best` at most."""
    if not _triple().startswith("x86_64"):
        return Target("generic", _triple(), "generic", "", 4, True, True, 128)
    flags = set(cpu_fact("flags").split())
    names = [row[0] for row in _X86_LEVELS if row[1] <= flags] or ["sse4"]
    return x86(best if best in names else names[0])


def cpu_targets() -> list[Target]:
    """Return the targets of CPUs that this machine can compile for, the best first."""
    own = host()
    return [x86(row[0]) for row in _X86_LEVELS] if own.name != "generic" else [own]
