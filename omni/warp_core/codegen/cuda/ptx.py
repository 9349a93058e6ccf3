"""From LLVM assembly for an NVIDIA GPU to PTX, and with NVIDIA's assembler to machine code. Start with `ptx`.

LLVM picks the oldest version of PTX that knows the architecture, so that drivers older than the compiler accept it too
(6.3 for sm_75, 7.8 for sm_90, 8.6 for sm_100). Only an argument block of more than 4 kB needs a newer one, 8.1.

`__nv_sin` and its kin, which emitted code calls for functions of the C library in double, come from NVIDIA's library
of bitcode, libdevice. It is not part of this package. It and the assembler are looked for where CUDA is commonly found:
the folders that CUDA_HOME and CUDA_PATH name, the wheels nvidia-cuda-nvcc (ptxas) and nvidia-nvvm (libdevice), the
folder of a `ptxas` on PATH, and /usr/local/cuda. (cuda-pathfinder looks in the same places but for the last two.) The
functions that kernels have asked for are kept as bitcode of their own, a few kB each: parsing the library takes 30 ms.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from functools import lru_cache
from glob import glob

import llvmlite.binding as llvm

from ...lang.deep_recursion import interruptible
from ..target import Target
from ..toolchain import ToolchainError, check_intrinsics, optimize

LIBDEVICE_HELP = "install the wheel nvidia-nvvm (`pip install nvidia-nvvm`), or set CUDA_HOME to a CUDA toolkit"
MOST_ARGUMENT_BYTES = 32_764 - 80 - 16
_OLD_ARGUMENT_BYTES = 4_352 - 80 - 16

# LLVM ends the process on an instruction that it cannot select: these it can. Those of the hardware are named in full.
_COMMON = "abs ceil ctlz ctpop fabs floor fma fptosi fptoui rint sqrt trunc"
_HARDWARE = """
activemask isspacep.local f2i.rz f2ui.rz vote.ballot.sync barrier0
shfl.sync.bfly.i32 shfl.sync.idx.i32 shfl.sync.up.i32 shfl.sync.down.i32
read.ptx.sreg.tid.x read.ptx.sreg.ntid.x read.ptx.sreg.ctaid.x read.ptx.sreg.nctaid.x
read.ptx.sreg.lanemask.lt
redux.sync.add redux.sync.min redux.sync.max redux.sync.umin redux.sync.umax
redux.sync.and redux.sync.or redux.sync.xor
"""
INTRINSICS = frozenset([*_COMMON.split(), *(f"nvvm.{name}" for name in _HARDWARE.split())])


@lru_cache(maxsize=16)
def _machine(target: Target, features: str) -> llvm.TargetMachine:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(target.triple).create_target_machine(cpu=target.cpu, features=features, opt=3)


def ptx(text: str, target: Target, argument_bytes: int = 0, needs: Iterable[str] = ()) -> str:
    """Compile LLVM assembly to PTX for `target`.

    Args:
        text: the module.
        target: a GPU.
        argument_bytes: the size of the kernel's argument block.
        needs: the functions of the C library that it calls.

    Raises:
        ToolchainError: the text is not valid, or libdevice is needed and not found.
    """
    check_intrinsics(text, INTRINSICS)
    features = "+ptx81" if argument_bytes > _OLD_ARGUMENT_BYTES and int(target.cpu[3:]) <= 90 else ""
    return interruptible(lambda: _assembly(text, target, features, needs))


def _assembly(text: str, target: Target, features: str, needs: Iterable[str]) -> str:
    machine = _machine(target, features)
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise ToolchainError(str(error)) from None
    module.triple, module.data_layout = target.triple, str(machine.target_data)
    for name in needs:
        library = llvm.parse_bitcode(_library_function(name))
        library.triple, library.data_layout = target.triple, str(machine.target_data)
        module.link_in(library)
        module.get_function(f"__nv_{name}").linkage = "internal"
    optimize(module, machine)
    return machine.emit_assembly(module)


# -- NVIDIA's files --------------------------------------------------------------------------------------------------


def _folders() -> Iterator[str]:
    """Folders with the layout of a CUDA toolkit, best first."""
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield os.environ[variable]
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations or () if spec else ():
        yield from sorted(glob(os.path.join(folder, "cu[0-9]*")), reverse=True)
        yield os.path.join(folder, "cuda_nvcc")  # the wheels for CUDA 12
    found = shutil.which("ptxas")
    if found:
        yield os.path.dirname(os.path.dirname(os.path.realpath(found)))
    yield "/usr/local/cuda"


def _find(*path: str) -> str | None:
    files = (os.path.join(folder, *path) for folder in _folders())
    return next((f for f in files if os.path.isfile(f)), None)


@lru_cache(maxsize=1)
def find_libdevice() -> str | None:
    """The file of libdevice, if there is one."""
    return _find("nvvm", "libdevice", "libdevice.10.bc")


@lru_cache(maxsize=1)
def find_ptxas() -> str | None:
    """NVIDIA's assembler, if there is one."""
    return _find("bin", "ptxas.exe" if os.name == "nt" else "ptxas")


@lru_cache(maxsize=64)
def _library_function(name: str) -> bytes:
    """Bitcode of one function of libdevice with all it calls; everything else is gone."""
    path = find_libdevice()
    if path is None:
        raise ToolchainError(f"libdevice is needed for {name}: {LIBDEVICE_HELP}")
    with open(path, "rb") as file:
        module = llvm.parse_bitcode(file.read())
    for f in module.functions:
        if not f.is_declaration and f.name != f"__nv_{name}":
            f.linkage = "internal"
    with (
        llvm.create_pipeline_tuning_options(speed_level=1) as tuning,
        llvm.create_pass_builder(_machine_of_library(), tuning) as builder,
        llvm.create_new_module_pass_manager() as passes,
    ):
        passes.add_global_dead_code_eliminate_pass()
        passes.run(module, builder)
    return module.as_bitcode()


def _machine_of_library() -> llvm.TargetMachine:
    return llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu="sm_75", opt=1)


# -- machine code ----------------------------------------------------------------------------------------------------


def assemble(text: str, target: Target, facts: bool = False) -> tuple[bytes, str] | None:
    """Machine code for PTX, and what ptxas tells of it (registers, spills) if `facts` are asked for; None if there is
    no ptxas.

    Raises:
        ToolchainError: ptxas refuses the text.
    """
    program = find_ptxas()
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, result = os.path.join(folder, "kernel.ptx"), os.path.join(folder, "kernel.cubin")
        with open(source, "w") as file:
            file.write(text)
        command = [program, f"-arch={target.cpu}", *(["-v"] if facts else []), source, "-o", result]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise ToolchainError(f"ptxas: {done.stdout}{done.stderr}")
        with open(result, "rb") as file:
            return file.read(), done.stderr
