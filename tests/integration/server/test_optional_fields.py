"""An optional field may be absent or null, in every item that the `openai` package types, on every
path.
"""

import re
from collections.abc import AsyncIterator
from itertools import groupby
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from antiphon.errors import ClientError
from antiphon.protocol.validation.call_rules import CALLS, OUTPUTS
from antiphon.protocol.validation.validate import decode_request
from antiphon.runs.loops import repetitions
from antiphon.upstream.http import HttpBackend
from tests.support.cases import each
from tests.support.openai_items import Variant, variants
from tests.support.replay import JSON, Answer, ReplayBackend, completion, text
from tests.support.server import RunningServer, serve
from tests.support.socket import talk
from tests.support.waiting import eventually

pytestmark = pytest.mark.wide

USER = {"role": "user", "content": "Go."}

APART = {"item_reference", "compaction_trigger", "mcp_approval_response"}
"""Items that refer to another one, or must be the last."""

PARTNERS: dict[str, dict[str, Any]] = {
    "function_call": {"type": "function_call_output", "output": "1"},
    "custom_tool_call": {"type": "custom_tool_call_output", "output": "1"},
    "tool_search_call": {"type": "tool_search_output", "execution": "client", "tools": []},
    "local_shell_call": {"type": "local_shell_call_output", "output": "1"},
    "shell_call": {"type": "shell_call_output", "output": []},
    "apply_patch_call": {"type": "apply_patch_call_output", "status": "completed"},
    "computer_call": {
        "type": "computer_call_output",
        "output": {
            "type": "computer_screenshot",
            "image_url": "data:image/png;base64,iVBORw0KGgo=",
        },
    },
    "program": {"type": "program_output", "result": "1", "status": "completed"},
    "function_call_output": {"type": "function_call", "name": "look", "arguments": "{}"},
    "custom_tool_call_output": {"type": "custom_tool_call", "name": "look", "input": "x"},
    "tool_search_output": {"type": "tool_search_call", "execution": "client", "arguments": {}},
    "local_shell_call_output": {
        "type": "local_shell_call",
        "action": {"type": "exec", "command": ["ls"], "env": {}},
    },
    "shell_call_output": {"type": "shell_call", "action": {"commands": ["ls"]}},
    "apply_patch_call_output": {
        "type": "apply_patch_call",
        "operation": {"type": "delete_file", "path": "a"},
    },
    "computer_call_output": {"type": "computer_call", "actions": [{"type": "screenshot"}]},
    "program_output": {"type": "program", "code": "1", "fingerprint": "f"},
}
"""The bare other half of each call and output."""

ENDED = {"completed", "incomplete"}
"""Statuses of an answer; a conversation whose rounds are all equal ends incomplete."""

ENDS = {b"response.completed", b"response.incomplete"}

OUTPUT_TYPES = {str(kind.__struct_config__.tag) for kind in OUTPUTS}


def accepted() -> list[Variant]:
    """The variants that a request can have; the others are refused with a parameter."""
    found = []
    for variant in variants():
        try:
            decode_request(msgspec.json.encode({"model": "m", "input": [variant.item]}))
        except ClientError as error:
            assert error.param, variant
            continue
        found.append(variant)
    return found


def exchange(variant: Variant, number: int) -> list[dict[str, Any]]:
    """The item, twice with its other half, so that it is a repeated round."""
    items: list[dict[str, Any]] = []
    for turn in range(2):
        call_id = f"call_{number}_{turn}"
        own = dict(variant.item)
        if own.get("id"):
            own["id"] = f"{own['id']}_{turn}"
        is_late = variant.kind == "function_call_output" and not own.get("call_id")
        if is_late or variant.kind not in PARTNERS:
            items.append(own)
            continue
        if variant.kind == "local_shell_call_output" and not own.get("call_id"):
            own["id"] = call_id
        elif own.get("call_id"):
            own["call_id"] = call_id
        partner = PARTNERS[variant.kind]
        if own.get("call_id") or variant.kind == "local_shell_call_output":
            partner = {**partner, "call_id": call_id}
        items += [partner, own] if variant.kind in OUTPUT_TYPES else [own, partner]
    return items


