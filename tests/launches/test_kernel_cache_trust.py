"""The disk cache runs only what this user wrote: owners, modes, links, special files, forged facts."""

import json
import os
import random
import struct
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest

from omni.warp_core import config
from omni.warp_core.launches import artifact as codec
from omni.warp_core.launches import kernel_cache
from tests.launches.test_kernel_cache import KEY, directory, make  # noqa: F401 - a fixture


@pytest.fixture
def entry(directory):  # noqa: F811
    """The file of a sound entry under KEY."""
    assert kernel_cache.store(KEY, make()) and kernel_cache.load(KEY) == make()
    return directory / KEY[:2] / (KEY + kernel_cache.SUFFIX)


def refused_once(words: str) -> None:
    with pytest.warns(RuntimeWarning, match=words) as told:
        assert kernel_cache.load(KEY) is None
        assert kernel_cache.load(KEY) is None
    assert len(told) == 1


# -- who can write --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o720])
@pytest.mark.parametrize("level", [0, 1, 2], ids=["entry", "folder", "directory"])
def test_what_others_can_write_is_not_used(entry, level, mode):
    path = [entry, *entry.parents][level]
    path.chmod(mode)
    refused_once(
        f"{path} is writable by other users \\(mode {mode:o}; remove that right with `chmod go-w {path}`\\)"
        ", so it is not used"
    )
    path.chmod(0o755)
    assert kernel_cache.load(KEY) == make()


@pytest.mark.parametrize("level", [0, 1, 2], ids=["entry", "folder", "directory"])
def test_what_belongs_to_another_user_is_not_used(entry, level, monkeypatch):
    path = [entry, *entry.parents][level]
    status, own = os.fstat, os.geteuid()

    def fstat(descriptor):
        found = status(descriptor)
        if os.path.samestat(found, path.stat()):
            return os.stat_result((*found[:4], own + 1, *found[5:10]))
        return found

    monkeypatch.setattr(os, "fstat", fstat)
    refused_once(f"{path} belongs to another user \\(uid {own + 1}\\)")


def test_nothing_is_stored_where_others_can_write(directory):  # noqa: F811
    directory.mkdir()
    directory.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="is writable by other users .*, so it is not used"):
        assert not kernel_cache.store(KEY, make())
    assert list(directory.iterdir()) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not kernel_cache.store(KEY, make())


def test_an_entry_that_others_can_write_is_replaced(entry):
    entry.chmod(0o666)
    with pytest.warns(RuntimeWarning, match="is writable by other users"):
        assert kernel_cache.load(KEY) is None
    assert kernel_cache.store(KEY, make())
    assert kernel_cache.load(KEY) == make() and entry.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o077])
def test_the_umask_opens_nothing_to_others(tmp_path, umask):
    script = """
        import os, sys
        from omni.warp_core import config
        from omni.warp_core.launches import kernel_cache as cache
        from tests.launches.test_kernel_cache import KEY, make
        os.umask(int(sys.argv[2]))
        config.kernel_cache_dir = sys.argv[1]
        assert cache.store(KEY, make()) and cache.load(KEY) == make()
    """
    target = tmp_path / "deep" / "er" / "cache"
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(script), str(target), str(umask)]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
    made = [tmp_path / "deep", *(tmp_path / "deep").rglob("*")]
    assert len(made) == 5 and not any(p.stat().st_mode & 0o077 for p in made)


@pytest.mark.parametrize("is_root", [True, False])
def test_root_makes_no_cache_in_the_folder_of_another_user(tmp_path, monkeypatch, is_root):
    """The other user could not use it afterwards."""
    own, status = os.geteuid(), os.stat
    monkeypatch.setattr(os, "geteuid", lambda: 0 if is_root else own)
    monkeypatch.setattr(kernel_cache, "_warned", set())
    monkeypatch.setattr(config, "kernel_cache_dir", str(tmp_path / "cache"))
    other = os.stat_result((*status(tmp_path)[:4], 1000, *status(tmp_path)[5:10]))
    monkeypatch.setattr(os, "stat", lambda path, **more: other if path == str(tmp_path) else status(path, **more))
    if not is_root and own != 0:
        assert kernel_cache.store(KEY, make())
        return
    with pytest.warns(RuntimeWarning, match=f"{tmp_path} belongs to another user \\(uid 1000\\)"):
        assert not kernel_cache.store(KEY, make())
    assert list(tmp_path.iterdir()) == []


# -- what is no regular file ----------------------------------------------------------------------------------------


