"""The options of `@wp.kernel`, and those of modules, which kernels may have of their own: which there are, and what
they may be. Start with `checked`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import nearest
from .launch_constants import MOST_THREADS

_NAMES = (
    "enable_backward",
    "lanes",
    "launch_bounds",
    "cuda_max_registers",
    "module_options",
    "grid_stride",
    "serial",
    "entry_point_abi",
    "name",
    "module",
)
_ENTRY_POINTS = (None, "warp", "external_constant_params")
_LANES = (1, 2, 4, 8, 16, 32)  # up to two of the widest registers
_REGISTERS = (16, 255)  # that NVIDIA's assembler can keep a thread to

# Of modules. Those of _MODULE_CHOICES count here; the others choose how other compilers work. Programs set them, and
# any value is taken.
MODULE_DEFAULTS: dict[str, Any] = {
    "mode": None,
    "serial": None,
    "enable_backward": True,
    "max_unroll": 16,
    "fast_math": False,
    "fuse_fp": True,
    "lineinfo": False,
    "block_dim": 256,
    "optimization_level": None,
    "cuda_output": None,
    "cpu_compiler_flags": None,
    "compile_time_trace": False,
    "strip_hash": False,
    "extra_build_options": None,
    "enable_mathdx_gemm": None,
    "enable_mathdx_solver": None,
    "enable_mathdx_fft": None,
    "deterministic": None,
    "deterministic_max_records": 0,
    "default_grid_stride": None,
}
_MODULE_CHOICES: dict[str, tuple[Any, ...]] = {  # None: as `wp.config` says
    "mode": (None, "release", "debug"),
    "serial": (None, False, True),
    "fast_math": (None, False, True),
    "enable_backward": (None, False, True),
    "lineinfo": (None, False, True),
    "cuda_output": (None, "ptx", "cubin"),
    "deterministic": (None, False, True, 2),  # True for each grade of `wp.DeterministicMode` but the first
}


def checked(options: dict[str, Any]) -> dict[str, Any]:
    """The options, with `launch_bounds` as a pair: threads of a block, blocks of a multiprocessor or 0.

    Raises:
        TypeError: an option that does not exist, or is no integer or dict where it must be one.
        ValueError: what it cannot be.
    """
    for name in options:
        if name not in _NAMES:
            close = nearest(name, _NAMES)
            raise TypeError(f"wp.kernel has no option {name!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
    lanes = options.get("lanes")
    _check("lanes", lanes, _LANES[0], _LANES[-1])
    if lanes is not None and lanes not in _LANES:
        raise ValueError(f"lanes: expected a power of two, got {lanes}; leave it out to let the compiler choose")
    _check("cuda_max_registers", options.get("cuda_max_registers"), *_REGISTERS)
    own = options.get("module_options")
    if own is not None and not isinstance(own, Mapping):
        raise TypeError(f"module_options: expected a dict of options, got {own!r}")
    check_module_options(own or {})
    check_serial(options.get("serial"))
    if options.get("entry_point_abi") not in _ENTRY_POINTS:
        raise ValueError(f"entry_point_abi: expected one of {_ENTRY_POINTS}, got {options['entry_point_abi']!r}")
    bounds = options.get("launch_bounds")
    return options if bounds is None else {**options, "launch_bounds": _bounds(bounds)}


def check_name(name: Any) -> None:
    """Raise ValueError unless the name of a kernel or function is an identifier, or None."""
    if name is not None and not (isinstance(name, str) and name.isidentifier()):
        raise ValueError(f"name: expected an identifier, such as 'step', got {name!r}")


def check_serial(value: Any) -> None:
    """Raise TypeError unless a choice of `serial` is a bool, or None for no choice."""
    if value not in (None, False, True):
        raise TypeError(f"serial: expected True, False or None, got {value!r}")


def check_module_options(options: Mapping[str, Any]) -> None:
    """Raise ValueError for an option that modules do not have, or a value that one cannot have."""
    for name, value in options.items():
        if name not in MODULE_DEFAULTS:
            close = nearest(name, MODULE_DEFAULTS)
            hint = f"did you mean {close[0]!r}?" if close else f"options are {', '.join(MODULE_DEFAULTS)}"
            raise ValueError(f"modules have no option {name!r}; {hint}")
        choices = _MODULE_CHOICES.get(name)
        if choices and value not in choices:
            raise ValueError(f"module option {name} = {value!r}: it must be one of {', '.join(map(repr, choices))}")


def _check(name: str, value: Any, low: int, high: int) -> None:
    if value is not None and type(value) is not int:
        raise TypeError(f"{name}: expected an integer, got {value!r}")
    if value is not None and not low <= value <= high:
        raise ValueError(f"{name}: expected {low} to {high}, got {value}; leave it out to let the compiler choose")


def _bounds(given: Any) -> tuple[int, int]:
    parts = (given,) if isinstance(given, int) else given
    if not isinstance(parts, (tuple, list)) or len(parts) not in (1, 2):
        raise TypeError(f"launch_bounds: expected the threads of a block, or a pair with blocks, got {given!r}")
    for part in parts:
        if part is None:
            raise TypeError(f"launch_bounds: expected an integer, got {part!r}")
        _check("launch_bounds", part, 1, MOST_THREADS)
    return parts[0], parts[1] if len(parts) == 2 else 0
