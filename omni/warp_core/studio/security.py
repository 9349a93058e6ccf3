"""Who may talk to the studio: pages of its own origin that have the token.

A page of another site cannot make the browser send the token, as it is no cookie. It cannot reach the studio under a
name of its own either, as only loopback names are answered. Everything else gets status 403 without content.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Any, Send], Awaitable[None]]

_LOOPBACK = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?", re.ASCII)
# Pages that may show the studio in a frame, if it is for a notebook: those of this machine.
NOTEBOOKS = "http://localhost:* http://127.0.0.1:*"
POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "connect-src 'self'",
        "font-src 'self'",
        "img-src 'self' data: blob:",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


def new_token() -> str:
    """Return a new secret of 256 bits."""
    return secrets.token_urlsafe(32)


def is_token(given: object, token: str) -> bool:
    """True if `given` is the token. The time that this takes tells nothing about it."""
    return isinstance(given, str) and hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


def is_own(headers: list[tuple[bytes, bytes]]) -> bool:
    """True if a request asks for a loopback name, and comes from a page of the same origin if it says where from."""
    found: dict[bytes, list[str]] = {}
    for name, value in headers:
        found.setdefault(name.lower(), []).append(value.decode("latin-1"))
    hosts, origins = found.get(b"host", []), found.get(b"origin", [])
    if len(hosts) != 1 or not _LOOPBACK.fullmatch(hosts[0]) or len(origins) > 1:
        return False
    return not origins or origins[0] == f"http://{hosts[0]}"


class Guard:
    """Answers 403 to requests that are not our own, and adds headers for the browser to all answers."""

    def __init__(self, app: App, is_framed: bool = False):
        self.app = app
        self.headers = list(HEADERS)
        if is_framed:
            policy = POLICY.replace("frame-ancestors 'none'", f"frame-ancestors {NOTEBOOKS}")
            self.headers[0] = (b"content-security-policy", policy.encode())

    async def __call__(self, scope: Scope, receive: Any, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif is_own(scope["headers"]):
            await self.app(scope, receive, self._with_headers(send))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})  # before it is accepted: 403
        else:
            await send({"type": "http.response.start", "status": 403, "headers": self.headers})
            await send({"type": "http.response.body", "body": b""})

    def _with_headers(self, send: Send) -> Send:
        async def sending(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *self.headers]
            await send(message)

        return sending
