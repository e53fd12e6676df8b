"""What Ollama's lines become as chunks of Chat Completions."""

import json
from typing import Any

import pytest

from antiphon.errors import BackendError
from antiphon.translation.ollama.answer import MAX_LINE, NativeAnswer
from tests.support.translate import bytewise

END: dict[str, Any] = {
    "done": True,
    "done_reason": "stop",
    "prompt_eval_count": 12,
    "eval_count": 3,
}


def line(message: dict[str, Any] | None = None, **more: Any) -> bytes:
    content = {"role": "assistant", "content": "", **(message or {})}
    return json.dumps(
        {
            "model": "m",
            "created_at": "2026-01-01T00:00:00Z",
            "message": content,
            "done": False,
            **more,
        }
    ).encode()


def stream(*lines: bytes) -> bytes:
    return b"".join(one + b"\n" for one in lines)


def answer(num_ctx: int | None = None, **options: Any) -> NativeAnswer:
    return NativeAnswer("chatcmpl-1", 1, num_ctx, **options)


def joined(*parts: bytes, num_ctx: int | None = None, **options: Any) -> bytes:
    """A stream that comes in these parts, translated."""
    one = answer(num_ctx, **options)
    return b"".join(event for part in parts for event in one.feed(part)) + b"".join(one.finish())


def events(data: bytes) -> list[Any]:
    """The events of a stream; `[DONE]` as it is."""
    parts = [part.removeprefix(b"data: ") for part in data.split(b"\n\n") if part]
    return [part.decode() if part == b"[DONE]" else json.loads(part) for part in parts]


def read(data: bytes, num_ctx: int | None = None, **options: Any) -> list[Any]:
    return events(joined(data, num_ctx=num_ctx, **options))


def deltas(data: bytes) -> list[Any]:
    return [
        chunk["choices"][0]["delta"]
        for chunk in read(data)
        if chunk != "[DONE]" and chunk["choices"]
    ]


CALL = {"id": "call_a", "function": {"name": "look", "arguments": {"city": "Zürich", "n": 1}}}
FULL = stream(
    line({"thinking": "Hm, "}),
    line({"thinking": "ü."}),
    line({"content": "Yes"}),
    line({"content": ", 🙂."}),
    line({"tool_calls": [CALL]}),
    line(**END),
)


def test_text_thinking_and_calls_become_deltas() -> None:
    arguments = '{"city":"Zürich","n":1}'
    call = {
        "index": 0,
        "type": "function",
        "function": {"name": "look", "arguments": arguments},
        "id": "call_a",
    }

    assert deltas(FULL) == [
        {"role": "assistant", "reasoning": "Hm, "},
        {"reasoning": "ü."},
        {"content": "Yes"},
        {"content": ", 🙂."},
        {"tool_calls": [call]},
        {},
    ]


def test_the_stream_ends_with_its_reason_its_tokens_and_done() -> None:
    *_, last, usage, done = read(FULL)

    assert last["choices"][0]["finish_reason"] == "tool_calls"
    assert usage["choices"] == []
    assert usage["usage"] == {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}
    assert done == "[DONE]"
    assert last.keys() == {"id", "object", "created", "model", "choices"}


def test_the_cut_of_the_bytes_changes_nothing() -> None:
    whole = joined(FULL)

    for place in range(len(FULL) + 1):
        assert joined(FULL[:place], FULL[place:]) == whole
    assert joined(*bytewise(FULL)) == whole


def test_a_last_line_without_its_end_counts() -> None:
    assert read(stream(line({"content": "Hi"})) + line(**END))[-1] == "[DONE]"


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("stop", "stop"), ("length", "length"), ("load", "load"), ("", "stop"), (None, "stop")],
)
def test_an_answer_without_calls_ends_as_the_server_states(reason: Any, finish: str) -> None:
    last = read(stream(line({"content": "Hi"}), line(**{**END, "done_reason": reason})))[1]

    assert last["choices"][0]["finish_reason"] == finish


