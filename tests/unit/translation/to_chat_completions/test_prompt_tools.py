"""Tools told in the prompt: what the model reads, what holds it to a call, and what becomes of the
history.
"""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import ClientError
from antiphon.protocol.tool_bindings import Offer
from antiphon.protocol.validation.validate import decode_request
from antiphon.translation.dialects.dialect import Dialect
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.from_chat.text_calls.found import TextCall
from antiphon.translation.from_chat.text_calls.reader import TextCallReader
from antiphon.translation.to_chat_completions.prompt_tools import in_words
from antiphon.translation.to_chat_completions.request import normalise_input, to_chat
from antiphon.translation.tool_mapping.offering import toolbox_of

PROMPT = DIALECTS["ollama"].taught(frozenset({"tools"}))
WITHOUT_SCHEMAS = replace(PROMPT, json_formats=frozenset({"json_object"}))
PLACE = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
INSPECT_TOOL = {"type": "function", "name": "look", "description": "Looks.", "parameters": PLACE}
WAIT = {"type": "function", "name": "wait"}
TOOLS = [INSPECT_TOOL, WAIT]
FORM = {
    "type": "json_schema",
    "name": "s",
    "schema": {"type": "object", "$defs": {"a": {}}, "properties": {"x": {"$ref": "#/$defs/a"}}},
}


def request(dialect: Dialect = PROMPT, **fields: Any) -> dict[str, Any]:
    """The Chat request of a request with these fields."""
    request = decode_request(json.dumps({"model": "m", "input": "Hi", **fields}).encode())
    return to_chat(request, normalise_input(request.input, lambda prefix: f"{prefix}_1"), dialect)


def section(dialect: Dialect = PROMPT, **fields: Any) -> str:
    """What the system message tells of the tools."""
    first, *_ = request(dialect, tools=TOOLS, **fields)["messages"]
    assert first["role"] == "system"
    return str(first["content"])


def schema_of(body: dict[str, Any]) -> Any:
    return body["response_format"]["json_schema"]["schema"]


def test_a_backend_that_takes_no_tools_is_sent_none() -> None:
    body = request(tools=TOOLS, tool_choice="auto", parallel_tool_calls=True)
    assert body.keys() == {"model", "messages", "stream"}


def test_a_format_clashes_only_with_tools_in_the_parameter() -> None:
    both = replace(PROMPT, formats_with_tools=False)
    assert request(both, tools=TOOLS, text={"format": FORM}) == request(
        tools=TOOLS, text={"format": FORM}
    )


def test_the_model_reads_each_tool_behind_the_instructions() -> None:
    stated = section(instructions="Be brief.")
    assert stated.startswith("Be brief.\n\n# Functions")
    listed = stated.partition("<tools>\n")[2].partition("\n</tools>")[0].splitlines()
    assert [json.loads(line) for line in listed] == [
        {"name": "look", "description": "Looks.", "parameters": PLACE},
        {"name": "wait", "parameters": {"type": "object", "properties": {}}},
    ]


def test_the_same_tools_are_the_same_words_whatever_is_chosen() -> None:
    message = [
        section(),
        section(tool_choice="none"),
        section(WITHOUT_SCHEMAS, tool_choice="required"),
    ]
    assert {each[: len(message[0])] for each in message} == {message[0]}


@pytest.mark.parametrize(
    ("fields", "last"),
    [
        ({}, "You then receive the output of each call in a <tool_response> block."),
        (
            {"tool_choice": "auto"},
            "You then receive the output of each call in a <tool_response> block.",
        ),
        ({"tool_choice": "none"}, "Do not call a function now. Answer without one."),
        ({"tool_choice": "required"}, "You must call a function now."),
        (
            {"tool_choice": {"type": "function", "name": "wait"}},
            "You must call the function wait now.",
        ),
        ({"parallel_tool_calls": False}, "Call one function at a time."),
        (
            {"parallel_tool_calls": False, "tool_choice": "none"},
            "Call one function at a time. Do not call a function now. Answer without one.",
        ),
    ],
)
def test_the_choice_is_the_last_sentence(fields: dict[str, Any], last: str) -> None:
    assert section(**fields).endswith(f"\n\n{last}" if "now" in last or "time" in last else last)


def test_only_allowed_tools_are_sent() -> None:
    only = {
        "type": "allowed_tools",
        "mode": "auto",
        "tools": [{"type": "function", "name": "wait"}],
    }
    message = section(tool_choice=only)
    assert '"wait"' in message and '"look"' not in message


