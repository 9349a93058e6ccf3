"""Typed Python functions as native parallel code.

    import omni.warp_core as wp

    @wp.kernel
    def scale(x: wp.array[float], by: float):
        i = wp.tid()
        x[i] = x[i] * by

    wp.launch(scale, dim=x.size, inputs=[x, 2.0])

Importing this package runs nothing but this file: a public name is loaded when it is first used, from the module that
`_HOMES` gives, or from the library of builtins (lang/registry.py). Start with docs/architecture.md.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

__version__ = "0.1.0"

_SUFFIXES = "h f d b s i l ub us ui ul"
_PACKED = "mat22 mat33 mat44 quat transform spatial_vector spatial_matrix"
_VECTORS = " ".join(f"vec{n}{suffix}" for n in (2, 3, 4) for suffix in ("", *_SUFFIXES.split()))
_FLOATS = " ".join(f"{name}{suffix}" for name in _PACKED.split() for suffix in ("", "h", "f", "d"))
_CONSTANTS = "E PI TAU HALF_PI PHI LN2 LN10 LOG2E LOG10E INF NAN"

# Module -> the public names it defines.
_HOMES = {
    "config": "DeterministicMode LOG_DEBUG LOG_INFO LOG_WARNING LOG_ERROR",
    "logger": "Logger ScopedLogLevel ScopedLogger get_logger set_logger",
    "lang.values.scalars": """bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64
        handle""",
    "lang.values.value_classes": f"{_VECTORS} {_FLOATS} spatial_transform transform_expand",
    "lang.values.structs": "struct",
    "lang.ref_params": "ref",
    "lang.values.constants": f"{_CONSTANTS} {_CONSTANTS.lower()}",
    "lang.overload": "overload",
    "lang.custom_gradients": "adjoint func_grad func_replay grad",
    "lang.typevars": "Float Int Scalar",
    "lang.kernel": "Kernel Function kernel func constant static kernel_from_source",
    "lang.intrinsics.native_snippet": "func_native",
    "lang.kernel_module": "Module get_module",
    "lang.errors": """CompileError InternalError KernelWarning WarpCodegenError WarpCodegenTypeError
        WarpCodegenValueError WarpCodegenKeyError WarpCodegenAttributeError WarpCodegenIndexError
        WarpDeterminismError""",
    "lang.arrays": "fixedarray",
    "arrays.array": "array array1d array2d array3d array4d",
    "arrays.indexed_array": "indexedarray indexedarray1d indexedarray2d indexedarray3d indexedarray4d",
    "arrays.fabric_array": "fabricarray fabricarrayarray indexedfabricarray indexedfabricarrayarray",
    "arrays.factories": """clone empty empty_like from_dlpack from_numpy from_ptr full full_like ones ones_like
        to_dlpack zeros zeros_like""",
    "arrays.transfer": "copy",
    "arrays.memory_tracker": "ScopedMemoryTracker print_memory_report",
    "arrays.memory_kind": "MemoryKind can_access",
    "arrays.dtypes": "dtype_from_numpy dtype_to_numpy",
    "devices.device": """Device DeviceLike ScopedDevice get_cuda_device get_cuda_device_count get_cuda_devices
        get_device get_devices get_preferred_device is_cpu_available is_cuda_available is_device_available
        set_device""",
    "devices.stream": """Event ScopedStream Stream get_event_elapsed_time get_stream record_event set_stream synchronize
        synchronize_device synchronize_event synchronize_stream wait_event wait_stream""",
    "devices.mempool": """ScopedMempool ScopedMempoolAccess ScopedPeerAccess MemoryReport
        get_memory_report get_mempool_release_threshold get_mempool_used_mem_current get_mempool_used_mem_high
        is_mempool_access_enabled is_mempool_access_supported is_mempool_enabled is_mempool_supported
        is_peer_access_enabled is_peer_access_supported
        set_mempool_access_enabled set_mempool_enabled set_mempool_release_threshold set_peer_access_enabled""",
    "devices.timer": "ScopedTimer",
    "devices.timing": """TIMING_ALL TIMING_GRAPH TIMING_KERNEL TIMING_KERNEL_BUILTIN TIMING_MEMCPY TIMING_MEMSET
        TimingResult timing_begin timing_end timing_print""",
    "devices.trace_file": "ScopedTrace",
    "devices.cuda_versions": "get_cuda_driver_version get_cuda_supported_archs get_cuda_toolkit_version",
    "system_report": "print_diagnostics",
    "launches.launch": "launch launch_tiled Launch init",
    "graphs.graph": """CaptureMode Graph ScopedCapture capture_begin capture_debug_dot_print capture_end capture_if
        capture_launch capture_while is_conditional_graph_supported""",
    "graphs.capture_save": "capture_load capture_load_from_bytes capture_save",
    "tape.tape": "Tape",
    "tape.checkpoint": "checkpointed",
    "forward_mode.jvp": "jvp",
    "geometry.bvh": "Bvh",
    "geometry.hash_grid": "HashGrid",
    "geometry.mesh": "Mesh",
    "lib.geometry.bvh_queries": "BvhQuery",
    "lib.geometry.hash_grid_queries": "HashGridQuery",
    "lib.geometry.mesh_boxes": "MeshQueryAABB MeshQuerySphere",
    "lib.geometry.mesh_points": "MeshQueryPoint",
    "lib.geometry.mesh_rays": "MeshQueryRay",
    "lib.geometry.mesh_views": "MeshArrays",
    "volumes.volume": "Volume",
    "textures.texture": "Texture Texture1D Texture2D Texture3D",
    "textures.texture_modes": "TextureAddressMode TextureFilterMode TextureResourceFlags",
    "geometry.surfaces.marching_cubes": "MarchingCubes",
    "algo.map": "map",
    "algo.matmul": "batched_matmul matmul",
    "launches.ahead_of_time": "compile_aot_module load_aot_module",
    "launches.modules": "force_load get_module_options load_module set_module_options",
    "interop.torch": """device_from_torch device_to_torch dtype_from_torch dtype_to_torch from_torch stream_from_torch
        stream_to_torch to_torch""",
    "interop.torch_kernel": "torch_callable torch_kernel",
    "launches.kernel_cache": "clear_kernel_cache clear_lto_cache",
    "launches.block_size": "get_suggested_block_size",
    "launches.kernel_errors": "KernelError",
    "interop.jax": "device_from_jax device_to_jax dtype_from_jax dtype_to_jax from_jax to_jax",
    "interop.jax_callable": "JaxCallableGraphMode clear_jax_callable_graph_cache jax_callable",
    "interop.jax_callback": "register_ffi_callback",
    "interop.jax_kernel": "JaxModulePreloadMode jax_kernel",
    "interop.paddle": """device_from_paddle device_to_paddle dtype_from_paddle dtype_to_paddle from_paddle
        stream_from_paddle to_paddle""",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}
_MODULES = (
    *("autograd", "config", "fem", "geometry", "jax_experimental", "nodes", "optim", "render", "sparse"),
    *("studio", "types", "usd", "utils"),
)

# Modules of earlier versions of warp-lang whose names are those of the package now: `wp.context.init()`.
_SAME = ("build", "constants", "context", "dlpack", "jax", "paddle", "torch")


def _native_module() -> Any:
    """Import the native module. Raises ImportError with a way out where the sources have none beside them."""
    try:
        return importlib.import_module(f"{__name__}._native")
    except ModuleNotFoundError as why:
        if why.name != f"{__name__}._native":
            raise
    raise ImportError(
        f"omni.warp_core is imported from {__path__[0]}, a source tree without its native module. Run `make build` in "
        "that repository, or start Python in another folder to use the installed package"
    )


def __getattr__(name: str) -> Any:
    if name == "_native":
        return _native_module()
    if name.startswith("_"):  # asked for by the import system before it looks for a submodule
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _SAME:
        return sys.modules[__name__]
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _HOME:
        value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    else:
        value = importlib.import_module(f"{__name__}.lang.registry").public(name)
    if value is None:
        raise AttributeError(
            _unknown(name), obj=sys.modules[__name__]
        )  # without `name`: Python would add its own guess
    globals()[name] = value
    return value


def _unknown(name: str) -> str:
    if told := importlib.import_module(f"{__name__}.missing_names").told(name):
        return f"omni.warp_core has no name {name!r}{told}"
    nearest = importlib.import_module(f"{__name__}.lang.errors").nearest(name, __dir__())
    hint = f"; did you mean {' or '.join(f'wp.{n}' for n in nearest)}?" if nearest else ""
    return f"omni.warp_core has no name {name!r}{hint}"


def __dir__() -> list[str]:
    registry = importlib.import_module(f"{__name__}.lang.registry")
    return sorted({"__version__", *_MODULES, *_HOME, *registry.index(), *registry.INTRINSICS})
