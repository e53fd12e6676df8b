"""WebSocket mode: what is said on a socket, and how it is refused (specification section 8)."""

import asyncio
import json

import pytest
from agents import Agent, OpenAIResponsesWSModel, Runner, function_tool, set_tracing_disabled
from openai.lib.responses_websocket import AsyncResponsesWebSocketSession as AsyncSession
from openai.lib.responses_websocket import ResponsesWebSocketLimits as Limits
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosedError, InvalidStatus

from antiphon.gateway import Gateway
from antiphon.testing import check_event_stream
from antiphon.upstream.http import HttpBackend
from tests.support.replay import JSON, Answer, ReplayBackend, delta, sse
from tests.support.server import RunningServer, serve
from tests.support.socket import ENDS, talk, text_of

LIMITS = Limits(
    max_lanes=4, max_events_per_lane=100, max_events=100, max_bytes_per_lane=10**6, max_bytes=10**6
)
TOOL = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}


async def test_a_socket_gives_the_events_of_a_stream_without_framing(server: RunningServer):
    async with talk(server) as one:
        events = await one.create("Hi there", stream_options={"include_obfuscation": False})

    assert check_event_stream(events) == []
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    assert text_of(events[-1]["response"]) == "You said: Hi there "
    assert not any("stream_id" in event for event in events)


async def test_they_are_the_events_that_a_stream_over_http_gives(server: RunningServer):
    body = {
        "model": "m",
        "input": "Hi",
        "stream": True,
        "stream_options": {"include_obfuscation": False},
    }
    async with server.http.post(f"{server.url}/responses", json=body) as response:
        lines = (await response.text()).splitlines()
    async with talk(server) as one:
        received = await one.create("Hi", stream_options={"include_obfuscation": False})

    streamed = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    assert [(event["type"], sorted(event)) for event in received] == [
        (event["type"], sorted(event)) for event in streamed
    ]


async def test_the_upgrade_is_answered_with_the_headers_of_every_reply(server: RunningServer):
    async with talk(server) as one:
        headers = one.socket.response.headers
    assert headers["x-request-id"].startswith("req_")
    assert headers["openai-version"] == "2020-10-01"


async def test_turns_follow_each_other_on_one_socket(server: RunningServer):
    async with talk(server) as one:
        first = await one.created("One")
        second = await one.created("Two")
    assert first["id"] != second["id"]
    assert (text_of(first), text_of(second)) == ("You said: One ", "You said: Two ")


async def test_the_official_client_makes_responses_on_a_socket(server: RunningServer):
    async with server.sdk.responses.connect() as connection:
        await connection.response.create(model="m", input="Hi", store=False)
        first = await anext(
            event.response async for event in connection if event.type == "response.completed"
        )
        await connection.response.create(
            model="m", input="Ho", store=False, previous_response_id=first.id
        )
        second = await anext(
            event.response async for event in connection if event.type == "response.completed"
        )

    assert second.previous_response_id == first.id
    assert second.output_text == "You said: Ho "


async def test_the_official_client_distinguishes_lanes(server: RunningServer):
    async with (
        server.sdk.responses.connect() as connection,
        AsyncSession(connection, limits=LIMITS) as session,
    ):
        lanes = [session.lane(name) for name in ("a", "b")]
        for lane, name in zip(lanes, ("a", "b"), strict=True):
            await lane.send({"type": "response.create", "model": "m", "input": f"In {name}"})
        responses = await asyncio.gather(*(lane.get_final_response() for lane in lanes))

    assert [response.output_text for response in responses] == [
        "You said: In a ",
        "You said: In b ",
    ]


async def test_the_agents_sdk_runs_an_agent_on_a_socket(
    server: RunningServer, backend: ReplayBackend
):
    call = {"index": 0, "id": "call_1", "function": {"name": "look", "arguments": "{}"}}
    backend.script = lambda request: Answer(
        [sse(delta(tool_calls=[call]), delta("tool_calls"))]
        if request["messages"][-1]["role"] == "user"
        else [sse(delta(content="A wall."), delta("stop"))]
    )

    @function_tool(name_override="look")
    def inspect() -> str:
        """Look."""
        return "bricks"

    set_tracing_disabled(True)
    model = OpenAIResponsesWSModel(model="m", openai_client=server.sdk)
    result = await Runner.run(Agent("Pilot", model=model, tools=[inspect]), "Look!")
    await model.close()
    assert result.final_output == "A wall."
    assert backend.requests[-1]["messages"][-1]["content"] == "bricks"


