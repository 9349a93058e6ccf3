"""The forward simulations of the gallery, run small, against float64 NumPy, SciPy and values in closed form."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.cluster.vq import kmeans2
from scipy.ndimage import map_coordinates

import omni.warp_core as wp

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

import alignment
import cloth
import cloud
import dam_break
import kmeans
import path_tracing
import shallow_water
import smoke
import tomography


class TestShallowWater:
    @staticmethod
    def numpy_step(state, depth, dt, spacing):
        """The same scheme in float64: speeds at the sides first, then upwind flows of the new speeds."""
        elevation, speeds = state[0], []
        change = np.zeros_like(elevation)
        for axis, speed in enumerate(state[1:]):
            low, high = [slice(None)] * 2, [slice(None)] * 2
            low[axis], high[axis] = slice(None, -1), slice(1, None)
            low, high = tuple(low), tuple(high)
            open_depth = np.minimum(depth[low], depth[high])
            new = speed.copy()
            new[high] -= dt / spacing * shallow_water.GRAVITY * (elevation[high] - elevation[low])
            new[high] = np.where(open_depth > 0.0, new[high], 0.0)
            flow = new[high] * (open_depth + np.where(new[high] > 0.0, elevation[low], elevation[high]))
            change[low] -= dt / spacing * flow
            change[high] += dt / spacing * flow
            speeds.append(new)
        return [elevation + change, *speeds]

    def test_steps_are_those_of_numpy(self):
        rng = np.random.default_rng(0)
        depth, elevation = rng.uniform(-1.0, 4.0, (40, 33)), rng.uniform(-0.2, 0.2, (40, 33))
        sea = shallow_water.Sea(depth, elevation, spacing=2.0)
        depth = sea.depth.numpy().astype(float)
        state = [sea.now.elevation.numpy().astype(float), np.zeros_like(depth), np.zeros_like(depth)]
        for _ in range(25):
            sea.step()
            state = self.numpy_step(state, depth, sea.dt, 2.0)
        assert np.abs(state[0]).max() > 0.05 and (depth <= 0.0).mean() > 0.1
        for found, expected in zip((sea.now.elevation, sea.now.v, sea.now.u), state):
            assert np.abs(found.numpy() - expected).max() < 2e-6

    def test_volume_stays(self):
        sea = shallow_water.Sea(*shallow_water.archipelago(96), spacing=5000.0)
        before = sea.now.elevation.numpy().sum(dtype=float)
        moved = np.abs(sea.now.elevation.numpy()).sum(dtype=float)
        for _ in range(300):
            sea.step()
        assert abs(sea.now.elevation.numpy().sum(dtype=float) - before) < 1e-6 * moved

    def test_a_standing_wave_has_the_period_of_theory(self):
        cells, depth = 130, 80.0
        mode = np.cos(np.pi * (np.arange(cells) - 0.5) / (cells - 2)) * np.ones((8, 1))
        sea = shallow_water.Sea(np.full((8, cells), depth), 0.01 * mode, spacing=10.0)
        period = 2.0 * 10.0 * (cells - 2) / np.sqrt(shallow_water.GRAVITY * depth)
        amplitude = [0.01]
        while len(amplitude) * sea.dt < 3.0 * period:
            sea.step()
            amplitude.append(float((sea.now.elevation.numpy() * mode)[1:-1, 1:-1].mean() * 2.0))
        amplitude = np.array(amplitude)
        (turns,) = np.nonzero(np.diff(np.sign(amplitude)))
        crossings = turns + amplitude[turns] / (amplitude[turns] - amplitude[turns + 1])
        assert len(crossings) == 6
        assert np.diff(crossings) * sea.dt == pytest.approx(np.full(5, period / 2.0), rel=1e-3)
        assert np.abs(amplitude[-len(amplitude) // 3 :]).max() == pytest.approx(0.01, rel=0.02)


NEIGHBOURS = [(a, b) for a in range(-2, 3) for b in range(-2, 3) if a * a + b * b in (1, 2, 4)]
FREE = {"gravity": wp.vec3(0.0), "radius": 0.0}


class TestCloth:
    @classmethod
    def springs(cls, x):
        """For each offset the particles that have such a neighbour, the neighbours, and the offset's length."""
        rows, columns = x.shape[:2]
        for a, b in NEIGHBOURS:
            here = slice(max(-a, 0), rows - max(a, 0)), slice(max(-b, 0), columns - max(b, 0))
            there = slice(max(a, 0), rows + min(a, 0)), slice(max(b, 0), columns + min(b, 0))
            yield here, there, np.hypot(a, b)

    @classmethod
    def numpy_step(cls, x, v, p):
        force = np.broadcast_to(np.array(p.gravity, float), x.shape).copy()
        for here, there, scale in cls.springs(x):
            dx, dv = x[there] - x[here], v[there] - v[here]
            length = np.linalg.norm(dx, axis=-1, keepdims=True)
            along = (dv * dx).sum(-1, keepdims=True) / length
            force[here] += (p.stiffness * (length - p.rest * scale) + p.damping * along) * dx / length
        v = v + p.dt * force
        x = x + p.dt * v
        away = x - np.array(p.ball, float)
        distance = np.linalg.norm(away, axis=-1, keepdims=True)
        n = away / distance
        normal = (v * n).sum(-1, keepdims=True)
        tangent = v - normal * n
        push = np.maximum(-normal, 0.0)
        grip = np.minimum(p.friction * push / (np.linalg.norm(tangent, axis=-1, keepdims=True) + 1e-9), 1.0)
        touches = distance < p.radius
        return (
            np.where(touches, np.array(p.ball, float) + p.radius * n, x),
            np.where(touches, v + push * n - grip * tangent, v),
        )

    @classmethod
    def energy(cls, c):
        """Kinetic energy and that of the springs, by the mass of a particle."""
        x, v, p = c.x.numpy().astype(float), c.v.numpy().astype(float), c.physics
        total = 0.5 * (v * v).sum()
        for here, there, scale in cls.springs(x):
            stretch = np.linalg.norm(x[there] - x[here], axis=-1) - p.rest * scale
            total += 0.25 * p.stiffness * (stretch**2).sum()  # both ends have the spring
        return total

    @staticmethod
    def shaken(side, **changes):
        c = cloth.Cloth(side, **changes)
        rng = np.random.default_rng(3)
        c.x.assign(c.x.numpy() + 0.1 * c.physics.rest * rng.normal(size=(side, side, 3)))
        c.v.assign(rng.normal(size=(side, side, 3)))
        return c

    def test_steps_are_those_of_numpy(self):
        c = self.shaken(20)
        c.x.assign(c.x.numpy() - np.array([0.0, 0.06, 0.0], np.float32))  # some particles reach the ball
        x, v = c.x.numpy().astype(float), c.v.numpy().astype(float)
        contacts = 0
        for _ in range(30):
            c.step()
            x, v = self.numpy_step(x, v, c.physics)
            distance = np.linalg.norm(x - np.array(c.physics.ball, float), axis=-1)
            contacts += np.isclose(distance, c.physics.radius, rtol=1e-12).sum()
        assert contacts > 10
        assert np.abs(c.x.numpy() - x).max() < 1e-5
        assert np.abs(c.v.numpy() - v).max() < 2e-3

    def test_springs_keep_momentum_and_angular_momentum(self):
        c = self.shaken(24, **FREE)
        x, v = c.x.numpy().astype(float), c.v.numpy().astype(float)
        for _ in range(200):
            c.step()
        after_x, after_v = c.x.numpy().astype(float), c.v.numpy().astype(float)
        assert np.abs(after_v - v).max() > 0.5
        assert np.abs(after_v.sum((0, 1)) - v.sum((0, 1))).max() < 1e-5 * np.abs(v).sum()
        spin, after = (np.cross(a, b).sum((0, 1)) for a, b in ((x, v), (after_x, after_v)))
        assert np.abs(after - spin).max() < 1e-5 * np.abs(np.cross(x, v)).sum()

    def test_a_flat_cloth_is_at_rest(self):
        c = cloth.Cloth(24, **FREE)
        x = c.x.numpy().copy()
        for _ in range(200):
            c.step()
        assert np.abs(c.x.numpy() - x).max() < 1e-5

    def test_energy_falls(self):
        c = self.shaken(24, **FREE)
        energies = [self.energy(c)]
        for _ in range(40):
            for _ in range(10):
                c.step()
            energies.append(self.energy(c))
        assert all(after < 1.001 * before for before, after in pairwise(energies))
        assert energies[-1] < 0.5 * energies[0]

    def test_the_cloth_hangs_on_the_ball_and_hardly_stretches(self, tmp_path):
        c = cloth.main(str(tmp_path / "cloth.jpg"), side=32, frames=60)
        x = c.x.numpy().astype(float)
        assert np.linalg.norm(x - np.array(cloth.BALL), axis=-1).min() > cloth.RADIUS - 1e-5
        assert x[16, 16, 1] == pytest.approx(cloth.BALL.y + cloth.RADIUS, abs=0.02)
        assert x[..., 1].min() < cloth.BALL.y
        for axis in (0, 1):
            strain = np.linalg.norm(np.diff(x, axis=axis), axis=-1) / c.physics.rest - 1.0
            assert np.abs(strain).mean() < 0.02 and strain.max() < 0.12


