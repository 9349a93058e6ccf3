"""Kernels for tests of the native runtime, written in LLVM assembly so that they depend on nothing but the ABI."""

import importlib
import struct
from functools import lru_cache

import llvmlite.binding as llvm
import numpy as np

from omni.warp_core.lang.types import F32, I64, U8, Array, Type

native = importlib.import_module("omni.warp_core._native")

SIGNATURE = "define void @kernel(ptr %args, ptr %dims, i64 %begin, i64 %end, ptr %context)"


def loop(body: str, head: str = "", declarations: str = "") -> str:
    """A kernel that runs `body` for every thread %i; `head` is computed once. `body` is one basic block."""
    return f"""
{declarations}
{SIGNATURE} {{
entry:
{head}
  br label %check
check:
  %i = phi i64 [%begin, %entry], [%next, %body]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %body, label %done
body:
{body}
  %next = add i64 %i, 1
  br label %check
done:
  ret void
}}"""


# x: array1<i64> at 0. Counts the visits of every thread: x[i] += 1.
COUNT = loop(
    "  %p = getelementptr i64, ptr %x, i64 %i\n  %v = load i64, ptr %p\n  %w = add i64 %v, 1\n  store i64 %w, ptr %p",
    "  %x = load ptr, ptr %args",
)

# out: array1<u8> at 0. Copies its own argument block to `out`; @SIZE@ bytes.
DUMP = f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
{SIGNATURE} {{
  %out = load ptr, ptr %args
  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %args, i64 @SIZE@, i1 false)
  ret void
}}"""


@lru_cache
def machine(reloc: str = "pic", features: str = "") -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(opt=1, reloc=reloc, codemodel="small", features=features)


@lru_cache
def object_of(text: str, reloc: str = "pic", features: str = "") -> bytes:
    module = llvm.parse_assembly(text)
    module.verify()
    return machine(reloc, features).emit_object(module)


def plan_of(text: str, params: dict[str, Type], arity: int = 1, readonly: tuple[str, ...] = (), **options):
    """A plan whose two variants are the same code."""
    code = native.Code(object_of(text))
    specs = [native.ParamSpec(name, t, name not in readonly) for name, t in params.items()]
    plan = native.Plan("kernel", specs, arity, **options)
    for variant in (0, 1):
        plan.set_entry(variant, code.address("kernel"), code)
    return plan


def count_plan():
    return plan_of(COUNT, {"x": Array(I64)})


def dump_plan(params: dict[str, Type], **options):
    """A plan that writes its argument block to the array `out`, which precedes `params`."""
    every = {"out": Array(U8), **params}
    size = native.Plan("kernel", [native.ParamSpec(n, t) for n, t in every.items()], 1).block_size
    return plan_of(DUMP.replace("@SIZE@", str(size)), every, **options)


def packed(params: dict[str, Type], *values, **options) -> dict[str, bytes]:
    """The bytes that each argument becomes in the argument block."""
    plan = dump_plan(params, **options)
    out = np.zeros(plan.block_size, np.uint8)
    plan.launch(1, [out, *values])
    block = out.tobytes()
    return {name: block[at : at + size] for name, at, size in plan.layout}


def array(data: np.ndarray, t: Type = F32, ndim: int | None = None, **options):
    """An ArrayBase over the memory of `data`, whose trailing dimensions belong to the element."""
    ndim = data.ndim if ndim is None else ndim
    return native.ArrayBase(
        data.ctypes.data, data.shape[:ndim], data.strides[:ndim], native.type_id(t.key, t.size), owner=data, **options
    )


def descriptor(data: np.ndarray, ndim: int, grad: int = 0) -> bytes:
    """The `wc_array` of the first `ndim` dimensions of `data`."""
    strides = list(data.strides[:ndim]) + [0] * (4 - ndim)
    shape = list(data.shape[:ndim]) + [1] * (4 - ndim)
    return struct.pack("10q", data.ctypes.data, grad, *shape, *strides)


class Kernel:
    """Stands for lang.kernel.Kernel: all that `launch` looks at is `_plan`."""

    def __init__(self, plan=None):
        self._plan = plan
