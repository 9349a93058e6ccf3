"""The PTX of a few kernels, instruction by instruction, and what cannot become PTX."""

from __future__ import annotations

import re
from collections import Counter

import pytest

import omni.warp_core as wp
from omni.warp_core.codegen.cuda import ptx
from omni.warp_core.codegen.target import CUDA_ARCHITECTURES, GpuOptions, cuda
from omni.warp_core.codegen.toolchain import ToolchainError
from omni.warp_core.compiler import Artifact, CompileRequest, compile
from omni.warp_core.devices import cuda_capture
from omni.warp_core.launches import artifact as codec

KNOWN = GpuOptions(aligned=True, disjoint=True)
needs_ptxas = pytest.mark.skipif(ptx.find_ptxas() is None, reason="no ptxas: pip install nvidia-cuda-nvcc")


def _compiled(kernel, capability: int = 75, gpu: GpuOptions = KNOWN, **options) -> Artifact:
    types = tuple(t for _, t in kernel.params)
    return compile(CompileRequest(kernel, types, cuda(capability), gpu=gpu, **options))


def _text(kernel, capability: int = 75, gpu: GpuOptions = KNOWN, **options) -> str:
    return _compiled(kernel, capability, gpu, **options).code.decode()


def _memory(text: str) -> Counter[str]:
    """How often each instruction goes to memory."""
    return Counter(re.findall(r"^\t(?:@!?%p\d+ )?((?:ld|st|atom|red)\.(?!param)[\w.:]+)", text, re.MULTILINE))


def _facts(text: str, capability: int) -> tuple[int, int]:
    """(registers, bytes spilled) by ptxas."""
    made = ptx.assemble(text, cuda(capability), facts=True)
    assert made is not None
    spilled = sum(int(n) for n in re.findall(r"(\d+) bytes spill", made[1]))
    return int(re.search(r"Used (\d+) registers", made[1])[1]), spilled  # type: ignore[index]


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def integrate(x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), f: wp.array(dtype=wp.vec3), dt: float):
    i = wp.tid()
    v[i] = v[i] + f[i] * dt
    x[i] = x[i] + v[i] * dt


@wp.kernel
def bodies(p: wp.array(dtype=wp.vec4), a: wp.array(dtype=wp.vec3), n: int):
    i = wp.tid()
    me = wp.vec3(p[i][0], p[i][1], p[i][2])
    total = wp.vec3()
    for j in range(n):
        other = p[j]
        d = wp.vec3(other[0], other[1], other[2]) - me
        r = wp.dot(d, d) + 0.01
        total += d * (other[3] / (r * wp.sqrt(r)))
    a[i] = total


@wp.struct
class Pose:
    rotation: wp.quat
    size: wp.vec2
    weight: float
    number: int


@wp.kernel
def poses(
    q: wp.array(dtype=wp.quat), m: wp.array2d(dtype=wp.mat44), s: wp.array(dtype=Pose), two: wp.array(dtype=wp.vec2d)
):
    i = wp.tid()
    m[i, 0] = m[i, 0] * 2.0
    s[i].rotation = q[i] * s[i].rotation
    two[i] = two[i] + two[i]


@wp.kernel
def loss(x: wp.array(dtype=float), total: wp.array(dtype=float), n: wp.array(dtype=int)):
    d = x[wp.tid()] - 1.0
    wp.atomic_add(total, 0, d * d)
    wp.atomic_max(n, 0, int(d))


# -- targets --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("capability", "version"), [(75, "6.3"), (80, "7.0"), (90, "7.8"), (100, "8.6"), (120, "8.7")])
def test_drivers_as_old_as_can_be_take_the_code(capability, version):
    text = _text(saxpy, capability)
    assert f".version {version}\n.target sm_{capability}\n" in text


def test_architectures():
    assert [cuda(n).name for n in CUDA_ARCHITECTURES] == [f"sm_{n}" for n in CUDA_ARCHITECTURES]
    assert (cuda(87).name, cuda(103).name, cuda(121).name) == ("sm_86", "sm_100", "sm_120")
    with pytest.raises(ValueError, match=r"capability 7\.0, kernels need 7\.5 or higher"):
        cuda(70)


# -- memory ---------------------------------------------------------------------------------------------------------


def test_saxpy():
    assert _memory(_text(saxpy)) == {"ld.global.nc.b32": 1, "ld.global.b32": 1, "st.global.b32": 1}
    assert "fma.rn.f32" in _text(saxpy)
    assert "fma" not in _text(saxpy, contract=False)


def test_arrays_that_may_share_memory_are_not_constant():
    assert "ld.global.nc" not in _text(saxpy, gpu=GpuOptions(aligned=True))


def test_integrate():
    expected = {"ld.global.b32": 6, "ld.global.nc.b32": 3, "st.global.b32": 6}
    assert _memory(_text(integrate)) == expected


def test_bodies():
    assert _memory(_text(bodies)) == {"ld.global.nc.v4.b32": 2, "st.global.b32": 3}


def test_wide_accesses():
    """Where addresses are known to be multiples of 16 bytes, and only there."""
    text = _text(poses)
    assert _memory(text)["ld.global.v4.b32"] + _memory(text)["st.global.v4.b32"] == 10
    assert _memory(text)["ld.global.nc.v4.b32"] == 1
    assert _memory(text)["ld.global.v2.b64"] == _memory(text)["st.global.v2.b64"] == 1
    assert not any(".v" in name for name in _memory(_text(poses, gpu=GpuOptions())))


