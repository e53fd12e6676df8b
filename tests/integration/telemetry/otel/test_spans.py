"""Traces by the GenAI conventions: what spans there are, how they hang together, and what they
say.
"""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from opentelemetry.trace import SpanKind, StatusCode, format_span_id, format_trace_id

from antiphon.telemetry.otel.spans import place_of
from antiphon.upstream.http import HttpBackend
from tests.support.replay import Answer, ReplayBackend, completion, delta, sse, text
from tests.support.server import RunningServer, serve
from tests.support.spans import Seen, is_child, reported

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
REQUEST = "POST /v1/responses"
JSON = "application/json"


@pytest.fixture
def seen() -> Seen:
    return Seen()


@asynccontextmanager
async def traced_by(seen: Seen, *backends: ReplayBackend) -> AsyncIterator[RunningServer]:
    named = [HttpBackend(f"b{number}", one.url) for number, one in enumerate(backends)]
    async with serve(*named, trace=seen) as server:
        await server.parts.models.refresh()
        yield server


@pytest.fixture
async def traced(seen: Seen, backend: ReplayBackend) -> AsyncIterator[RunningServer]:
    async with traced_by(seen, backend) as server:
        yield server


async def test_a_request_is_a_span_and_its_call_of_the_model_another_within(
    traced: RunningServer, seen: Seen
) -> None:
    created = await traced.sdk.responses.create(
        model="m", input="Hi", temperature=0.5, max_output_tokens=16
    )
    call, request = seen.spans()

    assert (request.name, request.kind, request.parent) == (REQUEST, SpanKind.SERVER, None)
    assert (call.name, call.kind, is_child(call, request)) == ("chat m", SpanKind.CLIENT, True)
    assert reported(request).pop("antiphon.request.id").startswith("req_")
    assert (
        reported(request).items()
        >= {
            "http.request.method": "POST",
            "http.route": "/v1/responses",
            "http.response.status_code": 200,
            "gen_ai.response.id": created.id,
            "gen_ai.response.model": "m",
            "antiphon.response.status": "completed",
        }.items()
    )
    port = int(traced.parts.models.backends[0].backend.url.split(":")[2].removesuffix("/v1"))
    assert reported(call) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "generic",
        "gen_ai.request.model": "m",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 16,
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 5,
        "gen_ai.usage.output_tokens": 1,
        "antiphon.backend": "b0",
        "server.address": "127.0.0.1",
        "server.port": port,
    }
    assert (request.status.status_code, call.status.status_code) == (
        StatusCode.UNSET,
        StatusCode.UNSET,
    )


async def test_the_trace_of_the_caller_is_continued_to_the_backend(
    backend: ReplayBackend, traced: RunningServer, seen: Seen
) -> None:
    await traced.sdk.responses.create(model="m", input="Hi", extra_headers={"traceparent": PARENT})
    call, request = seen.spans()

    assert format_trace_id(request.context.trace_id) == PARENT.split("-")[1]
    assert request.parent is not None
    assert format_span_id(request.parent.span_id) == PARENT.split("-")[2]
    expected = f"traceparent: 00-{PARENT.split('-')[1]}-{format_span_id(call.context.span_id)}-01"
    assert expected in backend.heads[-1].decode().lower()


async def test_chat_completions_continue_the_trace_too(
    backend: ReplayBackend, traced: RunningServer, seen: Seen
) -> None:
    await traced.sdk.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": "Hi"}],
        extra_headers={"traceparent": PARENT},
    )
    call, request = seen.spans()

    assert (call.name, request.name) == ("chat m", "POST /v1/chat/completions")
    assert is_child(call, request)
    assert format_span_id(call.context.span_id) in backend.heads[-1].decode().lower()


async def test_embeddings_are_an_operation_of_their_own(
    backend: ReplayBackend, traced: RunningServer, seen: Seen
) -> None:
    backend.script = lambda _: Answer([b'{"error": {"message": "canary"}}'], JSON, status=500)
    await traced.post("/embeddings", json={"model": "m", "input": "canary"})
    call, request = seen.spans()

    assert (call.name, reported(call)["gen_ai.operation.name"]) == ("embeddings m", "embeddings")
    assert (reported(call)["error.type"], reported(request)["error.type"]) == ("502", "502")
    assert is_child(call, request)


async def test_the_caller_decides_whether_a_trace_is_sampled(
    backend: ReplayBackend, traced: RunningServer, seen: Seen
) -> None:
    await traced.sdk.responses.create(
        model="m", input="Hi", extra_headers={"traceparent": f"{PARENT[:-1]}0"}
    )

    assert seen.spans() == []
    assert f"traceparent: 00-{PARENT.split('-')[1]}" in backend.heads[-1].decode().lower()


async def test_a_stream_reports_its_time_to_first_part_and_its_cost(
    traced: RunningServer, seen: Seen
) -> None:
    async with await traced.sdk.responses.create(model="m", input="Hi", stream=True) as stream:
        assert [event async for event in stream][-1].type == "response.completed"
    call, request = seen.spans()

    assert reported(call)["gen_ai.request.stream"] is True
    assert 0 < reported(call)["gen_ai.response.time_to_first_chunk"] < 60
    assert reported(call)["gen_ai.usage.output_tokens"] == 3
    assert request.end_time >= call.end_time


