"""`wp.render.UsdRenderer`: what it writes as USD reads it, against numbers by hand."""

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom

import omni.warp_core as wp
from tests.usd.validation import require_valid

IDENTITY = (0.0, 0.0, 0.0, 1.0)
QUARTER = tuple(wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), np.pi / 2))
TRIANGLE = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0)], np.float32)


@pytest.fixture
def renderer(tmp_path):
    made = wp.render.UsdRenderer(str(tmp_path / "scene.usda"), fps=30)
    made.begin_frame(0.0)
    return made


def saved(renderer, tmp_path):
    renderer.end_frame()
    renderer.save()
    require_valid(tmp_path / "scene.usda")
    return Usd.Stage.Open(str(tmp_path / "scene.usda"))


def to_world(stage, path, time=0.0):
    return np.array(UsdGeom.XformCache(time).GetLocalToWorldTransform(stage.GetPrimAtPath(path))).T


def bound(stage, path, time=0.0):
    """The box around a prim in world space, by USD."""
    cache = UsdGeom.BBoxCache(time, ["default"])
    box = cache.ComputeWorldBound(stage.GetPrimAtPath(path)).ComputeAlignedRange()
    return np.array([box.GetMin(), box.GetMax()])


def test_the_stage(tmp_path):
    renderer = wp.render.UsdRenderer(str(tmp_path / "scene.usda"), up_axis="z", fps=24, scaling=2.0)
    for frame in range(3, 6):
        renderer.begin_frame(frame * (1.0 / 24))
        renderer.render_sphere("ball", (1.0, 0.0, 0.0), IDENTITY, 0.5)
        renderer.end_frame()
    stage = saved(renderer, tmp_path)
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (3, 5)
    assert stage.GetFramesPerSecond() == stage.GetTimeCodesPerSecond() == 24
    assert UsdGeom.GetStageUpAxis(stage) == "Z" and stage.GetDefaultPrim().GetPath() == "/root"
    radius = UsdGeom.Sphere(stage.GetPrimAtPath("/root/ball")).GetRadiusAttr()
    assert radius.GetTimeSamples() == [3, 4, 5], "times are whole where frames are"
    assert np.allclose(bound(stage, "/root/ball", 4), [[1, -1, -1], [3, 1, 1]]), "scaling is for places and sizes"


