"""`/`: what runs here, as a page for a browser and as a few lines of JSON for a program.

It needs no key, so it shows nothing that a key protects: models appear only if the server needs no
key, and the address of a backend never. The page's code is loaded by the first request for the
page. Claude Code requests `/api/hello` before its first message, only to open a connection.
"""

from collections.abc import Sequence

from antiphon.gateway import Gateway
from antiphon.server import console
from antiphon.server.admission import HELLO
from antiphon.server.described import Described
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import HttpRequest
from antiphon.server.watchers import WatchAccess
from antiphon.version import __version__


def resources(
    gateway: Gateway,
    *,
    has_metrics: bool = True,
    access: WatchAccess | None = None,
    has_console: bool = False,
) -> Resources:
    """Return the endpoints; `access` decides which clients see links to the status and the metrics.

    With a console that was built, browsers are redirected to it.
    """
    watchers = access or WatchAccess()

    async def get_home(http: HttpRequest) -> Reply:
        if b"text/html" not in http.headers.get(b"accept", b""):
            about = {
                "name": "Antiphon",
                "version": __version__,
                "openapi": "/openapi.json",
                "models": "/v1/models",
            }
            return Reply(about)
        if has_console and console.is_built():
            return Reply(
                b"",
                [(b"location", b"console/"), (b"vary", b"accept"), (b"cache-control", b"no-store")],
                status=303,
            )
        from antiphon.server.home_page import HEADERS, page  # noqa: PLC0415 - for browsers alone

        needs_key = await gateway.known_keys.are_needed()
        readiness = gateway.readiness
        is_healthy = (
            gateway.process.accepts_work
            and await readiness.store_answers()
            and await readiness.backend_answers()
        )
        models = gateway.models.names() if not needs_key else None
        may_watch = watchers.allows(http.scope, needs_key=needs_key)
        body = page(models, is_healthy=is_healthy, has_metrics=has_metrics, may_watch=may_watch)
        return Reply(body, HEADERS)

    async def get_hello(http: HttpRequest) -> Reply:
        return Reply({"status": "ok"})

    return {"/": {"GET": get_home}, HELLO: {"GET": get_hello}}


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    return (
        Described("get", "/", "Show the start page"),
        Described("get", HELLO, "Open a connection"),
    )
