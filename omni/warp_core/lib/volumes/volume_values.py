"""Values of sparse volumes in memory: their types, where they are, and reading and writing them.

`read` and `write` have a form for scalars of 4 bytes, for scalars of 8, and for vectors of those, at a word of the
buffer. `value_at` and `put_value` take voxels, and values of any type: also those of less than a word.
"""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import N, S, T, TypeVar, Vec
from ...lang.registry import builtin
from ...lang.types import F32, F64, I16, I32, I64, U8, U16, U32, U64
from ...lang.values.scalars import bool as boolean
from ...lang.values.scalars import float16, float32, float64, int16, int32, int64, uint8, uint16, uint32, uint64
from .volume_data import WORD, VolumeData, known, word_of

# As a grid buffer spells types of values.
FLOAT, MASK, HALF, BOOL, FP4, FP16, INDEX, ON_INDEX, INDEX_MASK, ON_INDEX_MASK = 1, 8, 9, 11, 13, 15, 19, 20, 21, 22
_MINIMUM, _QUANTUM = 20, 21  # words of a leaf of codes
CODES = "volume {0} has codes or halves in place of values, which kernels cannot store: make a volume of float32"
_BITS = "volume {0} has a bit for each voxel, which kernels cannot store: make a volume of uint8"
_WRONG_TYPE = "volume {0} has values of another type ({1:grid type}) than the kernel asks for: volume.dtype has theirs"
Word = TypeVar("Word", "scalar", among=(F32, I32, U32))
Long = TypeVar("Long", "scalar", among=(F64, I64, U64))
Small = TypeVar("Small", "scalar", among=(I16, U16, U8))
_REALS = (F32, F64, Vec[3, F32], Vec[3, F64], Vec[4, F32], Vec[4, F64])
_WHOLE = (boolean.__wc_type__, I16, I32, I64, U8, U32, Vec[3, U8], Vec[3, U16], Vec[4, U8])
VoxelReal = TypeVar("VoxelReal", "type", among=_REALS)
VoxelValue = TypeVar("VoxelValue", "type", among=(*_REALS, *_WHOLE))


@builtin(name="_volume_type")
def _type_of_float(like: float32) -> int32:
    """The type of values that are like `like`, as a grid buffer spells it."""
    return 1


@builtin(name="_volume_type")
def _type_of_double(like: float64) -> int32:
    return 2


@builtin(name="_volume_type")
def _type_of_int(like: int32) -> int32:
    return 4


@builtin(name="_volume_type")
def _type_of_long(like: int64) -> int32:
    return 5


@builtin(name="_volume_type")
def _type_of_vec3f(like: Vec[3, float32]) -> int32:
    return 6


@builtin(name="_volume_type")
def _type_of_vec3d(like: Vec[3, float64]) -> int32:
    return 7


@builtin(name="_volume_type")
def _type_of_uint(like: uint32) -> int32:
    return 10


@builtin(name="_volume_type")
def _type_of_vec4f(like: Vec[4, float32]) -> int32:
    return 17


@builtin(name="_volume_type")
def _type_of_vec4d(like: Vec[4, float64]) -> int32:
    return 18


@builtin(name="_volume_type")
def _type_of_short(like: int16) -> int32:
    return 3


@builtin(name="_volume_type")
def _type_of_byte(like: uint8) -> int32:
    return 26


@builtin(name="_volume_type")
def _type_of_bool(like: boolean) -> int32:
    return BOOL


@builtin(name="_volume_type")
def _type_of_vec3ub(like: Vec[3, uint8]) -> int32:
    return 24


@builtin(name="_volume_type")
def _type_of_vec3us(like: Vec[3, uint16]) -> int32:
    return 25


@builtin(name="_volume_type")
def _type_of_vec4ub(like: Vec[4, uint8]) -> int32:
    return 12


