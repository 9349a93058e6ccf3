"""The disk cache: many processes, damage, disks that refuse, limits."""

import errno
import multiprocessing
import os
import random
import resource
import signal
import stat
import warnings
from pathlib import Path

import pytest

import omni.warp_core as wp
from omni.warp_core import config
from omni.warp_core.compiler import Artifact, Site
from omni.warp_core.runtime import artifact as codec
from omni.warp_core.runtime import cache

KEY = "ab" * 20


def make(code: bytes = b"\x7fELF object", **changes) -> Artifact:
    facts = {
        "kernel": "scale",
        "symbol": "kernel",
        "params": ("array1<f32>", "f32"),
        "written": (True, False),
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
    monkeypatch.setattr(cache, "_warned", set())
    monkeypatch.setattr(cache, "_trimmed", set())
    return tmp_path / "cache"


def entries(directory: Path) -> list[Path]:
    return sorted(p for p in directory.rglob("*") if p.is_file())


# -- the file format ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [b"", b"x", bytes(range(256)) * 100])
def test_round_trip(code):
    a = make(code)
    assert codec.from_bytes(codec.to_bytes(a)) == a


def test_every_truncation_is_refused():
    data = codec.to_bytes(make())
    for n in range(len(data)):
        with pytest.raises(codec.DamagedArtifact):
            codec.from_bytes(data[:n])
    with pytest.raises(codec.DamagedArtifact):
        codec.from_bytes(data + b"\0")


def test_every_flipped_bit_is_refused():
    data = codec.to_bytes(make())
    for i in range(len(data)):
        damaged = bytearray(data)
        damaged[i] ^= 1 << (i % 8)
        with pytest.raises(codec.DamagedArtifact):
            codec.from_bytes(bytes(damaged))


def test_noise_is_refused():
    rng = random.Random(7)
    for _ in range(300):
        with pytest.raises(codec.DamagedArtifact):
            codec.from_bytes(codec.MAGIC + rng.randbytes(rng.randrange(200)))


# -- the directory --------------------------------------------------------------------------------------------------


def test_store_then_load(directory):
    assert cache.load(KEY) is None
    assert cache.store(KEY, make())
    assert cache.load(KEY) == make()
    assert [p.name for p in entries(directory)] == [KEY + cache.SUFFIX]
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_options_turn_the_cache_off(directory, monkeypatch):
    cache.store(KEY, make())
    monkeypatch.setattr(config, "cache_kernels", False)
    assert cache.load(KEY) is None
    assert not cache.store("cd" * 20, make())
    monkeypatch.setattr(config, "cache_kernels", True)
    monkeypatch.setattr(config, "kernel_cache_dir", None)
    assert cache.load(KEY) is None
    assert not cache.store(KEY, make())
    assert cache.clear_kernel_cache() == 0


@pytest.mark.parametrize(
    "damage", [lambda d: d[: len(d) // 2], lambda d: b"", lambda d: d[:-1] + b"!", lambda d: b"x" * 9]
)
def test_a_damaged_entry_is_missing_and_then_replaced(directory, damage):
    cache.store(KEY, make())
    (path,) = entries(directory)
    path.write_bytes(damage(path.read_bytes()))
    assert cache.load(KEY) is None
    assert cache.store(KEY, make())
    assert cache.load(KEY) == make()


def test_an_entry_that_cannot_be_read_is_missing(directory):
    (directory / KEY[:2] / (KEY + cache.SUFFIX)).mkdir(parents=True)
    assert cache.load(KEY) is None


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES])
def test_a_directory_that_cannot_be_made_costs_one_warning(directory, monkeypatch, code):
    def refuse(*args, **kwargs):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "makedirs", refuse)
    with pytest.warns(RuntimeWarning, match="cannot be written"):
        assert not cache.store(KEY, make())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not cache.store(KEY, make())


def test_a_cache_below_a_file_costs_one_warning(directory, monkeypatch):
    directory.write_text("not a directory")
    with pytest.warns(RuntimeWarning, match="wp.config.kernel_cache_dir"):
        assert not cache.store(KEY, make())
    assert cache.load(KEY) is None


def test_a_full_disk_leaves_nothing_behind(directory):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # a write beyond it fails, as on a full disk
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with pytest.warns(RuntimeWarning, match="cannot be written"):
            assert not cache.store(KEY, make(b"x" * 10_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, previous)
    assert entries(directory) == []


def test_clear_deletes_what_the_cache_wrote_and_nothing_else(directory):
    cache.store(KEY, make())
    foreign = [directory / "notes.txt", directory / KEY[:2] / "mine.txt"]
    for path in foreign:
        path.write_text("keep")
    left_over = directory / KEY[:2] / f"{KEY}.1.0.tmp"
    left_over.write_bytes(b"half")
    os.utime(left_over, (1000, 1000))
    in_the_making = directory / KEY[:2] / f"{KEY}.2.0.tmp"
    in_the_making.write_bytes(b"half")
    assert wp.clear_kernel_cache() == 2
    assert entries(directory) == sorted([*foreign, in_the_making])
    assert wp.clear_kernel_cache() == 0


def test_the_oldest_entries_go_when_the_cache_is_too_large(directory, monkeypatch):
    keys = [f"{i:02x}" * 20 for i in range(8)]
    for age, key in enumerate(keys):
        cache.store(key, make(b"x" * 1000))
        path = directory / key[:2] / (key + cache.SUFFIX)
        os.utime(path, (1000 + age, 1000 + age))
    size = path.stat().st_size
    assert cache.load(keys[0]) is not None  # used now, so the second is the oldest
    monkeypatch.setattr(config, "kernel_cache_size", 6 * size)
    monkeypatch.setattr(cache, "_trimmed", set())
    cache.store("ff" * 20, make(b"x" * 1000))
    left = {p.name[: len(KEY)] for p in entries(directory)}
    assert left == {keys[0], *keys[6:], "ff" * 20}


# -- many processes -------------------------------------------------------------------------------------------------


def hammer(directory: str, seed: int, rounds: int, failures) -> None:
    config.kernel_cache_dir = directory
    rng = random.Random(seed)
    wrong = 0
    for _ in range(rounds):
        n = rng.randrange(4)
        key = f"{n:02x}" * 20
        if rng.random() < 0.5:
            cache.store(key, make(bytes([n]) * 5000))
        elif rng.random() < 0.05:
            cache.clear_kernel_cache()
        else:
            found = cache.load(key)
            wrong += found is not None and found != make(bytes([n]) * 5000)
    failures.put(wrong)


def test_sixteen_processes_share_a_directory(directory):
    context = multiprocessing.get_context("fork")
    failures = context.Queue()
    workers = [context.Process(target=hammer, args=(str(directory), i, 150, failures)) for i in range(16)]
    for w in workers:
        w.start()
    assert [failures.get(timeout=60) for _ in workers] == [0] * 16
    for w in workers:
        w.join()
        assert w.exitcode == 0
    assert not [p for p in entries(directory) if not p.name.endswith(cache.SUFFIX)]