class TestDamBreak:
    @staticmethod
    def shaken(**changes):
        water = dam_break.Water(0.06, **changes)
        rng = np.random.default_rng(5)
        water.x.assign(
            (water.x.numpy() + 0.012 * rng.normal(size=(water.x.size, 3))).clip(0.01, np.array(dam_break.COLUMN) - 0.01)
        )
        water.v.assign(rng.normal(size=(water.x.size, 3)))
        return water

    @staticmethod
    def numpy_step(x, v, p):
        """The same scheme in float64, over all pairs of particles, and of particles and images in walls."""
        n = len(x)
        images, speeds = [x], [v]
        for axis in range(3):
            for wall in (p.low[axis], p.high[axis]):
                flip = np.where(np.arange(3) == axis, -1.0, 1.0)
                images.append(x * flip + np.where(np.arange(3) == axis, 2.0 * wall, 0.0))
                speeds.append(v * flip)
        dx, dv = x[:, None] - np.concatenate(images), v[:, None] - np.concatenate(speeds)
        s = np.minimum(np.linalg.norm(dx, axis=-1) / p.support, 1.0)
        density = p.mass * (21.0 / (2.0 * np.pi * p.support**3) * (1.0 - s) ** 4 * (1.0 + 4.0 * s)).sum(1)
        ratio = np.maximum(density / 1000.0, 1.0)
        push = p.sound**2 * 1000.0 / 7.0 * (ratio**7 - 1.0) / density**2
        h = 0.5 * p.support
        nearness = h * np.minimum((dx * dv).sum(-1), 0.0) / ((dx * dx).sum(-1) + 0.01 * h * h)
        friction = -p.viscosity * p.sound * nearness / (0.5 * (density[:, None] + np.tile(density, 7)))
        slope = -210.0 / (np.pi * p.support**5) * (1.0 - s) ** 3
        force = -p.mass * ((push[:, None] + np.tile(push, 7) + friction) * slope)[..., None] * dx
        v = v + p.dt * (force.sum(1) + np.array([0.0, -p.gravity, 0.0]))
        x = x + p.dt * v
        low, high = np.array(p.low, float), np.array(p.high, float)
        assert dx.shape == (n, 7 * n, 3)
        return np.clip(x, low, high), np.where((x < low) | (x > high), 0.0, v), density

    def test_steps_are_those_of_numpy(self):
        water = self.shaken()
        x, v = water.x.numpy().astype(float), water.v.numpy().astype(float)
        for _ in range(5):
            x, v, density = self.numpy_step(x, v, water.fluid)
            water.step()
            assert np.abs(water.density.numpy() / density - 1.0).max() < 1e-5
        assert np.abs(water.x.numpy() - x).max() < 1e-6
        assert np.abs(water.v.numpy() - v).max() < 1e-3 * np.abs(v).max()

    def test_forces_keep_momentum(self):
        far = wp.vec3(1e3)
        water = self.shaken(gravity=0.0, low=-far, high=far)
        before = water.v.numpy().astype(float)
        for _ in range(20):
            water.step()
        after = water.v.numpy().astype(float)
        assert np.abs(after - before).max() > 0.5
        assert np.abs(after.sum(0) - before.sum(0)).max() < 1e-5 * np.abs(before).sum()

    def test_graphs_of_two_steps_are_two_steps(self):
        one, two = self.shaken(), self.shaken()
        for _ in range(3):
            one.step(), one.step(), two.two_steps()
        assert np.array_equal(one.x.numpy(), two.x.numpy()) and np.array_equal(one.v.numpy(), two.v.numpy())

    def test_the_column_collapses(self):
        """The front needs longer than that of Ritter's theory, which begins at its final speed."""
        water = dam_break.Water(0.06)
        energy = [self.energy(water)]
        while water.x.numpy()[:, 0].max() < dam_break.TANK[0] - 0.04:  # until the front meets the wall
            for _ in range(25):
                water.two_steps()
            energy.append(self.energy(water))
            assert len(energy) < 30
        seconds = 50 * (len(energy) - 1) * water.fluid.dt
        ritter = (dam_break.TANK[0] - dam_break.COLUMN[0]) / (2.0 * np.sqrt(dam_break.GRAVITY * dam_break.COLUMN[1]))
        assert ritter < seconds < 3.0 * ritter
        low, high = (np.array(corner) for corner in (water.fluid.low, water.fluid.high))
        x = water.x.numpy()
        assert (x >= low).all() and (x <= high).all()
        assert all(after < 1.01 * before for before, after in pairwise(energy))
        assert x[:, 1].max() < dam_break.COLUMN[1]
        water.measure()
        assert np.quantile(water.density.numpy(), 0.9) < 1.02 * dam_break.REST_DENSITY

    @staticmethod
    def energy(water):
        """Kinetic and potential energy, by the mass of a particle."""
        return 0.5 * (water.v.numpy() ** 2).sum() + dam_break.GRAVITY * water.x.numpy()[:, 1].sum()


