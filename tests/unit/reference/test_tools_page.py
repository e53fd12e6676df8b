"""The page of tools says what the code does with every tool and every item of the API."""

import json
from typing import Any, get_args

import pytest

from antiphon.errors import ClientError
from antiphon.protocol.items.hosted import McpListTools
from antiphon.protocol.items.messages import KNOWN_ITEMS, InputItem
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.tools import (
    AnyTool,
    CodeInterpreterTool,
    FileSearchTool,
    ImageGenerationTool,
    McpTool,
    ShellTool,
    WebSearchTool,
)
from antiphon.protocol.validation.validate import decode_request
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.to_chat_completions.messages import to_messages
from antiphon.translation.tool_mapping.offering import toolbox_of
from tests.support.pages import table

TOOLS = {
    row[0]: row[1]
    for row in table("tools", "Tool", "Policy", "What the model sees", "What a call becomes")
}
ITEMS = {row[0]: row[1] for row in table("tools", "Item", "Policy", "What the model sees")}

FUNCTION = {"type": "function", "name": "f"}
NEEDED: dict[str, dict[str, Any]] = {
    "function": {"name": "f"},
    "custom": {"name": "f"},
    "namespace": {"name": "n", "description": "", "tools": [FUNCTION]},
    "computer_use_preview": {"display_height": 1, "display_width": 1, "environment": "linux"},
    "file_search": {"vector_store_ids": ["vs_1"]},
    "mcp": {"server_label": "s", "server_url": "https://example.com/mcp"},
    "code_interpreter": {"container": {"type": "auto"}},
}
"""What a tool must have."""

SEEN = {
    "message": {"role": "user", "content": "Seen."},
    "reasoning": {
        "id": "rs_1",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "Seen."}],
    },
    "function_call": {"call_id": "c", "name": "f", "arguments": "{}"},
    "function_call_output": {"call_id": "c", "output": "Seen."},
    "custom_tool_call": {"call_id": "c", "name": "f", "input": "Seen."},
    "custom_tool_call_output": {"call_id": "c", "output": "Seen."},
    "tool_search_call": {"call_id": "c", "execution": "client", "arguments": {"query": "Seen."}},
    "tool_search_output": {"call_id": "c", "execution": "client", "tools": [FUNCTION]},
    "additional_tools": {"role": "developer", "tools": [FUNCTION]},
    "local_shell_call": {"call_id": "c", "action": {"type": "exec", "command": ["ls"], "env": {}}},
    "local_shell_call_output": {"id": "c", "output": "Seen."},
    "shell_call": {"call_id": "c", "action": {"commands": ["ls"]}},
    "shell_call_output": {
        "call_id": "c",
        "output": [{"stdout": "Seen.", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
    },
    "apply_patch_call": {"call_id": "c", "operation": {"type": "delete_file", "path": "a"}},
    "apply_patch_call_output": {"call_id": "c", "status": "completed"},
    "computer_call": {"call_id": "c", "actions": [{"type": "screenshot"}]},
    "computer_call_output": {
        "call_id": "c",
        "output": {"type": "computer_screenshot", "image_url": "https://example.com/a.png"},
    },
    "compaction": {"encrypted_content": "ar1.x"},
    "web_search_call": {
        "id": "ws_1",
        "action": {"type": "search", "query": "q"},
        "status": "completed",
    },
    "file_search_call": {"id": "fs_1", "queries": ["q"], "status": "completed"},
    "code_interpreter_call": {
        "id": "ci_1",
        "container_id": "c",
        "code": "1",
        "status": "completed",
    },
    "image_generation_call": {"id": "ig_1", "result": "aGk=", "status": "completed"},
    "mcp_call": {
        "id": "mcp_1",
        "server_label": "s",
        "name": "f",
        "arguments": "{}",
        "output": "Seen.",
    },
    "program": {"id": "cm_1", "call_id": "c", "code": "1", "fingerprint": "f"},
    "program_output": {"id": "cmo_1", "call_id": "c", "result": "Seen."},
    "mcp_approval_request": {"id": "mcpr_1", "server_label": "s", "name": "f", "arguments": "{}"},
}
"""An item of each type that a chat model may be shown."""

THINKING = DIALECTS["vllm"]
SUPPORTED = {
    McpTool,
    WebSearchTool,
    FileSearchTool,
    CodeInterpreterTool,
    ShellTool,
    ImageGenerationTool,
}
LISTED = [McpListTools(server_label="s", tools=[{"name": "f", "input_schema": {"type": "object"}}])]


def decoded(**body: Any) -> CreateResponse:
    return decode_request(json.dumps({"model": "m", "input": "x"} | body).encode())


def test_every_tool_and_every_item_has_its_row_and_every_row_its_own() -> None:
    assert set(TOOLS) == {str(tool.__struct_config__.tag) for tool in get_args(AnyTool)}
    assert set(ITEMS) == {str(item.__struct_config__.tag) for item in get_args(InputItem)} | set(
        KNOWN_ITEMS
    )


@pytest.mark.parametrize(("kind", "policy"), TOOLS.items())
def test_a_tool_is_offered_or_omitted_as_its_row_states(kind: str, policy: str) -> None:
    deferred = (
        [FUNCTION | {"name": "later", "defer_loading": True}] if kind == "tool_search" else []
    )
    request = decoded(tools=[{"type": kind, **NEEDED.get(kind, {})}, *deferred])
    toolbox = toolbox_of(request, LISTED, THINKING, supported=SUPPORTED)

    assert bool(toolbox.offers) == (policy != "omitted")
    assert toolbox.left_out == ([kind] if policy == "omitted" else [])
    assert any(offer.is_hosted for offer in toolbox.offers.values()) == (policy == "executed")


@pytest.mark.parametrize(("kind", "item"), SEEN.items())
def test_an_item_is_rendered_for_the_model_as_its_row_states(
    kind: str, item: dict[str, Any]
) -> None:
    after = [{"role": "assistant", "content": "."}] if kind == "reasoning" else []
    request = decoded(input=[{"type": kind, **item}, *after])
    messages = to_messages(request.input, None, THINKING, unseal=lambda blob: {"summary": "Seen."})  # type: ignore[arg-type]
    offers = toolbox_of(request, request.input, THINKING).offers  # type: ignore[arg-type]

    assert bool(messages or offers) == (ITEMS[kind] == "translated")


@pytest.mark.parametrize("kind", [kind for kind, policy in ITEMS.items() if policy == "rejected"])
def test_an_item_that_is_refused_is_refused_by_name(kind: str) -> None:
    with pytest.raises(ClientError) as caught:
        decoded(input=[{"type": kind}])

    assert (caught.value.code, caught.value.param) == ("unsupported_value", "input[0]")


def test_only_executed_tools_are_neither_displayed_nor_refused() -> None:
    rest = set(ITEMS) - set(SEEN) - set(KNOWN_ITEMS)

    assert rest == {kind for kind, policy in ITEMS.items() if policy == "executed"}
