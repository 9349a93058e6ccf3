"""Ids of structures: each function takes those of its own kind alone."""

import copy
import gc
import pickle

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.dispatch import capture
from omni.warp_core.geometry import descriptors


@wp.kernel
def neighbour(id: wp.uint64, out: wp.array(dtype=float)):
    out[0] = float(wp.hash_grid_point_id(id, 0))


@wp.kernel
def corner(id: wp.uint64, out: wp.array(dtype=float)):
    out[0] = float(wp.mesh_get_index(id, 0))


@wp.kernel
def closest(id: wp.uint64, out: wp.array(dtype=float)):
    out[0] = wp.mesh_query_point_no_sign(id, wp.vec3(), 1.0).u


@wp.kernel
def voxel(id: wp.uint64, out: wp.array(dtype=float)):
    out[0] = wp.volume_lookup_f(id, 0, 0, 0)


@wp.kernel
def overlaps(id: wp.uint64, out: wp.array(dtype=float)):
    out[0] = float(wp.bvh_query_aabb(id, wp.vec3(), wp.vec3()).stop)


@wp.kernel
def root(id: wp.uint64, out: wp.array(dtype=float)):
    out[0] = float(wp.bvh_get_group_root(id, 0))


@wp.kernel
def root_of_faces(id: wp.uint64, out: wp.array(dtype=float)):
    out[0] = float(wp.mesh_get_group_root(id, 0))


@wp.kernel
def tree_of_faces(id: wp.uint64, out: wp.array(dtype=float)):
    out[0] = float(wp.mesh_get_bvh(id))


def structures():
    points = wp.array(np.eye(3), dtype=wp.vec3)
    grid = wp.HashGrid(2, 2, 2)
    grid.build(points, 1.0)
    mesh = wp.Mesh(points, wp.array([0, 1, 2], dtype=int))
    volume = wp.Volume.allocate([0, 0, 0], [7, 7, 7], 1.0)
    return {"a hash grid": grid, "a mesh": mesh, "a volume": volume, "a wp.Bvh": wp.Bvh(points, points)}


@pytest.mark.cpu
@pytest.mark.parametrize("mode", ["release", "debug"])
@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        (neighbour, "a hash grid"),
        (corner, "a mesh"),
        (closest, "a mesh"),
        (root_of_faces, "a mesh"),
        (tree_of_faces, "a mesh"),
        (voxel, "a volume"),
        (overlaps, "a wp.Bvh"),
        (root, "a wp.Bvh"),
    ],
)
def test_ids_of_other_kinds_are_errors(kernel, kind, mode, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", mode)
    made, out = structures(), wp.zeros(1, dtype=float)
    wp.launch(kernel, 1, [made[kind].id, out])
    for name, other in made.items():
        if name != kind:
            told = f"{int(other.id)} is no id of {kind} that exists on this device, but one of {name}: pass "
            with pytest.raises(wp.KernelError, match=told):
                wp.launch(kernel, 1, [other.id, out])


@pytest.mark.parametrize("kind", ["a hash grid", "a mesh", "a volume", "a wp.Bvh"])
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps], ids=["copy", "deepcopy", "pickle"])
def test_a_structure_is_neither_copied_nor_pickled_as_its_id_is_a_place_in_memory(kind, copied):
    with pytest.raises(TypeError, match=r"wp\.\w+ cannot be copied or pickled, .*: (make another|copy it with) "):
        copied(structures()[kind])


def test_structures_show_their_sizes():
    found = {kind: repr(structure) for kind, structure in structures().items()}
    assert found["a mesh"].startswith("Mesh(points=3, faces=1, device=")
    assert found["a wp.Bvh"].startswith("Bvh(boxes=3, device=")
    assert found["a hash grid"].startswith("HashGrid(cells=(2, 2, 2), dtype=float32, device=")
    assert found["a volume"].startswith("Volume(type=float, voxels=512, device=")


@wp.func
def nearest(mesh: wp.uint64):
    return wp.mesh_query_point(mesh, wp.vec3(), 1.0)  # in a function


@wp.kernel
def one_query(mesh: wp.uint64, out: wp.array(dtype=float)):
    out[0] = nearest(mesh).u


@wp.kernel
def two_queries(first: wp.uint64, second: wp.uint64, out: wp.array(dtype=float)):
    near = wp.mesh_query_point(first, wp.vec3(), 1.0)  # the first
    far = wp.mesh_query_point(second, wp.vec3(), 1.0)  # the second
    out[0] = near.u + far.u


@pytest.mark.cpu
@pytest.mark.parametrize("mode", ["release", "debug"])
def test_an_unknown_id_is_told_with_the_line_of_the_query_in_the_users_source(mode, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", mode)
    out = wp.zeros(1, dtype=float)
    with pytest.raises(wp.KernelError, match="# in a function") as found:
        wp.launch(one_query, 1, [0, out])
    assert found.value.file == __file__ and "these calls share" not in str(found.value)


@pytest.mark.cpu
def test_queries_that_share_a_function_are_all_told():
    out, mesh = wp.zeros(1, dtype=float), structures()["a mesh"]
    wp.launch(two_queries, 1, [mesh.id, mesh.id, out])
    with pytest.raises(wp.KernelError, match="# the first") as found:
        wp.launch(two_queries, 1, [mesh.id, 0, out])
    assert f"or {__file__}:{found.value.line + 1}: these calls share a function" in str(found.value)


def test_a_volume_of_other_values_is_told_with_their_type():
    volume, out = wp.Volume.allocate([0, 0, 0], [7, 7, 7], 1.0, bg_value=0), wp.zeros(1, dtype=float)
    with pytest.raises(wp.KernelError, match=r"has values of another type \(int32\) than the kernel asks for"):
        wp.launch(voxel, 1, [volume.id, out])


def test_a_structure_outlives_the_names_of_modules(monkeypatch):
    """Python clears the names of modules when it ends. A structure that goes after that says nothing."""
    kept = structures()
    monkeypatch.setattr(descriptors, "sys", None)
    monkeypatch.setattr(capture, "sys", None)
    graphs = capture._Graphs()
    kept.clear()
    del graphs
    gc.collect()
