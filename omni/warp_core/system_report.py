"""`print_diagnostics`: versions, machine and settings, for reports of errors."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from collections.abc import Iterator
from typing import Any

from . import _native, config
from .codegen import target, toolchain
from .codegen.cuda import ptx
from .devices import cuda_versions
from .devices.device import CPU, get_devices, why_no_gpu

__all__ = ["print_diagnostics"]

# Title -> keys of the dictionary, with the words that are printed.
_SECTIONS: dict[str, dict[str, str]] = {
    "Software": {
        "warp_python": "Omni Warp Core",
        "llvm": "LLVM",
        "numpy": "NumPy",
        "python": "Python",
        "platform": "Platform",
    },
    "CUDA": {
        "cuda_enabled": "Enabled",
        "cuda_driver": "Driver",
        "cuda_problem": "Reason",
        "cuda_assembler": "Assembler",
        "cuda_archs": "Architectures",
    },
    "Build": {"host_compiler": "Compiler", "sanitizer": "Sanitizer"},
    "CPU": {"cpu_name": "Model", "cpu_target": "Instructions", "cpu_threads": "Threads"},
    "Settings": {
        "mode": "Mode",
        "verify_fp": "Verify FP",
        "fast_math": "Fast math",
        "deterministic": "Deterministic",
        "kernel_cache": "Kernel cache",
        "settings": "Settings",
    },
}


def print_diagnostics() -> dict[str, Any]:
    """Print versions, devices and settings, for a report of an error.

    Returns:
        All of it by name. Keys of parts that this package does not have, such as `libmathdx`, are None or False.

    >>> found = wp.print_diagnostics()  # doctest: +ELLIPSIS
    Software
      Omni Warp Core:   ...
    >>> found["devices"][0]["alias"]
    'cpu'
    """
    found = _diagnostics()
    print("\n".join(_lines(found)))
    return found


def _lines(found: dict[str, Any]) -> Iterator[str]:
    for title, rows in _SECTIONS.items():
        yield title
        yield from (f"  {words + ':':<17} {_shown(found[key])}" for key, words in rows.items())
        yield ""
    yield "Devices"
    for device in found["devices"]:
        yield f"  {device['alias']}"
        yield from (f"    {key + ':':<17} {value}" for key, value in device.items() if key != "alias")


def _shown(value: Any) -> str:
    if value is None or value in ("", []):
        return "none"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _diagnostics() -> dict[str, Any]:
    driver = cuda_versions.get_cuda_driver_version()
    return {
        "warp_python": config.package_version,
        "warp_native": config.package_version,
        "warp_clang": None,
        "llvm": toolchain.LLVM_VERSION,
        "numpy": importlib.metadata.version("numpy"),
        "python": sys.version,
        "platform": platform.platform(),
        "cuda_enabled": driver is not None,
        "cuda_toolkit": None,
        "cuda_driver": driver and "{}.{}".format(*driver),
        "cuda_problem": why_no_gpu(),
        "cuda_assembler": ptx.find_ptxas(),
        "cuda_archs": cuda_versions.get_cuda_supported_archs(),
        "nvrtc": None,
        "cuda_compatibility": False,
        "mathdx_enabled": False,
        "libmathdx": None,
        "cubql_enabled": False,
        "nanovdb": None,
        "host_compiler": _native.COMPILER,
        "cpu_name": target.cpu_fact("model name") or platform.machine(),
        "cpu_features": target.cpu_fact("flags").split(),
        "cpu_target": target.host(config.cpu_target).name,
        "cpu_threads": _native.get_num_threads(),
        "mode": config.mode,
        "debug": config.mode == "debug",
        "verify_fp": config.verify_fp,
        "fast_math": config.fast_math,
        "deterministic": config.deterministic,
        "sanitizer": _native.SANITIZER,
        "kernel_cache": config.kernel_cache_dir,
        "settings": config.settings_dir,
        "devices": [_facts(device) for device in get_devices()],
    }


def _facts(device: Any) -> dict[str, Any]:
    if device is CPU:
        return {"alias": device.alias, "name": "CPU"}
    return {"alias": device.alias, "name": device.name, "arch": device.arch, "memory": device.total_memory}
