"""The checks of usdchecker, and those of geometry for each time sample."""

import numpy as np
from pxr import Usd, UsdGeom, UsdValidation


def require_valid(path):
    """USD's own validators find nothing in a file; topology fits the points and extents are those of the points."""
    stage = Usd.Stage.Open(str(path))
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    errors = UsdValidation.ValidationContext(validators).Validate(stage)
    assert [(error.GetName(), error.GetMessage()) for error in errors] == []
    for prim in stage.Traverse():
        if prim.IsA(UsdGeom.Mesh):
            _require_valid_mesh(UsdGeom.Mesh(prim))


def _require_valid_mesh(mesh):
    for time in mesh.GetPointsAttr().GetTimeSamples() or [Usd.TimeCode.Default()]:
        counts, indices = mesh.GetFaceVertexCountsAttr().Get(time), mesh.GetFaceVertexIndicesAttr().Get(time)
        points = mesh.GetPointsAttr().Get(time)
        valid, why = UsdGeom.Mesh.ValidateTopology(indices, counts, len(points))
        assert valid, why
        assert np.allclose(UsdGeom.PointBased.ComputeExtent(points), mesh.GetExtentAttr().Get(time))
