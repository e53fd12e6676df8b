"""A model that writes its calls as text drives a client like any other."""

import json
import subprocess
import sys
from typing import Any

import pytest

from antiphon.gateway.parts import Parts
from antiphon.tools.registry import Toolset
from tests.support.parts import plain, query, scripted_parts, stated, stream
from tests.support.tools import MCP, Servers

TOOL = {
    "type": "function",
    "name": "look",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}},
}
CALL = '<tool_call>\n{"name": "look", "arguments": {"place": "here"}}\n</tool_call>'


async def check_a_call_and_its_result(serving: Parts, **first_request: Any) -> None:
    """Check that a first turn contains a message and a call, and that a second turn continues with
    its result.
    """
    first = await query(serving, input="Look!", tools=[TOOL], **first_request)
    message, call = first["output"]
    assert (message["content"][0]["text"], call["name"], call["arguments"]) == (
        "I look.\n",
        "look",
        '{"place": "here"}',
    )
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "nothing"}
    second = await query(serving, input=[output], tools=[TOOL], previous_response_id=first["id"])
    assert second["output"][0]["content"][0]["text"] == "Nothing is there."


@pytest.mark.parametrize("dialect", ["generic", "ollama", "lmstudio", "llamacpp", "vllm", "sglang"])
async def test_a_call_in_the_text_is_a_call(dialect: str) -> None:
    serving, backend = scripted_parts(
        plain(f"I look.\n{CALL}"), plain("Nothing is there."), dialect=dialect
    )
    await check_a_call_and_its_result(serving)
    assert backend.requests[1]["messages"][-2]["tool_calls"][0]["function"]["name"] == "look"


@pytest.mark.parametrize("dialect", ["openai", "groq", "mistral", "openrouter", "anthropic"])
async def test_the_text_of_a_service_is_text(dialect: str) -> None:
    serving, _ = scripted_parts(plain(CALL), dialect=dialect)
    (message,) = (await query(serving, input="Look!", tools=[TOOL]))["output"]
    assert message["content"][0]["text"] == CALL


async def test_a_streamed_answer_ends_with_the_same_response() -> None:
    serving, _ = scripted_parts(stated("I look.", "\n<tool", CALL.removeprefix("<tool"), "\n"))
    events = await stream(serving, input="Look!", tools=[TOOL])
    output: list[Any] = events[-1]["response"]["output"]
    assert [item["type"] for item in output] == ["message", "function_call"]
    assert [
        event["item"] for event in events if event["type"] == "response.output_item.done"
    ] == output


async def test_a_json_answer_requested_by_the_client_is_not_a_call() -> None:
    text = '{"name": "look", "arguments": {}}'
    serving, _ = scripted_parts(plain(text))
    form = {"type": "json_schema", "name": "s", "schema": {"type": "object"}}
    (message,) = (await query(serving, input="Look!", tools=[TOOL], text={"format": form}))[
        "output"
    ]
    assert message["content"][0]["text"] == text


async def test_json_requested_by_an_update_in_the_conversation_is_not_a_call() -> None:
    text = '{"name": "look", "arguments": {}}'
    serving, _ = scripted_parts(plain(text))
    form = {"type": "json_schema", "name": "s", "schema": {"type": "object"}}
    update = {"type": "configuration_update", "text": {"format": form}}
    requested = [{"role": "user", "content": "Look!"}, update]
    (message,) = (await query(serving, input=requested, tools=[TOOL]))["output"]
    assert message["content"][0]["text"] == text


@pytest.mark.parametrize(("strict", "requested", "place"), [(True, 2, "here"), (False, 1, 1)])
async def test_a_strict_tool_in_the_prompt_is_called_again_where_its_schema_is_broken(
    strict: bool, requested: int, place: Any
) -> None:
    wrong = CALL.replace('"here"', "1")
    serving, backend = scripted_parts(plain(wrong), plain(CALL), dialect="ollama")
    (await serving.models.find("m")).lessons.learn("tools")
    form: Any = TOOL["parameters"]
    tool = TOOL | {
        "strict": strict,
        "parameters": form | {"required": ["place"], "additionalProperties": False},
    }
    (call,) = (await query(serving, input="Look!", tools=[tool]))["output"]
    assert (len(backend.requests), json.loads(call["arguments"])) == (requested, {"place": place})