@wp.func
def ball(p: wp.vec3):
    return wp.length(p) - 1.0, 0


@wp.func
def ball_on_floor(p: wp.vec3):
    return wp.min(wp.length(p) - 1.0, p.y + 1.0), 0


@wp.func
def lamp_over_floor(p: wp.vec3):
    lamp = wp.length(p - wp.vec3(0.0, 2.0, 0.0)) - 0.8
    if lamp < p.y:
        return lamp, 1
    return p.y, 0


class TestPathTracing:
    BLACK, WHITE = wp.vec3(0.0), wp.vec3(1.0)

    @staticmethod
    def view(eye, target, focus, horizon, zenith):
        direction = wp.normalize(wp.vec3(*np.subtract(target, eye)))
        turn = wp.quat_between_vectors(wp.vec3(0.0, 0.0, -1.0), direction)
        return path_tracing.View(wp.vec3(*eye), turn, focus, horizon, zenith)

    def test_a_grey_ball_under_a_white_sky_has_its_albedo(self):
        """The white furnace: every path from a convex body reaches the sky after one surface."""
        view = self.view((0.0, 0.0, 4.0), (0.0, 0.0, 0.0), 1.0, self.WHITE, self.WHITE)
        grey = path_tracing.Material(wp.vec3(0.6, 0.3, 0.1), self.BLACK, 0.0)
        light = path_tracing.render(path_tracing.tracer(ball), view, [grey], (48, 48), 8)
        assert light[24, 24] == pytest.approx([0.6, 0.3, 0.1], rel=1e-5)
        assert light[0, 0] == pytest.approx([1.0, 1.0, 1.0], rel=1e-6)
        parts = (1.0 - light) / (1.0 - np.array([0.6, 0.3, 0.1]))  # how much of a pixel the ball covers
        assert np.ptp(parts, axis=-1).max() < 1e-5 and parts.min() > -1e-6 and parts.max() < 1.0 + 1e-5
        covered = np.pi * (48.0 / np.sqrt(15.0)) ** 2  # a ball of radius 1 at distance 4 has the tangent 1 / sqrt(15)
        assert parts[..., 0].sum() == pytest.approx(covered, rel=0.01)

    def test_white_surfaces_under_a_white_sky_disappear(self):
        view = self.view((0.0, 1.0, 4.0), (0.0, 0.0, 0.0), 1.0, self.WHITE, self.WHITE)
        white = path_tracing.Material(self.WHITE, self.BLACK, 0.0)
        light = path_tracing.render(path_tracing.tracer(ball_on_floor), view, [white], (32, 32), 32)
        assert light.max() <= 1.0 + 1e-6
        assert light.mean() > 0.995  # a few paths end between the ball and the floor after the last bounce

    @pytest.mark.parametrize("offset", [0.0, 1.0, 2.5])
    def test_a_lamp_lights_the_floor_as_computed(self, offset):
        """A ball of radiance L that subtends the half angle a lights a floor of albedo r with r L sin(a)² cos(tilt)."""
        view = self.view((offset + 3.0, 1.0, 2.0), (offset, 0.0, 0.0), 200.0, self.BLACK, self.BLACK)
        floor = path_tracing.Material(wp.vec3(0.5, 0.8, 1.0), self.BLACK, 0.0)
        lamp = path_tracing.Material(self.BLACK, wp.vec3(3.0, 2.0, 1.0), 0.0)
        light = path_tracing.render(path_tracing.tracer(lamp_over_floor), view, [floor, lamp], (64, 64), 64)
        squared = offset**2 + 4.0
        part = 0.8**2 / squared * 2.0 / np.sqrt(squared)
        error = np.sqrt(part / (64 * 64 * 64))  # standard deviation of a mean of hits
        assert light.mean((0, 1)) == pytest.approx(part * np.array([1.5, 1.6, 1.0]), abs=5.0 * 1.6 * error)

    def test_a_mirror_shows_the_sky(self):
        eye = np.array([0.0, 3.0, 4.0])
        view = self.view(eye, (0.0, 0.0, 0.0), 500.0, wp.vec3(1.0, 0.5, 0.0), wp.vec3(0.0, 0.0, 2.0))
        mirror = path_tracing.Material(wp.vec3(0.9), self.BLACK, 1.0)
        light = path_tracing.render(path_tracing.tracer(ball), view, [mirror], (9, 9), 4)
        up = 3.0 / 5.0  # the ray that meets the ball at a right angle comes back
        assert light[4, 4] == pytest.approx(0.9 * np.array([1.0 - up, 0.5 * (1.0 - up), 2.0 * up]), rel=0.02)