async def test_a_stored_response_is_found_over_http(server: RunningServer):
    async with talk(server) as one:
        created = await one.created("Hi")
    status, stored = await server.get(f"/responses/{created['id']}")
    assert (status, stored["output"]) == (200, created["output"])


async def test_a_stored_response_of_http_is_followed_on_a_socket(
    server: RunningServer, backend: ReplayBackend
):
    _, stored = await server.post("/responses", json={"model": "m", "input": "One"})
    async with talk(server) as one:
        await one.created("Two", previous_response_id=stored["id"])
    assert [message["content"] for message in backend.requests[-1]["messages"]] == [
        "One",
        "You said: One",
        "Two",
    ]


# What is refused: the socket lives on.


@pytest.mark.parametrize(
    ("message", "param", "code"),
    [
        ("{", None, None),
        ("[]", None, None),
        ("7", None, None),
        ("{}", "type", "missing_required_parameter"),
        ('{"type": 7}', "type", "invalid_type"),
        ('{"type": "response.destroy"}', "type", "invalid_value"),
        (
            '{"type": "response.inject", "response_id": "resp_1", "input": "x"}',
            "type",
            "invalid_value",
        ),
        ('{"type": "response.create"}', "model", "missing_required_parameter"),
        ('{"type": "response.steer"}', "previous_response_id", "missing_required_parameter"),
    ],
)
async def test_an_invalid_message_is_answered_and_the_socket_stays_open(
    server: RunningServer, message: str, param: str | None, code: str | None
):
    async with talk(server) as one:
        await one.send_text(message)
        received = await one.receive_event()
        created = await one.created()

    assert (received["type"], received["status"]) == ("error", 400)
    assert received["error"]["type"] == "invalid_request_error"
    assert (received["error"]["param"], received["error"]["code"]) == (param, code)
    assert created["status"] == "completed"


@pytest.mark.parametrize(
    ("parameters", "param", "code"),
    [
        ({"input": 7}, "input", "invalid_type"),
        ({"background": True}, "background", "unsupported_value"),
        ({"stream": False}, "stream", "unsupported_value"),
        ({"generate": "no"}, "generate", "invalid_type"),
        ({"temprature": 1}, "temprature", "unknown_parameter"),
        ({"model": "other"}, "model", "model_not_found"),
        ({"previous_response_id": "resp_1"}, "previous_response_id", "previous_response_not_found"),
    ],
)
async def test_a_bad_request_is_an_error_that_names_its_parameter(
    server: RunningServer, parameters, param, code
):
    async with talk(server) as one:
        error = await one.refusal(**{"input": "Hi", **parameters})
        created = await one.created()
    assert (error["param"], error["code"]) == (param, code)
    assert created["status"] == "completed"


async def test_fields_implied_by_the_socket_are_allowed(server: RunningServer):
    async with talk(server) as one:
        created = await one.created(stream=True, background=False, generate=True, stream_id=None)
    assert (created["status"], created["background"]) == ("completed", False)


async def test_an_error_has_the_lane_of_its_request(server: RunningServer):
    async with talk(server) as one:
        (received,) = await one.create(7, stream_id="lane-1")
    assert received["stream_id"] == "lane-1"


async def test_a_backends_refusal_is_an_error_with_its_status_and_its_wait(
    server: RunningServer, backend: ReplayBackend
):
    backend.script = lambda request: Answer(
        [b'{"error":{"message":"Slow down"}}'], JSON, 429, {"retry-after": "7"}
    )
    async with talk(server) as one:
        (received,) = await one.create()
    assert (received["status"], received["error"]["code"]) == (429, "rate_limit_exceeded")
    assert received["error"]["headers"] == {"retry-after": "7"}


async def test_a_backend_that_breaks_off_fails_the_response_and_not_the_socket(
    server: RunningServer, backend: ReplayBackend
):
    script = backend.script
    backend.script = lambda request: Answer([sse(delta(content="Once"), done=False)], cut=True)
    async with talk(server) as one:
        await one.send_request()
        events = await one.until("error", "response.failed")
        backend.script = script
        created = await one.created()
    assert [found.rule for found in check_event_stream(events)] == [
        "failed:error-before"
    ]  # an `error` would be an end
    assert events[-1]["response"]["error"]["code"] == "server_error"
    assert created["status"] == "completed"


async def test_a_fault_of_the_server_ends_one_request_only(
    server: RunningServer, monkeypatch, caplog
):
    def broken(*args, **options):
        raise ZeroDivisionError

    async with talk(server) as one:
        with monkeypatch.context() as patch:
            patch.setattr(Gateway, "create", broken)
            (received,) = await one.create()
        created = await one.created()

    assert (received["status"], received["error"]["code"]) == (500, "server_error")
    assert created["status"] == "completed"
    assert "A fault in Antiphon" in caplog.text


