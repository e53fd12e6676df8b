"""What the Messages API and chat completions over a run do with requests that no well-behaved
client sends: an answer or an error in the words of the API, and never a fault of the server.
"""

import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from antiphon.build.models import options_of
from antiphon.config import ModelConfig
from antiphon.storage.open import open_store
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.options import BackendOptions
from tests.support.keys import issue
from tests.support.messages_requests import assistant, result, tool, use, user
from tests.support.messages_server import HI, both, post
from tests.support.replay import Answer, ReplayBackend, delta, sse
from tests.support.server import RunningServer, serve

THINKING = {"type": "enabled", "budget_tokens": 1024}
TOOL: Any = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


@asynccontextmanager
async def running(backend: ReplayBackend) -> AsyncIterator[RunningServer]:
    """A server that answers chat completions as responses."""
    model = ModelConfig(name="m", chat_completions="run")
    options = BackendOptions(configured=options_of([model], "r"))
    async with serve(HttpBackend("r", backend.url), shares={"r": options}) as server:
        yield server


async def large(server: RunningServer, path: str, body: dict[str, Any]) -> tuple[int, str]:
    """The status and the text of the reply to a body of megabytes."""
    raw = io.BytesIO(json.dumps(body).encode())
    headers = {"content-type": "application/json"}
    async with server.http.post(server.url + path, data=raw, headers=headers) as reply:
        return reply.status, await reply.text()


# Versions and parameters.


@pytest.mark.parametrize("version", [None, "2023-06-01", "2026-10-21", "1999-01-01", "x" * 999])
async def test_any_version_is_answered_as_the_newest(
    server: RunningServer, version: str | None
) -> None:
    headers = {} if version is None else {"anthropic-version": version}
    answered = await post(server, headers={**headers, "anthropic-beta": "no-such-2099-01-01,,"})
    refused = await post(server, headers=headers, max_tokens="many")

    assert answered.status == 200
    assert (refused.status, refused.error["type"]) == (400, "invalid_request_error")


async def test_an_unknown_parameter_of_a_run_is_named(backend: ReplayBackend) -> None:
    async with running(backend) as server:
        status, body = await server.post(
            "/chat/completions", json={"model": "m", "messages": HI["messages"], "nice": 1}
        )

    error: Any = body["error"]
    assert (status, error["param"]) == (400, "nice")
    assert backend.requests == []


# Signatures.


async def signed(server: RunningServer, headers: dict[str, str] | None = None) -> dict[str, Any]:
    """A block of thinking with a signature of this server."""
    found = (await post(server, headers=headers, thinking=THINKING)).body["content"][0]
    assert found["type"] == "thinking"
    return dict(found)


def thinking_script(request: dict[str, Any]) -> Answer:
    return Answer([sse(delta(reasoning="Hm."), delta(content="b"), delta("stop"))])


@pytest.mark.parametrize("change", ["letter", "half", "longer", "tenant"])
async def test_a_signature_that_was_changed_is_dropped_and_reported(
    backend: ReplayBackend, change: str
) -> None:
    backend.script = thinking_script
    store = await open_store("sqlite://")
    keys = [{"x-api-key": await issue(store, tenant=tenant)} for tenant in ("a", "b")]
    async with serve(HttpBackend("r", backend.url), dialects={"r": "vllm"}, store=store) as server:
        block = await signed(server, keys[0])
        signature = block["signature"]
        block["signature"] = {
            "letter": signature[:-9] + ("A" if signature[-9] != "A" else "B") + signature[-8:],
            "half": signature[: len(signature) // 2],
            "longer": signature + "AAAA",
            "tenant": signature,
        }[change]
        history = [user("a"), assistant(block, {"type": "text", "text": "b"}), user("c")]
        headers = keys[1] if change == "tenant" else keys[0]
        answered = await post(server, headers=headers, messages=history)

    assert answered.status == 200, answered.body
    assert "Hm." not in json.dumps(backend.requests[-1])
    [dropped] = answered.body["input_transformations"]
    assert dropped["path"] == "messages.1.content.0"
    assert dropped["reason"] == "organization_binding_mismatch"


# Calls and results that do not belong together.


@pytest.mark.parametrize(
    "messages",
    [
        [user(result("toolu_1", "a"))],
        [user("a"), assistant("b"), user(result("toolu_1", "a"))],
        [user("a"), assistant(use("toolu_1")), user(result("toolu_2", "a"))],
        [user("a"), assistant(use()), user(result()), assistant("b"), user(result())],
        [user("a"), assistant(use()), user(result(), result())],
        [user("a"), assistant(use()), user("b")],
        [user("a"), assistant(use()), user("b"), assistant("c"), user(result())],
    ],
)
async def test_calls_and_results_that_do_not_match_are_refused_where_they_are(
    server: RunningServer, backend: ReplayBackend, messages: Any
) -> None:
    for is_stream in (False, True):
        answered = await post(server, messages=messages, tools=[tool()], stream=is_stream)
        assert (answered.status, answered.error["type"]) == (400, "invalid_request_error")
        assert answered.error["message"].startswith("messages.")
        assert "tool_" in answered.error["message"]
    assert backend.requests == []


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "tool", "tool_call_id": "call_9", "content": "a"}],
        [*HI["messages"], {"role": "tool", "content": "a"}],
        [*HI["messages"], {"role": "function", "name": "look", "content": "a"}],
        [*HI["messages"], {"role": "assistant", "tool_calls": ["look"]}],
        [*HI["messages"], {"role": "assistant", "tool_calls": [{"id": "call_1"}]}],
        [*HI["messages"], {"role": "judge", "content": "a"}],
        [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}],
        [{"role": "user", "content": 7}],
    ],
)
async def test_messages_of_a_run_that_do_not_match_are_refused_where_they_are(
    backend: ReplayBackend, messages: Any
) -> None:
    async with running(backend) as server:
        status, body = await server.post(
            "/chat/completions", json={"model": "m", "messages": messages, "tools": [TOOL]}
        )

    error: Any = body["error"]
    assert (status, error["type"]) == (400, "invalid_request_error")
    assert str(error["param"]).startswith("messages")
    assert backend.requests == []


