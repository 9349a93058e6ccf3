"""The disk cache: many processes, damage, what others could have written, disks that refuse, limits."""

import errno
import multiprocessing
import os
import random
import resource
import signal
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import omni.warp_core as wp
from omni.warp_core import config
from omni.warp_core.compiler import Artifact, Site, compile
from omni.warp_core.files import Unfinished
from omni.warp_core.launches import artifact as codec
from omni.warp_core.launches import kernel_cache, plans

KEY = "ab" * 20


def make(code: bytes = b"\x7fELF object", **changes) -> Artifact:
    facts = {
        "kernel": "scale",
        "symbol": "kernel",
        "params": ("array1<f32>", "f32"),
        "written": ((0,), ()),
        "arity": 2,
        "lanes": 16,
        "sites": (Site("bounds", "index out of range", "/tmp/a.py", 12, 4, ("i32", "i32")),),
        "milliseconds": {"front": 1.25},
    }
    return Artifact(code=code, **{**facts, **changes})


@pytest.fixture
def directory(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "kernel_cache_dir", str(tmp_path / "cache"))
    monkeypatch.setattr(config, "cache_kernels", True)
    monkeypatch.setattr(kernel_cache, "_warned", set())
    monkeypatch.setattr(kernel_cache, "_room", {})
    return tmp_path / "cache"


def entries(directory: Path) -> list[Path]:
    return sorted(p for p in directory.rglob("*") if p.is_file())


# -- the file format ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [b"", b"x", bytes(range(256)) * 100])
def test_round_trip(code):
    a = make(code)
    assert codec.from_bytes(codec.to_bytes(a, KEY), KEY) == a


@wp.struct
class Cell:
    value: float
    others: wp.array(dtype=wp.vec3)


@wp.kernel
def scatter(i: wp.array(dtype=int), x: wp.array(dtype=float), y: wp.array(dtype=float), cell: Cell):
    k = wp.tid()
    y[i[k]] += x[k] * cell.value
    cell.others[k] += wp.vec3(x[k])


