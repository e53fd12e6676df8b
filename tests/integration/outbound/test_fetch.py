"""Fetching pages: what comes, how much, from where, and after which redirects."""

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from yarl import URL

from antiphon.outbound.fetch import MAX_BYTES, MAX_REDIRECTS, Fetched, Fetcher, FetchError
from antiphon.outbound.lookups import Asker
from antiphon.outbound.ssrf import Reach, read_networks
from tests.support.tripwire import tripwire
from tests.support.web_app import serving_app

HTML = ["text/html"]
Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Web:
    """A small web, on 127.0.0.1 alone, which stands for the public one: the tripwire is on every
    other address.
    """

    port: int = 0
    pages: dict[str, Answering] = field(default_factory=dict)
    seen: list[web.Request] = field(default_factory=list)
    names: dict[str, list[list[str]]] = field(default_factory=dict)
    """What is answered for a name, one after the other; the last again and again."""
    requested: list[str] = field(default_factory=list)
    is_over: asyncio.Event = field(default_factory=asyncio.Event)

    def url(self, path: str = "/", host: str = "site.example") -> str:
        return f"http://{host}:{self.port}{path}"

    async def resolve(self, name: str, asker: Asker) -> list[str]:
        self.requested.append(name)
        answers = self.names.get(name, [["127.0.0.1"]])
        return answers[min(self.requested.count(name), len(answers)) - 1]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(request)
        return await self.pages[request.path](request)


@asynccontextmanager
async def small_web(**pages: Answering) -> AsyncIterator[tuple[Web, Fetcher]]:
    one = Web(pages={f"/{name}": page for name, page in pages.items()})
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", one.answer)
    fetcher = Fetcher(Reach(read_networks(["127.0.0.1"]), resolve=one.resolve))
    async with serving_app(app) as origin:
        one.port = int(origin.rpartition(":")[2])
        try:
            yield one, fetcher
        finally:
            one.is_over.set()


def page(
    body: bytes = b"<p>Hello", type: str = "text/html", status: int = 200, **headers: str
) -> Answering:
    async def answer(request: web.Request) -> web.Response:
        reported = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(body=body, status=status, headers={"content-type": type, **reported})

    return answer


def redirect(to: str | Callable[[web.Request], str], status: int = 302) -> Answering:
    async def answer(request: web.Request) -> web.Response:
        location = to if isinstance(to, str) else to(request)
        return web.Response(status=status, headers={"location": location, "set-cookie": "a=b"})

    return answer


async def trouble(fetching: Awaitable[Fetched]) -> tuple[str, str]:
    with pytest.raises(FetchError) as caught:
        await fetching
    return caught.value.kind, str(caught.value)


async def test_a_page_comes_with_its_type_its_charset_and_where_it_was_found() -> None:
    async with small_web(a=page(b"<p>\xe4", "Text/HTML; charset=ISO-8859-1")) as (site, fetcher):
        found = await fetcher.fetch(site.url("/a#part"), HTML)

    assert found == Fetched(site.url("/a"), 200, "text/html", "iso-8859-1", b"<p>\xe4")


async def test_a_page_is_requested_without_any_user_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    async with small_web(a=redirect("/b"), b=page()) as (site, fetcher):
        await fetcher.fetch(site.url("/a"), HTML)

    assert [request.method for request in site.seen] == ["GET", "GET"]
    for request in site.seen:
        reported = {"host", "accept", "accept-encoding", "user-agent", "connection"}
        assert {name.lower() for name in request.headers} == reported
        assert request.headers["host"] == f"site.example:{site.port}"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_followed(status: int) -> None:
    async with small_web(a=redirect("b?c=d#e", status), b=page()) as (site, fetcher):
        assert (await fetcher.fetch(site.url("/a"), HTML)).url == site.url("/b?c=d")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize(
    "host", ["127.0.0.2", "[::1]", "[::ffff:127.0.0.2]", "inside.example", "0.0.0.0", "127.2"]
)
async def test_a_redirect_to_a_private_address_is_not(status: int, steps: int, host: str) -> None:
    def further(request: web.Request) -> str:
        step = int(request.query["step"])
        return f"/a?step={step - 1}" if step > 1 else f"http://{host}:{wire.port}/"

    async with tripwire() as wire, small_web(a=redirect(further, status)) as (site, fetcher):
        site.names["inside.example"] = [["127.0.0.2"]]
        kind, _ = await trouble(fetcher.fetch(site.url(f"/a?step={steps}"), HTML))

        assert kind == ("refused" if host == "127.2" else "private")
        assert (len(site.seen), wire.touched) == (steps, 0)


