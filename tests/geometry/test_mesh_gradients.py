"""Gradients and tangents of queries of meshes, against differences of the same geometry in float64.

The judge knows the face that a query found, and computes the closest point or the hit on it from the equations of a
triangle. Places where the two one-sided differences disagree lie next to an edge, where there is no derivative.
"""

from __future__ import annotations

import gc

import numpy as np
import pytest

import omni.warp_core as wp
from tests.geometry.scenes import distances_to_each, hit_by_all, soup, sphere

pytestmark = pytest.mark.cpu


def round_mesh():
    """A sphere without the triangles at its poles that have no area."""
    points, faces = sphere(4, 6)
    a, b, c = (points[faces[:, k]] for k in range(3))
    return points, faces[np.linalg.norm(np.cross(b - a, c - a), axis=1) > 1e-6]


SCENES = {"soup": lambda: soup(20, seed=5), "sphere": round_mesh}
COUNT = 40
FLAVOUR = np.array([0.7, -0.4, 1.1])  # of positions and vectors in the sums below


@wp.struct
class Holder:
    mesh: wp.uint64


@wp.func
def blend(x: wp.vec3):
    return wp.dot(x, wp.vec3(0.7, -0.4, 1.1))


@wp.func
def near_values(mesh: wp.uint64, p: wp.vec3):
    total = 0.0
    near = wp.mesh_query_point(mesh, p, 100.0)
    if near.result:
        place = wp.mesh_eval_position(mesh, near.face, near.u, near.v)
        total = blend(place) + 0.5 * near.u - 2.0 * near.v * near.v + 3.0 * wp.length(place - p)
    return total


@wp.kernel
def closest(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), face: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    face[i] = wp.mesh_query_point_no_sign(mesh, p[i], 100.0).face
    out[i] = near_values(mesh, p[i])


@wp.kernel
def hits(
    mesh: wp.uint64,
    p: wp.array(dtype=wp.vec3),
    d: wp.array(dtype=wp.vec3),
    face: wp.array(dtype=int),
    out: wp.array(dtype=float),
):
    i = wp.tid()
    hit = wp.mesh_query_ray(mesh, p[i], d[i], 100.0)
    face[i] = hit.face
    if hit.result:
        out[i] = hit.t + 0.5 * hit.u - 2.0 * hit.v * hit.v + blend(hit.normal) * hit.t
        out[i] += blend(wp.mesh_eval_position(mesh, hit.face, hit.u, hit.v))
        out[i] += blend(wp.mesh_eval_velocity(mesh, hit.face, hit.u, hit.v))


