"""Pictures: the rasteriser against a plain one in float64, cameras, image files."""

import numpy as np
import pytest
from PIL import Image
from pxr import Gf, Usd, UsdGeom

import omni.warp_core as wp
from omni.warp_core.usd.pictures import raster_kernels
from omni.warp_core.usd.pictures.camera import View, fitted, look_at, stage_view
from omni.warp_core.usd.pictures.drawables import Gatherer, neighbourhoods
from omni.warp_core.usd.pictures.preview import Request, RequestError, preview
from omni.warp_core.usd.pictures.render import Renderer, _lens
from omni.warp_core.usd.polygons import triangulate
from omni.warp_core.usd.stage import StageError

UP = np.array([0.0, 1.0, 0.0])
FRONT = look_at(np.array([0.0, 0.0, 5.0]), np.zeros(3), UP, 1.0)


def in_memory(*build):
    stage = Usd.Stage.CreateInMemory()
    for step in build:
        step(stage)
    return stage


def add_mesh(points, counts, indices, colors=None, interpolation="vertex", path="/Mesh"):
    def build(stage):
        mesh = UsdGeom.Mesh.Define(stage, path)
        mesh.CreatePointsAttr([tuple(map(float, p)) for p in points])
        mesh.CreateFaceVertexCountsAttr(counts)
        mesh.CreateFaceVertexIndicesAttr(indices)
        if colors is not None:
            mesh.CreateDisplayColorPrimvar(interpolation).Set([tuple(map(float, c)) for c in colors])

    return build


QUAD = [(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)]


def draw(stage, view=FRONT, size=(64, 64)):
    scene = Gatherer(stage).at(Usd.TimeCode.Default())
    return Renderer(*size, UP).draw(scene, view).astype(int)


# -- gathering --------------------------------------------------------------------------------------------------------


def fan(counts, indices, flip=False):
    return triangulate(np.zeros((0, 3), np.float32), counts, indices, flip).corners


def test_fans_against_a_plain_loop():
    random = np.random.default_rng(3)
    for flip in (False, True):
        counts = random.integers(0, 7, 50)
        wanted, at = [], 0
        for n in counts:
            for k in range(1, n - 1):
                wanted.append((at, at + k + 1, at + k) if flip else (at, at + k, at + k + 1))
            at += n
        assert fan(counts, np.arange(at), flip).tolist() == [list(t) for t in wanted]
    assert fan(np.array([3, 9]), np.arange(5)).tolist() == [[0, 1, 2]], "a face that lacks indices is left out"


def test_neighbourhoods_against_a_plain_loop():
    triangles = np.random.default_rng(4).integers(0, 9, (20, 3)).astype(np.int32)
    starts, around = neighbourhoods(triangles, 9)
    for vertex in range(9):
        wanted = sorted(t for t in range(20) for corner in triangles[t] if corner == vertex)
        assert sorted(around[starts[vertex] : starts[vertex + 1]].tolist()) == wanted


def test_world_space_visibility_and_purpose():
    def extra(stage):
        UsdGeom.Xformable(stage.GetPrimAtPath("/Mesh")).AddTranslateOp().Set((5, 6, 7))
        UsdGeom.Imageable(UsdGeom.Mesh(stage.GetPrimAtPath("/Hidden"))).MakeInvisible()
        UsdGeom.Imageable(stage.GetPrimAtPath("/Guide")).CreatePurposeAttr("guide")

    meshes = [add_mesh(QUAD, [4], [0, 1, 2, 3], path=path) for path in ("/Mesh", "/Hidden", "/Guide")]
    scene = Gatherer(in_memory(*meshes, extra)).at(Usd.TimeCode.Default())
    assert (
        np.array_equal(scene.vertices, np.array(QUAD, np.float32) + np.float32([5, 6, 7])) and len(scene.triangles) == 2
    )


@pytest.mark.parametrize(
    ("interpolation", "count"), [("constant", 1), ("uniform", 1), ("vertex", 4), ("faceVarying", 4)]
)
def test_colours_by_interpolation(interpolation, count):
    colors = np.random.default_rng(5).random((count, 3)).astype(np.float32)
    scene = Gatherer(in_memory(add_mesh(QUAD, [4], [0, 1, 2, 3], colors, interpolation))).at(Usd.TimeCode.Default())
    corners = scene.colors[scene.triangles]
    wanted = colors[np.array([[0, 1, 2], [0, 2, 3]])] if count == 4 else np.broadcast_to(colors[0], (2, 3, 3))
    assert np.array_equal(corners, wanted)


