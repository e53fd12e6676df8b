"""What a key may ask for, how much, and what is counted of it (bad inputs 8 to 10, threats 41 and
42).
"""

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from openai import BadRequestError, RateLimitError

from antiphon.storage.open import open_store
from antiphon.storage.operations import api_keys
from antiphon.storage.records.tenants import ApiKey
from antiphon.upstream.http import HttpBackend
from tests.support.keys import bearing, issued
from tests.support.replay import JSON, Answer, ReplayBackend, completion, delta, sse
from tests.support.server import RunningServer, serve
from tests.support.waiting import ended, eventually, until

HI = {"model": "m", "input": "Hi"}
LONG = "word" * 10_000
"""10,000 tokens, by its size."""

CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


@asynccontextmanager
async def limited_server(
    backend: ReplayBackend, store_url: str, **limits: Any
) -> AsyncIterator[tuple[RunningServer, ApiKey]]:
    """A server whose client has a key with these limits."""
    store = await open_store(store_url)
    key, stored_key = await issued(store, **limits)
    async with serve(HttpBackend("replay", backend.url, ""), store=store) as server:
        server.sdk.api_key = key
        server.http.headers.update(bearing(key))
        yield server, stored_key


async def used(server: RunningServer) -> dict[str, int]:
    """What was used today, of the one key."""
    body = (await server.get("/usage"))[1]
    days: Any = body["data"]
    return {
        name: sum(day[name] for day in days)
        for name in ("requests", "input_tokens", "output_tokens")
    }


def requests(count: int, tokens_in: int, tokens_out: int) -> dict[str, int]:
    return {"requests": count, "input_tokens": tokens_in, "output_tokens": tokens_out}


# Models.


async def test_a_model_that_is_not_allowed_is_as_one_that_is_not_there(
    backend: ReplayBackend,
) -> None:
    backend.models = [{"id": name} for name in ("m", "dear", "llama:latest")]
    async with limited_server(backend, "sqlite://", models=("m", "llama")) as (server, _):
        listed = [model.id async for model in server.sdk.models.list()]
        for path, body in (
            ("/responses", {"input": "Hi"}),
            ("/responses", {"input": "Hi", "stream": True}),
            ("/responses", {"input": "Hi", "background": True}),
            ("/responses/compact", {"input": "Hi"}),
            ("/responses/input_tokens", {"input": "Hi"}),
            ("/chat/completions", {"messages": CHAT["messages"]}),
            ("/embeddings", {"input": "Hi"}),
        ):
            foreign, missing = [
                await server.post(path, json={"model": name, **body}) for name in ("dear", "none")
            ]
            assert foreign[0] == 400, path
            assert json.dumps(foreign).replace("dear", "none") == json.dumps(missing), path
        foreign, missing = [await server.get(f"/models/{name}") for name in ("dear", "none")]
        assert json.dumps(foreign).replace("dear", "none") == json.dumps(missing)
        assert foreign[0] == 404
        async with server.http.ws_connect(f"{server.url}/responses") as socket:
            await socket.send_json({"type": "response.create", **HI, "model": "dear"})
            assert (await socket.receive_json())["error"]["code"] == "model_not_found"

    assert listed == ["m", "llama:latest"]
    assert backend.requests == []


# Requests.


@pytest.mark.wide("postgres")
async def test_two_hundred_at_once_on_a_limit_of_ten_are_ten(
    backend: ReplayBackend, store_url: str
) -> None:
    async with limited_server(backend, store_url, requests_per_minute=10) as (server, _):
        answers = await asyncio.gather(*(server.post("/responses", json=HI) for _ in range(200)))

    assert sorted({status for status, _ in answers}) == [200, 429]
    assert sum(status == 200 for status, _ in answers) == len(backend.requests) == 10
    error = next(reported["error"] for status, reported in answers if status == 429)
    assert isinstance(error, dict)
    assert (error["type"], error["param"], error["code"]) == (
        "requests",
        None,
        "rate_limit_exceeded",
    )


@pytest.mark.wide("postgres")
async def test_several_replicas_together_grant_no_more(store_url: str) -> None:
    stores = [await open_store(store_url) for _ in range(3)]
    for limits in (
        {"requests_per_minute": 10},
        {"tokens_per_minute": 1000},
        {"tokens_per_day": 1000},
    ):
        _, key = await issued(stores[0], **limits)
        levels = await asyncio.gather(
            *(
                store.write(api_keys.take, key.id, key.limits, 100)
                for store in stores
                for _ in range(70)
            )
        )
        assert sum(level.is_granted for level in levels) == 10
    for store in stores:
        await store.close()


