"""What a backend that speaks Responses is sent."""

import json
from typing import Any, cast

import msgspec
import pytest

from antiphon.errors import ClientError
from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.validation.validate import decode_request
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.to_chat_completions.request import normalise_input
from antiphon.translation.to_responses.request import field_of, refused_field, to_responses

USER = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}


def body(
    input: Any = "Hi",
    dialect: str = "openai",
    refused: frozenset[str] = frozenset(),
    **requested: Any,
) -> Any:
    """The body for a request; an `encrypted_content` is opened as the JSON that it is."""
    request = decode_request(msgspec.json.encode({"model": "m", "input": input, **requested}))
    items = normalise_input(request.input, lambda prefix: f"{prefix}_1")
    return to_responses(request, items, DIALECTS[dialect], refused, unseal=unseal, origin="here")


def unseal(blob: str) -> dict[str, Any]:
    opened: dict[str, Any] = json.loads(blob)
    return opened


def sent(*items: Any, dialect: str = "openai") -> list[dict[str, Any]]:
    """The input that items become."""
    provided: list[dict[str, Any]] = body([*items], dialect)["input"]
    return provided


def test_what_is_ours_stays_here() -> None:
    requested = body(
        metadata={"a": "b"},
        background=True,
        stream=True,
        stream_options={"include_obfuscation": False},
        context_management=[{"type": "compaction", "compact_threshold": 1000}],
        client_metadata={"a": "b"},
        store=True,
    )
    assert requested == {
        "model": "m",
        "input": [USER],
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }


def test_everything_else_goes_as_it_came() -> None:
    request_body = {
        "instructions": "Be kind.",
        "tools": [
            {"type": "function", "name": "f", "parameters": {"type": "object", "default": None}},
            {
                "type": "custom",
                "name": "c",
                "format": {"type": "grammar", "syntax": "regex", "definition": "a"},
            },
            {
                "type": "namespace",
                "name": "n",
                "description": "d",
                "tools": [{"type": "function", "name": "g"}],
            },
            {"type": "web_search", "search_context_size": "low"},
            {
                "type": "mcp",
                "server_label": "s",
                "server_url": "https://example.org",
                "authorization": "secret",
            },
        ],
        "tool_choice": {
            "type": "allowed_tools",
            "mode": "auto",
            "tools": [{"type": "function", "name": "f"}],
        },
        "text": {
            "format": {"type": "json_schema", "name": "s", "schema": {"type": "object"}},
            "verbosity": "low",
        },
        "reasoning": {"effort": "low", "summary": "auto"},
        "temperature": 0.5,
        "parallel_tool_calls": False,
        "max_tool_calls": 3,
        "max_output_tokens": 16,
        "top_logprobs": 2,
        "truncation": "auto",
        "service_tier": "flex",
        "safety_identifier": "u",
        "prompt_cache_key": "k",
        "stream": True,
    }
    assert request_body.items() <= body(**request_body).items()


def test_a_stored_image_is_sent_and_not_referenced() -> None:
    item = {
        "id": "ig_1",
        "type": "image_generation_call",
        "status": "completed",
        "revised_prompt": "a red circle",
    }
    (stored,) = sent({**item, "result": "kept:row_1:12:0,0,0,0,0,0"})
    (whole,) = sent({**item, "result": "aGk="})
    assert stored["content"][0]["text"].endswith(": a red circle]")
    assert whole["result"] == "aGk="


def test_a_plain_request_is_sent_without_streaming() -> None:
    assert "stream" not in body(stream=False)


def test_includes_of_the_client_are_requested_along_with_the_sealed_reasoning() -> None:
    wanted = ["message.output_text.logprobs", "reasoning.encrypted_content"]
    assert body(include=wanted)["include"] == wanted
    assert body(include=wanted[:1], refused=frozenset({wanted[1]}))["include"] == wanted[:1]


def test_refused_hints_are_left_out_and_what_would_be_missed_is_refused_by_name() -> None:
    assert "top_p" not in body(top_p=0.5, refused=frozenset({"top_p"}))
    with pytest.raises(ClientError) as caught:
        body(max_output_tokens=16, refused=frozenset({"max_output_tokens"}))
    assert caught.value.param == "max_output_tokens"


def test_items_have_ids_only_where_the_api_wants_them() -> None:
    answer = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
    content = [{"type": "output_text", "text": "Hello", "annotations": [], "logprobs": []}]
    call = {
        "type": "function_call",
        "call_id": "c",
        "name": "f",
        "arguments": "{}",
        "status": "completed",
    }
    output = {"type": "function_call_output", "call_id": "c", "output": "1", "status": "completed"}
    search = {
        "id": "ws_1",
        "type": "web_search_call",
        "status": "completed",
        "action": {"type": "search"},
    }
    provided = [
        {**USER, "id": "msg_0"},
        {**answer, "content": content},
        search,
        {**call, "id": "fc_1"},
        output,
    ]

    assert sent(*provided) == [
        USER,
        {**answer, "content": [{"type": "output_text", "text": "Hello", "annotations": []}]},
        search,
        call,
        output,
    ]


def test_an_id_longer_than_openai_takes_stays_here() -> None:
    long = {"id": "msg_" + "x" * 100, "type": "message", "role": "assistant", "content": "Hello"}
    assert "id" not in sent(long)[0]


def test_fields_that_only_we_know_stay_here() -> None:
    custom = {"type": "custom_tool_call", "call_id": "c", "name": "t", "input": "x"}
    output = {"type": "custom_tool_call_output", "call_id": "c", "output": "y"}
    shell = {
        "type": "local_shell_call",
        "id": "lsh_1",
        "call_id": "s",
        "action": {"type": "exec"},
        "status": "completed",
    }
    printed = {"type": "local_shell_call_output", "call_id": "s", "output": "z"}
    provided = [
        {**custom, "status": "completed"},
        {**output, "name": "t", "status": "completed"},
        shell,
        printed,
    ]

    assert sent(*provided) == [
        custom,
        output,
        shell,
        {"type": "local_shell_call_output", "id": "s", "output": "z"},
    ]


