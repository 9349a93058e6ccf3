"""Values and builtins under misuse: whatever is done to them ends in an exception, never in a crash."""

from __future__ import annotations

import math
import operator
import pickle
import random

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import _native
from omni.warp_core.lang.types import F32, Vec
from omni.warp_core.lang.values import value_methods


class Bomb:
    """Every way to ask it for something fails."""

    def _fail(self, *_):
        raise RuntimeError("bomb")

    __len__ = __getitem__ = __iter__ = __float__ = __index__ = __eq__ = __add__ = __radd__ = __bool__ = _fail
    __hash__ = None


class Liar(list):
    """A list that claims another length."""

    def __len__(self):
        return 3


class Resizer:
    """Becomes a number, and empties a list meanwhile."""

    def __init__(self, victim):
        self.victim = victim

    def __float__(self):
        self.victim.clear()
        return 1.0

    __index__ = lambda self: int(float(self))  # noqa: E731


class Odd(float):
    def __float__(self):
        return "no float"


RECURSIVE: list = [1.0, 2.0]
RECURSIVE.append(RECURSIVE)


VALUES = 14  # so many come first in the pool


def pool():
    """Values and objects of all sorts."""
    victim: list = [1.0, 2.0]
    victim.append(Resizer(victim))
    unset = wp.float32.__new__(wp.float32)
    wrong = wp.float32(1.0)
    wrong.value = "text"
    return [
        wp.vec3(1, 2, 3), wp.vec3d(1, 2, 3), wp.vec3h(1, 2, 3), wp.vec4ub(1), wp.vec2l(-1), wp.mat22(1), wp.mat44d(2),
        wp.quat(0, 0, 0, 1), wp.transform(), wp.spatial_vector(3), wp.types.matrix((2, 3), wp.int8)(1),
        wp.types.vector(3, wp.bool)(True), wp.types.vector(2, wp.bfloat16)(1), wp.types.vector(1, wp.uint64)(7),
        0, 1, -1, 2**31, 2**63, 2**64, 2**200, -(2**200), 0.0, 1.5, -0.0, math.nan, math.inf, 1e300, True, None, "abc",
        b"abc", bytearray(3), (), [], (1, 2, 3), [1.0, 2.0, 3.0], [1, "a", None], [[1, 2], [3, 4]], {}, {1, 2, 3},
        range(3), slice(None), slice(0, 2), slice(2, 0, -1), slice(None, None, 0), slice(-(2**70), 2**70), (0, 1), ...,
        (slice(None), 0), (1, slice(0, 2)), (0, 0, 0), RECURSIVE, Liar(), Liar([1, 2, 3, 4]), victim, Bomb(), Odd(1.0),
        np.arange(3.0), np.arange(3, dtype=np.float32), np.eye(2), np.zeros((2, 2, 2)), np.array(1.0), np.float32(2),
        np.int64(3), np.bool_(True), np.array(["a", "b", "c"]), np.arange(6)[::-2], memoryview(b"123"), unset, wrong,
        wp.float32(1), wp.float64(1), wp.int32(2), wp.uint8(3), wp.bool(True), wp.vec3, wp.float32, float, object(),
        complex(1, 2), np.zeros(3, dtype="M8[s]"), np.zeros(3, dtype=[("a", "f4")]), np.zeros(3, ">f4"),
    ]  # fmt: skip


CLASSES = [
    wp.vec2, wp.vec3, wp.vec3d, wp.vec3h, wp.vec4i, wp.vec3ub, wp.mat22, wp.mat33d, wp.quat, wp.quatd, wp.transform,
    wp.spatial_vector, wp.types.vector(1, float), wp.types.vector(3, wp.bool), wp.types.vector(3, wp.bfloat16),
    wp.types.matrix((2, 3), wp.int8), wp.types.matrix((1, 1), wp.float64),
]  # fmt: skip
BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.mod, operator.matmul, operator.floordiv,
    operator.eq, operator.ne, operator.lt, operator.getitem, operator.contains, operator.iadd, divmod, pow,
]  # fmt: skip
UNARY = [
    operator.neg, operator.pos, abs, len, hash, str, repr, list, tuple, bool, iter, memoryview, bytes, np.array,
    pickle.dumps, float, int, reversed, lambda v: pickle.loads(pickle.dumps(v)),
]  # fmt: skip
BUILTINS = [wp.dot, wp.cross, wp.length, wp.sin, wp.max, wp.normalize, wp.inverse, wp.quat_rotate]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(4))
def test_random_misuse(seed):
    rng = random.Random(seed)
    values = pool()
    for _ in range(3000):
        x, y, z = rng.choice(values[:VALUES]), rng.choice(values), rng.choice(values)
        if rng.random() < 0.5:
            x, y = y, x
        action = rng.randrange(8)
        try:
            if action == 0:
                made = rng.choice(CLASSES)(*(rng.choice(values) for _ in range(rng.randrange(5))))
                values[rng.randrange(VALUES)] = made
            elif action == 1:
                made = rng.choice(CLASSES)([rng.choice(values) for _ in range(rng.randrange(10))])
            elif action == 2:
                rng.choice(BINARY)(x, y)
            elif action == 3 and isinstance(x, _native.Value):
                rng.choice(UNARY)(x)
            elif action == 4:
                x[y] = z
            elif action == 5 and not isinstance(x, type):
                setattr(x, rng.choice("xyzwpq"), y)
            elif action == 6:
                getattr(x, rng.choice("xyzwpq"))
            elif rng.random() < 0.02:  # each new combination of types is lowered
                rng.choice(BUILTINS)(*rng.sample(values, rng.randrange(3)))
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except Exception:
            pass