@builtin(name="_volume_has_type")
def has_type(data: VolumeData, like: S) -> boolean:
    """True if a volume has values of the type of `like`. If it has not, the launch raises."""
    number = prim.select(is_coded(data, like), FLOAT, data.value_type)
    number = prim.select(number == MASK or _has_masks(data), BOOL, number)
    is_right = number == _type_of_float(like)
    if not is_right and data.id != uint64(0):
        prim.fail("handle", _WRONG_TYPE, data.id, data.value_type)
    return is_right


@builtin(name="_volume_has_masks")
def _has_masks(data: VolumeData) -> boolean:
    """True if leaves have a mask beside their indices."""
    return data.value_type == INDEX_MASK or data.value_type == ON_INDEX_MASK


@builtin(name="_volume_is_coded")
def is_coded(data: VolumeData, like: float32) -> boolean:
    """True if values of the type of `like` are codes or halves in leaves, which stand for numbers."""
    return data.value_type == HALF or (data.value_type >= FP4 and data.value_type <= FP16)


@builtin(name="_volume_is_coded")
def _is_never_coded(data: VolumeData, like: S) -> boolean:
    return False


@builtin(name="_volume_size")
def size_of(like: Word) -> int32:
    """The words of a value of the type of `like`."""
    return 1


@builtin(name="_volume_size")
def _size_long(like: Long) -> int32:
    return 2


@builtin(name="_volume_size")
def _size_vector(like: Vec[N, T]) -> int32:
    return N * size_of(T(0))


@builtin(name="_volume_read")
def read(data: VolumeData, word: int32, like: Word) -> Word:
    """The value at a word of the buffer."""
    return prim.array_at(data.words, data.num_words, Word)[word]


@builtin(name="_volume_read")
def _read_long(data: VolumeData, word: int32, like: Long) -> Long:
    return prim.array_at(data.words, data.num_words >> 1, Long)[word >> 1]


@builtin(name="_volume_read")
def _read_vector(data: VolumeData, word: int32, like: Vec[N, T]) -> Vec[N, T]:
    value = like
    for c in range(N):
        value[c] = read(data, word + c * size_of(T(0)), T(0))
    return value


@builtin(name="_volume_write")
def write(data: VolumeData, word: int32, value: Word) -> None:
    """Put a value at a word of the buffer."""
    words = prim.array_at(data.words, data.num_words, Word)
    words[word] = value


@builtin(name="_volume_write")
def _write_long(data: VolumeData, word: int32, value: Long) -> None:
    longs = prim.array_at(data.words, data.num_words >> 1, Long)
    longs[word >> 1] = value


@builtin(name="_volume_write")
def _write_vector(data: VolumeData, word: int32, value: Vec[N, T]) -> None:
    for c in range(N):
        write(data, word + c * size_of(T(0)), value[c])


# -- values of less than a word ----------------------------------------------------------------------------------------


@builtin(name="_volume_parts")
def _parts(like: uint8) -> int32:
    """How many numbers of the type of `like` a word holds."""
    return 4


@builtin(name="_volume_parts")
def _parts_short(like: Small) -> int32:
    return 2


@builtin(name="_volume_part")
def _part(data: VolumeData, place: int32, number: int32, parts: int32) -> int32:
    """Where a number of less than a word is, counted in parts of words: the `number`th of the leaf or of the tile."""
    return (place & WORD) * parts + prim.select(place >= 0, (data.leaf_values * parts + number) & WORD, 0)


@builtin(name="_volume_small")
def _small(data: VolumeData, at: int32, like: Small) -> Small:
    """The number at a part of the buffer."""
    return prim.array_at(data.words, data.num_words * _parts(like), Small)[at]


@builtin(name="_volume_put_small")
def _put_small(data: VolumeData, at: int32, value: Small) -> None:
    """Put a number at a part of the buffer."""
    numbers = prim.array_at(data.words, data.num_words * _parts(value), Small)
    numbers[at] = value


