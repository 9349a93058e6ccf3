"""Sizes that int32 cannot count: right, or refused by the launch. Memory of large arrays is reserved, not used."""

import mmap

import numpy as np
import pytest

import omni.warp_core as wp

pytestmark = pytest.mark.cpu

LARGE = 2**31 + 100
_NO_RESERVE = 0x4000  # MAP_NORESERVE of Linux, which older versions of the module mmap do not name
MODES = ["release", "debug", "interpret"]


@pytest.fixture(autouse=True)
def restored_mode(monkeypatch):
    monkeypatch.setattr(wp.config, "mode", wp.config.mode)


def reserved(shape, dtype=np.int8):
    """An array of zeros whose pages are taken as they are touched."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE)
    return np.frombuffer(memory, dtype).reshape(shape)


def virtual(shape, dtype=np.int8):
    """An array whose elements are all the same one, 0."""
    return np.lib.stride_tricks.as_strided(np.zeros(1, dtype), shape, (0,) * len(shape))


# -- threads ----------------------------------------------------------------------------------------------------------


@wp.kernel
def one_index(x: wp.array(dtype=wp.int8)):
    i = wp.tid()
    x[i] = wp.int8(1)


@wp.kernel
def both_indices(x: wp.array(dtype=wp.int8)):
    k = wp.tid()
    i, j = wp.tid()
    if i + j < 0:
        x[k] = wp.int8(1)


@wp.func
def numbered():
    return wp.tid()


@wp.kernel
def index_in_function(x: wp.array(dtype=wp.int8)):
    x[numbered()] = wp.int8(1)


@wp.kernel
def two_indices(x: wp.array2d(dtype=wp.int8)):
    i, j = wp.tid()
    if i == 2**16 and j == 2**15 - 1:
        x[i - 2**16, 0] = wp.int8(7)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kernel", [one_index, both_indices, index_in_function], ids=lambda k: k.key)
def test_threads_that_one_index_cannot_number(kernel, mode):
    wp.config.mode = mode
    x = np.zeros(4, np.int8)
    with pytest.raises(ValueError, match=r"4294967296 threads.*2147483648.*`i, j = wp.tid\(\)`"):
        wp.launch(kernel, (2**16, 2**16), [x])
    assert not x.any()


def test_a_recorded_launch_keeps_its_dimensions_where_new_ones_are_refused():
    x = np.zeros(4, np.int8)
    command = wp.launch(one_index, 4, [x], record_cmd=True)
    with pytest.raises(ValueError, match="4294967296 threads"):
        command.set_dim((2**16, 2**16))
    command.launch()
    assert x.all()


def test_threads_that_two_indices_number():
    x = np.zeros((2, 1), np.int8)
    wp.launch(two_indices, (2**16 + 1, 2**15), [x])
    assert x.ravel().tolist() == [7, 0]


def test_as_many_threads_as_one_index_can_number():
    """2**31: the launch is accepted. No thread runs, as the array is missing."""
    with pytest.raises(ValueError, match="None or empty"):
        wp.launch(one_index, (2**16, 2**15), [None])


@wp.kernel
def in_blocks(x: wp.array(dtype=int)):
    i, j = wp.tid()
    s = wp.shared_array(shape=1, dtype=int)
    s[0] = i
    wp.syncthreads()
    x[j] = s[0]


@wp.kernel
def of_blocks(x: wp.array(dtype=int)):
    i, _ = wp.tid()
    if i < 0:
        x[0] = wp.block_index()


def test_blocks_that_their_index_cannot_number():
    x = np.zeros(4, np.int32)
    with pytest.raises(ValueError, match=r"blocks of 1,.*`wp.block_index\(\)`.*larger block_dim"):
        wp.launch(of_blocks, (2**16, 2**16), [x], block_dim=1)
    with pytest.raises(ValueError, match=r"multiple of block_dim, got 131071"):
        wp.launch(of_blocks, (2**16, 2**17 - 1), [x], block_dim=64)
    with pytest.raises(ValueError, match="a single `i"):
        wp.launch(one_index, (2**16, 2**16, 32), [x.view(np.int8)], block_dim=32)


# -- arrays -----------------------------------------------------------------------------------------------------------


@wp.kernel
def length(x: wp.array(dtype=wp.int8), out: wp.array(dtype=int)):
    out[0] = len(x)


@wp.kernel
def negative(x: wp.array(dtype=wp.int8), at: int, out: wp.array(dtype=int)):
    out[0] = int(x[at])


@wp.kernel
def section(x: wp.array(dtype=wp.int8), out: wp.array(dtype=int)):
    out[0] = int(x[5:][0])


@wp.kernel
def length64(x: wp.array(dtype=wp.int8), out: wp.array(dtype=wp.int64)):
    out[0] = wp.int64(x.shape[0])


@wp.kernel
def last(x: wp.array(dtype=wp.int8), out: wp.array(dtype=wp.int64)):
    out[0] = wp.int64(x[-1])


@wp.kernel
def read64(x: wp.array(dtype=wp.int8), at: wp.int64, out: wp.array(dtype=wp.int64)):
    out[0] = wp.int64(x[at])


@wp.kernel
def size(x: wp.array2d(dtype=wp.int8), out: wp.array(dtype=int)):
    out[0] = x.size


@wp.kernel
def size64(x: wp.array2d(dtype=wp.int8), out: wp.array(dtype=wp.int64)):
    out[0] = wp.int64(x.size)


@wp.kernel
def columns(x: wp.array2d(dtype=wp.int8), out: wp.array(dtype=int)):
    i = wp.tid()
    out[i] = x[i].shape[0]


@wp.struct
class Held:
    rows: wp.array2d(dtype=wp.int8)
    flat: wp.array(dtype=wp.int8)


@wp.kernel
def held_length(s: Held, out: wp.array(dtype=int)):
    out[0] = s.flat.shape[0]


@wp.kernel
def chosen_length(x: wp.array(dtype=wp.int8), z: wp.array(dtype=wp.int8), c: int, out: wp.array(dtype=int)):
    y = x
    if c > 0:
        y = z
    out[0] = y.shape[0]


@wp.kernel
def indexed_length(x: wp.indexedarray(dtype=wp.int8), out: wp.array(dtype=int)):
    out[0] = x.shape[0]


@wp.kernel
def indexed_size(x: wp.indexedarray2d(dtype=wp.int8), out: wp.array(dtype=int)):
    out[0] = x.size


def _held(rows, flat):
    s = Held()
    s.rows, s.flat = wp.array(rows, copy=False), wp.array(flat, copy=False)
    return s


def _two_rows():
    return wp.indexedarray(wp.array(_FEW_ROWS), [wp.array([2, 0], dtype=int), None])


_FEW, _FEW_ROWS = np.zeros(3, np.int8), np.zeros((3, 5), np.int8)
_REFUSED = {
    "length": (length, lambda: [virtual((LARGE,))], "`x` has 2147483748 elements in dimension 0"),
    "negative": (negative, lambda: [virtual((LARGE,)), -1], r"`x` has 2147483748.*`x\[wp.int64\(i\)\]`"),
    "section": (section, lambda: [virtual((LARGE,))], "`x` has 2147483748 elements"),
    "size": (size, lambda: [virtual((2**16, 2**16))], "`x` has 4294967296 elements, "),
    "columns": (columns, lambda: [virtual((2, LARGE))], "elements in dimension 1"),
    "held": (held_length, lambda: [_held(_FEW_ROWS, virtual((LARGE,)))], r"`s\.flat` has 2147483748"),
    "chosen": (chosen_length, lambda: [_FEW, wp.array(virtual((LARGE,)), copy=False), 0], "`z` has 2147483748"),
    "indexed size": (indexed_size, lambda: [wp.array(virtual((2**16, 2**16)), copy=False)], "4294967296 elements"),
    "indexed": (indexed_length, lambda: [wp.array(virtual((LARGE,)), copy=False)], "2147483748 elements"),
}


@pytest.mark.parametrize("mode", ["release", "debug"])
@pytest.mark.parametrize("name", sorted(_REFUSED))
def test_counts_that_do_not_fit(name, mode):
    wp.config.mode = mode
    kernel, args, words = _REFUSED[name]
    out = np.full(2, -5, np.int32)
    with pytest.raises(ValueError, match=words):
        wp.launch(kernel, 1, [*args(), out])
    assert (out == -5).all()


@pytest.mark.parametrize("name", ["length", "size", "columns", "held", "indexed"])
def test_counts_that_do_not_fit_in_an_interpreted_kernel(name):
    kernel, args, _ = _REFUSED[name]
    with pytest.raises(ValueError, match="too long for int32 indices"):
        wp.launch(kernel, 1, [*args(), np.zeros(2, np.int32)], interpret=True)


_ACCEPTED = {
    "length64": (length64, lambda: [virtual((LARGE,))], np.int64(LARGE)),
    "size64": (size64, lambda: [virtual((2**16, 2**16))], np.int64(2**32)),
    "size": (size, lambda: [virtual((2**16, 2**15 - 1))], 2**31 - 2**16),
    "columns": (columns, lambda: [virtual((LARGE, 7))], 7),
    "held": (held_length, lambda: [_held(virtual((2**16, 2**16)), _FEW)], 3),
    "indexed size": (indexed_size, lambda: [_two_rows()], 10),
}


@pytest.mark.parametrize("mode", ["release", "debug"])
@pytest.mark.parametrize("name", sorted(_ACCEPTED))
def test_counts_that_fit(name, mode):
    wp.config.mode = mode
    kernel, args, expected = _ACCEPTED[name]
    out = np.zeros(1, np.int64 if isinstance(expected, np.int64) else np.int32)
    wp.launch(kernel, 1, [*args(), out])
    assert out[0] == expected


@pytest.mark.parametrize("mode", MODES)
def test_elements_that_only_int64_reaches(mode):
    wp.config.mode = mode
    x, out = reserved((LARGE,)), np.zeros(1, np.int64)
    x[-1], x[2**31 + 3], x[2**31 - 1] = 9, 8, 7
    wp.launch(last, 1, [x, out])
    assert out[0] == 9
    for at, expected in {-1: 9, 2**31 + 3: 8, 2**31 - 1: 7, 3 - 100: 8, 5: 0}.items():
        wp.launch(read64, 1, [x, at, out])
        assert out[0] == expected, at


@pytest.mark.parametrize("mode", ["debug", "interpret"])
@pytest.mark.parametrize("at", [LARGE, -LARGE - 1, 2**32 + 5])
def test_an_index_outside_of_a_large_array_is_reported(mode, at):
    wp.config.mode = mode
    x, out = virtual((LARGE,)), np.zeros(1, np.int64)
    with pytest.raises(IndexError, match=str(LARGE)):
        wp.launch(read64, 1, [x, at, out])


@wp.kernel
def mark(x: wp.array(dtype=wp.vec3), step: int):
    i = wp.tid()
    x[i * step] = wp.vec3(1.0, 2.0, float(i))


@wp.kernel
def mark_cells(x: wp.array3d(dtype=wp.float64), step: int):
    i, j = wp.tid()
    x[j, i * step, j] += 1.0


@wp.kernel
def mark_far(x: wp.array(dtype=wp.int8), first: wp.int64, step: wp.uint32):
    i = wp.tid()
    x[first + wp.int64(i)] = wp.int8(i)
    x[wp.uint32(i) * step] = wp.int8(i + 1)


def test_bytes_beyond_int32_of_elements_within():
    """800 million vectors, 9.6 GB, of which every 8 millionth is written."""
    x = reserved((800_000_000, 3), np.float32)
    wp.launch(mark, 100, [x, 8_000_000])
    assert (x[::8_000_000] == [[1, 2, i] for i in range(100)]).all()
    assert not x[1::8_000_000].any()


def test_strides_beyond_int32():
    x = reserved((3, 2**29, 3), np.float64)
    view = x[::-1]
    wp.launch(mark_cells, (5, 3), [view, 2**27 - 1])
    expected = {(2 - j, i * (2**27 - 1), j) for i in range(5) for j in range(3)}
    assert all(x[at] == 1.0 for at in expected)
    assert all(x[(at[0], at[1] + 1, at[2])] == 0.0 for at in expected)


@pytest.mark.parametrize("mode", ["release", "debug"])
def test_indices_of_lanes_beyond_int32(mode):
    wp.config.mode = mode
    x = reserved((2**32 + 50,))
    wp.launch(mark_far, 67, [x, 2**31 - 20, 2**26 - 7])
    assert x[2**31 - 20 : 2**31 + 50].tolist() == [*range(67), 0, 0, 0]
    assert [x[i * (2**26 - 7) % 2**32] for i in range(1, 64)] == list(range(2, 65))


def test_values_on_the_host():
    x = wp.array(reserved((LARGE,)), copy=False)
    x[LARGE - 3 :].fill_(5)
    assert x.shape == (LARGE,) and x.size == LARGE
    assert x[-4:].numpy().tolist() == [0, 5, 5, 5]
    y = wp.zeros(4, dtype=wp.int8)
    wp.copy(y, x, src_offset=LARGE - 4, count=4)
    assert y.numpy().tolist() == [0, 5, 5, 5]
    wp.copy(x, y, dest_offset=2**31, count=4)
    assert x[2**31 - 1 : 2**31 + 5].numpy().tolist() == [0, 0, 5, 5, 5, 0]


def test_a_map_of_more_elements_than_int32_counts():
    x = wp.array(virtual((LARGE,)), copy=False)
    with pytest.raises(ValueError, match=r"launch dimension 2147483748 .*several dimensions"):
        wp.map(lambda a: a, x, out=x)
