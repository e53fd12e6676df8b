"""Backends that speak Responses themselves: state, streams, tools and errors are the same over them
as over Chat.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from antiphon.testing import assert_event_stream, fold
from antiphon.upstream.demo.backend import DemoBackend
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.options import BackendOptions
from tests.support.native import (
    answering,
    call,
    deltas,
    frames,
    message,
    opening,
    response,
    streamed,
    thought,
)
from tests.support.replay import JSON, Answer, ReplayBackend, Script, completion, text
from tests.support.server import RunningServer, serve
from tests.support.socket import talk

NATIVE = BackendOptions(api="responses")
AUTO = BackendOptions(api="auto")


@asynccontextmanager
async def native(
    script: Script | Sequence[dict[str, Any]], **options: Any
) -> AsyncIterator[tuple[RunningServer, ReplayBackend]]:
    """A server whose one backend speaks Responses and follows this script, or says these items."""
    backend = ReplayBackend(
        script if callable(script) else answering(script), speaks_responses=True
    )
    async with (
        backend.serve(),
        serve(HttpBackend("n", backend.url), shares={"n": NATIVE}, **options) as server,
    ):
        yield server, backend


async def stream(server: RunningServer, **body: Any) -> list[dict[str, Any]]:
    """The events of a streamed response, which are sound."""
    async with server.http.post(
        f"{server.url}/responses", json={"model": "m", "stream": True, **body}
    ) as reply:
        assert reply.status == 200, await reply.text()
        events = [
            json.loads(line[6:]) async for line in reply.content if line.startswith(b"data: ")
        ]
    assert_event_stream(events)
    assert fold(events) == events[-1]["response"]
    return events


async def request(server: RunningServer, **body: Any) -> dict[str, Any]:
    """A plain response."""
    status, answer = await server.post("/responses", json={"model": "m", **body})
    assert status == 200, answer
    return answer


def stated(answer: dict[str, Any]) -> str:
    return "".join(
        part["text"]
        for item in answer["output"]
        if item["type"] == "message"
        for part in item["content"]
    )


async def test_its_answers_are_cached_except_those_with_a_tool_call() -> None:
    searched = {
        "id": "ws_1",
        "type": "web_search_call",
        "status": "completed",
        "action": {"type": "search"},
    }
    cached: dict[str, Any] = {
        "input": "Hi",
        "antiphon": {"cache": True},
        "include": ["reasoning.encrypted_content"],
    }
    for items, calls in (
        ([thought("Hm."), message("Hello")], 1),
        ([searched, message("Hello")], 2),
    ):
        async with native(items) as (server, backend):
            first = await request(server, **cached)
            again = await stream(server, **cached)
            assert len(backend.requests) == calls
            assert again[-1]["response"]["id"] != first["id"]
            assert stated(again[-1]["response"]) == stated(first)
            kinds = [item["type"] for item in again[-1]["response"]["output"]]
            assert kinds == [item["type"] for item in items]


async def test_a_request_goes_as_responses_and_is_never_stored_there() -> None:
    async with native([message("Hello there")]) as (server, backend):
        answer = await request(
            server,
            input="Hi",
            instructions="Be kind.",
            metadata={"a": "b"},
            temperature=0.5,
            max_output_tokens=16,
        )
        stored = await server.get(f"/responses/{answer['id']}")

    assert (stated(answer), answer["usage"]["input_tokens_details"]["cached_tokens"]) == (
        "Hello there",
        3,
    )
    assert stored[1]["output"] == answer["output"]
    assert b"POST /v1/responses " in backend.heads[0]
    assert backend.requests == [
        {
            "model": "m",
            "input": [
                {
                    "type": "message",
                    "role": "user",
                    "content": [{"type": "input_text", "text": "Hi"}],
                }
            ],
            "instructions": "Be kind.",
            "temperature": 0.5,
            "max_output_tokens": 16,
            "include": ["reasoning.encrypted_content"],
            "store": False,
        }
    ]


async def test_a_stream_has_our_ids_and_numbers() -> None:
    async with native([thought("blob"), message("Hello there")]) as (server, _):
        events = await stream(server, input="Hi")

    ids = {event["item_id"] for event in events if "item_id" in event}
    assert "_up" not in json.dumps(events)
    assert [event["delta"] for event in events if event["type"].endswith("text.delta")] == [
        "Hello ",
        "there",
    ]
    assert ids == {events[-1]["response"]["output"][1]["id"]}
    assert events[-1]["response"]["usage"]["output_tokens_details"] == {"reasoning_tokens": 2}


async def test_a_chain_is_sent_whole_and_reasoning_keeps_the_backends_id_and_blob() -> None:
    stated_there = [thought("blob", "I thought."), message("Hello")]
    ours, others = (ReplayBackend(answering(stated_there), speaks_responses=True) for _ in range(2))
    others.models = [{"id": "x"}]
    async with ours.serve(), others.serve():
        backends = HttpBackend("o", ours.url), HttpBackend("x", others.url)
        shares = {"o": NATIVE, "x": NATIVE}
        async with serve(*backends, shares=shares, dialects={"o": "openai", "x": "xai"}) as backend:
            first = await request(backend, input="One")
            await request(backend, input="Two", model="x", previous_response_id=first["id"])

    assert [item["type"] for item in others.requests[0]["input"]] == [
        "message",
        "message",
        "message",
    ]


async def test_what_one_backend_sealed_goes_to_no_other_of_its_family() -> None:
    stated_there = [thought("blob"), message("Hello")]
    one, other = (ReplayBackend(answering(stated_there), speaks_responses=True) for _ in range(2))
    other.models = [{"id": "x"}]
    async with one.serve(), other.serve():
        shares = {"o": NATIVE, "x": NATIVE}
        async with serve(
            HttpBackend("o", one.url), HttpBackend("x", other.url), shares=shares
        ) as server:
            first = await request(server, input="One")
            for model in ("x", "m"):
                await request(server, input="Two", model=model, previous_response_id=first["id"])

    assert [item["type"] for item in other.requests[0]["input"]] == [
        "message",
        "message",
        "message",
    ]
    assert [item["type"] for item in one.requests[1]["input"]] == [
        "message",
        "reasoning",
        "message",
        "message",
    ]


async def test_what_a_backend_no_longer_opens_is_left_out() -> None:
    error = {
        "message": "The encrypted content b... could not be verified.",
        "code": "invalid_encrypted_content",
    }
    refusal = Answer([json.dumps({"error": error}).encode()], JSON, 400)
    script = answering([thought("blob"), message("Hello")], refusal, [message("Again")], refusal)
    async with native(script) as (server, backend):
        first = await request(server, input="One")
        second = await request(server, input="Two", previous_response_id=first["id"])
        status, failed = await server.post("/responses", json={"model": "m", "input": "Three"})

    sealed = ["blob" in json.dumps(request) for request in backend.requests]
    assert (stated(second), sealed) == ("Again", [False, True, False, False])
    assert (status, failed["error"]["code"]) == (400, "invalid_encrypted_content")  # type: ignore[index]


async def test_calls_and_their_outputs_go_round() -> None:
    tool = {"type": "function", "name": "look", "parameters": {"type": "object"}}
    script = answering([thought("blob"), call(arguments='{"a":1}')], [message("Found")])
    async with native(script) as (server, backend):
        events = await stream(server, input="Look", tools=[tool], tool_choice="required")
        requested = events[-1]["response"]["output"][1]
        output = {"type": "function_call_output", "call_id": requested["call_id"], "output": "42"}
        answer = await request(
            server, input=[output], previous_response_id=events[-1]["response"]["id"]
        )

    assert (requested["call_id"], requested["arguments"], requested["id"][:3]) == (
        "call_up",
        '{"a":1}',
        "fc_",
    )
    assert (backend.requests[0]["tools"], backend.requests[0]["tool_choice"]) == (
        [tool],
        "required",
    )
    kinds = [item["type"] for item in backend.requests[1]["input"]]
    assert (kinds, stated(answer)) == (
        ["message", "reasoning", "function_call", "function_call_output"],
        "Found",
    )


async def test_a_call_id_that_the_conversation_has_already_is_replaced() -> None:
    output = {"type": "function_call_output", "call_id": "call_up", "output": "42"}
    async with native([call()]) as (server, _):
        first = await request(server, input="Look")
        second = await request(server, input=[output], previous_response_id=first["id"])

    assert first["output"][0]["call_id"] == "call_up"
    assert second["output"][0]["call_id"] not in ("call_up", "")


SEARCH = {
    "id": "ws_up",
    "type": "web_search_call",
    "status": "completed",
    "action": {"type": "search", "query": "q"},
}


async def test_tools_that_the_backend_runs_are_passed_and_their_items_come_through() -> None:
    async with native([SEARCH, message("It says so.")]) as (server, backend):
        tools = [
            {"type": "web_search"},
            {"type": "code_interpreter", "container": {"type": "auto"}},
        ]
        async with server.http.post(
            f"{server.url}/responses", json={"model": "m", "input": "?", "tools": tools}
        ) as one:
            assert "antiphon-ignored-tools" not in one.headers
        events = await stream(
            server, input="Search", tools=tools, include=["web_search_call.action.sources"]
        )
        await request(server, input="And?", previous_response_id=events[-1]["response"]["id"])

    steps = [event["type"] for event in events if ".web_search_call." in event["type"]]
    assert steps == [
        f"response.web_search_call.{step}" for step in ("in_progress", "searching", "completed")
    ]
    assert events[-1]["response"]["output"][0]["action"] == {"type": "search", "query": "q"}
    assert backend.requests[1]["tools"] == tools
    assert backend.requests[1]["include"] == [
        "web_search_call.action.sources",
        "reasoning.encrypted_content",
    ]
    assert backend.requests[2]["input"][1]["type"] == "web_search_call"


async def test_a_tool_that_the_backend_refuses_is_the_clients_answer() -> None:
    body = {
        "error": {
            "message": "Unsupported tool type: 'mcp'",
            "param": "tools[0].type",
            "code": "invalid_value",
        }
    }
    async with native(answering(Answer([json.dumps(body).encode()], JSON, 400))) as (server, _):
        tools = [{"type": "mcp", "server_label": "s", "server_url": "https://example.org"}]
        status, answer = await server.post(
            "/responses", json={"model": "m", "input": "?", "tools": tools}
        )

    assert status == 400
    assert answer["error"] == {
        "message": "Unsupported tool type: 'mcp'",
        "type": "invalid_request_error",
        "param": "tools[0].type",
        "code": "invalid_value",
    }


@pytest.mark.parametrize(
    ("field", "error"),
    [
        (
            "top_p",
            {
                "message": "Unsupported parameter: 'top_p' is not supported with this model.",
                "param": "top_p",
            },
        ),
        (
            "include",
            {"message": "Encrypted content is not supported with this model.", "param": "include"},
        ),
    ],
)
async def test_a_hint_that_is_refused_is_left_out_from_then_on(
    field: str, error: dict[str, Any]
) -> None:
    refusal = Answer(
        [json.dumps({"error": {"type": "invalid_request_error", **error}}).encode()], JSON, 400
    )
    async with native(answering(refusal, [message("Hello")])) as (server, backend):
        await request(server, input="Hi", top_p=0.5)
        await request(server, input="Hi", top_p=0.5)

    assert [field in request for request in backend.requests] == [True, False, False]


async def test_a_place_in_the_history_is_not_the_clients() -> None:
    body = {
        "error": {
            "message": "Invalid image.",
            "param": "input[5].content[0]",
            "code": "invalid_value",
        }
    }
    async with native(answering(Answer([json.dumps(body).encode()], JSON, 400))) as (server, _):
        _, answer = await server.post("/responses", json={"model": "m", "input": "?"})

    assert answer["error"]["param"] == "input"  # type: ignore[index]


async def test_a_broken_stream_fails_and_keeps_its_output() -> None:
    data = streamed(message("Hello there friend"))
    broken = Answer([data[: data.index(b"friend")]], cut=True)
    async with native(answering(broken)) as (server, _):
        events = await stream(server, input="Hi")

    assert [event["type"] for event in events[-2:]] == ["error", "response.failed"]
    assert stated(events[-1]["response"]) == "Hello there "
    assert events[-1]["response"]["output"][0]["status"] == "incomplete"


async def test_failed_and_truncated_responses_have_their_reason() -> None:
    failed = response(
        status="failed", error={"code": "rate_limit_exceeded", "message": "Too fast."}
    )
    short = response(
        message("Hello"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}
    )
    script = answering(
        Answer(
            [
                frames(
                    *opening(),
                    *deltas(message("Hm")),
                    {"type": "response.failed", "response": failed},
                )
            ]
        ),
        Answer([json.dumps(short).encode()], JSON),
    )
    async with native(script) as (server, _):
        events = await stream(server, input="Hi")
        answer = await request(server, input="Hi")

    assert events[-1]["response"]["error"] == {
        "code": "rate_limit_exceeded",
        "message": "The backend failed: Too fast.",
    }
    assert (answer["status"], answer["incomplete_details"]) == (
        "incomplete",
        {"reason": "max_output_tokens"},
    )
    assert answer["output"][0]["status"] == "incomplete"


async def test_background_work_is_streamed_and_taken_up_again() -> None:
    async with native([message("Hello there")]) as (server, _):
        events = await stream(server, input="Hi", background=True)
        path = f"{server.url}/responses/{events[0]['response']['id']}?stream=true&starting_after=3"
        async with server.http.get(path) as reply:
            rest = [
                json.loads(line[6:]) async for line in reply.content if line.startswith(b"data: ")
            ]

    assert rest == events[4:]


async def test_a_conversation_stores_its_messages() -> None:
    async with native([message("Hello")]) as (server, backend):
        _, conversation = await server.post("/conversations", json={})
        await request(server, input="One", conversation=conversation["id"])
        await request(server, input="Two", conversation=conversation["id"])
        _, items = await server.get(f"/conversations/{conversation['id']}/items")

    assert len(items["data"]) == 4  # type: ignore[arg-type]
    assert "conversation" not in backend.requests[1]
    assert [item["role"] for item in backend.requests[1]["input"]] == ["user", "assistant", "user"]


async def test_a_socket_serves_it_too() -> None:
    async with (
        native([thought("blob"), message("Hello")]) as (server, backend),
        talk(server) as socket,
    ):
        first = await socket.created("One", store=False)
        events = await socket.create("Two", store=False, previous_response_id=first["id"])

    assert_event_stream(events)
    assert [item["type"] for item in backend.requests[1]["input"]] == [
        "message",
        "reasoning",
        "message",
        "message",
    ]


async def test_a_context_is_compacted_by_such_a_backend_and_goes_on_from_the_summary() -> None:
    async with native(answering([message("In short.")], [message("Hello")])) as (server, backend):
        _, compacted = await server.post(
            "/responses/compact",
            json={
                "model": "m",
                "input": [{"role": "user", "content": "A"}, {"role": "assistant", "content": "B"}],
            },
        )
        output = compacted["output"]
        assert isinstance(output, list)
        await request(server, input=[*output, {"role": "user", "content": "C"}])

    reported = json.dumps(backend.requests[1]["input"])
    assert output[-1]["type"] == "compaction"
    assert ("In short." in reported, '"B"' in reported, "compaction" in reported) == (
        True,
        False,
        False,
    )


async def test_a_context_that_grew_too_long_is_compacted_on_the_way() -> None:
    management = [{"type": "compaction", "compact_threshold": 1000}]
    long = [{"role": "user", "content": "A"}, {"role": "assistant", "content": "B" * 5000}]
    async with native(answering([message("In short.")], [message("Hello")])) as (server, backend):
        answer = await request(
            server, input=[*long, {"role": "user", "content": "C"}], context_management=management
        )

    assert [item["type"] for item in answer["output"]] == ["compaction", "message"]
    assert ["BBBB" in json.dumps(request) for request in backend.requests] == [True, False]
    assert all("context_management" not in request for request in backend.requests)


async def test_a_history_that_does_not_fit_loses_its_oldest_turns_where_that_is_allowed() -> None:
    error = {
        "message": "Your input exceeds the context window of this model.",
        "code": "context_length_exceeded",
    }
    refusal = Answer([json.dumps({"error": error}).encode()], JSON, 400)
    turns = [
        {"role": role, "content": f"{role} {turn}"}
        for turn in range(4)
        for role in ("user", "assistant")
    ]
    async with native(answering(refusal, [message("Hello")])) as (server, backend):
        answer = await request(
            server, input=[*turns, {"role": "user", "content": "?"}], truncation="auto"
        )

    assert stated(answer) == "Hello"
    assert len(backend.requests[1]["input"]) < len(backend.requests[0]["input"]) == 9


async def test_a_steered_response_stores_its_earlier_output() -> None:
    data = streamed(message("Hello there friend"))
    hanging = Answer([data[: data.index(b"friend")]], wait=asyncio.Event())
    async with (
        native(answering(hanging, [message("I wait.")])) as (server, _),
        talk(server) as socket,
    ):
        await socket.send_request("Hi")
        begun = await socket.until("response.output_text.delta")
        await socket.steer(begun[0]["response"]["id"])
        cut = (await socket.until("response.incomplete"))[-1]["response"]
        events = await socket.until("response.completed")

    assert cut["incomplete_details"] == {"reason": "steered"}
    assert stated(events[-1]["response"]) == "I wait."


async def test_input_is_counted_by_the_backend_where_it_does_and_here_where_not() -> None:
    def script(request: dict[str, Any]) -> Answer:
        return Answer([b'{"object": "response.input_tokens", "input_tokens": 11}'], JSON)

    body = {"model": "m", "input": "Hi there"}
    async with native(script) as (server, backend):
        counted = await server.post("/responses/input_tokens", json=body)
    async with native(answering(Answer([b"{}"], JSON, 404))) as (server, _):
        estimated = await server.post("/responses/input_tokens", json=body)

    assert b"POST /v1/responses/input_tokens " in backend.heads[0]
    assert (counted[0], counted[1]["input_tokens"]) == (200, 11)
    assert (estimated[0], int(str(estimated[1]["input_tokens"])) > 0) == (200, True)


@asynccontextmanager
async def both(
    chat: Script, script: Script
) -> AsyncIterator[tuple[RunningServer, ReplayBackend, ReplayBackend]]:
    """A server with one model at a Chat backend and at one that speaks Responses."""
    one = ReplayBackend(chat)
    other = ReplayBackend(script, speaks_responses=True)
    async with one.serve(), other.serve():
        backends = HttpBackend("c", one.url), HttpBackend("n", other.url)
        async with serve(*backends, shares={"n": NATIVE}) as backend:
            yield backend, one, other


def by_chat(request: dict[str, Any]) -> Answer:
    return (
        Answer([text("From ", "chat")])
        if request.get("stream")
        else Answer([completion("From chat")], JSON)
    )


def removed(request: dict[str, Any]) -> Answer:
    return Answer([b"{}"], JSON, 503)


async def test_a_chain_goes_on_over_the_other_api_where_its_backend_is_lost() -> None:
    async with both(by_chat, answering([thought("blob", "Hm."), message("From Responses")])) as (
        server,
        chat,
        other,
    ):
        await server.parts.models.refresh()
        first = await request(server, input="One")
        created, left = (chat, other) if chat.requests else (other, chat)
        created.script = removed
        second = await stream(server, input="Two", previous_response_id=first["id"])

    assert {stated(first), stated(second[-1]["response"])} == {"From chat", "From Responses"}
    reported = json.dumps(left.requests[0])
    assert stated(first) in reported
    assert "blob" not in reported


async def test_an_unknown_server_is_probed_once_for_its_api() -> None:
    def script(request: dict[str, Any]) -> Answer:
        return (
            answering([message("Hello")])(request)
            if request
            else Answer([b'{"error": {}}'], JSON, 400)
        )

    speaks = ReplayBackend(script, speaks_responses=True)
    other = ReplayBackend(by_chat)
    other.models = [{"id": "c"}]
    async with speaks.serve(), other.serve():
        backends = HttpBackend("n", speaks.url), HttpBackend("c", other.url)
        async with serve(*backends, shares={"n": AUTO, "c": AUTO}) as backend:
            await backend.parts.models.refresh()
            await backend.parts.models.refresh()
            answers = [
                stated(await request(backend, input="Hi", model=model)) for model in ("m", "c")
            ]

    assert answers == ["Hello", "From chat"]
    assert [bool(request) for request in speaks.requests] == [False, True]


async def test_a_known_family_is_not_detected_again() -> None:
    backend = ReplayBackend(answering([message("Hello")]), speaks_responses=True)
    async with backend.serve():
        for dialect, path in (("openai", b"/v1/responses "), ("vllm", b"/v1/chat/completions ")):
            backend.heads.clear()
            async with serve(
                HttpBackend("n", backend.url), shares={"n": AUTO}, dialects={"n": dialect}
            ) as server:
                await server.parts.models.refresh()
                backend.script = answering([message("Hello")]) if dialect == "openai" else by_chat
                await request(server, input="Hi")
            assert [path in head for head in backend.heads] == [True]


@asynccontextmanager
async def over_itself() -> AsyncIterator[RunningServer]:
    """Antiphon over Antiphon, with the demo model behind both."""
    async with (
        serve(DemoBackend()) as inner,
        serve(HttpBackend("inner", inner.url), shares={"inner": NATIVE}) as outer,
    ):
        yield outer


async def test_omissions_of_the_backend_and_of_the_other_api_are_reported() -> None:
    tools = [{"type": "web_search"}]
    async with over_itself() as outer:
        body = {"model": "demo", "input": "Hi", "tools": tools}
        for stream in (False, True):
            async with outer.http.post(
                f"{outer.url}/responses", json={**body, "stream": stream}
            ) as reply:
                assert reply.headers["antiphon-ignored-tools"] == "web_search"
    async with both(by_chat, removed) as (server, *_):
        await server.parts.models.refresh()
        for _ in range(
            2
        ):  # in turn: one of them goes to the backend that is lost, and from there to the other
            async with server.http.post(
                f"{server.url}/responses", json={**body, "model": "m"}
            ) as reply:
                assert (reply.status, reply.headers["antiphon-ignored-tools"]) == (
                    200,
                    "web_search",
                )


async def test_antiphon_over_antiphon_emits_the_same_events() -> None:
    body = {
        "model": "demo",
        "input": "Tell me",
        "reasoning": {"effort": "low", "summary": "auto"},
        "store": False,
    }
    async with over_itself() as outer, serve(DemoBackend()) as alone:
        twice = await stream(outer, **body)
        once = await stream(alone, **body)

    types = [[event["type"] for event in events] for events in (twice, once)]
    assert types[0] == types[1]
    assert stated(twice[-1]["response"]) == stated(once[-1]["response"])


async def test_a_client_that_leaves_ends_the_backends_work() -> None:
    data = streamed(message("Hello there friend"))
    hanging = Answer([data[: data.index(b"friend")]], wait=asyncio.Event())
    async with native(answering(hanging)) as (server, backend):
        async with server.http.post(
            f"{server.url}/responses", json={"model": "m", "input": "Hi", "stream": True}
        ) as one:
            await anext(aiter(one.content))
        await asyncio.wait_for(backend.left.wait(), 30)


PICKY = {
    "error": {
        "message": "Input should be 'function'; 'custom' is unknown.",
        "type": "invalid_request_error",
    }
}


@pytest.mark.parametrize("share", [AUTO, NATIVE], ids=["auto", "responses"])
async def test_what_a_probed_server_refuses_goes_by_chat_and_what_was_demanded_of_it_does_not(
    share: BackendOptions,
) -> None:
    def script(request: dict[str, Any]) -> Answer:
        if "messages" in request:
            return by_chat(request)
        if request and all(tool["type"] == "function" for tool in request.get("tools", [])):
            return answering([message("Hello")])(request)
        return Answer([json.dumps(PICKY).encode()], JSON, 400)

    backend = ReplayBackend(script, speaks_responses=True)
    tools = [{"type": "custom", "name": "patch"}, {"type": "web_search"}]
    body = {"model": "m", "input": "Hi", "tools": tools}
    async with backend.serve(), serve(HttpBackend("n", backend.url), shares={"n": share}) as server:
        await server.parts.models.refresh()
        backend.requests.clear()
        answers = [await server.post("/responses", json=body) for _ in range(2)]
        plain = await request(server, input="Hi")
        async with server.http.post(f"{server.url}/responses", json=body) as reply:
            ignored = reply.headers.get("antiphon-ignored-tools")

    by_apis = ["messages" in request for request in backend.requests]
    assert stated(plain) == "Hello"
    if share is AUTO:
        assert [stated(answer) for _, answer in answers] == ["From chat", "From chat"]
        assert by_apis == [False, True, True, False, True]
        assert ignored == "web_search"
    else:
        assert [status for status, _ in answers] == [400, 400]
        assert by_apis == [False] * 4


@pytest.mark.parametrize("chat_takes_it", [True, False])
async def test_one_clients_odd_request_teaches_nothing_about_the_tools_of_others(
    chat_takes_it: bool,
) -> None:
    def script(request: dict[str, Any]) -> Answer:
        if not request or "odd" not in json.dumps(request):
            return (
                answering([message("Hello")])(request)
                if request
                else Answer([b'{"error": {}}'], JSON, 400)
            )
        if "messages" in request and chat_takes_it:
            return by_chat(request)
        text = "No." if chat_takes_it else "Unsupported tool type: 'web_search'."
        return Answer(
            [json.dumps({"error": {"message": text}, "input": request}).encode()], JSON, 400
        )

    backend = ReplayBackend(script, speaks_responses=True)
    tools = [{"type": "web_search"}]
    async with backend.serve(), serve(HttpBackend("n", backend.url), shares={"n": AUTO}) as server:
        await server.parts.models.refresh()
        backend.requests.clear()
        status, _ = await server.post(
            "/responses", json={"model": "m", "input": "odd", "tools": tools}
        )
        await request(server, input="Hi", tools=tools)

    assert status == (200 if chat_takes_it else 400)
    plainest = [] if chat_takes_it else [True]
    assert ["messages" in request for request in backend.requests] == [
        False,
        True,
        *plainest,
        False,
    ]


async def test_a_pure_model_answer_is_cached_and_one_with_a_backend_tool_is_not() -> None:
    cached = {"headers": {"antiphon-cache": "on"}}
    outcomes = []
    async with native(
        answering([thought("blob"), message("Hello")], [SEARCH, message("It says so.")])
    ) as (server, _):
        for question in ("One", "One", "Two", "Two"):
            body = {"model": "m", "input": question}
            async with server.http.post(f"{server.url}/responses", json=body, **cached) as reply:
                outcomes.append(reply.headers["antiphon-cache"])

    assert outcomes == ["miss", "hit", "miss", "miss"]