SHAPES = {
    "sphere": (lambda r, **m: r.render_sphere("s", (1, 2, 3), IDENTITY, 0.5, **m), [0.5, 0.5, 0.5]),
    "box": (lambda r, **m: r.render_box("s", (1, 2, 3), IDENTITY, (0.5, 1.0, 2.0), **m), [0.5, 1.0, 2.0]),
    "turned box": (lambda r, **m: r.render_box("s", (1, 2, 3), QUARTER, (0.5, 1.0, 2.0), **m), [1.0, 0.5, 2.0]),
    "capsule": (lambda r, **m: r.render_capsule("s", (1, 2, 3), IDENTITY, 0.5, 2.0, **m), [0.5, 2.5, 0.5]),
    "capsule along x": (
        lambda r, **m: r.render_capsule("s", (1, 2, 3), IDENTITY, 0.5, 2.0, up_axis=0, **m), [2.5, 0.5, 0.5]
    ),
    "cylinder": (lambda r, **m: r.render_cylinder("s", (1, 2, 3), IDENTITY, 0.5, 2.0, up_axis=2, **m), [0.5, 0.5, 2.0]),
    "cone": (lambda r, **m: r.render_cone("s", (1, 2, 3), IDENTITY, 0.5, 2.0, **m), [0.5, 2.0, 0.5]),
    "plane": (lambda r, **m: r.render_plane("s", (1, 2, 3), IDENTITY, 2.0, 3.0, **m), [2.0, 0.0, 3.0]),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_have_their_size_place_color_and_body(renderer, tmp_path, name):
    draw, half = SHAPES[name]
    renderer.register_body("arm")
    renderer.update_body_transforms(
        wp.array([wp.transform(wp.vec3(10.0, 0.0, 0.0), wp.quat_identity())], dtype=wp.transform)
    )
    assert draw(renderer, color=(1.0, 0.5, 0.0), parent_body="arm") == "/root/arm/s"
    stage = saved(renderer, tmp_path)
    centre = np.array([11.0, 2.0, 3.0])
    assert np.allclose(bound(stage, "/root/arm/s"), [centre - half, centre + half], atol=1e-5)
    colors = UsdGeom.Gprim(stage.GetPrimAtPath("/root/arm/s")).GetDisplayColorAttr().Get(0)
    assert list(colors) == [Gf.Vec3f(1.0, 0.5, 0.0)]


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_can_vanish(renderer, tmp_path, name):
    SHAPES[name][0](renderer)
    renderer.begin_frame(1 / 30)
    SHAPES[name][0](renderer, visible=False)
    stage = saved(renderer, tmp_path)
    imageable = UsdGeom.Imageable(stage.GetPrimAtPath("/root/s"))
    assert [imageable.ComputeVisibility(t) for t in (0, 1)] == ["inherited", "invisible"]


def test_arrows_begin_at_their_place(renderer, tmp_path):
    renderer.render_arrow("a", (1, 2, 3), QUARTER, 0.1, 3.0, cap_radius=0.3, cap_height=1.0, color=(1.0, 0.0, 0.0))
    renderer.render_arrow("b", (0, 0, 0), IDENTITY, 0.5, 3.0, up_axis=2, visible=False)
    stage = saved(renderer, tmp_path)
    assert np.allclose(bound(stage, "/root/a"), [[-3, 1.7, 2.7], [1, 2.3, 3.3]], atol=1e-5), "y points to -x"
    assert np.allclose(bound(stage, "/root/b/cap"), [[-1, -1, 3], [1, 1, 4]], atol=1e-5)
    cap = UsdGeom.Cone(stage.GetPrimAtPath("/root/a/cap"))
    assert list(cap.GetDisplayColorAttr().Get(0)) == [Gf.Vec3f(1.0, 0.0, 0.0)]
    assert UsdGeom.Imageable(stage.GetPrimAtPath("/root/b/cap")).ComputeVisibility(0) == "invisible"


def test_meshes(renderer, tmp_path):
    for frame in range(3):
        renderer.begin_frame(frame / 30)
        points = wp.array(TRIANGLE + np.float32([0, 0, frame]), dtype=wp.vec3)
        renderer.render_mesh(
            "cloth", points, wp.array([0, 1, 2], dtype=int), colors=np.eye(3), pos=(5, 0, 0), scale=(2, 2, 2)
        )
    stage = saved(renderer, tmp_path)
    mesh = wp.usd.read_mesh(stage.GetPrimAtPath("/root/cloth"), 2, world=True)
    assert mesh.points.numpy().tolist() == [[5, 0, 4], [7, 0, 4], [5, 2, 4]] and mesh.indices.list() == [0, 1, 2]
    assert mesh.primvars["displayColor"].values.numpy().tolist() == np.eye(3).tolist()
    assert mesh.normals.values.numpy().tolist() == [[0, 0, 1]] * 3
    assert UsdGeom.Mesh(stage.GetPrimAtPath("/root/cloth")).GetFaceVertexIndicesAttr().GetTimeSamples() == [0]


def test_meshes_whose_triangles_change(renderer, tmp_path):
    quad = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
    renderer.render_mesh("m", TRIANGLE, [0, 1, 2], colors=(1, 0, 0), smooth_shading=False)
    renderer.begin_frame(1 / 30)
    renderer.render_mesh("m", quad, [0, 1, 2, 0, 2, 3], colors=(0, 1, 0), smooth_shading=False, update_topology=True)
    stage = saved(renderer, tmp_path)
    read = [wp.usd.read_mesh(stage.GetPrimAtPath("/root/m"), frame) for frame in (0, 1)]
    assert [len(mesh.indices) for mesh in read] == [3, 6] and read[0].normals is None
    assert read[1].primvars["displayColor"].values.list() == [wp.vec3(0.0, 1.0, 0.0)]


def test_smooth_normals_of_a_cube_point_from_its_centre():
    from omni.warp_core.render.usd_renderer import smooth_normals

    points = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], np.float32) - np.float32(0.5)
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    # both diagonals of each side, so that all corners have equal shares
    corners = [k for a, b, c, d in faces for t in ((a, b, c), (a, c, d), (a, b, d), (b, c, d)) for k in t]
    assert np.allclose(smooth_normals(points, np.array(corners)), points / np.sqrt(0.75), atol=1e-6)
    assert smooth_normals(points, np.array([0, 0, 0])).tolist() == [[0.0, 0.0, 0.0]] * 8


def test_points(renderer, tmp_path):
    renderer.render_points("some", wp.array(TRIANGLE, dtype=wp.vec3), 0.1, colors=(0, 0, 1))
    renderer.render_points("more", TRIANGLE, np.array([0.1, 0.2, 0.3]), colors=np.eye(3))
    stage = saved(renderer, tmp_path)
    some, more = (wp.usd.read_points(stage.GetPrimAtPath(f"/root/{name}")) for name in ("some", "more"))
    assert some.widths.numpy() == pytest.approx([0.2]) and more.widths.numpy() == pytest.approx([0.2, 0.4, 0.6])
    assert len(some.primvars["displayColor"]) == 1 and len(more.primvars["displayColor"]) == 3