@builtin(name="_volume_decode", cold=True)
def _decode(id: uint64, place: int32, entry: int32) -> float32:
    """The value of a voxel of a volume of halves, or of codes: code * quantum + minimum. Tiles of codes have floats."""
    data = known(id)
    floats = prim.array_at(data.words, data.num_words, float32)
    value = floats[place & WORD]
    if data.value_type == HALF:
        value = float32(prim.array_at(data.words, data.num_words * 2, float16)[_part(data, place, entry, 2)])
    elif place >= 0:
        shift = data.value_type - FP4 + 2  # a code has 4, 8 or 16 bits
        bit = entry << shift
        words = prim.array_at(data.words, data.num_words, uint32)
        all_bits = (uint32(1) << (uint32(1) << uint32(shift))) - uint32(1)
        code = (words[(place + data.leaf_values + (bit >> 5)) & WORD] >> uint32(bit & 31)) & all_bits
        value = float32(code) * floats[(place + _QUANTUM) & WORD] + floats[(place + _MINIMUM) & WORD]
    return value


# -- values of any type ------------------------------------------------------------------------------------------------


@builtin(name="_volume_value_at")
def value_at(data: VolumeData, place: int32, entry: int32, like: float32) -> float32:
    """The value of a voxel at a place, which is an `entry` of its leaf."""
    value = like
    if is_coded(data, like):
        value = _decode(data.id, place, entry)
    else:
        value = read(data, word_of(data, place, entry, 1), like)
    return value


@builtin(name="_volume_value_at")
def _bool_at(data: VolumeData, place: int32, entry: int32, like: boolean) -> boolean:
    words = prim.array_at(data.words, data.num_words, int32)
    in_tile = prim.select(_has_masks(data), 0, 255)  # a tile has a byte, and one of indices no mask
    bits = prim.select(place >= 0, 1 << (entry & 31), in_tile)
    return (words[word_of(data, place, entry >> 5, 1)] & bits) != 0


@builtin(name="_volume_value_at")
def _small_at(data: VolumeData, place: int32, entry: int32, like: Small) -> Small:
    return _small(data, _part(data, place, entry, _parts(like)), like)


@builtin(name="_volume_value_at")
def _smalls_at(data: VolumeData, place: int32, entry: int32, like: Vec[N, Small]) -> Vec[N, Small]:
    value, at = like, _part(data, place, entry * N, _parts(Small(0)))
    for c in range(N):
        value[c] = _small(data, at + c, Small(0))
    return value


@builtin(name="_volume_value_at")
def _whole_at(data: VolumeData, place: int32, entry: int32, like: S) -> S:
    return read(data, word_of(data, place, entry, size_of(like)), like)


@builtin(name="_volume_put_value")
def put_value(data: VolumeData, place: int32, entry: int32, value: float32) -> None:
    """Put the value of a voxel into the leaf at a place."""
    if is_coded(data, value):
        prim.fail("argument", CODES, data.id)
    else:
        write(data, word_of(data, place, entry, 1), value)


@builtin(name="_volume_put_value")
def _put_bool(data: VolumeData, place: int32, entry: int32, value: boolean) -> None:
    prim.fail("argument", _BITS, data.id)


@builtin(name="_volume_put_value")
def _put_small_value(data: VolumeData, place: int32, entry: int32, value: Small) -> None:
    _put_small(data, _part(data, place, entry, _parts(value)), value)


@builtin(name="_volume_put_value")
def _put_smalls(data: VolumeData, place: int32, entry: int32, value: Vec[N, Small]) -> None:
    at = _part(data, place, entry * N, _parts(Small(0)))
    for c in range(N):
        _put_small(data, at + c, value[c])


@builtin(name="_volume_put_value")
def _put_whole(data: VolumeData, place: int32, entry: int32, value: S) -> None:
    write(data, word_of(data, place, entry, size_of(value)), value)