async def test_every_call_of_the_model_has_a_span_also_one_that_fails_over(
    backend: ReplayBackend, seen: Seen
) -> None:
    broken = Answer([b"{}"], JSON, status=500)
    async with AsyncExitStack() as stack:
        other = await stack.enter_async_context(ReplayBackend(backend.script).serve())
        server = await stack.enter_async_context(traced_by(seen, backend, other))
        backend.script = lambda _: broken
        other.script = lambda _: (
            broken if not backend.requests else Answer([completion("fine")], JSON)
        )
        await server.sdk.responses.create(model="m", input="Hi")
    *calls, request = seen.spans()

    assert [call.name for call in calls] == ["chat m"] * 2
    assert all(is_child(call, request) for call in calls)
    assert [reported(call).get("error.type") for call in calls] == ["500", None]
    assert [call.status.status_code for call in calls] == [StatusCode.ERROR, StatusCode.UNSET]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Answer([b'{"error": {"message": "canary", "code": "canary"}}'], JSON, status=500), "500"),
        (Answer([b'{"error": {"message": "canary", "code": "canary"}}'], JSON, status=429), "429"),
        (Answer([b"canary"], JSON), "502"),
        (Answer([b'data: {"error": {"message": "canary", "code": "canary"}}\n\n']), "502"),
        (Answer([b"canary"], cut=True), "502"),
    ],
    ids=["status", "rate", "malformed", "in the stream", "cut"],
)
async def test_a_failure_is_reported_by_its_kind_only(
    backend: ReplayBackend, traced: RunningServer, seen: Seen, answer: Answer, kind: str
) -> None:
    backend.script = lambda _: answer
    async with traced.http.post(
        f"{traced.url}/responses", json={"model": "m", "input": "Hi", "stream": True}
    ) as response:
        await response.read()
    call = seen.named("chat m")

    assert reported(call)["error.type"] == kind
    assert call.status.status_code is StatusCode.ERROR
    assert "canary" not in "".join(span.to_json() for span in seen.spans())


async def test_an_unreachable_backend_is_reported(seen: Seen) -> None:
    async with serve(HttpBackend("gone", "http://127.0.0.1:9/v1"), trace=seen) as server:
        status, _ = await server.post("/responses", json={"model": "m", "input": "Hi"})

    assert status == 503
    assert {reported(span)["error.type"] for span in seen.spans()} == {"503"}


async def test_a_tool_that_the_server_runs_has_a_span(
    backend: ReplayBackend, traced: RunningServer, seen: Seen
) -> None:
    function = {"name": "tool_search", "arguments": '{"query": "weather"}'}
    searched = delta(
        tool_calls=[{"index": 0, "id": "call_1", "type": "function", "function": function}]
    )
    answers = [sse(searched, delta("tool_calls")), text("done")]
    backend.script = lambda _: Answer([answers.pop(0)])
    weather = {"type": "function", "name": "weather", "parameters": {}, "defer_loading": True}
    async with await traced.sdk.responses.create(
        model="m", input="Hi", tools=[{"type": "tool_search"}, weather], stream=True
    ) as stream:
        assert [event async for event in stream][-1].type == "response.completed"
    first, used, second, request = seen.spans()

    assert (first.name, second.name, used.name) == ("chat m", "chat m", "execute_tool tool_search")
    assert reported(first)["gen_ai.response.finish_reasons"] == ("tool_calls",)
    assert reported(used) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "tool_search",
        "gen_ai.tool.type": "datastore",
    }
    assert is_child(used, request)


async def test_a_conversation_is_named(traced: RunningServer, seen: Seen) -> None:
    conversation = await traced.sdk.conversations.create()
    await traced.sdk.responses.create(model="m", input="Hi", conversation=conversation.id)

    assert reported(seen.named(REQUEST))["gen_ai.conversation.id"] == conversation.id


async def test_a_cached_answer_is_emitted_without_a_model_call(
    traced: RunningServer, seen: Seen
) -> None:
    for _ in range(2):
        await traced.post(
            "/responses", json={"model": "m", "input": "Hi", "antiphon": {"cache": True}}
        )

    assert [span.name for span in seen.spans()] == ["chat m", REQUEST, REQUEST]
    assert [reported(span).get("antiphon.cache") for span in seen.spans()] == [None, "miss", "hit"]


async def test_background_work_has_a_trace_to_which_its_request_points(
    traced: RunningServer, seen: Seen
) -> None:
    queued = await traced.sdk.responses.create(model="m", input="Hi", background=True)
    while (await traced.sdk.responses.retrieve(queued.id)).status in {"queued", "in_progress"}:
        pass
    request, work, call = (seen.named(name) for name in (REQUEST, "background response", "chat m"))

    assert (work.kind, work.parent) == (SpanKind.CONSUMER, None)
    assert is_child(call, work)
    (link,) = request.links
    assert (link.context.trace_id, link.context.span_id) == (
        work.context.trace_id,
        work.context.span_id,
    )
    assert work.context.trace_id != request.context.trace_id
    assert reported(work)["gen_ai.response.id"] == queued.id


