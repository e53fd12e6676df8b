"""The Messages API: answers, plain and streamed, keys in its header, errors in its envelope."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from antiphon.storage.open import open_store
from antiphon.translation.to_messages.encoder import MessagesEncoder
from antiphon.upstream.http import HttpBackend
from tests.support.keys import bearing, issue
from tests.support.messages_requests import assistant, result, tool, use, user
from tests.support.messages_server import HI, both, names, post, stream
from tests.support.messages_stream import events_in, fold, violations
from tests.support.replay import JSON, Answer, ReplayBackend, completion, delta, sse
from tests.support.server import RunningServer, serve
from tests.support.waiting import until

CALL = {
    "index": 0,
    "id": "call_1",
    "type": "function",
    "function": {"name": "f", "arguments": '{"a": "b"}'},
}


@pytest.fixture
async def guarded(backend: ReplayBackend) -> AsyncIterator[tuple[RunningServer, str]]:
    """A server that asks for a key, and one."""
    store = await open_store("sqlite://")
    key = await issue(store)
    async with serve(HttpBackend("replay", backend.url, "sk-secret"), store=store) as one:
        yield one, key


async def test_an_answer_is_a_message_plain_and_streamed(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda request: (
        Answer([sse(delta(content="One "), delta(content="two."), delta("stop"))])
        if request["stream"]
        else Answer([completion("One two.")], JSON)
    )
    message = await both(server)

    assert message["type"] == "message"
    assert (message["role"], message["model"], message["stop_reason"]) == (
        "assistant",
        "m",
        "end_turn",
    )
    assert message["content"] == [{"type": "text", "text": "One two."}]


async def test_a_stream_begins_with_an_estimate_and_ends_with_the_backends_numbers(
    server: RunningServer,
) -> None:
    (_, start), *_, (_, end), _ = events_in(await stream(server))

    assert start["message"]["usage"]["input_tokens"] > 5
    assert (end["usage"]["input_tokens"], end["usage"]["output_tokens"]) == (5, 3)


async def test_later_streams_begin_with_what_the_model_was_seen_to_count(
    server: RunningServer, backend: ReplayBackend
) -> None:
    """billion-context#72: a count and the usage of the same message differed."""
    usage = {"prompt_tokens": 600, "completion_tokens": 1, "total_tokens": 601}
    backend.script = lambda _: Answer(
        [sse(delta(content="Hi"), delta("stop"), {"choices": [], "usage": usage})]
    )
    begun = []
    for _ in range(2):
        (_, start), *_ = events_in(await stream(server, messages=[user("Some words. " * 100)]))
        begun.append(start["message"]["usage"]["input_tokens"])

    assert 300 < begun[0] < 400
    assert begun[1] == 600
    count = await post(server, "/messages/count_tokens", messages=[user("Some words. " * 100)])
    assert 590 < count.body["input_tokens"] <= 600


async def test_a_call_of_a_tool_and_its_result_go_both_ways(
    server: RunningServer, backend: ReplayBackend
) -> None:
    def script(request: dict[str, Any]) -> Answer:
        if request["messages"][-1]["role"] == "tool":
            return Answer([sse(delta(content="Done."), delta("stop"))])
        return Answer([sse(delta(tool_calls=[CALL]), delta("tool_calls"))])

    backend.script = script
    first = fold(await stream(server, tools=[tool()]))
    assert first["stop_reason"] == "tool_use"
    assert [block["type"] for block in first["content"]] == ["tool_use"]
    assert (first["content"][0]["name"], first["content"][0]["input"]) == ("f", {"a": "b"})

    history = [user("Hi"), assistant(*first["content"]), user(result("call_1", "c"))]
    second = fold(await stream(server, tools=[tool()], messages=history))
    assert second["content"] == [{"type": "text", "text": "Done."}]
    assert backend.requests[-1]["messages"][-1]["content"] == "c"


async def test_nothing_is_stored(server: RunningServer) -> None:
    message = (await post(server)).body
    status, _ = await server.get(f"/responses/{message['id'].replace('msg', 'resp')}")

    assert status == 404