def test_lines(renderer, tmp_path):
    renderer.render_line_list("list", TRIANGLE, np.array([0, 1, 1, 2]), color=(1, 1, 0), radius=0.05)
    renderer.render_line_strip("strip", TRIANGLE, color=(1, 0, 0))
    stage = saved(renderer, tmp_path)
    lines, strip = (wp.usd.read_curves(stage.GetPrimAtPath(f"/root/{name}")) for name in ("list", "strip"))
    assert lines.starts.list() == [0, 2, 4] and np.array_equal(lines.points.numpy(), TRIANGLE[[0, 1, 1, 2]])
    assert lines.widths.numpy() == pytest.approx([0.1])
    assert strip.starts.list() == [0, 3] and np.array_equal(strip.points.numpy(), TRIANGLE)
    with pytest.raises(ValueError, match="indices has 3 numbers"):
        renderer.render_line_list("list", TRIANGLE, [0, 1, 2])
    with pytest.raises(ValueError, match="goes from 0 to 3, and there are 3 vertices"):
        renderer.render_line_list("list", TRIANGLE, [0, 3])


@pytest.mark.parametrize(
    ("up_axis", "plane", "axis", "height"),
    [("Y", None, 1, 0), ("Z", None, 2, 0), ("Y", (0, 2, 0, -6), 1, 3), ("Y", (1, 0, 0, 4), 0, -4)],
)  # fmt: skip
def test_the_ground(tmp_path, up_axis, plane, axis, height):
    renderer = wp.render.UsdRenderer(str(tmp_path / "scene.usda"), up_axis)
    renderer.begin_frame(0.0)
    renderer.render_ground(10.0, plane)
    box = bound(saved(renderer, tmp_path), "/root/ground")
    wanted = np.array([[-10.0] * 3, [10.0] * 3])
    wanted[:, axis] = height
    assert np.allclose(box, wanted)
    mesh = wp.usd.read_mesh(renderer.stage.GetPrimAtPath("/root/ground"))
    a, b, c = mesh.points.numpy()[mesh.indices.numpy()[:3]]
    assert np.cross(b - a, c - a)[axis] > 0, "it faces up"


def test_references(renderer, tmp_path):
    part = Usd.Stage.CreateNew(str(tmp_path / "part.usda"))
    part.SetDefaultPrim(UsdGeom.Cube.Define(part, "/Cube").GetPrim())
    UsdGeom.SetStageUpAxis(part, "Y")
    UsdGeom.SetStageMetersPerUnit(part, 1.0)
    part.Save()
    renderer.render_ref("part", "part.usda", (1, 2, 3), IDENTITY, (2, 2, 2), color=(1, 0, 0))
    renderer.render_ref("same", str(tmp_path / "part.usda"), (0, 0, 0), IDENTITY, (1, 1, 1))
    stage = saved(renderer, tmp_path)
    assert "@./part.usda@" in (tmp_path / "scene.usda").read_text()
    assert np.allclose(bound(stage, "/root/part"), [[-1, 0, 1], [3, 4, 5]]) and bound(stage, "/root/same")[1, 0] == 1.0
    with pytest.raises(wp.usd.StageError, match=r"there is no file lost\.usda in "):
        renderer.render_ref("lost", "lost.usda", (0, 0, 0), IDENTITY, (1, 1, 1))


def test_bodies_move_what_is_theirs(renderer, tmp_path):
    for name in ("first", "second"):
        renderer.register_body(name)
        renderer.render_sphere("ball", (1, 0, 0), IDENTITY, 0.5, parent_body=name)
    renderer.begin_frame(1 / 30)
    renderer.update_body_transforms(np.array([[0, 5, 0, *IDENTITY], [0, 0, 7, *QUARTER]]))
    stage = saved(renderer, tmp_path)
    assert np.allclose(to_world(stage, "/root/first/ball", 1)[:3, 3], [1, 5, 0])
    assert np.allclose(to_world(stage, "/root/second/ball", 1)[:3, 3], [0, 1, 7], atol=1e-6)
    with pytest.raises(ValueError, match="body_q has 1 transforms for 2 bodies"):
        renderer.update_body_transforms(np.zeros((1, 7)))


def test_names_that_usd_does_not_take_and_templates(renderer, tmp_path):
    assert renderer.render_sphere("env_0/ball 1", (0, 0, 0), IDENTITY, 1.0) == "/root/env_0/ball_1"
    path = renderer.render_box("crate", (0, 0, 0), IDENTITY, (1, 1, 1), is_template=True)
    stage = saved(renderer, tmp_path)
    assert not any(prim.GetPath() == path for prim in stage.Traverse()), "a class is not drawn"


