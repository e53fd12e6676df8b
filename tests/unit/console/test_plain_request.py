"""A reconstructed request is written as a client would write it."""

from typing import Any

import pytest

from antiphon.console.plain_request import plain_request


def message(text: str = "Hi", role: str = "user", **fields: Any) -> dict[str, Any]:
    """Return a message as it is stored."""
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text} | fields]
    return {
        "type": "message", "id": "msg_1", "status": "completed", "role": role, "content": content
    }  # fmt: skip


IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,", "detail": None}


@pytest.mark.parametrize(
    ("stored", "written"),
    [
        ([message()], "Hi"),
        ([message(role="developer")], [{"role": "developer", "content": "Hi"}]),
        (
            [message("A"), message("B", "assistant", annotations=[], logprobs=None), message("C")],
            [
                {"role": "user", "content": "A"},
                {"role": "assistant", "content": "B"},
                {"role": "user", "content": "C"},
            ],
        ),
        (
            [message() | {"content": [IMAGE]}],
            [
                {
                    "role": "user",
                    "content": [{"type": "input_image", "image_url": "data:image/png;base64,"}],
                }
            ],
        ),
        (
            [{"type": "function_call_output", "id": "fc_1", "call_id": "c", "output": "1"}],
            [{"type": "function_call_output", "call_id": "c", "output": "1"}],
        ),
        (
            [{"type": "reasoning", "id": "rs_1", "summary": [], "content": None}],
            [{"type": "reasoning", "id": "rs_1", "summary": []}],
        ),
        ([], []),
    ],
)
def test_items_have_what_a_client_writes(stored: list[dict[str, Any]], written: Any) -> None:
    assert plain_request({"model": "m", "input": stored}) == {"model": "m", "input": written}


def test_an_answer_with_citations_is_sent_back_whole() -> None:
    cited = message("B", "assistant", annotations=[{"type": "url_citation"}])
    assert plain_request({"input": [cited]})["input"] == [cited]


def test_tools_have_no_fields_without_a_value_and_schemas_are_unchanged() -> None:
    schema = {"type": "object", "properties": {"a": {"default": None}}, "required": None}
    tools = [{"type": "mcp", "server_label": "s", "headers": None}, {"parameters": schema}]
    assert plain_request({"input": [], "tools": tools})["tools"] == [
        {"type": "mcp", "server_label": "s"},
        {"parameters": schema},
    ]