@pytest.mark.parametrize(
    "misuse",
    [
        lambda: _native.Value(),
        lambda: _native.Value.__new__(_native.Value),
        lambda: object.__new__(wp.vec3),
        lambda: value_methods.Components(1, 2),
        lambda: value_methods.Vector._from([1.0]),
        lambda: _native.Value.__new__(int),
        lambda: _native.ValueClass("X", (), {}),
        lambda: _native.ValueClass("X", (int,), {}),
        lambda: _native.ValueClass("X", (_native.Value,), {"__wc_type__": 5}),
        lambda: _native.ValueClass("X", (_native.Value,), {"__slots__": ("a",), "__wc_type__": Vec(3, F32)}),
        lambda: _native.ValueClass("X", (_native.Value,), {"__wc_type__": Vec(3, F32)}),  # has a __dict__
        lambda: _native.ValueClass("X", (wp.vec3, wp.vec4), {}),
        lambda: type("X", (_native.Value,), {})(1),
        lambda: type("X", (wp.vec3, int), {}),
        lambda: wp.vec3.__init__(5),
        lambda: wp.vec3.x.__get__(5),
        lambda: wp.vec4.w.__get__(wp.vec3()),
        lambda: wp.vec4.w.__set__(wp.vec3(), 1.0),
        lambda: wp.transform.q.__get__(wp.vec3()),
        lambda: wp.transform.q.__set__(wp.vec3(), (0, 0, 0, 1)),
        lambda: wp.vec3.__add__(1, 2),
        lambda: wp.vec3()._save(3, 1.0),
        lambda: wp.vec3()._save(-1, 1.0),
        lambda: wp.vec3()._save(0, "x"),
        lambda: wp.vec3()._save(),
        lambda: wp.vec3._from([1.0, 2.0]),
        lambda: wp.vec3._from(5),
        lambda: wp.vec3ub._from([1.5, 1, 1]),
        lambda: wp.float32._make("1"),
        lambda: setattr(wp.vec3(), "__class__", wp.vec4),
        lambda: setattr(wp.vec3(), "__class__", wp.vec3i),
        lambda: wp.vec3().__delitem__(0),
        lambda: delattr(wp.vec3(), "x"),
        lambda: wp.vec3(x=1),
        lambda: wp.transform((1, 2, 3), r=1),
        lambda: wp.vec3()[2**100],
        lambda: wp.vec3()[:: 2**100][5],
        lambda: wp.types.vector(2**61, float)(),
        lambda: wp.types.matrix((2**40, 2**40), float)(),
        lambda: value_methods._rebuild("vec3<f32>", (1.0,)),
        lambda: value_methods._rebuild("vec3<f3", (1.0,)),
        lambda: memoryview(wp.types.vector(3, wp.bfloat16)(1)),
        lambda: _native.Dispatcher()(1.0),
        lambda: _native.add_code(5, (), (), (), 0, None),
        lambda: _native.add_code(_native.Dispatcher(), (1.0,), (wp.float32,), (), 0, None),
        lambda: _native.add_code(_native.Dispatcher(), (1.0,), (float,), (wp.float32,), 0, None),
        lambda: _native.add_code(_native.Dispatcher(), (wp.vec3(),), (wp.vec4,), (wp.float32,), 0, None),
        lambda: _native.add_code(_native.Dispatcher(), (wp.vec3(),), (wp.float32,), (wp.float32,), 0, None),
    ],
)
def test_misuse_is_refused(misuse):
    with pytest.raises((TypeError, ValueError, AttributeError, IndexError, BufferError, OverflowError, MemoryError)):
        misuse()


def test_a_list_may_change_while_it_is_read():
    for make in (lambda items: wp.vec3(items), lambda items: wp.vec3(*items), lambda items: wp.vec3d(tuple(items))):
        items: list = [1.0, 2.0]
        items.append(Resizer(items))
        assert make(items) == (1.0, 2.0, 1.0)
    v = wp.vec3(1, 2, 3)
    v[:] = v[::-1]
    v[0:2] = v[1:3]
    assert v == (2, 1, 1)


def test_memory_outlives_the_value():
    view, array = memoryview(wp.vec3(1, 2, 3)), np.asarray(wp.mat22(1, 2, 3, 4))
    made = [wp.vec3(9, 9, 9) for _ in range(100)]
    assert view.tolist() == [1, 2, 3] and array.tolist() == [1, 2, 3, 4] and len(made) == 100


def test_an_interrupted_offer_of_code_is_not_repeated():
    class Offers(_native.Dispatcher):
        asked = 0

        def _interpret(self, *args):
            return len(args)

        def _compile(self, args, calls):
            self.asked += 1
            assert self(*args) == 1  # comes back here
            raise KeyboardInterrupt

    call = Offers()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(1000):
            call(1.0)
    assert [call(1.0) for _ in range(1000)] == [1] * 1000 and call.asked == 1
    assert call(*range(40)) == 40
    for i in range(200):  # more combinations of types than are counted
        assert call(*([1.0] * (i % 20)), 1) == i % 20 + 1
