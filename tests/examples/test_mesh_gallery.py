"""The examples of meshes and hash grids, run small, against float64 NumPy and values in closed form."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import omni.warp_core as wp

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

import drum
import granular_column
import mesh_cloth
import mesh_raycast
import shapes


@pytest.mark.parametrize(
    ("shape", "volume", "euler"),
    [
        (shapes.sphere(2.0, 48), 4.0 / 3.0 * np.pi * 8.0, 2),
        (shapes.tube(shapes.circle(1.0, 200), 0.3, 60), 2.0 * np.pi**2 * 0.3**2, 0),
        (shapes.tube(shapes.trefoil(400), 0.1, 60), None, 0),
    ],
    ids=["sphere", "ring", "knot"],
)
def test_shapes_are_closed_and_face_outwards(shape, volume, euler):
    points, triangles = shape
    sides = Counter((int(t[i]), int(t[i - 1])) for t in triangles for i in range(3))
    assert set(sides.values()) == {1} and all((b, a) in sides for a, b in sides)
    assert len(points) - len(triangles) // 2 == euler
    a, b, c = np.moveaxis(points[triangles], 1, 0)
    length = np.linalg.norm(np.diff(shapes.trefoil(400), axis=0, append=shapes.trefoil(400)[:1]), axis=1).sum()
    assert (a * np.cross(b, c)).sum() / 6.0 == pytest.approx(volume or np.pi * 0.1**2 * length, rel=0.01)


def nearest_hit(points, triangles, start, toward):
    """Return the distances of hits and the faces, for each ray, over all triangles; infinite and -1 for a miss."""
    a, b, c = np.moveaxis(points[triangles], 1, 0)
    e, f = b - a, c - a
    p = np.cross(toward[:, None], f)
    scale = (e * p).sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        away = (start[:, None] - a) / scale[..., None]
        u, q = (away * p).sum(-1), np.cross(away, e)
        v, t = (toward[:, None] * q).sum(-1), (f * q).sum(-1)
        t = np.where((u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (t > 1e-6), t, np.inf)
    face = t.argmin(1)
    t = t[np.arange(len(t)), face]
    return t, np.where(np.isfinite(t), face, -1)


class TestMeshRaycast:
    LIGHT = mesh_raycast.Light(wp.normalize(wp.vec3(0.3, 1.0, 0.2)), 0.0, wp.vec3(2.0), wp.vec3(0.0), wp.vec3(0.0))
    SIZE = 40

    def rays(self, camera):
        """The rays through the middles of pixels, in float64."""
        middle = (np.arange(self.SIZE) + 0.5) / self.SIZE - 0.5
        y, x = np.meshgrid(-middle, middle, indexing="ij")
        toward = np.stack([x, y, np.full_like(x, -camera.focus)], -1).reshape(-1, 3)
        axis, w = np.array(camera.turn[:3], float), float(camera.turn[3])
        toward = toward + 2.0 * np.cross(axis, np.cross(axis, toward) + w * toward)
        return np.array(camera.eye, float), toward / np.linalg.norm(toward, axis=1, keepdims=True)

    def test_light_and_shadow_are_those_of_numpy(self):
        """A black ball over a floor: all that is seen is the sunlight on the floor, where the ball does not hide it."""
        parts = [shapes.floor(20.0), shapes.moved(shapes.sphere(0.6, 10), (0.2, 1.0, 0.0))]
        grey, black = (mesh_raycast.Material(wp.vec3(albedo), 0.0) for albedo in (0.5, 0.0))
        camera = mesh_raycast.look((2.0, 3.0, 4.0), (0.0, 0.5, 0.0), 1.2, blur=0.0)
        picture = mesh_raycast.World(parts, [grey, black]).render(self.LIGHT, camera, (self.SIZE, self.SIZE), 1)
        points, triangles, part = shapes.joined(parts)
        eye, toward = self.rays(camera)
        t, face = nearest_hit(points, triangles, np.broadcast_to(eye, toward.shape), toward)
        sun = np.array(self.LIGHT.toward, float)
        lit, _ = nearest_hit(
            points, triangles, eye + t[:, None] * toward * (1.0 - 1e-6), np.broadcast_to(sun, toward.shape)
        )
        expected = np.where((face >= 0) & (part[face] == 0) & np.isinf(lit), 0.5 * 2.0 * sun[1], 0.0)
        wrong = np.abs(picture.reshape(-1, 3) - expected[:, None]).max(1) > 1e-5
        assert wrong.mean() < 0.005  # a ray along an edge may pass on either side
        assert 0.3 < (expected > 0.0).mean() < 0.9 and ((expected == 0.0) & (part[face] == 0)).any()

    def test_normals_are_smooth(self):
        """The light on a ball of few faces is that of a ball, and not of its faces."""
        grey = mesh_raycast.Material(wp.vec3(1.0), 0.0)
        camera = mesh_raycast.look((0.0, 1.0, 4.0), (0.0, 0.0, 0.0), 2.0, blur=0.0)
        picture = mesh_raycast.World([shapes.sphere(1.0, 24)], [grey]).render(
            self.LIGHT, camera, (self.SIZE, self.SIZE), 1
        )
        eye, toward = self.rays(camera)
        along = -(toward @ eye)
        inside = along**2 - (eye @ eye - 1.0)
        n = eye + (along - np.sqrt(np.maximum(inside, 0.0)))[:, None] * toward
        slope = n @ np.array(self.LIGHT.toward, float)
        clear = (inside > 0.1) & (slope > 0.15)
        assert clear.sum() > 400
        assert np.abs(picture.reshape(-1, 3)[clear, 0] - 2.0 * slope[clear]).max() < 0.03

    def test_a_mirror_shows_the_sky(self):
        mirror = mesh_raycast.Material(wp.vec3(0.9), 1.0)
        sky = mesh_raycast.Light(
            wp.vec3(0.0, 1.0, 0.0), 0.0, wp.vec3(0.0), wp.vec3(1.0, 0.5, 0.0), wp.vec3(0.0, 0.0, 2.0)
        )
        camera = mesh_raycast.look((0.0, 2.0, 1.0), (0.0, 0.0, 0.0), 1.5, blur=0.0)
        picture = mesh_raycast.World([shapes.floor(50.0)], [mirror]).render(sky, camera, (self.SIZE, self.SIZE), 1)
        _, toward = self.rays(camera)
        up = -toward[:, 1:2]
        assert (
            np.abs(picture.reshape(-1, 3) - 0.9 * np.concatenate([1.0 - up, 0.5 * (1.0 - up), 2.0 * up], 1)).max()
            < 1e-5
        )


class TestMeshCloth:
    ROWS, RADIUS = 24, 0.4

    def fallen(self, rate, steps):
        drape = mesh_cloth.Drape(shapes.sphere(self.RADIUS, self.ROWS), 24, rate)
        for _ in range(steps):
            drape.step()
        return drape, drape.x.numpy().astype(float), drape.v.numpy().astype(float)

    def test_the_cloth_lies_on_the_mesh(self):
        drape, x, _ = self.fallen(0.0, 700)
        distance = np.linalg.norm(x, axis=-1)
        flat = self.RADIUS * np.cos(np.pi / self.ROWS) ** 2  # no face is nearer to the middle
        assert distance.min() > flat + drape.contact.thickness - 1e-4
        assert distance[12, 12] == pytest.approx(self.RADIUS + drape.contact.thickness, abs=0.01)
        assert x[..., 1].min() < -0.2  # the corners hang down

    def test_friction_winds_the_cloth_up(self):
        """After a while the cloth turns about as fast as the ball that it lies on."""
        rate = 1.5
        _, x, v = self.fallen(rate, 1000)
        spin = (x[..., 2] * v[..., 0] - x[..., 0] * v[..., 2]).sum() / (x[..., 0] ** 2 + x[..., 2] ** 2).sum()
        assert spin == pytest.approx(rate, rel=0.2)

    def test_points_turn_and_the_tree_follows(self):
        drape = mesh_cloth.Drape(mesh_cloth.knot(60, 8), 4, 3.0)
        for _ in range(10):
            drape.step()
        angle = 30.0 * drape.physics.dt
        turned = mesh_cloth.knot(60, 8)[0] @ np.array(
            [(np.cos(angle), 0.0, -np.sin(angle)), (0.0, 1.0, 0.0), (np.sin(angle), 0.0, np.cos(angle))]
        )
        assert np.abs(drape.mesh.points.numpy() - turned).max() < 1e-5
        outside = turned[7] + (turned[7] - turned.reshape(8, 60, 3)[:, 7].mean(0))
        near = wp.mesh_query_point_no_sign(drape.mesh.id, wp.vec3(*outside), 1.0)
        assert drape.mesh.indices.numpy().reshape(-1, 3)[near.face].tolist().count(7) == 1


class TestDrum:
    @staticmethod
    def shaken(**changes):
        d = drum.Drum(0.04, **changes)
        rng = np.random.default_rng(2)
        d.x.assign(d.x.numpy() + 0.006 * rng.normal(size=(d.x.size, 3)))
        d.v.assign(rng.normal(size=(d.x.size, 3)))
        return d

    @staticmethod
    def contact(overlap, n, slip, friction, p):
        along = (slip * n).sum(-1, keepdims=True)
        push = np.maximum(p.stiffness * overlap[..., None] - p.damping * along, 0.0)
        sideways = slip - along * n
        grip = np.minimum(p.sliding, friction * push / (np.linalg.norm(sideways, axis=-1, keepdims=True) + 1e-9))
        return np.where(overlap[..., None] > 0.0, push * n - grip * sideways, 0.0)

    @classmethod
    def numpy_step(cls, x, v, p):
        """The same scheme in float64, over all pairs of grains."""
        away, slip = x[:, None] - x, v[:, None] - v
        distance = np.linalg.norm(away, axis=-1)
        overlap = 2.0 * p.radius - distance
        np.fill_diagonal(overlap, -1.0)
        force = cls.contact(overlap, away / (distance + 1e-9)[..., None], slip, p.friction, p).sum(1)
        out = np.hypot(x[:, 0], x[:, 1])
        inwards = -x * (1.0, 1.0, 0.0) / out[:, None]
        carried = p.spin * p.drum * np.stack([inwards[:, 1], -inwards[:, 0], 0.0 * out], -1)
        force += cls.contact(out + p.radius - p.drum, inwards, v - carried, p.friction, p)
        for side, overlap in ((1.0, p.radius - x[:, 2]), (-1.0, x[:, 2] + p.radius - p.depth)):
            force += cls.contact(overlap, np.broadcast_to((0.0, 0.0, side), x.shape), v, 0.0, p)
        v = v + p.dt * (force + np.array(p.gravity, float))
        return x + p.dt * v, v

    def test_steps_are_those_of_numpy(self):
        d = self.shaken(spin=3.0)
        x, v = d.x.numpy().astype(float), d.v.numpy().astype(float)
        for _ in range(5):
            x, v = self.numpy_step(x, v, d.sand)
            d.step()
        assert np.abs(d.x.numpy() - x).max() < 1e-5
        assert np.abs(d.v.numpy() - v).max() < 2e-3

    def test_contacts_keep_momentum(self):
        d = self.shaken(gravity=wp.vec3(0.0), drum=1e3, depth=1e3)
        d.x.assign(d.x.numpy() + np.array([0.0, 0.0, 1.0], np.float32))
        before = d.v.numpy().astype(float)
        for _ in range(20):
            d.step()
        after = d.v.numpy().astype(float)
        assert np.abs(after - before).max() > 0.5
        assert np.abs(after.sum(0) - before.sum(0)).max() < 1e-5 * np.abs(before).sum()

    @staticmethod
    def energy(d):
        """Kinetic energy, and that of heights and contacts, by the mass of a grain."""
        x, v, p = d.x.numpy().astype(float), d.v.numpy().astype(float), d.sand
        pairs = 2.0 * p.radius - np.linalg.norm(x[:, None] - x, axis=-1)[np.triu_indices(len(x), 1)]
        walls = [np.hypot(x[:, 0], x[:, 1]) + p.radius - p.drum, p.radius - x[:, 2], x[:, 2] + p.radius - p.depth]
        overlap = np.maximum(np.concatenate([pairs, *walls]), 0.0)
        return 0.5 * (v * v).sum() + 9.81 * x[:, 1].sum() + 0.5 * p.stiffness * (overlap**2).sum()

    def test_energy_falls_in_a_drum_at_rest(self):
        d = self.shaken(spin=0.0)
        energies = [self.energy(d)]
        for _ in range(20):
            for _ in range(25):
                d.two_steps()
            energies.append(self.energy(d))
        falls = -np.diff(energies)
        assert falls.sum() > 10.0 and falls.min() > -1e-3 * falls.sum()
        x = d.x.numpy().astype(float)
        distance = np.linalg.norm(x[:, None] - x, axis=-1) + np.eye(len(x))
        assert distance.min() > 1.7 * d.sand.radius
        assert (np.hypot(x[:, 0], x[:, 1]) + 0.8 * d.sand.radius < drum.RADIUS).all()

    def test_a_turning_drum_lifts_the_grains(self):
        d = drum.Drum(0.04)
        for _ in range(round(1.5 / d.sand.dt) // 2):
            d.two_steps()
        x, y, z = d.x.numpy().astype(float).T
        assert x.mean() > 0.06 and y.mean() < -0.05
        assert np.hypot(x, y).max() < drum.RADIUS and z.min() > 0.0 and z.max() < drum.DEPTH


class TestGranularColumn:
    @staticmethod
    def shaken(**changes):
        heap = granular_column.Heap(granular_column.column(0.13, 0.15, 0.04), radius=0.02, **changes)
        rng = np.random.default_rng(4)
        heap.x.assign(heap.x.numpy() + 0.004 * rng.normal(size=(heap.x.size, 3)))
        heap.v.assign(rng.normal(size=(heap.x.size, 3)))
        heap.w.assign(20.0 * rng.normal(size=(heap.x.size, 3)))
        return heap

    @staticmethod
    def contact(n, overlap, slip, p):
        along = (slip * n).sum(-1, keepdims=True)
        push = np.maximum(p.stiffness * overlap[..., None] - p.damping * along, 0.0)
        sideways = slip - along * n
        speed = np.linalg.norm(sideways, axis=-1, keepdims=True)
        rub = np.minimum(p.friction * push, p.rubbing * speed) / np.maximum(speed, 1e-30)
        force = np.where(overlap[..., None] > 0.0, push * n - rub * sideways, 0.0)
        return force, -p.radius * np.cross(n, force)

    @classmethod
    def numpy_step(cls, x, v, w, p):
        """The same scheme in float64, over all pairs of balls."""
        away = x[:, None] - x
        distance = np.linalg.norm(away, axis=-1) + np.eye(len(x))
        n = away / distance[..., None]
        slip = v[:, None] - v - p.radius * np.cross(w[:, None] + w, n)
        force, torque = (a.sum(1) for a in cls.contact(n, 2.0 * p.radius - distance - np.eye(len(x)), slip, p))
        up = np.broadcast_to((0.0, 1.0, 0.0), x.shape)
        floor, turn = cls.contact(up, p.radius - x[:, 1], v - p.radius * np.cross(w, up), p)
        v = v + p.dt / p.mass * (force + floor - p.gravity * p.mass * up)
        return x + p.dt * v, v, w + p.dt / p.inertia * (torque + turn)

    @staticmethod
    def state(heap):
        return tuple(a.numpy().astype(float) for a in (heap.x, heap.v, heap.w))

    def test_steps_are_those_of_numpy(self):
        heap = self.shaken()
        expected = self.state(heap)
        for _ in range(5):
            expected = self.numpy_step(*expected, heap.grains)
            heap.step()
        for found, wanted, error in zip(self.state(heap), expected, (1e-5, 2e-3, 0.2)):
            assert np.abs(found - wanted).max() < error

    def test_contacts_keep_momentum_and_angular_momentum(self):
        heap = self.shaken(gravity=0.0)
        heap.x.assign(heap.x.numpy() + np.array([0.0, 1.0, 0.0], np.float32))
        p = heap.grains

        def momenta():
            x, v, w = self.state(heap)
            return p.mass * v, p.mass * np.cross(x - (0.0, 1.0, 0.0), v) + p.inertia * w

        before = momenta()
        for _ in range(20):
            heap.step()
        for a, b in zip(before, momenta()):
            assert np.abs(b - a).max() > 0.1 * np.abs(a).max()
            assert np.abs(b.sum(0) - a.sum(0)).max() < 1e-3 * np.abs(a).sum()

    def test_a_column_becomes_a_round_heap_whose_outer_balls_roll(self):
        heap = granular_column.Heap(granular_column.column(0.13, 0.3, 0.04), radius=0.02)
        began = heap.x.numpy().astype(float)
        for _ in range(round(1.5 / heap.grains.dt) // 2):
            heap.two_steps()
        x, v, w = self.state(heap)
        assert x[:, 1].min() > 0.9 * heap.grains.radius
        assert x[:, 1].mean() < 0.5 * began[:, 1].mean()
        out = np.hypot(x[:, 0], x[:, 2])
        assert 1.5 * np.hypot(began[:, 0], began[:, 2]).mean() < out.mean()
        assert np.abs(x[:, [0, 2]].mean(0)).max() < 0.15 * out.mean()
        distance = np.linalg.norm(x[:, None] - x, axis=-1) + np.eye(len(x))
        alone = distance.min(0) > 2.05 * heap.grains.radius
        slip = v - heap.grains.radius * np.cross(w, (0.0, 1.0, 0.0))  # at the floor
        assert alone.sum() > 100 and np.quantile(np.abs(slip[alone]).max(1), 0.95) < 1e-4 * np.abs(v[alone]).max()


@pytest.mark.parametrize(
    ("program", "arguments"),
    [(mesh_raycast, [(40, 64), 2]), (mesh_cloth, [16, 2]), (drum, [0.04, 3]), (granular_column, [0.02, 3])],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_pictures(program, arguments, tmp_path):
    file = tmp_path / "picture.png"
    program.main(str(file), *arguments)
    assert 2_000 < file.stat().st_size < 1_000_000
