"""A browser with the console open: it sends what the page sends, and keeps the cookie of its
session.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from antiphon.access.sessions import ConsoleSessions
from antiphon.gateway import Gateway
from antiphon.http_server.asgi import AsgiApp, Message
from antiphon.ids import now
from antiphon.server.application import create_app
from antiphon.server.limits import ServerLimits
from antiphon.storage.records.tenants import Role
from tests.support.asgi import once
from tests.support.keys import issued
from tests.support.server import RunningServer

HERE = "127.0.0.1"
ELSEWHERE = "203.0.113.7"

OF_THE_PAGE = {"antiphon-console": "1", "sec-fetch-site": "same-origin"}
"""What the console's own page sends with each request."""


@dataclass
class Answered:
    """A reply."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> Any:
        """The code of an error."""
        return self.json["error"]["code"]

    def header(self, name: str) -> str:
        return next((value for one, value in self.headers if one == name), "")

    @property
    def cookies(self) -> list[str]:
        return [value for name, value in self.headers if name == "set-cookie"]


@dataclass
class Browser:
    """It reaches the application as a browser at `client` does, by `scheme`, under the name
    `host`.
    """

    app: AsgiApp
    client: str = HERE
    scheme: str = "http"
    host: str = "localhost:8321"
    root: str = ""
    cookie: str = ""
    page: Mapping[str, str] = field(default_factory=lambda: OF_THE_PAGE)

    async def send_request(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> Answered:
        """Send a request as the page does; `headers` are added to those of the page, and an empty
        one is left out.
        """
        data = b"" if body is None else json.dumps(body).encode()
        if data:
            headers = {
                "content_type": "application/json",
                "content_length": str(len(data)),
                **headers,
            }
        return await requested(self.app, self.scope(method, path, **headers), data)

    def scope(self, method: str, path: str, **headers: str) -> Message:
        """The scope of a request."""
        path, _, query = path.partition("?")
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {"host": self.host, **self.page, "cookie": self.cookie, **named}
        if method != "GET" and self.page:
            sent = {"origin": f"{self.scheme}://{self.host}", **sent}
        return {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "scheme": self.scheme,
            "path": self.root + path,
            "root_path": self.root,
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in sent.items() if value],
            "server": ("127.0.0.1", 8321),
            "client": (self.client, 50_000),
        }

    async def sign_in(self, **body: str) -> Answered:
        """Sign in by a `key` or a `code`, and keep the cookie."""
        answered = await self.send_request("POST", "/admin/v1/session", body)
        if answered.cookies:
            self.cookie = answered.cookies[0].partition(";")[0]
        return answered


async def requested(app: AsgiApp, scope: Message, data: bytes) -> Answered:
    """Send one request to an application."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, once(data), send)
    headers = [(name.decode(), value.decode()) for name, value in sent[0]["headers"]]
    return Answered(sent[0]["status"], headers, b"".join(one.get("body", b"") for one in sent[1:]))


def console_of(
    server: RunningServer, limits: ServerLimits | None = None, *, has_console: bool = True
) -> AsgiApp:
    """An application with a console over the parts of a server."""
    return create_app(
        Gateway(server.parts), server.endpoints, limits=limits, has_console=has_console
    )


async def signed_in(server: RunningServer, role: Role = Role.READ, tenant: str = "acme") -> Browser:
    """A browser that signed in with a new key of this role."""
    key, _ = await issued(server.parts.store, tenant, role=role)
    browser = Browser(console_of(server))
    assert (await browser.sign_in(key=key)).status == 200
    return browser


async def operator(server: RunningServer) -> Browser:
    """A browser that signed in with the link of `antiphon console`."""
    browser = Browser(console_of(server))
    code = await ConsoleSessions(server.parts.store, now).issue_code()
    assert (await browser.sign_in(code=code)).status == 200
    return browser
