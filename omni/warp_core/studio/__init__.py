"""`omni-warp studio`: edit the graphs and kernels of a scene in the browser, and see the result at once.

Two processes: the *server* owns the document and never runs code of a scene; the *engine*, its child, evaluates. The
page is in the folder `studio` at the top of a checkout. Start at `command.py`; `hub.py` joins the parts.

- `security.py`, `app.py`, `pages.py`: who may ask, what is answered, and the open pages;
- `document.py`, `edits.py`, `journal.py`: the scene as the user edits it;
- `scene_description.py`, `outline.py`: the scene as pages see it;
- `engine.py`, `display.py`: the process that evaluates, and the geometry to draw;
- `engine_process.py`, `evaluation.py`, `playback.py`: the server's side of it, with the timeline;
- `kernel_texts.py`, `agreements.py`, `live_text.py`: texts that users type, and which of them may run;
- `records.py`, `frame_store.py`: arrays on their way to the page.
"""