class TestCloud:
    def test_the_cloud_is_in_its_box_and_has_a_flat_base(self):
        volume = cloud.cloud(48)
        places = volume.get_voxels().numpy()
        density = np.array([wp.volume_lookup_f(volume.id, *map(int, place)) for place in places[::29]])
        y = places[::29, 1] * cloud.SIZE[0] / 48
        assert density.min() >= 0.0 and density.max() == 1.0
        assert (density[y < 0.3] == 0.0).all() and (density[(y > 0.9) & (y < 1.5)] > 0.0).mean() > 0.1
        dense = 48**3 * cloud.SIZE[1] * cloud.SIZE[2] / cloud.SIZE[0] ** 2
        assert volume.get_voxel_count() < 0.8 * dense, "blocks without a density are left out"


class TestTomography:
    def test_shadows_are_those_of_the_interpolated_voxels(self):
        volume, n = tomography.hidden_cloud(16), 16
        dense = volume.values.numpy().reshape(2, 2, 2, 8, 8, 8)
        order = volume.get_tiles().numpy() // 8
        dense = dense.reshape(8, 8, 8, 8)[np.lexsort(order.T[::-1])].reshape(2, 2, 2, 8, 8, 8)
        dense = dense.transpose(0, 3, 1, 4, 2, 5).reshape(n, n, n).astype(float)
        angle, step = 0.3, tomography.EXTENT / 32
        found = tomography.shadows(volume, np.array([angle]), n).numpy()[0]
        at = (np.arange(n) + 0.5) * tomography.EXTENT / n - 0.5 * tomography.EXTENT
        away = (np.arange(32) + 0.5) * step - 0.5 * tomography.EXTENT
        y, x, z = np.meshgrid(-at, at, away, indexing="ij")
        turned = np.stack([np.cos(angle) * x + np.sin(angle) * z, y, np.cos(angle) * z - np.sin(angle) * x])
        index = (turned + 0.5 * tomography.EXTENT) * n / tomography.EXTENT - 0.5
        depth = map_coordinates(dense, index, order=1, mode="grid-constant").sum(axis=2) * step
        assert np.allclose(found, np.exp(-depth), atol=1e-4)

    def test_the_cloud_is_found(self):
        angles = np.pi * np.arange(6) / 6
        hidden = tomography.hidden_cloud(16)
        found, losses = tomography.fit(tomography.shadows(hidden, angles, 16), angles, 16, 30)
        assert losses[-1] < 0.01 * losses[0]
        unseen = [tomography.shadows(v, np.array([0.2]), 16).numpy() for v in (hidden, found)]
        assert np.abs(unseen[1] - unseen[0]).mean() < 0.02 < np.abs(1.0 - unseen[0]).mean()


