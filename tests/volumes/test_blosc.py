"""Chunks of blosc: those of python-blosc are decoded to the data they were made of, and ours come back."""

import numpy as np
import pytest

from omni.warp_core import _native

from .expected_vdb import DATA

pytestmark = pytest.mark.cpu
CHUNKS = dict(np.load(DATA / "blosc_chunks.npz"))


def decoded(chunk):
    out = np.full(_native.blosc_decoded_size(chunk), 0xA5, np.uint8)
    _native.blosc_decode(chunk, out)
    return out


@pytest.mark.parametrize("name", [name for name in CHUNKS if name.split("_")[0] not in ("data", "refused")])
def test_decodes_chunks_of_blosc(name):
    expected = CHUNKS[f"data_{name.split('_')[0]}"]
    np.testing.assert_array_equal(decoded(CHUNKS[name]), expected.view(np.uint8))


@pytest.mark.parametrize(("name", "why"), [("zlib", "zlib"), ("zstd", "Zstandard"), ("bits", "shuffled bits")])
def test_names_what_it_cannot_decode(name, why):
    with pytest.raises(ValueError, match=why):
        decoded(CHUNKS[f"refused_{name}"])


@pytest.mark.parametrize("item", [1, 2, 3, 4, 7, 8, 16])
@pytest.mark.parametrize("size", [0, 1, 15, 16, 100, 127, 2048, 4099, 262144, 262147, 1_000_003])
def test_what_is_encoded_comes_back(item, size):
    rng = np.random.default_rng(size)
    smooth = np.cumsum(rng.integers(-1, 2, size)).astype(np.uint8)
    for data in (smooth, rng.integers(0, 256, size, dtype=np.uint8), np.zeros(size, np.uint8)):
        chunk = _native.blosc_encode(data, item)
        assert len(chunk) <= size + 16
        np.testing.assert_array_equal(decoded(chunk), data)
    if size > 2000:
        assert len(chunk) < 300 + size / 100  # the zeros


def test_a_chunk_must_fill_its_memory():
    chunk = _native.blosc_encode(bytes(1000), 4)
    for size in (999, 1001):
        with pytest.raises(ValueError, match=f"holds 1000 bytes instead of {size}"):
            _native.blosc_decode(chunk, np.empty(size, np.uint8))


@pytest.mark.parametrize("name", ["walk_lz4_1", "runs_blosclz_0", "sine_lz4_1"])
def test_damaged_chunks_are_errors_or_other_data(name):
    """Each bit of the header and many of the data; memory beyond `out` stays as it is."""
    chunk, rng = CHUNKS[name], np.random.default_rng(1)
    size = _native.blosc_decoded_size(chunk)
    places = [*range(24), *rng.integers(0, len(chunk), 300)]
    errors = 0
    for place in places:
        for bit in range(8):
            damaged = chunk.copy()
            damaged[place] ^= 1 << bit
            room = np.full(size + 64, 0xA5, np.uint8)
            try:
                _native.blosc_decode(damaged, room[:size])
            except ValueError:
                errors += 1
            assert (room[size:] == 0xA5).all()
    assert errors > 100
    for cut in range(0, len(chunk), 97):
        with pytest.raises(ValueError):
            _native.blosc_decode(chunk[:cut], np.empty(size, np.uint8))