async def test_the_headers_report_the_remaining_limit(backend: ReplayBackend) -> None:
    limits = {"requests_per_minute": 6, "tokens_per_minute": 60_000}
    began = time.monotonic()
    async with limited_server(backend, "sqlite://", **limits) as (server, _):
        for body in (HI, {**HI, "stream": True}, {**HI, "background": True}):
            async with server.http.post(f"{server.url}/responses", json=body) as response:
                await response.read()
                reported: Mapping[str, str] = {
                    name.lower(): value for name, value in response.headers.items()
                }
                assert response.status == 200
                assert reported["x-ratelimit-limit-requests"] == "6"
                assert reported["x-ratelimit-limit-tokens"] == "60000"
                assert 58_000 < int(reported["x-ratelimit-remaining-tokens"]) < 60_000
        async with server.http.post(f"{server.url}/chat/completions", json=CHAT) as response:
            assert response.headers["x-ratelimit-remaining-requests"] == "2"
            since = time.monotonic() - began
            reset = int(response.headers["x-ratelimit-reset-requests"].removesuffix("s"))
            assert 40 - since - 1 <= reset <= 40
        async with server.http.get(f"{server.url}/models") as response:
            assert "x-ratelimit-limit-requests" not in response.headers


async def test_a_refusal_has_a_retry_after_and_the_sdk_raises_the_right_error(
    backend: ReplayBackend,
) -> None:
    began = time.monotonic()
    async with limited_server(backend, "sqlite://", requests_per_minute=2) as (server, _):
        for _ in range(2):
            await server.sdk.responses.create(model="m", input="Hi")
        with pytest.raises(RateLimitError) as refused:
            await server.sdk.responses.create(model="m", input="Hi", stream=True)

    assert refused.value.code == "rate_limit_exceeded"
    assert (
        30 - (time.monotonic() - began) - 1
        <= int(refused.value.response.headers["retry-after"])
        <= 30
    )
    assert refused.value.response.headers["x-ratelimit-remaining-requests"] == "0"


async def test_other_calls_than_model_calls_are_no_requests(backend: ReplayBackend) -> None:
    async with limited_server(backend, "sqlite://", requests_per_minute=1) as (server, _):
        created = await server.sdk.responses.create(model="m", input="Hi")
        for _ in range(3):
            assert (await server.sdk.responses.retrieve(created.id)).output_text == "You said: Hi"
        with pytest.raises(BadRequestError):
            await server.sdk.responses.create(model="m", input=1)  # type: ignore[arg-type]


# Tokens.


async def test_a_days_tokens_end_with_a_word_about_tomorrow(
    backend: ReplayBackend, store_url: str
) -> None:
    async with limited_server(backend, store_url, tokens_per_day=100) as (server, stored):
        await server.parts.store.write(api_keys.take, stored.id, stored.limits, 95)
        with pytest.raises(RateLimitError) as refused:
            await server.sdk.responses.create(model="m", input="Hi", max_output_tokens=50)

    assert (refused.value.code, refused.value.type) == ("insufficient_quota", "insufficient_quota")
    assert 0 < int(refused.value.response.headers["retry-after"]) <= 86_400
    assert refused.value.response.headers["x-should-retry"] == "false"
    assert backend.requests == []


async def test_what_was_reserved_and_not_used_is_there_again(
    backend: ReplayBackend, store_url: str
) -> None:
    async with limited_server(backend, store_url, tokens_per_minute=5_000) as (server, _):
        for _ in range(8):  # each reserves more than a thousand, and uses eight
            await server.sdk.responses.create(model="m", input="Hi", store=False)
            await server.parts.jobs.meter.settle()
        with pytest.raises(RateLimitError) as refused:
            await asyncio.gather(
                *(server.sdk.responses.create(model="m", input="Hi") for _ in range(8))
            )

    assert refused.value.type == "tokens"


async def test_a_picture_is_not_weighed_by_its_bytes(backend: ReplayBackend) -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 400_000}
    requested = [{"role": "user", "content": [image, {"type": "input_text", "text": "Hi"}]}]
    backend.script = lambda request: Answer([completion()], JSON)
    async with limited_server(backend, "sqlite://", tokens_per_minute=10_000) as (server, _):
        for _ in range(3):
            assert (await server.post("/responses", json={"model": "m", "input": requested}))[
                0
            ] == 200


# At once.


