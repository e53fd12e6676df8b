"""`demo` with one weakness."""

import json
from typing import Any

import pytest

from antiphon.translation.dialects.table import find_dialect
from antiphon.upstream.demo.weak import WEAKNESSES, WeakDemoBackend

INSPECT_TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
BLOCK = '<tool_call>\n{"name": "look", "arguments": {"at": "Dover"}}\n</tool_call>'
PATTERN = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^a$"}}}


async def request(model: str, *before: str, **more: Any) -> tuple[int, dict[str, Any]]:
    content = [*({"role": "system", "content": text} for text in before)]
    content.append({"role": "user", "content": 'Look.\ncall look {"at": "Dover"}'})
    body = {"model": model, "messages": content, **more}
    reply = await WeakDemoBackend().post("/chat/completions", json.dumps(body).encode())
    return reply.status, json.loads(b"".join([part async for part in reply.body]))


def message(answer: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = answer["choices"][0]["message"]
    return found


async def test_antiphon_corrects_them_like_models_of_an_unknown_server() -> None:
    owners = {model["owned_by"] for model in (await WeakDemoBackend().list_models()).models}
    assert (
        find_dialect("http://127.0.0.1:8322/v1", owners, server="", configured=None).name
        == "generic"
    )


async def test_a_call_is_written_as_text() -> None:
    _, answer = await request("demo-text-calls", tools=[INSPECT_TOOL])
    assert (message(answer)["content"], message(answer).get("tool_calls")) == (BLOCK, None)


async def test_tools_are_rejected_and_read_in_the_prompt() -> None:
    assert (await request("demo-no-tools", tools=[INSPECT_TOOL]))[0] == 400
    assert (
        message((await request("demo-no-tools", "There is a function look."))[1])["content"]
        == BLOCK
    )
    assert (
        "<tool_call>"
        not in message((await request("demo-no-tools", "There is none."))[1])["content"]
    )


async def test_arguments_lack_their_last_bracket() -> None:
    _, answer = await request("demo-broken-json", tools=[INSPECT_TOOL])
    assert message(answer)["tool_calls"][0]["function"]["arguments"] == '{"at": "Dover"'


async def test_a_pattern_is_rejected() -> None:
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": PATTERN}}
    assert (await request("demo-small-grammar", response_format=form))[0] == 400
    assert (await request("demo-small-grammar", tools=[INSPECT_TOOL]))[0] == 200


@pytest.mark.parametrize("model", ["demo", *WEAKNESSES])
async def test_each_model_is_listed_and_answers(model: str) -> None:
    listed = [one["id"] for one in (await WeakDemoBackend().list_models()).models]
    assert model in listed
    assert (await request(model))[0] == 200