ANSWER = {"id": "msg_1", "type": "message", "role": "assistant", "content": "Hello"}


def reasoning(state: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [],
        "encrypted_content": json.dumps(state),
        **fields,
    }


NATIVE = {
    "family": "openai",
    "origin": "here",
    "native": {"id": "rs_up", "encrypted_content": "blob"},
}


def test_reasoning_goes_back_to_its_family_as_it_came() -> None:
    summary = [{"type": "summary_text", "text": "Hm."}]
    assert sent(reasoning(NATIVE, summary=summary), ANSWER)[0] == {
        "type": "reasoning",
        "id": "rs_up",
        "encrypted_content": "blob",
        "summary": summary,
    }


@pytest.mark.parametrize(
    ("state", "dialect"),
    [
        (NATIVE, "xai"),
        (NATIVE | {"origin": "there"}, "openai"),
        ({"family": "openai", "native": NATIVE["native"]}, "openai"),
        ({"family": "openai", "origin": "here", "native": "junk"}, "openai"),
        ({"family": "deepseek", "reasoning": {"reasoning_content": "Hm."}}, "openai"),
        ({}, "vllm"),
    ],
)
def test_what_a_backend_cannot_read_is_left_out(state: dict[str, Any], dialect: str) -> None:
    assert [item["type"] for item in sent(reasoning(state), ANSWER, dialect=dialect)] == ["message"]


def test_reasoning_that_was_text_goes_as_text_where_text_is_read() -> None:
    state = {"family": "deepseek", "reasoning": {"reasoning_content": "Hm."}}
    content = [{"type": "reasoning_text", "text": "Hm."}]
    displayed = {"id": "rs_1", "type": "reasoning", "summary": [], "content": content}

    assert sent(reasoning(state), ANSWER, dialect="vllm")[0] == displayed
    assert sent(displayed, ANSWER, dialect="vllm")[0] == displayed


@pytest.mark.parametrize("after", [[], [USER]])
def test_reasoning_that_nothing_came_of_is_left_out(after: list[Any]) -> None:
    assert sent(USER, reasoning(NATIVE), *after) == [USER, *after]


def test_a_compaction_is_sent_as_its_summary_without_the_compacted_items() -> None:
    compaction = {
        "id": "cmp_1",
        "type": "compaction",
        "encrypted_content": '{"summary": "In short."}',
    }
    request = decode_request(
        msgspec.json.encode({"model": "m", "input": [USER, ANSWER, compaction, USER]})
    )
    stored = cast("list[InputItem]", request.input)
    first, reported, last = to_responses(request, stored, DIALECTS["openai"], unseal=unseal)[
        "input"
    ]

    assert (first, last) == (USER, USER)
    assert (reported["role"], "In short." in reported["content"]) == ("user", True)


def test_items_before_a_compaction_that_the_client_sends_are_sent_too() -> None:
    compaction = {
        "id": "cmp_1",
        "type": "compaction",
        "encrypted_content": '{"summary": "In short."}',
    }
    *before, summary, last = sent(USER, ANSWER, compaction, USER)

    assert [item["role"] for item in before] == ["user", "assistant"]
    assert ("In short." in summary["content"], last) == (True, USER)


def test_settings_inside_the_input_are_settings() -> None:
    requested = body([USER, {"type": "configuration_update", "reasoning": {"effort": "low"}}])
    assert (requested["input"], requested["reasoning"]) == ([USER], {"effort": "low"})


def test_an_unresolved_reference_is_an_error() -> None:
    with pytest.raises(ClientError) as caught:
        body([{"type": "item_reference", "id": "msg_1"}])
    assert caught.value.status == 404


def refusal(message: str, **fields: Any) -> bytes:
    return json.dumps({"error": {"message": message, **fields}}).encode()


@pytest.mark.parametrize(
    ("error", "lesson"),
    [
        (
            refusal(
                "Unsupported parameter: 'top_p' is not supported with this model.", param="top_p"
            ),
            "top_p",
        ),
        (
            refusal("Unsupported parameter: 'reasoning.effort' is not supported with this model."),
            "reasoning",
        ),
        (
            refusal("Encrypted content is not supported.", param="include"),
            "reasoning.encrypted_content",
        ),
        (refusal("Unknown parameter: 'input[0].status'."), None),
        (refusal("Unknown parameter: 'tools'."), None),
        (refusal("Unsupported parameter: 'text.format'."), None),
        (refusal("Something else."), None),
    ],
)
def test_a_refusal_teaches_to_leave_a_hint_out(error: bytes, lesson: str | None) -> None:
    requested = body(top_p=0.5, reasoning={"effort": "low"}, text={"verbosity": "low"})
    assert refused_field(400, error, requested, None) == lesson


def test_an_include_requested_by_the_client_is_left_to_it() -> None:
    error = refusal("Encrypted content is not supported.", param="include")
    assert refused_field(400, error, body(), ["reasoning.encrypted_content"]) is None


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("input[12].content[0]", "input"),
        ("messages", "input"),
        ("tools[0].type", "tools[0].type"),
        ("reasoning.effort", "reasoning.effort"),
        ("store", None),
        ("of_its_own", None),
    ],
)
def test_a_backends_name_for_a_field_is_the_clients_where_it_sent_it(
    there: str, here: str | None
) -> None:
    assert field_of(there) == here
