"""Keys to other servers are lent for one request: no store sees them."""

import json
from typing import Any

import msgspec
import pytest

from antiphon.errors import ClientError
from antiphon.gateway import Gateway
from antiphon.protocol.resources import CreateConversation
from antiphon.protocol.validation.validate import decode_request
from antiphon.recording.persistence import RequestIdentity
from antiphon.storage.operations import conversations as stored_conversations
from antiphon.storage.operations import jobs, responses
from antiphon.tools.registry import Toolset
from antiphon.upstream.options import BackendOptions
from antiphon.upstream.registry import ModelRegistry
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.parts import NOW, foundation, parts_with, query, scripted_parts, stated
from tests.support.tools import Servers

CREDENTIALS: dict[str, Any] = {
    "authorization": "a-key-of-theirs",
    "headers": {"x-key": "another-key"},
}
MCP = {"type": "mcp", "server_label": "theirs", "server_url": "https://mcp.example/", **CREDENTIALS}
OPEN = {name: value for name, value in MCP.items() if name not in CREDENTIALS}
ITEMS: list[dict[str, Any]] = [
    {"type": "additional_tools", "role": "developer", "tools": [MCP]},
    {"type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {}},
    {"type": "tool_search_output", "call_id": "c", "execution": "client", "tools": [MCP]},
    {"type": "message", "role": "user", "content": "Hi"},
]


async def test_a_stored_input_holds_none() -> None:
    created, _ = scripted_parts(stated("Hm."))
    response = await query(created, input=ITEMS, tools=[MCP])
    stored = await created.store.read(responses.load, "", response["id"])

    assert stored is not None and b"theirs" in stored.input[0].body
    assert not any(
        b"-key" in stored for stored in (stored.body, *(item.body for item in stored.input))
    )


@pytest.mark.parametrize("value", ["Hi", ITEMS], ids=["text", "items"])
async def test_a_request_that_waits_for_a_worker_occupies_none_and_keeps_its_parameters(
    value: Any,
) -> None:
    created, _ = scripted_parts()
    body = json.dumps(
        {"model": "m", "input": value, "tools": [MCP], "background": True, "top_p": 0.5}
    ).encode()
    queued = await Gateway(created).queue.enqueue(decode_request(body), body)
    job = await created.store.read(jobs.find_job, "", queued.response.id)

    assert job is not None and b"-key" not in job.request
    assert job.request.count(b"theirs") == body.count(b'"theirs"')
    assert decode_request(job.request).top_p == 0.5


@pytest.mark.parametrize("backends", ["a", "ab"])
@pytest.mark.parametrize("provided", [{"tools": [MCP]}, {"input": ITEMS}], ids=["tools", "items"])
async def test_a_request_beyond_one_backends_background_support_is_sent_in_the_foreground(
    provided: dict[str, Any], backends: str
) -> None:
    models = ModelRegistry(
        [ScriptedBackend([], name=name, models=["m"]) for name in backends], lambda: NOW
    )
    models.backends[-1].update(options=BackendOptions(api="responses"))
    created = parts_with(foundation(models))
    body = json.dumps({"model": "m", "input": "Hi", "background": True, **provided}).encode()
    with pytest.raises(ClientError) as refused:
        await Gateway(created).queue.enqueue(decode_request(body), body)
    body = json.dumps({"model": "m", "input": "Hi", "background": True, "tools": [OPEN]}).encode()
    queued = await Gateway(created).queue.enqueue(decode_request(body), body)

    assert (refused.value.status, refused.value.code, refused.value.param) == (
        400,
        "unsupported_value",
        "tools",
    )
    assert "without 'background'" in refused.value.message
    assert queued.response.status == "queued"


@pytest.mark.parametrize("provided", [{"tools": [MCP]}, {"input": ITEMS}], ids=["tools", "items"])
async def test_a_request_beyond_this_servers_background_support_is_sent_in_the_foreground(
    provided: dict[str, Any],
) -> None:
    created, _ = scripted_parts()
    created.run.toolset = Toolset(mcp=Servers())
    body = json.dumps({"model": "m", "input": "Hi", "background": True, **provided}).encode()
    with pytest.raises(ClientError, match="'authorization' and 'headers' of"):
        await Gateway(created).queue.enqueue(decode_request(body), body)
    body = json.dumps({"model": "m", "input": "Hi", "background": True, "tools": [OPEN]}).encode()

    assert (
        await Gateway(created).queue.enqueue(decode_request(body), body)
    ).response.status == "queued"


async def test_a_request_without_credentials_is_queued_unchanged() -> None:
    created, _ = scripted_parts()
    body = b'{"model": "m",  "input": "Hi", "background": true}'
    queued = await Gateway(created).queue.enqueue(decode_request(body), body)
    job = await created.store.read(jobs.find_job, "", queued.response.id)

    assert job is not None and job.request == body


async def test_a_conversation_holds_none() -> None:
    created, _ = scripted_parts()
    request = msgspec.convert({"items": ITEMS}, CreateConversation)
    conversation = await Gateway(created).conversations.create(
        request, RequestIdentity(response_id="conv_1")
    )
    stored = await created.store.read(stored_conversations.items, "", conversation["id"])

    assert stored is not None and len(stored) == 4
    assert not any(b"-key" in item.body for item in stored)
