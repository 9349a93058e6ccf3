"""`wp.fem.geometry`: the class of deformed geometries, for annotations and checks. `make_deformed_geometry` of a field
makes one.
"""

from __future__ import annotations

from .spaces.deformed_geometry import DeformedGeometry as DeformedGeometry
