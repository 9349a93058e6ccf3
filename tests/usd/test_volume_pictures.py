"""Pictures of volumes: rays against formulas and a plain march in float64, what is drawn, limits, files."""

import random
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from pxr import Gf, Sdf, Usd, UsdGeom

import omni.warp_core as wp
from omni.warp_core.usd.pictures import volume_kernels
from omni.warp_core.usd.pictures.camera import look_at
from omni.warp_core.usd.pictures.drawables import Gatherer
from omni.warp_core.usd.pictures.drawn_volumes import FOG, GLOW, LEVEL_SET, DrawnVolume, summary
from omni.warp_core.usd.pictures.preview import Request, preview
from omni.warp_core.usd.pictures.render import Renderer, _inputs, _lens
from omni.warp_core.usd.stage import READ_ERRORS, StageError
from omni.warp_core.usd.volume_fields import stage_of_volumes
from omni.warp_core.volumes.grid_header import relabeled
from omni.warp_core.volumes.grid_tree import read_grid
from omni.warp_core.volumes.vdb.vdb_writer import write_vdb
from tests.usd.test_mutated_stages import damage
from tests.volumes.expected_vdb import unpacked

UP = np.array([0.0, 1.0, 0.0])
FRONT = look_at(np.array([0.0, 0.0, 5.0]), np.zeros(3), UP, 1.0)
SIZE = 40
WHITE = np.ones(3)


def made(values, voxel_size, background=0.0):
    """A volume around the origin."""
    low = [-0.5 * voxel_size * (n - 1) for n in values.shape]
    return wp.Volume.load_from_numpy(values, low, voxel_size, background, device="cpu")


def ball(side=24, voxel_size=0.1, radius=0.8):
    places = (np.indices((side,) * 3) - (side - 1) / 2) * voxel_size
    return made(np.sqrt((places**2).sum(0)) - radius, voxel_size, 9.0)


def drawn(volume, token="", color=WHITE, opacity=1.0):
    grid = summary(volume, read_grid(volume.array().numpy()), token)
    return DrawnVolume(grid, grid.matrix, np.asarray(color), opacity)


def rays(size, view=FRONT):
    """Origins and directions of the rays of pixels, in float64."""
    y, x = (np.mgrid[:size, :size] + 0.5 - size / 2) / (size * view.scale)
    if not view.perspective:
        return view.eye + x[..., None] * view.right - y[..., None] * view.up, np.broadcast_to(
            view.forward, (*x.shape, 3)
        )
    directions = view.forward + x[..., None] * view.right - y[..., None] * view.up
    return np.broadcast_to(view.eye, directions.shape), directions / np.linalg.norm(directions, axis=-1, keepdims=True)


# -- level sets -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("perspective", [True, False])
def test_level_sets_are_where_their_formula_says(perspective):
    view = look_at(np.array([1.0, 2.0, 5.0]), np.zeros(3), UP, 1.0 if perspective else 0.4, perspective)
    volume, cells = drawn(ball()), np.zeros(SIZE * SIZE, np.uint64)
    assert volume.grid.kind == LEVEL_SET
    lens = _lens(view, (1.0, 9.0), SIZE, SIZE)
    wp.launch(volume_kernels.draw_level_set, (SIZE, SIZE), [*_inputs(volume, WHITE), lens, 0, 7, cells])
    origins, directions = rays(SIZE, view)
    along = (origins * directions).sum(-1)
    beside = (origins**2).sum(-1) - along**2
    hit = beside < 0.8**2
    depth = (-along - np.sqrt(np.maximum(0.8**2 - beside, 0.0))) * (directions @ view.forward)
    nearness = (cells >> np.uint64(32)).astype(float).reshape(SIZE, SIZE) / 2.0**32
    found = nearness > 0.0
    clear = np.abs(np.sqrt(beside) - 0.8) > 0.01  # a trilinear ball is a little smaller
    assert np.array_equal(found[clear], hit[clear]) and hit.sum() > 100
    inner = found & (beside < 0.75**2)
    where = 1.0 / nearness[inner] if perspective else 9.0 - 8.0 * nearness[inner]
    assert np.abs(where - depth[inner]).max() < 0.01
    assert set((cells & np.uint64(0xFFFFFFFF)).tolist()) == {0, 7}


