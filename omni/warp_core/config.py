"""The options a user can set, and the only place that reads the environment.

    wp.config.mode = "debug"

Every option is a row of `OPTIONS`: its default, a check of values, and a description. An assignment is checked at once.
A name that is not an option raises AttributeError with similar names. `watch` lets higher layers follow a change.
"""

from __future__ import annotations

import enum
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

from . import __version__

version = package_version = __version__  # `as_warp` lets `version` be the one of warp-lang that it stands for
LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR = 10, 20, 30, 40


class Option(NamedTuple):
    """One option. `check` returns the value to keep, or raises ValueError saying what is wanted."""

    default: Any
    check: Callable[[Any], Any]
    doc: str


def _one_of(*choices: str | None) -> Callable[[Any], str | None]:
    def check(value: Any) -> str | None:
        if value not in choices:
            raise ValueError(f"one of {', '.join(map(repr, choices))}")
        return value

    return check


def _bool(value: Any) -> bool:
    if value in (0, 1):
        return bool(value)
    raise ValueError("True or False")


class DeterministicMode(enum.IntEnum):
    """Values of `wp.config.deterministic` in warp-lang; those but the first all mean True here."""

    NOT_GUARANTEED = 0
    RUN_TO_RUN = 1
    GPU_TO_GPU = 2


class LaunchArrayAccessMode(enum.IntEnum):
    """Values of `wp.config.launch_array_access_mode` in warp-lang. Launches here check all arrays by themselves."""

    RELAXED = 0
    CHECKED = 1
    STRICT = 2


def _grade(value: Any) -> DeterministicMode:
    """One of the grades of warp-lang, which equals True or False; all but the first mean the same here."""
    if value in (0, 1, 2):
        return DeterministicMode(value)
    raise ValueError("True or False")