@pytest.mark.parametrize(
    ("counts", "indices", "triangles"),
    [([4], [0, 1, 2, 9], 1), ([4], [0, 1, 2], 0), ([-3, 3], [0, 1, 2], 1), ([], [], 0), ([3], [0, -1, 2], 0)],
)
def test_broken_topology_draws_what_is_left(counts, indices, triangles):
    scene = Gatherer(in_memory(add_mesh(QUAD, counts, indices))).at(Usd.TimeCode.Default())
    assert len(scene.triangles) == triangles


# -- rasterising ------------------------------------------------------------------------------------------------------


def test_z_buffer_against_float64():
    """Random triangles; pixels whose centre is within 1e-3 of an edge are left to rounding."""
    random = np.random.default_rng(6)
    size = 48
    points = np.concatenate([random.uniform(-2, 2, (90, 2)), random.uniform(-1.5, 3, (90, 1))], 1).astype(np.float32)
    triangles = np.arange(90, dtype=np.int32).reshape(-1, 3)
    lens = _lens(FRONT, (1.0, 8.0), size, size)
    screen, cells = np.zeros((90, 3), np.float32), np.zeros(size * size, np.uint64)
    wp.launch(raster_kernels.project, 90, [points, lens, screen])
    wp.launch(raster_kernels.draw_triangles, 30, [screen, triangles, lens, cells])

    z = 5.0 - points[:, 2].astype(np.float64)
    xy = np.stack([size / 2 + size * points[:, 0] / z, size / 2 - size * points[:, 1] / z], -1)
    assert np.abs(screen[:, :2] - xy).max() < 1e-4 and np.abs(screen[:, 2] - 1 / z).max() < 1e-6
    py, px = np.mgrid[0:size, 0:size] + 0.5
    best, owner, doubtful = np.zeros((size, size)), np.zeros((size, size), int), np.zeros((size, size), bool)
    for t, (a, b, c) in enumerate(triangles):

        def edge(p, q):
            return (xy[q, 0] - xy[p, 0]) * (py - xy[p, 1]) - (xy[q, 1] - xy[p, 1]) * (px - xy[p, 0])

        area = (xy[b, 0] - xy[a, 0]) * (xy[c, 1] - xy[a, 1]) - (xy[b, 1] - xy[a, 1]) * (xy[c, 0] - xy[a, 0])
        weights = np.stack([edge(b, c), edge(c, a), edge(a, b)]) / area
        lowest = weights.min(0)
        near = np.tensordot(1 / z[[a, b, c]], weights, 1)
        doubtful |= (np.abs(lowest) < 1e-3) | ((lowest > 0) & (np.abs(near - best) < 1e-5))
        wins = (lowest > 0) & (near > best)
        best[wins], owner[wins] = near[wins], t + 1
    got = (cells & np.uint64(0xFFFFFFFF)).astype(int).reshape(size, size)
    assert doubtful.mean() < 0.1 and (owner > 0).mean() > 0.3
    assert np.array_equal(got[~doubtful], owner[~doubtful])


def test_the_nearer_surface_hides_the_farther_one():
    red, blue = [(0.9, 0, 0)], [(0, 0, 0.9)]
    near = [(x, y, 1.0) for x, y, _ in QUAD]
    stage = in_memory(
        add_mesh(QUAD, [4], [0, 1, 2, 3], blue, "constant", "/Far"),
        add_mesh(near, [4], [0, 1, 2, 3], red, "constant", "/Near"),
    )
    picture = draw(stage)
    assert picture[32, 32, 0] > picture[32, 32, 2] + 50
    behind = look_at(np.array([0.0, 0.0, -5.0]), np.zeros(3), UP, 1.0)
    picture = draw(stage, behind)
    assert picture[32, 32, 2] > picture[32, 32, 0] + 50, "both sides of a surface are drawn"


