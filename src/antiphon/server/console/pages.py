"""`/console/`: the single page of the console, and its files.

The page is the same for every path below `/console/`; its script reads the path. It contains no
data, so it needs no key. It can load files and call endpoints of this server only, and runs no
script except its own file.
"""

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from antiphon.gateway import Gateway
from antiphon.http_server.asgi import RawHeaders
from antiphon.server import console
from antiphon.server.described import Described
from antiphon.server.home_page import HEADERS as PLAIN_HEADERS
from antiphon.server.home_page import STYLE
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import HttpRequest
from antiphon.server.routes import unknown_url

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; "
    "font-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)

SAFE: RawHeaders = [
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
]

PAGE: RawHeaders = [
    (b"content-type", b"text/html; charset=utf-8"),
    (b"content-security-policy", POLICY.encode()),
    (b"cache-control", b"no-store"),
    *SAFE,
]

ASSET: RawHeaders = [
    (b"cache-control", b"public, max-age=31536000, immutable"),
    (b"vary", b"accept-encoding"),
    *SAFE,
]

NAME = re.compile(r"[A-Za-z0-9_.-]*-[A-Za-z0-9_-]{8,}\.(\w+)")
"""A file of the bundle: its name, a hash of its content, and its kind."""

TYPES = {
    "js": b"text/javascript; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "svg": b"image/svg+xml",
    "png": b"image/png",
    "json": b"application/json",
}
"""The media type of each kind of file."""

NO_ASSET = Reply(
    b"The console has no such file. After an update of the server, reload the page.\n",
    [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")],
    status=404,
)

LINK = re.compile(rb'(?<==")(?:\./|/console/)(?=[\w-]+)')
"""The prefix of the page's links to its files, relative or absolute."""


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""
    return {
        "/console": {"GET": _add_slash},
        "/console/": {"GET": _page},
        "/console/assets/{name}": {"GET": _asset},
        "/console/{path:path}": {"GET": _page},
    }


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    return (
        Described("get", "/console", "Redirects to the page of the console"),
        Described("get", "/console/", "The page of the console"),
        Described("get", "/console/assets/{name}", "A file of the page"),
        Described("get", "/console/{path}", "The page of the console"),
    )


async def _add_slash(http: HttpRequest) -> Reply:
    return Reply(b"", [(b"location", b"console/"), *SAFE], status=308)


async def _page(http: HttpRequest) -> Reply:
    if http.path.startswith("/console/assets"):
        raise unknown_url(http)
    return _page_below(http.scope.get("root_path", ""))


async def _asset(http: HttpRequest) -> Reply:
    is_packed = b"gzip" in http.headers.get(b"accept-encoding", b"")
    return _asset_named(http.path_params["name"], is_packed=is_packed) or NO_ASSET


def _page_below(root: str) -> Reply:
    """Return the page, with links below the path at which a parent application has mounted it."""
    if not console.is_built():
        return Reply(NOT_BUILT, [*PLAIN_HEADERS, *SAFE[:2]])
    base = f"{escape(root)}/console/".encode()
    page = (console.STATIC / "index.html").read_bytes()
    return Reply(LINK.sub(lambda found: base, page), PAGE)


def _asset_named(name: str, *, is_packed: bool) -> Reply | None:
    """Return a file of the bundle, compressed if such a file exists and `is_packed`; None for any
    other name.
    """
    found = NAME.fullmatch(name)
    kind = TYPES.get(found[1]) if found else None
    path = console.STATIC / "assets" / name
    if kind is None or not path.is_file():
        return None
    headers = [(b"content-type", kind), *ASSET]
    packed = Path(f"{path}.gz")
    if is_packed and packed.is_file():
        return Reply(packed.read_bytes(), [*headers, (b"content-encoding", b"gzip")])
    return Reply(path.read_bytes(), headers)


NOT_BUILT = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Antiphon: the console is not built</title>
<style>{STYLE}</style>
<h1>The console is not built</h1>
<p>This installation of Antiphon does not contain the files of the console. The API works without them.</p>
<p>In a clone of the repository, <code>make serve</code> builds the console and starts the server.
A wheel of Antiphon contains the console: <code>pip install antiphon</code>.</p>
</html>
""".encode()  # noqa: E501 - the lines of a text