def conversations() -> dict[str, list[dict[str, Any]]]:
    """For each type of item, a conversation of all its variants."""
    found: dict[str, list[dict[str, Any]]] = {}
    for kind, group in groupby(accepted(), lambda variant: variant.kind):
        if kind not in APART:
            items = [item for number, one in enumerate(group) for item in exchange(one, number)]
            found.setdefault(kind, [USER]).extend(items)
    return found


CONVERSATIONS = conversations()


@pytest_asyncio.fixture
async def server() -> AsyncIterator[RunningServer]:
    def script(request: dict[str, Any]) -> Answer:
        return (
            Answer([text("Yes.")]) if request.get("stream") else Answer([completion("Yes.")], JSON)
        )

    async with (
        ReplayBackend(script).serve() as backend,
        serve(HttpBackend("b", backend.url)) as server,
    ):
        yield server


def test_every_variant_is_compared_for_repetitions() -> None:
    for kind, conversation in CONVERSATIONS.items():
        request = decode_request(msgspec.json.encode({"model": "m", "input": conversation}))
        assert isinstance(request.input, list)
        assert repetitions(request.input) >= 0, kind


def test_the_variants_have_every_call_and_output() -> None:
    assert {str(kind.__struct_config__.tag) for kind in (*CALLS, *OUTPUTS)} <= CONVERSATIONS.keys()


@each("kind", CONVERSATIONS)
async def test_plain_streamed_counted_and_compacted(server: RunningServer, kind: str) -> None:
    items = CONVERSATIONS[kind]
    body = {"model": "m", "input": items}
    status, plain = await server.post("/responses", json=body)
    assert (status, plain.get("error")) == (200, None)
    for path in ("/responses/input_tokens", "/responses/compact"):
        status, answer = await server.post(path, json=body)
        assert (status, answer.get("error")) == (200, None), path
    async with server.http.post(
        server.url + "/responses", json={**body, "stream": True}
    ) as streamed:
        assert ENDS & set(re.findall(rb"event: (response\.\w+)", await streamed.read()))
    compacted = {
        **body,
        "input": items,
        "context_management": [{"type": "compaction", "compact_threshold": 1000}],
    }
    status, answer = await server.post("/responses", json=compacted)
    assert (status, answer.get("error")) == (200, None)


@each("kind", CONVERSATIONS)
async def test_a_continued_response_is_stored_and_displayed(
    server: RunningServer, kind: str
) -> None:
    status, first = await server.post(
        "/responses", json={"model": "m", "input": CONVERSATIONS[kind]}
    )
    assert status == 200, first
    more = {"model": "m", "input": "And?", "previous_response_id": first["id"]}
    status, second = await server.post("/responses", json=more)
    assert (status, second.get("error")) == (200, None)
    for path in ("", "/input_items?limit=100"):
        status, _ = await server.get(f"/responses/{first['id']}{path}")
        assert status == 200
    fresh = [item for item in CONVERSATIONS[kind] if item.get("type") != "mcp_approval_request"]
    status, conversation = await server.post("/conversations", json={})
    status, answer = await server.post(
        "/responses", json={"model": "m", "input": fresh, "conversation": conversation["id"]}
    )
    assert (status, answer.get("error")) == (200, None)
    status, answer = await server.post(
        "/responses", json={"model": "m", "input": "And?", "conversation": conversation["id"]}
    )
    assert (status, answer.get("error")) == (200, None)
    async with server.http.get(
        f"{server.url.removesuffix('/v1')}/admin/v1/responses/{first['id']}"
    ) as displayed:
        assert displayed.status == 200


@each("kind", CONVERSATIONS)
async def test_in_the_background_and_over_a_websocket(server: RunningServer, kind: str) -> None:
    body = {"model": "m", "input": CONVERSATIONS[kind], "background": True}
    status, queued = await server.post("/responses", json=body)
    assert status == 200, queued
    path = f"/responses/{queued['id']}"
    _, ended = await eventually(
        lambda: server.get(path), lambda one: one[1]["status"] not in ("queued", "in_progress")
    )
    assert ended["status"] in ENDED
    async with talk(server) as client:
        created = await client.created(CONVERSATIONS[kind])
        assert created["status"] in ENDED
