"""Blocks of one thread: conditions may lead to collective operations however they like, as one thread is all threads.
The judge is NumPy.
"""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp

ROWS, STEP = 40, 7


@wp.kernel
def some_rows(counts: wp.array[int], x: wp.array2d[float], out: wp.array[float]):
    i, j = wp.tid()
    for r in range(i, counts.shape[0], STEP):
        if out[r] == 5.0:  # what threads of a block write: they could differ
            if j != 0:
                continue
            wp.atomic_add(out, r, 1.0)
            continue
        s = 0.0
        for c in range(j, counts[r], wp.block_dim()):
            s += x[r, c]
        total = wp.tile_reduce(wp.add, wp.tile(s, preserve_type=True))[0]
        if total > 3.0:
            out[r] = total
            return
        out[r] = -total


def of_rows(counts, x):
    out = np.where(counts == 0, np.float32(5.0), np.float32(0.0))
    for i in range(STEP):
        for r in range(i, ROWS, STEP):
            total = x[r, : counts[r]].sum()
            out[r] = 6.0 if counts[r] == 0 else total if total > 3.0 else -total
            if counts[r] and total > 3.0:
                break
    return out


@pytest.mark.parametrize("mode", ["release", "debug"])
def test_branches_returns_and_continues(mode, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", mode)
    rng = np.random.default_rng(0)
    counts, x = rng.integers(0, 9, ROWS).astype(np.int32), rng.random((ROWS, 9)).astype(np.float32)
    out = wp.array(np.where(counts == 0, 5.0, 0.0), dtype=float)
    wp.launch(some_rows, (STEP, 1), [wp.array(counts), wp.array(x), out], block_dim=1)
    np.testing.assert_allclose(out.numpy(), of_rows(counts, x), rtol=1e-6)
    with pytest.raises(wp.CompileError, match="only some threads of a block may get here"):
        wp.launch(some_rows, (STEP, 2), [wp.array(counts), wp.array(x), out], block_dim=2)


@wp.kernel
def boxes(meshes: wp.array[wp.uint64], which: wp.array[int], centres: wp.array[wp.vec3], out: wp.array[int]):
    i, _ = wp.tid()
    for r in range(i, centres.shape[0], STEP):
        if which[r] == 0:
            out[r] = -1
            continue
        query = wp.tile_mesh_query_aabb(meshes[which[r] - 1], centres[r] - wp.vec3(0.2), centres[r] + wp.vec3(0.2))
        found = wp.tile_mesh_query_aabb_next(query)
        n = 0
        while wp.tile_query_valid(query):
            if wp.untile(found) >= 0:
                n += 1
            found = wp.tile_mesh_query_aabb_next(query)
        out[r] = n


def test_queries_of_meshes_that_differ():
    rng = np.random.default_rng(1)
    points = rng.random((60, 3)).astype(np.float32)
    corners = [points, points[::-1] * np.float32(0.5)]
    faces = wp.array(np.arange(60), dtype=int)
    meshes = [wp.Mesh(wp.array(p, dtype=wp.vec3), faces) for p in corners]
    centres, which = rng.random((ROWS, 3)).astype(np.float32), rng.integers(0, 3, ROWS).astype(np.int32)
    ids, out = wp.array([m.id for m in meshes], dtype=wp.uint64), wp.zeros(ROWS, dtype=int)
    wp.launch(boxes, (STEP, 1), [ids, wp.array(which), wp.array(centres, dtype=wp.vec3), out], block_dim=1)
    for r, n in enumerate(out.list()):
        triangles = corners[which[r] - 1].reshape(20, 3, 3)
        below = (triangles.min(1) <= centres[r] + np.float32(0.2)).all(1)
        above = (triangles.max(1) >= centres[r] - np.float32(0.2)).all(1)
        assert n == (-1 if which[r] == 0 else (below & above).sum())
