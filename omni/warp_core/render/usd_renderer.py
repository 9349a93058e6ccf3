"""`UsdRenderer`: the shapes of a simulation, frame by frame, as time samples of a USD stage.

Geometry is written by `wp.usd`; here are names, times, bodies and the shapes that USD has itself. Start with
`UsdRenderer`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pxr import Sdf, Tf, Usd, UsdGeom

import omni.warp_core as wp

from ..usd.authoring import authored, host_values, set_primvars
from ..usd.geometry_writer import face_counts, require_points, write_curves, write_mesh, write_points
from ..usd.output_layer import require_writable
from ..usd.saved_stage import save
from ..usd.scene_writer import write_transform
from ..usd.stage import StageError, layer_file
from ..usd.volume_writer import write_volume

_AXES = "XYZ"
_IDENTITY = (0.0, 0.0, 0.0, 1.0)


class UsdRenderer:
    """Writes a simulation as a USD stage, one time sample for each frame.

    Names become prims below `/root`. A call with the name of an earlier frame adds a time sample to its prim. Rotations
    are quaternions x, y, z, w.

        renderer = wp.render.UsdRenderer("drop.usdc", fps=24)
        for frame in range(48):
            renderer.begin_frame(frame / 24)
            renderer.render_sphere("ball", (0.0, 2.0 - frame / 24, 0.0), (0.0, 0.0, 0.0, 1.0), radius=0.5)
            renderer.end_frame()
        renderer.save()

    Args:
        stage: Name of the file to write, `.usdc`, `.usda` or `.usd`; or a `Usd.Stage`.
        up_axis: "X", "Y" or "Z".
        fps: Frames per second, which is also the number of time codes per second.
        scaling: Factor for everything below `/root`.

    Attributes:
        stage: The `Usd.Stage`, in memory until `save`.
        time: The time code of the present frame.

    Raises:
        OutputError: The file cannot be written.
    """

    def __init__(self, stage: Any, up_axis: str = "Y", fps: float = 60, scaling: float = 1.0):
        if isinstance(stage, Usd.Stage):
            self.stage, self._path = stage, layer_file(stage.GetRootLayer())
        else:
            self.stage, self._path = Usd.Stage.CreateInMemory(), os.path.abspath(os.fspath(stage))
            require_writable(self._path)
        if str(up_axis).upper() not in tuple(_AXES):
            raise ValueError(f"up_axis is {up_axis!r}; it must be one of X, Y, Z")
        if not 0.0 < fps < math.inf:
            raise ValueError(f"fps is {fps}; it must be positive and finite")
        self.up_axis, self.fps, self.scaling = str(up_axis).upper(), float(fps), float(scaling)
        self.time = 0.0
        self._bodies: list[str] = []
        self._names: dict[str, str] = {}  # as callers gave them, by path
        self._first = True
        self.stage.SetTimeCodesPerSecond(self.fps)
        self.stage.SetFramesPerSecond(self.fps)
        self.stage.SetMetadata("upAxis", self.up_axis)
        UsdGeom.SetStageMetersPerUnit(self.stage, 1.0)
        root = UsdGeom.Xform.Define(self.stage, "/root")
        self.stage.SetDefaultPrim(root.GetPrim())
        if self.scaling != 1.0:
            write_transform(self.stage, "/root", wp.transform_identity(), (self.scaling,) * 3)

    def begin_frame(self, time: float) -> None:
        """Begin the frame at a time in seconds; what is rendered from now on belongs to it."""
        if not math.isfinite(time):
            raise ValueError(f"time is {time}; it must be finite")
        code = time * self.fps
        self.time = round(code) if abs(code - round(code)) < 1e-6 else code  # or sums of steps would give 2.9999999
        if self._first or self.time < self.stage.GetStartTimeCode():
            self.stage.SetStartTimeCode(self.time)
        if self._first or self.time > self.stage.GetEndTimeCode():
            self.stage.SetEndTimeCode(self.time)
        self._first = False

    def end_frame(self) -> None:
        """End the frame."""

    def save(self) -> None:
        """Write the file, which appears whole or not at all. Further frames and saves may follow.

        Raises:
            OutputError: The file cannot be written.
            StageError: The renderer was made with a stage in memory; `wp.usd.save(stage, path)` writes it.
        """
        if not self._path:
            raise StageError("the stage is in memory and has no file; write it with wp.usd.save(stage, path)")
        save(self.stage, self._path)

    # -- bodies -------------------------------------------------------------------------------------------------------

    def register_body(self, body_name: str) -> None:
        """Make a body: an Xform, whose name shapes give as `parent_body`, and which `update_body_transforms` moves."""
        path = self._place(body_name)
        UsdGeom.Xform.Define(self.stage, path)
        if path not in self._bodies:
            self._bodies.append(path)

    def update_body_transforms(self, body_q: Any) -> None:
        """Move the bodies in the order of their registration.

        Args:
            body_q: One transform for each body: `wp.array` of `wp.transform`, or numbers of shape (n, 7).
        """
        poses = host_values(body_q, "body_q", np.float64, 7)
        if len(poses) < len(self._bodies):
            raise ValueError(f"body_q has {len(poses)} transforms for {len(self._bodies)} bodies")
        for path, pose in zip(self._bodies, poses):
            self._move(path, pose[:3], pose[3:])

    # -- geometry -----------------------------------------------------------------------------------------------------

    def render_mesh(
        self,
        name: str,
        points: Any,
        indices: Any,
        colors: Any = None,
        pos: Sequence[float] = (0.0, 0.0, 0.0),
        rot: Sequence[float] = _IDENTITY,
        scale: Sequence[float] = (1.0, 1.0, 1.0),
        update_topology: bool = False,
        parent_body: str | None = None,
        is_template: bool = False,
        smooth_shading: bool = True,
        visible: bool = True,
    ) -> str:
        """Write a mesh of triangles.

        Args:
            name: Name of the prim.
            points: Positions: `wp.array` of `wp.vec3`, or numbers of shape (n, 3).
            indices: Three points for each triangle.
            colors: One color, or one for each point, corner or triangle; linear RGB.
            pos: Position.
            rot: Rotation.
            scale: Factors along the axes.
            update_topology: Accepted for scripts that say it; changes of the triangles are found without it.
            parent_body: Name of the body that the mesh moves with.
            is_template: Write the prim below the class `/templates`, where it is drawn only through references.
            smooth_shading: Write normals that are averages over the triangles around each point.
            visible: Whether the mesh is seen in this frame.

        Returns:
            The path of the prim.
        """
        positions = host_values(points, "points", np.float32, 3)
        corners = host_values(indices, "indices", np.int32).reshape(-1)
        face_counts(None, corners)
        require_points(corners, len(positions))
        path = self._place(name, parent_body, is_template)
        normals = smooth_normals(positions, corners) if smooth_shading else None
        shades = _rows_of_three(colors, "colors")
        write_mesh(self.stage, path, positions, corners, time=self.time, normals=normals, colors=shades)
        return self._finish(path, pos, rot, scale, visible=visible)

    def render_points(
        self, name: str, points: Any, radius: Any, colors: Any = None, as_spheres: bool = True, visible: bool = True
    ) -> str:
        """Write points, which viewers draw as spheres.

        Args:
            name: Name of the prim.
            points: Positions: `wp.array` of `wp.vec3`, or numbers of shape (n, 3).
            radius: One number, or one for each point.
            colors: One color, or one for each point; linear RGB.
            as_spheres: Accepted for scripts that say it: the prim is of type Points either way.
            visible: Whether the points are seen in this frame.

        Returns:
            The path of the prim.
        """
        widths = 2.0 * host_values(radius, "radius", np.float32).reshape(-1)
        shades = _rows_of_three(colors, "colors")
        path = self._place(name)
        write_points(self.stage, path, points, widths, self.time, colors=shades)
        return self._finish(path, visible=visible)

    def render_line_list(
        self, name: str, vertices: Any, indices: Any, color: Any = None, radius: float = 0.01, visible: bool = True
    ) -> str:
        """Write lines: each pair of `indices` is a line between two vertices. Returns the path of the prim."""
        points, ends = host_values(vertices, "vertices", np.float32, 3), host_values(indices, "indices", np.int32)
        if ends.size % 2:
            raise ValueError(f"indices has {ends.size} numbers; each line needs two")
        pairs = ends.reshape(-1)
        if len(pairs) and (pairs.min() < 0 or pairs.max() >= len(points)):
            raise ValueError(f"indices goes from {pairs.min()} to {pairs.max()}, and there are {len(points)} vertices")
        return self._lines(name, points[pairs], np.arange(0, len(pairs) + 1, 2), color, radius, visible)

    def render_line_strip(
        self, name: str, vertices: Any, color: Any = None, radius: float = 0.01, visible: bool = True
    ) -> str:
        """Write a line through all vertices. Returns the path of the prim."""
        points = host_values(vertices, "vertices", np.float32, 3)
        return self._lines(name, points, np.array([0, len(points)]), color, radius, visible)

    def _lines(
        self, name: str, points: np.ndarray, starts: np.ndarray, color: Any, radius: float, visible: bool
    ) -> str:
        path = self._place(name)
        shades = _rows_of_three(color, "color")
        write_curves(self.stage, path, points, starts, 2.0 * radius, self.time, colors=shades)
        return self._finish(path, visible=visible)

    def render_volume(
        self,
        name: str,
        volume: wp.Volume | Mapping[str, wp.Volume],
        pos: Sequence[float] = (0.0, 0.0, 0.0),
        rot: Sequence[float] = _IDENTITY,
        scale: Sequence[float] = (1.0, 1.0, 1.0),
        color: Any = None,
        grid_class: str | None = None,
        parent_body: str | None = None,
        visible: bool = True,
    ) -> str:
        """Write a volume. Each frame becomes a `.nvdb` file beside the renderer's, such as `scene.smoke.0007.nvdb`.

        Args:
            name: Name of the prim.
            volume: The volume, whose field is called "density"; or volumes by the names of their fields.
            pos: Position.
            rot: Rotation.
            scale: Factors along the axes.
            color: Color, linear RGB.
            grid_class: "fogVolume" or "levelSet"; None leaves what the volume says.
            parent_body: Name of the body that the volume moves with.
            visible: Whether the volume is seen in this frame.

        Returns:
            The path of the prim.

        Raises:
            OutputError: The file cannot be written.
        """
        path = self._place(name, parent_body)
        fields = volume if isinstance(volume, Mapping) else {"density": volume}
        base = os.path.splitext(self._path)[0] or os.path.join(os.getcwd(), "volume")
        file = f"{base}.{path.removeprefix('/root/').replace('/', '.')}.nvdb"
        write_volume(self.stage, path, fields, self.time, file=file, grid_class=grid_class)
        return self._finish(path, pos, rot, scale, color, visible)

    def render_ref(
        self,
        name: str,
        path: str,
        pos: Sequence[float],
        rot: Sequence[float],
        scale: Sequence[float],
        color: Any = None,
    ) -> str:
        """Write a reference to another USD file.

        Args:
            name: Name of the prim.
            path: The file, seen from the folder of the renderer's file or from the current folder.
            pos: Position.
            rot: Rotation.
            scale: Factors along the axes.
            color: The color of what has none itself; linear RGB.

        Returns:
            The path of the prim.

        Raises:
            StageError: The file does not exist.
        """
        place, given = self._place(name), os.fspath(path)
        folders = [os.path.dirname(self._path), os.getcwd()]
        found = next((f for f in (os.path.join(folder, given) for folder in folders) if os.path.isfile(f)), None)
        if found is None:
            raise StageError(f"render_ref: there is no file {given} in {' or '.join(dict.fromkeys(folders))}")
        UsdGeom.Xform.Define(self.stage, place)
        # The prim in the file may have a type and a transform of its own, so it becomes a child.
        asset = self.stage.DefinePrim(f"{place}/asset")
        asset.GetReferences().SetReferences([Sdf.Reference(os.path.abspath(found))])
        return self._finish(place, pos, rot, scale, color)

    # -- shapes -------------------------------------------------------------------------------------------------------

    def render_sphere(
        self,
        name: str,
        pos: Sequence[float],
        rot: Sequence[float],
        radius: float,
        parent_body: str | None = None,
        is_template: bool = False,
        color: Any = None,
        visible: bool = True,
    ) -> str:
        """Write a sphere. Returns the path of the prim."""
        path = self._shape(name, UsdGeom.Sphere, {"radius": radius}, parent_body, is_template)
        return self._finish(path, pos, rot, color=color, visible=visible)

    def render_box(
        self,
        name: str,
        pos: Sequence[float],
        rot: Sequence[float],
        extents: Sequence[float],
        parent_body: str | None = None,
        is_template: bool = False,
        color: Any = None,
        visible: bool = True,
    ) -> str:
        """Write a box with half the lengths of its sides in `extents`. Returns the path of the prim."""
        path = self._shape(name, UsdGeom.Cube, {"size": 2.0}, parent_body, is_template)
        return self._finish(path, pos, rot, extents, color, visible)

    def render_capsule(
        self,
        name: str,
        pos: Sequence[float],
        rot: Sequence[float],
        radius: float,
        half_height: float,
        parent_body: str | None = None,
        is_template: bool = False,
        up_axis: int = 1,
        color: Any = None,
        visible: bool = True,
    ) -> str:
        """Write a capsule along an axis, 0, 1 or 2; `half_height` is without the caps. Returns the path of the prim."""
        values = {"radius": radius, "height": 2.0 * half_height}
        path = self._shape(name, UsdGeom.Capsule, values, parent_body, is_template, up_axis)
        return self._finish(path, pos, rot, color=color, visible=visible)

    def render_cylinder(
        self,
        name: str,
        pos: Sequence[float],
        rot: Sequence[float],
        radius: float,
        half_height: float,
        parent_body: str | None = None,
        is_template: bool = False,
        up_axis: int = 1,
        color: Any = None,
        visible: bool = True,
    ) -> str:
        """Write a cylinder along an axis, 0, 1 or 2. Returns the path of the prim."""
        values = {"radius": radius, "height": 2.0 * half_height}
        path = self._shape(name, UsdGeom.Cylinder, values, parent_body, is_template, up_axis)
        return self._finish(path, pos, rot, color=color, visible=visible)

    def render_cone(
        self,
        name: str,
        pos: Sequence[float],
        rot: Sequence[float],
        radius: float,
        half_height: float,
        parent_body: str | None = None,
        is_template: bool = False,
        up_axis: int = 1,
        color: Any = None,
        visible: bool = True,
    ) -> str:
        """Write a cone that points along an axis, 0, 1 or 2. Returns the path of the prim."""
        values = {"radius": radius, "height": 2.0 * half_height}
        path = self._shape(name, UsdGeom.Cone, values, parent_body, is_template, up_axis)
        return self._finish(path, pos, rot, color=color, visible=visible)

    def render_arrow(
        self,
        name: str,
        pos: Sequence[float],
        rot: Sequence[float],
        base_radius: float,
        base_height: float,
        cap_radius: float | None = None,
        cap_height: float | None = None,
        parent_body: str | None = None,
        is_template: bool = False,
        up_axis: int = 1,
        color: Any = None,
        visible: bool = True,
    ) -> str:
        """Write an arrow that points along an axis, 0, 1 or 2, as a cylinder `base` and a cone `cap`.

        Args:
            name: Name of the prim.
            pos: Position of the arrow's tail.
            rot: Rotation.
            base_radius: Radius of the cylinder.
            base_height: Length of the cylinder, which is a whole one here.
            cap_radius: Radius of the cone; None is twice that of the cylinder.
            cap_height: Length of the cone; None is a third of that of the cylinder.
            parent_body: Name of the body that the arrow moves with.
            is_template: Write the prim below the class `/templates`.
            up_axis: The axis.
            color: Color, linear RGB.
            visible: Whether the arrow is seen in this frame.

        Returns:
            The path of the prim.
        """
        path = self._place(name, parent_body, is_template)
        with authored(self.stage, path, UsdGeom.Xform):
            self._finish(path, pos, rot, visible=visible)
        radius = 2.0 * base_radius if cap_radius is None else cap_radius
        height = base_height / 3.0 if cap_height is None else cap_height
        for part, schema, start, values in (
            ("base", UsdGeom.Cylinder, 0.0, {"radius": base_radius, "height": base_height}),
            ("cap", UsdGeom.Cone, base_height, {"radius": radius, "height": height}),
        ):
            drawn = self._shape(f"{name}/{part}", schema, values, parent_body, is_template, up_axis)
            self._finish(drawn, np.eye(3)[up_axis] * (start + 0.5 * values["height"]), color=color)
        return path

    def render_plane(
        self,
        name: str,
        pos: Sequence[float],
        rot: Sequence[float],
        width: float,
        length: float,
        color: Any = (1.0, 1.0, 1.0),
        color2: Any = None,
        parent_body: str | None = None,
        is_template: bool = False,
        u_scaling: float = 1.0,
        v_scaling: float = 1.0,
        visible: bool = True,
    ) -> str:
        """Write a rectangle whose normal is the y axis.

        Args:
            name: Name of the prim.
            pos: Position of the centre.
            rot: Rotation.
            width: Half the length along x; 0 for an unbounded plane, of which a large part is written.
            length: Half the length along z; 0 as for `width`.
            color: Color, linear RGB.
            color2: Accepted for scripts that say it: renderers with a checkered pattern use it.
            parent_body: Name of the body that the plane moves with.
            is_template: Write the prim below the class `/templates`.
            u_scaling: Texture coordinates along x.
            v_scaling: Texture coordinates along z.
            visible: Whether the plane is seen in this frame.

        Returns:
            The path of the prim.
        """
        x, z = width or 100.0, length or 100.0
        path = self._place(name, parent_body, is_template)
        corners = [(-x, 0.0, -z), (-x, 0.0, z), (x, 0.0, z), (x, 0.0, -z)]
        self._rectangle(path, corners, (0.0, 1.0, 0.0), (u_scaling, v_scaling))
        return self._finish(path, pos, rot, color=color, visible=visible)

    def render_ground(self, size: float = 100.0, plane: Sequence[float] | None = None) -> str:
        """Write the ground, a square of 2 `size`: through the origin, or where a x + b y + c z + d = 0.

        Args:
            size: Half the length of its sides.
            plane: The numbers a, b, c, d; None for the plane across the up axis.

        Returns:
            The path of the prim.
        """
        a, b, c, d = plane if plane is not None else (*(float(axis == self.up_axis) for axis in _AXES), 0.0)
        normal = np.array([a, b, c], np.float64)
        length = np.linalg.norm(normal)
        if not length > 0.0:
            raise ValueError(f"plane is {tuple(plane or ())}; its first three numbers must not all be 0")
        normal /= length
        side = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
        side *= size / np.linalg.norm(side)
        across, centre = np.cross(normal, side), -normal * d / length
        corners = [centre + x * side + y * across for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
        path = self._place("ground")
        self._rectangle(path, corners, normal, (1.0, 1.0))
        return path

    def _rectangle(self, path: str, corners: Any, normal: Any, uv: tuple[float, float]) -> None:
        uvs = np.array([(0, 0), (0, 1), (1, 1), (1, 0)]) * uv
        prim = write_mesh(self.stage, path, np.array(corners), [0, 1, 2, 3], [4], normals=[normal], uvs=uvs)
        UsdGeom.Mesh(prim).CreateDoubleSidedAttr(True)

    def _shape(
        self,
        name: str,
        schema: Any,
        values: dict[str, float],
        parent_body: str | None,
        is_template: bool,
        axis: int = 1,
    ) -> str:
        """Write the numbers of one of USD's own shapes, with the extent that follows from them."""
        path = self._place(name, parent_body, is_template)
        with authored(self.stage, path, schema) as shape:
            prim = shape.GetPrim()
            if prim.HasAttribute("axis"):
                prim.GetAttribute("axis").Set(_AXES[axis])
            for attribute, value in values.items():
                prim.GetAttribute(attribute).Set(float(value), self.time)
            extent = UsdGeom.Boundable.ComputeExtentFromPlugins(shape, self.time)
            shape.CreateExtentAttr().Set(extent, self.time)
        return path

    # -- what all prims have ------------------------------------------------------------------------------------------

    def _place(self, name: str, parent_body: str | None = None, is_template: bool = False) -> str:
        """Return the path of a name below /root or a body; parts that USD does not take get underscores."""
        parts = [part for part in f"{parent_body or ''}/{name}".split("/") if part]
        if is_template:
            self.stage.CreateClassPrim("/templates")
        base, given = "/templates" if is_template else "/root", "/".join(parts)
        path = "/".join([base, *map(_identifier, parts)])
        if self._names.setdefault(path, given) != given:
            raise StageError(f"{self._names[path]!r} and {given!r} are both written as {path}; rename one of them")
        return path

    def _move(self, path: str, pos: Any, rot: Any, scale: Sequence[float] | None = None) -> None:
        pose = wp.transform(wp.vec3(*map(float, pos)), wp.quat(*map(float, rot)))
        write_transform(self.stage, path, pose, None if scale is None else list(map(float, scale)), self.time)

    def _finish(
        self, path: str, pos: Any = None, rot: Any = None, scale: Any = None, color: Any = None, visible: bool = True
    ) -> str:
        """Write transform, color and visibility of this frame."""
        imageable = UsdGeom.Imageable(self.stage.GetPrimAtPath(path))
        if pos is not None:
            self._move(path, pos, _IDENTITY if rot is None else rot, scale)
        if color is not None:
            set_primvars(imageable, {"displayColor": np.array([color], np.float32)}, {}, Usd.TimeCode(self.time))
        shown = UsdGeom.Tokens.inherited if visible else UsdGeom.Tokens.invisible
        imageable.CreateVisibilityAttr().Set(shown, self.time)
        return path


def _identifier(part: str) -> str:
    """Return a part of a path as USD takes it, with underscores in place of other characters."""
    if Sdf.Path.IsValidIdentifier(part):
        return part
    return Tf.MakeValidIdentifier(f"_{part}" if part[0].isdigit() else part)


def _rows_of_three(values: Any, name: str) -> np.ndarray | None:
    """Return colors as rows, also where they come as one row of numbers; None without colors."""
    if values is None:
        return None
    array = host_values(values, name, np.float32)
    return host_values(array.reshape(-1, 3) if array.ndim == 1 and not array.size % 3 else array, name, width=3)


def smooth_normals(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Return the normal of each point: the mean over the triangles around it, weighted by area."""
    triangles = corners.reshape(-1, 3)
    a, b, c = (points[triangles[:, k]].astype(np.float64) for k in range(3))
    faces = np.repeat(np.cross(b - a, c - a), 3, axis=0)
    sums = np.stack([np.bincount(corners, faces[:, k], len(points)) for k in range(3)], 1)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return (sums / np.where(lengths > 0.0, lengths, 1.0)).astype(np.float32)
