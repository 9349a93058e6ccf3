"""Modules compiled ahead of time: other processes launch them without the compiler, and refuse what does not fit."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import config
from omni.warp_core.codegen.target import cpu_targets, host
from omni.warp_core.lang.blake2 import blake2b
from omni.warp_core.launches import ahead_table, artifact, module_file, plans

pytestmark = pytest.mark.cpu
ROOT = Path(__file__).resolve().parents[2]

MODULE = """
import omni.warp_core as wp

@wp.struct
class Spring:
    rest: float
    forces: wp.array(dtype=wp.vec3)

@wp.func
def squared(x: float):
    return x * x

@wp.kernel
def norms(v: wp.array(dtype=wp.vec3), spring: Spring, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = squared(v[i][0]) + squared(v[i][1]) - spring.rest
    spring.forces[i] = v[i] * spring.rest

@wp.kernel
def total(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, x[wp.tid()])

@wp.kernel
def columns(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    y[i, j] = 2.0 * x[i, j]

@wp.kernel
def scaled(x: wp.array(dtype=wp.Float), by: wp.Float):
    i = wp.tid()
    x[i] = by * x[i]

wp.overload(scaled, [wp.array(dtype=wp.float64), wp.float64])

@wp.kernel
def rows(x: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.tile_sum(wp.tile_load(x[i], 64))[0]

def use_tiles(n):
    x, out = wp.full((n, 64), 0.5), wp.zeros(n)
    wp.launch_tiled(rows, dim=n, inputs=[x, out], block_dim=32)
    return out.numpy()
"""

LAUNCHES = """
import sys
sys.modules["llvmlite"] = None  # the compiler cannot start
import numpy as np
import omni.warp_core as wp
import shipped

wp.config.kernel_cache_dir = None
wp.load_aot_module(shipped, module_dir="files")

rng = np.random.default_rng(3)
v = rng.normal(size=(50, 3)).astype(np.float32)
spring = shipped.Spring()
spring.rest, spring.forces = 2.0, wp.zeros(50, dtype=wp.vec3)
out = wp.zeros(50)
wp.launch(shipped.norms, 50, [wp.array(v, dtype=wp.vec3), spring, out])
np.testing.assert_allclose(out.numpy(), v[:, 0] ** 2 + v[:, 1] ** 2 - 2.0, rtol=1e-5, atol=1e-6)
np.testing.assert_allclose(spring.forces.numpy(), 2.0 * v)

x = wp.array(np.arange(100.0), dtype=float)
one = wp.zeros(1)
wp.launch(shipped.total, 50, [x[::2], one])
assert one.list() == [2450.0]
wp.launch(shipped.total, 3, [x, x[:1]])  # adds to what it reads

for shape in ((7, 5), (4000, 3)):
    a = rng.normal(size=shape).astype(np.float32)
    for source in (wp.array(a, dtype=float), wp.array(a.T.copy(), dtype=float).transpose()):
        b = wp.zeros(shape)
        wp.launch(shipped.columns, shape, [source, b])
        np.testing.assert_allclose(b.numpy(), 2.0 * a)

d = wp.full(4, 3.0, dtype=wp.float64)
wp.launch(shipped.scaled, 4, [d, wp.float64(0.5)])
assert d.list() == [1.5] * 4
assert shipped.use_tiles(9).tolist() == [32.0] * 9

x = wp.array(np.arange(10.0), dtype=float, requires_grad=True)
y, loss = wp.zeros(10, requires_grad=True), wp.zeros(1, requires_grad=True)
with wp.Tape() as tape:
    wp.launch(shipped.columns, (2, 5), [x.reshape((2, 5)), y.reshape((2, 5))])
    wp.launch(shipped.total, 10, [y, loss])
tape.backward(loss)
assert x.grad.list() == [2.0] * 10
print("launched")
"""


def run(folder: Path, text: str) -> subprocess.CompletedProcess:
    path = f"{ROOT}{os.pathsep}{folder}"
    environment = {**os.environ, "PYTHONPATH": path, "OMNI_WARP_CACHE_DIR": str(folder / "cache")}
    return subprocess.run([sys.executable, "-c", text], cwd=folder, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """A folder with a module and its files."""
    folder = tmp_path_factory.mktemp("shipped")
    (folder / "shipped.py").write_text(MODULE)
    make = 'shipped.use_tiles(2); wp.compile_aot_module(shipped, module_dir="files")'
    done = run(folder, f"import omni.warp_core as wp, shipped; {make}")
    assert done.returncode == 0, done.stderr
    return folder


def test_another_process_launches_without_the_compiler(shipped):
    done = run(shipped, LAUNCHES)
    assert done.stdout == "launched\n", done.stderr


def test_a_launch_that_the_file_does_not_have_is_compiled(shipped):
    text = """
import omni.warp_core as wp, shipped
wp.load_aot_module(shipped, module_dir="files")
x = wp.full(4, 3, dtype=wp.float16)
wp.launch(shipped.scaled, 4, [x, wp.float16(2.0)])
print(x.list())
"""
    assert run(shipped, text).stdout == "[6.0, 6.0, 6.0, 6.0]\n"


# -- what does not fit ----------------------------------------------------------------------------------------------


def doubling(by: float = 2.0) -> wp.Module:
    """A module of one kernel that multiplies by a number, which is a part of its source."""
    module = wp.Module("changing")

    @wp.kernel(module=module)
    def times(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = by * x[i]

    module.kept = times
    return module


def times_of(module: wp.Module) -> float:
    x = wp.ones(2, dtype=float)
    wp.launch(module.kept, 2, [x])
    return x.list()[0]


@pytest.fixture
def no_tables(monkeypatch):
    """Nothing is loaded, and nothing stays."""
    monkeypatch.setattr(ahead_table, "_tables", {kind: {} for kind in ahead_table._tables})


pytestmark = [pytest.mark.cpu, pytest.mark.usefixtures("no_tables")]


@pytest.fixture
def never_compiled(monkeypatch):
    def refuse(request):
        raise AssertionError(f"{request.subject} is compiled")

    def forbid():
        monkeypatch.setattr(plans, "compile", refuse)
        monkeypatch.setattr(plans, "_loaded", {})
        monkeypatch.setattr(config, "kernel_cache_dir", None)

    return forbid


def test_equal_source_loads(tmp_path, never_compiled):
    (path,) = wp.compile_aot_module(doubling(), module_dir=tmp_path)
    assert path.parent == tmp_path and path.name.endswith(f".{host(config.cpu_target).name}.wcm")
    never_compiled()
    again = doubling()
    wp.load_aot_module(again, module_dir=tmp_path)
    assert times_of(again) == 2.0


def test_changed_source_is_refused(tmp_path):
    (path,) = wp.compile_aot_module(doubling(), module_dir=tmp_path)
    with pytest.raises(FileNotFoundError, match=f"'changing'.*{path.name}.*before its kernels or options changed"):
        wp.load_aot_module(doubling(3.0), module_dir=tmp_path)
    with pytest.raises(FileNotFoundError, match="nothing of it is in"):
        wp.load_aot_module(doubling(3.0), module_dir=tmp_path / "elsewhere")


def test_changed_options_are_refused(tmp_path):
    wp.compile_aot_module(doubling(), module_dir=tmp_path)
    other = doubling()
    other.options["fast_math"] = True
    with pytest.raises(FileNotFoundError, match="options changed"):
        wp.load_aot_module(other, module_dir=tmp_path)


def test_code_of_another_dialect_is_refused(tmp_path, monkeypatch):
    wp.compile_aot_module(doubling(), module_dir=tmp_path)
    monkeypatch.setattr(config, "dialect", "warp-lang")
    with pytest.raises(FileNotFoundError, match="options changed"):
        wp.load_aot_module(doubling(), module_dir=tmp_path)


def test_without_hashes_the_code_of_the_file_runs(tmp_path, never_compiled):
    (path,) = wp.compile_aot_module(doubling(), module_dir=tmp_path, strip_hash=True)
    assert path.name == f"wp_changing.{host(config.cpu_target).name}.wcm"
    changed = doubling(3.0)
    assert times_of(changed) == 3.0
    never_compiled()
    wp.load_aot_module(changed, module_dir=tmp_path, strip_hash=True)
    assert times_of(changed) == 2.0
    assert changed.options["strip_hash"] is True


def test_generic_kernels_need_no_hash(tmp_path, never_compiled):
    def made():
        module = wp.Module("open")

        @wp.kernel(module=module)
        def half(x: wp.array(dtype=wp.Float)):
            i = wp.tid()
            x[i] = x[i] * x.dtype(0.5)

        module.kept = half
        return module

    first = made()
    for t in (wp.float32, wp.float64):
        wp.overload(first.kept, [wp.array(dtype=t)])
    wp.compile_aot_module(first, module_dir=tmp_path, strip_hash=True)
    never_compiled()
    second = made()
    wp.load_aot_module(second, module_dir=tmp_path, strip_hash=True)
    for t in (wp.float32, wp.float64):
        x = wp.ones(3, dtype=t)
        wp.launch(second.kept, 3, [x])
        assert x.list() == [0.5] * 3


def test_code_for_a_lesser_processor_runs(tmp_path, never_compiled):
    runnable = [t.name for t in cpu_targets() if t.lanes <= host().lanes]
    paths = wp.compile_aot_module(doubling(), arch=runnable, module_dir=tmp_path)
    assert [p.suffixes[-2] for p in paths] == [f".{name}" for name in runnable]
    for path in paths[:-1]:
        path.unlink()
    never_compiled()
    module = doubling()
    wp.load_aot_module(module, module_dir=tmp_path)
    assert times_of(module) == 2.0
    assert plans.load(module.kept, plans.options_for(module.kept)).artifact.lanes == 4


def test_code_for_a_better_processor_is_refused(tmp_path, monkeypatch):
    wp.compile_aot_module(doubling(), arch="avx512", module_dir=tmp_path)
    monkeypatch.setattr(config, "cpu_target", "sse4")
    with pytest.raises(ValueError, match="arch: cpu cannot run code for avx512, only for sse4"):
        wp.load_aot_module(doubling(), arch="avx512", module_dir=tmp_path)
    with pytest.raises(FileNotFoundError, match="for other processors"):
        wp.load_aot_module(doubling(), module_dir=tmp_path)


def test_files_of_other_names_are_refused(tmp_path):
    here = host(wp.config.cpu_target).name
    other = "avx2" if here == "sse4" else "sse4"
    (path,) = wp.compile_aot_module(doubling(), arch=other, module_dir=tmp_path)
    path.rename(path.with_name(path.name.replace(other, here)))
    with pytest.raises(ValueError, match=f"it has module 'changing' for {other}, and its name says"):
        wp.load_aot_module(doubling(), module_dir=tmp_path)


def test_arguments_that_mean_nothing_are_refused(tmp_path):
    with pytest.raises(TypeError, match=r"module: expected a wp\.Module, a Python module or its name, got int"):
        wp.compile_aot_module(5, module_dir=tmp_path)
    with pytest.raises(ValueError, match="no module 'nowhere' has been imported"):
        wp.load_aot_module("nowhere", module_dir=tmp_path)
    with pytest.raises(RuntimeError, match="'empty' has no kernels to compile"):
        wp.compile_aot_module(wp.Module("empty"), module_dir=tmp_path)
    with pytest.raises(ValueError, match="arch: expected one of avx512, avx2, sse4, or a compute capability"):
        wp.compile_aot_module(doubling(), arch="mmx", module_dir=tmp_path)


def test_a_kernel_with_mistakes_leaves_no_file(tmp_path):
    module = doubling()

    @wp.kernel(module=module)
    def wrong(x: wp.array(dtype=float)):
        x[0] = nowhere  # noqa: F821

    with pytest.raises(wp.CompileError, match="nowhere"):
        wp.compile_aot_module(module, module_dir=tmp_path / "files")
    assert not (tmp_path / "files").exists()


def test_files_in_the_cache_are_those_of_this_user(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "kernel_cache_dir", str(tmp_path / "cache"))
    (path,) = wp.compile_aot_module(doubling())
    assert path.is_relative_to(tmp_path / "cache")
    wp.load_aot_module(doubling())
    path.chmod(0o666)
    with pytest.raises(OSError, match="writable by other users"):
        wp.load_aot_module(doubling())
    monkeypatch.setattr(config, "kernel_cache_dir", None)
    with pytest.raises(ValueError, match="module_dir: name a folder"):
        wp.load_aot_module(doubling())


# -- GPUs -----------------------------------------------------------------------------------------------------------


def test_code_for_gpus_needs_none(tmp_path):
    paths = wp.compile_aot_module(doubling(), arch=[75, "sm_90"], module_dir=tmp_path, use_ptx=True)
    assert [p.suffixes[-2] for p in paths] == [".sm_75", ".sm_90"]
    for path in paths:
        made = module_file.from_bytes(path.read_bytes())
        codes = [module_file.unpacked(image, key).code.decode() for key, image in made.images.items()]
        assert len(codes) > 4 and all(f".target {made.target}" in code for code in codes)


# -- files from outside ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def image():
    module = doubling()
    made = plans.artifact_for(module.kept, plans.options_for(module.kept), 0, host())
    images = {key: module_file.packed(made, key) for key in ("ab", "cd")}
    return module_file.to_bytes(module_file.CompiledModule("m", "avx2", False, images))


def test_round_trip(image):
    found = module_file.from_bytes(image)
    assert module_file.to_bytes(found) == image and list(found.images) == ["ab", "cd"]


def test_every_truncation_is_refused(image):
    for n in range(0, len(image), 7):
        with pytest.raises(module_file.DamagedModule):
            module_file.from_bytes(image[:n])
    with pytest.raises(module_file.DamagedModule):
        module_file.from_bytes(image + b"\0")


def test_flipped_bits_are_refused(image):
    rng = random.Random(1)
    for _ in range(2000):
        changed = bytearray(image)
        changed[rng.randrange(len(image))] ^= 1 << rng.randrange(8)
        with pytest.raises(module_file.DamagedModule):
            module_file.from_bytes(bytes(changed))


def signed(content: bytes) -> bytes:
    """A file with a right checksum, as someone who means harm would write it."""
    head = module_file.MAGIC + module_file.FORMAT.to_bytes(4, "little")
    return head + blake2b(content, digest_size=32).digest() + content


def test_forged_files_are_refused_or_equal(image):
    """Changes under a right checksum reach the table and the checks of each artifact."""
    content, right = image[module_file._CHECKED_FROM :], module_file.from_bytes(image)
    artifacts = {key: module_file.unpacked(part, key) for key, part in right.images.items()}
    rng = random.Random(2)
    size = int.from_bytes(content[:4], "little")
    for _ in range(4000):
        changed = bytearray(content)
        for _ in range(rng.randrange(1, 4)):
            changed[rng.randrange(size + 4 if rng.random() < 0.7 else len(content))] = rng.randrange(256)
        try:
            found = module_file.from_bytes(signed(bytes(changed)))
            for key, part in found.images.items():
                assert module_file.unpacked(part, key) == artifacts[key]
        except module_file.DamagedModule:
            continue


TABLES = [
    [],
    {},
    {"version": 1},
    {"module": 3},
    {"kernels": {"ab": -5}},
    {"kernels": {"ab": 1.5}},
    {"kernels": {"ab": 10**30}},
    {"kernels": []},
    {"by_name": 1},
    {"more": 1},
]


@pytest.mark.parametrize("change", TABLES)
def test_tables_of_other_kinds_are_refused(image, change):
    content = image[module_file._CHECKED_FROM :]
    size = int.from_bytes(content[:4], "little")
    table = json.loads(content[4 : 4 + size])
    text = json.dumps({**table, **change} if change else change).encode()
    with pytest.raises(module_file.DamagedModule):
        module_file.from_bytes(signed(len(text).to_bytes(4, "little") + text + content[4 + size :]))


def test_refusals_say_why(tmp_path, image, monkeypatch):
    (path,) = wp.compile_aot_module(doubling(), module_dir=tmp_path)
    data = path.read_bytes()
    for changed, why in [
        (b"", "it has 0 bytes"),
        (b"x" * 100, "it is no module that wp.compile_aot_module has written"),
        (data[:8] + b"\7" + data[9:], "it has format 7, and this version reads format 1"),
        (data[:-1], "its checksum differs, so it was cut or altered"),
    ]:
        path.write_bytes(changed)
        with pytest.raises(ValueError, match=f"{path.name} is refused: {why}.*Compile the module again"):
            wp.load_aot_module(doubling(), module_dir=tmp_path)
    path.write_bytes(data)
    monkeypatch.setattr(artifact, "FORMAT", artifact.FORMAT + 1)
    with pytest.raises(ValueError, match=r"version .* of this package has written it, and this is version"):
        wp.load_aot_module(doubling(), module_dir=tmp_path)


def test_code_that_does_not_load_is_reported(tmp_path, never_compiled):
    (path,) = wp.compile_aot_module(doubling(), module_dir=tmp_path)
    made = module_file.from_bytes(path.read_bytes())
    broken = {}
    for key, image in made.images.items():
        altered = module_file.unpacked(image, key)._replace(code=b"\x7fELF" + bytes(200))
        broken[key] = module_file.packed(altered, key)
    path.write_bytes(module_file.to_bytes(made._replace(images=broken)))
    never_compiled()
    module = doubling()
    wp.load_aot_module(module, module_dir=tmp_path)
    with pytest.raises(RuntimeError, match=f"kernel `times`: its code in .*{path.name} does not load"):
        times_of(module)


def test_results_are_those_of_compiling(tmp_path, never_compiled):
    """Gradients and values are equal, bit for bit, to those of the process that compiled."""

    def made():
        module = wp.Module("equal")

        @wp.kernel(module=module)
        def wave(x: wp.array(dtype=float), y: wp.array(dtype=float)):
            i = wp.tid()
            y[i] += wp.sin(x[i]) * wp.exp(x[i])

        module.kept = wave
        return module

    def values(module):
        x = wp.array(np.linspace(-2.0, 2.0, 101), dtype=float, requires_grad=True)
        y = wp.ones(101, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(module.kept, 101, [x, y])
        tape.backward(grads={y: wp.ones(101, dtype=float)})
        return y.numpy(), x.grad.numpy()

    first = made()
    wp.compile_aot_module(first, module_dir=tmp_path)
    compiled = values(first)
    never_compiled()
    second = made()
    wp.load_aot_module(second, module_dir=tmp_path)
    for a, b in zip(compiled, values(second)):
        assert a.tobytes() == b.tobytes()