def test_saving(tmp_path):
    with pytest.raises(wp.usd.OutputError, match="there is no folder"):
        wp.render.UsdRenderer(str(tmp_path / "no" / "scene.usd"))
    renderer = wp.render.UsdRenderer(str(tmp_path / "scene.usda"))
    assert not (tmp_path / "scene.usda").exists()
    for frame in range(2):
        renderer.begin_frame(frame / 60)
        renderer.render_sphere("ball", (0, 0, 0), IDENTITY, 1.0)
        renderer.save()
    assert Usd.Stage.Open(str(tmp_path / "scene.usda")).GetEndTimeCode() == 1
    own = Usd.Stage.CreateInMemory()
    renderer = wp.render.UsdRenderer(own)
    renderer.begin_frame(0.0)
    renderer.render_sphere("ball", (0, 0, 0), IDENTITY, 1.0)
    assert own.GetPrimAtPath("/root/ball")
    with pytest.raises(wp.usd.StageError, match=r"wp\.usd\.save\(stage, path\)"):
        renderer.save()
    with pytest.raises(ValueError, match="up_axis is 'W'"):
        wp.render.UsdRenderer(own, up_axis="W")


@pytest.mark.parametrize("names", [("1", "2"), ("10", "20"), ("\u7403", "\u7bb1"), ("\u00e4", "\u00f6")])
def test_two_names_are_two_prims(renderer, names):
    paths = [renderer.render_sphere(name, (0, 0, 0), IDENTITY, radius) for radius, name in enumerate(names, 1)]
    found = [UsdGeom.Sphere(renderer.stage.GetPrimAtPath(path)).GetRadiusAttr().Get(renderer.time) for path in paths]
    assert found == [1.0, 2.0]


def test_names_that_would_be_one_prim_are_refused(renderer):
    renderer.render_sphere("ball 1", (0, 0, 0), IDENTITY, 1.0)
    renderer.render_sphere("ball 1", (1, 0, 0), IDENTITY, 1.0)
    with pytest.raises(wp.usd.StageError, match="'ball 1' and 'ball_1' are both written as /root/ball_1"):
        renderer.render_sphere("ball_1", (0, 0, 0), IDENTITY, 1.0)


@pytest.mark.parametrize(
    ("indices", "colors", "message"),
    [
        ([0, 1, 7], None, r"indices\[2\] is 7, and there are 3 points"),
        ([0, 1, -1], None, r"indices\[2\] is -1, and there are 3 points"),
        ([0, 1, 2, 0], None, "indices has 4 numbers, which are no triangles"),
        ([0, 1, 2], (1, 0, 0, 1), r"colors has the shape \(4,\)"),
    ],
)
def test_mistakes_in_meshes_are_named(renderer, indices, colors, message):
    with pytest.raises(ValueError, match=message):
        renderer.render_mesh("m", [(0, 0, 0), (1, 0, 0), (0, 1, 0)], indices, colors)


@pytest.mark.parametrize("options", [{"fps": 0}, {"fps": float("nan")}, {"up_axis": ""}, {"up_axis": "XY"}])
def test_options_that_mean_no_stage_are_refused(options):
    with pytest.raises(ValueError, match="it must be"):
        wp.render.UsdRenderer(Usd.Stage.CreateInMemory(), **options)


@pytest.mark.parametrize("time", [float("nan"), float("inf")])
def test_times_are_finite(renderer, time):
    with pytest.raises(ValueError, match="it must be finite"):
        renderer.begin_frame(time)


def test_volumes(tmp_path):
    renderer = wp.render.UsdRenderer(str(tmp_path / "scene.usda"), fps=30)
    renderer.register_body("cart")
    for frame in range(2):
        volume = wp.Volume.load_from_numpy(np.full((8, 8, 8), 1.0 + frame), voxel_size=0.25, device="cpu")
        renderer.begin_frame(frame / 30)
        renderer.update_body_transforms([(0.0, 10.0 * frame, 0.0, *IDENTITY)])
        path = renderer.render_volume("smoke", volume, (1, 2, 3), QUARTER, color=(1, 0, 0), parent_body="cart")
    stage = saved(renderer, tmp_path)
    assert path == "/root/cart/smoke" and np.allclose(bound(stage, path, 1), [[-1, 12, 3], [1, 14, 5]])
    assert UsdGeom.Gprim(stage.GetPrimAtPath(path)).GetDisplayColorAttr().Get(1)[0] == Gf.Vec3f(1, 0, 0)
    for frame in range(2):
        field = wp.usd.read_volume(stage.GetPrimAtPath(path), frame)["density"]
        assert field.file == str(tmp_path / f"scene.cart.smoke.{frame:04d}.nvdb")
        assert wp.volume_lookup_f(field.load("cpu").id, 3, 3, 3) == 1.0 + frame
