"""`wp.usd`: geometry of USD stages as arrays, and the stages and pictures of the commands.

Reading: mesh_reader.py, points_reader.py, curves.py, volume_fields.py; over prim_access.py, primvars.py, polygons.py.
Writing: geometry_writer.py, scene_writer.py, volume_writer.py, saved_stage.py; over authoring.py.
Both: mesh_subsets.py. Playing graphs: graph_play.py; its results: output_layer.py. `pictures` draws.

Public names are loaded when they are first used, as they need usd-core.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..optional_names import loader

if TYPE_CHECKING:
    from .curves import CurvesData as CurvesData
    from .curves import read_curves as read_curves
    from .geometry_writer import write_curves as write_curves
    from .geometry_writer import write_mesh as write_mesh
    from .geometry_writer import write_points as write_points
    from .graph_play import play as play
    from .mesh_reader import MeshData as MeshData
    from .mesh_reader import read_mesh as read_mesh
    from .mesh_subsets import MeshSubset as MeshSubset
    from .output_layer import OutputError as OutputError
    from .pictures.draw_stage import preview as preview
    from .points_reader import InstancerData as InstancerData
    from .points_reader import PointsData as PointsData
    from .points_reader import read_instancer as read_instancer
    from .points_reader import read_points as read_points
    from .primvars import Primvar as Primvar
    from .saved_stage import save as save
    from .scene_writer import write_instancer as write_instancer
    from .scene_writer import write_transform as write_transform
    from .stage import StageError as StageError
    from .volume_fields import VolumeField as VolumeField
    from .volume_fields import read_volume as read_volume
    from .volume_writer import write_volume as write_volume

# Module -> the public names it defines.
_HOMES = {
    "curves": "CurvesData read_curves",
    "geometry_writer": "write_curves write_mesh write_points",
    "graph_play": "play",
    "mesh_reader": "MeshData read_mesh",
    "mesh_subsets": "MeshSubset",
    "output_layer": "OutputError",
    "pictures.draw_stage": "preview",
    "points_reader": "InstancerData PointsData read_instancer read_points",
    "primvars": "Primvar",
    "saved_stage": "save",
    "scene_writer": "write_instancer write_transform",
    "stage": "StageError",
    "volume_fields": "VolumeField read_volume",
    "volume_writer": "write_volume",
}
__all__ = sorted(" ".join(_HOMES.values()).split())
__getattr__ = loader(__name__, _HOMES, globals())


def __dir__() -> list[str]:
    return __all__