def test_a_choice_of_no_tool_is_refused() -> None:
    with pytest.raises(ClientError) as caught:
        request(tools=TOOLS, tool_choice={"type": "function", "name": "run"})
    assert caught.value.param == "tool_choice"


def test_without_tools_nothing_is_sent() -> None:
    assert request() == request(DIALECTS["ollama"])
    assert request(tools=[], tool_choice="none")["messages"] == [{"role": "user", "content": "Hi"}]


# Where a schema holds the model to a call.

CALL_OF_TOOL = {
    "type": "object",
    "properties": {"name": {"type": "string", "enum": ["look"]}, "arguments": PLACE},
    "required": ["name", "arguments"],
    "additionalProperties": False,
}


def test_a_demanded_call_is_a_schema() -> None:
    body = request(tools=TOOLS, tool_choice={"type": "function", "name": "look"})
    assert schema_of(body) == CALL_OF_TOOL
    assert "<tool_call>" not in body["messages"][0]["content"]


def test_any_call_is_a_schema_of_all_tools() -> None:
    schema = schema_of(request(tools=TOOLS, tool_choice="required"))
    assert [each["properties"]["name"]["enum"] for each in schema["anyOf"]] == [["look"], ["wait"]]


def test_an_answer_format_is_sent_along_with_calls() -> None:
    schema = schema_of(request(tools=[INSPECT_TOOL], text={"format": FORM}))
    assert schema == {
        "anyOf": [{"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}}, CALL_OF_TOOL],
        "$defs": {"a": {}},
    }


def test_a_format_is_unchanged_if_no_call_is_allowed() -> None:
    assert (
        schema_of(request(tools=TOOLS, tool_choice="none", text={"format": FORM})) == FORM["schema"]
    )


def test_any_object_may_be_a_call() -> None:
    body = request(tools=TOOLS, text={"format": {"type": "json_object"}})
    assert body["response_format"] == {"type": "json_object"}
    assert "<tool_call>" not in body["messages"][0]["content"]


def test_a_free_answer_is_not_checked_against_a_schema() -> None:
    assert "response_format" not in request(tools=TOOLS)


def test_references_inside_a_tool_are_left_to_the_words() -> None:
    tool = {
        **INSPECT_TOOL,
        "parameters": {
            "type": "object",
            "properties": {"x": {"$ref": "#/$defs/a"}},
            "$defs": {"a": {}},
        },
    }
    schema = schema_of(request(tools=[tool], tool_choice="required"))
    assert schema["properties"]["arguments"] == {"type": "object"}


def test_a_demand_is_in_words_alone_where_the_backend_takes_no_schema() -> None:
    body = request(WITHOUT_SCHEMAS, tools=TOOLS, tool_choice="required")
    assert "response_format" not in body
    assert "<tool_call>" in body["messages"][0]["content"]


# Where every answer is held to JSON.

RETAINED = replace(PROMPT, tools="schema")
ANSWER = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}


def test_an_answer_restricted_to_json_is_a_text_or_a_call() -> None:
    body = request(RETAINED, tools=[INSPECT_TOOL])
    assert schema_of(body) == {"anyOf": [ANSWER, CALL_OF_TOOL]}
    assert body["messages"][0]["content"].endswith(
        'write your answer as a JSON object: {"answer": "…"}'
    )


@pytest.mark.parametrize("fields", [{"tool_choice": "required"}, {"text": {"format": FORM}}])
def test_a_demand_and_a_form_are_the_same_as_ever(fields: dict[str, Any]) -> None:
    assert request(RETAINED, tools=TOOLS, **fields) == request(tools=TOOLS, **fields)


@pytest.mark.parametrize(
    "dialect", [RETAINED, replace(RETAINED, json_formats=frozenset({"json_object"}))]
)
def test_without_a_call_or_a_schema_the_answer_is_free(dialect: Dialect) -> None:
    choice = "none" if dialect is RETAINED else "auto"
    assert request(dialect, tools=TOOLS, tool_choice=choice) == request(
        tools=TOOLS, tool_choice=choice
    )


# The history.


def call(number: int, name: str = "look", arguments: str = '{"place": "here"}') -> dict[str, Any]:
    return {
        "type": "function_call",
        "call_id": f"call_{number}",
        "name": name,
        "arguments": arguments,
    }


def output(number: int, stated: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": f"call_{number}", "output": stated}


def history(*items: Any, dialect: Dialect = PROMPT, **fields: Any) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = request(dialect, input=list(items), **fields)["messages"]
    return messages


HI = {"role": "user", "content": "Hi"}
BLOCK = '<tool_call>\n{"name": "look", "arguments": {"place": "here"}}\n</tool_call>'


def test_a_call_and_its_output_are_rendered_in_words() -> None:
    content = {"role": "assistant", "content": [{"type": "output_text", "text": "I look."}]}
    assert history(HI, content, call(1), output(1, "A room.")) == [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": f"I look.\n{BLOCK}"},
        {"role": "user", "content": "<tool_response>\nA room.\n</tool_response>"},
    ]


def test_outputs_stand_in_the_order_of_their_calls() -> None:
    _, assistant, user = history(
        HI, call(1), call(2, "wait", ""), output(2, "two"), output(1, "one")
    )
    assert (
        assistant["content"]
        == f'{BLOCK}\n<tool_call>\n{{"name": "wait", "arguments": {{}}}}\n</tool_call>'
    )
    assert (
        user["content"]
        == "<tool_response>\none\n</tool_response>\n<tool_response>\ntwo\n</tool_response>"
    )


def test_arguments_that_were_no_object_stand_inside_one() -> None:
    _, assistant, _ = history(HI, call(1, arguments="{broken"), output(1, "no"))
    assert '"arguments": {"arguments":"{broken"}' in assistant["content"]


def test_an_image_follows_the_words() -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,AA=="}
    messages = history(HI, call(1), output(1, [{"type": "input_text", "text": "See"}, image]))
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "user"]
    assert messages[2]["content"].startswith("<tool_response>\nSee\n")
    assert messages[3]["content"][1]["type"] == "image_url"


def test_reasoning_goes_back_in_its_field() -> None:
    reasoning = {
        "type": "reasoning",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "Hm."}],
    }
    _, assistant, _ = history(HI, reasoning, call(1), output(1, "one"))
    assert (assistant["reasoning"], assistant["content"]) == ("Hm.", BLOCK)