@wp.kernel
def corners(mesh: wp.uint64, weights: wp.array(dtype=wp.vec2), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = blend(wp.mesh_eval_position(mesh, i, weights[i][0], weights[i][1]))
    out[i] += blend(wp.mesh_eval_velocity(mesh, i, weights[i][0], weights[i][1])) * wp.mesh_get_point(mesh, 3 * i)[1]
    out[i] += blend(wp.mesh_eval_face_normal(mesh, i)) * wp.mesh_get_velocity(mesh, 3 * i + 2)[0]


@wp.kernel
def closest_of_array(ids: wp.array(dtype=wp.uint64), p: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = near_values(ids[0], p[i])


@wp.kernel
def closest_of_struct(holder: Holder, p: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = near_values(holder.mesh, p[i])


# -- the judge ---------------------------------------------------------------------------------------------------------


def weights_of_nearest(p, a, b, c):
    """The weights of the points of triangles that are closest to points: the best of plane, edges and corners."""
    corner = np.stack([a, b, c], 1)
    best, least = np.zeros((len(p), 3)), np.full(len(p), np.inf)

    def take(weights):
        distance = np.linalg.norm((weights[..., None] * corner).sum(1) - p, axis=1)
        better = (weights >= 0).all(1) & (distance < least)
        best[better], least[better] = weights[better], distance[better]

    e, f, r = a - c, b - c, p - c
    gram = np.stack([np.stack([(e * e).sum(1), (e * f).sum(1)], 1), np.stack([(e * f).sum(1), (f * f).sum(1)], 1)], 1)
    uv = np.linalg.solve(gram, np.stack([(e * r).sum(1), (f * r).sum(1)], 1)[..., None])[..., 0]
    take(np.stack([uv[:, 0], uv[:, 1], 1 - uv.sum(1)], 1))
    for i, j in ((0, 1), (1, 2), (2, 0)):
        edge = corner[:, i] - corner[:, j]
        share = np.clip(((p - corner[:, j]) * edge).sum(1) / (edge * edge).sum(1), 0, 1)
        weights = np.zeros((len(p), 3))
        weights[:, i], weights[:, j] = share, 1 - share
        take(weights)
    return best


def unit(v):
    return v / np.linalg.norm(v, axis=1, keepdims=True)


def exact_closest(state, faces, found):
    a, b, c = (state["points"][faces[found, k]] for k in range(3))
    w = weights_of_nearest(state["p"], a, b, c)
    place = w[:, :1] * a + w[:, 1:2] * b + w[:, 2:] * c
    distance = np.linalg.norm(place - state["p"], axis=1)
    return place @ FLAVOUR + 0.5 * w[:, 0] - 2 * w[:, 1] ** 2 + 3 * distance


def exact_hits(state, faces, found):
    a, b, c = (state["points"][faces[found, k]] for k in range(3))
    x, y, z = (state["velocities"][faces[found, k]] for k in range(3))
    system = np.stack([a - c, b - c, -state["d"]], -1)
    u, v, t = np.linalg.solve(system, (state["p"] - c)[..., None])[..., 0].T
    normal = unit(np.cross(b - a, c - a))
    place, speed = (np.stack([u, v, 1 - u - v], 1)[..., None] * np.stack(q, 1) for q in ((a, b, c), (x, y, z)))
    out = t + 0.5 * u - 2 * v**2 + normal @ FLAVOUR * t + place.sum(1) @ FLAVOUR + speed.sum(1) @ FLAVOUR
    return np.where(found < 0, 0.0, out)


def exact_corners(state, faces, found):
    a, b, c = (state["points"][faces[:, k]] for k in range(3))
    x, y, z = (state["velocities"][faces[:, k]] for k in range(3))
    u, v = (state["weights"][:, k : k + 1] for k in range(2))
    place, speed = a * u + b * v + c * (1 - u - v), x * u + y * v + z * (1 - u - v)
    normal = unit(np.cross(b - a, c - a))
    return place @ FLAVOUR + speed @ FLAVOUR * a[:, 1] + normal @ FLAVOUR * z[:, 0]


def two_sided(right, left):
    """The mean of two one-sided derivatives; NaN where they differ."""
    return np.where(np.abs(right - left) < 1e-2 * (1 + np.abs(right)), (right + left) / 2, np.nan)


def slopes(f, state, name, h=1e-7):
    """The derivatives of each result by each number of an array; NaN where the two sides differ."""
    base, found = f(state), []
    for place in np.ndindex(state[name].shape):
        ends = []
        for step in (h, -h):
            moved = {**state, name: state[name].copy()}
            moved[name][place] += step
            ends.append((f(moved) - base) / step)
        found.append(two_sided(*ends))
    return np.array(found).reshape(*state[name].shape, len(base))


class Case:
    """A kernel, a mesh, and arguments with gradients; `exact` are the results in float64."""

    def __init__(self, name, scene):
        self.kernel, exact = {"closest": (closest, exact_closest), "hits": (hits, exact_hits)}.get(
            name, (corners, exact_corners)
        )
        points, self.faces = SCENES[scene]()
        rng = np.random.default_rng(3)
        count = len(self.faces) if name == "corners" else COUNT
        aim = points[self.faces[rng.integers(len(self.faces), size=count)]].mean(1)
        p = aim + rng.normal(size=(count, 3)) * 0.8
        made = {"points": points, "velocities": rng.normal(size=points.shape), "p": p, "d": (aim - p) * 0.7}
        self.state = {k: np.float32(v) for k, v in made.items()}
        self.names = {"closest": ["p"], "hits": ["p", "d"], "corners": ["weights"]}[name]
        if name == "corners":
            self.state["weights"] = np.float32(rng.random((count, 2)))
        self.arrays = {k: given(v) for k, v in self.state.items()}
        self.mesh = wp.Mesh(
            self.arrays["points"],
            wp.array(self.faces.ravel(), dtype=int, device="cpu"),
            velocities=self.arrays["velocities"],
        )
        self.face = wp.zeros(count, dtype=int, device="cpu")
        self.out = wp.zeros(count, dtype=float, requires_grad=True, device="cpu")
        self.seed = np.float32(rng.normal(size=count))
        self.exact = lambda state: exact(state, self.faces, self.face.numpy())
        self.all_names = [*self.names, "points", *([] if name == "closest" else ["velocities"])]

    def launch(self):
        between = [] if self.kernel is corners else [self.face]
        args = [self.mesh.id, *(self.arrays[k] for k in self.names), *between, self.out]
        wp.launch(self.kernel, dim=len(self.out), inputs=args, device="cpu")

    def record(self):
        with wp.Tape() as tape:
            self.launch()
        return tape

    def doubles(self):
        return {k: v.astype(np.float64) for k, v in self.state.items()}

    def check(self, tape):
        """Compare gradients with differences. Weights of results without a derivative are zero."""
        by_result = {name: slopes(self.exact, self.doubles(), name) for name in self.all_names}
        smooth = ~np.any([np.isnan(s).reshape(-1, len(self.out)).any(0) for s in by_result.values()], axis=0)
        assert smooth.mean() > 0.9
        seed = np.where(smooth, self.seed, 0).astype(np.float32)
        tape.backward(grads={self.out: wp.array(seed, dtype=float, device="cpu")})
        for name, found in by_result.items():
            expected = np.nan_to_num(found) @ seed.astype(float)
            got = self.arrays[name].grad.numpy()
            assert np.abs(expected).max() > 0.1
            np.testing.assert_allclose(got, expected, rtol=2e-4, atol=3e-4 * np.abs(expected).max())


def given(x):
    dtype = {2: wp.vec2, 3: wp.vec3}[x.shape[1]]
    return wp.array(np.float32(x), dtype=dtype, requires_grad=True, device="cpu")


KERNELS = ["closest", "hits", "corners"]


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("name", KERNELS)
def test_gradients_are_those_of_the_geometry(name, scene):
    case = Case(name, scene)
    tape = case.record()
    np.testing.assert_allclose(case.out.numpy(), case.exact(case.doubles()), rtol=1e-4, atol=1e-4)
    points = case.state["points"]
    for i, f in enumerate(case.face.numpy() if name != "corners" else []):  # the judge's face is the right one
        p = case.state["p"][i].astype(float)
        if name == "hits":
            expected, margin = hit_by_all(points, case.faces, p, case.state["d"][i].astype(float))
            assert (f >= 0) == np.isfinite(expected) or margin < 1e-5
        else:
            distances = distances_to_each(points, case.faces, p)
            assert distances[f] == pytest.approx(distances.min(), rel=1e-5)
    case.check(tape)


# -- forward mode, and both --------------------------------------------------------------------------------------------


def directions(case):
    rng = np.random.default_rng(7)
    return {name: np.float32(rng.normal(size=case.state[name].shape)) for name in case.all_names}


def along(f, state, steps, h=1e-7):
    """The derivatives of results along a direction; NaN where the two sides differ."""
    ends = [(f({k: v + h * s * steps.get(k, 0) for k, v in state.items()}) - f(state)) / (h * s) for s in (1, -1)]
    return two_sided(*ends)


@pytest.mark.parametrize("name", KERNELS)
def test_tangents_are_those_of_the_geometry(name):
    case = Case(name, "sphere")
    steps = directions(case)

    def program(*arrays):
        case.launch()
        return case.out

    arrays = [case.arrays[k] for k in case.all_names]
    _, tangent = wp.jvp(program, tuple(arrays), tuple(given(steps[k]) for k in case.all_names))
    expected = along(case.exact, case.doubles(), steps)
    smooth = np.isfinite(expected)
    assert smooth.mean() > 0.9
    size = np.abs(expected[smooth]).max()
    np.testing.assert_allclose(tangent.numpy()[smooth], expected[smooth], rtol=3e-4, atol=1e-5 * size)


@pytest.mark.cpu
def test_tangents_of_arguments_alone_leave_the_mesh_as_it_is():
    case = Case("closest", "sphere")
    step = given(directions(case)["p"])
    (tangent,) = wp.jvp(
        closest, len(case.out), [case.mesh.id, case.arrays["p"], case.face], [case.out], [None, step, None, None]
    )
    expected = along(case.exact, case.doubles(), {"p": step.numpy()})
    smooth = np.isfinite(expected)
    np.testing.assert_allclose(tangent.numpy()[smooth], expected[smooth], rtol=3e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["closest", "hits"])
def test_second_derivatives(name):
    """A tape around forward mode gives the derivatives of the slope along a direction."""
    case = Case(name, "sphere")
    steps = directions(case)

    def program(*arrays):
        out = wp.zeros(COUNT, dtype=float, requires_grad=True, device="cpu")
        args = [case.mesh.id, *(case.arrays[k] for k in case.names), case.face, out]
        wp.launch(case.kernel, dim=COUNT, inputs=args, device="cpu")
        return out

    arrays = [case.arrays[k] for k in case.all_names]
    with wp.Tape() as tape:
        _, tangent = wp.jvp(program, tuple(arrays), tuple(given(steps[k]) for k in case.all_names))
    state, h = case.doubles(), 1e-4
    ends = [{k: v + h * s * steps.get(k, 0) for k, v in state.items()} for s in (1, -1)]
    for k in case.all_names:
        up, down = (slopes(case.exact, end, k) for end in ends)
        case.arrays[k].second = (up - down) / (2 * h)
    smooth = np.isfinite(sum(case.arrays[k].second.reshape(-1, COUNT).sum(0) for k in case.all_names))
    bound = np.max([np.abs(case.arrays[k].second).reshape(-1, COUNT).max(0) for k in case.all_names], axis=0)
    smooth &= bound < 1e3  # at a kink between the two ends, or a sliver
    assert smooth.mean() > 0.6
    tape.backward(grads={tangent: wp.array(np.float32(smooth), dtype=float, device="cpu")})
    for k in case.all_names:
        expected = np.nan_to_num(case.arrays[k].second)[..., smooth].sum(-1)
        np.testing.assert_allclose(case.arrays[k].grad.numpy(), expected, atol=2e-3 * np.abs(expected).max())


# -- meshes that change, and meshes that the tape does not see ---------------------------------------------------------


def write(case):
    case.mesh.points.assign(case.state["points"] * np.float32(3.0) + np.float32(0.5))


def refit(case):
    write(case)
    case.mesh.refit()


def replace(case):
    case.mesh.points = given(case.state["points"][::-1].copy())
    case.mesh.velocities = None


def lose(case):
    case.mesh = None
    gc.collect()


@pytest.mark.parametrize("change", [write, refit, replace, lose])
@pytest.mark.parametrize("name", ["closest", "hits"])
def test_a_tape_keeps_the_mesh_of_the_launch(name, change):
    case = Case(name, "sphere")
    tape = case.record()
    change(case)
    case.check(tape)


def test_each_launch_has_the_mesh_of_its_time():
    case, found = Case("closest", "sphere"), []
    outs = [wp.zeros(COUNT, dtype=float, requires_grad=True, device="cpu") for _ in range(2)]
    with wp.Tape() as tape:
        for out in outs:
            case.out = out
            case.launch()
            wp.copy(case.mesh.points, given(case.state["points"] * np.float32(1.5)))
            case.mesh.refit()
    for out in outs:
        tape.zero()
        tape.backward(grads={out: wp.array(case.seed, dtype=float, device="cpu")})
        found.append(case.arrays["p"].grad.numpy().copy())
    for scale, gradient in zip((1.0, 1.5), found):
        fresh = Case("closest", "sphere")
        fresh.mesh.points.assign(fresh.state["points"] * np.float32(scale))
        fresh.mesh.refit()
        fresh.record().backward(grads={fresh.out: wp.array(case.seed, dtype=float, device="cpu")})
        np.testing.assert_array_equal(gradient, fresh.arrays["p"].grad.numpy())
    assert np.abs(found[0] - found[1]).max() > 0.1


def ids_of(kernel, mesh):
    if kernel is closest_of_array:
        return wp.array([mesh.id], dtype=wp.uint64, device="cpu")
    holder = Holder()
    holder.mesh = mesh.id
    return holder


@pytest.mark.parametrize("kernel", [closest_of_array, closest_of_struct])
def test_hidden_ids_have_gradients_unless_points_have(kernel):
    gc.collect()  # meshes of other tests, whose points have gradients
    case = Case("closest", "sphere")

    def launch():
        wp.launch(kernel, dim=COUNT, inputs=[ids_of(kernel, case.mesh), case.arrays["p"], case.out], device="cpu")

    def record():
        with wp.Tape() as tape:
            launch()
        return tape

    with pytest.raises(RuntimeError, match=r"points of a wp.Mesh have a derivative.*Pass the id as an argument"):
        record()
    step = given(np.ones_like(case.state["points"]))
    with pytest.raises(RuntimeError, match="Pass the id as an argument"):
        wp.jvp(lambda points: launch(), (case.mesh.points,), (step,))
    case.record().backward(grads={case.out: wp.array(case.seed, dtype=float, device="cpu")})
    expected = case.arrays["p"].grad.numpy().copy()
    for a in (case.mesh.points, case.mesh.velocities):
        a.requires_grad = False
    case.arrays["p"].grad.zero_()
    tape = record()
    refit(case)
    tape.backward(grads={case.out: wp.array(case.seed, dtype=float, device="cpu")})
    np.testing.assert_allclose(case.arrays["p"].grad.numpy(), expected, rtol=1e-6)


def test_points_that_lost_their_gradient_on_the_way_are_reported():
    """Positions that a launch computes in an array without a gradient, which a mesh then refers to."""
    case = Case("closest", "sphere")
    case.mesh.points.requires_grad = False
    source = given(case.state["points"])
    made = wp.zeros(len(source), dtype=wp.vec3, device="cpu")
    mesh = wp.Mesh(made, case.mesh.indices)
    with wp.Tape() as tape:
        wp.launch(shift, dim=len(source), inputs=[source, made], device="cpu")
        mesh.refit()
        wp.launch(closest, dim=COUNT, inputs=[mesh.id, case.arrays["p"], case.face, case.out], device="cpu")
    with pytest.raises(RuntimeError, match="`mesh_points`"):
        tape.backward(grads={case.out: wp.array(case.seed, dtype=float, device="cpu")})


def test_late_gradients_of_points_are_refused():
    case = Case("closest", "sphere")
    for a in (case.mesh.points, case.mesh.velocities):
        a.requires_grad = False
    tape = case.record()
    case.mesh.points.requires_grad = True
    with pytest.raises(RuntimeError, match="got requires_grad after the launch"):
        tape.backward(grads={case.out: wp.array(case.seed, dtype=float, device="cpu")})


def test_writes_of_points_by_numpy_are_noticed():
    case = Case("closest", "sphere")
    seen = case.mesh.points.numpy()
    with wp.Tape() as tape:
        case.launch()
        seen[:] *= 2
        with pytest.raises(RuntimeError, match="changed"):
            case.launch()
    del tape


@wp.kernel
def shift(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    y[i] = x[i] + wp.vec3(0.1, 0.0, 0.0)