class TestAlignment:
    def test_a_moved_picture_is_that_of_scipy(self):
        picture, (angle, growth, right, down) = alignment.painted(), alignment.HIDDEN
        y, x = (np.indices(picture.shape) + 0.5) / alignment.SIZE - 0.5
        x, y = np.exp(growth) * x, np.exp(growth) * y
        rows = (np.sin(angle) * x + np.cos(angle) * y + 0.5 + down) * alignment.SIZE - 0.5
        columns = (np.cos(angle) * x - np.sin(angle) * y + 0.5 + right) * alignment.SIZE - 0.5
        wanted = map_coordinates(picture.astype(float), [rows, columns], order=1, mode="grid-constant")
        assert np.allclose(alignment.moved(picture, np.array(alignment.HIDDEN)), wanted, atol=1e-4)

    def test_the_warp_is_found(self):
        picture, hidden = alignment.painted(), np.array([0.2, -0.05, 0.04, 0.02])
        found, losses = alignment.align(alignment.moved(picture, hidden), picture)
        assert np.allclose(found, hidden, atol=0.003) and losses[-1] < 0.01 * losses[0]


class TestSmoke:
    CELLS = (16, 24, 12)

    @classmethod
    def stirred(cls, **changes):
        fire = smoke.Fire(cls.CELLS, lift=0.0, swirl=0.0, decay=0.0, source_radius=1e-6, **changes)
        rng = np.random.default_rng(6)
        fire.v.assign(rng.normal(size=(*cls.CELLS, 3)))
        fire.smoke.assign(rng.uniform(size=(*cls.CELLS, 2)))
        return fire

    @classmethod
    def air(cls, room):
        """Which cells are air, with a border of one cell around the room."""
        centres = np.moveaxis(np.indices(np.array(cls.CELLS) + 2), 0, -1) - 0.5
        air = np.linalg.norm(centres - np.array(room.ball, float), axis=-1) > room.ball_radius
        air[[0, -1]] = air[:, 0] = air[:, :, [0, -1]] = False
        return air

    @staticmethod
    def outflow(v):
        """The divergence of each cell; walls have no speed, and the upper end that of the cell below."""
        total = -v.sum(-1)
        total[:-1] += v[1:, ..., 0]
        total[:, :-1] += v[:, 1:, :, 1]
        total[:, -1] += v[:, -1, :, 1]
        total[:, :, :-1] += v[:, :, 1:, 2]
        return total

    def test_the_projected_air_has_no_divergence_and_passes_no_wall(self):
        fire = self.stirred()
        wp.launch(smoke.push, self.CELLS, [fire.v, fire.smoke, fire.rotation, fire.room, fire._v])
        fire.v, fire._v = fire._v, fire.v
        air = self.air(fire.room)
        inner = air[1:-1, 1:-1, 1:-1]
        before = np.abs(self.outflow(fire.v.numpy().astype(float))[inner][:]).max()
        fire.make_incompressible(400)
        v = fire.v.numpy().astype(float)
        below = inner.copy()
        below[:, -1] = False  # the upper end is open
        assert before > 3.0 and np.abs(self.outflow(v)[below]).max() < 1e-4 * before
        for axis in range(3):
            beside = np.roll(air, 1, axis)[1:-1, 1:-1, 1:-1]
            assert (v[..., axis][~(inner & beside)] == 0.0).all()
        assert (~inner).sum() > 10

    def test_smoke_moves_with_the_air(self):
        """A whole step in float64 by SciPy, without the ball: back along a constant wind, and the correction."""
        fire = self.stirred(ball_radius=0.0)
        wind, values = np.array([11.0, -7.0, 5.0]), fire.smoke.numpy().astype(float)
        fire.v.assign(np.broadcast_to(wind, (*self.CELLS, 3)))
        wp.launch(smoke.advect_smoke, self.CELLS, [fire.v, fire.smoke, fire.room, fire._moved])
        places = np.indices(self.CELLS).astype(float)
        before = places - (wind * fire.room.dt)[:, None, None, None]
        for channel in range(2):
            expected = map_coordinates(values[..., channel], before, order=1, mode="nearest")
            assert np.abs(fire._moved.numpy()[..., channel] - expected).max() < 1e-3
        wp.launch(smoke.correct_smoke, self.CELLS, [fire.v, fire.smoke, fire._moved, fire.room, 0.0, fire._smoke])
        after = places + (wind * fire.room.dt)[:, None, None, None]
        moved = fire._moved.numpy().astype(float)[..., 0]
        guess = moved + 0.5 * (values[..., 0] - map_coordinates(moved, after, order=1, mode="nearest"))
        low = np.floor(np.clip(before, 0, np.array(self.CELLS)[:, None, None, None] - 1.001)).astype(int)
        corners = [values[..., 0][tuple(low + np.array(c)[:, None, None, None])] for c in np.ndindex(2, 2, 2)]
        expected = np.clip(guess, np.min(corners, 0), np.max(corners, 0))
        error = np.abs(fire._smoke.numpy()[..., 0] - expected)
        assert np.quantile(error, 0.99) < 2e-3  # elsewhere a sample is at the border of two cells

    def test_hot_smoke_rises_and_goes_around_the_ball(self):
        fire = smoke.Fire((24, 40, 24))
        heights = []
        for _ in range(6):
            for _ in range(16):
                fire.step()
            density = fire.smoke.numpy()[..., 0].astype(float)
            heights.append((density * np.arange(40)[:, None]).sum() / density.sum())
        assert all(after > before for before, after in pairwise(heights)) and heights[-1] > 2.0 * heights[0]
        above = int(fire.room.ball[1] + fire.room.ball_radius) + 1
        assert density[:, above:].max() > 0.3
        centres = np.moveaxis(np.indices(density.shape), 0, -1) + 0.5
        inside = np.linalg.norm(centres - np.array(fire.room.ball, float), axis=-1) < fire.room.ball_radius
        assert (density[inside] == 0.0).all() and 0.9 < density.max() < 1.4 and density.min() >= 0.0


