"""`omni-warp studio`: edit the graphs and kernels of a scene in the browser, and see the result at once.

Two processes: the *server* owns the document and never runs code of a scene; the *engine*, its child, evaluates. The
page is in the folder `studio` at the top of a checkout. Start at `command.py`; `hub.py` joins the parts.

- `security.py`, `app.py`, `pages.py`: who may ask, what is answered, and the open pages;
- `editing`: the scene as the user edits it, and as pages see it;
- `engine.py`, `display.py`: the process that evaluates, and the geometry to draw;
- `engine_process.py`, `evaluation.py`, `playback.py`: the server's side of it, with the timeline;
- `kernel_texts.py`, `agreements.py`, `live_text.py`: texts that users type, and which of them may run;
- `investigation.py`, `baking.py`, `kernel_names.py`: why a text failed, results as a file, names that complete;
- `dense_volumes.py`: volumes as the page draws them;
- `records.py`, `frame_store.py`: arrays on their way to the page;
- `notebook.py`: the page in a cell of a notebook, `wp.studio.show`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..optional_names import loader

if TYPE_CHECKING:
    from .notebook import show as show

_HOMES = {"notebook": "show"}
__all__ = ["show"]
__getattr__ = loader(__name__, _HOMES, globals())


def __dir__() -> list[str]:
    return __all__
