"""Volumes that moving boxes sweep, against the distance to a box in float64, and volumes that are known."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import omni.warp_core as wp
from tests.geometry import scenes
from tests.geometry.surfaces import check_closed, euler, volume

geo = wp.geometry
Mode = geo.SweptVolumeSignMode


def box(half=(1.0, 1.0, 1.0), device=None) -> wp.Mesh:
    points, faces = scenes.box()
    return wp.Mesh(
        wp.array(points * half, dtype=wp.vec3, device=device), wp.array(faces.ravel(), dtype=int, device=device)
    )


def poses(shape, seed=1) -> np.ndarray:
    """Random positions and rotations, of shape (meshes, times, 7)."""
    rng = np.random.default_rng(seed)
    q = Rotation.random(int(np.prod(shape)), random_state=seed).as_quat().reshape(*shape, 4)
    return np.concatenate([rng.uniform(-1, 1, (*shape, 3)), q], -1)


def along_x(n, distance=1.0) -> np.ndarray:
    found = np.zeros((1, n, 7))
    found[..., 6], found[0, :, 0] = 1.0, np.linspace(0.0, distance, n)
    return found


def distance(points, pose, half) -> np.ndarray:
    """The signed distance of points to a box in a pose."""
    local = np.abs(Rotation.from_quat(pose[3:]).inv().apply(points - pose[:3])) - half
    return np.linalg.norm(np.maximum(local, 0), axis=1) + np.minimum(local.max(1), 0)


def swept_distance(points, all_poses, halves, signed=True) -> np.ndarray:
    found = [distance(points, pose, half) for half, ps in zip(halves, all_poses, strict=True) for pose in ps]
    return np.min(found if signed else np.abs(found), axis=0)


def nodes(shape, lower, upper) -> np.ndarray:
    axes = [np.linspace(a, b, n) for a, b, n in zip(lower, upper, shape, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)


HALVES = ((0.6, 0.4, 0.5), (0.3, 0.8, 0.2))


# -- fields ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", Mode)
def test_fields_are_distances_to_all_poses(mode, device):
    moving, where = [box(half, device) for half in HALVES], poses((2, 3))
    field, lower, upper = geo.swept_volume_field(moving, where, resolution=(9, 8, 7), sign_mode=mode, device=device)
    assert field.shape == (9, 8, 7) and field.device == wp.get_device(device)
    expected = swept_distance(nodes(field.shape, lower, upper), where, HALVES, mode != Mode.NO_SIGN)
    assert (expected < 0).any() == (mode != Mode.NO_SIGN)
    assert np.allclose(field.numpy().ravel(), expected, atol=2e-6)


def test_poses_are_arrays_of_transforms_or_of_numbers():
    moving, where = [box(HALVES[0])], poses((1, 2), 3)
    given = wp.array(where, dtype=wp.transform), wp.array(where, dtype=float), where.tolist()
    fields = [geo.swept_volume_field(moving, p, resolution=(4, 5, 6))[0].numpy() for p in given]
    assert np.array_equal(fields[0], fields[1]) and np.allclose(fields[0], fields[2], atol=2e-6)
    by_number = geo.swept_volume_field(moving, where, resolution=(4, 5, 6), sign_mode=1)[0].numpy()
    assert np.array_equal(fields[2], by_number)


def test_bounds_contain_all_poses():
    moving, where = [box(half) for half in HALVES], poses((2, 5), 4)
    lower, upper = (np.array(c) for c in geo.swept_volume_bounds(moving, where, padding=0.25))
    corners = scenes.box()[0].astype(float)
    placed = [
        Rotation.from_quat(pose[3:]).apply(corners * half) + pose[:3]
        for half, ps in zip(HALVES, where, strict=True)
        for pose in ps
    ]
    assert np.allclose(lower, np.min(placed, (0, 1)) - 0.25, atol=1e-6)
    assert np.allclose(upper, np.max(placed, (0, 1)) + 0.25, atol=1e-6)


@pytest.mark.parametrize("width", [0.1, 0.3, 0.7])
def test_cells_have_the_width_that_was_asked_for(width):
    field, lower, upper = geo.swept_volume_field([box((0.5, 0.5, 0.5))], along_x(2), voxel_size=width)
    lower, upper, cells = np.array(lower), np.array(upper), np.array(field.shape) - 1
    assert np.allclose((upper - lower) / cells, width)
    least, greatest = np.full(3, -0.5), np.array([1.5, 0.5, 0.5])
    assert (lower <= least - 2 * width + 1e-6).all() and (lower > least - 2.51 * width).all()
    assert np.allclose(lower + upper, least + greatest, atol=1e-6)


def test_default_corners_leave_room_around_the_poses():
    field, lower, upper = geo.swept_volume_field([box((0.5, 0.5, 0.5))], along_x(2), resolution=(11, 6, 9))
    assert np.allclose(lower, [-0.9, -0.9, -0.75]) and np.allclose(upper, [1.9, 0.9, 0.75])
    outer = field.numpy()
    outer[1:-1, 1:-1, 1:-1] = 1.0
    assert outer.min() > 0.2
    given = geo.swept_volume_field([box()], along_x(2), resolution=(3, 4, 5), lower=(0, 1, 2), upper=(6, 7, 8))
    assert list(given[1]) == [0, 1, 2] and list(given[2]) == [6, 7, 8]


# -- surfaces ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [0.0, 0.2])
def test_a_box_that_slides_sweeps_a_longer_box(threshold, device):
    """What its surface at a distance r encloses is the box, and its faces, edges and corners grown by r.

    Cells of width 0.1 cut off less than a triangle with such legs along the edges.
    """
    vertices, indices = geo.swept_volume_mesh(
        [box((0.51, 0.49, 0.5), device)], along_x(9), voxel_size=0.1, threshold=threshold, device=device
    )
    vertices, triangles = vertices.numpy(), indices.numpy().reshape(-1, 3)
    check_closed(vertices, triangles)
    assert euler(vertices, triangles) == 2
    a, b, c, r = 2.02, 0.98, 1.0, threshold
    exact = a * b * c + 2 * r * (a * b + b * c + c * a) + np.pi * r * r * (a + b + c) + 4 / 3 * np.pi * r**3
    assert exact - 0.5 * 0.1**2 * 4 * (a + b + c) < volume(vertices, triangles) < exact
    assert np.abs(distance(vertices, np.array([0.5, 0, 0, 0, 0, 0, 1.0]), (a / 2, b / 2, c / 2)) - r).max() < 0.05


def test_far_poses_have_surfaces_of_their_own():
    found = geo.swept_volume_mesh(
        [box((0.5, 0.5, 0.5))], along_x(2, 3.0), resolution=(41, 15, 15), sign_mode=Mode.PARITY
    )
    vertices, triangles = found[0].numpy(), found[1].numpy().reshape(-1, 3)
    check_closed(vertices, triangles)
    assert euler(vertices, triangles) == 4


def test_without_signs_there_are_two_surfaces():
    found = geo.swept_volume_mesh([box()], along_x(1), voxel_size=0.19, threshold=0.4, sign_mode=Mode.NO_SIGN)
    assert euler(found[0].numpy(), found[1].numpy().reshape(-1, 3)) == 4
    assert geo.swept_volume_mesh([box()], along_x(1), voxel_size=0.5, sign_mode=Mode.NO_SIGN)[0].size == 0


# -- in kernels --------------------------------------------------------------------------------------------------------


@wp.kernel
def measure(
    p: wp.array(dtype=wp.vec3),
    ids: wp.array(dtype=wp.uint64),
    where: wp.array2d(dtype=wp.transform),
    max_dist: float,
    mode: int,
    d: wp.array(dtype=float),
):
    i = wp.tid()
    d[i] = geo.swept_volume_sdf(p[i], ids, where, max_dist, mode)


def test_a_graph_measures_poses_as_they_are(device):
    moving = [box(half, device) for half in HALVES]
    ids = wp.array([m.id for m in moving], dtype=wp.uint64, device=device)
    p = np.random.default_rng(5).uniform(-2, 2, (40, 3)).astype(np.float32)
    points, where = wp.array(p, dtype=wp.vec3, device=device), wp.zeros((2, 3), dtype=wp.transform, device=device)
    d = wp.zeros(40, dtype=float, device=device)
    with wp.ScopedCapture(device=device) as captured:
        wp.launch(measure, dim=40, inputs=[points, ids, where, 100.0, int(Mode.PARITY), d], device=device)
    for seed in (6, 7):
        given = poses((2, 3), seed)
        where.assign(given)
        wp.capture_launch(captured.graph)
        assert np.allclose(d.numpy(), swept_distance(p, given, HALVES), atol=2e-6)


def test_no_distance_is_greater_than_the_greatest():
    mesh = box()
    arrays = wp.array([(0, 0, 0), (0.9, 0, 0), (5, 0, 0)], dtype=wp.vec3), wp.array([mesh.id], dtype=wp.uint64)
    d = wp.zeros(3, dtype=float)
    wp.launch(measure, dim=3, inputs=[*arrays, wp.array(along_x(1), dtype=wp.transform), 0.5, 0, d])
    assert np.allclose(d.numpy(), [0.5, -0.1, 0.5])


# -- derivatives -------------------------------------------------------------------------------------------------------


def test_distances_have_gradients_of_points_and_poses():
    moving, given = [box(half) for half in HALVES], poses((2, 3), 8)
    p = np.random.default_rng(9).uniform(-2, 2, (30, 3))
    points = wp.array(p, dtype=wp.vec3, requires_grad=True)
    where = wp.array(given, dtype=wp.transform, requires_grad=True)
    ids, d = wp.array([m.id for m in moving], dtype=wp.uint64), wp.zeros(30, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(measure, dim=30, inputs=[points, ids, where, 100.0, int(Mode.PARITY), d])
    weights = np.random.default_rng(10).normal(size=30)
    tape.backward(grads={d: wp.array(weights, dtype=float)})
    h = 1e-6
    for axis in range(3):
        step = h * np.eye(3)[axis]
        both = [swept_distance(p + s * step, given, HALVES) for s in (1, -1)]
        assert np.allclose(points.grad.numpy()[:, axis], weights * (both[0] - both[1]) / (2 * h), atol=1e-4)
    turns = [[Rotation.from_rotvec(h * s * e) for s in (1, -1)] for e in np.eye(3)]
    for m, s in np.ndindex(2, 3):
        gradient = where.grad.numpy()[m, s]
        for axis in range(3):
            ends, quaternions = [], []
            for turn in turns[axis]:
                moved = given.copy()
                moved[m, s, 3:] = (turn * Rotation.from_quat(given[m, s, 3:])).as_quat()
                moved[m, s, 3:] *= np.sign(moved[m, s, 3:] @ given[m, s, 3:])
                quaternions.append(moved[m, s, 3:])
                ends.append(weights @ swept_distance(p, moved, HALVES))
            along = gradient[3:] @ (quaternions[0] - quaternions[1])
            assert along / (2 * h) == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-3, abs=1e-3)
            moved = [given.copy(), given.copy()]
            moved[0][m, s, axis] += h
            moved[1][m, s, axis] -= h
            ends = [weights @ swept_distance(p, x, HALVES) for x in moved]
            assert gradient[axis] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-3, abs=1e-3)


def test_surfaces_follow_poses():
    given, bounds = along_x(1), {"resolution": (13, 12, 11), "lower": (-2, -2, -2), "upper": (2, 2.1, 2.2)}
    where, mesh = wp.array(given, dtype=wp.transform, requires_grad=True), box((1.07, 1.03, 0.97))
    with wp.Tape() as tape:
        vertices, _ = geo.swept_volume_mesh([mesh], where, **bounds, sign_mode=Mode.NORMAL)
    tape.backward(grads={vertices: wp.full(vertices.size, wp.vec3(1.0, 0.0, 0.0))})
    ends = []
    for h in (1e-3, -1e-3):
        moved = given.copy()
        moved[0, 0, 0] += h
        ends.append(geo.swept_volume_mesh([mesh], moved, **bounds, sign_mode=Mode.NORMAL)[0].numpy().astype(float))
    difference = (ends[0] - ends[1])[:, 0].sum() / 2e-3
    assert where.grad.numpy()[0, 0, 0] == pytest.approx(difference, rel=1e-2) and difference > 40


def test_gradients_that_would_be_lost_are_refused():
    where = wp.array(along_x(2), dtype=wp.transform, requires_grad=True)
    with pytest.raises(RuntimeError, match="default corners depend on the transforms, which require gradients"):
        geo.swept_volume_field([box()], where, voxel_size=0.5)
    points, faces = scenes.box()
    mesh = wp.Mesh(wp.array(points, dtype=wp.vec3, requires_grad=True), wp.array(faces.ravel(), dtype=int))
    with pytest.raises(RuntimeError, match="gradient"), wp.Tape():
        geo.swept_volume_field([mesh], where, resolution=(3, 3, 3), lower=(0, 0, 0), upper=(1, 1, 1))


# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda m: geo.swept_volume_field([], along_x(1), 0.5), ValueError, "meshes: expected at least one"),
        (lambda m: geo.swept_volume_field([7], along_x(1), 0.5), TypeError, "meshes: expected wp.Mesh, got int"),
        (lambda m: geo.swept_volume_field([m, m], along_x(1), 0.5), ValueError, r"\(2, times, 7\) .* got \(1, 1, 7\)"),
        (lambda m: geo.swept_volume_field([m], along_x(0), 0.5), ValueError, r"got \(1, 0, 7\)"),
        (lambda m: geo.swept_volume_field([m], 2 * along_x(2), 0.5), ValueError, "mesh 0 at time 0 has length 2; exp"),
        (lambda m: geo.swept_volume_field([m], np.nan * along_x(2), 0.5), ValueError, "expected finite numbers"),
        (lambda m: geo.swept_volume_field([m], "poses", 0.5), TypeError, "transforms: expected numbers, got str"),
        (lambda m: geo.swept_volume_field([m], along_x(1)), ValueError, "voxel_size, resolution: expected one"),
        (lambda m: geo.swept_volume_field([m], along_x(1), -1.0), ValueError, "voxel_size: expected a positive"),
        (lambda m: geo.swept_volume_field([m], along_x(1), 1e-6), ValueError, "more nodes than the limit"),
        (
            lambda m: geo.swept_volume_field([m], along_x(1), 0.5, lower=(0, 0, 0), upper=(1, 1, 1)),
            ValueError,
            "do not fit between given corners; pass resolution",
        ),
        (
            lambda m: geo.swept_volume_field([m], along_x(1), resolution=(3, 3, 3), lower=(0, 0, 0)),
            ValueError,
            "lower, upper: expected both or none",
        ),
        (
            lambda m: geo.swept_volume_field([m], along_x(1), resolution=(3, 1, 3)),
            ValueError,
            r"resolution: expected three numbers of nodes, at least two each, got \(3, 1, 3\)",
        ),
        (lambda m: geo.swept_volume_field([m], along_x(1), 0.5, sign_mode=9), ValueError, "9 is not a valid Swept"),
        (lambda m: geo.swept_volume_mesh([m], along_x(1), 0.5, threshold=np.inf), ValueError, "threshold: expected"),
        (lambda m: geo.swept_volume_bounds([m], along_x(1), np.nan), ValueError, "padding: expected a finite"),
    ],
)
def test_wrong_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call(box())


def test_a_capture_refuses_what_looks_at_poses():
    mesh = box()
    for call in (geo.swept_volume_bounds, geo.swept_volume_field, geo.swept_volume_mesh):
        with pytest.raises(RuntimeError, match=r"wp\.geometry\.swept_volume_.* while a graph"), wp.ScopedCapture():
            call([mesh], along_x(1), 0.5)
