"""A stream folds into the completion that a plain answer would be."""

import json
from pathlib import Path
from typing import Any

import pytest
from openai.types.chat.chat_completion_message_tool_call import ChatCompletionMessageToolCall

from antiphon.translation.from_chat.completion import CompletionFold, read_completion, read_object
from antiphon.translation.wire import DONE, EventDecoder
from tests.support.cases import each
from tests.support.recordings import MISSING, recorded

STREAMS = recorded("*.sse")

NOT_COMPLETE = {
    "groq-pydantic-ai-test_groq.test_tool_use_failed_error_streaming.sse",
    "groq-pydantic-ai-test_groq.test_tool_use_failed_error_streaming_with_text.sse",
}
"""Recordings that end in an error."""


def chunk(finish_reason: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


def folded(*chunks: dict[str, Any], is_ended: bool = True) -> dict[str, Any] | None:
    fold = CompletionFold()
    for one in chunks:
        fold.feed(one)
    return fold.completion(is_ended=is_ended)


def message(*deltas: dict[str, Any]) -> dict[str, Any]:
    completion = folded(*(chunk(**delta) for delta in deltas), chunk("stop"))
    assert completion is not None
    fields: dict[str, Any] = completion["choices"][0]["message"]
    return fields


def call(id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_texts_grow_and_the_rest_is_replaced() -> None:
    content = message(
        {"role": "assistant", "content": "", "reasoning": None},
        {"role": "assistant", "content": "Hel", "refusal": None},
        {"content": "lo", "audio": {"id": "a", "data": "AA", "expires_at": 1}},
        {"audio": {"id": "a", "data": "BB", "expires_at": 2}},
    )

    assert content == {
        "role": "assistant",
        "content": "Hello",
        "refusal": None,
        "reasoning": None,
    } | {"audio": {"id": "a", "data": "AABB", "expires_at": 2}}


def test_the_largest_usage_stays() -> None:
    usage = {"prompt_tokens": 3, "total_tokens": 5}
    zeros = {"prompt_tokens": 0, "total_tokens": 0}
    completion = folded(
        {**chunk("stop", content="Hi"), "usage": usage}, {"choices": [], "usage": zeros}
    )
    assert completion is not None
    assert completion["usage"] == usage


def test_pieces_of_calls_belong_together_by_index_or_id_or_order() -> None:
    both = [call("call_1", "f", "{}"), call("call_2", "g", "[1]")]
    by_index = [
        {"index": 0, **call("call_1", "f", "")},
        {"index": 1, **call("call_2", "g", "[")},
        {"index": 0, "id": "", "function": {"name": "f", "arguments": "{}"}},
        {"index": 1, "function": {"arguments": "1]"}},
    ]
    all_at_zero = [{"index": 0, **one} for one in both]
    without_index = [call("call_1", "f", "{"), {"function": {"arguments": "}"}}, both[1]]
    by_id = [
        call("call_1", "f", "{"),
        call("call_2", "g", "[1"),
        call("call_1", "f", "}"),
        call("call_2", "g", "]"),
    ]
    for pieces in (by_index, all_at_zero, without_index, by_id):
        assert message(*({"tool_calls": [piece]} for piece in pieces))["tool_calls"] == both, pieces


def test_a_call_is_whole_also_where_its_backend_leaves_something_out() -> None:
    calls = message(
        {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": None}}]}
    )["tool_calls"]

    assert calls == [call("c", "f", "")]


def test_parts_of_a_content_grow_into_one_list() -> None:
    thinking = [
        {"type": "thinking", "thinking": [{"type": "text", "text": text}]} for text in ("a", "b")
    ]
    content = message(
        {"content": ""}, {"content": thinking[:1]}, {"content": thinking[1:]}, {"content": "c"}
    )

    assert content["content"] == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "ab"}]},
        {"type": "text", "text": "c"},
    ]


def test_log_probabilities_collect() -> None:
    tokens: list[dict[str, Any]] = [
        {"token": token, "logprob": -0.5, "bytes": None} for token in "ab"
    ]
    chunks = [
        {"choices": [{"index": 0, "delta": {}, "logprobs": {"content": [token]}}]}
        for token in tokens
    ]
    completion = folded(
        *chunks, {"choices": [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}]}
    )

    assert completion is not None
    assert completion["choices"][0]["logprobs"] == {"content": tokens}