def _count(low: int, high: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if isinstance(value, bool) or not hasattr(value, "__index__") or not low <= value.__index__() <= high:
            raise ValueError(f"an integer from {low} to {high}")
        return value.__index__()

    return check


def _directory(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise ValueError("a directory name, or None to keep no cache on disk")
    return os.path.abspath(os.path.expanduser(os.fspath(value)))


def _file(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("the name of a file")
    return value


def _anything(value: Any) -> Any:
    return value


def _default_cache_dir() -> str | None:
    """The user's cache directory, or None where there is no home to keep it in."""
    named = os.environ.get("OMNI_WARP_CACHE_DIR")
    if named is not None:
        return _directory(named) if named else None
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "omni-warp-core") if os.path.isabs(base) else None


def _default_settings_dir() -> str | None:
    """The user's directory for settings, or None where there is no home to keep it in."""
    named = os.environ.get("OMNI_WARP_SETTINGS_DIR")
    if named is not None:
        return _directory(named) if named else None
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.join(base, "omni-warp-core") if os.path.isabs(base) else None


def _default_threads() -> int:
    """0 (all cores this process may use) unless the environment names a number."""
    named = os.environ.get("OMNI_WARP_NUM_THREADS", "")
    return int(named) if named.isdigit() and int(named) <= MAX_THREADS else 0


def _default_cpu_target() -> str | None:
    """None (all that the processor has) unless the environment names a set of instructions."""
    named = os.environ.get("OMNI_WARP_CPU_TARGET")
    return named if named in CPU_TARGETS else None


CPU_TARGETS = ("avx512", "avx2", "sse4")
MAX_THREADS = 1024
_CUDA_DRIVER = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"

OPTIONS: dict[str, Option] = {
    "mode": Option(
        "release",
        _one_of("release", "debug", "interpret"),
        "How kernels run. 'release' is the fastest. 'debug' checks bounds, asserts, divisors and NaN, and raises "
        "for the first failing thread. 'interpret' runs the Python functions thread by thread, so that a "
        "debugger stops in them.",
    ),
    "num_threads": Option(
        _default_threads(), _count(0, MAX_THREADS), "Threads that a CPU launch may use; 0 takes every core."
    ),
    "cpu_target": Option(
        _default_cpu_target(),
        _one_of(None, *CPU_TARGETS),
        "The best instructions of x86-64 that CPU kernels may use. None takes all that the processor has. Results of "
        "'sse4' differ in the last bits, as it has no fused multiply-add. Builtins that Python has called before keep "
        "their instructions. The default is $OMNI_WARP_CPU_TARGET.",
    ),
    "cuda_driver": Option(
        os.environ.get("OMNI_WARP_CUDA_DRIVER") or _CUDA_DRIVER,
        _file,
        "The library of the CUDA driver, which is loaded when a GPU is first asked for. The default is "
        "$OMNI_WARP_CUDA_DRIVER, else the system's.",
    ),
    "fast_math": Option(
        False,
        _bool,
        "True if vectors, matrices and quaternions are divided by a number with one division, of 1 by it. Such results "
        "have two roundings in place of one, and are infinite or NaN where 1 over the number overflows. Divisions by "
        "square roots take the processor's reciprocal root and one step of Newton. Their errors are a few units in the "
        "last place, and differ between processors.",
    ),
    "serial": Option(
        False,
        _bool,
        "True if the threads of CPU launches run one after the other, in the order of their indices, so that each "
        "sees what earlier ones wrote. This takes one core and no SIMD lanes. GPUs run threads in any order.",
    ),
    "dialect": Option(
        "python",
        _one_of("python", "warp-lang"),
        "What kernels mean where Python and warp-lang differ. 'python': a kernel that reads a local which some path "
        "leaves unassigned is refused, and `a and b`, `a or b` give an operand. 'warp-lang', which as_warp sets: such "
        "a local is zero there, with a warning. They give True or False, and `math.sqrt` means `wp.sqrt`. "
        "`wp.tid()` gives the indices of the first dimensions of a launch, and 0 beyond the last. "
        "CPU launches of kernels with tiles that name no size of blocks, or are tiled, have blocks of one thread "
        "where larger ones cannot run. On CPUs, sums without an atomic are added up where threads share an element; "
        "other likely races let the threads of the kernel run one after the other.",
    ),
    "kernel_cache_dir": Option(
        _default_cache_dir(),
        _directory,
        "Folder for compiled kernels, reused by later runs; None disables the disk cache. A directory "
        "that other users can write is not used. The default is $OMNI_WARP_CACHE_DIR, else omni-warp-core "
        "in the user's cache directory.",
    ),
    "settings_dir": Option(
        _default_settings_dir(),
        _directory,
        "Folder for settings of the command line, such as remembered consent to run a scene's code; None "
        "remembers nothing. The default is $OMNI_WARP_SETTINGS_DIR, else omni-warp-core in the user's "
        "settings.",
    ),
    "kernel_cache_size": Option(
        1 << 30, _count(0, 1 << 50), "Size limit of the kernel cache in bytes. Above it the oldest entries are deleted."
    ),
    "cache_kernels": Option(True, _bool, "True if compiled kernels are read from and written to the disk cache."),
    "print_launches": Option(False, _bool, "Give the logger a line for every launch: kernel, dimensions, device."),
    "verify_fp": Option(False, _bool, "Raise when a kernel computes a NaN from numbers; runs kernels in debug mode."),
    "verify_cuda": Option(
        False,
        _bool,
        "Wait for every launch on a GPU, so that a device error is raised by the launch that caused it.",
    ),
    "track_memory": Option(
        False,
        _bool,
        "True if it is recorded which line of the program makes which arrays, for `wp.print_memory_report`. Making an "
        "array takes longer then.",
    ),
    "lineinfo": Option(
        False,
        _bool,
        "True if GPU code records the Python line of each instruction, for profilers. The code is not slower.",
    ),
    "cuda_output": Option(
        None,
        _one_of(None, "ptx", "cubin"),
        "'cubin': NVIDIA's assembler, if it is found, makes machine code for the present GPU when a "
        "kernel is compiled. The cache keeps the code, and the driver has to be as new as the assembler. "
        "Otherwise the driver compiles PTX when a process loads the kernel, or takes the code from its "
        "own cache.",
    ),
    "deterministic": Option(
        DeterministicMode.NOT_GUARANTEED,
        _grade,
        "True if launches give the same bits in every run and with any number of threads, even with "
        "atomic additions of floats. Kernels that use the value an atomic operation returns then run "
        "thread by thread, in the order of their indices. On GPUs both kinds of kernels raise an error.",
    ),
    "enable_backward": Option(True, _bool, "True if kernels may be differentiated; adjoints are only built on demand."),
    "cut_gradients": Option(
        "error",
        _one_of("error", "warn", "ignore"),
        "How `tape.backward` reacts to a lost gradient: raise an error, warn, or ignore it. A gradient is "
        "lost where an array without one carries differentiable data, or where no input of the loss has "
        "one. Under `as_warp` it warns. `quiet` does not hide that.",
    ),
    "verify_autograd_array_access": Option(
        False, _bool, "Accepted; tapes always make sure that overwritten arrays do not make a gradient wrong."
    ),
    "log_level": Option(
        LOG_WARNING,
        _count(0, 100),
        "Lowest severity that the logger gets: LOG_DEBUG, LOG_INFO (a line per compiled kernel), LOG_WARNING or "
        "LOG_ERROR.",
    ),
    "verbose": Option(False, _bool, "Same as log_level = LOG_DEBUG."),
    "quiet": Option(False, _bool, "Same as log_level = LOG_ERROR."),
    "verbose_warnings": Option(False, _bool, "Show a warning each time it arises, not once."),
}

# Options of other tools in this field that choose how their compiler or CUDA driver does its work. Programs set them;
# nothing here depends on them, so any value is taken.
_ELSEWHERE = """
compile_time_trace cpu_compiler_flags cuda_arch_suffix default_grid_stride deterministic_debug
deterministic_max_records enable_cpu_blocks enable_graph_capture_module_load_by_default
enable_mathdx_fft enable_mathdx_gemm enable_mathdx_solver enable_mempools_at_init enable_tiles_in_stack_memory
enable_vector_component_overwrites legacy_cpu_linker legacy_scalar_return_types
line_directives llvm_cuda load_module_max_workers max_unroll optimization_level ptx_target_arch use_precompiled_headers
"""
_READ = {"max_unroll": 16}  # those of them that programs also read
OPTIONS |= {name: Option(_READ.get(name), _anything, "Accepted; has no effect.") for name in _ELSEWHERE.split()}
OPTIONS["launch_array_access_mode"] = Option(LaunchArrayAccessMode.RELAXED, _anything, "Accepted; has no effect.")

_watchers: dict[str, list[Callable[[Any], None]]] = {}


def watch(name: str, callback: Callable[[Any], None]) -> None:
    """Call `callback(value)` after every later assignment to option `name`."""
    assert name in OPTIONS, name
    _watchers.setdefault(name, []).append(callback)


def threshold() -> int:
    """The log level in force, `verbose` and `quiet` taken into account."""
    options = globals()
    if options["verbose"]:
        return LOG_DEBUG
    return LOG_ERROR if options["quiet"] else options["log_level"]


def _checked(name: str, value: Any) -> Any:
    option = OPTIONS.get(name)
    if option is None:
        import difflib

        near = difflib.get_close_matches(name, OPTIONS)
        hint = f"; did you mean {' or '.join(near)}?" if near else f"; options are {', '.join(OPTIONS)}"
        raise AttributeError(f"wp.config has no option {name!r}{hint}")
    try:
        return option.check(value)
    except ValueError as wanted:
        raise ValueError(f"wp.config.{name} = {value!r}: it must be {wanted}") from None


class _Config(ModuleType):
    """The class of this module: assignments to it are checked."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
            return
        super().__setattr__(name, _checked(name, value))
        for callback in _watchers.get(name, ()):
            callback(getattr(self, name))

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"wp.config.{name} cannot be deleted")

    def __dir__(self) -> list[str]:
        return [*OPTIONS, "package_version", "version"]


# For readers and type checkers; the values are the defaults of `OPTIONS`.
mode: str
num_threads: int
serial: bool
dialect: str
kernel_cache_dir: str | None
settings_dir: str | None
kernel_cache_size: int
cache_kernels: bool
print_launches: bool
track_memory: bool
verify_fp: bool
deterministic: bool
enable_backward: bool
log_level: int
verbose: bool
quiet: bool
verbose_warnings: bool

globals().update({name: option.default for name, option in OPTIONS.items()})
sys.modules[__name__].__class__ = _Config