async def test_a_key_limits_its_concurrent_requests(backend: ReplayBackend) -> None:
    gate = asyncio.Event()
    backend.script = lambda request: Answer([], JSON, wait=gate, rest=[completion()])
    async with limited_server(backend, "sqlite://", concurrency=2) as (server, _):
        pending = [asyncio.create_task(server.post("/responses", json=HI)) for _ in range(10)]
        refused = [
            (await next_one)[0] for next_one in itertools.islice(asyncio.as_completed(pending), 8)
        ]
        gate.set()
        statuses = sorted([(await task)[0] for task in pending])
        again = await server.post("/responses", json=HI)

    assert (refused, statuses, again[0]) == ([429] * 8, [200] * 2 + [429] * 8, 200)


async def test_a_request_that_ends_in_any_way_leaves_its_place(backend: ReplayBackend) -> None:
    never = asyncio.Event()
    async with limited_server(backend, "sqlite://", concurrency=1) as (server, _):
        for script in (
            Answer([b"{"], JSON),
            Answer([], JSON, status=500),
            Answer([sse(delta(content="Hi"), done=False)], cut=True),
        ):
            backend.script = lambda request, script=script: script  # type: ignore[misc]
            for body in (HI, {**HI, "stream": True}):
                async with server.http.post(f"{server.url}/responses", json=body) as response:
                    await response.read()
                    assert response.status != 429
        assert (await server.post("/responses", json={**HI, "previous_response_id": "resp_none"}))[
            0
        ] == 400
        backend.script = lambda request: Answer([sse(delta(content="Hi"), done=False)], wait=never)
        for path, body in (
            ("/responses", {**HI, "stream": True}),
            ("/chat/completions", {**CHAT, "stream": True}),
        ):
            backend.left.clear()
            async with server.http.post(server.url + path, json=body) as response:
                assert response.status == 200
                await response.content.readany()
                response.close()
            await backend.left.wait()
            await removed(server)
        backend.script = lambda request: Answer([completion()], JSON)
        assert (await server.post("/responses", json=HI))[0] == 200


async def removed(server: RunningServer) -> None:
    """Wait until nothing is made any more."""
    await until(lambda: not server.parts.jobs.meter.in_progress)


# What is counted.

FIVE_AND_THREE = requests(1, 5, 3)
"""What the echo says of "You said: Hi"."""


@pytest.mark.wide("postgres")
async def test_every_form_of_a_request_is_counted_once(
    backend: ReplayBackend, store_url: str
) -> None:
    async with limited_server(backend, store_url) as (server, _):
        sdk = server.sdk
        for _ in [await sdk.responses.create(model="m", input="Hi", stream=True)]:
            assert [event.type async for event in _][-1] == "response.completed"
        assert await used(server) == FIVE_AND_THREE
        queued = await sdk.responses.create(model="m", input="Hi", background=True)
        await ended(sdk, queued.id)
        assert await used(server) == requests(2, 10, 6)
        async with server.http.ws_connect(f"{server.url}/responses") as socket:
            await socket.send_json({"type": "response.create", **HI})
            while (await socket.receive_json())["type"] != "response.completed":
                pass
        assert await used(server) == requests(3, 15, 9)
        stream = {"stream": True, "stream_options": {"include_usage": True}}
        async with server.http.post(
            f"{server.url}/chat/completions", json={**CHAT, **stream}
        ) as response:
            assert b"[DONE]" in await response.read()
        assert await used(server) == requests(4, 20, 12)
        assert (await server.post("/chat/completions", json=CHAT))[0] == 200
        assert await used(server) == requests(5, 25, 13)
        await sdk.responses.create(model="m", input="Hi")
        assert await used(server) == requests(6, 30, 14)
        backend.script = lambda request: Answer(
            [b'{"data":[],"usage":{"prompt_tokens":7,"total_tokens":7}}'], JSON
        )
        assert (await server.post("/embeddings", json={"model": "m", "input": "Hi"}))[0] == 200
        assert await used(server) == requests(7, 37, 14)


async def test_a_request_that_is_sent_again_with_its_key_is_counted_once(
    backend: ReplayBackend,
) -> None:
    async with limited_server(backend, "sqlite://", requests_per_minute=1) as (server, _):
        for _ in range(3):
            status, _ = await server.post(
                "/responses", json=HI, headers={"idempotency-key": "once"}
            )
            assert status == 200
        assert await used(server) == requests(1, 5, 1)