# Warm-up.


async def test_a_warm_up_calls_no_model_and_can_be_followed(
    server: RunningServer, backend: ReplayBackend
):
    async with talk(server) as one:
        events = await one.create(
            "Remember", generate=False, store=False, instructions="Be kind", tools=[TOOL]
        )
        assert backend.requests == []
        await one.created("Hi", previous_response_id=events[-1]["response"]["id"], store=False)

    assert [event["type"] for event in events] == [
        "response.created",
        "response.in_progress",
        "response.completed",
    ]
    assert events[-1]["response"]["output"] == []
    assert [message["content"] for message in backend.requests[-1]["messages"]] == [
        "Remember",
        "Hi",
    ]


@pytest.mark.parametrize("nothing", [{}, {"input": None}, {"input": []}, {"input": ""}])
async def test_a_warm_up_needs_no_input(
    server: RunningServer, backend: ReplayBackend, nothing: dict
):
    async with talk(server) as one:
        await one.send_text(
            {"type": "response.create", "model": "m", "generate": False, "store": False, **nothing}
        )
        warm = (await one.until(*ENDS))[-1]["response"]
        await one.created("Hi", previous_response_id=warm["id"], store=False)
    assert [message["content"] for message in backend.requests[-1]["messages"]] == ["Hi"]


async def test_a_warm_up_is_stored_by_default(server: RunningServer):
    async with talk(server) as one:
        stored = await one.created(generate=False)
        unkept = await one.created(generate=False, store=False)
    assert (await server.get(f"/responses/{stored['id']}"))[0] == 200
    assert (await server.get(f"/responses/{unkept['id']}"))[0] == 404


# Who may connect.


async def test_a_page_of_another_site_may_not_connect(server: RunningServer):
    with pytest.raises(InvalidStatus) as caught:
        async with talk(server, origin="http://evil.example"):
            pass
    assert caught.value.response.status_code == 403
    assert json.loads(caught.value.response.body)["error"]["code"] == "origin_not_allowed"


async def test_a_page_of_this_server_may_connect(server: RunningServer):
    async with talk(server, origin=server.url.removesuffix("/v1")) as one:
        assert (await one.created())["status"] == "completed"


async def test_another_path_is_no_socket(server: RunningServer):
    with pytest.raises(InvalidStatus) as caught:
        await connect(server.url.replace("http://", "ws://") + "/models")
    assert caught.value.response.status_code == 404
    assert json.loads(caught.value.response.body)["error"]["code"] == "unknown_url"


async def test_a_path_without_the_prefix_of_the_api_comes_with_advice(server: RunningServer):
    with pytest.raises(InvalidStatus) as caught:
        await connect(server.url.replace("http://", "ws://").removesuffix("/v1") + "/responses")
    message = json.loads(caught.value.response.body)["error"]["message"]
    assert message.startswith("Unknown request URL: GET /responses. ") and message.endswith(
        " ends in /v1."
    )


async def test_a_server_that_has_it_switched_off_answers_426(backend: ReplayBackend):
    async with serve(HttpBackend("replay", backend.url, "k"), has_websocket=False) as server:
        with pytest.raises(InvalidStatus) as caught:
            async with talk(server):
                pass
    assert caught.value.response.status_code == 426
    assert json.loads(caught.value.response.body)["error"]["code"] == "upgrade_not_supported"


async def test_a_compressing_client_is_understood(server: RunningServer):
    async with talk(server, compression="deflate") as one:
        assert one.socket.response.headers["sec-websocket-extensions"].startswith(
            "permessage-deflate"
        )
        assert text_of(await one.created("x" * 10_000)) == f"You said: {'x' * 10_000} "


async def test_a_large_compressed_message_in_fragments_is_understood(server: RunningServer):
    async with talk(server, compression="deflate") as one:
        words = "é" * 300_000
        body = json.dumps(
            {"type": "response.create", "model": "m", "input": words}, ensure_ascii=False
        )
        await one.socket.send([body[:100_000], "", body[100_000:]])
        assert f"You said: {words}" in text_of((await one.until(*ENDS))[-1]["response"])


@pytest.mark.wide
async def test_a_compressed_message_that_is_too_large_inside_ends_the_connection(
    server: RunningServer,
):
    async with talk(server, compression="deflate") as one:
        with pytest.raises(ConnectionClosedError) as caught:
            await one.socket.send("a" * 40_000_000)
            await one.socket.recv()
    assert caught.value.rcvd is not None
    assert caught.value.rcvd.code == 1009
