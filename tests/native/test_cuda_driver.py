"""Signatures of the CUDA driver's functions in native code, against NVIDIA's cuda.h.

cuda_driver.txt has the parameters of each function under the name that the library exports. They are the same in the
cuda.h of CUDA 12.0, 12.1, 12.3, 12.4 and 13.5 (wheels nvidia-cuda-runtime-cu12 and nvidia-cuda-runtime), which declares
the older versions of a function behind __CUDA_API_VERSION_INTERNAL. Where later ones have another form, such as
cuGraphAddNode, the library has that under another name, cuGraphAddNode_v2.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
INCLUDE = [HERE.parents[1] / "native" / "include", HERE.parent / "gpu" / "simulator"]

HANDLES = "context stream event module function memoryPool graph graphNode graphExec"
ENUMS = """
result device_attribute memPool_attribute memAccess_flags jit_option streamCaptureMode streamCaptureStatus
"""
STRUCTS = "CUuuid CUmemAccessDesc CUmemLocation CUDA_KERNEL_NODE_PARAMS CUgraphNodeParams CUgraphEdgeData"
TYPES = [
    *(f"using CU{name} = struct opaque_{name}*;" for name in HANDLES.split()),
    *(f"enum CU{name} : int {{}};" for name in ENUMS.split()),
    *(f"struct {name};" for name in STRUCTS.split()),
    "using CUdevice = int; using CUdeviceptr = unsigned long long;",
    "using cuuint64_t = unsigned long; using CUgraphConditionalHandle = unsigned long long;",
]
# Sizes and places of members: of 12.4 and 13.5, in which they are the same.
LAYOUTS = {
    "sizeof(Uuid)": 16,
    "sizeof(MemLocation)": 8,
    "sizeof(MemAccess)": 12,
    "offsetof(MemAccess, flags)": 8,
    "offsetof(MemLocation, id)": 4,
    "sizeof(KernelNodeParams)": 72,
    "offsetof(KernelNodeParams, grid_x)": 8,
    "offsetof(KernelNodeParams, block_x)": 20,
    "offsetof(KernelNodeParams, shared_bytes)": 32,
    "offsetof(KernelNodeParams, parameters)": 40,
    "offsetof(KernelNodeParams, extra)": 48,
    "offsetof(KernelNodeParams, kernel)": 56,
    "offsetof(KernelNodeParams, context)": 64,
    "sizeof(ConditionalNodeParams)": 256,
    "offsetof(ConditionalNodeParams, handle)": 16,
    "offsetof(ConditionalNodeParams, kind)": 24,
    "offsetof(ConditionalNodeParams, size)": 28,
    "offsetof(ConditionalNodeParams, bodies)": 32,
    "offsetof(ConditionalNodeParams, context)": 40,
}
FUNCTIONS = (HERE / "cuda_driver.txt").read_text().splitlines()


def refused(functions, tmp_path):
    """The functions that native code would call in another way than a library that has these; it must know them all."""
    source = tmp_path / "check.cpp"
    lines = ['#include "abi.h"', '#include "warp_core/cuda.h"', *TYPES]
    for function in functions:
        name, _, parameters = function.rstrip(")").partition("(")
        pointers = f"(CUresult(*)({parameters})) nullptr, decltype(wc::cuda::Driver::{name})()"
        lines.append(f'static_assert(called_alike({pointers}), "called otherwise: {name}.");')
    lines += ["namespace wc::cuda {", *(f"static_assert({what} == {n});" for what, n in LAYOUTS.items()), "}"]
    source.write_text("\n".join(lines))
    command = [os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", *(f"-I{path}" for path in INCLUDE), source]
    done = subprocess.run(command, capture_output=True, text=True)
    found = [f for f in functions if f"called otherwise: {f.partition('(')[0]}." in done.stderr]
    assert found or done.returncode == 0, done.stderr
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="needs the compiler that built the native module")
def test_functions_are_called_as_cuda_h_declares_them(tmp_path):
    assert refused(FUNCTIONS, tmp_path) == []
    wrong = [f.replace("size_t", "unsigned int").replace("CUgraphEdgeData*, ", "") for f in FUNCTIONS]
    names = {f.partition("(")[0] for f in refused(wrong, tmp_path)}
    assert {"cuMemAllocAsync", "cuMemcpyAsync", "cuStreamUpdateCaptureDependencies", "cuGraphAddNode"} <= names


def test_all_functions_are_in_the_table():
    header = (INCLUDE[0] / "warp_core" / "cuda.h").read_text()
    names = [f.partition("(")[0] for f in FUNCTIONS]
    assert names == [line.split("F(")[1].split(",")[0] for line in header.splitlines() if "    F(cu" in line]
