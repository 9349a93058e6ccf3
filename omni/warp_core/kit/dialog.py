"""The dialog of the consent gate, by Kit's own windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def ask_in_window(ui: Any) -> Callable[[str, Callable[[bool], None]], None]:
    """Return a function that shows a question and calls back once the user has agreed; `ui` is `omni.ui`.

    The callback gets whether to remember the answer. Closing the window is no consent.
    """

    def ask(text: str, agreed: Callable[[bool], None]) -> None:
        window = ui.Window("Code in this stage", width=640, height=480, flags=getattr(ui, "WINDOW_FLAGS_MODAL", 0))

        def answer(remember: bool | None) -> None:
            window.visible = False
            if remember is not None:
                agreed(remember)

        with window.frame, ui.VStack(spacing=8):
            with ui.ScrollingFrame():
                ui.Label(text, alignment=ui.Alignment.LEFT_TOP)
            with ui.HStack(height=28, spacing=8):
                ui.Button("Do not run", clicked_fn=lambda: answer(None))
                ui.Button("Run this time", clicked_fn=lambda: answer(False))
                ui.Button("Run and remember", clicked_fn=lambda: answer(True))

    return ask
