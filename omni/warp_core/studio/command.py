"""`omni-warp studio`: open a scene, serve the page on this machine alone, and open it in the browser."""

from __future__ import annotations

import asyncio
import contextlib
import html
import os
import socket
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path

import uvicorn

from ..nodes.extensions import node_folders
from .app import application
from .built_page import problem
from .editing.document import Document
from .engine_process import EngineOptions
from .hub import Hub
from .security import new_token

_HOSTS = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))


class NotBuiltError(Exception):
    """An installation without the page, or with one that was built from other sources."""


def run(
    scene: str | None,
    port: int,
    options: EngineOptions,
    browser: bool,
    tell: Callable[[str], None],
    is_framed: bool = False,
) -> None:
    """Serve a scene until Ctrl-C. Raises StageError, OSError, NotBuiltError, and OgnError for a folder without nodes.

    Args:
        scene: Path of the scene, None for a new one in the current folder.
        port: Port on the loopback interfaces, 0 for a free one.
        options: Device of the kernels, folders of node types.
        browser: True to open the page in the user's browser.
        tell: Called with the address of the page.
        is_framed: True for a notebook, which shows the page in a frame.
    """
    if browser and (text := problem()):
        raise NotBuiltError(text)
    document = Document.new(os.getcwd()) if scene is None else Document.open(scene)
    for folder in options.nodes:  # their code runs in the engine alone, which tells mistakes
        node_folders.add_descriptions(document.registry, Path(folder), lambda *_: None)
    hub, token = Hub(document, options), new_token()
    with contextlib.ExitStack() as stack:
        sockets = _listen(stack, port)
        address = f"http://127.0.0.1:{sockets[0].getsockname()[1]}/#token={token}"
        tell(address)
        if browser:
            webbrowser.open(Path(stack.enter_context(_redirect(address))).as_uri())
        asyncio.run(serve(hub, token, sockets, is_framed))


async def serve(hub: Hub, token: str, sockets: list[socket.socket], is_framed: bool = False) -> None:
    """Serve a hub on open sockets until the process is asked to end."""
    settings = uvicorn.Config(
        application(hub, token, is_framed), ws="websockets-sansio", ws_per_message_deflate=False, log_level="warning",
        lifespan="on", server_header=False, timeout_graceful_shutdown=1, access_log=False,
    )  # fmt: skip
    await uvicorn.Server(settings).serve(sockets)


def _listen(stack: contextlib.ExitStack, port: int) -> list[socket.socket]:
    """Return sockets on one port of the loopback interfaces. Raises OSError where IPv4 has no such port."""
    sockets: list[socket.socket] = []
    for family, host in _HOSTS:
        try:
            opened = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            opened.bind((host, sockets[0].getsockname()[1] if sockets else port))
        except OSError:
            if not sockets:
                raise
            continue  # a machine without IPv6, or the port is taken there
        opened.listen()  # the browser may ask before the server runs
        sockets.append(opened)
    return sockets


@contextlib.contextmanager
def _redirect(address: str) -> Iterator[str]:
    """Give a private file that leads the browser to an address: arguments of processes can be seen by all users."""
    folder = tempfile.mkdtemp(prefix="omni-warp-studio-")  # for this user alone
    path = os.path.join(folder, "open.html")
    link = html.escape(address)
    text = f'<!doctype html><meta http-equiv="refresh" content="0; url={link}"><a href="{link}">Open the studio</a>\n'
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    try:
        yield path
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)
            os.rmdir(folder)