def test_where_a_background_trace_begins_follows_from_the_response_alone() -> None:
    assert place_of("resp_1") == place_of("resp_1")
    assert place_of("resp_1").trace_id != place_of("resp_2").trace_id


async def test_each_response_on_a_websocket_has_a_span_of_the_trace_that_opened_it(
    traced: RunningServer, seen: Seen
) -> None:
    async with traced.http.ws_connect(
        traced.url + "/responses", headers={"traceparent": PARENT}
    ) as socket:
        for _ in range(2):
            await socket.send_json({"type": "response.create", "model": "m", "input": "Hi"})
            while (await socket.receive_json())["type"] != "response.completed":
                pass
    spans = [span for span in seen.spans() if span.name == "response.create"]

    assert [span.kind for span in spans] == [SpanKind.SERVER] * 2
    assert {format_trace_id(span.context.trace_id) for span in spans} == {PARENT.split("-")[1]}
    assert [is_child(call, span) for call, span in zip(calls_in(seen), spans, strict=True)] == [
        True,
        True,
    ]


def calls_in(seen: Seen) -> list[Any]:
    return [span for span in seen.spans() if span.name == "chat m"]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
async def test_health_checks_leave_no_trace(traced: RunningServer, seen: Seen, path: str) -> None:
    async with traced.http.get(traced.url.removesuffix("/v1") + path) as response:
        assert response.status == 200
    assert seen.spans() == []


async def test_what_clients_make_up_is_in_no_span(
    backend: ReplayBackend, traced: RunningServer, seen: Seen
) -> None:
    backend.models = []
    await traced.parts.models.refresh()
    await traced.sdk.responses.create(
        model="canary", input="canary", instructions="canary", user="canary"
    )
    await traced.get("/canary?canary=canary")
    async with traced.http.request("PROPFIND", f"{traced.url}/models") as response:
        assert response.status == 405

    assert [span.name for span in seen.spans()][-2:] == ["GET", "_OTHER /v1/models"]
    assert reported(seen.spans()[0])["gen_ai.request.model"] == "other"
    assert "canary" not in "".join(span.to_json() for span in seen.spans()).lower()


@pytest.mark.parametrize(
    "odd",
    [
        {"messages": [{"role": "user", "content": [{"text": 1}]}]},
        {"messages": [{"role": "tool"}, {"role": "assistant", "tool_calls": [{}]}]},
        {
            "messages": [{"role": "user", "content": "Hi"}],
            "tools": [1],
            "max_tokens": 10**30,
            "temperature": "canary",
        },
    ],
)
async def test_a_request_that_is_passed_on_may_be_anything(
    backend: ReplayBackend, odd: dict[str, Any]
) -> None:
    seen = Seen(content=True)
    backend.script = lambda _: Answer([completion("fine")], JSON)
    async with traced_by(seen, backend) as server:
        first, _ = await server.post("/chat/completions", json={"model": "m", **odd})
        assert server.parts.models.backends[0].slots.in_use == 0
    assert first in {200, 400}
    assert len(seen.spans()) == (2 if first == 200 else 1)


async def test_spans_have_the_content_of_messages_if_configured(backend: ReplayBackend) -> None:
    seen = Seen(content=True)
    function = {"name": "look", "arguments": '{"at": 1}'}
    call = {"id": "call_1", "type": "function", "function": function}
    backend.script = lambda _: Answer([completion("Let me see.", tool_calls=[call])], JSON)
    items = [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Hi"},
                {"type": "input_image", "image_url": "data:image/png;base64,AA=="},
            ],
        },
        {"type": "function_call", "call_id": "call_0", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_0", "output": "nothing"},
    ]
    async with traced_by(seen, backend) as server:
        await server.post(
            "/responses",
            json={
                "model": "m",
                "instructions": "Be brief.",
                "input": items,
                "tools": [{"type": "function", "name": "look", "parameters": {"type": "object"}}],
            },
        )
    stated = {
        name: json.loads(value)
        for name, value in reported(seen.named("chat m")).items()
        if str(value)[:2] == "[{"
    }

    assert stated["gen_ai.input.messages"] == [
        {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
        {"role": "user", "parts": [{"type": "text", "content": "Hi"}, {"type": "image_url"}]},
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "call_0", "name": "look", "arguments": "{}"}],
        },
        {
            "role": "tool",
            "parts": [{"type": "tool_call_response", "id": "call_0", "response": "nothing"}],
        },
    ]
    assert stated["gen_ai.output.messages"] == [
        {
            "role": "assistant",
            "parts": [
                {"type": "text", "content": "Let me see."},
                {"type": "tool_call", "id": "call_1", "name": "look", "arguments": '{"at": 1}'},
            ],
            "finish_reason": "tool_calls",
        }
    ]
    assert stated["gen_ai.tool.definitions"][0]["name"] == "look"
