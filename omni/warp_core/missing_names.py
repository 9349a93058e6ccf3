"""Names of warp-lang that this package does not have, each with the reason or what to write instead.

Start with `told`. docs/migration.md shows the same table.
"""

from __future__ import annotations

_OPENGL = "there is no window here: wp.render.UsdRenderer writes a scene that usdview and the studio play"
_TEXTURE = "copy the data: array.numpy() for OpenGL, wp.array(data) from it"
_PROFILER = "time launches with wp.timing_begin() and wp.timing_end(), or start the program under Nsight"
_ALLOCATOR = "memory comes from pools of this package: see wp.set_mempool_enabled"
_IPC = "pass arrays to other processes as files, or in memory that multiprocessing.shared_memory shares"
_DENSE = "use tiles: wp.tile_matmul, wp.tile_cholesky, wp.tile_cholesky_solve"
_MAPPING = "name the device: wp.get_device('cuda:0'), wp.get_cuda_devices()"

# By the name after `warp.`; of modules, all that is in them.
INSTEAD = {
    "_src": "it holds the internals of warp-lang; public names are in wp, wp.types and wp.utils",
    "build_experimental": "it compiles C++ text, and kernels are compiled from Python only",
    "examples": "its files come with warp-lang: copy what the program reads, or take an example of this package",
    "sim": "warp-lang 1.10 has removed it; the project Newton (pip install newton) has taken over its simulators",
    "stubs": "it had signatures for editors only; those of this package are in omni/warp_core/__init__.pyi",
    "tests": "it has warp-lang's own tests: compare with numpy.testing, and loop over wp.get_devices()",
    "render.OpenGLRenderer": _OPENGL,
    "GLTextureResource": _TEXTURE,
    "RegisteredGLBuffer": _TEXTURE,
    "map_cuda_device": _MAPPING,
    "unmap_cuda_device": _MAPPING,
    "cuda_profiler_start": _PROFILER,
    "cuda_profiler_stop": _PROFILER,
    "ScopedCudaProfiler": _PROFILER,
    "Allocator": _ALLOCATOR,
    "CudaManagedAllocator": _ALLOCATOR,
    "ScopedAllocator": _ALLOCATOR,
    "get_device_allocator": _ALLOCATOR,
    "set_cuda_allocator": _ALLOCATOR,
    "set_device_allocator": _ALLOCATOR,
    "utils.AllocatorRmm": _ALLOCATOR,
    "event_from_ipc_handle": _IPC,
    "from_ipc_handle": _IPC,
    "dense_chol": _DENSE,
    "dense_chol_batched": _DENSE,
    "dense_gemm": _DENSE,
    "dense_gemm_batched": _DENSE,
    "dense_solve": _DENSE,
    "dense_solve_batched": _DENSE,
    "dense_subs": _DENSE,
}


def told(name: str) -> str:
    """Return `: ` and what to write instead of a name, given after `warp.`; empty if nothing is known of it."""
    found = INSTEAD.get(name) or INSTEAD.get(name.partition(".")[0])
    return f": {found}" if found else ""
