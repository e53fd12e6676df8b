"""A Chat Completions server over real TCP: its bytes as they come, its key kept, its silence and
its end noticed.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from antiphon.errors import BackendError
from antiphon.upstream.http import HttpBackend
from tests.support.raw_http import speaking
from tests.support.replay import JSON, Answer, ReplayBackend, text
from tests.support.waiting import LoopClock, until

KEY = "sk-secret-backend-key"
BODY = b'{"model": "m", "messages": []}'
UNAVAILABLE = "http://127.0.0.1:9/v1"
REFUSED = (
    rf"^Backend 'b' \({UNAVAILABLE}\) is unreachable: connection refused\. Check that it is "
    r"running\.$"
)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


@asynccontextmanager
async def at(url: str, key: str = KEY, **options: Any) -> AsyncIterator[HttpBackend]:
    backend = HttpBackend("b", url, key, **options)
    try:
        yield backend
    finally:
        await backend.close()


async def read(backend: HttpBackend) -> bytes:
    reply = await backend.post("/chat/completions", BODY)
    try:
        return await reply.read()
    finally:
        await reply.close()


async def test_a_request_is_sent_as_it_is_with_its_key(backend: ReplayBackend) -> None:
    backend.script = lambda request: Answer([b"{}"], JSON)
    async with at(backend.url) as one:
        await read(one)

    head = backend.heads[0].lower()
    assert head.startswith(b"post /v1/chat/completions http/1.1\r\n")
    assert f"authorization: bearer {KEY}".encode() in head
    assert b"accept-encoding: identity" in head
    assert b"user-agent: antiphon/" in head
    assert backend.bodies == [BODY]


async def test_a_backend_without_a_key_gets_none(backend: ReplayBackend) -> None:
    backend.script = lambda request: Answer([b"{}"], JSON)
    async with at(backend.url, key="") as one:
        await read(one)

    assert b"authorization" not in backend.heads[0].lower()


async def test_a_large_request_is_sent_whole(backend: ReplayBackend) -> None:
    backend.script = lambda request: Answer([b"{}"], JSON)
    large = json.dumps({"image": "x" * 3_000_000}).encode()
    async with at(backend.url) as one:
        await (await one.post("/chat/completions", large)).read()

    assert backend.bodies == [large]
    assert b"content-length: %d" % len(large) in backend.heads[0].lower()


async def test_bytes_pass_in_the_cuts_in_which_they_come(backend: ReplayBackend) -> None:
    go = asyncio.Event()
    backend.script = lambda request: Answer([b"data: 1"], wait=go, rest=[b"\n\ndata: 2\n\n"])
    async with at(backend.url) as one:
        reply = await one.post("/chat/completions", BODY)
        parts = []
        async for part in reply.body:
            parts.append(part)
            go.set()
        await reply.close()

    assert parts[0] == b"data: 1"
    assert b"".join(parts) == b"data: 1\n\ndata: 2\n\n"


async def test_an_error_is_a_reply_like_any_other(backend: ReplayBackend) -> None:
    backend.script = lambda request: Answer(
        [b"no"], "Text/HTML; charset=x", status=418, headers={"X-Why": "tea"}
    )
    async with at(backend.url) as one:
        reply = await one.post("/chat/completions", BODY)

        assert (reply.status, reply.content_type, reply.headers["x-why"]) == (
            418,
            "text/html",
            "tea",
        )
        assert await reply.read() == b"no"


@pytest.mark.parametrize("where", ["body", "error"])
@pytest.mark.parametrize("cut", [1, 3, 7, 1000])
async def test_a_key_that_the_backend_repeats_is_masked_however_it_is_cut(
    backend: ReplayBackend, where: str, cut: int
) -> None:
    text = f"Incorrect API key: {KEY}, again {KEY[:9]}, {KEY}".encode()
    status = 200 if where == "body" else 401
    parts = [text[start : start + cut] for start in range(0, len(text), cut)]
    backend.script = lambda request: Answer(parts, JSON, status)
    async with at(backend.url) as one:
        assert await read(one) == f"Incorrect API key: ***, again {KEY[:9]}, ***".encode()


async def test_the_key_is_in_no_repr_error_or_log(
    backend: ReplayBackend, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with at(backend.url) as one, at("http://127.0.0.1:9/v1") as removed:
        backend.script = lambda request: Answer([b"x"], cut=True)
        with pytest.raises(BackendError) as broken:
            await read(one)
        with pytest.raises(BackendError) as unreachable:
            await read(removed)

        assert KEY not in (
            f"{one!r} {vars(one).get('url')} {broken.value!r} {unreachable.value!r} {caplog.text}"
        )


async def test_redirects_are_not_followed(backend: ReplayBackend) -> None:
    async with ReplayBackend(lambda request: Answer([b"{}"], JSON)).serve() as elsewhere:
        moved = {"location": f"{elsewhere.url}/chat/completions"}
        backend.script = lambda request: Answer([b"x"], JSON, status=307, headers=moved)
        async with at(backend.url) as one:
            reply = await one.post("/chat/completions", BODY)
            await reply.close()

        assert reply.status == 307
        assert elsewhere.requests == []


async def test_a_backend_that_cannot_be_reached_is_unavailable() -> None:
    async with at("http://127.0.0.1:9/v1") as one:
        with pytest.raises(BackendError, match=REFUSED) as caught:
            await one.post("/chat/completions", BODY)

    assert (caught.value.status, caught.value.code, caught.value.headers) == (
        503,
        "server_error",
        {"retry-after": "1"},
    )


async def test_a_client_learns_the_label_and_the_cause_and_never_the_address() -> None:
    async with at(UNAVAILABLE, label="gpu-a") as one:
        with pytest.raises(BackendError) as caught:
            await read(one)

    assert caught.value.message == "Backend 'gpu-a' is unreachable: connection refused."
    assert (caught.value.gist, str(caught.value)) == (str(caught.value), caught.value.args[0])


async def test_an_unresolvable_name_is_reported() -> None:
    async with at("http://no.such.host.invalid:8000/v1") as one:
        with pytest.raises(
            BackendError, match=r"is unreachable: DNS lookup failed \(.+\)\. Check the host"
        ) as caught:
            await read(one)

    assert caught.value.message == "Backend 'b' is unreachable: DNS lookup failed."


async def test_https_at_a_port_of_plain_http_is_a_failed_handshake() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
        await reader.read()

    async with (
        speaking(plain) as url,
        at(url.replace("http:", "https:"), connect_timeout=30.0) as one,
    ):
        with pytest.raises(BackendError, match=r"TLS handshake failed \(.+\)\. Check "):
            await read(one)


async def test_a_port_of_another_protocol_is_reported_as_such() -> None:
    async def greets(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.2p1\r\n")
        await reader.read()

    async with speaking(greets) as url, at(url) as one:
        with pytest.raises(BackendError, match="did not answer with valid HTTP"):
            await read(one)


@pytest.mark.parametrize(
    ("key_env", "advice"), [("GPU_KEY", "variable GPU_KEY"), ("", "Set `key_env`")]
)
async def test_a_list_that_the_key_does_not_open_names_where_the_key_is_set(
    key_env: str, advice: str
) -> None:
    async def refuses(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n")
        await reader.read()

    async with speaking(refuses) as url, at(url, key_env=key_env) as one:
        with pytest.raises(BackendError, match=advice) as caught:
            await one.list_models()

    assert caught.value.status == 401
    assert KEY not in str(caught.value)


async def test_a_backend_that_does_not_answer_in_time_is_unavailable() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with speaking(silent) as url, at(url, first_byte_timeout=0.05) as one:
        with pytest.raises(BackendError, match=r"did not answer within 0\.05 s") as caught:
            await one.post("/chat/completions", BODY)
    assert caught.value.status == 503


@pytest.mark.parametrize(
    ("stated", "times"),
    [
        (HEAD, {"first_byte_timeout": 0.5}),
        (HEAD + b"7\r\ndata: 1\r\n", {"idle_timeout": 0.05}),
        (HEAD + b"7\r\ndata: 1\r\n", {"idle_timeout": 0.6, "first_byte_timeout": 0.5}),
    ],
    ids=["before its first byte", "in the middle", "later than its first byte may come"],
)
async def test_a_silent_backend_times_out_with_the_time_and_its_setting(
    stated: bytes, times: dict[str, float]
) -> None:
    left = asyncio.Event()

    async def falls_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(stated)
        while await reader.read(100):
            pass
        left.set()

    async with speaking(falls_silent) as url, at(url, **times) as one:
        with pytest.raises(BackendError) as caught:
            await read(one)
        await asyncio.wait_for(left.wait(), 30)
    name = next(iter(times))
    phrase = {
        "first_byte_timeout": "did not begin its answer within",
        "idle_timeout": "in the middle of its answer, for",
    }
    assert caught.value.status == 502
    assert f"{phrase[name]} {times[name]:g} s." in caught.value.message
    assert f"raise `{name}`." in str(caught.value)
    assert name not in caught.value.message


async def test_a_slow_but_active_backend_does_not_time_out(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = LoopClock(monkeypatch)
    may_go_on = asyncio.Semaphore(1)

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD)
        for _ in range(4):
            await may_go_on.acquire()
            clock.advance(60)
            writer.write(b"1\r\nx\r\n")
        writer.write(b"0\r\n\r\n")
        await reader.read()

    async with speaking(slow) as url, at(url, idle_timeout=100, first_byte_timeout=100) as one:
        reply = await one.post("/chat/completions", BODY)
        parts = b""
        async for part in reply.body:
            parts += part
            may_go_on.release()
        await reply.close()
    assert parts == b"xxxx"


@pytest.mark.parametrize(
    "stated",
    [
        HEAD + b"7\r\ndata: 1\r\n",
        HEAD + b"7\r\ndat",
        b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\ndata: 1",
    ],
    ids=["between chunks", "in a chunk", "before its length"],
)
async def test_an_answer_that_breaks_off_is_the_backends_failure(stated: bytes) -> None:
    async def breaks_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(stated)

    async with speaking(breaks_off) as url, at(url) as one:
        with pytest.raises(BackendError, match="closed the connection") as caught:
            await read(one)
    assert caught.value.status == 502


@pytest.mark.parametrize("is_read", [False, True], ids=["unread", "half read"])
async def test_closing_a_reply_ends_the_exchange(backend: ReplayBackend, is_read: bool) -> None:
    backend.script = lambda request: Answer([b"data: 1\n\n"], wait=asyncio.Event())
    async with at(backend.url) as one:
        reply = await one.post("/chat/completions", BODY)
        if is_read:
            async for _ in reply.body:
                break
        await reply.close()
        await reply.close()

        await asyncio.wait_for(backend.left.wait(), 30)


async def test_a_connection_serves_one_request_after_the_other() -> None:
    connections = []

    async def answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        while True:
            await reader.readuntil(BODY)
            body = text("Hi")
            writer.write(HEAD + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))

    async with speaking(answers) as url, at(url) as one:
        for _ in range(5):
            assert await read(one) == text("Hi")

    assert len(connections) == 1


async def test_a_connection_is_reused_although_the_end_of_the_answer_was_not_read() -> None:
    connections = []
    was_left = asyncio.Semaphore(0)

    async def answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        while True:
            await reader.readuntil(BODY)
            body = text("Hi")
            writer.write(HEAD + b"%x\r\n%s\r\n" % (len(body), body))
            await was_left.acquire()
            writer.write(b"0\r\n\r\n")

    async with speaking(answers) as url, at(url) as one:
        for _ in range(3):
            reply = await one.post("/chat/completions", BODY)
            async for part in reply.body:
                if part.rstrip().endswith(b"[DONE]"):
                    break
            await reply.close()
            was_left.release()
            await until(lambda: one.idle_connections == 1)

    assert len(connections) == 1


@asynccontextmanager
async def closing_at(place: int) -> AsyncIterator[tuple[str, list[int]]]:
    """A server that answers, but closes a connection at its request of that number; and what each
    connection got.
    """
    connections: list[int] = []

    async def answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = len(connections)
        connections.append(0)
        while True:
            await reader.readuntil(BODY)
            connections[number] += 1
            if connections[number] == place:
                return
            body = text("Hi")
            writer.write(HEAD + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))

    async with speaking(answers) as url:
        yield url, connections


async def test_a_request_is_sent_again_if_a_reused_connection_is_closed_meanwhile() -> None:
    async with closing_at(3) as (url, connections), at(url) as one:
        for _ in range(4):
            assert await read(one) == text("Hi")

    assert connections == [3, 2]


async def test_a_request_on_a_new_connection_is_sent_once() -> None:
    async with closing_at(1) as (url, connections), at(url) as one:
        with pytest.raises(BackendError, match="closed the connection without an answer"):
            await read(one)

    assert connections == [1]


async def test_an_answer_larger_than_allowed_is_refused(backend: ReplayBackend) -> None:
    backend.script = lambda request: Answer([b"x" * 60, b"x" * 60], JSON)
    async with at(backend.url) as one:
        reply = await one.post("/chat/completions", BODY)
        with pytest.raises(BackendError, match="larger than 100 bytes"):
            await reply.read(100)
        await reply.close()


async def listing(body: bytes, status: int = 200, base: str = "/v1", **headers: str) -> Any:
    lines = [
        f"HTTP/1.1 {status} X",
        f"content-length: {len(body)}",
        *(f"{n}: {v}" for n, v in headers.items()),
    ]

    async def lists(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(f"GET {base}/models ".encode())
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        await reader.read()

    async with speaking(lists) as url, at(url.removesuffix("/v1") + base) as one:
        return await one.list_models()


@pytest.mark.parametrize(
    "value",
    [
        {"object": "list", "data": [{"id": "m", "owned_by": "x"}]},
        {"data": [{"id": "m", "owned_by": "x"}, "nonsense", None], "models": []},
        [{"id": "m", "owned_by": "x"}],
    ],
    ids=["OpenAI", "with nonsense", "a bare list"],
)
async def test_models_are_listed_in_whatever_shape(value: Any) -> None:
    found = await listing(json.dumps(value).encode(), server="uvicorn")

    assert (found.models, found.server) == ([{"id": "m", "owned_by": "x"}], "uvicorn")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"<html>", 200),
        (b"", 200),
        (b"{}", 200),
        (b'{"data": {}}', 200),
        (b'"m"', 200),
        (b"[" * 100_000, 200),
        (b"\xff", 200),
        (b'{"data": [{"id": "\\ud83c"}]}', 200),
        (b'{"data": []}', 404),
        (b"no", 500),
    ],
)
async def test_what_is_no_list_of_models_is_the_backends_failure(body: bytes, status: int) -> None:
    with pytest.raises(BackendError):
        await listing(body, status)


@pytest.mark.parametrize(
    ("status", "reported"), [(404, 404), (401, 401), (204, 502), (500, 502), (503, 502)]
)
async def test_a_rejected_list_of_models_is_distinguished_from_a_failed_one(
    status: int, reported: int
) -> None:
    with pytest.raises(BackendError) as caught:
        await listing(b"no", status)

    assert caught.value.status == reported


@pytest.mark.parametrize("body", [b"404 page not found", b'{"detail": "Not Found"}'])
async def test_a_404_for_the_list_of_models_hints_at_a_url_without_v1(body: bytes) -> None:
    with pytest.raises(
        BackendError,
        match=r"status 404 for its list of models\. Check that its URL is .+ usually ends in /v1\.$",  # noqa: E501 - one text, or a row of a table
    ):
        await listing(body, 404, base="")
    with pytest.raises(BackendError, match=r"status 404 for its list of models\.$"):
        await listing(body, 404)
    with pytest.raises(BackendError, match=r"status 500 for its list of models\.$"):
        await listing(body, 500, base="")


async def test_what_is_listed_can_be_sent_on() -> None:
    found = await listing(b'{"data": [{"id": "\\u00e9\\u0000", "created": 1e3}]}')

    assert msgspec.json.encode(found.models)


async def test_a_list_that_does_not_come_in_time_is_the_backends_failure() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD)
        await reader.read()

    async with speaking(silent) as url, at(url, list_timeout=0.05) as one:
        with pytest.raises(BackendError, match=r"did not answer within 0\.05 s"):
            await one.list_models()
