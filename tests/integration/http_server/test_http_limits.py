"""HTTP that no client would send: smuggled, endless, slow, too many (bad inputs 4, 18 to 20,
threats 36 and 37).
"""

import asyncio
import random
from contextlib import AsyncExitStack
from typing import Any

import pytest
from websockets.asyncio.client import connect

from antiphon.http_server.http_limits import MAX_HEADERS, MAX_PIPELINED
from antiphon.server.limits import ServerLimits
from antiphon.upstream.http import HttpBackend
from tests.support.chance import SEED, times
from tests.support.raw import BODY, PATIENCE, connected, error_of, post, state, status_of
from tests.support.replay import Answer, ReplayBackend, delta, sse
from tests.support.server import RunningServer, serve
from tests.support.waiting import eventually, let_others_run, until

HEAD = b"POST /v1/responses HTTP/1.1\r\nhost: x\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n"
GET = b"GET /v1/models HTTP/1.1\r\nhost: x\r\n"
LAST = GET + b"connection: close\r\n\r\n"

CODED = b"transfer-encoding: chunked\r\n\r\n"
H2C = (
    b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: "
    b"AAMAAABkAARAAAAAAAIAAAAA\r\n"
)
SIZE = b"content-length: %d\r\n" % len(BODY)
WEBSOCKET = (
    b"connection: Upgrade\r\nupgrade: websocket\r\n"
    b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n"
)

SMUGGLED = {
    "length and chunks": CHUNKED + b"content-length: 5\r\n\r\n0\r\n\r\n",
    "chunks and length": HEAD + b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": HEAD + b"content-length: 5\r\ncontent-length: 6\r\n\r\nhello",
    "two equal lengths": HEAD + b"content-length: 5\r\ncontent-length: 5\r\n\r\nhello",
    "a list of lengths": HEAD + b"content-length: 5, 5\r\n\r\nhello",
    "a length with a sign": HEAD + b"content-length: +5\r\n\r\nhello",
    "a length below zero": HEAD + b"content-length: -5\r\n\r\nhello",
    "a length in hexadecimal": HEAD + b"content-length: 0x5\r\n\r\nhello",
    "a length of 30 digits": HEAD + b"content-length: 100000000000000000000000000000\r\n\r\n",
    "an empty length": HEAD + b"content-length: \r\n\r\n",
    "an unknown transfer coding": HEAD + b"transfer-encoding: gzip\r\n\r\nhello",
    "chunked, then something": HEAD + b"transfer-encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    "nearly chunked": HEAD + b"transfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
    "another coding before chunked": HEAD + b"transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "another coding in a line before": HEAD
    + b"transfer-encoding: bogus\r\n"
    + CODED
    + b"0\r\n\r\n",
    "chunked twice": HEAD + b"transfer-encoding: chunked\r\n" + CODED + b"0\r\n\r\n",
    "no coding": HEAD + b"transfer-encoding: \r\n\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": HEAD.replace(b"/1.1", b"/1.0") + CODED + b"0\r\n\r\n",
    "an upgrade, nearly chunked": HEAD + H2C + b"transfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
    "an upgrade, coded before chunked": HEAD
    + H2C
    + b"transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "an upgrade with an endless length": HEAD + H2C + b"content-length: " + b"9" * 30 + b"\r\n\r\n",
    "a handshake that is not ASCII": GET + WEBSOCKET + b"sec-websocket-protocol: \xff\r\n\r\n",
    "a handshake's key that is not ASCII": GET + WEBSOCKET.replace(b"==", b"\xad=") + b"\r\n",
    "a bad chunk size": CHUNKED + b"\r\nxyz\r\n",
    "a chunk size below zero": CHUNKED + b"\r\n-1\r\n",
    "a chunk size that overflows": CHUNKED + b"\r\nfffffffffffffffff\r\n",
    "a chunk longer than its size": CHUNKED + b"\r\n2\r\nhello\r\n0\r\n\r\n",
    "a folded header": GET + b"x-a: b\r\n c\r\n\r\n",
    "a space before the colon": GET + b"x-a : b\r\n\r\n",
    "a header without colon": GET + b"x-a\r\n\r\n",
    "a header without name": GET + b": b\r\n\r\n",
    "a NUL in a header": GET + b"authorization: Bearer a\x00b\r\n\r\n",
    "a bare CR in a header": GET + b"x-a: b\rc: d\r\n\r\n",
    "a bare LF in the head": b"GET /v1/models HTTP/1.1\nhost: x\n\n",
    "no path": b"GET  HTTP/1.1\r\nhost: x\r\n\r\n",
    "a space in the path": b"GET /v1/mo dels HTTP/1.1\r\nhost: x\r\n\r\n",
    "a NUL in the path": b"GET /v1/\x00 HTTP/1.1\r\nhost: x\r\n\r\n",
    "a path that is not ASCII": b"GET /v1/\xff HTTP/1.1\r\nhost: x\r\n\r\n",
    "an unknown method": b"BREW /v1/models HTTP/1.1\r\nhost: x\r\n\r\n",
    "a tunnel": b"CONNECT evil.com:443 HTTP/1.1\r\nhost: x\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/9": b"GET /v1/models HTTP/9.9\r\nhost: x\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100),
}


