"""Real output of OpenAI's is taken as input, and given back as it came; so is what real clients
have sent.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from antiphon.protocol.validation.validate import decode_request
from antiphon.upstream.http import HttpBackend
from tests.support.recordings import FOLDER, MISSING
from tests.support.replay import JSON, Answer, ReplayBackend, completion, text
from tests.support.server import serve
from tests.unit.translation.from_chat.test_recorded_shapes import read_events

REQUESTS = FOLDER.parent / "clients" / "requests"

NOT_OURS = {"openai-prism-generate-text-with-a-prompt-1.json"}
"""Recordings that no API of OpenAI's sent: this one has a `refusal` in an `output_text`."""

ADDED = {("message", "content"), ("message", "phase")}
"""What is written otherwise when it is given back: parts always have `annotations` and
`logprobs`.
"""


def outputs(path: Path) -> Iterator[dict[str, Any]]:
    """The items of a recorded response."""
    if path.suffix == ".sse":
        yield from (
            e["item"] for e in read_events(path) if e["type"] == "response.output_item.done"
        )
    else:
        value = json.loads(path.read_text("utf-8"))
        yield from value.get("output") or []


def recorded() -> list[tuple[str, dict[str, Any]]]:
    paths = [
        path
        for pattern in ("openai-*", "azure-*")
        for path in sorted((FOLDER / "responses").glob(pattern))
    ]
    taken = [path for path in paths if not path.name.endswith((".request.json", ".splits.json"))]
    return [
        (path.name, item) for path in taken if path.name not in NOT_OURS for item in outputs(path)
    ]


@pytest.mark.skipif(not FOLDER.is_dir(), reason=MISSING)
def test_every_recorded_output_item_is_accepted_as_input_and_echoed_unchanged() -> None:
    items = recorded()
    assert len(items) > 200
    for name, item in items:
        request = decode_request(json.dumps({"model": "m", "input": [item]}).encode())
        (back,) = json.loads(msgspec.json.encode(request.input))
        changed = {
            key for key in item.keys() | back.keys() if item.get(key, ...) != back.get(key, ...)
        }
        assert {(item["type"], key) for key in changed} <= ADDED, name


def bodies() -> dict[str, dict[str, Any]]:
    """What real clients sent, as plain requests; what one goes on from by its id is told in
    full.
    """
    found = {}
    for path in sorted(REQUESTS.glob("*.json")):
        body = json.loads(path.read_text("utf-8"))["full"]["body"]
        is_chained = body.pop("previous_response_id", None) is not None
        body.pop("type", None)
        if is_chained:
            answered = [
                item["call_id"]
                for item in body["input"]
                if item.get("type") == "function_call_output"
            ]
            calls = [
                {"type": "function_call", "call_id": each, "name": "f", "arguments": "{}"}
                for each in answered
            ]
            body["input"] = [*calls, *body["input"]]
        found[path.name] = body | {"model": "m", "stream": False}
    return found


BODIES = bodies() if REQUESTS.is_dir() else {}


def scripted(request: dict[str, Any]) -> Answer:
    """Call the first tool, in the words of its schema; say something where there is none."""
    tools = request.get("tools") or []
    if (
        not tools
        or request.get("tool_choice") == "none"
        or request["messages"][-1]["role"] == "tool"
    ):
        return (
            Answer([text("Done.")])
            if request.get("stream")
            else Answer([completion("Done.")], JSON)
        )
    function = next(
        (t["function"] for t in tools if "patch" in t["function"]["name"]), tools[0]["function"]
    )
    stated = (
        {"input": "*** Begin Patch\n*** Delete File: a\n*** End Patch\n"}
        if "patch" in function["name"]
        else {}
    )
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": function["name"], "arguments": json.dumps(stated)},
    }
    return Answer([completion(None, tool_calls=[call])], JSON)


@pytest.mark.skipif(not REQUESTS.is_dir(), reason=MISSING)
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_a_recorded_request_is_answered_and_its_output_is_taken_back(
    body: dict[str, Any],
) -> None:
    async with (
        ReplayBackend(scripted).serve() as backend,
        serve(HttpBackend("b", backend.url)) as server,
    ):
        status, first = await server.post("/responses", json=body)
        assert status == 200, first
        answers = [answer_to(item) for item in first["output"] if item.get("call_id")]
        provided = (
            body["input"]
            if isinstance(body["input"], list)
            else [{"role": "user", "content": body["input"]}]
        )
        requested = [item for item in provided if item.get("type") != "compaction_trigger"]
        status, second = await server.post(
            "/responses",
            json=body
            | {"input": [*requested, *first["output"], *answers, {"role": "user", "content": "x"}]},
        )
        assert status == 200, second

    names = [tool["function"]["name"] for tool in backend.requests[0].get("tools", [])]
    assert len(names) == len(set(names))
    assert all(len(name) <= 64 for name in names)


def answer_to(call: dict[str, Any]) -> dict[str, Any]:
    kinds = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
    return {"type": kinds[call["type"]], "call_id": call["call_id"], "output": "Done."}
