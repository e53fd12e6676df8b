"""The response cache over HTTP and WebSocket: asked for, said, and the same in every way of
asking.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import aiohttp
import pytest
from msgspec.structs import replace
from starlette.types import ASGIApp, Message

from antiphon.server.application import create_app
from antiphon.storage.open import open_store
from antiphon.storage.operations import api_keys
from antiphon.testing import assert_event_stream
from antiphon.upstream.http import HttpBackend
from tests.integration.server.test_background import reaches
from tests.support.asgi import once
from tests.support.keys import bearing, issued
from tests.support.replay import JSON, STREAM, Answer, ReplayBackend, completion, echo, text
from tests.support.server import RunningServer, serve
from tests.support.socket import talk
from tests.support.waiting import until

ON = {"antiphon-cache": "on"}
BODY = {"model": "m", "input": "Hi"}


async def post(
    server: RunningServer,
    headers: Mapping[str, str] | None = None,
    *,
    http: aiohttp.ClientSession | None = None,
    **body: Any,
) -> tuple[str | None, Any]:
    """Ask; return what the reply says of the cache, and the response."""
    client = http or server.http
    async with client.post(
        server.url + "/responses", json={**BODY, **body}, headers=headers
    ) as reply:
        cache_status = reply.headers.get("antiphon-cache")
        if not body.get("stream"):
            return cache_status, await reply.json()
        events = [
            json.loads(line[6:])
            for line in (await reply.read()).split(b"\n")
            if line.startswith(b"data: ")
        ]
        assert_event_stream(events)
        return cache_status, events[-1]["response"]


async def test_nothing_is_reported_unless_requested(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    assert (await post(stateful))[0] is None
    assert (await post(stateful))[0] is None
    assert len(backend.requests) == 2


@pytest.mark.parametrize("stream", [False, True])
async def test_a_cache_hit_names_the_tools_omitted_when_it_was_created(
    stateful: RunningServer, backend: ReplayBackend, stream: bool
) -> None:
    body = {**BODY, "tools": [{"type": "web_search"}], "stream": stream}
    backend.script = lambda request: Answer(
        [text("Hi") if stream else completion("Hi")],
        STREAM if stream else JSON,
        headers={"antiphon-ignored-tools": "code_interpreter"},
    )
    reported = []
    for _ in range(2):
        async with stateful.http.post(stateful.url + "/responses", json=body, headers=ON) as reply:
            await reply.read()
            reported.append(
                (reply.headers["antiphon-cache"], reply.headers["antiphon-ignored-tools"])
            )

    assert reported == [("miss", "code_interpreter"), ("hit", "code_interpreter")]


@pytest.mark.parametrize(
    "how", [{"headers": ON}, {"antiphon": {"cache": True}}, {"antiphon": {"cache": {"ttl": 600}}}]
)
@pytest.mark.parametrize("streams", [(False, True), (True, False), (True, True), (False, False)])
async def test_a_reply_reports_a_cache_hit_plain_or_streamed(
    stateful: RunningServer, backend: ReplayBackend, how: Any, streams: tuple[bool, bool]
) -> None:
    (first, created), (second, again) = [
        await post(stateful, stream=stream, **how) for stream in streams
    ]
    assert (first, second) == ("miss", "hit")
    assert again["id"] != created["id"]
    assert again["output"][0]["content"] == created["output"][0]["content"]
    assert len(backend.requests) == 1
    stored = (await stateful.get(f"/responses/{again['id']}"))[1]
    assert stored["output"] == again["output"]


async def test_the_header_overrides_the_body(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    await post(stateful, antiphon={"cache": True})
    assert (await post(stateful, {"antiphon-cache": "off"}, antiphon={"cache": True}))[0] is None
    assert (await post(stateful, {"antiphon-cache": "refresh"}, antiphon={"cache": {"ttl": 5}}))[
        0
    ] == "miss"
    assert (await post(stateful, ON, antiphon={"cache": False}))[0] == "hit"
    assert len(backend.requests) == 3


@pytest.mark.parametrize(
    ("headers", "body", "param"),
    [
        ({"antiphon-cache": "maybe"}, {}, "antiphon-cache"),
        ({}, {"cache": "on"}, "antiphon.cache"),
        ({}, {"cache": {"ttl": 0}}, "antiphon.cache.ttl"),
        ({}, {"cache": {"size": 1}}, "antiphon.cache.size"),
        ({}, {"cash": True}, "antiphon.cash"),
    ],
)
async def test_what_is_no_wish_is_refused_by_name(
    stateful: RunningServer, backend: ReplayBackend, headers: dict[str, str], body: Any, param: str
) -> None:
    status, error = await stateful.post(
        "/responses", json={**BODY, "antiphon": body}, headers=headers
    )
    assert (status, error["error"]["param"]) == (400, param)  # type: ignore[index]
    assert not backend.requests


async def test_work_in_the_background_takes_from_the_cache_and_gives_to_it(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    _, queued = await post(stateful, ON, background=True)
    first = await reaches(stateful, queued["id"], "completed")
    assert (await post(stateful, ON))[0] == "hit"
    _, queued = await post(stateful, ON, background=True)
    second = await reaches(stateful, queued["id"], "completed")
    assert second["output_text"] == first["output_text"] == "You said: Hi "
    assert len(backend.requests) == 1


async def test_equal_conversations_share_cached_answers(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    for _ in range(2):
        conversation = await stateful.sdk.conversations.create()
        for words in ("One", "Two"):
            await post(stateful, ON, input=words, conversation=conversation.id)
        items = await stateful.sdk.conversations.items.list(conversation.id, order="asc")
        assert [item.content[0].text for item in items.data] == [  # type: ignore[union-attr]
            *("One", "You said: One", "Two", "You said: Two"),
        ]
    assert len(backend.requests) == 2


async def test_a_websocket_shares_the_cache_of_http(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    await post(stateful, ON)
    async with talk(stateful) as client:
        events = await client.create(antiphon={"cache": True})
        assert_event_stream(events)
        hit = events[-1]["response"]
        followed = await client.created("And then?", previous_response_id=hit["id"])
    assert hit["output"][0]["content"][0]["text"] == "You said: Hi"
    assert followed["status"] == "completed"
    assert len(backend.requests) == 2


@pytest.mark.wide
async def test_two_hundred_equal_requests_over_http_make_one_call(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    go = asyncio.Event()

    def slow(request: dict[str, Any]) -> Answer:
        return Answer([], wait=go, rest=[text("You ", "said")])

    backend.script = slow
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http,
        asyncio.timeout(60),
    ):
        pending = [
            asyncio.create_task(post(stateful, ON, http=http, stream=odd))
            for odd in (False, True) * 100
        ]
        await until(lambda: len(stateful.parts.process.runs) >= 200)
        go.set()
        answers = await asyncio.gather(*pending)
    assert len(backend.requests) == 1
    assert len({response["id"] for _, response in answers}) == 200
    assert {response["status"] for _, response in answers} == {"completed"}


async def test_a_hit_is_answered_while_the_backend_is_down(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    await post(stateful, ON)
    backend.script = lambda request: Answer([b"{}"], status=500)
    for _ in range(3):
        await post(stateful, input="Something else")
    assert (await post(stateful, ON))[0] == "hit"
    backend.script = echo


async def test_the_header_of_a_websocket_handshake_applies_to_all_its_requests(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    async with talk(stateful, additional_headers=ON) as client:
        for _ in range(2):
            await client.created()
    assert len(backend.requests) == 1


@pytest.mark.parametrize(
    ("usual", "stated", "outcomes"),
    [
        (True, {}, ["miss", "hit"]),
        (True, {"store": False}, [None, None]),
        (True, {"antiphon": {"cache": False}}, [None, None]),
        (False, {}, [None, None]),
        (False, {"antiphon": {"cache": True}}, ["miss", "hit"]),
    ],
)
async def test_the_owner_of_a_request_can_enable_or_disable_the_cache(
    server: RunningServer, usual: bool, stated: dict[str, Any], outcomes: list[str | None]
) -> None:
    body = json.dumps({**BODY, **stated}).encode()
    heads = [
        await within(create_app(server.application.gateway, server.endpoints), body, usual)
        for _ in range(2)
    ]
    assert [head.get(b"antiphon-cache") for head in heads] == [
        outcome and outcome.encode() for outcome in outcomes
    ]


async def within(app: ASGIApp, body: bytes, usual: bool) -> dict[bytes, bytes]:
    """Ask as an application around this one does; return the reply's headers."""
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/responses",
        "headers": [(b"host", b"localhost")],
    }
    scope |= {
        "antiphon.cache": usual,
        "query_string": b"",
        "http_version": "1.1",
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 1),
    }
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, once(body), send)
    assert sent[0]["status"] == 200, sent
    return dict(sent[0]["headers"])


async def test_a_key_may_have_the_cache_on_and_no_tenant_gets_anothers_answers(
    backend: ReplayBackend,
) -> None:
    store = await open_store("sqlite://")
    heads = []
    for tenant in ("acme", "other"):
        key, stored_key = await issued(store, tenant)
        await store.write(api_keys.put, replace(stored_key, caches=True))
        heads.append(bearing(key))
    async with serve(HttpBackend("replay", backend.url, ""), store=store) as server:
        stated = [(await post(server, head))[0] for head in heads * 2]
        unwanted = await post(server, {**heads[0], "antiphon-cache": "off"})
    assert stated == ["miss", "miss", "hit", "hit"]
    assert unwanted[0] is None
    assert len(backend.requests) == 3


async def test_an_idempotency_key_and_the_cache_live_side_by_side(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    await post(stateful, ON)
    keyed = {**ON, "idempotency-key": "k"}
    _, first = await post(stateful, keyed)
    _, again = await post(stateful, keyed)
    assert first["id"] == again["id"]
    assert len(backend.requests) == 1