@wp.kernel
def stencil(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    k = wp.tid()
    y[k] = x[k] * x[k] + wp.sin(x[k + 1])


@wp.kernel
def columns(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    wp.atomic_add(y, 0, j, x[i, j])  # an index that is no thread's


@wp.kernel
def in_blocks(x: wp.array(dtype=float)):
    shared = wp.shared_array(shape=64, dtype=float)
    t = wp.thread_index()
    shared[t] = x[wp.tid()]
    wp.syncthreads()
    x[wp.tid()] = shared[63 - t]


DEBUG, RELEASE, BLOCKS = plans.Options(True), plans.Options(False), plans.Options(False, block_dim=64)
ADJOINT, SHARED = plans.Options(False, adjoint="distinct"), plans.Options(False, adjoint="shared")
COMPILED = [(k, o) for k in (scatter, stencil, columns) for o in (DEBUG, RELEASE, ADJOINT, SHARED)]
COMPILED += [(in_blocks, BLOCKS)]


@pytest.mark.parametrize(("kernel", "options"), COMPILED)
def test_what_is_compiled_reads_back(kernel, options):
    made = compile(plans.request(kernel, options, 0))
    assert codec.from_bytes(codec.to_bytes(made, KEY), KEY) == made


def test_every_truncation_is_refused():
    data = codec.to_bytes(make(), KEY)
    for n in range(len(data)):
        with pytest.raises(codec.DamagedArtifact):
            codec.from_bytes(data[:n], KEY)
    with pytest.raises(codec.DamagedArtifact):
        codec.from_bytes(data + b"\0", KEY)


def test_every_flipped_bit_is_refused():
    data = codec.to_bytes(make(), KEY)
    for i in range(len(data)):
        damaged = bytearray(data)
        damaged[i] ^= 1 << (i % 8)
        with pytest.raises(codec.DamagedArtifact):
            codec.from_bytes(bytes(damaged), KEY)


def test_noise_is_refused():
    rng = random.Random(7)
    for _ in range(300):
        with pytest.raises(codec.DamagedArtifact):
            codec.from_bytes(codec.MAGIC + rng.randbytes(rng.randrange(200)), KEY)


# -- the directory --------------------------------------------------------------------------------------------------


def test_store_then_load(directory):
    assert kernel_cache.load(KEY) is None
    assert kernel_cache.store(KEY, make())
    assert kernel_cache.load(KEY) == make()
    assert [p.name for p in entries(directory)] == [KEY + kernel_cache.SUFFIX]
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_options_turn_the_cache_off(directory, monkeypatch):
    kernel_cache.store(KEY, make())
    monkeypatch.setattr(config, "cache_kernels", False)
    assert kernel_cache.load(KEY) is None
    assert not kernel_cache.store("cd" * 20, make())
    monkeypatch.setattr(config, "cache_kernels", True)
    monkeypatch.setattr(config, "kernel_cache_dir", None)
    assert kernel_cache.load(KEY) is None
    assert not kernel_cache.store(KEY, make())
    assert kernel_cache.clear_kernel_cache() == 0


@pytest.mark.parametrize(
    "damage", [lambda d: d[: len(d) // 2], lambda d: b"", lambda d: d[:-1] + b"!", lambda d: b"x" * 9]
)
def test_a_damaged_entry_is_missing_and_then_replaced(directory, damage):
    kernel_cache.store(KEY, make())
    (path,) = entries(directory)
    path.write_bytes(damage(path.read_bytes()))
    assert kernel_cache.load(KEY) is None
    assert kernel_cache.store(KEY, make())
    assert kernel_cache.load(KEY) == make()


def test_an_entry_under_the_name_of_another_is_damaged(directory):
    other = "cd" * 20
    kernel_cache.store(KEY, make(b"one"))
    kernel_cache.store(other, make(b"two"))
    first, second = (directory / key[:2] / (key + kernel_cache.SUFFIX) for key in (KEY, other))
    first.rename(directory / "aside")
    second.rename(first)
    (directory / "aside").rename(second)
    assert kernel_cache.load(KEY) is None and kernel_cache.load(other) is None


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES])
def test_a_directory_that_cannot_be_made_costs_one_warning(directory, monkeypatch, code):
    def refuse(*args, **kwargs):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.warns(RuntimeWarning, match="cannot be written"):
        assert not kernel_cache.store(KEY, make())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not kernel_cache.store(KEY, make())


def test_a_cache_below_a_file_costs_one_warning(directory, monkeypatch):
    directory.write_text("not a directory")
    with pytest.warns(RuntimeWarning, match="wp.config.kernel_cache_dir"):
        assert not kernel_cache.store(KEY, make())
    assert kernel_cache.load(KEY) is None


@pytest.mark.parametrize("part", ["_MAX_FACTS", "MAX_BYTES"])
def test_what_readers_would_refuse_is_not_stored(directory, monkeypatch, part):
    monkeypatch.setattr(codec, part, 400)
    assert not kernel_cache.store(KEY, make(b"x" * 400, params=("f32",) * 100))
    assert not directory.exists()


def test_a_full_disk_leaves_nothing_behind(directory):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # a write beyond it fails, as on a full disk
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with pytest.warns(RuntimeWarning, match="cannot be written"):
            assert not kernel_cache.store(KEY, make(b"x" * 10_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, previous)
    assert entries(directory) == []


def test_clear_deletes_what_the_cache_wrote_and_nothing_else(directory):
    kernel_cache.store(KEY, make())
    foreign = [directory / "notes.txt", directory / KEY[:2] / "mine.txt"]
    for path in foreign:
        path.write_text("keep")
    with Unfinished(str(directory / "x")) as in_the_making:
        subprocess.run([sys.executable, "-c", DIES_WRITING, str(directory)], check=True)
        Path(in_the_making.path).write_bytes(b"half")
        assert wp.clear_kernel_cache() == 2
        assert Path(in_the_making.path).read_bytes() == b"half"
    assert entries(directory) == sorted(foreign)
    assert wp.clear_kernel_cache() == 0


DIES_WRITING = """
import os, sys
from omni.warp_core.files import Unfinished
unfinished = Unfinished(sys.argv[1] + "/ab.wck", sys.argv[1])
open(unfinished.path, "wb").write(b"half")
os._exit(0)
"""


def test_a_store_removes_what_dead_processes_left(directory):
    kernel_cache.store(KEY, make())
    subprocess.run([sys.executable, "-c", DIES_WRITING, str(directory)], check=True)
    assert len(entries(directory)) == 3
    kernel_cache.store("cd" * 20, make())
    assert [p.suffix for p in entries(directory)] == [kernel_cache.SUFFIX] * 2


def test_the_oldest_entries_go_when_the_cache_is_too_large(directory, monkeypatch):
    keys = [f"{i:02x}" * 20 for i in range(8)]
    for age, key in enumerate(keys):
        kernel_cache.store(key, make(b"x" * 1000))
        path = directory / key[:2] / (key + kernel_cache.SUFFIX)
        os.utime(path, (1000 + age, 1000 + age))
    size = path.stat().st_size
    assert kernel_cache.load(keys[0]) is not None  # used now, so the second is the oldest
    monkeypatch.setattr(config, "kernel_cache_size", 6 * size)
    kernel_cache.store("ff" * 20, make(b"x" * 1000))
    left = {p.name[: len(KEY)] for p in entries(directory)}
    assert left == {keys[0], *keys[6:], "ff" * 20}


def test_the_size_limit_holds_after_every_store(directory, monkeypatch):
    kernel_cache.store(KEY, make(b"x" * 1000))
    (first,) = entries(directory)
    limit = 40 * first.stat().st_size
    monkeypatch.setattr(config, "kernel_cache_size", limit)
    rng = random.Random(3)
    most = 0
    for i in range(150):
        assert kernel_cache.store(f"{i:02x}" * 20, make(b"x" * rng.randrange(3000)))
        total = sum(p.stat().st_size for p in entries(directory))
        most = max(most, total)
        assert total <= limit
    assert most > limit // 2, "the limit is there to be used"


def test_the_directory_is_not_measured_at_every_store(directory, monkeypatch):
    measured = []
    monkeypatch.setattr(kernel_cache, "_entries", lambda directory: measured.append(directory) or [])
    size = len(codec.to_bytes(make(), KEY))
    monkeypatch.setattr(config, "kernel_cache_size", 16 * 10 * size)
    for i in range(100):
        kernel_cache.store(f"{i:02x}" * 20, make())
    assert 9 <= len(measured) <= 11


def test_a_small_directory_is_not_measured_when_a_process_begins(directory, monkeypatch):
    keys = [f"{i:02x}" * 20 for i in range(256)]
    for key in keys:
        kernel_cache.store(key, make())
    size = len(codec.to_bytes(make(), KEY))
    measured = []
    monkeypatch.setattr(kernel_cache, "_entries", lambda directory: measured.append(directory) or [])
    for limit, times in ((600 * size, 0), (500 * size, 1)):
        monkeypatch.setattr(config, "kernel_cache_size", limit)
        monkeypatch.setattr(kernel_cache, "_room", {})
        kernel_cache.store(keys[7], make())
        assert len(measured) == times


# -- many processes -------------------------------------------------------------------------------------------------


def hammer(directory: str, seed: int, rounds: int, failures) -> None:
    config.kernel_cache_dir = directory
    rng = random.Random(seed)
    wrong = 0
    for _ in range(rounds):
        n = rng.randrange(4)
        key = f"{n:02x}" * 20
        if rng.random() < 0.5:
            kernel_cache.store(key, make(bytes([n]) * 5000))
        elif rng.random() < 0.05:
            kernel_cache.clear_kernel_cache()
        else:
            found = kernel_cache.load(key)
            wrong += found is not None and found != make(bytes([n]) * 5000)
    failures.put(wrong)


def test_sixteen_processes_share_a_directory(directory):
    context = multiprocessing.get_context("fork")
    failures = context.Queue()
    workers = [context.Process(target=hammer, args=(str(directory), i, 150, failures)) for i in range(16)]
    for w in workers:
        w.start()
    assert [failures.get(timeout=300) for _ in workers] == [0] * 16
    for w in workers:
        w.join()
        assert w.exitcode == 0
    assert not [p for p in entries(directory) if not p.name.endswith(kernel_cache.SUFFIX)]