def test_an_output_without_its_call_is_rendered_alone() -> None:
    tool = {
        "role": "tool",
        "tool_call_id": "call_1",
        "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
    }
    assert in_words([tool]) == [
        {"role": "user", "content": "<tool_response>\na\nb\n</tool_response>"}
    ]


def test_a_history_of_tools_is_rendered_in_words_for_a_request_without_tools() -> None:
    assert (
        history(HI, call(1), output(1, "x"))
        == history(HI, call(1), output(1, "x"), tools=TOOLS)[1:]
    )


def test_messages_of_a_native_dialect_are_as_ever() -> None:
    _, assistant, tool = history(HI, call(1), output(1, "x"), dialect=DIALECTS["ollama"])
    assert assistant["tool_calls"][0]["function"]["name"] == "look" and tool["role"] == "tool"


def test_what_the_model_writes_after_these_words_is_read() -> None:
    request = decode_request(json.dumps({"model": "m", "input": "Hi", "tools": TOOLS}).encode())
    dialects = (
        PROMPT,
        RETAINED,
        DIALECTS["openai"],
        DIALECTS["openai"].taught(frozenset({"tools"})),
    )
    assert [toolbox_of(request, [], dialect).in_text for dialect in dialects] == [
        "any",
        "wrapped",
        "",
        "any",
    ]


arguments = st.dictionaries(
    st.text(max_size=8),
    st.one_of(st.none(), st.integers(), st.text(), st.lists(st.booleans())),
    max_size=4,
)
names = st.from_regex(r"[a-zA-Z0-9_-]{1,20}", fullmatch=True)


@given(st.lists(st.tuples(names, arguments), min_size=1, max_size=3))
def test_calls_in_words_are_read_as_the_same_calls(calls: list[tuple[str, dict[str, Any]]]) -> None:
    created = [
        {"id": str(at), "function": {"name": name, "arguments": json.dumps(provided)}}
        for at, (name, provided) in enumerate(calls)
    ]
    (message,) = in_words([{"role": "assistant", "content": None, "tool_calls": created}])
    reader = TextCallReader({name: Offer(name, name=name) for name, _ in calls})
    pieces = [*reader.feed(message["content"]), *reader.flush(is_answer=True)]
    found = [
        (piece.name, json.loads(piece.arguments)) for piece in pieces if isinstance(piece, TextCall)
    ]
    assert found == calls
