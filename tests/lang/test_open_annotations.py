"""Annotations that leave something open: unions, `None` for arrays, any number of dimensions; and what they equal."""

from __future__ import annotations

import typing
from typing import Any, Literal

import numpy as np
import pytest

import omni.warp_core as wp


@wp.func
def twice(x: int | float | wp.vec3):
    return x + x


@wp.kernel
def doubled(x: wp.array[int | wp.float64], by: int | float, out: wp.array[float]):
    i = wp.tid()
    out[i] = float(twice(by)) + float(x[i]) + twice(wp.vec3(1.0, 2.0, 3.0)).z + twice(0.5)


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
@pytest.mark.parametrize("by", [3, 1.5])
def test_each_parameter_takes_any_member_of_its_union(dtype: type, by: float) -> None:
    x, out = np.arange(3, dtype=dtype), wp.zeros(3, dtype=float)
    wp.launch(doubled, dim=3, inputs=[x, by, out])
    assert out.list() == (2 * by + x + 6.0 + 1.0).tolist()


def test_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match=r"array\[int32 \| float64\], got array\[float32\]"):
        wp.launch(doubled, dim=3, inputs=[np.zeros(3, dtype=np.float32), 1, wp.zeros(3, dtype=float)])


@wp.kernel
def first(x: wp.array[float] | None, y: wp.array2d[float] | None, out: wp.array[Any, Any]):
    if x:
        out[0] = x[0]
    if y:
        out[0] = y[0, 0]


@pytest.mark.parametrize(("x", "y", "expected"), [([5.0], None, 5.0), (None, [[6.0]], 6.0), (None, None, 0.0)])
def test_arrays_may_be_none(x: Any, y: Any, expected: float) -> None:
    out = wp.zeros(1, dtype=float)
    wp.launch(first, dim=1, inputs=[None if a is None else wp.array(a, dtype=float) for a in (x, y)] + [out])
    assert out.list() == [expected]


def test_a_number_may_not_be_none() -> None:
    @wp.kernel
    def bad(x: float | None):
        pass

    with pytest.raises(wp.CompileError, match="not a type that kernels know"):
        wp.launch(bad, dim=1, inputs=[1.0])


@wp.kernel
def total(x: wp.array[float, Any], out: wp.array[float]):
    n = 1
    for extent in x.shape:
        n *= extent
    out[0] = float(n * x.ndim)


@pytest.mark.parametrize("shape", [(6,), (2, 3)])
def test_any_number_of_dimensions(shape: tuple) -> None:
    out = wp.zeros(1, dtype=float)
    wp.launch(total, dim=1, inputs=[wp.zeros(shape, dtype=float), out])
    assert out.list() == [6.0 * len(shape)]


def test_annotations_of_one_type_are_equal() -> None:
    same = [wp.array2d[float], wp.array2d[wp.float32], wp.array[float, Literal[2]], wp.array[np.float32, 2]]
    assert len(set(same)) == 1 and repr(same[0]) == "wp.array2d[wp.float32]"
    assert wp.array[float] != wp.array[int] and wp.array[float] != wp.indexedarray[float]
    assert wp.indexedarray[float] == wp.indexedarray[wp.float32]
    assert typing.get_args(wp.array[float] | None) == (wp.array[float], type(None))
    assert typing.get_args(wp.array | wp.array2d | wp.array3d | None) == (
        wp.array,
        wp.array2d,
        wp.array3d,
        type(None),
    )
    assert typing.get_args(int | wp.indexedarray2d) == (int, wp.indexedarray2d)
    with pytest.raises(TypeError, match="make an array with"):
        wp.array[float]([1.0])


def test_handles_are_ids() -> None:
    mesh = wp.Mesh(wp.array(np.eye(3), dtype=wp.vec3), wp.array([0, 1, 2], dtype=int))

    @wp.kernel
    def corner(meshes: wp.array[wp.handle], out: wp.array[wp.vec3]):
        out[0] = wp.mesh_get_point(meshes[0], 1)

    out = wp.zeros(1, dtype=wp.vec3)
    wp.launch(corner, dim=1, inputs=[wp.array([mesh.id], dtype=wp.handle), out])
    assert out.numpy().tolist() == [[0.0, 1.0, 0.0]]


def test_programs_tell_annotations_by_the_name_of_their_type():
    """The name is observed in warp-lang 1.19; MuJoCo Warp compares it."""
    assert {type(a).__name__ for a in (wp.array[int], wp.array2d[wp.vec3])} == {"_ArrayAnnotation"}


def test_the_shape_of_an_annotation_may_note_names_of_sizes():
    a = wp.array(ndim=2, dtype=float)
    a.shape = ("nworld", "*")
    assert a.shape == ("nworld", "*")
    with pytest.raises(ValueError, match="one entry for each dimension"):
        a.shape = ("nworld",)
    assert str(a) == repr(a) == "array(shape=('nworld', '*'), dtype=float32, device=cpu)"

    @wp.kernel
    def k(x: a):
        i, j = wp.tid()
        x[i, j] = float(i + 10 * j)

    x = wp.zeros((2, 3), dtype=float)
    wp.launch(k, (2, 3), [x])
    assert x.list() == [0.0, 10.0, 20.0, 1.0, 11.0, 21.0]
    with pytest.raises(AttributeError, match="reshape"):
        x.shape = (3, 2)


def test_lengths_of_open_parameters_are_known_to_static():
    @wp.func
    def summed(v: Any):
        s = v[0]
        for i in range(1, wp.static(len(v))):
            s += v[i]
        return s

    @wp.kernel
    def k(a: wp.array[wp.vec3], b: wp.array[wp.vec2], out: wp.array[float]):
        out[0] = summed(a[0])
        out[1] = summed(b[0])

    out = wp.zeros(2, dtype=float)
    wp.launch(k, 1, [wp.array([[1, 2, 4]], dtype=wp.vec3), wp.array([[8, 16]], dtype=wp.vec2), out])
    assert out.list() == [7.0, 24.0]