@pytest.mark.wide("postgres")
async def test_a_background_response_that_is_cancelled_gives_back_what_it_took(
    backend: ReplayBackend, store_url: str
) -> None:
    never = asyncio.Event()
    calls = asyncio.Semaphore(0)

    def script(request: dict[str, Any]) -> Answer:
        calls.release()
        return Answer([], wait=never)

    backend.script = script
    async with limited_server(backend, store_url, tokens_per_day=2_000) as (server, stored):
        for _ in range(3):  # each takes more than a thousand
            queued = await server.sdk.responses.create(model="m", input="Hi", background=True)
            await calls.acquire()  # from then on the prompt counts
            await server.sdk.responses.cancel(queued.id)
            await removed(server)
            await server.parts.jobs.meter.settle()
        counts = await eventually(
            lambda: used(server), lambda counts: counts["input_tokens"] >= 3 * 8
        )  # the worker charges once it has stopped
        assert counts == requests(3, 3 * 8, 0)
        level = await server.parts.store.write(api_keys.take, stored.id, stored.limits, 1)
        assert level.is_granted
        assert level.tokens_today < 100


@pytest.mark.wide
async def test_an_abandoned_answer_is_counted_as_far_as_it_was_sent(
    backend: ReplayBackend, store_url: str
) -> None:
    never = asyncio.Event()
    reported = []

    def script(request: dict[str, Any]) -> Answer:
        number = len(reported) % 7 + 1
        reported.append(number)
        return Answer([counted(number)], wait=never)

    backend.script = script
    async with limited_server(backend, store_url) as (server, _):
        await asyncio.gather(*(abort(server, number) for number in range(200)))
        await removed(server)
        counts = await used(server)

    assert counts == requests(200, 5 * 200, sum(reported))


def counted(number: int) -> bytes:
    """So many words, each with what it came to until then, as vLLM does it on demand."""
    counts = [{"prompt_tokens": 5, "completion_tokens": words} for words in range(1, number + 1)]
    return sse(*({**delta(content="w"), "usage": count} for count in counts), done=False)


async def abort(server: RunningServer, number: int) -> None:
    """Ask in some way, read until all that comes has come, and leave."""
    path, body = (("/chat/completions", CHAT), ("/responses", HI))[number % 2]
    async with server.http.post(server.url + path, json={**body, "stream": True}) as response:
        seen = b""
        while b'"w"' not in seen:
            piece = await response.content.readany()
            assert piece, f"the stream ended: {response.status} {seen!r}"
            seen += piece
        response.close()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/responses", {"input": LONG}),
        ("/responses", {"input": LONG, "stream": True}),
        ("/chat/completions", {"messages": [{"role": "user", "content": LONG}]}),
        ("/embeddings", {"input": LONG}),
    ],
    ids=["plain", "stream", "chat", "embeddings"],
)
async def test_a_client_that_disconnects_before_the_answer_has_used_its_request(
    path: str, body: dict[str, Any]
) -> None:
    async with (
        deaf() as (url, requested),
        serve(HttpBackend("deaf", url), store=(store := await open_store("sqlite://"))) as server,
    ):
        key, _ = await issued(store)
        server.http.headers.update(bearing(key))
        pending = asyncio.create_task(server.post(path, json={"model": "m", **body}))
        await requested.wait()
        pending.cancel()
        await removed(server)
        counts = await used(server)

    assert (counts["requests"], counts["output_tokens"]) == (1, 0)
    assert 10_000 <= counts["input_tokens"] < 10_020


