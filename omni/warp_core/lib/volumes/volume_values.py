"""Values of sparse volumes in memory: their types, where they are, and reading and writing them.

Each function has a form for scalars of 4 bytes, for scalars of 8, and for vectors of those.
"""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import N, S, T, TypeVar, Vec
from ...lang.registry import builtin
from ...lang.types import F32, F64, I32, I64, U32, U64
from ...lang.values.scalars import bool as boolean
from ...lang.values.scalars import float32, float64, int32, int64, uint32, uint64
from .volume_data import VolumeData

INDEX, ON_INDEX = 19, 20  # types of values, as a grid buffer spells them
_WRONG_TYPE = "volume {0} has values of another type (grid type {1}) than the kernel asks for: volume.dtype has theirs"
Word = TypeVar("Word", "scalar", among=(F32, I32, U32))
Long = TypeVar("Long", "scalar", among=(F64, I64, U64))


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


@builtin(name="_volume_has_type")
def has_type(data: VolumeData, like: S) -> boolean:
    """True if a volume has values of the type of `like`. If it has not, the launch raises."""
    is_right = data.value_type == _type_of_float(like)
    if not is_right and data.id != uint64(0):
        prim.fail("handle", _WRONG_TYPE, data.id, data.value_type)
    return is_right


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