def test_calls_are_counted_whatever_index_the_server_gives() -> None:
    bare = {"function": {"index": 0, "name": "look", "arguments": {}}}

    first, second, *_ = deltas(
        stream(line({"tool_calls": [bare, bare]}), line({"tool_calls": [bare]}), line(**END))
    )

    assert [call["index"] for call in (*first["tool_calls"], *second["tool_calls"])] == [0, 1, 2]
    assert "id" not in first["tool_calls"][0]
    assert first["tool_calls"][0]["function"]["arguments"] == "{}"


def test_cached_tokens_are_a_detail_of_the_prompt() -> None:
    usage = read(stream(line(**END, prompt_eval_cached_count=10)))[-2]["usage"]

    assert usage["prompt_tokens_details"] == {"cached_tokens": 10}


def test_tokens_are_not_invented_if_the_server_does_not_report_them() -> None:
    end = {name: value for name, value in END.items() if name != "prompt_eval_count"}

    assert "usage" not in str(read(stream(line(**end))))


def test_tokens_are_omitted_unless_requested() -> None:
    assert "usage" not in str(read(FULL, with_usage=False))


def test_log_probabilities_accompany_their_text() -> None:
    token = {"token": "Hi", "logprob": -0.1, "bytes": [72, 105]}

    chunk = read(stream(line({"content": "Hi"}, logprobs=[token])))[0]

    assert chunk["choices"][0]["logprobs"] == {"content": [{"top_logprobs": [], **token}]}


def test_an_error_in_the_stream_ends_it() -> None:
    assert read(stream(line({"content": "Hi"}), b'{"error": "out of memory"}', line(**END)))[
        1:
    ] == [{"error": {"message": "out of memory"}}]


def test_a_prompt_that_filled_the_whole_window_was_cut() -> None:
    assert read(FULL, num_ctx=13)[-1] == "[DONE]"
    error = read(FULL, num_ctx=12)[-1]["error"]
    assert error["code"] == "context_length_exceeded"
    assert "12 tokens" in error["message"]


@pytest.mark.parametrize("data", [b"{", b"[1]", b"data: {}", b"[" * 100_000])
def test_what_is_no_object_is_an_error_of_the_backend(data: bytes) -> None:
    with pytest.raises(BackendError):
        next(answer().feed(data + b"\n"))


def test_the_lines_before_one_that_cannot_be_read_are_passed_on() -> None:
    chunks = answer().feed(stream(line({"content": "Hello"}), b"{", line({"content": "never"})))

    assert b"Hello" in next(chunks)
    with pytest.raises(BackendError):
        next(chunks)


def test_a_line_has_an_end() -> None:
    with pytest.raises(BackendError, match="more than"):
        next(answer().feed(b" " * (MAX_LINE + 1)))


def test_empty_lines_and_objects_of_other_shapes_are_passed_over() -> None:
    assert deltas(
        b'\n\r\n{"message": null, "done": false}\n' + stream(line({"content": "Hi"}))
    ) == [
        {"role": "assistant"},
        {"content": "Hi"},
    ]


def test_a_plain_answer_is_a_completion() -> None:
    content = {"content": "Yes.", "thinking": "Hm.", "tool_calls": [CALL]}

    whole = json.loads(answer().whole(line(content, **END)))

    (choice,) = whole["choices"]
    assert (whole["object"], whole["model"], choice["finish_reason"]) == (
        "chat.completion",
        "m",
        "tool_calls",
    )
    assert (choice["message"]["content"], choice["message"]["reasoning"]) == ("Yes.", "Hm.")
    assert choice["message"]["tool_calls"][0]["function"] == {
        "name": "look",
        "arguments": '{"city":"Zürich","n":1}',
    }
    assert "index" not in choice["message"]["tool_calls"][0]
    assert whole["usage"]["total_tokens"] == 15


def test_a_plain_answer_can_be_an_error() -> None:
    assert json.loads(answer().whole(b'{"error": "no"}')) == {"error": {"message": "no"}}
    assert json.loads(answer(12).whole(line(**END)))["error"]["code"] == "context_length_exceeded"
