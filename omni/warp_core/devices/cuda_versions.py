"""Versions of CUDA, and the GPUs that there is code for."""

from __future__ import annotations

from .. import _native
from ..codegen.target import CUDA_ARCHITECTURES
from .device import is_cuda_available

__all__ = ["get_cuda_driver_version", "get_cuda_supported_archs", "get_cuda_toolkit_version"]


def get_cuda_driver_version() -> tuple[int, int] | None:
    """Return the version of CUDA that the driver is for, as (major, minor); None where no GPU can be used.

    >>> wp.get_cuda_driver_version() is None or wp.is_cuda_available()
    True
    """
    if not is_cuda_available():
        return None
    version = _native.cuda.driver_version()
    return version // 1000, version % 1000 // 10


def get_cuda_toolkit_version() -> tuple[int, int] | None:
    """Return None: this package is built without a CUDA toolkit, and needs none.

    >>> wp.get_cuda_toolkit_version()
    """
    return None


def get_cuda_supported_archs() -> list[int]:
    """Return the GPU architectures that kernels are compiled for, by 10 times their compute capability. Later GPUs run
    the code of earlier ones.

    >>> 90 in wp.get_cuda_supported_archs()
    True
    """
    return list(CUDA_ARCHITECTURES)
