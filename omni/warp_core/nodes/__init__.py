"""`wp.nodes`: the headless OmniGraph host, which plays the graphs of USD stages without Kit.

`wp.usd.play` plays them from Python: start with play/graph_player.py and scene/graph_builder.py. The command starts at
play/player.py. The rooms, lowest first:

- `values`: types and values of attributes;
- `ogn`: node descriptions;
- `graph`: nodes in memory, and when they run;
- `stock`: the nodes of omni.graph, and the registry of all node types;
- `kernel`: the Kernel node;
- `library`: the geometry nodes: grids, waves, noise, surfaces, particles;
- `extensions`: node types of other extensions;
- `scene`: from USD to graphs and back;
- `live_session.py`: a stage whose graphs stay loaded, evaluated frame by frame and edited in between;
- `play`: from a scene to its result.

docs/nodes.md tells what users see. Public names are loaded when they are first used, as they need usd-core.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..optional_names import loader

if TYPE_CHECKING:
    from .play.graph_player import ArraySummary as ArraySummary
    from .play.graph_player import ConsentError as ConsentError
    from .play.graph_player import GraphPlayer as GraphPlayer
    from .play.player import SettingsError as SettingsError
    from .scene.graph_builder import GraphBuilder as GraphBuilder

# Module -> the public names it defines.
_HOMES = {
    "play.graph_player": "ArraySummary ConsentError GraphPlayer",
    "play.player": "SettingsError",
    "scene.graph_builder": "GraphBuilder",
}
__all__ = sorted(" ".join(_HOMES.values()).split())
__getattr__ = loader(__name__, _HOMES, globals())


def __dir__() -> list[str]:
    return __all__