def test_the_box_of_a_level_set_is_that_of_its_inside():
    grid = drawn(ball()).grid
    inside = (np.abs(np.array([grid.low, grid.high]) - 11.5) - 1.0) * 0.1
    assert np.allclose(inside, 0.75) and grid.blocks.min() == 1
    outside = made(np.ones((8, 8, 8)), 0.1, 9.0)
    with pytest.raises(ValueError, match="it has no voxels to draw"):
        summary(outside, read_grid(outside.array().numpy()), "levelSet")


def test_normals_and_shadows_of_level_sets():
    """Lit from the upper left; a floor below has a shadow on its right."""
    stage = Usd.Stage.CreateInMemory()
    floor = [(-3, -1, -3), (-3, -1, 3), (3, -1, 3), (3, -1, -3)]
    wp.usd.write_mesh(stage, "/Floor", floor, [0, 1, 2, 3], [4], colors=[(0.5, 0.5, 0.5)])
    view = look_at(np.array([0.0, 4.0, 6.0]), np.zeros(3), UP, 1.0)
    bare = Renderer(SIZE, SIZE, UP).draw(Gatherer(stage).at(Usd.TimeCode.Default()), view).astype(int)
    scene = Gatherer(stage).at(Usd.TimeCode.Default())
    scene.volumes = (drawn(ball()),)
    picture = Renderer(SIZE, SIZE, UP).draw(scene, view).astype(int)
    assert picture[16, 17].sum() > picture[22, 24].sum() + 100, "the upper left is lit"
    darker = (bare - picture).sum(-1) > 60
    right = np.nonzero(darker)[1].mean()
    assert 20 < darker.sum() < 400 and right > SIZE / 2 + 2


# -- fog --------------------------------------------------------------------------------------------------------------


def march(volume, lens, image, cells, nodes=None, light=None):
    counts = (3, 3, 3)
    nodes = np.zeros((*counts, 3), np.float32) if nodes is None else nodes
    spacing = wp.vec3(*((volume.grid.high - volume.grid.low) / (np.array(nodes.shape[:3]) - 1)).tolist())
    light = (
        _lens(look_at(np.array([3.0, 4.0, 2.0]), np.zeros(3), UP, 0.2, False), (1.0, 9.0), 8, 8)
        if light is None
        else light
    )
    inputs = [*_inputs(volume, WHITE), spacing, nodes, lens, light, wp.vec3(0.0, 1.0, 0.0), cells, 0, image]
    wp.launch(volume_kernels.march_fog, (SIZE, SIZE), inputs)
    return light


