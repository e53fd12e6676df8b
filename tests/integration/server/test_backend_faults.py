"""What a client sees of a backend's faults: rows 1 to 17 of the catalogue (cases/faults.md), and
row 68.

Unsound answers that need more to be told (rows 18 to 31) are proved at the translation.
"""

import asyncio
import json
import re
import socket
import threading
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from antiphon.gateway import Gateway
from antiphon.protocol.validation.validate import decode_request
from antiphon.recording.persistence import RequestIdentity
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.http1.connect import TlsFiles
from antiphon.upstream.options import BackendOptions
from tests.support.certificates import certificate
from tests.support.pair import BODY, CHAT, KEY, Pair, Script, error, pair, stating
from tests.support.raw_http import HEAD, chunked, received, reset, speaking
from tests.support.replay import JSON, Answer, ReplayBackend, completion, delta, echo, sse, text
from tests.support.server import RunningServer, serve
from tests.support.waiting import let_others_run, until

REFUSED = "http://127.0.0.1:9/v1"
PATIENCE = 60.0
ENDS = ("response.completed", "response.incomplete", "response.failed")
TRACES = re.compile(r"Traceback|File \"|line \d+|Error\(|antiphon/")


@asynccontextmanager
async def before(url: str, **options: Any) -> AsyncIterator[Pair]:
    """A server whose first backend is at this URL, and whose second one answers `Hello`.

    Both have the model `m`.
    """
    async with AsyncExitStack() as stack:
        b = await stack.enter_async_context(ReplayBackend(stating("Hello")).serve())
        backends = [HttpBackend("a", url, KEY, **options), HttpBackend("b", b.url, KEY)]
        shares = {"a": BackendOptions(models=frozenset({"m"}), weight=1000)}
        backend = await stack.enter_async_context(serve(*backends, shares=shares))
        backend.parts.models.backends[1].models = [{"id": "m"}]
        yield Pair(backend, b, b)


@asynccontextmanager
async def alone(url: str, **timeouts: float) -> AsyncIterator[RunningServer]:
    """A server whose only backend is at this URL."""
    shares = {"a": BackendOptions(models=frozenset({"m"}))}
    async with serve(HttpBackend("a", url, KEY, **timeouts), shares=shares) as server:
        yield server


async def stream_of(server: RunningServer, **more: Any) -> tuple[int, list[dict[str, Any]]]:
    """The status of a streamed request, and its events; none where it was refused."""
    async with server.http.post(
        server.url + "/responses", json={**BODY, "stream": True, **more}
    ) as response:
        data = await response.read()
        lines = [line[6:] for line in data.split(b"\n") if line.startswith(b"data: {")]
        return response.status, [
            json.loads(line) for line in lines
        ] if response.status == 200 else []


async def test_row_1_a_refused_connection_moves_on_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with before(REFUSED) as two:
        slept = sleeps(monkeypatch)
        for _ in range(4):
            assert await two.send_request() == ("Hello", "b")

    assert slept == []


