"""What was said, as traces tell it: the same of either API."""

import json

from antiphon.tracing.content import input_messages, tool_definitions


def test_a_responses_request_tells_what_a_chat_request_does() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    chat = {
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "1"},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
    }
    responses = {
        "instructions": "Be kind.",
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "1"},
        ],
        "tools": [{"type": "function", "name": "f", "parameters": {}}],
    }
    assert json.loads(input_messages(responses)) == json.loads(input_messages(chat))
    assert tool_definitions(responses) == tool_definitions(chat)


def test_what_opens_another_server_is_not_told() -> None:
    tools = [{"type": "mcp", "server_label": "s", "server_url": "https://example.org", "authorization": "secret"}]
    assert tool_definitions({"tools": tools}) == '[{"type": "mcp"}]'


def test_items_of_other_kinds_are_told_by_their_kind() -> None:
    told = input_messages({"input": [{"type": "reasoning", "id": "rs_1", "encrypted_content": "blob"}]})
    assert json.loads(told) == [{"role": "assistant", "parts": [{"type": "reasoning"}]}]
