"""Arrays of structs against NumPy: every kind of field, nested structs, by element, view, list and kernel."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp


@wp.struct
class Inner:
    flag: wp.bool
    k: wp.int8
    v: wp.vec3


@wp.struct
class Record:
    b: bool
    i8: wp.int8
    u16: wp.uint16
    h: wp.float16
    d: wp.float64
    v: wp.vec3
    vd: wp.vec2d
    vb: wp.vec3b
    m: wp.mat22
    md: wp.mat33d
    q: wp.quat
    t: wp.transform
    inner: Inner
    i64: wp.int64
    last: bool


RECORD = wp.dtype_to_numpy(Record)


def fill(records: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    for name in records.dtype.names:
        field = records[name]
        if field.dtype.names:
            fill(field, rng)
        elif field.dtype == bool:
            field[...] = rng.integers(0, 2, field.shape)
        else:
            field[...] = rng.integers(0, 100, field.shape) / (4 if field.dtype.kind == "f" else 1)
    return records


SOURCE = fill(np.zeros(5, RECORD), np.random.default_rng(3))
PACKED = np.array(SOURCE.tolist(), [(name, SOURCE.dtype[name]) for name in SOURCE.dtype.names])


def agrees(instance, row) -> bool:
    for name in row.dtype.names:
        got, want = getattr(instance, name), row[name]
        if want.dtype.names:
            assert agrees(got, want)
        else:
            np.testing.assert_array_equal(np.array(got).reshape(want.shape), want, name)
    return True


def same(a: np.ndarray, b: np.ndarray) -> None:
    assert a.dtype == RECORD and a.shape == b.shape
    np.testing.assert_equal(a.tolist(), b.tolist())


@pytest.mark.parametrize("source", [SOURCE, SOURCE[::2], PACKED, SOURCE.reshape(5, 1), np.stack([SOURCE, SOURCE])])
def test_from_and_to_numpy(source):
    same(wp.array(source, dtype=Record).numpy(), source)
    same(wp.from_numpy(source, dtype=Record).numpy(), source)
    a = wp.zeros(source.shape, dtype=Record)
    a.assign(source)
    same(a.numpy(), source)
    same(a.flatten().numpy(), source.ravel())


def test_lists_of_instances():
    instances = wp.array(SOURCE, dtype=Record).list()
    assert all(agrees(x, row) for x, row in zip(instances, SOURCE))
    same(wp.array(instances).numpy(), SOURCE)
    same(wp.array([instances, instances], dtype=Record).numpy(), np.stack([SOURCE, SOURCE]))
    same(wp.array(list(SOURCE), dtype=Record).numpy(), SOURCE)
    same(wp.array(SOURCE.tolist(), dtype=Record).numpy(), SOURCE)
    assert wp.array([], dtype=Record).shape == (0,)


@pytest.mark.cpu
def test_elements_and_views():
    a, b, judge = wp.array(SOURCE, dtype=Record), wp.zeros(5, dtype=Record), np.zeros(5, RECORD)
    for i in range(5):
        assert agrees(a[i], SOURCE[i])
    b[0], judge[0] = a[3], SOURCE[3]
    b[1], judge[1] = SOURCE[2], SOURCE[2]
    b[2], judge[2] = SOURCE[4].item(), SOURCE[4]
    same(b.numpy(), judge)
    b[3:], judge[3:] = SOURCE[1], SOURCE[1]
    b[:2], judge[:2] = SOURCE[2:4], SOURCE[2:4]
    same(b.numpy(), judge)
    b[::-2], judge[::-2] = a[:3], SOURCE[:3]
    same(b.numpy(), judge)
    b.fill_(SOURCE[0])
    same(b.numpy(), np.full(5, SOURCE[0]))
    b[wp.array([3, 1], dtype=int)] = SOURCE[1]
    same(b[wp.array([1, 3], dtype=int)].numpy(), np.full(2, SOURCE[1]))
    same(wp.full(3, a[2]).numpy(), np.full(3, SOURCE[2]))


@wp.kernel
def copied(x: wp.array(dtype=Record), y: wp.array(dtype=Record)):
    i = wp.tid()
    y[i] = x[i]


@wp.kernel
def copied_by_field(x: wp.array(dtype=Record), y: wp.array(dtype=Record)):
    i = wp.tid()
    r = x[i]
    y[i].b = r.b
    y[i].i8 = x[i].i8
    y[i].u16 = r.u16
    y[i].h = r.h
    y[i].d = x[i].d
    y[i].v = r.v
    y[i].vd[0] = r.vd[0]
    y[i].vd.y = x[i].vd.y
    y[i].vb = x[i].vb
    y[i].m[0, 0] = r.m[0, 0]
    y[i].m[0, 1] = x[i].m[0, 1]
    y[i].m[1] = r.m[1]
    y[i].md = x[i].md
    y[i].q = r.q
    y[i].t = x[i].t
    y[i].inner.flag = r.inner.flag
    y[i].inner.k = x[i].inner.k
    y[i].inner.v.x = x[i].inner.v.x
    y[i].inner.v[1] = x[i].inner.v[1]
    y[i].inner.v[2] = r.inner.v[2]
    y[i].i64 = r.i64
    y[i].last = x[i].last


@pytest.mark.parametrize("mode", ["release", "debug", "interpret"])
@pytest.mark.parametrize("kernel", [copied, copied_by_field])
def test_kernels(kernel, mode, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", mode)
    source = fill(np.zeros(5 if mode == "interpret" else 1003, RECORD), np.random.default_rng(8))
    y = wp.zeros(len(source), dtype=Record)
    wp.launch(kernel, dim=len(source), inputs=[wp.array(source, dtype=Record), y])
    same(y.numpy(), source)
    records = np.zeros_like(source)
    wp.launch(kernel, dim=len(source), inputs=[source, records])
    same(records, source)


@pytest.mark.parametrize(
    "data, words",
    [
        (
            np.zeros(2, [("flag", "?"), ("k", "i1"), ("v", "f4", 4)]),
            r"v: float32\[4\]} does not have the fields of Inner",
        ),
        ([Inner(), 0], r"data\[1\]: expected Inner, got int"),
        ([[Inner(), Inner()], [Inner(), (True, 1.5)]], r"data\[1, 1\]: field 'k'"),
        ([[Inner()], [Inner(), Inner()]], "the nested lists have different lengths"),
    ],
)
def test_wrong_data(data, words):
    with pytest.raises((TypeError, ValueError), match=words):
        wp.array(data, dtype=Inner)