async def test_a_tool_of_a_server_is_run_where_its_call_stands_in_the_text() -> None:
    written = '<tool_call>\n{"name": "dice__roll", "arguments": {"e": "2d4"}}\n</tool_call>'
    serving, backend = scripted_parts(stated("I roll.\n", *written), stated("5"))
    servers = Servers()
    serving.run.toolset = Toolset(mcp=servers)
    events = await stream(serving, tools=[MCP])
    output = events[-1]["response"]["output"]
    assert [item["type"] for item in output] == ["mcp_list_tools", "message", "mcp_call", "message"]
    assert [use.arguments for use in servers.used] == [{"e": "2d4"}]
    assert backend.requests[1]["messages"][-1]["content"] == "5"


@pytest.mark.wide
def test_the_reader_of_calls_is_loaded_for_answers_to_tools_alone() -> None:
    code = (
        "import sys\n"
        "from tests.support.replay import text\n"
        "from tests.support.translate import translate\n"
        "translate(text('<tool_call>'), text_calls='any')\n"
        "translate(text('<tool_call>'), names=('tide',))\n"
        "sys.exit(', '.join(name for name in sys.modules if 'text_calls' in name) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# Backends that take no tools.

NO_TOOLS = {
    "error": {
        "message": "registry.ollama.ai/library/gemma:2b does not support tools",
        "type": "api_error",
    }
}


async def test_a_backend_without_tool_support_receives_the_tools_in_the_prompt() -> None:
    serving, backend = scripted_parts(
        (400, NO_TOOLS), plain(f"I look.\n{CALL}"), plain("Nothing is there."), dialect="ollama"
    )
    await check_a_call_and_its_result(serving, instructions="Be brief.")
    refused, *others = backend.requests
    assert "tools" in refused and not any("tools" in request for request in others)
    assert [message["role"] for message in others[1]["messages"]] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    assert others[1]["messages"][-2]["content"] == f"I look.\n\n{CALL}"
    assert others[1]["messages"][-1]["content"] == "<tool_response>\nnothing\n</tool_response>"


async def test_a_server_that_needs_a_flag_for_tools_receives_them_in_the_prompt() -> None:
    refusal = {
        "error": {
            "code": 500,
            "message": "tools param requires --jinja flag",
            "type": "server_error",
        }
    }
    serving, backend = scripted_parts((500, refusal), stated("I look.\n", CALL), dialect="llamacpp")
    events = await stream(serving, input="Look!", tools=[TOOL])
    assert [item["type"] for item in events[-1]["response"]["output"]] == [
        "message",
        "function_call",
    ]
    assert "# Functions" in backend.requests[1]["messages"][0]["content"]


async def test_a_required_call_is_checked_against_its_schema() -> None:
    serving, backend = scripted_parts(
        (400, NO_TOOLS), plain('{"name": "look", "arguments": {"place": "here"}}'), dialect="ollama"
    )
    (call,) = (await query(serving, input="Look!", tools=[TOOL], tool_choice="required"))["output"]
    assert (call["type"], call["arguments"]) == ("function_call", '{"place": "here"}')
    schema = backend.requests[1]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["name"]["enum"] == ["look"]


async def test_a_call_that_is_ruled_out_is_text() -> None:
    serving, backend = scripted_parts((400, NO_TOOLS), plain(CALL), dialect="ollama")
    (message,) = (await query(serving, input="Look!", tools=[TOOL], tool_choice="none"))["output"]
    assert message["content"][0]["text"] == CALL
    assert backend.requests[1]["messages"][0]["content"].endswith("Answer without one.")


async def test_codex_tools_reach_a_model_without_tools() -> None:
    patch = {"type": "custom", "name": "apply_patch", "description": "Edits files."}
    arguments = '{"input": "*** Begin Patch\\n*** End Patch\\n"}'
    text = f'<tool_call>\n{{"name": "apply_patch", "arguments": {arguments}}}\n</tool_call>'
    serving, _ = scripted_parts((400, NO_TOOLS), plain(text), dialect="ollama")
    (call,) = (await query(serving, input="Edit!", tools=[TOOL, patch]))["output"]
    assert (call["type"], call["input"]) == ("custom_tool_call", "*** Begin Patch\n*** End Patch\n")
