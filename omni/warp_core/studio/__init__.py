"""`omni-warp studio`: edit the graphs and kernels of a scene in the browser, and see the result at once.

Two processes: the *server* owns the document and never runs code of a scene; the *engine*, its child, evaluates. The
page is in the folder `studio` at the top of a checkout. Start at `command.py`; `hub.py` joins the parts.

- `security.py`, `app.py`: who may ask, and what is answered;
- `document.py`, `edits.py`, `scene_description.py`, `journal.py`: the scene as the user edits it;
- `engine.py`, `display.py`, `engine_process.py`: evaluation, the geometry to draw, and the handle of the server;
- `records.py`, `frame_store.py`: arrays on their way to the page;
- `live_text.py`: which texts may run while they are typed.
"""
