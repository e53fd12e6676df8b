import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.translation.to_chat_completions.tokens import (
    MEDIUM,
    by_size,
    is_plain,
    media_tokens,
    request_tokens,
    tokens_of,
)


def user(text: Any = "Hi") -> dict[str, Any]:
    return {"role": "user", "content": text}


def words(text: str) -> int:
    """English words and signs, each of which is one token in OpenAI's vocabularies."""
    return len(re.findall(r"\w+|[^\w\s]", text))


RECORDED: dict[str, tuple[list[dict[str, Any]], int, int]] = {
    "gpt-4o": ([user("What is the capital of France?")], 3, 14),
    "gpt-3.5-turbo": ([user("Hey, what is up?")], 3, 13),
    "gpt-5.2": ([user("Hey, what is up?")], 2, 12),
    "o4-mini": (
        [
            {"role": "system", "content": "You are a helpful assistant"},
            user("Say hi in Portuguese"),
        ],
        2,
        19,
    ),
    "gpt-5-nano": ([user("Hello!")], 2, 8),
}


@pytest.mark.parametrize(("messages", "priming", "counted"), RECORDED.values(), ids=RECORDED)
def test_around_the_texts_it_counts_what_openai_counts(
    messages: list[dict[str, Any]], priming: int, counted: int
) -> None:
    assert tokens_of({"messages": messages}, words, priming) == counted


def test_a_text_is_counted_by_its_size() -> None:
    assert by_size("") == 0
    assert by_size("four") == 1
    assert by_size("fours") == 2
    assert by_size("日本語") == 3
    assert by_size("日本語 four") == 5


def test_everything_that_the_model_reads_counts() -> None:
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "look", "arguments": '{"at": "it"}'},
    }
    longer: list[dict[str, Any]] = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "assistant", "content": "Hm", "reasoning_content": "I think."},
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": [{"type": "text", "text": "I think."}]}],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "nothing"},
    ]
    for message in longer:
        assert tokens_of({"messages": [message]}) > tokens_of(
            {"messages": [{"role": "assistant", "content": ""}]}
        )
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}
    plain = tokens_of({"messages": [user()]})
    assert tokens_of({"messages": [user()], "tools": [tool]}) > plain
    assert tokens_of({"messages": [user()], "response_format": form}) > plain


def test_what_the_model_does_not_read_does_not() -> None:
    signed = {
        "role": "assistant",
        "content": "Hm",
        "thinking_blocks": [{"type": "thinking", "signature": "x" * 999}],
    }

    assert tokens_of({"messages": [signed]}) == tokens_of(
        {"messages": [{"role": "assistant", "content": "Hm"}]}
    )


def test_a_picture_is_a_constant_and_a_file_as_many_as_it_is_long() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 500_000}}
    short, long = ({"type": "file", "file": {"file_data": "A" * size}} for size in (10, 50_001))

    assert media_tokens({"messages": [user([picture])]}) == MEDIUM
    assert media_tokens({"messages": [user([short])]}) == MEDIUM
    assert media_tokens({"messages": [user([long])]}) == 2 * MEDIUM
    assert (
        tokens_of({"messages": [user([picture])]}) == tokens_of({"messages": [user("")]}) + MEDIUM
    )


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        ({"input": "word" * 100}, 107),
        ({"input": ["word" * 100, "word" * 50]}, 161),
        ({"input": list(range(100))}, 103),
        ({"input": [list(range(100)), [1]]}, 112),
        ({"input": [{"role": "user", "content": "word" * 100}]}, 107),
        ({"messages": [{"role": "user", "content": "word" * 100}]}, 107),
    ],
)
def test_every_form_of_a_request_is_counted(body: dict[str, Any], tokens: int) -> None:
    assert request_tokens(body) == tokens


def test_a_field_that_no_backend_reads_makes_nothing_cheaper() -> None:
    body = {"messages": [{"role": "user", "content": "word" * 100}]}
    assert request_tokens({**body, "input": "Hi"}) > request_tokens(body)


def test_plain_is_a_request_of_texts_alone() -> None:
    assert is_plain({"messages": [user(), {"role": "assistant", "content": "Hello"}]})
    assert is_plain({"messages": [user([{"type": "text", "text": "Hi"}])]})
    assert not is_plain({"messages": [user([{"type": "image_url", "image_url": {"url": "x"}}])]})
    assert not is_plain({"messages": [{**user(), "name": "Ann"}]})
    assert not is_plain({"messages": [user()], "tools": [{"type": "function"}]})
    assert not is_plain({"messages": [user()], "response_format": {"type": "json_object"}})


texts = st.text(st.characters())
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["content", "role", "tool_calls", "image_url", "file", "file_data", "text"]
            ),
            inner,
        )
    ),
    max_leaves=20,
)


@given(texts, texts)
def test_a_longer_text_is_never_fewer_tokens(text: str, more: str) -> None:
    assert by_size(text) <= by_size(text + more) <= by_size(text) + by_size(more)


@pytest.mark.wide
@given(st.lists(json_values, max_size=5), st.lists(json_values, max_size=3), json_values)
def test_more_messages_and_tools_are_more_tokens_whatever_they_are(
    messages: list, tools: list, more: Any
) -> None:
    count = tokens_of({"messages": messages, "tools": tools})

    assert count < tokens_of({"messages": [*messages, more], "tools": tools})
    assert count < tokens_of({"messages": messages, "tools": [*tools, more]})


@pytest.mark.parametrize("character", ["a", "日", "é", "\ud83d"])
def test_ten_megabytes_are_counted_in_no_time(character: str) -> None:
    text = character * 10_000_000
    began = time.process_time()

    assert tokens_of({"messages": [user(text)]}) >= 2_500_000
    assert time.process_time() - began < 1
