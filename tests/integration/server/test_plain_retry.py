"""A request that is refused without a known reason is sent once more in its plainest form, and what
it was is learned.

`unknown_refusals.json` holds refusals in words that no rule knows, made up by someone who has not
seen the code.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from antiphon.build.backends import backends_of
from antiphon.config import BackendConfig, Settings
from antiphon.runs.corrections import NO_CALL
from tests.integration.server.test_differences import (
    FORMAT,
    WEATHER,
    is_forced,
    makes,
    request,
    states,
)
from tests.integration.server.test_refusing_backends import MODES, Request, before, hello, refused
from tests.support.keys import bearing, issued
from tests.support.native import answering, message
from tests.support.replay import JSON, Answer, ReplayBackend, delta, sse
from tests.support.server import RunningServer, serve

UNKNOWN: list[Any] = json.loads(
    Path(__file__).with_name("unknown_refusals.json").read_text("utf-8")
)
ODD = {
    "type": "function",
    "name": "find",
    "parameters": {
        "type": "object",
        "properties": {
            "city": {"type": "string", "pattern": "^[A-Z]", "description": "Its name."},
            "days": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
        },
        "required": ["city"],
        "additionalProperties": False,
    },
}
LATE: Any = [{"role": "user", "content": "One"}, {"role": "developer", "content": "Two"}]


def roles(sent: Request) -> list[str]:
    return [message["role"] for message in sent["messages"]]


def words(sent: Request) -> str:
    return json.dumps([message["content"] for message in sent["messages"]])


class Family(NamedTuple):
    """What a backend refuses, a request that has it, and how that must arrive."""

    dialect: str
    refuses: Callable[[Request], bool]
    requested: Request
    arrives: Callable[[Request], bool]


FAMILIES = {
    "system": Family(
        "openai",
        lambda sent: any(role in {"system", "developer"} for role in roles(sent)[1:]),
        {"instructions": "Zero", "input": LATE},
        lambda sent: all(one in words(sent) for one in ("Zero", "One", "Two")),
    ),
    "schema": Family(
        "generic",
        lambda sent: any(
            word in json.dumps(sent["tools"]) for word in ('"pattern":', '"anyOf":', '"minimum":')
        ),
        {"tools": [WEATHER, ODD]},
        lambda sent: [one["function"]["name"] for one in sent["tools"]] == ["get_weather", "find"],
    ),
    "forced": Family(
        "generic",
        is_forced,
        {"tools": [WEATHER], "tool_choice": "required"},
        lambda sent: "call of one of the tools" in words(sent) and len(sent["tools"]) == 1,
    ),
    "format": Family(
        "generic",
        lambda sent: "response_format" in sent and "tools" in sent,
        {"tools": [WEATHER], "text": FORMAT},
        lambda sent: "integer" in words(sent) and len(sent["tools"]) == 1,
    ),
    "stream": Family(
        "generic", lambda sent: not sent["stream"], {}, lambda sent: words(sent) == '["Hi"]'
    ),
    "sampling": Family(
        "generic",
        lambda sent: "temperature" in sent and "top_p" in sent,
        {"temperature": 0.3, "top_p": 0.8},
        lambda sent: words(sent) == '["Hi"]',
    ),
}


def refusal(of: Any) -> Answer:
    body = of["body"] if isinstance(of["body"], str) else json.dumps(of["body"])
    return Answer([body.encode()], JSON if body[0] in "{[" else "text/plain", of["status"])


@pytest.mark.parametrize(
    "of", [pytest.param(one, id=f"{one['family']}-{n}") for n, one in enumerate(UNKNOWN)]
)
async def test_a_refusal_in_unknown_words_is_answered(backend: ReplayBackend, of: Any) -> None:
    family = FAMILIES[of["family"]]
    streams = [False] if of["family"] == "stream" else [False, True]
    for stream in streams:
        backend.requests.clear()
        backend.script = lambda sent: (
            refusal(of)
            if family.refuses(sent)
            else states(sent, '{"a": 1}' if "text" in family.requested else "Hello")
        )
        async with before(backend, family.dialect) as server:
            for _ in range(2):
                _, response = await request(server, stream=stream, **family.requested)
                assert response.get("status") == "completed", response
                assert family.arrives(backend.requests[-1]), backend.requests[-1]


UNKNOWN_WORDS = "The frobnicator declined this."


def declining(*refused_names: str) -> Callable[[Request], Answer]:
    """A backend that refuses these parameters, without a reason."""
    return lambda sent: (
        refused(UNKNOWN_WORDS) if any(name in sent for name in refused_names) else hello(sent)
    )


@MODES
async def test_the_parameter_that_was_refused_is_learned_and_the_others_are_sent_again(
    backend: ReplayBackend, stream: bool
) -> None:
    requested: Request = {"temperature": 0.3, "top_p": 0.8, "user": "me", "tools": [WEATHER, ODD]}
    backend.script = declining("top_p")
    async with before(backend, "generic") as server:
        for _ in range(12):
            headers, response = await request(server, stream=stream, **requested)
            assert response["status"] == "completed"
        backend.requests.clear()
        headers, response = await request(server, stream=stream, **requested)
    assert [{"temperature", "top_p", "user"} & sent.keys() for sent in backend.requests] == [
        {"temperature", "user"}
    ]
    assert '"pattern"' in json.dumps(backend.requests[0]["tools"])
    assert headers["antiphon-adjusted"] == "sampling.top_p"
    assert (response["temperature"], response["top_p"]) == (0.3, None)


async def test_a_refusal_of_any_form_reaches_the_client_in_its_own_words(
    backend: ReplayBackend,
) -> None:
    refusals = iter(range(100))
    backend.script = lambda sent: refused(f"{UNKNOWN_WORDS} Number {next(refusals)}.")
    async with before(backend, "generic") as server:
        reported = [
            (await request(server, stream=False, temperature=0.3))[1]["error"]["message"]
            for _ in range(5)
        ]
    assert reported == [
        f"{UNKNOWN_WORDS} Number {number}." for number in (0, 2, 4, 6, 7)
    ]  # three attempts an hour


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("This model's window is 4096 tokens, too long.", 400),
        ("Der Kontext: context length exceeded", 422),
        ("Your input was flagged by the content filter.", 400),
        ("您的余额不足", 400),
        ("The image could not be decoded.", 400),
        ("temperature must be between 0 and 1", 400),
        ("An internal error.", 500),
        ("No such deployment: the model `m` does not exist.", 400),
        ("Nein.", 409),
    ],
)
async def test_a_refusal_that_another_form_cannot_change_is_not_tried_again(
    backend: ReplayBackend, words: str, status: int
) -> None:
    backend.script = lambda _: refused(words, status)
    async with before(backend, "generic") as server:
        _, error = await request(server, stream=False, temperature=0.9)
    assert "error" in error
    assert len({json.dumps(sent) for sent in backend.requests}) == 1


async def test_the_setting_turns_it_off(backend: ReplayBackend) -> None:
    backend.script = declining("temperature")
    config = BackendConfig(url=backend.url, dialect="generic", api="chat", plain_retry=False)
    line = await backends_of(Settings(backends=[config]), {})
    async with serve(*line.backends, shares=line.shares, dialects=line.dialects) as state:
        _, error = await request(state, stream=False, temperature=0.3)
    assert UNKNOWN_WORDS in error["error"]["message"]
    assert len(backend.requests) == 1


async def test_client_parameters_are_never_omitted(backend: ReplayBackend) -> None:
    history: list[Any] = [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "One"},
                {"type": "input_text", "text": "Two"},
            ],
        },
        {
            "type": "function_call",
            "call_id": "c1",
            "name": "find",
            "arguments": '{"city": "Three"}',
        },
        {"type": "function_call_output", "call_id": "c1", "output": "Four"},
        {"role": "developer", "content": "Five"},
        {"role": "user", "content": "Six"},
    ]
    requested: Request = {
        "instructions": "Zero",
        "input": history,
        "tools": [WEATHER, ODD],
        "max_output_tokens": 50,
        "parallel_tool_calls": False,
        "top_logprobs": 2,
    }
    backend.script = lambda sent: (
        hello(sent) if len(backend.requests) > 1 else refused(UNKNOWN_WORDS)
    )
    async with before(backend, "openai") as server:
        _, response = await request(server, stream=False, **requested)
    assert response["status"] == "completed"
    first, second = backend.requests
    stated = json.dumps(second["messages"])
    assert all(one in stated for one in ("Zero", "One", "Two", "Three", "Four", "Five", "Six"))
    assert [one["function"]["name"] for one in second["tools"]] == ["get_weather", "find"]
    stored = ("model", "max_completion_tokens", "parallel_tool_calls", "top_logprobs")
    assert {name: second[name] for name in stored} == {name: first[name] for name in stored}
    assert second["stream"] is True


async def test_the_arguments_of_a_simplified_tool_are_checked_against_the_clients_schema(
    backend: ReplayBackend,
) -> None:
    def script(sent: Request) -> Answer:
        if '"pattern"' in json.dumps(sent["tools"]):
            return refused(UNKNOWN_WORDS)
        call = {
            "id": "c1",
            "type": "function",
            "function": {"name": "find", "arguments": next(written)},
        }
        return makes(sent, call)

    written = iter(['{"city": "berlin"}', '{"city": "Berlin"}'])
    backend.script = script
    async with before(backend, "generic") as server:
        _, response = await request(server, stream=True, tools=[ODD])
    assert response["output"][-1]["arguments"] == '{"city": "Berlin"}'


@MODES
@pytest.mark.parametrize("obeys", [True, False])
async def test_a_model_that_ignores_the_call_instruction_is_prompted_once_more(
    backend: ReplayBackend, stream: bool, obeys: bool
) -> None:
    def script(sent: Request) -> Answer:
        if is_forced(sent):
            return refused("Thinking mode does not support this tool_choice")
        is_second = NO_CALL in str(sent["messages"][-1]["content"])
        return called(sent) if is_second and obeys else states(sent, "Sunny, I guess.")

    def called(sent: Request) -> Answer:
        call = {
            "id": "c1",
            "type": "function",
            "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'},
        }
        return makes(sent, call)

    backend.script = script
    choice = {"type": "function", "name": "get_weather"}
    async with before(backend, "generic") as server:
        headers, response = await request(
            server, stream=stream, tools=[WEATHER], tool_choice=choice
        )
        _, stored = await server.get(f"/responses/{response['id']}")
    assert response["status"] == "completed"
    assert [item["type"] for item in response["output"]] == [
        "message",
        "function_call" if obeys else "message",
    ]
    assert stored["output"] == response["output"]
    assert headers["antiphon-adjusted"] == "tools.choice"
    assert (
        len(backend.requests) == 4
    )  # forced, without thinking, with an instruction, and with another
    assert sum(NO_CALL in words(sent) for sent in backend.requests) == 1


async def status_for(server: RunningServer, tenant: str, tool: Request) -> int:
    """The status of the reply to a request of this tenant with a tool."""
    key, _ = await issued(server.parts.store, tenant)
    body = {"model": "m", "input": "Hi", "tools": [tool]}
    async with server.http.post(
        f"{server.url}/responses", json=body, headers=dict(bearing(key))
    ) as reply:
        return reply.status


async def test_an_odd_schema_of_one_tenant_changes_no_schema_of_another(
    backend: ReplayBackend,
) -> None:
    """A server that accepts none of the schemas in a request says nothing about others (family
    3c).
    """
    odd = {**ODD, "name": "odd"}

    def script(sent: Request) -> Answer:
        if '"odd"' in json.dumps(sent["tools"]) and '"type": "string"' in json.dumps(sent["tools"]):
            return refused("failed to parse grammar")
        return hello(sent)

    backend.script = script
    async with before(backend, "llamacpp") as server:
        statuses = [
            await status_for(server, tenant, tool)
            for tenant, tool in (("one", odd), ("one", ODD), ("other", ODD))
        ]
    assert statuses == [200] * 3
    sent = json.dumps(backend.requests[-1]["tools"])
    assert '"minimum"' in sent
    assert '"anyOf"' in sent


async def test_a_backend_that_has_not_answered_teaches_nothing(backend: ReplayBackend) -> None:
    """The plainest form fails, and another backend answers: nobody knows what the first one
    refused.
    """
    other = ReplayBackend(hello)

    def script(sent: Request) -> Answer:
        return refused(UNKNOWN_WORDS) if "temperature" in sent else Answer([b"{}"], JSON, 503)

    backend.script = script
    async with other.serve():
        configs = [
            BackendConfig(url=one.url, dialect="generic", api="chat") for one in (backend, other)
        ]
        line = await backends_of(Settings(backends=configs), {})
        async with serve(*line.backends, shares=line.shares, dialects=line.dialects) as state:
            await state.parts.models.refresh()
            for _ in range(6):
                await request(state, stream=False, temperature=0.3)
            lessons = [state.lessons_of("m") for state in state.parts.models.backends]
    assert [one.known for one in lessons] == [(), ()]


async def test_a_failure_of_the_plainest_form_is_the_first_refusal_for_the_client(
    backend: ReplayBackend,
) -> None:
    backend.script = lambda sent: (
        refused(UNKNOWN_WORDS) if "temperature" in sent else Answer([b"{}"], JSON, 429)
    )
    async with before(backend, "generic") as server:
        _, error = await request(server, stream=False, temperature=0.3)
    assert UNKNOWN_WORDS in error["error"]["message"]


async def test_a_parameter_of_the_clients_own_is_sent_to_a_backend_that_may_refuse_it(
    backend: ReplayBackend,
) -> None:
    backend.script = declining("chat_template_kwargs")
    async with before(backend, "vllm") as server:
        for _ in range(4):
            _, response = await request(server, stream=False, reasoning={"effort": "high"})
            assert response["status"] == "completed"
        backend.script = hello
        own = {"chat_template_kwargs": {"enable_thinking": False}}
        _, response = await request(server, stream=False, **own)
    assert response["status"] == "completed"
    assert backend.requests[-1]["chat_template_kwargs"] == own["chat_template_kwargs"]


async def test_a_schema_that_a_server_shows_takes_no_tools_from_other_tenants(
    backend: ReplayBackend,
) -> None:
    evil = {
        **WEATHER,
        "parameters": {"type": "object", "properties": {"x": {"type": "does not support tools"}}},
    }

    def script(sent: Request) -> Answer:
        displayed = json.dumps(sent.get("tools", ""))
        if "does not support tools" in displayed:
            return refused(f"JSON schema conversion failed: Unrecognized schema: {displayed}")
        return hello(sent)

    backend.script = script
    async with before(backend, "llamacpp") as server:
        statuses = [
            await status_for(server, tenant, tool)
            for tenant, tool in (("one", evil), ("one", evil), ("other", ODD))
        ]
    assert set(statuses) <= {200, 400}
    assert [one["function"]["name"] for one in backend.requests[-1]["tools"]] == ["find"]
    assert '"minimum"' in json.dumps(backend.requests[-1]["tools"])


def inside(sent: Request, words: str, *before: Request, **fields: Any) -> Answer:
    """A refusal with status 200, as the whole of an answer or behind some output."""
    reported = {"error": {"message": words, "type": "invalid_request_error", **fields}}
    if sent.get("stream"):
        return Answer([sse(*before, reported)])
    return Answer([json.dumps(reported).encode()], JSON)


@MODES
@pytest.mark.parametrize(
    "words", [UNKNOWN_WORDS, "Unsupported parameter: 'temperature'"], ids=["unknown", "known"]
)
async def test_a_refusal_with_status_200_is_answered_like_one_with_400(
    backend: ReplayBackend, words: str, stream: bool
) -> None:
    backend.script = lambda sent: (
        inside(sent, words, code=400) if "temperature" in sent else hello(sent)
    )
    async with before(backend, "generic") as server:
        for _ in range(6):
            _, response = await request(server, stream=stream, temperature=1.9)
            assert response["status"] == "completed", response
        (state,) = server.parts.models.backends
        assert state.lessons_of("m").of("") == {
            "temperature=1.9" if words == UNKNOWN_WORDS else "temperature"
        }
        _, stored = await server.get(f"/responses/{response['id']}")
        backend.script = lambda sent: inside(sent, words, code=400)
        _, response = await request(server, stream=stream, temperature=1.9)
        assert words in response["error"]["message"]
        assert state.health.failures == 0  # the request is at fault, and not the backend
    assert stored["status"] == "completed"
    assert stored["temperature"] is None


async def test_nothing_is_repeated_once_a_client_has_output(backend: ReplayBackend) -> None:
    backend.script = lambda sent: inside(sent, UNKNOWN_WORDS, delta(content="Hel"), code=400)
    async with before(backend, "generic") as server:
        _, response = await request(server, stream=True, temperature=1.9)
    assert response["status"] == "failed"
    assert response["output"][0]["content"][0]["text"] == "Hel"
    assert len(backend.requests) == 1


@MODES
async def test_a_backend_that_is_called_by_its_responses_api_has_a_second_attempt(
    stream: bool,
) -> None:
    def script(sent: Request) -> Answer:
        if "temperature" not in sent:
            return answering([message("Hello")])(sent)
        if sent["temperature"] == 1.9:
            return refused(UNKNOWN_WORDS)
        return inside(sent, UNKNOWN_WORDS)

    backend = ReplayBackend(script, speaks_responses=True)
    async with backend.serve():
        config = BackendConfig(url=backend.url, dialect="generic", api="responses")
        line = await backends_of(Settings(backends=[config]), {})
        async with serve(*line.backends, shares=line.shares, dialects=line.dialects) as state:
            for temperature in (1.9, 0.7, 1.9, 0.7):
                backend.requests.clear()
                _, response = await request(
                    state, stream=stream, temperature=temperature, tools=[ODD], instructions="Zero"
                )
                assert response["status"] == "completed", response
                assert response["temperature"] is None
                assert backend.requests[-1]["instructions"] == "Zero"
                assert [tool["name"] for tool in backend.requests[-1]["tools"]] == ["find"]