# -- atomics --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("capability", "shuffles", "redux"), [(75, 10, 0), (90, 5, 1)])
def test_totals_are_shared_within_a_warp_first(capability, shuffles, redux):
    made = _compiled(loss, capability)
    text = made.code.decode()
    assert (text.count("shfl.sync.bfly"), text.count("redux.sync.max.s32")) == (shuffles, redux)
    assert text.count("atom.global.add.f32") == text.count("atom.global.max.s32") == 2
    assert made.grid is not None and made.grid.strided


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64, wp.float16, wp.int32, wp.uint64, wp.int16])
@pytest.mark.parametrize("name", ["atomic_add", "atomic_min", "atomic_max", "atomic_exch", "atomic_cas"])
def test_scope_and_order_of_atomics(name, dtype):
    atomic = getattr(wp, name)

    @wp.kernel
    def one(x: wp.array(dtype=dtype), at: wp.array(dtype=int)):
        i = wp.tid()
        atomic(x, at[i], dtype(3))

    @wp.kernel
    def cas(x: wp.array(dtype=dtype), at: wp.array(dtype=int)):
        i = wp.tid()
        atomic(x, at[i], dtype(3), dtype(4))

    text = _text(cas if name == "atomic_cas" else one, 80)
    assert not re.search(r"\.sys|fence|membar|acq_rel|seq_cst", text)
    assert "atom." in text
    if dtype in (wp.float32, wp.float64, wp.int32, wp.uint64) and name != "atomic_cas":
        replaces_nan = name in ("atomic_min", "atomic_max") and dtype in (wp.float32, wp.float64)
        assert text.count(".cas.") == replaces_nan


# -- what ptxas makes of it -----------------------------------------------------------------------------------------


@needs_ptxas
@pytest.mark.parametrize("capability", [75, 90, 100, 120])
@pytest.mark.parametrize(("kernel", "registers"), [(saxpy, 12), (integrate, 24), (bodies, 40), (loss, 24)])
def test_registers(kernel, registers, capability):
    used, spilled = _facts(_text(kernel, capability), capability)
    assert used <= registers
    assert spilled == 0


@needs_ptxas
def test_machine_code_is_made_if_asked_for():
    made = _compiled(saxpy, gpu=GpuOptions(assemble=True, lines=True, block_dim=128, max_registers=32))
    assert made.machine_code.startswith(b"\x7fELF")
    assert ".maxntid 128" in made.code.decode() and ".maxnreg 32" in made.code.decode()
    assert codec.from_bytes(codec.to_bytes(made, "key"), "key") == made


@needs_ptxas
@pytest.mark.parametrize("capability", [75, 80, 90, 100, 120])
def test_the_kernel_that_sets_conditions_of_graphs(capability):
    """The driver has the function that it calls: ptxas knows it, and refuses names without a definition."""
    text = cuda_capture.condition_image().decode()
    made = ptx.assemble(text, cuda(capability))
    assert made is not None and made[0].startswith(b"\x7fELF")
    with pytest.raises(ToolchainError, match="Unresolved extern function"):
        ptx.assemble(text.replace("cudaGraphSetConditional", "cudaGraphSetSomething"), cuda(capability))


# -- lines ----------------------------------------------------------------------------------------------------------


def test_lines():
    """Every instruction belongs to a line of the kernel, and nothing else changes."""
    text = _text(integrate, gpu=KNOWN._replace(lines=True))
    first = integrate.source.first_line
    lines = {int(n) for n in re.findall(r"\.loc\s+1 (\d+) \d+", text)} - {0}
    assert lines <= set(range(first, first + 6)) and {first + 3, first + 4} <= lines
    assert re.search(r'\.file\s+1 ".*test_nvptx\.py"', text)
    assert ", debug" not in text
    plain = re.sub(r"^\s*(\.loc|\.file|\.section|\$L__(tmp|func)|//).*\n", "", text, flags=re.MULTILINE)
    assert _memory(plain) == _memory(_text(integrate))


# -- what cannot be -------------------------------------------------------------------------------------------------


@wp.kernel
def waves(x: wp.array(dtype=wp.float64)):
    i = wp.tid()
    x[i] = wp.sin(x[i])


def test_without_libdevice(monkeypatch):
    monkeypatch.setattr(ptx, "find_libdevice", lambda: None)
    with pytest.raises(wp.CompileError) as caught:
        _text(waves)
    report = str(caught.value)
    assert "error[libdevice]: `sin` of float64 needs NVIDIA's library libdevice" in report
    assert "x[i] = wp.sin(x[i])" in report and "pip install nvidia-nvvm" in report


@pytest.mark.skipif(ptx.find_libdevice() is None, reason="no libdevice: pip install nvidia-nvvm")
def test_libdevice():
    text = _text(waves)
    assert "__nv_sin" in text and ".extern" not in text


def test_large_arguments():
    def kernel_with(rows: int):
        matrix = wp.types.matrix((rows, 16), dtype=wp.float64)

        @wp.struct
        class Large:
            a: matrix
            b: matrix
            c: matrix

        @wp.kernel
        def k(s: Large, x: wp.array(dtype=wp.float64)):
            x[0] = s.a[0, 0] + s.b[1, 1]

        return k

    assert ".version 6.3" in _text(kernel_with(8))
    assert ".version 8.1" in _text(kernel_with(16), 80)


def test_intrinsics_that_llvm_may_not_select_are_refused():
    module = "declare float @llvm.sin.f32(float)\n"
    with pytest.raises(ToolchainError, match=r"llvm\.sin is not on the white list"):
        ptx.ptx(module, cuda(75))
    with pytest.raises(ToolchainError, match="white list"):
        ptx.ptx("declare i32 @llvm.nvvm.read.ptx.sreg.clock()\n", cuda(75))
