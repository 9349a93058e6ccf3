"""Writes the icons of nodes, ogn/icons/Ogn<Name>.svg. Run it after a new node: python data/make_icons.py

An icon is a sign on a tile whose color says what the node does. Signs are lines on a square of 32 units.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

OGN = Path(__file__).parents[1] / "ogn"
COLORS = {"sceneGraph": "#2f5d8a", "geometry": "#2e7d6b", "examples": "#7a5c2e", "math": "#7a3f6d", "time": "#6b6b2e",
          "script": "#8a3b3b", "omniWarpCore": "#8a3b3b", "bundle": "#4a4a7a", "texture": "#7a5c2e"}  # fmt: skip
OTHER = "#555555"

WAVE = "M4 16 " + " ".join(f"L{4 + i} {16 - 5 * math.sin(i * math.pi / 6):.1f}" for i in range(25))
GRID = "M6 6H26V26H6ZM6 16H26M16 6V26"
BOX = "M16 4L27 10V22L16 28L5 22V10ZM5 10L16 16L27 10M16 16V28"
DOTS = "".join(
    f"M{x - 2} {y}a2 2 0 1 0 4 0a2 2 0 1 0 -4 0" for x, y in ((9, 22), (16, 18), (23, 22), (12, 11), (21, 9))
)
CURVE = "M5 25C9 5 15 5 16 16S23 27 27 7"
CLOUD = "M8 23a5 5 0 0 1 0 -10a7 7 0 0 1 13 -2a6 6 0 0 1 3 12Z"
ARROW_IN, ARROW_OUT = "M16 2V9M13 6L16 9L19 6", "M16 30V23M13 26L16 29L19 26"
FALLING = "M10 4V9M16 4V11M22 4V9"
SIGNS = {
    "Backward": "M26 9C26 22 12 24 6 24M11 19L6 24L11 29M8 10H20",
    "BundleInspectChanges": "M6 8H18M6 14H15M6 20H13M20 17a5 5 0 1 0 0.1 0M24 25L28 29",
    "ClothSimulate": FALLING + "M5 13C10 10 12 18 16 15S23 11 27 15V26C23 22 20 29 16 26S9 22 5 25Z",
    "FixedTime": "M16 5a11 11 0 1 0 0.1 0M16 9V16L21 19",
    "GridCreate": GRID,
    "Kernel": "M12 8L4 16L12 24M20 8L28 16L20 24",
    "MeshFromVolume": "M6 24L12 8L20 6L27 22L16 27ZM12 8L16 27L20 6",
    "NoiseDeform": "M4 20L8 12L11 22L15 8L19 24L22 12L25 20L28 15",
    "Optimize": "M5 6C7 30 25 30 27 6M11 13L16 22L21 13M16 22V8",
    "ParticlesFromMesh": "M16 3L28 12L24 28H8L4 12ZM12 14h.1M20 14h.1M16 19h.1M12 23h.1M20 23h.1",
    "ParticlesSimulate": FALLING + DOTS,
    "ReadCurves": CURVE + ARROW_OUT,
    "ReadMesh": BOX + ARROW_OUT,
    "ReadPoints": DOTS + ARROW_OUT,
    "ReadVolume": CLOUD + ARROW_OUT,
    "SampleMeshDeform": "M4 22L10 12L16 20L22 9L28 18M4 26H28",
    "SampleOceanDeform": WAVE + "M4 25C8 19 12 19 16 25S24 31 28 25",
    "SamplePrimFlocking": "M6 24L14 21L11 28ZM13 15L21 12L18 19ZM20 7L28 4L25 11Z",
    "SampleProceduralVolume": "M8 14H24V27H8ZM16 3a7 4 0 1 0 0.1 0",
    "Script": "M8 4H20L25 9V28H8ZM20 4V9H25M12 14H21M12 19H21M12 24H17",
    "TextureWrite": "M5 5H27V27H5ZM5 21L12 14L18 20L22 16L27 21M20 11h.1",
    "VolumeFromMesh": "M16 4L26 10V22L16 28L6 22V10ZM16 10a6 6 0 1 0 0.1 0M16 14a2 2 0 1 0 0.1 0",
    "WaveSolve": WAVE + "M16 4V10M12 7L16 11L20 7",
    "WriteInstances": "M4 4H12V12H4ZM20 4H28V12H20ZM4 20H12V28H4ZM20 20H28V28H20Z" + ARROW_IN,
    "WriteMesh": BOX + ARROW_IN,
    "WritePoints": DOTS + ARROW_IN,
    "WriteVolume": CLOUD + ARROW_IN,
}  # fmt: skip
SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" width="64" height="64">
  <rect width="32" height="32" rx="5" fill="{color}"/>
  <path d="{path}" transform="translate(3.2 3.2) scale(0.8)" fill="none" stroke="#f4f4f0" stroke-width="2.2"
        stroke-linecap="round" stroke-linejoin="round"/>
</svg>
"""


def main() -> None:
    """Write an icon for each node."""
    (OGN / "icons").mkdir(exist_ok=True)
    for file in sorted(OGN.glob("*.ogn")):
        (node,) = json.loads(file.read_text("utf-8")).values()
        color = next((COLORS[c] for c in node["categories"] if c in COLORS), OTHER)
        svg = SVG.format(color=color, path=SIGNS[file.stem.removeprefix("Ogn")])
        (OGN / "icons" / f"{file.stem}.svg").write_text(svg, "utf-8")


if __name__ == "__main__":
    main()