@pytest.mark.parametrize(
    "location",
    [
        "file:///etc/passwd",
        "gopher://a/",
        "//user:word@site.example/",
        "http://a\\@b/",
        "javascript:x",
        "http://[::1",
        "data:,",
    ],
)
async def test_a_redirect_to_what_is_no_page_is_refused(location: str) -> None:
    async with small_web(a=redirect(location)) as (site, fetcher):
        assert (await trouble(fetcher.fetch(site.url("/a"), HTML)))[0] == "refused"


async def test_a_redirect_is_followed_five_times() -> None:
    def further(request: web.Request) -> str:
        return f"/a?left={int(request.query['left']) - 1}" if request.query["left"] != "1" else "/b"

    async with small_web(a=redirect(further), b=page()) as (site, fetcher):
        assert (await fetcher.fetch(site.url(f"/a?left={MAX_REDIRECTS}"), HTML)).body
        kind, stated = await trouble(fetcher.fetch(site.url(f"/a?left={MAX_REDIRECTS + 1}"), HTML))

    assert (kind, stated) == ("too_many_redirects", "it redirects more than 5 times")


async def test_the_caller_decides_for_every_address_whether_it_is_allowed() -> None:
    reported: list[URL] = []

    def may_request(url: URL) -> bool:
        reported.append(url)
        return url.host != "bad.example"

    async with small_web(a=redirect(lambda _: site.url("/a", "BAD.example.")), b=page()) as (
        site,
        fetcher,
    ):
        assert (await fetcher.fetch(site.url("/b"), HTML, may_request=may_request)).status == 200
        assert (await trouble(fetcher.fetch(site.url("/a"), HTML, may_request=may_request)))[
            0
        ] == "refused"
        assert (
            await trouble(
                fetcher.fetch(site.url("/b", "bad.example"), HTML, may_request=may_request)
            )
        )[0] == "refused"

    assert [url.host for url in reported] == [
        "site.example",
        "site.example",
        "bad.example",
        "bad.example",
    ]
    assert [request.path for request in site.seen] == ["/b", "/a"]


async def test_a_name_that_changes_its_address_leads_nowhere_else() -> None:
    async with tripwire() as wire, small_web(a=page()) as (site, fetcher):
        site.names["site.example"] = [
            ["127.0.0.1"],
            ["127.0.0.2"],
            ["127.0.0.1", "127.0.0.2"],
            ["127.0.0.1"],
        ]
        assert (await fetcher.fetch(site.url("/a"), HTML)).body
        assert site.requested == ["site.example"]
        assert (await trouble(fetcher.fetch(site.url("/a"), HTML)))[0] == "private"
        assert (await trouble(fetcher.fetch(site.url("/a"), HTML)))[0] == "private"
        assert (await fetcher.fetch(site.url("/a"), HTML)).body
        assert (len(site.seen), wire.touched) == (2, 0)


@pytest.mark.parametrize("types", [["text/plain"], ["application/*", "image/png"], []])
async def test_a_page_of_another_type_is_not_read(types: list[str]) -> None:
    async with small_web(a=page()) as (site, fetcher):
        kind, stated = await trouble(fetcher.fetch(site.url("/a"), types))

    assert (kind, stated) == ("wrong_type", "it is of the type text/html, which is not supported")


async def test_types_may_be_whole_families() -> None:
    async with small_web(a=page(type="text/x-rst")) as (site, fetcher):
        assert (
            await fetcher.fetch(site.url("/a"), ["application/json", "text/*"])
        ).content_type == "text/x-rst"


async def test_what_has_no_type_is_bytes() -> None:
    async with small_web(a=page(b"x", "")) as (site, fetcher):
        assert (await fetcher.fetch(site.url("/a"), ["application/octet-stream"])).body == b"x"


@pytest.mark.parametrize("status", [300, 304, 401, 404, 500, 503])
async def test_an_unsuccessful_status_is_reported_without_a_body(status: int) -> None:
    async with small_web(
        a=page(b"oh no" if status != 304 else b"", "application/json", status)
    ) as (site, fetcher):
        found = await fetcher.fetch(site.url("/a"), HTML)

    assert (found.status, found.body) == (status, b"")


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_what_is_compressed_is_inflated(coding: str) -> None:
    packed = gzip.compress(b"hello") if coding == "gzip" else zlib.compress(b"hello")
    async with small_web(a=page(packed, content_encoding=coding)) as (site, fetcher):
        assert (await fetcher.fetch(site.url("/a"), HTML)).body == b"hello"


