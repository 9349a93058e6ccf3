"""The web application of the studio: the page's files, a WebSocket for control, and a stream of frames for each page.

Nothing of the scene leaves before the token: the page's files are the same for everybody, the socket wants the token as
its first message, and the stream wants it in a header.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect

from .built_page import PAGE, problem
from .hub import Hub
from .pages import Page
from .records import to_json
from .security import App, Guard, is_token

HELLO_SECONDS = 10.0
_REFUSED = 1008  # close code of a WebSocket: policy


def application(hub: Hub, token: str, is_framed: bool = False) -> App:
    """Return the application of a hub. The hub runs as long as the application does.

    `is_framed` lets notebooks on this machine show it in a frame.
    """
    pages: dict[str, Page] = {}

    @asynccontextmanager
    async def running(app: Starlette) -> AsyncIterator[None]:
        await hub.start()
        try:
            yield
        finally:
            await hub.stop()

    async def socket(websocket: WebSocket) -> None:
        await websocket.accept()
        name = secrets.token_hex(8)
        greeting = await _greeting(websocket, token)
        if greeting is None:
            await websocket.close(_REFUSED)
            return
        outbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        page = pages[name] = Page(outbox.put_nowait)
        outbox.put_nowait({"is": "hello", "page": name})
        hub.attach(page, *_known(greeting))
        sending = asyncio.create_task(_send_all(websocket, outbox))
        try:
            while True:
                await _receive_one(websocket, hub, page)
        except WebSocketDisconnect:
            pass
        finally:
            sending.cancel()
            hub.detach(page)
            del pages[name]
            page.records.put_nowait(b"")  # ends the stream

    async def frames(request: Request) -> Response:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        page = pages.get(request.query_params.get("page", ""))
        if scheme != "Bearer" or not is_token(given, token) or page is None:
            return Response(status_code=403)
        return StreamingResponse(_records(page), media_type="application/octet-stream")

    routes = [Route("/", _index), Route("/frames", frames), WebSocketRoute("/ws", socket)]
    if PAGE.is_dir():
        routes.append(Mount("/assets", StaticFiles(directory=PAGE / "assets")))  # type: ignore[arg-type]
    return Guard(Starlette(routes=routes, lifespan=running), is_framed)


async def _index(request: Request) -> Response:
    if text := problem():
        return PlainTextResponse(text, 503)
    return FileResponse(PAGE / "index.html")


async def _greeting(websocket: WebSocket, token: str) -> dict[str, Any] | None:
    """Return the first message if it is a greeting with the token, else None."""
    try:
        message = json.loads(await asyncio.wait_for(websocket.receive_text(), HELLO_SECONDS))
    except (ValueError, KeyError, TimeoutError, asyncio.TimeoutError, WebSocketDisconnect, RecursionError):
        return None
    is_greeting = isinstance(message, dict) and message.get("is") == "hello" and is_token(message.get("token"), token)
    return message if is_greeting else None


def _known(greeting: dict[str, Any]) -> tuple[int, dict[str, int]]:
    """Return the epoch and the revisions of texts that a page has from before its connection was lost."""
    epoch, texts = greeting.get("epoch"), greeting.get("texts")
    known = texts.items() if isinstance(texts, dict) else ()
    return epoch if isinstance(epoch, int) else -1, {node: rev for node, rev in known if isinstance(rev, int)}


async def _receive_one(websocket: WebSocket, hub: Hub, page: Page) -> None:
    text = await websocket.receive_text()
    try:
        message = json.loads(text)
        if not isinstance(message, dict):
            raise ValueError("it is no object")
    except (ValueError, RecursionError) as error:
        page.post({"is": "refused", "text": f"a message cannot be read: {error}"})
        return
    hub.receive(page, message)


async def _send_all(websocket: WebSocket, outbox: asyncio.Queue[dict[str, Any]]) -> None:
    while True:
        await websocket.send_text(to_json(await outbox.get()))


async def _records(page: Page) -> AsyncIterator[bytes]:
    while record := await page.records.get():
        yield record