# Tools that are never loaded.


async def test_a_deferred_tool_that_is_never_loaded_is_never_offered(
    server: RunningServer, backend: ReplayBackend
) -> None:
    deferred = [tool("f"), tool("later", defer_loading=True)]
    assert (await post(server, tools=deferred)).status == 200
    assert (await post(server, tools=deferred[1:])).status == 200
    offered = [
        [one["function"]["name"] for one in request.get("tools") or ()]
        for request in backend.requests
    ]
    assert offered == [["f"], []]

    none = {"type": "tool", "name": "nothing"}
    refused = await post(server, tools=deferred, tool_choice=none)
    assert refused.status == 400
    assert refused.error["message"].startswith("tool_choice.name")


async def test_a_reference_to_a_tool_that_does_not_exist_is_refused(server: RunningServer) -> None:
    reference = {"type": "tool_reference", "tool_name": "nothing"}
    messages = [user("a"), assistant(use()), user(result("toolu_1", [reference]))]
    answered = await post(server, messages=messages, tools=[tool()])

    assert answered.status == 400
    assert answered.error["message"].startswith("messages.2.content.0.content.0.tool_name")
    assert answered.error["details"]["error_code"] == "tool_reference_unresolved"


# Sizes.


@pytest.mark.wide
@pytest.mark.parametrize("count", [100_000, 100_001])
async def test_100_000_messages_are_refused_by_name(
    server: RunningServer, backend: ReplayBackend, count: int
) -> None:
    messages = [user("a"), assistant("b")] * (count // 2) + [user("c")] * (count % 2)
    for path in ("/messages", "/messages/count_tokens"):
        status, text = await large(server, path, {**HI, "messages": messages})
        assert status == 400, text
        error = json.loads(text)["error"]
        assert error["type"] == "invalid_request_error"
        assert error["message"].startswith("messages: ")
    assert backend.requests == []


@pytest.mark.wide
async def test_100_000_messages_of_a_run_are_refused_by_name(backend: ReplayBackend) -> None:
    async with running(backend) as server:
        body = {"model": "m", "messages": HI["messages"] * 100_000}
        status, text = await large(server, "/chat/completions", body)

    assert status == 400, text
    assert json.loads(text)["error"]["param"].startswith("messages")
    assert backend.requests == []


# Text that the model continues.


@pytest.mark.parametrize("text", ["Why did ", " ", "\n"])
async def test_a_prefill_that_no_model_continues_is_refused_or_empty(
    server: RunningServer, backend: ReplayBackend, text: str
) -> None:
    answered = await post(server, messages=[user("A joke"), assistant(text)])

    if text.strip():
        assert answered.status == 400
        assert answered.error["message"].startswith("This model does not support assistant")
    else:
        assert answered.status == 200
        assert [one["role"] for one in backend.requests[-1]["messages"]] == ["user"]


async def test_a_stop_sequence_that_is_empty_stops_nothing(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda _: Answer([sse(delta(content="One two"), delta("stop"))])
    answered = await both(server, stop_sequences=[""])

    assert (answered["stop_reason"], answered["content"][0]["text"]) == ("end_turn", "One two")
