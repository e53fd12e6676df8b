"""A backend that refuses a request is sent what it takes, at once and from then on, and the client
is told.
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from antiphon.console.details import details
from antiphon.storage.operations import facts_detail
from antiphon.testing import assert_event_stream
from antiphon.upstream.demo.refusing import REFUSALS, RefusingDemoBackend
from tests.integration.server.test_refusing_backends import MODES, Request, before, hello, refused
from tests.support.replay import JSON, Answer, ReplayBackend, completion, delta, sse, text
from tests.support.server import serve

WEATHER = {
    "type": "function",
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}
TIME = {"type": "function", "name": "get_time", "parameters": {"type": "object", "properties": {}}}
FORMAT = {
    "format": {
        "type": "json_schema",
        "name": "o",
        "schema": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    }
}
HISTORY = [
    {"role": "user", "content": "Hi"},
    {
        "type": "function_call",
        "call_id": "call_abcdefgh1234",
        "name": "get_weather",
        "arguments": "{}",
    },
    {"type": "function_call_output", "call_id": "call_abcdefgh1234", "output": "ok"},
]


def is_forced(sent: Request) -> bool:
    return sent.get("tool_choice") not in (None, "auto", "none")


def ids(sent: Request) -> list[str]:
    return [
        one.get("tool_call_id") or one["tool_calls"][0]["id"]
        for one in sent["messages"]
        if one["role"] != "user"
    ]


def placeholder(sent: Request) -> list[str]:
    calls = [call for one in sent["messages"] for call in one.get("tool_calls", ())]
    return [call["extra_content"]["google"]["thought_signature"] for call in calls]


async def notes(server: Any, response_id: str) -> str:
    """The adjustments in the stored facts of a response."""
    family = await server.parts.store.read(facts_detail.family, "", response_id)
    reported = details(family, {}, 0)["notes"]
    return "".join(
        one["text"].rpartition(": ")[2].rstrip(".") for one in reported if one["code"] == "adjusted"
    )


class Case(NamedTuple):
    """A refusal, and what follows from it."""

    dialects: tuple[str, ...]
    refuses: Callable[[Request], bool]
    words: str
    requested: Request
    sent: Callable[[Request], bool]
    """Whether the second request is as it has to be."""
    adjusted: str = ""
    applied: Request = {}  # noqa: RUF012 - a named tuple's default
    status: int = 400
    states: str = "Hello"
    answers: int = 1
    """How often the model is asked: an answer without a demanded call is asked for once more."""


CASES = {
    "calls without tools": Case(
        ("generic", "anthropic"),
        lambda sent: "tool" in [one["role"] for one in sent["messages"]] and not sent.get("tools"),
        "litellm.UnsupportedParamsError: Bedrock doesn't support tool calling without `tools=` "
        "param specified.",
        {"input": [*HISTORY, {"role": "user", "content": "Go on"}]},
        lambda sent: (
            "get_weather" in json.dumps(sent["messages"]) and "tool_calls" not in json.dumps(sent)
        ),
    ),
    "one of two": Case(
        ("anthropic", "generic"),
        lambda sent: "temperature" in sent and "top_p" in sent,
        "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
        {"temperature": 0.1, "top_p": 0.9},
        lambda sent: sent["temperature"] == 0.1 and "top_p" not in sent,
        "sampling.top_p",
        {"temperature": 0.1, "top_p": None},
    ),
    "only one value": Case(
        ("moonshot", "vllm", "openrouter"),
        lambda sent: sent.get("temperature", 1) != 1,
        "invalid temperature: only 1 is allowed for this model",
        {"temperature": 0.2},
        lambda sent: "temperature" not in sent,
        "sampling.temperature",
        {"temperature": None},
    ),
    "an effort": Case(
        ("moonshot", "generic"),
        lambda sent: sent.get("reasoning_effort", "max") not in ("low", "high", "max"),
        "invalid reasoning_effort: (allowed: low, high, max)",
        {"reasoning": {"effort": "medium"}},
        lambda sent: sent["reasoning_effort"] == "low",
        "reasoning.effort",
        {"reasoning": {"effort": "low", "summary": None}},
    ),
    "an effort in an object": Case(
        ("openrouter",),
        lambda sent: (sent.get("reasoning") or {}).get("effort") == "xhigh",
        "reasoning.effort must be one of low, high",
        {"reasoning": {"effort": "xhigh"}},
        lambda sent: sent["reasoning"] == {"effort": "high"},
        "reasoning.effort",
        {"reasoning": {"effort": "high", "summary": None}},
    ),
    "ids": Case(
        ("vllm", "generic", "lmstudio"),
        lambda sent: not all(len(each) == 9 and each.isalnum() for each in ids(sent)),
        "Tool call id was call_abcdefgh1234 but must be a-z, A-Z, 0-9, with a length of 9.",
        {"input": HISTORY, "tools": [WEATHER]},
        lambda sent: len(set(ids(sent))) == 1,
        status=500,
    ),
    "signatures": Case(
        ("generic", "openrouter"),
        lambda sent: (
            not all(
                "extra_content" in call
                for one in sent["messages"]
                for call in one.get("tool_calls", ())
            )
        ),
        "Function call is missing a thought_signature in functionCall parts.",
        {"input": HISTORY, "tools": [WEATHER]},
        lambda sent: placeholder(sent) == ["skip_thought_signature_validator"],
    ),
    "a format beside tools": Case(
        ("gemini", "fireworks"),
        lambda sent: "tools" in sent and "response_format" in sent,
        "Function calling with a response mime type: 'application/json' is unsupported",
        {"tools": [WEATHER], "text": FORMAT},
        lambda sent: (
            "response_format" not in sent and '"integer"' in sent["messages"][0]["content"]
        ),
        "text.format",
        states='{"a": 1}',
    ),
    "a forced call of a model with a switch": Case(
        ("moonshot", "deepseek", "zai"),
        lambda sent: is_forced(sent) and (sent.get("thinking") or {}).get("type") != "disabled",
        "tool_choice 'required' is incompatible with thinking enabled",
        {"tools": [WEATHER], "tool_choice": "required", "reasoning": {"effort": "high"}},
        lambda sent: sent["thinking"] == {"type": "disabled"} and "reasoning_effort" not in sent,
        "reasoning.effort",
        {"reasoning": {"effort": "none", "summary": None}},
    ),
    "a forced call of a model that always thinks": Case(
        ("alibaba", "generic"),
        is_forced,
        "Thinking mode does not support this tool_choice",
        {"tools": [WEATHER], "tool_choice": {"type": "function", "name": "get_weather"}},
        lambda sent: (
            sent["tool_choice"] == "auto"
            and "call of the tool 'get_weather'" in sent["messages"][0]["content"]
        ),
        "tools.choice",
        answers=2,
    ),
}
ROWS = [
    pytest.param(case, dialect, id=f"{name}-{dialect}")
    for name, case in CASES.items()
    for dialect in case.dialects
]


def states(sent: Request, words: str) -> Answer:
    if sent.get("stream"):
        return Answer([sse(delta(content=words), delta("stop"))])
    return Answer([completion(words)], JSON)


def makes(sent: Request, call: Request) -> Answer:
    """An answer with this call."""
    if sent["stream"]:
        return Answer([sse(delta(tool_calls=[{"index": 0, **call}]), delta("tool_calls"))])
    return Answer([completion(None, tool_calls=[call])], JSON)


async def request(server: Any, *, stream: bool, **body: Any) -> tuple[Any, Request]:
    """The headers of a reply, and its final response."""
    request_body = {"model": "m", "input": "Hi", "stream": stream, **body}
    async with server.http.post(f"{server.url}/responses", json=request_body) as reply:
        text = await reply.text()
        headers = reply.headers
    if not text.startswith("event:"):
        return headers, json.loads(text)
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    return headers, events[-1]["response"]


@MODES
@pytest.mark.parametrize(("case", "dialect"), ROWS)
async def test_a_rejected_request_is_answered_and_the_client_receives_the_reason(
    backend: ReplayBackend, case: Case, dialect: str, stream: bool
) -> None:
    bodies: list[Request] = []

    def script(sent: Request) -> Answer:
        bodies.append(sent)
        if case.refuses(sent):
            return refused(case.words, case.status)
        return states(sent, case.states)

    backend.script = script
    async with before(backend, dialect) as server:
        for turn in (1, 2):
            headers, response = await request(server, stream=stream, **case.requested)
            assert response.get("status") == "completed", response
            assert case.sent(bodies[-1]), bodies[-1]
            assert headers.get("antiphon-adjusted", "") == case.adjusted
            assert {name: response[name] for name in case.applied} == case.applied
            _, stored = await server.get(f"/responses/{response['id']}")
            assert {name: stored[name] for name in case.applied} == case.applied
            assert await notes(server, response["id"]) == case.adjusted
            assert turn == 1 or not case.refuses(bodies[-1])
    refusals = [sent for sent in bodies if case.refuses(sent)]
    assert (
        len(refusals) <= 2
    )  # the first request, and once more where switching thinking off does not help
    assert (
        len(bodies) == len(refusals) + 2 * case.answers
    )  # the second request of the client is sent in its final form


async def test_a_stream_begins_with_the_values_of_the_request(backend: ReplayBackend) -> None:
    case = CASES["one of two"]
    backend.script = lambda sent: (
        refused(case.words) if case.refuses(sent) else states(sent, case.states)
    )
    body = {
        "model": "m",
        "input": "Hi",
        "stream": True,
        "antiphon": {"cache": True},
        **case.requested,
    }
    async with before(backend, "generic") as server:
        for _ in ("miss", "hit"):
            async with server.http.post(f"{server.url}/responses", json=body) as reply:
                lines = [
                    line[6:]
                    for line in (await reply.text()).splitlines()
                    if line.startswith("data: {")
                ]
            events = list(map(json.loads, lines))
            assert_event_stream(events)
            reported = [event["response"]["top_p"] for event in events if "response" in event]
            assert reported == [0.9, 0.9, None]


async def test_a_refusal_of_a_tools_schema_weakens_that_tool_and_no_format(
    backend: ReplayBackend,
) -> None:
    def script(sent: Request) -> Answer:
        if '"pattern": ' in json.dumps(sent.get("tools")):
            return refused("Functions cannot have name with json schema")
        return states(sent, '{"a": 1}')

    backend.script = script
    odd = TIME | {
        "parameters": {"type": "object", "properties": {"a": {"type": "string", "pattern": "^a"}}}
    }
    async with before(backend, "fireworks") as server:
        for _ in range(5):
            headers, response = await request(
                server, stream=False, tools=[WEATHER, odd], text=FORMAT
            )
            assert response["status"] == "completed"
    assert headers["antiphon-adjusted"] == "tools.schema"
    assert backend.requests[-1]["response_format"]["type"] == "json_schema"
    assert backend.requests[-1]["tools"][0]["function"]["parameters"] == WEATHER["parameters"]


@MODES
async def test_a_named_call_is_requested_along_with_all_tools_and_another_call_does_not_count(
    backend: ReplayBackend, stream: bool
) -> None:
    names = iter(["get_time", "get_weather"])

    def script(sent: Request) -> Answer:
        if is_forced(sent):
            return refused("Thinking mode does not support this tool_choice")
        return makes(
            sent,
            {"id": "call_1", "function": {"name": next(names), "arguments": '{"city": "Rome"}'}},
        )

    backend.script = script
    choice = {"type": "function", "name": "get_weather"}
    async with before(backend, "generic") as server:
        _, response = await request(
            server, stream=stream, tools=[TIME, WEATHER], tool_choice=choice
        )
    assert [(item["type"], item["name"]) for item in response["output"]] == [
        ("function_call", "get_weather")
    ]
    offered = [[tool["function"]["name"] for tool in sent["tools"]] for sent in backend.requests]
    assert offered == [["get_time", "get_weather"]] * len(offered)


@MODES
@pytest.mark.parametrize(
    ("name", "dialect"),
    [("one of two", "anthropic"), ("an effort in an object", "openrouter")],
    ids=["sampling", "effort"],
)
async def test_a_cached_answer_reports_its_adjustments(
    backend: ReplayBackend, name: str, dialect: str, stream: bool
) -> None:
    case = CASES[name]
    backend.script = lambda sent: (
        refused(case.words, case.status) if case.refuses(sent) else states(sent, case.states)
    )
    async with before(backend, dialect) as server:
        for found in ("miss", "hit"):
            headers, response = await request(
                server, stream=stream, antiphon={"cache": True}, **case.requested
            )
            assert (headers["antiphon-cache"], headers.get("antiphon-adjusted")) == (
                found,
                case.adjusted,
            )
            assert {name: response[name] for name in case.applied} == case.applied
            assert await notes(server, response["id"]) == case.adjusted


@pytest.mark.parametrize(
    "words",
    [
        "This model only support stream mode, please enable the stream parameter "
        "to access the model. ",
        "parameter.enable_thinking must be set to false for non-streaming calls",
    ],
)
@pytest.mark.parametrize("dialect", ["alibaba", "generic", "fireworks"])
async def test_a_model_that_only_streams_answers_clients_that_want_no_stream(
    backend: ReplayBackend, dialect: str, words: str
) -> None:
    backend.script = lambda sent: hello(sent) if sent["stream"] else refused(words)
    async with before(backend, dialect) as server:
        for _ in range(2):
            headers, response = await request(server, stream=False)
            assert response["output"][0]["content"][0]["text"] == "Hello"
            assert "antiphon-adjusted" not in headers  # the client sees no difference
    assert [sent["stream"] for sent in backend.requests] == [False, True, True]


@MODES
@pytest.mark.parametrize("dialect", ["groq", "cerebras"])
async def test_an_answer_with_tools_is_corrected_to_its_format(
    backend: ReplayBackend, dialect: str, stream: bool
) -> None:
    answers = iter(["It is 1.", '{"a": 1}'])
    backend.script = lambda sent: states(sent, next(answers))
    async with before(backend, dialect) as server:
        headers, response = await request(server, stream=stream, tools=[WEATHER], text=FORMAT)
    assert response["output"][-1]["content"][0]["text"] == '{"a": 1}'
    assert headers["antiphon-adjusted"] == "text.format"
    assert not any("response_format" in sent for sent in backend.requests)


async def test_a_format_without_tools_is_sent_and_left_to_the_service(
    backend: ReplayBackend,
) -> None:
    backend.script = lambda sent: states(sent, "It is 1.")
    async with before(backend, "groq") as server:
        headers, response = await request(server, stream=False, text=FORMAT)
    assert response["output"][-1]["content"][0]["text"] == "It is 1."
    assert "antiphon-adjusted" not in headers
    assert [sent["response_format"]["type"] for sent in backend.requests] == ["json_schema"]


async def test_a_refusal_that_stays_after_its_lesson_reaches_the_client(
    backend: ReplayBackend,
) -> None:
    backend.script = lambda _: refused("`temperature` and `top_p` cannot both be specified.")
    async with before(backend, "generic") as server:
        _, error = await request(server, stream=False, temperature=0.1, top_p=0.5)
    assert "cannot both be specified" in error["error"]["message"]
    assert len(backend.requests) == 3  # as asked, with the lesson, and in its plainest form


async def test_a_model_without_credit_does_not_pause_the_others(backend: ReplayBackend) -> None:
    def script(sent: Request) -> Answer:
        if sent["model"] == "paid":
            return Answer(
                [b'{"error": {"message": "Insufficient credits.", "code": 402}}'], JSON, 402
            )
        return Answer([text("Hello")]) if sent["stream"] else Answer([completion("Hello")], JSON)

    backend.script = script
    backend.models = [
        {"id": name, "object": "model", "created": 1, "owned_by": "x"} for name in ("m", "paid")
    ]
    async with before(backend, "openrouter") as server:
        _, refusal = await request(server, stream=False, model="paid")
        assert refusal["error"]["code"] == "insufficient_quota"
        _, response = await request(server, stream=False)
        assert response["status"] == "completed"


def failed(written: str) -> Answer:
    error = {
        "message": "Failed to call a function.",
        "code": "tool_use_failed",
        "failed_generation": written,
    }
    return Answer(
        [json.dumps({"error": {"type": "invalid_request_error", **error}}).encode()], JSON, 400
    )


@MODES
async def test_a_call_inside_a_refusal_is_the_answer(backend: ReplayBackend, stream: bool) -> None:
    backend.script = lambda _: failed('<function=get_weather>{"city": "Rome"}</function>')
    async with before(backend, "groq") as server:
        _, response = await request(server, stream=stream, tools=[WEATHER])
    (call,) = response["output"]
    assert (response["status"], call["type"], call["name"]) == (
        "completed",
        "function_call",
        "get_weather",
    )
    assert json.loads(call["arguments"]) == {"city": "Rome"}
    assert len(backend.requests) == 1


def failed_in_stream(written: str, *before: Any) -> Answer:
    """The same in a stream that has begun."""
    error = {
        "message": "Failed to call a function.",
        "code": "tool_use_failed",
        "failed_generation": written,
    }
    return Answer(
        [sse(*before, {"error": {"type": "invalid_request_error", "status_code": 400, **error}})]
    )


@pytest.mark.parametrize("text", ["", "Let me see. "])
async def test_a_call_inside_an_error_of_a_stream_is_the_answer(
    backend: ReplayBackend, text: str
) -> None:
    begun = [delta(content=text)] if text else []
    backend.script = lambda _: failed_in_stream(
        f'{text}<function=get_weather>{{"city": "Rome"}}</function>', *begun
    )
    async with before(backend, "groq") as server:
        _, response = await request(server, stream=True, tools=[WEATHER])
    call = response["output"][-1]
    assert (response["status"], call["type"], json.loads(call["arguments"])) == (
        "completed",
        "function_call",
        {"city": "Rome"},
    )
    assert [item["content"][0]["text"] for item in response["output"][:-1]] == (
        [text] if text else []
    )
    assert len(backend.requests) == 1


async def test_a_stream_error_without_a_call_is_retried_once(backend: ReplayBackend) -> None:
    answers = iter([failed_in_stream("Hmm."), Answer([text("Hello")])])
    backend.script = lambda _: next(answers)
    async with before(backend, "groq") as server:
        _, response = await request(server, stream=True, tools=[WEATHER])
    assert response["output"][0]["content"][0]["text"] == "Hello"
    assert len(backend.requests) == 2


@MODES
async def test_an_unreadable_call_is_requested_once_more(
    backend: ReplayBackend, stream: bool
) -> None:
    answers = iter(
        [failed("<function=get_weather>{"), None, failed("<function="), failed("<function=")]
    )
    backend.script = lambda sent: next(answers) or states(sent, "Sunny")
    async with before(backend, "groq") as server:
        _, response = await request(server, stream=stream, tools=[WEATHER])
        assert response["output"][0]["content"][0]["text"] == "Sunny"
        _, response = await request(server, stream=stream, tools=[WEATHER])
        assert response["error"]["code"] == "tool_use_failed"
    assert len(backend.requests) == 4


SIGNED = "call_28474be1__thought__" + "Cq" * 200
PING = {"type": "function", "name": "ping", "parameters": {"type": "object", "properties": {}}}
FORMS: dict[str, Request] = {
    "in the id": {"id": SIGNED},
    "beside the call": {"id": "call_1", "provider_specific_fields": {"thought_signature": "S"}},
    "as Gemini has it": {"id": "call_1", "extra_content": {"google": {"thought_signature": "S"}}},
}


def requests_signature(own: Request) -> Callable[[Request], Answer]:
    """A gateway in front of Gemini, which needs the signature of its call back, in the form in
    which it sent it.
    """

    def script(sent: Request) -> Answer:
        calls = [call for one in sent["messages"] for call in one.get("tool_calls") or ()]
        if not all(
            call[name] == value
            for call in calls
            for name, value in own.items()
            if name in call or name != "id"
        ):
            return refused("Function call is missing a thought_signature in functionCall parts.")
        outputs = [one for one in sent["messages"] if one["role"] == "tool"]
        if outputs:
            assert outputs[0]["tool_call_id"] == calls[0]["id"]
            return states(sent, "Sunny")
        call = {"type": "function", "function": {"name": "ping", "arguments": "{}"}, **own}
        return makes(sent, call)

    return script


@MODES
@pytest.mark.parametrize(
    ("dialect", "way"),
    [
        ("anthropic", "chain"),
        ("generic", "conversation"),
        ("gemini", "replay"),
        ("anthropic", "replay"),
    ],
)
@pytest.mark.parametrize("form", FORMS)
async def test_a_signature_goes_back_in_the_form_in_which_it_came(
    backend: ReplayBackend, dialect: str, form: str, way: str, stream: bool
) -> None:
    backend.script = requests_signature(FORMS[form])
    async with before(backend, dialect) as server:
        more: Request = {"tools": [PING], "include": ["reasoning.encrypted_content"]}
        if way == "conversation":
            more["conversation"] = (await server.post("/conversations", json={}))[1]["id"]
        _, first = await request(server, stream=stream, **more)
        call = first["output"][-1]
        assert len(call["call_id"]) <= 64
        result = [{"type": "function_call_output", "call_id": call["call_id"], "output": "ok"}]
        if way == "chain":
            more["previous_response_id"] = first["id"]
        if way == "replay":
            result = [{"role": "user", "content": "Hi"}, *first["output"], *result]
        _, second = await request(server, stream=stream, **more, input=result)
    assert second["output"][0]["content"][0]["text"] == "Sunny", second


@MODES
@pytest.mark.parametrize("form", FORMS)
async def test_a_call_is_corrected_with_its_signature(
    backend: ReplayBackend, form: str, stream: bool
) -> None:
    own = FORMS[form]
    refusals = []

    def script(sent: Request) -> Answer:
        calls = [call for one in sent["messages"] for call in one.get("tool_calls") or ()]
        if any(
            call.get(name) != value
            for call in calls
            for name, value in own.items()
            if value != "call_1"
        ):
            refusals.append(sent)
            return refused("Function call is missing a thought_signature in functionCall parts.")
        call = {
            "type": "function",
            "function": {"name": "get_weather", "arguments": "{}" if calls else "Rome"},
            **own,
        }
        return makes(sent, call)

    backend.script = script
    tool = WEATHER | {"parameters": {"type": "object", "properties": {}}}
    async with before(backend, "generic") as server:
        _, response = await request(server, stream=stream, tools=[tool])
    (call,) = [item for item in response["output"] if item["type"] == "function_call"]
    assert (call["arguments"], refusals) == ("{}", [])


async def test_a_call_with_a_signature_in_its_id_needs_no_placeholder(
    backend: ReplayBackend,
) -> None:
    plays = requests_signature({"id": SIGNED})

    def script(sent: Request) -> Answer:
        first = [one["tool_calls"][0] for one in sent["messages"] if one.get("tool_calls")]
        if not all("extra_content" in call or call["id"] == SIGNED for call in first):
            return refused("Function call is missing a thought_signature in functionCall parts.")
        return plays(
            {
                **sent,
                "messages": [
                    one for one in sent["messages"] if "call_abcdefgh1234" not in str(one)
                ],
            }
        )

    backend.script = script
    async with before(backend, "generic") as server:
        _, first = await request(server, stream=False, tools=[PING], input=HISTORY)
        result = [
            {
                "type": "function_call_output",
                "call_id": first["output"][-1]["call_id"],
                "output": "ok",
            }
        ]
        await request(
            server, stream=False, tools=[PING], previous_response_id=first["id"], input=result
        )
    calls = [
        call for one in backend.requests[-1]["messages"] for call in one.get("tool_calls") or ()
    ]
    assert ["extra_content" in call for call in calls] == [True, False]


CUSTOM = {"type": "custom", "name": "ping", "description": "Ping."}


@MODES
@pytest.mark.parametrize("tool", [PING, CUSTOM], ids=["function", "custom"])
async def test_a_signature_is_recalled_by_the_call_alone_and_stays_in_its_chain(
    backend: ReplayBackend, tool: Request, stream: bool
) -> None:
    backend.script = requests_signature({"id": SIGNED})
    async with before(backend, "generic") as server:
        _, first = await request(server, stream=stream, tools=[tool])
        call = {**first["output"][-1]}
        del call["id"]
        result = {"type": call["type"] + "_output", "call_id": call["call_id"], "output": "ok"}
        alone = [{"role": "user", "content": "Hi"}, call, result]
        _, second = await request(server, stream=stream, tools=[tool], input=alone)
        _, third = await request(
            server, stream=stream, tools=[tool], previous_response_id=second["id"]
        )
        _, listed = await server.get(f"/responses/{second['id']}/input_items?order=asc")
        conversation = (await server.post("/conversations", json={"items": alone[:1]}))[1]["id"]
        more = {"tools": [tool], "conversation": conversation}
        _, fourth = await request(server, stream=stream, **more, input=alone[1:])
        _, fifth = await request(server, stream=stream, **more)
    assert [one["output"][0]["content"][0]["text"] for one in (second, third, fourth, fifth)] == [
        "Sunny"
    ] * 4
    assert [item["type"] for item in listed["data"]] == ["message", call["type"], result["type"]]
    assert "sealed" not in json.dumps(listed) and len(backend.requests) == 5


@MODES
async def test_the_call_alone_brings_its_signature_back_though_nothing_was_stored(
    backend: ReplayBackend, stream: bool
) -> None:
    backend.script = requests_signature({"id": SIGNED})
    more: Request = {"tools": [PING], "store": False}
    async with before(backend, "generic") as server:
        _, first = await request(server, stream=stream, **more)
        created = first["output"][-1]
        call = {name: created[name] for name in ("type", "call_id", "name", "arguments")}
        result = {"type": "function_call_output", "call_id": call["call_id"], "output": "ok"}
        _, second = await request(
            server, stream=stream, **more, input=[{"role": "user", "content": "Hi"}, call, result]
        )
    assert second["output"][0]["content"][0]["text"] == "Sunny", second
    assert len(backend.requests) == 2


@MODES
async def test_gemini_gets_a_placeholder_for_calls_of_other_models(
    backend: ReplayBackend, stream: bool
) -> None:
    backend.script = lambda sent: states(sent, "Sunny")
    async with before(backend, "gemini") as server:
        _, response = await request(server, stream=stream, input=HISTORY, tools=[WEATHER])
    assert response["status"] == "completed"
    assert placeholder(backend.requests[-1]) == ["skip_thought_signature_validator"]


ALL_AT_ONCE: Request = {
    "instructions": "Be kind.",
    "input": [
        *HISTORY[:1],
        HISTORY[1] | {"arguments": "{"},
        HISTORY[2],
        {"role": "developer", "content": "Be brief."},
    ],
    "tools": [
        WEATHER
        | {
            "parameters": {
                "oneOf": [{"type": "object", "properties": {"city": {"type": "string"}}}]
            }
        }
    ],
    "text": FORMAT,
    "temperature": 0.5,
    "top_p": 0.5,
    "reasoning": {"effort": "medium"},
}


@MODES
@pytest.mark.parametrize("dialect", ["generic", "alibaba"])
@pytest.mark.parametrize(
    "names",
    [["messages.system"], ["calls.arguments"], ["tools.schema"], [*REFUSALS]],
    ids=lambda names: names[0],
)
async def test_the_demo_backend_answers_behind_antiphon_whatever_it_refuses(
    names: list[str], dialect: str, stream: bool
) -> None:
    async with serve(RefusingDemoBackend(names), dialects={"demo": dialect}) as server:
        _, response = await request(server, stream=stream, **ALL_AT_ONCE | {"model": "demo"})
    assert response.get("status") == "completed", response


async def test_a_call_inside_a_refusal_that_the_client_ruled_out_is_no_answer(
    backend: ReplayBackend,
) -> None:
    backend.script = lambda _: failed('<function=get_weather>{"city": "Rome"}</function>')
    async with before(backend, "groq") as server:
        _, response = await request(server, stream=False, tools=[WEATHER], tool_choice="none")
    assert response["error"]["code"] == "tool_use_failed"


@pytest.mark.parametrize(
    "words",
    [
        "Invalid schema for function 'pay': enum ['ok','insufficient balance'] is invalid",
        "Content blocked: 'my credit balance is too low'",
    ],
)
async def test_quoted_words_about_credit_pause_nothing(backend: ReplayBackend, words: str) -> None:
    backend.script = lambda sent: refused(words) if "bad" in json.dumps(sent) else hello(sent)
    async with before(backend, "generic") as server:
        _, refusal = await request(server, stream=False, input="bad")
        assert refusal["error"]["message"] == words
        _, response = await request(server, stream=False)
        assert response["status"] == "completed"


async def test_settings_of_the_client_for_the_template_stay_when_thinking_stops(
    backend: ReplayBackend,
) -> None:
    def script(sent: Request) -> Answer:
        thinks = sent["chat_template_kwargs"].get("enable_thinking") is not False
        words = "Thinking mode does not support this tool_choice"
        return refused(words) if is_forced(sent) and thinks else states(sent, "Hello")

    backend.script = script
    own = {"chat_template_kwargs": {"enable_thinking": True, "custom": 1}}
    async with before(backend, "vllm") as server:
        _, response = await request(
            server, stream=False, tools=[WEATHER], tool_choice="required", **own
        )
    assert response["status"] == "completed", response
    assert backend.requests[-1]["chat_template_kwargs"] == {"enable_thinking": False, "custom": 1}
