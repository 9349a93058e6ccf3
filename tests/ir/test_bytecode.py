"""Packs give back what was written, load only what is asked for, and refuse every kind of damage."""

from __future__ import annotations

import contextlib
import random
import struct
import zlib

import pytest

from omni.warp_core.ir import bytecode, printer, verifier
from omni.warp_core.ir.bytecode import Pack, PackError
from omni.warp_core.ir.nodes import Function, Loc
from tests.ir.generate import Options, generate


@pytest.fixture(scope="module")
def functions() -> dict[str, Function]:
    return {f"f{seed}(f32, i32)": generate(seed, Options(libm=True)) for seed in range(12)}


@pytest.fixture(scope="module")
def data(functions) -> bytes:
    return bytecode.write(functions)


def test_functions_come_back(functions, data):
    library = Pack(data)
    for name, function in functions.items():
        loaded = library.load(name)
        verifier.verify(loaded)
        assert printer.print_function(loaded) == printer.print_function(function)
        assert library.load(name) is loaded
    assert set(functions) <= set(library.names())


def test_a_file_is_read_where_it_lies(functions, data, tmp_path):
    path = tmp_path / "library.pack"
    path.write_bytes(data)
    library = Pack.open(path)
    assert "f3(f32, i32)" in library and "f99" not in library
    with pytest.raises(PackError, match="no function 'f99'"):
        library.load("f99")


def test_only_what_is_needed_is_decoded(functions, data):
    library = Pack(data)
    name, function = next((n, f) for n, f in functions.items() if any(op.code == "call" for op in f.body.walk()))
    library.load(name)
    assert len(library._loaded) == len(list(printer.reachable([function])))


def test_lines_stay_and_directories_go(functions):
    f = Function("f", [], (), loc=Loc("/home/me/omni/warp_core/lib/vec.py", 12, 4), is_library=True)
    f.body.ops = [op for op in generate(1, Options(control=False)).body.ops if op.code == "return"]
    f.body.ops[0].loc = Loc("/home/me/omni/warp_core/lib/vec.py", 14, 2)
    loaded = Pack(bytecode.write({"f": f})).load("f")
    assert loaded.loc == Loc("omni/warp_core/lib/vec.py", 12) and loaded.is_library
    assert loaded.body.ops[0].loc == Loc("omni/warp_core/lib/vec.py", 14)


def load_all(data: bytes) -> list[str]:
    library = Pack(data)
    return [printer.print_function(library.load(name)) for name in sorted(library.names())]


def test_every_changed_byte_is_noticed(data):
    rng = random.Random(2)
    good = load_all(data)
    for _ in range(100):
        damaged = bytearray(data)
        at = rng.randrange(len(data))
        damaged[at] ^= 1 << rng.randrange(8)
        with contextlib.suppress(PackError):
            assert load_all(bytes(damaged)) == good, at


def test_every_cut_is_noticed(data):
    for end in (0, 1, 7, 20, 31, 32, 100, len(data) // 2, len(data) - 1):
        with pytest.raises(PackError):
            load_all(data[:end])


def test_wrong_words_with_right_checksums_do_no_harm(functions):
    """What a checksum cannot catch, a writer's mistake for instance, ends in an error too."""
    rng = random.Random(3)
    data = bytecode.write({"f": generate(4)})
    library = Pack(data)
    offset, size, count = library._find("f")
    start = len(data) - len(library._streams)
    words = list(library._words("f"))
    for _ in range(300):
        wrong = list(words)
        for _ in range(rng.randint(1, 3)):
            wrong[rng.randrange(count)] = rng.choice((0, 1, 2, 3, 50, 1 << 31, rng.getrandbits(32)))
        broken = Pack(data)
        broken._words = lambda name, wrong=wrong: tuple(wrong)
        try:
            broken.load("f")
        except PackError:
            continue
    assert zlib.decompress(data[start + offset : start + offset + size]) == struct.pack(f"<{count}I", *words)