@pytest.mark.parametrize("stated", SMUGGLED.values(), ids=SMUGGLED)
async def test_what_two_programs_could_read_differently_is_refused_and_closed(
    server: RunningServer, backend: ReplayBackend, caplog: pytest.LogCaptureFixture, stated: bytes
) -> None:
    reply = await state(server.url, stated, LAST)

    assert status_of(reply) == 400
    assert (error_of(reply)["type"], error_of(reply)["code"]) == ("invalid_request_error", None)
    assert reply.count(b"HTTP/1.1 ") == 1
    assert backend.requests == []
    assert "ERROR" not in caplog.text


@pytest.mark.parametrize(
    "stated", [HEAD + WEBSOCKET + SIZE + b"\r\n" + BODY, GET + WEBSOCKET + SIZE + b"\r\n" + BODY]
)
async def test_an_upgrade_of_a_request_that_cannot_open_a_websocket_is_ignored(
    server: RunningServer, stated: bytes
) -> None:
    reply = await state(server.url, stated + LAST)

    assert status_of(reply) == 200


async def test_a_handshake_with_a_line_too_long_for_a_websocket_is_refused(
    server: RunningServer,
) -> None:
    reply = await state(server.url, GET + WEBSOCKET + b"cookie: " + b"c" * 9_000 + b"\r\n\r\n")

    assert status_of(reply) == 431