def test_fog_absorbs_light_as_beer_and_lambert_say():
    volume = drawn(made(np.full((64, 64, 64), 0.5), 0.05), "fogVolume", color=(0.0, 0.0, 0.0), opacity=0.15)
    view = look_at(np.array([0.0, 0.0, 5.0]), np.zeros(3), UP, 0.5, False)
    image, cells = np.ones((4 * SIZE * SIZE, 3), np.float32), np.zeros(4 * SIZE * SIZE, np.uint64)
    march(volume, _lens(view, (1.0, 9.0), 2 * SIZE, 2 * SIZE), image, cells)
    length = 63 * 0.05  # between the outermost voxels, and half of a voxel beyond each, where samples fall to 0
    expected = np.exp(-volume.extinction * 0.5 * (length + 0.05))
    found = image.reshape(2 * SIZE, 2 * SIZE, 3)[SIZE // 2 : -SIZE // 2, SIZE // 2 : -SIZE // 2]
    assert 0.01 < expected < 0.2 and np.abs(np.log(found / expected)).max() < 0.05


def trilinear(values, places):
    """Samples in float64 of an array with components in its fourth dimension; 0 outside."""
    low = np.floor(places).astype(int)
    total = np.zeros((*places.shape[:-1], values.shape[3]))
    for corner in np.ndindex(2, 2, 2):
        at = low + corner
        inside = ((at >= 0) & (at < values.shape[:3])).all(-1)
        x, y, z = np.moveaxis(np.where(inside[..., None], at, 0), -1, 0)
        weight = np.where(corner, places - low, 1.0 - (places - low)).prod(-1)
        total += values[x, y, z] * (weight * inside)[..., None]
    return total


def scattered(at_place, cosine):
    """The light that fog scatters, as volume_kernels.fog_light documents it."""
    key, weight = 0.0, 1.0
    for _ in range(4):
        g = 0.5 * weight
        key = key + weight * (1 - g * g) / (1 + g * g - 2 * g * cosine) ** 1.5 * np.exp(-weight * at_place[..., 0])
        weight *= 0.5
    ambient = np.array([0.50, 0.60, 0.78]) * (0.26 * np.exp(-0.3 * at_place[..., 1:2]) + 0.1)
    return np.array([1.0, 0.93, 0.82]) * (0.75 * key * at_place[..., 2])[..., None] + ambient


def test_fog_against_a_plain_march_in_float64():
    """Random fog in front of a random picture, with surfaces in the fog of a part of the samples."""
    rng = np.random.default_rng(8)
    values = np.clip(rng.normal(size=(16, 24, 16)), 0.0, 1.0).astype(np.float32)
    values[:8, :8] = 0.0  # blocks to skip
    volume = drawn(made(values, 0.125), "fogVolume", color=(0.9, 0.6, 0.3), opacity=0.6)
    nodes = rng.uniform(0.0, 2.0, (5, 6, 4, 3)).astype(np.float32)
    lens = _lens(FRONT, (1.0, 9.0), 2 * SIZE, 2 * SIZE)
    image = rng.uniform(0.0, 1.0, (4 * SIZE * SIZE, 3)).astype(np.float32)
    nearness = np.where(rng.random(4 * SIZE * SIZE) < 0.3, 1.0 / rng.uniform(4.0, 6.0, 4 * SIZE * SIZE), 0.0)
    cells = (nearness * 2.0**32).astype(np.uint64) << np.uint64(32)
    found = image.copy()
    light = march(volume, lens, found, cells, nodes)

    fine = (2 * SIZE, 2 * SIZE)
    origin, direction = rays(SIZE)
    inverse = np.linalg.inv(volume.matrix)
    o, d = origin @ inverse[:3, :3].T + inverse[:3, 3], direction @ inverse[:3, :3].T
    a, b = (volume.grid.low - o) / d, (volume.grid.high - o) / d
    facing = direction @ FRONT.forward
    enter = np.maximum(np.minimum(a, b).max(-1), 1.0 / facing)
    leave = np.maximum(a, b).min(-1)
    y, x = np.mgrid[:SIZE, :SIZE]
    noise = np.mod(52.9829189 * np.mod(0.06711056 * x + 0.00583715 * y, 1.0), 1.0)
    step = _inputs(volume, WHITE)[1].step
    ends = np.where(nearness > 0, 1.0 / np.maximum(nearness, 1e-9), 1e30).reshape(fine) / facing.repeat(2, 0).repeat(
        2, 1
    )
    cosine = direction @ np.array(light.forward)
    spacing = (volume.grid.high - volume.grid.low) / (np.array(nodes.shape[:3]) - 1)
    passed, glow = np.ones((SIZE, SIZE)), np.zeros((SIZE, SIZE, 3))
    layers = np.ones(fine), np.zeros((*fine, 3))
    t = enter + step * noise
    while (t <= leave).any():
        inside = t <= leave
        p = o + d * t[..., None]
        density = np.where(inside, trilinear(values[..., None].astype(float), p)[..., 0], 0.0)
        left = np.exp(-np.maximum(density, 0.0) * volume.extinction * step)
        at_place = trilinear(
            nodes.astype(float), np.clip((p - volume.grid.low) / spacing, 0, np.array(nodes.shape[:3]) - 1.000001)
        )
        glow = glow + scattered(at_place, cosine) * (np.array([0.9, 0.6, 0.3]) * (passed * (1 - left))[..., None])
        passed = passed * left
        open_ = ends >= t.repeat(2, 0).repeat(2, 1)
        layers[0][open_] = passed.repeat(2, 0).repeat(2, 1)[open_]
        layers[1][open_] = glow.repeat(2, 0).repeat(2, 1)[open_]
        t = t + step
    expected = image.reshape(*fine, 3) * layers[0][..., None] + layers[1]
    change = np.abs(expected - image.reshape(*fine, 3)).max(-1)
    error = np.abs(found.reshape(*fine, 3) - expected).max(-1)
    assert (change > 0.1).mean() > 0.1
    assert error.max() < 2e-2 and np.quantile(error, 0.999) < 4e-3  # of a first or last sample at the border of the box
    assert np.median(error[change > 0.1]) < 1e-5


def test_light_in_fog_against_fine_sums():
    rng = np.random.default_rng(2)
    values = np.clip(rng.normal(0.3, 0.3, (16, 16, 16)), 0.0, 1.0).astype(np.float32)
    volume = drawn(made(values, 0.1), "fogVolume")
    light = _lens(look_at(np.array([3.0, 4.0, 2.0]), np.zeros(3), UP, 0.2, False), (1.0, 9.0), 64, 64)
    nodes, haze = np.zeros((4, 4, 4, 3), np.float32), np.ones((2, 2, 3), np.float32)
    spacing = (volume.grid.high - volume.grid.low) / 3
    to_world = wp.mat33(*volume.matrix[:3, :3].ravel().tolist())
    inputs = [*_inputs(volume, WHITE), to_world, wp.vec3(*spacing.tolist()), light, np.zeros(64 * 64, np.uint64), haze]
    wp.launch(volume_kernels.gather_light, (4, 4, 4), [*inputs, wp.vec3(0.0, 1.0, 0.0), 0, nodes])
    starts = volume.grid.low + np.indices((4, 4, 4)).reshape(3, -1).T * spacing
    for column, direction in ((0, -np.array(light.forward)), (1, UP)):
        t = (np.arange(4000) + 0.5) * 1e-3
        places = starts[:, None] + (direction / 0.1) * t[:, None]
        inside = ((places >= volume.grid.low) & (places <= volume.grid.high)).all(-1)
        expected = (
            (trilinear(values[..., None].astype(float), places)[..., 0] * inside).sum(-1) * 1e-3 * volume.extinction
        )
        found = nodes.reshape(-1, 3)[:, column]
        assert expected.max() > 3.0 and np.abs(found - expected).max() < 0.15 * expected.max()
        assert np.abs(found - expected).mean() < 0.03 * expected.max()
    assert (nodes[..., 2] == 1.0).all()


@wp.kernel
def put(volume: wp.uint64, places: wp.array(dtype=wp.vec3i)):
    place = places[wp.tid()]
    wp.volume_store(volume, place[0], place[1], place[2], 1.0)


@wp.kernel
def take(volume: wp.uint64, places: wp.array(dtype=wp.vec3), samples: wp.array(dtype=float)):
    i = wp.tid()
    samples[i] = wp.volume_sample_f(volume, places[i], wp.Volume.LINEAR)


def with_ones_at(voxels):
    """A volume that is 1 at voxels and 0 elsewhere."""
    places = wp.array(voxels, dtype=wp.vec3i, device="cpu")
    volume = wp.Volume.allocate_by_tiles(places, 1.0, bg_value=0.0, device="cpu")
    wp.launch(put, places.size, [volume.id, places], device="cpu")
    return volume


def test_blocks_without_anything_to_see_have_no_samples(tmp_path):
    """Leaves and tiles of a file by OpenVDB, and voxels far apart."""
    rng = np.random.default_rng(4)
    tiled = wp.Volume.load_from_vdb(unpacked("stream.vdb", tmp_path), "density", device="cpu")
    lone = rng.integers(-3000, 3000, (30, 3))
    corners = read_grid(tiled.array().numpy()).leaf.origins
    for volume, voxels in ((tiled, corners), (with_ones_at(lone), lone)):
        grid = drawn(volume, "fogVolume").grid
        near = voxels[rng.integers(0, len(voxels), 4000)] + rng.uniform(-2.0, 9.0, (4000, 3))
        near[::2] = voxels[rng.integers(0, len(voxels), 2000)] + rng.uniform(-1.0, 1.0, (2000, 3))
        places = np.concatenate([near, rng.uniform(grid.low, grid.high, (4000, 3))])
        places = places[((places >= grid.low) & (places <= grid.high)).all(1)].astype(np.float32)
        samples = np.zeros(len(places), np.float32)
        wp.launch(take, len(places), [volume.id, places, samples], device="cpu")
        blocks = np.clip((places - grid.first) // grid.width, 0, np.array(grid.blocks.shape) - 1).astype(int)
        assert max(grid.blocks.shape) <= 130 and (samples > 0.0).sum() > 300
        assert (grid.blocks[tuple(blocks.T)][samples > 0.0] == 1).all()
        assert (grid.blocks == 0).mean() > 0.5


# -- stages -----------------------------------------------------------------------------------------------------------


def smoky(path, fields=None, **options):
    stage = Usd.Stage.CreateNew(str(path))
    volume = made(np.full((16, 16, 16), 1.0), 0.1)
    prim = wp.usd.write_volume(stage, "/Smoke", fields or {"density": volume}, grid_class="fogVolume", **options)
    return stage, prim


def test_the_fields_that_are_drawn(tmp_path):
    fog = made(np.full((8, 8, 8), 1.0), 0.1)
    vectors = wp.Volume.load_from_numpy(np.ones((8, 8, 8, 3)), bg_value=(0.0, 0.0, 0.0), device="cpu")
    stage, prim = smoky(tmp_path / "s.usda", {"a": fog, "density": fog, "v": vectors})
    wp.usd.write_volume(stage, "/Smoke", {"shape": ball()}, file="shape.nvdb", grid_class="levelSet")
    wp.usd.write_volume(stage, "/Gone", {"density": ("./gone.vdb", "density")})
    warnings = []
    scene = Gatherer(stage, warnings.append).at(Usd.TimeCode.Default())
    assert sorted(volume.grid.kind for volume in scene.volumes) == [FOG, LEVEL_SET]
    assert len(warnings) == 3
    warnings.sort()
    assert "/Gone is not drawn: /Gone/density.filePath is @./gone.vdb@, and the file" in warnings[0]
    assert warnings[2] == "/Smoke/v is not drawn: its values are of type vec3f, and those of pictures are float"
    assert warnings[1] == "/Smoke/a is not drawn: /Smoke/density is the fog of the volume"
    UsdGeom.Imageable(prim).MakeInvisible()
    assert Gatherer(stage).at(Usd.TimeCode.Default()).is_empty


def test_places_and_copies(tmp_path):
    stage, prim = smoky(tmp_path / "s.usda")
    wp.usd.write_transform(stage, "/Smoke", wp.transform(wp.vec3(1.0, 2.0, 3.0), wp.quat_identity()), (2.0, 2.0, 2.0))
    UsdGeom.Gprim(prim).CreateDisplayColorAttr([(0.1, 0.2, 0.3)])
    UsdGeom.Gprim(prim).CreateDisplayOpacityAttr([0.5])
    (volume,) = Gatherer(stage).at(Usd.TimeCode.Default()).volumes
    assert np.allclose(volume.corners.min(0), np.array([1, 2, 3]) - 1.7)
    assert np.allclose(volume.corners.max(0), np.array([1, 2, 3]) + 1.7)
    assert np.allclose(volume.color, (0.1, 0.2, 0.3)) and volume.voxel == pytest.approx(0.2)
    (before,) = Gatherer(smoky(tmp_path / "t.usda")[0]).at(Usd.TimeCode.Default()).volumes
    assert volume.extinction == pytest.approx(before.extinction / 4), "half as dense, and twice as large"
    wp.usd.write_instancer(stage, "/Many", ["/Smoke"], [0, 0], [(10, 0, 0), (20, 0, 0)])
    three = Gatherer(stage).at(Usd.TimeCode.Default()).volumes
    assert sorted(round(v.corners.mean(0)[0]) for v in three) == [1, 11, 21]
    wp.usd.write_transform(stage, "/Smoke", wp.transform_identity(), (2.0, 0.0, 2.0))
    assert Gatherer(stage).at(Usd.TimeCode.Default()).volumes == (), "flat"


def test_fog_dims_what_is_behind_and_shades_the_floor(tmp_path):
    stage, _ = smoky(tmp_path / "s.usda")
    bare = Usd.Stage.CreateInMemory()
    for one in (stage, bare):
        floor = [(-3, -1.2, -3), (-3, -1.2, 3), (3, -1.2, 3), (3, -1.2, -3)]
        wp.usd.write_mesh(one, "/Floor", floor, [0, 1, 2, 3], [4], colors=[(0.5, 0.5, 0.5)])
        front = [(-0.2, -0.2, 2), (0.2, -0.2, 2), (0.2, 0.2, 2), (-0.2, 0.2, 2)]
        wp.usd.write_mesh(one, "/Front", front, [0, 1, 2, 3], [4], colors=[(0.8, 0.0, 0.0)])
    view = look_at(np.array([0.0, 1.0, 6.0]), np.zeros(3), UP, 1.2)
    with_fog, without = (
        Renderer(64, 64, UP).draw(Gatherer(one).at(Usd.TimeCode.Default()), view).astype(int) for one in (stage, bare)
    )
    assert with_fog[38, 32, 0] > with_fog[38, 32, 2] + 60, "the red square is before the fog"
    assert with_fog[28, 27].min() > without[28, 27].max() + 40, "fog is bright before the dark background"
    assert (without - with_fog)[40:].max() > 40, "the floor has a shadow"


def test_pictures_of_files(tmp_path):
    unpacked("several.vdb", tmp_path)
    warnings = []
    request = Request(str(tmp_path / "several.vdb"), str(tmp_path / "a.png"), size=(60, 40))
    assert preview(request, warn=warnings.append) == "frame 0, 0 triangles, 0 points, 2 grids, 60x40"
    assert any("frustum" in text for text in warnings) and any("int32" in text for text in warnings)
    with Image.open(tmp_path / "a.png") as image:
        assert np.asarray(image).astype(int).max() > 100
    (tmp_path / "bad.nvdb").write_bytes(b"nothing")
    for name, message in (
        ("bad.nvdb", r"bad\.nvdb: byte 0: this is no \.nvdb"),
        ("gone.vdb", "cannot be read: No such"),
    ):
        with pytest.raises(StageError, match=message):
            preview(Request(str(tmp_path / name), str(tmp_path / "b.png")))


@pytest.mark.parametrize("kind", ["fp4", "fp16", "fpN"])
def test_quantised_floats_are_drawn_as_the_floats_they_stand_for(kind, tmp_path):
    pictures = []
    for name in (f"shared_{kind}.nvdb", f"shared_{kind}.vdb"):
        output = str(tmp_path / "a.png")
        preview(Request(str(unpacked(name, tmp_path)), output, size=(60, 40)))
        with Image.open(output) as image:
            pictures.append(np.asarray(image).astype(int))
    assert np.abs(pictures[0] - pictures[1]).max() <= 1 and np.ptp(pictures[0]) > 50


@pytest.mark.parametrize("size", [1e-12, 1e20, 1e30])
def test_a_camera_is_fitted_to_volumes_of_any_size(size, tmp_path):
    volume = wp.Volume.load_from_numpy(np.ones((8, 8, 8)), voxel_size=size, device="cpu")
    volume.save_to_nvdb(tmp_path / "fog.nvdb")
    preview(Request(str(tmp_path / "fog.nvdb"), str(tmp_path / "a.png"), size=(60, 40)))
    with Image.open(tmp_path / "a.png") as image:
        assert np.ptp(np.asarray(image).astype(int)) > 50


def test_a_picture_ends_when_its_time_is_up(tmp_path):
    smoky(tmp_path / "s.usda")[0].Save()
    with pytest.raises(
        StageError, match=r"drawing the volumes of frame 0 takes longer than 0 s; --trust sets no limit"
    ):
        preview(Request(str(tmp_path / "s.usda"), str(tmp_path / "a.png"), size=(60, 40), seconds=1e-9))
    assert not (tmp_path / "a.png").exists()


def test_voxels_at_the_ends_of_index_space_are_drawn_at_once():
    volume = with_ones_at([[-(2**29), 0, 0], [2**29, 2**29, 5]])
    scene = Gatherer(Usd.Stage.CreateInMemory()).at(Usd.TimeCode.Default())
    scene.volumes = (drawn(volume, "fogVolume"),)
    picture = Renderer(24, 24, UP).draw(scene, look_at(np.array([0.0, 0.0, 2.0**31]), np.zeros(3), UP, 1.0))
    assert picture.shape == (24, 24, 3)


def test_frames_of_a_volume(tmp_path):
    """Smoke that moves: each frame has its file, and keeps the extinction of the first."""
    stage = Usd.Stage.CreateNew(str(tmp_path / "s.usda"))
    for frame in (1, 2):
        puff = np.zeros((8, 8, 32), np.float32)
        puff[:, :, 16 * (frame - 1) : 16 * frame - 8] = frame
        wp.usd.write_volume(stage, "/Smoke", {"density": made(puff, 0.1)}, frame, grid_class="fogVolume")
    gatherer, middles, densities = Gatherer(stage), [], []
    for frame in (1, 2, 2, 1):
        (volume,) = gatherer.at(Usd.TimeCode(frame)).volumes
        middles.append(volume.corners.mean(0)[2])
        densities.append(volume.extinction)
    assert middles == pytest.approx([-1.2, 0.4, 0.4, -1.2], abs=1e-5) and len(set(densities)) == 1
    stage.SetStartTimeCode(1)
    stage.SetEndTimeCode(2)
    stage.Save()
    request = Request(str(tmp_path / "s.usda"), str(tmp_path / "a.gif"), frames=(1, 2), size=(60, 40))
    assert preview(request) == "2 frames at 24 per second, 0 triangles, 0 points, 1 grid, 60x40"


def test_damaged_stages_of_volumes(tmp_path):
    """Pictures show what is left, or a StageError says why nothing can be drawn."""
    stage, prim = smoky(tmp_path / "s.usda")
    UsdGeom.Gprim(prim).CreateDisplayColorAttr([(0.1, 0.2, 0.3)])
    UsdGeom.Gprim(prim).CreateDisplayOpacityAttr([0.5])
    UsdGeom.Xformable(prim).AddTransformOp().Set(Gf.Matrix4d(2.0))
    stage.GetPrimAtPath("/Smoke/density").GetAttribute("fieldIndex").Set(0)
    wp.usd.write_instancer(stage, "/Many", ["/Smoke"], [0, 0], [(10, 0, 0), (20, 0, 0)])
    text, drawn_volumes = stage.GetRootLayer().ExportToString(), set()
    for seed in range(150):
        dice, layer = random.Random(seed), Sdf.Layer.CreateNew(str(tmp_path / f"{seed}.usda"))
        layer.ImportFromString(text)
        damage(layer, dice)
        try:
            scene = Gatherer(Usd.Stage.Open(layer)).at(Usd.TimeCode(dice.choice([-1.0, 0.5, 7.0])))
            drawn_volumes.add(len(scene.volumes))
            assert all(np.isfinite(volume.corners).all() for volume in scene.volumes)
        except (StageError, *READ_ERRORS):
            drawn_volumes.add(-1)
    assert {0, 3} <= drawn_volumes


def test_progress_counts_all_bands(tmp_path):
    stage, _ = smoky(tmp_path / "s.usda")
    wp.usd.write_volume(stage, "/Ball", {"d": ball()})
    scene, ticks = Gatherer(stage).at(Usd.TimeCode.Default()), []
    renderer = Renderer(40, 24, UP)
    renderer.draw(scene, FRONT, lambda: ticks.append(0))
    assert len(ticks) == renderer.count_ticks(scene)


# -- glow -------------------------------------------------------------------------------------------------------------


def blazing(path, **fields):
    """A stage of a volume with these fields; pictures of it have no lamp in front of the fog."""
    stage = Usd.Stage.CreateNew(str(path))
    wp.usd.write_volume(stage, "/Fire", fields, grid_class="fogVolume")
    warnings = []
    return Gatherer(stage, warnings.append).at(Usd.TimeCode.Default()), warnings


def test_emission_is_drawn_as_a_glow_that_smoke_absorbs(tmp_path):
    cube = made(np.full((12, 12, 12), 2.0), 0.1)
    scene, warnings = blazing(tmp_path / "a.usda", density=cube, emission=cube, flames=cube)
    assert sorted(v.grid.kind for v in scene.volumes) == [FOG, GLOW]
    assert warnings == ["/Fire/flames is not drawn: /Fire/emission is the glow of the volume"]
    glow = next(v for v in scene.volumes if v.grid.kind == GLOW)
    assert glow.smoke is not None and glow.smoke.grid.kind == FOG

    view = look_at(np.array([0.0, 0.0, 5.0]), np.zeros(3), UP, 0.5, False)
    lens, cells = _lens(view, (1.0, 9.0), 2 * SIZE, 2 * SIZE), np.zeros(4 * SIZE * SIZE, np.uint64)
    length, strength = 1.2, 2.0 * glow.extinction  # half of a voxel beyond the outermost ones

    def light(volume, smoke, cells=cells):
        image = np.zeros((4 * SIZE * SIZE, 3), np.float32)
        fog = _inputs(smoke or volume, WHITE)[:2]
        inputs = [*_inputs(volume, WHITE), *fog, smoke is not None, lens, cells, 0, image]
        wp.launch(volume_kernels.march_glow, (SIZE, SIZE), inputs)
        return image.reshape(2 * SIZE, 2 * SIZE, 3)[SIZE - 4 : SIZE + 4, SIZE - 4 : SIZE + 4, 0].mean()

    smoke = replace(glow.smoke, opacity=0.1)
    alone, through = light(glow, None), light(glow, smoke)
    assert alone == pytest.approx(strength * length, rel=0.06)
    depth = 2.0 * smoke.extinction * length
    assert through == pytest.approx(strength * length * (1.0 - np.exp(-depth)) / depth, rel=0.1)
    before = smoke.placed(np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 2.0], [0, 0, 0, 1]]))
    assert light(glow, before) == pytest.approx(alone * np.exp(-depth), rel=0.15)
    surface = np.full(4 * SIZE * SIZE, int((9.0 - 5.0) / 8.0 * 2.0**32) << 32, np.uint64)  # in the middle of the cube
    assert light(glow, None, surface) == pytest.approx(0.5 * alone, rel=0.1)