@asynccontextmanager
async def deaf() -> AsyncIterator[tuple[str, asyncio.Event]]:
    """A backend that takes what it is asked, says so here, and never answers."""
    requested = asyncio.Event()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if head.startswith(b"POST"):
            requested.set()
            await reader.read()
        writer.close()

    async with await asyncio.start_server(take, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", requested


async def test_where_the_backend_counts_nothing_the_texts_are_measured(
    backend: ReplayBackend,
) -> None:
    backend.script = lambda request: Answer([sse(delta(content="word " * 400), delta("stop"))])
    async with limited_server(backend, "sqlite://") as (server, _):
        for path, body in (("/responses", HI), ("/chat/completions", CHAT)):
            async with server.http.post(
                server.url + path, json={**body, "stream": True}
            ) as response:
                await response.read()
        counts = await used(server)

    assert counts["requests"] == 2
    assert 0 < counts["input_tokens"] < 50
    assert 1000 <= counts["output_tokens"] < 1100


async def test_embeddings_that_the_backend_does_not_count_are_measured_too(
    backend: ReplayBackend,
) -> None:
    backend.script = lambda request: Answer([b'{"object":"list","data":[]}'], JSON)
    async with limited_server(backend, "sqlite://") as (server, _):
        for provided in (LONG, [LONG[:20_000], LONG[20_000:]], list(range(10_000))):
            before = (await used(server))["input_tokens"]
            assert (await server.post("/embeddings", json={"model": "m", "input": provided}))[
                0
            ] == 200
            assert 10_000 <= (await used(server))["input_tokens"] - before < 10_020


async def test_a_tool_loop_is_counted_by_all_its_calls_and_a_failed_one_by_what_came(
    backend: ReplayBackend,
) -> None:
    failing = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
    chunks = sse({**delta(content="Hi"), "usage": failing}, done=False)
    backend.script = lambda request: Answer([chunks], cut=True)
    async with limited_server(backend, "sqlite://") as (server, _):
        async with server.http.post(
            f"{server.url}/responses", json={**HI, "stream": True}
        ) as response:
            assert b"response.failed" in await response.read()
        assert await used(server) == requests(1, 9, 2)


# What the tenant is told.


async def test_usage_is_reported_by_key_and_day_to_its_tenant_alone(
    backend: ReplayBackend, store_url: str
) -> None:
    async with limited_server(backend, store_url) as (server, stored):
        other, _ = await issued(server.parts.store, "other")
        assert (await server.post("/responses", json=HI))[0] == 200
        assert (await server.post("/responses", json=HI, headers=bearing(other)))[0] == 200
        days: Sequence[Any] = (await server.get("/usage"))[1]["data"]  # type: ignore[assignment]
        early: Any = (await server.get("/usage?start_time=0&end_time=86400"))[1]
        wrong = await server.get("/usage?start_time=soon")

    assert [(day["api_key_id"], day["requests"], day["total_tokens"]) for day in days] == [
        (stored.id, 1, 6)
    ]
    assert days[0]["start_time"] % 86_400 == 0
    assert days[0]["date"].count("-") == 2
    assert (early["object"], early["data"]) == ("list", [])
    assert (wrong[0], wrong[1]["error"]["param"]) == (400, "start_time")  # type: ignore[index]


async def test_without_keys_nothing_is_counted_and_the_store_is_not_queried(
    server: RunningServer,
) -> None:
    await server.post("/responses", json={**HI, "store": False})

    body = (await server.get("/usage"))[1]
    assert body["data"] == []
    assert body["storage"] == {
        "object": "usage.storage",
        "stored_bytes": 0,
        "max_stored_bytes": None,
    }
    assert server.parts.jobs.meter.in_progress == 0


async def test_lists_and_counts_of_tokens_are_requests(backend: ReplayBackend) -> None:
    async with limited_server(backend, "sqlite://", requests_per_minute=7) as (server, _):
        created = (await server.post("/responses", json=HI))[1]["id"]
        conversation = (await server.post("/conversations", json={}))[1]["id"]
        lists = f"/responses/{created}/input_items?limit=1", f"/conversations/{conversation}/items"
        requested = [await server.get(path) for path in lists for _ in range(2)]
        requested += [await server.post("/responses/input_tokens", json=HI) for _ in range(2)]
        refused = [await server.get(path) for path in lists]
        refused.append(await server.post("/responses/input_tokens", json=HI))

        assert [status for status, _ in requested] == [200] * 6
        assert [(status, body["error"]["code"]) for status, body in refused] == [
            (429, "rate_limit_exceeded")
        ] * 3  # type: ignore[index]
        assert (await used(server))["requests"] == 7


async def test_a_list_counts_to_the_requests_at_once(backend: ReplayBackend) -> None:
    async with limited_server(backend, "sqlite://", concurrency=1) as (server, _):
        created = (await server.post("/responses", json=HI))[1]["id"]
        for _ in range(3):
            assert (await server.get(f"/responses/{created}/input_items"))[0] == 200
        assert server.parts.jobs.meter.in_progress == 0


async def test_a_hit_of_the_cache_is_a_request_and_no_tokens(backend: ReplayBackend) -> None:
    cached = {**HI, "antiphon": {"cache": True}}
    async with limited_server(backend, "sqlite://") as (server, _):
        for body in (cached, cached, {**cached, "stream": True}):
            async with server.http.post(f"{server.url}/responses", json=body) as response:
                assert b"You said" in await response.read()
        assert len(backend.requests) == 1
        assert await used(server) == requests(3, 5, 1)


async def test_a_key_can_enable_the_cache_for_all_its_requests(backend: ReplayBackend) -> None:
    stated = []
    async with limited_server(backend, "sqlite://", caches=True) as (server, _):
        for headers in ({}, {}, {"antiphon-cache": "off"}):
            async with server.http.post(
                f"{server.url}/responses", json=HI, headers=headers
            ) as response:
                stated.append(response.headers.get("antiphon-cache"))
        async with server.http.ws_connect(f"{server.url}/responses") as socket:
            await socket.send_json({"type": "response.create", **HI})
            while (await socket.receive_json())["type"] != "response.completed":
                pass

    assert (stated, len(backend.requests)) == (["miss", "hit", None], 2)