async def test_a_body_that_is_refused_while_its_client_waits_to_send_it_is_refused_once(
    server: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    reply = await state(server.url, CHUNKED + b"expect: 100-continue\r\n\r\nzz\r\n")

    assert status_of(reply) == 400
    assert "ERROR" not in caplog.text


WORDS = {
    "method": [b"GET", b"GET", b"POST", b"POST", b"HEAD", b"OPTIONS", b"CONNECT"],
    "path": [b"/v1/responses"] * 6
    + [b"*", b"http://x", b"http://[::1/", b"/v1/%ff%00", b"?", b"//", b"/" + b"a" * 9_000],
    "version": [b"1.1"] * 6 + [b"1.0", b"2.0"],
    "framing": [
        b"content-length: 5\r\n",
        b"content-length: 0\r\n",
        CODED[:-2],
        b"transfer-encoding: gzip\r\n",
        b"",
        b"",
    ],
    "upgrade": [
        WEBSOCKET,
        WEBSOCKET,
        H2C,
        b"connection: Upgrade\r\n",
        b"upgrade: websocket\r\n",
        b"",
        b"",
    ],
    "more": [
        *(
            b"expect: 100-continue\r\n",
            b"sec-websocket-protocol: \xff\r\n",
            b"sec-websocket-extensions: ;;\r\n",
        ),
        *(
            b"host: \xff\r\n",
            b"origin: \xff\r\n",
            b"content-encoding: \xff\r\n",
            b"authorization: Bearer \xff\r\n",
            b"",
        ),
    ],
    "body": [
        b"",
        b"hello",
        b"5\r\nhello\r\n0\r\n\r\n",
        b"zz\r\n",
        b"\x81\x85\0\0\0\0hello",
        BODY,
        LAST,
    ],
}


async def test_no_request_is_a_fault(
    server: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    chance = random.Random(SEED)
    for _ in range(times(150)):
        parts = {name: chance.choice(words) for name, words in WORDS.items()}
        stated = (
            b"%(method)b %(path)b HTTP/%(version)b\r\nhost: "
            b"x\r\n%(upgrade)b%(framing)b%(more)b\r\n%(body)b"
        ) % {name.encode(): part for name, part in parts.items()}
        cut = chance.randrange(len(stated))
        async with connected(server.url) as (reader, writer):
            writer.write(stated[:cut])
            await let_others_run()
            writer.write(stated[cut:])
            writer.write_eof()
            async with asyncio.timeout(PATIENCE):
                await reader.read()
        errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
        assert (stated, errors) == (stated, [])


async def test_a_body_in_chunks_is_taken(server: RunningServer) -> None:
    chunks = b"".join(
        b"%x\r\n%s\r\n" % (len(BODY[i : i + 7]), BODY[i : i + 7]) for i in range(0, len(BODY), 7)
    )

    reply = await state(server.url, CHUNKED + b"connection: close\r\n\r\n" + chunks + b"0\r\n\r\n")

    assert status_of(reply) == 200


@pytest.mark.parametrize(
    "headers",
    [
        b"x-filler: " + b"y" * 70_000 + b"\r\n",
        b"authorization: Bearer " + b"k" * 1_000_000 + b"\r\n",
        b"a: b\r\n" * 10_000,
        b"a: b\r\n" * MAX_HEADERS,
        b"x-filler: " + b"y" * 5_000_000 + b"\r\n",
    ],
    ids=["70 kB", "a key of 1 MB", "10,000", "101", "5 MB"],
)
async def test_a_head_that_is_too_large_is_refused(server: RunningServer, headers: bytes) -> None:
    reply = await state(server.url, GET + headers + b"\r\n")

    assert (status_of(reply), error_of(reply)["code"]) == (431, None)


async def test_a_path_that_is_too_long_is_refused(server: RunningServer) -> None:
    reply = await state(server.url, b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n")

    assert status_of(reply) == 431


async def test_what_follows_a_body_is_no_header(
    server: RunningServer, backend: ReplayBackend
) -> None:
    chunks = b"%x\r\n%s\r\n0\r\n" % (len(BODY), BODY)
    trailers = (
        b"idempotency-key: \x01\r\norigin: https://evil.example\r\nidempotency-key: "
        + b"k" * 300
        + b"\r\n\r\n"
    )

    refused = await state(server.url, CHUNKED + b"connection: close\r\n\r\n" + chunks + trailers)
    taken = await state(
        server.url, CHUNKED + b"connection: close\r\n\r\n" + chunks + trailers.partition(b"\r\n")[2]
    )

    assert (status_of(refused), status_of(taken)) == (400, 200)
    assert len(backend.requests) == 1


@pytest.mark.parametrize(
    "rest",
    [b"1\r\n \r\n" * 300_000, b"1;" + b"x" * 1_000_000, b"1\r\n \r\n0\r\n" + b"a: b\r\n" * 200_000],
    ids=["chunks of one byte", "a chunk's extension", "trailers"],
)
async def test_framing_without_end_is_refused(server: RunningServer, rest: bytes) -> None:
    reply = await state(server.url, CHUNKED + b"\r\n", rest)

    assert (status_of(reply), error_of(reply)["code"]) == (400, None)


async def test_requests_that_come_at_once_are_answered_in_their_order(
    server: RunningServer,
) -> None:
    other = GET.replace(b"models", b"nowhere")
    reply = await state(server.url, (GET + b"\r\n" + other + b"\r\n") * 4 + LAST)

    assert [part[:3] for part in reply.split(b"HTTP/1.1 ")[1:]] == [b"200", b"404"] * 4 + [b"200"]


async def test_a_large_body_before_another_request_is_no_large_head(server: RunningServer) -> None:
    body = b'{"model":"m","input":"%s"}' % (b"x" * 200_000)
    first = post(body).replace(b"connection: close\r\n", b"")
    reply = await state(server.url, first + LAST)

    assert [part[:3] for part in reply.split(b"HTTP/1.1 ")[1:]] == [b"200", b"200"]


async def test_too_many_requests_at_once_end_the_connection(
    server: RunningServer, backend: ReplayBackend, caplog: pytest.LogCaptureFixture
) -> None:
    wait = asyncio.Event()
    backend.script = lambda request: Answer([], wait=wait)
    first = post().replace(b"connection: close\r\n", b"")

    assert await state(server.url, first + (GET + b"\r\n") * (MAX_PIPELINED + 2)) == b""
    assert (await server.get("/models"))[0] == 200
    wait.set()
    assert "A fault in Antiphon" not in caplog.text


@pytest.mark.parametrize(
    "stated",
    [
        [HEAD + H2C + SIZE + b"\r\n" + BODY + LAST],
        [HEAD + H2C + SIZE + b"\r\n", BODY, LAST],
        [HEAD + H2C + SIZE + b"\r\n" + BODY[:9], BODY[9:] + LAST],
        [CHUNKED + H2C + b"\r\n%x\r\n" % len(BODY) + BODY + b"\r\n0\r\n\r\n" + LAST],
    ],
    ids=["whole", "apart", "cut", "in chunks"],
)
async def test_an_upgrade_that_is_not_offered_takes_no_body_away(
    server: RunningServer, stated: list[bytes]
) -> None:
    async with connected(server.url) as (reader, writer):
        for part in stated:
            writer.write(part)
            await writer.drain()
            await server.get("/models")  # the part before is read
        replies = (await asyncio.wait_for(reader.read(), 30)).split(b"HTTP/1.1 ")[1:]

    assert [reply[:3] for reply in replies] == [b"200", b"200"]
    assert b'"object":"response"' in replies[0]


@pytest.mark.parametrize("size", [b"", b"content-length: 0\r\n"])
async def test_an_upgrade_that_is_not_offered_changes_nothing(
    server: RunningServer, size: bytes
) -> None:
    reply = await state(server.url, GET + H2C + size + b"\r\n" + LAST)

    assert [part[:3] for part in reply.split(b"HTTP/1.1 ")[1:]] == [b"200", b"200"]


async def test_a_disconnect_is_noticed_even_if_another_request_waits(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda request: Answer(
        [sse(delta(content="one"), done=False)], wait=asyncio.Event()
    )
    stream = post(b'{"model":"m","input":"x","stream":true}').replace(b"connection: close\r\n", b"")
    async with connected(server.url) as (reader, writer):
        writer.write(stream + GET + b"\r\n")
        await asyncio.wait_for(reader.readuntil(b'"delta":"one"'), 30)
    await until(lambda: not server.host.server_state.tasks)


async def test_nonsense_is_not_answered_in_the_middle_of_a_stream(
    server: RunningServer, backend: ReplayBackend
) -> None:
    wait = asyncio.Event()
    backend.script = lambda request: Answer([sse(delta(content="one"), done=False)], wait=wait)
    stream = b'{"model":"m","input":"x","stream":true}'
    async with connected(server.url) as (reader, writer):
        writer.write(post(stream).replace(b"connection: close\r\n", b""))
        seen = await asyncio.wait_for(reader.readuntil(b'"delta":"one"'), 30)
        writer.write(b"NONSENSE\r\n\r\n")
        seen += await asyncio.wait_for(reader.read(), 30)
    wait.set()

    assert seen.count(b"HTTP/1.1 ") == 1


async def test_a_slow_head_is_not_answered_in_the_middle_of_a_stream(
    server: RunningServer, backend: ReplayBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("antiphon.http_server.closing.HEAD_TIMEOUT", 0.05)
    backend.script = lambda request: Answer(
        [sse(delta(content="one"), done=False)], wait=asyncio.Event()
    )
    stream = b'{"model":"m","input":"x","stream":true}'
    reply = await state(
        server.url, post(stream).replace(b"connection: close\r\n", b"") + b"GET /v1/mod"
    )

    assert reply.count(b"HTTP/1.1 ") <= 1
    assert b"HTTP/1.1 408" not in reply


async def test_a_client_that_sends_nothing_is_disconnected(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("antiphon.http_server.closing.HEAD_TIMEOUT", 0.05)

    assert status_of(await state(server.url)) == 408


async def test_a_client_that_reads_nothing_is_disconnected(
    server: RunningServer, backend: ReplayBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("antiphon.http_server.closing.UNREAD", 0.05)
    much = [sse(delta(content="x" * 100_000), done=False)] * 400
    backend.script = lambda request: Answer(much, rest=[sse(delta("stop"))])
    async with connected(server.url) as (_, writer):
        writer.write(post(b'{"model":"m","input":"x","stream":true}'))
        async with asyncio.timeout(30):
            await until(lambda: server.host.server_state.tasks)
            await until(lambda: not server.host.server_state.connections)


# Connections.


@pytest.fixture
async def narrow(backend: ReplayBackend) -> Any:
    """A server that takes two connections."""
    async with serve(HttpBackend("replay", backend.url), limits=ServerLimits(connections=2)) as one:
        yield one


async def test_a_connection_beyond_the_limit_is_rejected_and_the_others_continue(
    narrow: RunningServer, backend: ReplayBackend
) -> None:
    wait = asyncio.Event()
    backend.script = lambda request: Answer(
        [sse(delta(content="one"), done=False)], wait=wait, rest=[sse(delta("stop"))]
    )
    stream = post(b'{"model":"m","input":"x","stream":true}')
    async with AsyncExitStack() as stack:
        streams = [await stack.enter_async_context(connected(narrow.url)) for _ in range(2)]
        for reader, writer in streams:
            writer.write(stream)
            await reader.readuntil(b'"delta":"one"')

        refused = [await state(narrow.url, LAST) for _ in range(5)]
        wait.set()
        ends = [await asyncio.wait_for(reader.read(), 30) for reader, _ in streams]

    assert {status_of(reply) for reply in refused} == {503}
    assert all(b"\r\nretry-after: 1\r\n" in reply for reply in refused)
    error = error_of(refused[0])
    assert (error["type"], error["code"]) == ("service_unavailable_error", "server_is_overloaded")
    assert all(b"response.completed" in end for end in ends)
    assert status_of(await state(narrow.url, LAST)) == 200


async def test_a_websocket_counts_as_a_connection(narrow: RunningServer) -> None:
    url = narrow.url.replace("http://", "ws://") + "/responses"
    async with connect(url), connect(url):
        assert status_of(await state(narrow.url, LAST)) == 503
    await eventually(lambda: state(narrow.url, LAST), lambda one: status_of(one) == 200)


async def test_a_connection_beyond_the_limit_without_a_request_is_closed(
    narrow: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("antiphon.http_server.closing.LAST_WORDS", 0.05)
    async with connected(narrow.url), connected(narrow.url):
        assert await state(narrow.url) == b""


async def test_a_flood_of_connections_is_dropped_unheard(
    narrow: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("antiphon.http_server.closing.MAX_LEAVING", 3)
    async with AsyncExitStack() as stack:
        pairs = [await stack.enter_async_context(connected(narrow.url)) for _ in range(10)]
        for reader, _ in pairs[5:]:
            assert await asyncio.wait_for(reader.read(), 30) == b""
