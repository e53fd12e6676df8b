"""Bodies of requests to the Messages API: what clients send is decoded, and errors name what is
wrong.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import ClientError
from antiphon.protocol.messages.blocks import ImageBlock, TextBlock, ToolReference, ToolResultBlock
from antiphon.protocol.messages.decoding import decode_count, decode_create, read_message
from antiphon.protocol.messages.requests import CountTokens, CreateMessage
from tests.support.cases import each
from tests.support.chance import examples
from tests.support.messages_recordings import CASES, REQUESTS, SENT, name
from tests.support.recordings import MISSING

INVALID = {
    "dd-trace-py-cassettes_anthropic_completion_error",
    "rig-strict_schema_matrix_boolean_root_schema",
}
"""The recorded requests that Anthropic rejected for their types."""


def body(**fields: Any) -> bytes:
    provided = {
        "model": "m",
        "max_tokens": 5,
        "messages": [{"role": "user", "content": "Hi"}],
        **fields,
    }
    return json.dumps(
        {name: value for name, value in provided.items() if value != "absent"}
    ).encode()


def with_block(**block: Any) -> bytes:
    return body(messages=[{"role": "user", "content": "Hi"}, {"role": "user", "content": [block]}])


def refused(raw: bytes) -> ClientError:
    with pytest.raises(ClientError) as caught:
        decode_create(raw)
    assert caught.value.status == 400
    return caught.value


@pytest.mark.skipif(not REQUESTS, reason=MISSING)
@each("path", [*REQUESTS, *CASES], ids=name)
def test_what_clients_sent_is_decoded_both_ways(path: Path) -> None:
    raw = path.read_bytes()
    provided = json.loads(raw)
    cls = CreateMessage if isinstance(provided, dict) and "max_tokens" in provided else CountTokens
    if path.name.startswith(tuple(INVALID)):
        refused(raw)
        return
    decoded = decode_create(raw) if cls is CreateMessage else decode_count(raw)
    assert decoded == read_message(raw, cls)


@pytest.mark.skipif(not SENT, reason=MISSING)
@each("sent", SENT, ids=lambda sent: str(sent[0]))
def test_what_claude_code_sent_is_decoded(sent: tuple[str, dict[str, Any]]) -> None:
    path, provided = sent
    raw = json.dumps(provided).encode()
    decoded = decode_count(raw) if "count_tokens" in path else decode_create(raw)
    assert len(decoded.messages) == len(provided["messages"])


def test_content_is_typed() -> None:
    content = [
        {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
        {"type": "image", "source": {"type": "url", "url": "https://a.example/"}},
        {
            "type": "tool_result",
            "tool_use_id": "t",
            "content": [{"type": "tool_reference", "tool_name": "f"}],
        },
    ]
    decoded = decode_create(body(messages=[{"role": "user", "content": content}]))
    text, image, result = decoded.messages[0].content
    assert isinstance(text, TextBlock)
    assert isinstance(image, ImageBlock)
    assert isinstance(result, ToolResultBlock)
    assert result.content == [ToolReference(tool_name="f")]


def test_an_unknown_parameter_is_rejected_in_the_words_that_clients_know() -> None:
    error = refused(body(context_managment={}))
    assert error.message == "context_managment: Extra inputs are not permitted"
    assert error.param == "context_managment"


def test_an_unknown_field_inside_of_a_parameter_is_ignored() -> None:
    tool = {
        "name": "f",
        "input_schema": {"type": "object"},
        "eager_input_streaming": True,
        "new_field": 1,
    }
    thinking = {"type": "adaptive", "new_field": 1}
    decoded = decode_create(
        body(tools=[tool], thinking=thinking, output_config={"new_field": 1, "effort": "low"})
    )
    assert decoded.output_config is not None
    assert decoded.output_config.effort == "low"


def test_an_unknown_block_is_rejected_by_its_name() -> None:
    error = refused(with_block(type="hologram", data="x"))
    assert error.param == "messages.1.content.0.type"
    assert error.message.startswith("messages.1.content.0.type: 'hologram' is not supported here")


@each(
    "raw, param, words",
    [
        (body(max_tokens="absent"), "max_tokens", "Field required"),
        (body(messages="absent"), "messages", "Field required"),
        (body(messages=[]), "messages", "at least one message is required"),
        (body(messages={}), "messages", "Input should be"),
        (body(model=""), "model", "empty string"),
        (body(model="a\n"), "model", "control character"),
        (
            body(messages=[{"role": "tool", "content": "a"}]),
            "messages.0.role",
            "'user', 'assistant' or 'system'",
        ),
        (body(messages=[{"role": "user"}]), "messages.0.content", "Field required"),
        (with_block(text="a"), "messages.1.content.0.type", "Field required"),
        (
            with_block(type="text", text=3),
            "messages.1.content.0.text",
            "Input should be a valid string",
        ),
        (
            with_block(type="image", source={"type": "disk"}),
            "messages.1.content.0.source.type",
            "'disk'",
        ),
        (body(max_tokens=-1), "max_tokens", "Input should be greater than or equal to 0"),
        (body(temperature=1.5), "temperature", "Input should be less than or equal to 1"),
        (body(thinking={"type": "enabled", "budget_tokens": 5}), "thinking.budget_tokens", "1024"),
        (body(output_config={"effort": "ultra"}), "output_config.effort", "'xhigh' or 'max'"),
        (body(tools=[{"name": "f"}] * 1001), "tools", "1000"),
    ],
)
def test_an_error_has_the_path_and_the_expected_type(raw: bytes, param: str, words: str) -> None:
    error = refused(raw)
    assert error.param == param
    assert error.message.startswith(f"{param}: ")
    assert words in error.message


@each("raw", [b"", b"[]", b"{", b"\xff", b'{"model": NaN}', b"null"])
def test_what_is_not_a_json_object_is_rejected(raw: bytes) -> None:
    assert refused(raw).param is None


def test_one_token_and_none_are_enough() -> None:
    """Antigravity-Manager#3359: a health check asks for one token."""
    assert decode_create(body(max_tokens=1)).max_tokens == 1
    assert decode_create(body(max_tokens=0)).max_tokens == 0
    assert decode_create(body(max_tokens=16.0)).max_tokens == 16


def test_a_thousand_tools_and_any_number_of_cache_markers_are_accepted() -> None:
    """codex2api#613: more than four markers."""
    tools = [
        {
            "name": f"f{n}",
            "input_schema": {"type": "object"},
            "cache_control": {"type": "ephemeral"},
        }
        for n in range(1000)
    ]
    assert len(decode_create(body(tools=tools)).tools or []) == 1000


def test_a_count_needs_no_limit_and_ignores_what_concerns_the_answer() -> None:
    assert decode_count(body(max_tokens="absent")).max_tokens is None
    assert decode_count(body(stream=True, stop_sequences=["END"])).model == "m"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "content", "source", "name", "id"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@examples(100)
@given(st.sampled_from(sorted(field for field in CreateMessage.__struct_fields__)), JSON)
def test_any_value_of_a_parameter_is_accepted_or_rejected_in_both_ways_alike(
    field: str, value: Any
) -> None:
    raw = body(**{field: value})
    answers = []
    for decode in (decode_create, lambda raw: read_message(raw, CreateMessage)):
        try:
            answers.append(repr(decode(raw)))
        except ClientError as error:
            assert error.param is None or error.message.startswith(f"{error.param}: ")
            answers.append(error.message)
    assert answers[0] == answers[1]