def test_edges_are_smooth_and_the_quad_is_where_it_should_be():
    picture = draw(in_memory(add_mesh(QUAD, [4], [0, 1, 2, 3], [(1, 1, 1)], "constant")), size=(100, 100))
    lit = picture.sum(2) > 300
    # the quad spans 2 / 5 of the width: 40 pixels around the centre
    assert lit[31:69, 31:69].all() and not lit[:29].any() and not lit[:, 71:].any()


def test_points_are_discs_of_their_width():
    def build(stage):
        points = UsdGeom.Points.Define(stage, "/P")
        points.CreatePointsAttr([(0, 0, 0)])
        points.CreateWidthsAttr([2.0])
        points.CreateDisplayColorPrimvar("constant").Set([(1, 1, 1)])

    stage = in_memory(build)
    view = View(FRONT.eye, FRONT.right, FRONT.up, FRONT.forward, 0.25, perspective=False)
    picture = draw(stage, view, (80, 80))
    background = draw(
        in_memory(build), View(FRONT.eye + 100, FRONT.right, FRONT.up, FRONT.forward, 0.25, False), (80, 80)
    )
    covered = (np.abs(picture - background).sum(2) > 6).sum()
    assert covered == pytest.approx(np.pi * 20**2, rel=0.06), "radius 1 at 0.25 * 80 pixels per unit"


def test_shadows_fall():
    floor = [(-3, -1, -3), (3, -1, -3), (3, -1, 3), (-3, -1, 3)]
    roof = [(-1, 0.5, -1), (1, 0.5, -1), (1, 0.5, 1), (-1, 0.5, 1)]
    white = [(0.8, 0.8, 0.8)]
    eye = look_at(np.array([0.0, 3.0, 9.0]), np.array([0.0, -1.0, 0.0]), UP, 1.0)
    open_sky = draw(in_memory(add_mesh(floor, [4], [0, 1, 2, 3], white, "constant", "/Floor")), eye)
    roofed = draw(
        in_memory(
            add_mesh(floor, [4], [0, 1, 2, 3], white, "constant", "/Floor"),
            add_mesh(roof, [4], [0, 1, 2, 3], white, "constant", "/Roof"),
        ),
        eye,
    )
    darker = (open_sky.sum(2) - roofed.sum(2)) > 150
    assert 40 < darker.sum() < 1500


# -- cameras ----------------------------------------------------------------------------------------------------------


def add_camera(stage, eye=(3, 4, 5), aperture=(36, 20.25), focal=50.0, projection="perspective"):
    camera = UsdGeom.Camera.Define(stage, "/Camera")
    camera.AddTransformOp().Set(
        Gf.Matrix4d().SetLookAt(Gf.Vec3d(*eye), Gf.Vec3d(0, 0, 0), Gf.Vec3d(0, 1, 0)).GetInverse()
    )
    camera.CreateHorizontalApertureAttr(aperture[0])
    camera.CreateVerticalApertureAttr(aperture[1])
    camera.CreateFocalLengthAttr(focal)
    camera.CreateProjectionAttr(projection)
    return camera


@pytest.mark.parametrize("projection", ["perspective", "orthographic"])
def test_stage_cameras_agree_with_usd(projection):
    stage = Usd.Stage.CreateInMemory()
    camera = add_camera(stage, projection=projection).GetCamera(Usd.TimeCode.Default())
    view = stage_view(stage, Usd.TimeCode.Default(), 16 / 9)
    matrix = camera.frustum.ComputeViewMatrix() * camera.frustum.ComputeProjectionMatrix()
    for point in np.random.default_rng(7).uniform(-1, 1, (10, 3)):
        clip = matrix.Transform(Gf.Vec3d(*point))
        d = point - view.eye
        divide = d @ view.forward if view.perspective else 1.0
        x, y = view.scale * (d @ view.right) / divide, view.scale * (d @ view.up) / divide
        assert (2 * x, 2 * y * 16 / 9) == pytest.approx((clip[0], clip[1]), abs=1e-4)


def test_all_of_the_aperture_is_shown():
    stage = Usd.Stage.CreateInMemory()
    add_camera(stage, aperture=(20, 20))
    wide, tall = (stage_view(stage, Usd.TimeCode.Default(), aspect).scale for aspect in (2.0, 0.5))
    assert wide == pytest.approx(50 / 40) and tall == pytest.approx(50 / 20)