async def test_an_answer_that_takes_long_begins_with_pings(
    server: RunningServer, backend: ReplayBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("antiphon.server.exchange.GRACE", 0.01)
    monkeypatch.setattr("antiphon.server.exchange.COMMENT_AFTER", 0.02)
    go = asyncio.Event()
    backend.script = lambda _: Answer([], wait=go, rest=[sse(delta(content="Hi"), delta("stop"))])
    async with server.http.post(f"{server.url}/messages", json={**HI, "stream": True}) as response:
        received = b""
        while received.count(b"event: ping") < 3:
            received += await response.content.readany()
        go.set()
        received += await response.read()

    assert violations(received) == []
    assert names(received)[:3] == ["message_start", "ping", "ping"]
    assert b"\n: " not in received


# Keys.


@pytest.mark.parametrize("header", ["x-api-key", "authorization"])
async def test_a_key_comes_in_by_either_header(
    guarded: tuple[RunningServer, str], header: str
) -> None:
    server, key = guarded
    headers = {"x-api-key": key} if header == "x-api-key" else bearing(key)

    assert (await post(server, headers=headers)).status == 200
    assert (await post(server, "/messages/count_tokens", headers)).status == 200


async def test_of_two_keys_the_one_of_this_api_counts(guarded: tuple[RunningServer, str]) -> None:
    server, key = guarded

    assert (await post(server, headers={**bearing("sk-other"), "x-api-key": key})).status == 200
    assert (await post(server, headers={**bearing(key), "x-api-key": "sk-other"})).status == 401


async def test_without_a_key_the_error_has_the_envelope_of_this_api(
    guarded: tuple[RunningServer, str],
) -> None:
    answered = await post(guarded[0])

    assert answered.status == 401
    assert answered.error["type"] == "authentication_error"
    assert "x-api-key" in answered.error["message"]


async def test_a_limit_of_the_key_is_an_error_that_clients_repeat_later(
    backend: ReplayBackend,
) -> None:
    store = await open_store("sqlite://")
    key = await issue(store, requests_per_minute=1)
    async with serve(HttpBackend("replay", backend.url), store=store) as server:
        headers = {"x-api-key": key}
        first = await post(server, headers=headers)
        assert (first.status, first.headers["anthropic-ratelimit-requests-remaining"]) == (200, "0")
        answered = await post(server, headers=headers)

    assert (answered.status, answered.error["type"]) == (429, "rate_limit_error")
    assert int(answered.headers["retry-after"]) >= 1


# Errors.


@pytest.mark.parametrize(
    ("fields", "status", "kind", "words"),
    [
        ({"model": "none"}, 404, "not_found_error", "model: "),
        ({"max_tokens": None}, 400, "invalid_request_error", "max_tokens: Field required"),
        ({"nice": 1}, 400, "invalid_request_error", "nice: Extra inputs are not permitted"),
        (
            {"messages": [user("a"), assistant("b")] * 10_001},
            400,
            "invalid_request_error",
            "messages: array too long",
        ),
        (
            {"messages": [user(result())]},
            400,
            "invalid_request_error",
            "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks",
        ),
        (
            {"messages": [user("a"), assistant(use()), user("b")]},
            400,
            "invalid_request_error",
            "messages.1: `tool_use` ids were found without `tool_result` blocks",
        ),
    ],
)
async def test_an_invalid_request_is_refused_in_the_words_that_clients_know(
    server: RunningServer, fields: dict[str, Any], status: int, kind: str, words: str
) -> None:
    for is_stream in (False, True):
        answered = await post(server, stream=is_stream, **fields)
        assert (answered.status, answered.error["type"]) == (status, kind)
        assert answered.error["message"].startswith(words)


@pytest.mark.parametrize("path", ["/messages/batches", "/messages/none"])
async def test_an_unknown_path_below_is_not_found_in_this_envelope(
    server: RunningServer, path: str
) -> None:
    answered = await post(server, path)

    assert (answered.status, answered.error["type"]) == (404, "not_found_error")


async def test_a_base_url_with_the_prefix_is_named_as_the_mistake(server: RunningServer) -> None:
    answered = await post(server, "/v1/messages")

    assert answered.status == 404
    assert "Messages API" in answered.body["error"]["message"]


async def test_a_query_is_ignored(server: RunningServer) -> None:
    assert (await post(server, "/messages?beta=true")).status == 200


async def test_a_prompt_that_is_too_long_has_the_sentence_by_which_clients_compact(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.models[0]["max_model_len"] = 2048
    await server.get("/models")
    words = "This model's maximum context length is 2048 tokens. However, you requested 3000 tokens"
    error = b'{"error": {"message": "%b (2900 in the messages).", "code": 400}}' % words.encode()
    backend.script = lambda _: Answer([error], JSON, 400)

    for is_stream in (False, True):
        answered = await post(server, stream=is_stream)
        assert (answered.status, answered.error["type"]) == (400, "invalid_request_error")
        assert answered.error["message"] == "prompt is too long: 3000 tokens > 2048 maximum"


async def test_an_overloaded_backend_is_529(server: RunningServer, backend: ReplayBackend) -> None:
    backend.script = lambda _: Answer([b"{}"], JSON, 503, {"retry-after": "1000"})
    answered = await post(server)

    assert (answered.status, answered.error["type"]) == (529, "overloaded_error")


async def test_a_client_that_disconnects_is_no_failure_of_the_backend(
    server: RunningServer, backend: ReplayBackend
) -> None:
    """OmniRoute#5063: others then avoid a backend that is well."""
    never = asyncio.Event()
    backend.script = lambda _: Answer([sse(delta(content="Hi"), done=False)], wait=never)
    health = server.parts.models.backends[0].health
    for is_stream in (False, True):
        request = server.http.post(f"{server.url}/messages", json={**HI, "stream": is_stream})
        sent = asyncio.ensure_future(request)
        await until(lambda: len(backend.requests) == 1)
        backend.requests.clear()
        sent.cancel()
        await until(lambda: not server.parts.process.runs)

    assert (health.failures, health.pauses) == (0, {})
    never.set()
    backend.script = lambda _: Answer([completion("Hi")], JSON)
    assert (await post(server)).status == 200


async def test_a_fault_of_the_server_in_mid_stream_is_an_event(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode = MessagesEncoder.encode
    begun: list[MessagesEncoder] = []

    def fail_late(self: MessagesEncoder, batch: Any) -> bytes:
        if self in begun:
            raise RuntimeError("A fault of ours.")
        begun.append(self)
        return encode(self, batch)

    monkeypatch.setattr(MessagesEncoder, "encode", fail_late)
    received = await stream(server)

    assert names(received)[0] == "message_start"
    assert names(received)[-1] == "error"
    assert b"A fault of ours" not in received


async def test_a_stream_of_a_backend_that_dies_ends_with_an_error(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda _: Answer([sse(delta(content="Half a"), done=False)], cut=True)
    received = await stream(server)

    assert names(received)[-1] == "error"
    assert "message_stop" not in names(received)
    *_, (_, data) = events_in(received)
    assert data["error"]["type"] == "api_error"
    assert data["request_id"].startswith("req_")