async def test_exactly_as_many_bytes_as_are_allowed_are_read() -> None:
    async with small_web(a=page(1000 * b"x")) as (site, fetcher):
        assert len((await fetcher.fetch(site.url("/a"), HTML, max_bytes=1000)).body) == 1000
        kind, stated = await trouble(fetcher.fetch(site.url("/a"), HTML, max_bytes=999))

    assert (kind, stated) == ("too_big", "it has more than 999 bytes")


async def test_a_page_without_end_is_cut_off() -> None:
    left = asyncio.Event()

    async def endless(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"content-type": "text/html"})
        await answer.prepare(request)
        try:
            while True:
                await answer.write(64 * 1024 * b"x")
        finally:
            left.set()

    async with small_web(a=endless) as (site, fetcher):
        assert (await trouble(fetcher.fetch(site.url("/a"), HTML, max_bytes=1_000_000)))[
            0
        ] == "too_big"
        async with asyncio.timeout(30):
            await left.wait()


async def test_a_page_with_a_large_declared_size_is_not_read() -> None:
    async def big(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(
            headers={"content-type": "text/html", "content-length": "100000000"}
        )
        await answer.prepare(request)
        await site.is_over.wait()
        return answer

    async with small_web(a=big) as (site, fetcher):
        assert (await trouble(fetcher.fetch(site.url("/a"), HTML)))[0] == "too_big"


@pytest.mark.wide
async def test_a_small_body_that_is_huge_inside_is_cut_off() -> None:
    bomb = gzip.compress(200_000_000 * b"x", 9)
    async with small_web(a=page(bomb, content_encoding="gzip")) as (site, fetcher):
        tracemalloc.start()
        assert (await trouble(fetcher.fetch(site.url("/a"), HTML)))[0] == "too_big"
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert most < 5 * MAX_BYTES


@pytest.mark.parametrize("begins", [False, True])
async def test_a_slow_page_ends_after_its_time(begins: bool) -> None:
    async def slow(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"content-type": "text/html"})
        if begins:
            await answer.prepare(request)
            await answer.write(b"<p>")
        await site.is_over.wait()
        return answer

    async with small_web(a=slow) as (site, fetcher):
        assert await trouble(fetcher.fetch(site.url("/a"), HTML, seconds=0.05)) == (
            "slow",
            "it did not answer within 0.05 seconds",
        )


async def test_the_time_counts_over_all_redirects_and_names() -> None:
    async def never(name: str, asker: Asker) -> list[str]:
        await asyncio.Event().wait()
        return []

    fetcher = Fetcher(Reach(resolve=never))
    assert (await trouble(fetcher.fetch("http://a.example/", HTML, seconds=0.05)))[0] == "slow"


async def test_without_a_listener_the_page_is_dead() -> None:
    async with small_web() as (site, fetcher):
        port = site.port
    fetcher = Fetcher(Reach(read_networks(["127.0.0.1"])))
    assert await trouble(fetcher.fetch(f"http://127.0.0.1:{port}/", HTML)) == (
        "dead",
        "it is unreachable",
    )


async def test_where_a_name_is_unknown_the_page_is_dead() -> None:
    async def unknown(name: str, asker: Asker) -> list[str]:
        raise OSError("nobody knows it")

    fetcher = Fetcher(Reach(resolve=unknown))
    assert await trouble(fetcher.fetch("http://a.example/", HTML)) == ("dead", "it is unreachable")


@pytest.mark.parametrize(
    ("stated", "reason"),
    [
        (b"", "it is unreachable"),
        (b"SSH-2.0-x\r\n", "it is unreachable"),
        (
            b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 9\r\n\r\nx",
            "its response was incomplete",
        ),
        (
            b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-type: text/html\r\n\r\nnot "
            b"packed",
            "its response was incomplete",
        ),
        (b"HTTP/1.1 200 OK\r\n" + 9000 * b"x: y\r\n" + b"\r\n", "it is unreachable"),
        (b"HTTP/1.1 200 OK\r\nx: " + 100_000 * b"y" + b"\r\n\r\n", "it is unreachable"),
    ],
)
async def test_an_invalid_answer_is_a_dead_page(stated: bytes, reason: str) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        writer.write(stated)
        writer.close()

    fetcher = Fetcher(Reach(read_networks(["127.0.0.1"])))
    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert await trouble(fetcher.fetch(f"http://127.0.0.1:{port}/", HTML)) == ("dead", reason)
        assert (await trouble(fetcher.fetch(f"https://127.0.0.1:{port}/", HTML)))[0] == "dead"