@pytest.mark.parametrize("aspect", [0.4, 1.0, 16 / 9, 3.0])
@pytest.mark.parametrize("up", [[0, 1, 0], [0, 0, 1]])
def test_fitted_cameras_see_the_whole_box(aspect, up):
    low, high = np.array([-1.0, 2.0, 3.0]), np.array([4.0, 2.5, 9.0])
    view = fitted(low, high, np.array(up, float), aspect)
    filled = []
    for corner in np.stack(np.meshgrid(*zip(low, high)), -1).reshape(-1, 3):
        d = corner - view.eye
        assert d @ view.forward > 0
        filled.append(abs(view.scale * (d @ view.right) / (d @ view.forward)) / 0.5)
        filled.append(abs(view.scale * (d @ view.up) / (d @ view.forward)) / (0.5 / aspect))
    assert 0.9 <= max(filled) <= 0.95, (
        "of half the width or height: all is in the picture, and no smaller than it need be"
    )


# -- files ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def stage_file(tmp_path):
    stage = Usd.Stage.CreateNew(str(tmp_path / "s.usda"))
    add_mesh(QUAD, [4], [0, 1, 2, 3], [(0.8, 0.3, 0.1)], "constant")(stage)
    points = UsdGeom.Mesh(stage.GetPrimAtPath("/Mesh")).GetPointsAttr()
    for frame in range(4):
        points.Set([(x + 0.3 * frame, y, z) for x, y, z in QUAD], frame)
    stage.SetStartTimeCode(0)
    stage.SetEndTimeCode(3)
    stage.SetFramesPerSecond(10)
    stage.Save()
    return str(tmp_path / "s.usda")


@pytest.mark.parametrize("extension", ["png", "jpg", "webp"])
def test_stills(stage_file, tmp_path, extension):
    target = tmp_path / f"o.{extension}"
    told = preview(Request(stage_file, str(target), frame=2, size=(60, 40)))
    assert told == "frame 2, 2 triangles, 0 points, 60x40"
    with Image.open(target) as image:
        assert image.size == (60, 40)
    assert sorted(p.name for p in tmp_path.iterdir()) == [target.name, "s.usda"]


@pytest.mark.parametrize("extension", ["gif", "webp"])
def test_animations(stage_file, tmp_path, extension):
    target = tmp_path / f"o.{extension}"
    preview(Request(stage_file, str(target), frames=(0, 3), size=(60, 40)))
    with Image.open(target) as image:
        frames = []
        for i in range(image.n_frames):
            image.seek(i)
            image.load()
            frames.append((np.asarray(image.convert("RGB")).astype(int), image.info["duration"]))
    assert len(frames) == 4 and {duration for _, duration in frames} == {100}
    centres = [np.nonzero(f[..., 0] > f[..., 2] + 40)[1].mean() for f, _ in frames]
    assert centres == sorted(centres) and centres[3] > centres[0] + 3, "the quad moves to the right"


def test_pictures_are_the_same_each_time(stage_file, tmp_path):
    for name in ("a.png", "b.png"):
        preview(Request(stage_file, str(tmp_path / name), size=(60, 40)))
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_wrong_requests(stage_file, tmp_path):
    with pytest.raises(RequestError, match=r"picture must end in one of \.png, .*; --frames A:B draws an"):
        preview(Request(stage_file, str(tmp_path / "o.gif")))
    with pytest.raises(RequestError, match=r"the name of an animation must end in one of \.gif, "):
        preview(Request(stage_file, str(tmp_path / "o.png"), frames=(0, 1)))
    with pytest.raises(StageError, match="no camera /Nope"):
        preview(Request(stage_file, str(tmp_path / "o.png"), camera="/Nope"))
    with pytest.raises(OSError):
        preview(Request(stage_file, str(tmp_path / "gone" / "o.png"), size=(8, 8)))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_places_that_are_not_finite_are_left_out_with_a_warning(tmp_path, bad):
    stage = Usd.Stage.CreateNew(str(tmp_path / "n.usda"))
    add_mesh(QUAD, [4], [0, 1, 2, 3])(stage)
    wp.usd.write_points(stage, "/Dots", [(0, 0, 0), (1, 1, 0)])
    warnings = []
    preview(Request(stage, str(tmp_path / "whole.png"), size=(64, 36)), warn=warnings.append)
    assert not warnings
    wp.usd.write_points(stage, "/Dots", [(0, 0, 0), (bad, 0, 0), (1, 1, 0)])
    UsdGeom.Points(stage.GetPrimAtPath("/Dots")).GetWidthsAttr().Clear()  # the default follows from the points
    wp.usd.write_mesh(stage, "/Bad", [(bad, 0, 0), (0, bad, 0), (0, 0, 1)], [0, 1, 2])
    preview(Request(stage, str(tmp_path / "some.png"), size=(64, 36)), warn=warnings.append)
    name = stage.GetRootLayer().identifier
    assert [w.removeprefix(f"{name}: ") for w in warnings] == [
        f"{path} has places that are infinite or NaN, and is drawn without them" for path in ("/Dots", "/Bad")
    ]


