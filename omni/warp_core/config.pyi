# Written by `python -m tools.docs` from the source of the package; edit that, or tools/stubs/head.pyi.
# Of overloads that fit the first is taken, as in the library.
# mypy: disable-error-code="overload-overlap, overload-cannot-match"
"""The options a user can set, and the only place that reads the environment.

    wp.config.mode = "debug"

Every option is a row of `OPTIONS`: its default, a check of values, and a description. An assignment is checked at once.
A name that is not an option raises AttributeError with similar names. `watch` lets higher layers follow a change.
"""

import enum
from collections.abc import Callable
from typing import Any

version: str
package_version: str
LOG_DEBUG: int
LOG_INFO: int
LOG_WARNING: int
LOG_ERROR: int
MAX_THREADS: int
OPTIONS: dict[str, Any]

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

mode: str
"""How kernels run. 'release' is the fastest. 'debug' checks bounds, asserts, divisors and NaN, and raises for the first failing thread. 'interpret' runs the Python functions thread by thread, so that a debugger stops in them."""
num_threads: int
"""Threads that a CPU launch may use; 0 takes every core."""
cpu_target: Any
"""The best instructions of x86-64 that CPU kernels may use. None takes all that the processor has. Results of 'sse4' differ in the last bits, as it has no fused multiply-add. Builtins that Python has called before keep their instructions. The default is $OMNI_WARP_CPU_TARGET."""
cuda_driver: Any
"""The library of the CUDA driver, which is loaded when a GPU is first asked for. The default is $OMNI_WARP_CUDA_DRIVER, else the system's."""
fast_math: Any
"""True if vectors, matrices and quaternions are divided by a number with one division, of 1 by it. Such results have two roundings in place of one, and are infinite or NaN where 1 over the number overflows. Divisions by square roots take the processor's reciprocal root and one step of Newton. Their errors are a few units in the last place, and differ between processors."""
serial: bool
"""True if the threads of CPU launches run one after the other, in the order of their indices, so that each sees what earlier ones wrote. This takes one core and no SIMD lanes. GPUs run threads in any order."""
dialect: str
"""What kernels mean where Python and warp-lang differ. 'python': a kernel that reads a local which some path leaves unassigned is refused, and `a and b`, `a or b` give an operand. 'warp-lang', which as_warp sets: such a local is zero there, with a warning. They give True or False, and `math.sqrt` means `wp.sqrt`. `wp.tid()` gives the indices of the first dimensions of a launch, and 0 beyond the last. CPU launches of kernels with tiles that name no size of blocks, or are tiled, have blocks of one thread where larger ones cannot run. On CPUs, sums without an atomic are added up where threads share an element; other likely races let the threads of the kernel run one after the other."""
kernel_cache_dir: str | None
"""Folder for compiled kernels, reused by later runs; None disables the disk cache. A directory that other users can write is not used. The default is $OMNI_WARP_CACHE_DIR, else omni-warp-core in the user's cache directory."""
settings_dir: str | None
"""Folder for settings of the command line, such as remembered consent to run a scene's code; None remembers nothing. The default is $OMNI_WARP_SETTINGS_DIR, else omni-warp-core in the user's settings."""
kernel_cache_size: int
"""Size limit of the kernel cache in bytes. Above it the oldest entries are deleted."""
cache_kernels: bool
"""True if compiled kernels are read from and written to the disk cache."""
print_launches: bool
"""Give the logger a line for every launch: kernel, dimensions, device."""
verify_fp: bool
"""Raise when a kernel computes a NaN from numbers; runs kernels in debug mode."""
verify_cuda: Any
"""Wait for every launch on a GPU, so that a device error is raised by the launch that caused it."""
track_memory: bool
"""True if it is recorded which line of the program makes which arrays, for `wp.print_memory_report`. Making an array takes longer then."""
lineinfo: Any
"""True if GPU code records the Python line of each instruction, for profilers. The code is not slower."""
cuda_output: Any
"""'cubin': NVIDIA's assembler, if it is found, makes machine code for the present GPU when a kernel is compiled. The cache keeps the code, and the driver has to be as new as the assembler. Otherwise the driver compiles PTX when a process loads the kernel, or takes the code from its own cache."""
deterministic: bool
"""True if launches give the same bits in every run and with any number of threads, even with atomic additions of floats. Kernels that use the value an atomic operation returns then run thread by thread, in the order of their indices. On GPUs both kinds of kernels raise an error."""
enable_backward: bool
"""True if kernels may be differentiated; adjoints are only built on demand."""
cut_gradients: Any
"""How `tape.backward` reacts to a lost gradient: raise an error, warn, or ignore it. A gradient is lost where an array without one carries differentiable data, or where no input of the loss has one. Under `as_warp` it warns. `quiet` does not hide that."""
verify_autograd_array_access: Any
"""Accepted; tapes always make sure that overwritten arrays do not make a gradient wrong."""
log_level: int
"""Lowest severity that the logger gets: LOG_DEBUG, LOG_INFO (a line per compiled kernel), LOG_WARNING or LOG_ERROR."""
verbose: bool
"""Same as log_level = LOG_DEBUG."""
quiet: bool
"""Same as log_level = LOG_ERROR."""
verbose_warnings: bool
"""Show a warning each time it arises, not once."""
compile_time_trace: Any
"""Accepted; has no effect."""
cpu_compiler_flags: Any
"""Accepted; has no effect."""
cuda_arch_suffix: Any
"""Accepted; has no effect."""
default_grid_stride: Any
"""Accepted; has no effect."""
deterministic_debug: Any
"""Accepted; has no effect."""
deterministic_max_records: Any
"""Accepted; has no effect."""
enable_cpu_blocks: Any
"""Accepted; has no effect."""
enable_graph_capture_module_load_by_default: Any
"""Accepted; has no effect."""
enable_mathdx_fft: Any
"""Accepted; has no effect."""
enable_mathdx_gemm: Any
"""Accepted; has no effect."""
enable_mathdx_solver: Any
"""Accepted; has no effect."""
enable_mempools_at_init: Any
"""Accepted; has no effect."""
enable_tiles_in_stack_memory: Any
"""Accepted; has no effect."""
enable_vector_component_overwrites: Any
"""Accepted; has no effect."""
legacy_cpu_linker: Any
"""Accepted; has no effect."""
legacy_scalar_return_types: Any
"""Accepted; has no effect."""
line_directives: Any
"""Accepted; has no effect."""
llvm_cuda: Any
"""Accepted; has no effect."""
load_module_max_workers: Any
"""Accepted; has no effect."""
max_unroll: Any
"""Accepted; has no effect."""
optimization_level: Any
"""Accepted; has no effect."""
ptx_target_arch: Any
"""Accepted; has no effect."""
use_precompiled_headers: Any
"""Accepted; has no effect."""
launch_array_access_mode: Any
"""Accepted; has no effect."""

def watch(name: str, callback: Callable[[Any], None]) -> None:
    """Call `callback(value)` after every later assignment to option `name`."""

def threshold() -> int:
    """The log level in force, `verbose` and `quiet` taken into account."""