@pytest.fixture(scope="module")
def points():
    return kmeans.stars(30_000)


class TestKMeans:
    def test_labels_and_sums_are_those_of_numpy(self, points):
        k = kmeans.KMeans(points, 24)
        inertia = k.label()
        x, centroids = points.numpy().astype(float), k.centroids.numpy().astype(float)
        squared = ((x[:, None] - centroids) ** 2).sum(-1)
        least = np.sort(squared, axis=1)
        clear = least[:, 1] - least[:, 0] > 1e-6
        labels = k.labels.numpy()
        assert clear.mean() > 0.999
        assert np.array_equal(labels[clear], squared.argmin(1)[clear])
        assert inertia == pytest.approx(least[:, 0].sum(), rel=1e-6)
        k.move()
        means = np.stack([np.bincount(labels, w) for w in x.T], -1) / np.bincount(labels)[:, None]
        assert np.abs(k.centroids.numpy() - means).max() < 1e-6

    def test_iterations_are_those_of_scipy(self, points):
        k = kmeans.KMeans(points, 16)
        first = k.centroids.numpy().astype(float)
        for _ in range(8):
            k.label()
            k.move()
        expected, _ = kmeans2(points.numpy().astype(float), first, iter=8, minit="matrix")
        assert np.abs(expected - first).max() > 0.05
        assert np.abs(k.centroids.numpy() - expected).max() < 1e-5

    def test_inertia_falls(self, points):
        k = kmeans.KMeans(points, 32)
        inertias = []
        for _ in range(30):
            inertias.append(k.label())
            k.move()
        assert all(after <= before * (1.0 + 1e-6) for before, after in pairwise(inertias))
        assert inertias[-1] < 0.7 * inertias[0]

    def test_a_cluster_without_points_stays(self):
        points = wp.array([[0.0, 0.0], [5.0, 0.0], [0.0, 1.0]], dtype=wp.vec2)
        k = kmeans.KMeans(points, 2)
        k.centroids.assign([[0.0, 0.0], [100.0, 0.0]])
        k.label()
        k.move()
        assert k.centroids.numpy() == pytest.approx(np.array([[5.0 / 3.0, 1.0 / 3.0], [100.0, 0.0]]))


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        (shallow_water, [128]),
        (cloth, [16, 3]),
        (dam_break, [0.1, 3]),
        (path_tracing, [(40, 64), 2]),
        (kmeans, [20_000, 3]),
        (cloud, [64]),
        (smoke, [(24, 40, 24), 3]),
        (tomography, [16, 4, 3]),
    ],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_pictures(program, arguments, tmp_path):
    file = tmp_path / "picture.png"
    program.main(str(file), *arguments)
    assert 2_000 < file.stat().st_size < 1_000_000