def test_grids_of_double_are_drawn_as_those_of_float(tmp_path):
    rng, pictures = np.random.default_rng(5), {}
    values = rng.integers(0, 4, (9, 10, 11))
    view = look_at(np.array([1.0, 2.0, 4.0]), np.zeros(3), UP, 1.0)
    for name, background in {"float": wp.float32(0), "double": wp.float64(0)}.items():
        volume = made(values.astype(np.float64), 0.1, background)
        scene, warnings = blazing(tmp_path / f"{name}.usda", density=volume)
        assert not warnings and [v.grid.kind for v in scene.volumes] == [FOG]
        pictures[name] = Renderer(SIZE, SIZE, UP).draw(scene, view)
    assert np.ptp(pictures["float"]) > 50 and np.array_equal(pictures["float"], pictures["double"])


def test_each_grid_of_a_file_is_a_field_of_its_name(tmp_path):
    """Of two grids of one name and one whose name has a blank, none is lost; flames of a file glow."""
    values = wp.Volume.load_from_numpy(np.ones((8, 8, 8), np.float32), bg_value=0.0, device="cpu").array().numpy()
    names = ["density", "flames", "density", "my smoke", ""]
    write_vdb(tmp_path / "fire.vdb", [relabeled(values, name, "fog") for name in names])
    stage = stage_of_volumes(str(tmp_path / "fire.vdb"))
    fields = wp.usd.read_volume(stage.GetPrimAtPath("/Volume"))
    assert sorted((field.grid, field.index) for field in fields.values()) == [
        ("", 0),
        ("density", 0),
        ("density", 1),
        ("flames", 0),
        ("my smoke", 0),
    ]
    assert sorted(fields) == ["density", "density_1", "flames", "grid", "my_smoke"]
    drawn = Gatherer(stage).at(Usd.TimeCode.Default()).volumes
    assert [volume.grid.kind for volume in drawn] == [FOG, GLOW]