def test_layers_that_are_not_there_are_told(tmp_path):
    stage = Usd.Stage.CreateNew(str(tmp_path / "s.usda"))
    add_mesh(QUAD, [4], [0, 1, 2, 3])(stage)
    stage.DefinePrim("/Gone").GetReferences().AddReference("./gone.usda")
    stage.Save()
    warnings = []
    preview(Request(str(tmp_path / "s.usda"), str(tmp_path / "o.png"), size=(64, 36)), warn=warnings.append)
    assert len(warnings) == 1 and "gone.usda" in warnings[0] and "/Gone" in warnings[0]


def test_a_prim_that_cannot_be_read_is_left_out_with_a_warning(tmp_path):
    stage = Usd.Stage.CreateInMemory()
    add_mesh(QUAD, [4], [0, 1, 2, 3])(stage)
    wp.usd.write_curves(stage, "/C", [(0, 0, 0), (1, 0, 0)])
    UsdGeom.BasisCurves(stage.GetPrimAtPath("/C")).GetCurveVertexCountsAttr().Set([5])
    warnings = []
    text = preview(Request(stage, str(tmp_path / "o.png"), size=(64, 36)), warn=warnings.append)
    assert "2 triangles" in text
    assert warnings == ["/C.curveVertexCounts counts 5 points, and the curves have 2"]


CORNERS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
SIDES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]  # outward


@pytest.mark.parametrize("turn", range(4))
def test_how_faces_are_cut_into_triangles_does_not_matter(turn):
    """The flat faces of a box look flat: the picture is that of six squares that share no points."""
    turned = [side[(turn * k) % 4 :] + side[: (turn * k) % 4] for k, side in enumerate(SIDES)]
    eye = look_at(np.array([3.0, 2.0, 5.0]), np.zeros(3), UP, 1.0)
    joined = draw(in_memory(add_mesh(CORNERS, [4] * 6, np.concatenate(turned))), eye)
    apart = draw(in_memory(add_mesh(CORNERS[np.concatenate(turned)], [4] * 6, range(24))), eye)
    np.testing.assert_array_equal(joined, apart)


def test_a_mirrored_mesh_looks_like_its_mirrored_points():
    """A fold that is smooth at its edges, once mirrored by its transform, once by its points."""
    fold, faces = [(-1, 0, -1), (-1, 0, 1), (0, 0.6, -1), (0, 0.6, 1), (1, 0, -1), (1, 0, 1)], [0, 1, 3, 2, 2, 3, 5, 4]
    eye = look_at(np.array([1.0, 1.5, 5.0]), np.zeros(3), UP, 1.0)

    def mirror(stage):
        UsdGeom.Mesh(stage.GetPrimAtPath("/Mesh")).AddScaleOp().Set((1, 1, -1))

    def turn(stage):
        UsdGeom.Mesh(stage.GetPrimAtPath("/Mesh")).CreateOrientationAttr("leftHanded")

    moved = in_memory(add_mesh(fold, [4, 4], faces), mirror)
    points = in_memory(add_mesh([(x, y, -z) for x, y, z in fold], [4, 4], faces), turn)
    np.testing.assert_array_equal(draw(moved, eye), draw(points, eye))