def sleeps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds for which any task sleeps that begins from now on."""
    slept: list[float] = []
    real = asyncio.sleep
    others = asyncio.all_tasks()

    async def noted(seconds: float, result: Any = None) -> Any:
        slept.extend([seconds] if seconds and asyncio.current_task() not in others else [])
        return await real(seconds, result)

    monkeypatch.setattr("asyncio.sleep", noted)
    return slept


async def test_row_1_without_any_reachable_backend_the_answer_is_a_503_with_a_wait_and_no_address() -> (  # noqa: E501 - one text, or a row of a table
    None
):
    async with (
        serve(HttpBackend("a", REFUSED, KEY), HttpBackend("b", REFUSED, KEY)) as server,
        server.http.post(server.url + "/responses", json=BODY) as response,
    ):
        body = await response.json()
        seen = f"{body} {dict(response.headers)}"
        assert (response.status, body["error"]["type"]) == (503, "server_error")
        assert "127.0.0.1:9" not in seen
        assert KEY not in seen
    async with (
        alone(REFUSED) as server,
        server.http.post(server.url + "/responses", json=BODY) as response,
    ):
        assert (response.status, response.headers["retry-after"]) == (503, "1")


async def test_row_2_a_black_hole_is_left_after_the_limit_for_connections() -> None:
    with socket.socket() as hole, socket.socket() as first, socket.socket() as second:
        hole.bind(("127.0.0.1", 0))
        hole.listen(0)
        for filling in (
            first,
            second,
        ):  # what comes when its queue is full is dropped without a word
            filling.setblocking(False)
            with suppress(BlockingIOError):
                filling.connect(hole.getsockname())
        async with before(
            f"http://127.0.0.1:{hole.getsockname()[1]}/v1", connect_timeout=0.3
        ) as two:
            began = time.perf_counter()
            assert await two.send_request() == ("Hello", "b")
            took = time.perf_counter() - began

    assert took >= 0.3


@pytest.mark.parametrize(
    ("name", "days", "is_trusted"),
    [
        ("127.0.0.1", -1, True),
        ("example.com", 9, True),
        ("127.0.0.1", 9, False),
        ("127.0.0.1", 9, True),
    ],
    ids=["expired", "another host", "not trusted", "sound"],
)
async def test_row_3_no_byte_of_a_prompt_is_sent_to_an_unverified_server(
    tmp_path: Path, name: str, days: int, is_trusted: bool
) -> None:
    context, signer = certificate(tmp_path, name, timedelta(days=days))
    tls = TlsFiles(ca_file=str(signer)) if is_trusted else TlsFiles()
    prompts = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        prompts.append(await received(reader))
        writer.write(HEAD + chunked(text("Trusted")) + b"0\r\n\r\n")

    async with speaking(listen, context) as url, before(url, tls=tls) as two:
        _, events = await stream_of(two.server)

    is_sound = days > 0 and name == "127.0.0.1" and is_trusted
    assert events[-1]["response"]["output"][0]["content"][0]["text"] == (
        "Trusted" if is_sound else "Hello"
    )
    assert len(prompts) == is_sound


@pytest.mark.parametrize("is_slow", [False, True], ids=["unknown", "slow"])
async def test_row_4_an_unresolvable_name_is_skipped_and_delays_no_request(
    monkeypatch: pytest.MonkeyPatch, is_slow: bool
) -> None:
    resolve = socket.getaddrinfo
    release = threading.Event()
    waited_out = list[str]()

    def poll(host: Any, *rest: Any, **more: Any) -> Any:
        if host != "nobody.invalid":
            return resolve(host, *rest, **more)
        if is_slow and not release.wait(PATIENCE):
            waited_out.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    monkeypatch.setattr("socket.getaddrinfo", poll)
    async with before("http://nobody.invalid/v1", connect_timeout=1.5) as two:
        two.server.parts.models.backends[1].models.append({"id": "other"})
        waiting = asyncio.create_task(two.send_request())
        others = [await two.send_request(model="other") for _ in range(5)]
        were_delayed = waiting.done()
        assert await waiting == ("Hello", "b")
        release.set()

    assert others == [("Hello", "b")] * 5
    assert waited_out == [], "it was waited for to its end"
    assert not is_slow or not were_delayed


@pytest.mark.wide
@pytest.mark.parametrize("status", [500, 502, 503, 504, 529])
async def test_row_5_a_full_outage_is_not_worsened_by_retries(status: int) -> None:
    async with pair(error(status), error(status)) as two:
        answers = [await two.server.post("/responses", json=BODY) for _ in range(150)]

        assert {code for code, _ in answers} <= {502, 503}
        assert len(two.a.requests) + len(two.b.requests) <= 165


@pytest.mark.parametrize(
    ("headers", "message", "seconds"),
    [
        ({"retry-after": "7"}, "", 7),
        ({"retry-after-ms": "2500"}, "", 3),
        ({"retry-after": format_datetime(datetime(2099, 1, 1, tzinfo=UTC), usegmt=True)}, "", None),
        ({"retry-after": "300"}, "", None),
        ({"retry-after": "-1"}, "", 1),
        ({"retry-after": "soon"}, "", 1),
        ({"retry-after": "1m"}, "", 60),
        ({}, "Please try again in 5.5s.", 6),
        ({}, "", 1),
    ],
)
async def test_row_6_a_rate_limit_has_its_wait_in_any_spelling(
    headers: dict[str, str], message: str, seconds: int | None
) -> None:
    body = json.dumps({"error": {"message": message or "Slow down.", "type": "requests"}}).encode()
    limited = lambda _: Answer([body], JSON, 429, headers)  # noqa: E731 - a script like the others
    async with pair(limited, stating("Hello")) as two:
        assert await two.send_request() == ("Hello", "b")
        two.b.script = limited
        for _ in range(2):  # asked, then known
            async with two.server.http.post(two.server.url + "/responses", json=BODY) as response:
                error = (await response.json())["error"]
            assert (response.status, error["code"]) == (429, "rate_limit_exceeded")
            if seconds is None:
                assert response.headers["x-should-retry"] == "false"
                assert "retry-after" not in response.headers
            else:
                assert 1 <= int(response.headers["retry-after"]) <= seconds
                assert re.search(r"Please try again in [\d.]+s\.", error["message"])


@pytest.mark.parametrize(
    "refuses", [error(429, "Quota.", "insufficient_quota"), error(402)], ids=["429", "402"]
)
async def test_row_7_a_key_without_quota_is_called_once(refuses: Script) -> None:
    async with pair(refuses, refuses) as two:
        for _ in range(20):
            status, body = await two.server.post("/responses", json=BODY)
            assert (status, body["error"]["code"]) == (429, "insufficient_quota")  # type: ignore[index]

        assert (len(two.a.requests), len(two.b.requests)) == (1, 1)


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("stream", [False, True])
async def test_row_8_the_operators_bad_key_is_never_the_clients_and_never_displayed(
    status: int, stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    echoing = error(status, f"Incorrect API key provided: {KEY}.")
    async with pair(echoing, echoing) as two:
        for path, body in (("/responses", {**BODY, "stream": stream}), ("/chat/completions", CHAT)):
            async with two.server.http.post(two.server.url + path, json=body) as response:
                seen = f"{await response.text()} {dict(response.headers)} {caplog.text}"
            assert response.status == 502
            assert KEY not in seen
            assert "credentials" in seen
    of_backends = [one for one in caplog.messages if "The response failed" not in one]
    # A 403 may be of one request: it says nothing about the backend.
    assert (status == 401) == ("credentials" in "".join(of_backends))


async def test_row_9_a_refused_parameter_is_omitted_or_reported_by_its_name_in_the_responses_api() -> (  # noqa: E501 - one text, or a row of a table
    None
):
    def picky(request: dict[str, Any]) -> Answer:
        if "top_p" in request:
            return error(400, "Unsupported parameter: 'top_p'.", "unsupported_parameter")(request)
        return (
            error(400, "'max_tokens' is too large.")(request)
            if request.get("max_tokens")
            else echo(request)
        )

    async with pair(picky, picky) as two:
        assert (await two.send_request(top_p=0.5))[0] == "You said: Hi"

    reported = {
        "error": {
            "message": "Too large.",
            "param": "max_completion_tokens",
            "code": "invalid_value",
        }
    }
    async with pair(
        lambda _: Answer([json.dumps(reported).encode()], JSON, 400), stating("Hello")
    ) as two:
        status, body = await two.server.post(
            "/responses", json={**BODY, "max_output_tokens": 99_999}
        )
        assert (status, body["error"]["param"]) == (400, "max_output_tokens")  # type: ignore[index]


@pytest.mark.parametrize(
    "answer",
    [
        Answer([b"<html><body>It works!</body></html>"], "text/html"),
        Answer([], JSON),
        Answer([completion("Hello")[:40]], JSON),
        Answer([b"null"], JSON),
    ],
    ids=["html", "empty", "truncated", "null"],
)
async def test_row_10_a_200_that_is_no_answer_is_a_502_without_a_trace(answer: Answer) -> None:
    async with (
        pair(lambda _: answer, lambda _: answer) as two,
        two.server.http.post(two.server.url + "/responses", json=BODY) as response,
    ):
        seen = await response.text()

    assert response.status == 502
    assert json.loads(seen)["error"]["type"] == "server_error"
    assert not TRACES.search(seen)


@pytest.mark.parametrize("stated", [[], [delta(content="Half")]], ids=["at once", "in the middle"])
async def test_row_11_an_error_in_the_stream_is_reported_as_one(
    stated: list[dict[str, Any]],
) -> None:
    failing = Answer([sse(*stated, {"error": {"message": "CUDA out of memory"}}, done=False)])
    async with pair(lambda _: failing, lambda _: failing) as two:
        status, events = await stream_of(two.server)

    assert status in {200, 502}
    if events:
        assert [event["type"] for event in events[-2:]] == ["error", "response.failed"]
        assert events[-1]["response"]["error"]["code"] == "server_error"


@pytest.mark.wide
async def test_row_12_a_reset_after_any_byte_ends_the_stream_by_an_event() -> None:
    whole = text(*["Twelve", "words", "say", "it."])
    body = HEAD + chunked(whole) + b"0\r\n\r\n"
    at: dict[str, int] = {}

    async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, requested = await received(reader)
        place = int(json.loads(requested)["messages"][-1]["content"])
        writer.write(body[:place])
        await writer.drain()
        reset(writer)

    async def ends(server: RunningServer, place: int, gate: asyncio.Semaphore) -> str:
        async with gate:
            status, events = await stream_of(server, input=str(place), store=False)
            return str(status) if status != 200 else str(events[-1]["type"])

    async with speaking(break_off) as url, alone(url) as server:
        gate = asyncio.Semaphore(16)
        found = await asyncio.gather(*(ends(server, place, gate) for place in range(len(body))))
    for end in found:
        at[end] = at.get(end, 0) + 1

    assert set(at) <= {"response.failed", "response.completed", "502", "503"}
    assert at["response.failed"] > 100
    finished = body.index(b"data: [DONE]")
    assert all(end != "response.completed" for end in found[: finished - 200])


async def test_row_12_output_before_a_reset_is_preserved() -> None:
    async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await received(reader)
        writer.write(HEAD + chunked(sse(delta(content="Half of it"), done=False)))
        await writer.drain()
        reset(writer)

    async with speaking(break_off) as url, alone(url) as server:
        _, events = await stream_of(server)
        _, stored = await server.get(f"/responses/{events[0]['response']['id']}")

    assert stored["status"] == "failed"
    assert "Half of it" in json.dumps(stored["output"])


@pytest.mark.wide
async def test_row_13_an_end_without_a_reason_is_never_completed() -> None:
    cut_short = Answer([sse(delta(content="Half"), done=False)])
    async with pair(lambda _: cut_short, lambda _: cut_short) as two:
        _, events = await stream_of(two.server)

    assert events[-1]["type"] == "response.failed"


async def test_row_14_an_end_with_a_reason_needs_no_done() -> None:
    whole = Answer([sse(delta(content="Whole"), delta("stop"), done=False)])
    async with pair(lambda _: whole, lambda _: whole) as two:
        _, events = await stream_of(two.server)

    assert events[-1]["type"] == "response.completed"
    assert events[-1]["response"]["usage"]["total_tokens"] == 0


async def test_row_15_a_stream_lives_while_one_is_silent_and_another_answers_in_its_place() -> None:
    silent = Answer([], wait=asyncio.Event())
    async with (
        pair(lambda _: silent, stating("Hello"), timeouts={"first_byte_timeout": 1.0}) as two,
        two.server.http.post(
            two.server.url + "/responses", json={**BODY, "stream": True}
        ) as response,
    ):
        begun = await response.content.readany()
        assert two.b.requests == []
        rest = await response.content.read()

    assert b"response.created" in begun
    assert b"response.completed" in rest


async def test_row_16_a_stall_in_the_middle_ends_soon_after_its_limit() -> None:
    stalled = Answer([sse(delta(content="Half"), done=False)], wait=asyncio.Event())
    async with pair(lambda _: stalled, lambda _: stalled, timeouts={"idle_timeout": 0.2}) as two:
        began = time.perf_counter()
        _, events = await stream_of(two.server)
        took = time.perf_counter() - began

    assert events[-1]["type"] == "response.failed"
    assert took >= 0.2


@pytest.mark.wide
@pytest.mark.parametrize(
    "stated", [b"", sse(delta(content="Half"), done=False)], ids=["at once", "in the middle"]
)
@pytest.mark.parametrize(
    "drop", [b":", b": x\n\n", b"d"], ids=["a comment's byte", "comments", "a byte of data"]
)
async def test_row_17_bytes_without_content_do_not_keep_a_stream_alive(
    stated: bytes, drop: bytes
) -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await received(reader)
        writer.write(HEAD + (chunked(stated) if stated else b""))
        while not writer.is_closing():
            writer.write(chunked(drop))
            await writer.drain()
            await let_others_run()

    async with (
        speaking(drip) as url,
        alone(url, first_byte_timeout=0.1, idle_timeout=0.1) as server,
        asyncio.timeout(10),
    ):
        status, events = await stream_of(server)

    assert status in {200, 502}
    ends = [event["type"] for event in events[-1:]]
    assert ends == ([] if status == 502 else ["response.failed"])


async def test_row_17_a_plain_answer_that_drips_ends_too() -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await received(reader)
        writer.write(HEAD.replace(b"text/event-stream", b"application/json"))
        while not writer.is_closing():
            writer.write(chunked(b" "))
            await writer.drain()
            await let_others_run()

    async with (
        speaking(drip) as url,
        alone(url, first_byte_timeout=0.1, idle_timeout=0.1) as server,
        asyncio.timeout(10),
    ):
        status, _ = await server.post("/responses", json=BODY)

    assert status == 502


async def test_row_68_one_tenant_with_many_requests_does_not_hold_up_the_others() -> None:
    order: list[str] = []

    def note(request: dict[str, Any]) -> Answer:
        order.append(request["messages"][-1]["content"])
        return echo(request)

    async def request(server: RunningServer, tenant: str) -> None:
        request = decode_request(json.dumps({**BODY, "input": tenant, "store": False}).encode())
        await (await Gateway(server.parts).create(request, RequestIdentity(tenant))).result()

    async with pair(
        note, note, shares={"a": BackendOptions(concurrency=2, queue=500)}, models=("m", "n")
    ) as two:
        noisy = [asyncio.create_task(request(two.server, "noisy")) for _ in range(200)]
        await until(lambda: order)
        before_them = len(order)
        quiet = [asyncio.create_task(request(two.server, tenant)) for tenant in ("quiet", "calm")]
        await asyncio.gather(*quiet)
        waited = max(order.index("quiet"), order.index("calm")) - before_them
        await asyncio.gather(*noisy)

    assert waited <= 8
    assert len(order) == 202