def test_choices_are_in_index_order_and_the_head_is_the_last_one_received() -> None:
    completion = folded(
        {"id": "1", "model": "m", "system_fingerprint": None, "usage": None}
        | {"choices": [{"index": 1, "delta": {"content": "b"}, "finish_reason": "stop"}]},
        {"choices": [{"delta": {"content": "a"}, "finish_reason": "length"}]},
        {"choices": [], "usage": {"total_tokens": 3}},
    )

    assert completion is not None
    assert [(one["index"], one["message"]["content"]) for one in completion["choices"]] == [
        (0, "a"),
        (1, "b"),
    ]
    assert (completion["model"], completion["usage"]) == ("m", {"total_tokens": 3})


def test_halves_of_a_character_are_joined() -> None:
    halves = [
        read_object(json.dumps(chunk(content=half)).encode())
        for half in ("\ud83d", "\ude00", "\ud83d")
    ]
    completion = folded(*(half for half in halves if half is not None), chunk("stop"))

    assert completion is not None
    assert completion["choices"][0]["message"]["content"] == "\U0001f600\ufffd"


@pytest.mark.parametrize(
    ("chunks", "is_ended"),
    [
        ([chunk(content="a")], False),
        ([chunk("error", content="a")], True),
        ([chunk("stop"), {"error": {"message": "no"}}], True),
        ([chunk("stop"), {"choices": "none"}], True),
        ([{"choices": []}], True),
        ([], True),
    ],
)
def test_an_incomplete_value_is_ignored(chunks: list[dict[str, Any]], is_ended: bool) -> None:
    assert folded(*chunks, is_ended=is_ended) is None


NO_COMPLETIONS = [
    *(b"", b"[]", b"{", b"[" * 99_999, b'{"error": "no"}', b'{"choices": []}', b'{"choices": {}}'),
    *(b'{"choices": [{}]}', b'{"choices": [{"message": {}, "finish_reason": "error"}]}'),
]


@pytest.mark.parametrize("body", NO_COMPLETIONS)
def test_an_invalid_completion_is_ignored(body: bytes) -> None:
    assert read_completion(body) is None


def test_a_plain_answer_has_the_fields_of_a_completion() -> None:
    answer = read_completion(b'{"choices": [{"message": {"content": "\\ud83d"}}], "x": 1}')

    assert answer == {
        "choices": [{"message": {"role": "assistant", "content": "\ufffd", "refusal": None}}],
        "x": 1,
        "object": "chat.completion",
    }


@pytest.mark.skipif(not STREAMS, reason=MISSING)
@each("path", STREAMS, ids=lambda path: path.name)
def test_a_recorded_stream_folds_into_its_whole_content(path: Path) -> None:
    events = EventDecoder()
    fold = CompletionFold()
    is_ended = False
    text = ""
    for data in [*events.feed(path.read_bytes()), *events.finish()]:
        if data.strip() == DONE:
            is_ended = True
        elif one := read_object(data):
            fold.feed(one)
            deltas = [
                choice.get("delta") or {}
                for choice in one.get("choices") or ()
                if not choice.get("index")
            ]
            text += "".join(
                each["content"] for each in deltas if isinstance(each.get("content"), str)
            )
    completion = fold.completion(is_ended=is_ended)
    if path.name in NOT_COMPLETE:
        assert completion is None
        return
    assert completion is not None
    whole = completion["choices"][0]["message"]
    if not isinstance(whole["content"], list):
        assert (whole["content"] or "") == text
    for call in whole.get("tool_calls") or ():
        ChatCompletionMessageToolCall.model_validate(call)
        if completion["choices"][0]["finish_reason"] != "length" and "truncation" not in path.name:
            json.loads(call["function"]["arguments"] or "{}")


def test_the_usage_of_a_choice_is_the_one_that_counts() -> None:
    used = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    empty = dict.fromkeys(used, 0)
    chunks = [chunk(content="Hi"), chunk("stop"), chunk()]
    chunks[1]["choices"][0]["usage"] = used
    chunks[2]["choices"][0]["usage"] = empty
    whole = folded(*chunks)
    assert whole is not None
    assert whole["choices"][0]["usage"] == used