def test_links_are_not_followed(entry, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    entry.rename(elsewhere)
    entry.symlink_to(elsewhere)
    refused_once(f"{entry} is a symbolic link")
    assert kernel_cache.store(KEY, make(b"new")) and kernel_cache.load(KEY) == make(b"new")
    assert not entry.is_symlink() and codec.from_bytes(elsewhere.read_bytes(), KEY) == make()


def test_a_linked_folder_is_not_followed(entry, tmp_path):
    entry.parent.rename(tmp_path / "elsewhere")
    entry.parent.symlink_to(tmp_path / "elsewhere")
    assert kernel_cache.load(KEY) is None
    assert kernel_cache.clear_kernel_cache() == 0 and (tmp_path / "elsewhere" / entry.name).is_file()


def test_the_directory_itself_may_be_a_link(entry, directory, tmp_path):  # noqa: F811
    directory.rename(tmp_path / "elsewhere")
    directory.symlink_to(tmp_path / "elsewhere")
    assert (
        kernel_cache.load(KEY) == make()
        and kernel_cache.store(KEY, make(b"new"))
        and kernel_cache.load(KEY) == make(b"new")
    )


def test_a_pipe_does_not_block(entry):
    entry.unlink()
    os.mkfifo(entry, 0o600)
    refused_once(f"{entry} is not a regular file")
    assert kernel_cache.store(KEY, make()) and kernel_cache.load(KEY) == make()


@pytest.mark.parametrize("target", ["/dev/zero", "/dev/full", "/nowhere"])
def test_links_to_devices_are_not_read(entry, target):
    entry.unlink()
    entry.symlink_to(target)
    refused_once("is a symbolic link")


def test_the_size_is_checked_before_reading(entry, monkeypatch):
    os.truncate(entry, codec.MAX_BYTES + 1)  # no blocks behind it: reading would make them in memory
    monkeypatch.setattr(os, "read", lambda *args: pytest.fail("it was read"))
    assert kernel_cache.load(KEY) is None


def test_a_folder_in_place_of_an_entry_is_no_entry(directory):  # noqa: F811
    (directory / KEY[:2] / (KEY + kernel_cache.SUFFIX)).mkdir(parents=True)
    refused_once("is not a regular file")


# -- forged facts ---------------------------------------------------------------------------------------------------


def image(meta: bytes, code: bytes = b"object", key: str = KEY) -> bytes:
    """A file with any facts and a right checksum."""
    content = struct.pack("<II", len(meta), len(code)) + meta + code
    return codec.MAGIC + struct.pack("<I", codec.FORMAT) + codec._checksum(key, content) + content


def facts_of(**changes) -> dict:
    """The facts of a sound artifact, as JSON has them."""
    data = codec.to_bytes(make(b"object"), KEY)
    length = struct.unpack_from("<I", data, 44)[0]
    return {**json.loads(data[52 : 52 + length]), **changes}


def test_the_helper_makes_sound_files():
    assert codec.from_bytes(image(json.dumps(facts_of()).encode()), KEY) == make(b"object")


HUGE = 10**30
DEEP = b"[" * 200_000 + b"]" * 200_000
FORGED = {
    "no JSON": b"{",
    "no object": b"[]",
    "null": b"null",
    "deep": DEEP,
    "deep fact": json.dumps(facts_of(sites="@")).encode().replace(b'"@"', DEEP),
    "a number of many digits": json.dumps(facts_of(arity="@")).encode().replace(b'"@"', b"9" * 1_000_000),
    "no UTF-8": b'{"kernel": "\xff"}',
    **{
        f"{name} = {value!r}": json.dumps(facts_of(**{name: value})).encode()
        for name, value in [
            ("arity", HUGE),
            ("arity", -1),
            ("arity", 1.5),
            ("arity", True),
            ("arity", None),
            ("lanes", "16"),
            ("kernel", 5),
            ("symbol", ["kernel"]),
            ("symbol", "\ud800"),
            ("params", "array"),
            ("params", [["f32"]]),
            ("params", {"f32": 1}),
            ("written", [1, 0]),
            ("written", [True]),
            ("sites", [["bounds"]]),
            ("sites", [["bounds", "m", "f", 1, 2, ["i32"], "more"]]),
            ("sites", [{"kind": "bounds"}]),
            ("sites", [None]),
            ("reads", [2]),
            ("reads", 0),
            ("accumulation", []),
            ("accumulation", [[[HUGE, 0, 1, 4, True]], [], [], False, False, False, False, [], []]),
            ("accumulation", [[[2, 0, 1, 4, True]], [], [], False, False, False, False, [], []]),
            ("accumulation", [[], [], [], False, False, False, False, [[[0, 0, 1, 4, True], [0], [[HUGE]]]], []]),
            ("accumulation", [[], [], [], 0, False, False, False, [], []]),
            ("milliseconds", [["front", 1.0]]),
            ("milliseconds", {"front": HUGE}),
            ("grid", []),
            ("grid", [256, True, 64, [None]]),
            ("warnings", [[-1, 0, "text"]]),
            ("needed", [[9, 0, "x"]]),
            ("code_bytes", -1),
            ("code_bytes", 7),
            ("code_bytes", HUGE),
            ("more", 1),
        ]
    },
    **{f"no {name}": json.dumps({k: v for k, v in facts_of().items() if k != name}).encode() for name in facts_of()},
}


@pytest.mark.parametrize("meta", FORGED.values(), ids=FORGED.keys())
def test_forged_facts_are_a_damaged_entry(entry, meta):
    with pytest.raises(codec.DamagedArtifact):
        codec.from_bytes(image(meta), KEY)
    entry.write_bytes(image(meta))
    assert kernel_cache.load(KEY) is None


def test_too_many_facts_are_not_parsed(monkeypatch):
    monkeypatch.setattr(json, "loads", lambda text: pytest.fail("it was parsed"))
    with pytest.raises(codec.DamagedArtifact):
        codec.from_bytes(image(b"[" + b"[]," * (codec._MAX_FACTS // 3) + b"[]]"), KEY)


def test_facts_changed_at_random_are_damaged_or_well_formed():
    """A changed value is refused, or is of the type that the sound one has."""
    rng = random.Random(11)
    junk = [None, True, -1, HUGE, 1.5, "x", [], {}, [[]], [1], {"a": 1}, [[0, 0, 1, 4, True]]]

    def changed(value):
        if isinstance(value, list) and value and rng.random() < 0.8:
            i = rng.randrange(len(value))
            return [*value[:i], changed(value[i]), *value[i + 1 :]]
        return rng.choice(junk)

    refused = 0
    for _ in range(2000):
        facts = facts_of()
        name = rng.choice(list(facts))
        facts[name] = changed(facts[name])
        try:
            made = codec.from_bytes(image(json.dumps(facts).encode()), KEY)
        except codec.DamagedArtifact:
            refused += 1
        else:
            assert {k: type(v) for k, v in made._asdict().items() if k != "grid"} == {
                k: type(v) for k, v in make()._asdict().items() if k != "grid"
            }
    assert 1000 < refused < 2000


# -- a launch -------------------------------------------------------------------------------------------------------

PROGRAM = """
import sys
import omni.warp_core as wp
wp.config.kernel_cache_dir = sys.argv[1]
wp.config.log_level = wp.config.LOG_INFO

@wp.kernel
def one(x: wp.array(dtype=float)):
    x[wp.tid()] = 1.0

@wp.kernel
def two(x: wp.array(dtype=float)):
    x[wp.tid()] = 2.0

a, b = wp.zeros(2, dtype=float), wp.zeros(2, dtype=float)
wp.launch(one, 2, [a])
wp.launch(two, 2, [b])
assert (a.list(), b.list()) == ([1.0, 1.0], [2.0, 2.0]), (a, b)
"""


def launches(folder: Path) -> str:
    """What PROGRAM says on stderr."""
    script = folder / "program.py"
    script.write_text(PROGRAM)
    command = [sys.executable, str(script), str(folder / "cache")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_launches_compile_again_what_is_not_to_be_trusted(tmp_path):
    assert launches(tmp_path).count(") compiled in ") == 2
    assert launches(tmp_path).count("from the cache") == 2
    first, second = sorted((tmp_path / "cache").rglob("*" + kernel_cache.SUFFIX))
    kept = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(kept)
    told = launches(tmp_path)
    assert told.count("is damaged (checksum differs)") == 2 and told.count(") compiled in ") == 2
    assert launches(tmp_path).count("from the cache") == 2
    (tmp_path / "cache").chmod(0o777)
    told = launches(tmp_path)
    assert told.count(") compiled in ") == 2 and told.count("is writable by other users") == 1


def test_an_entry_without_its_symbol_is_compiled_again(tmp_path):
    launches(tmp_path)
    for path in (tmp_path / "cache").rglob("*" + kernel_cache.SUFFIX):
        made = codec.from_bytes(path.read_bytes(), path.stem)
        path.write_bytes(codec.to_bytes(made._replace(symbol="gone"), path.stem))
    told = launches(tmp_path)
    assert told.count("does not load (the object defines no symbol gone)") == 2 and told.count(") compiled in ") == 2
