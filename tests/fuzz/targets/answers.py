"""Answers of backends, whichever API they have: whatever comes, the events are sound, and a cut
changes nothing.
"""

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from antiphon.errors import BackendError
from antiphon.testing import assert_event_stream, fold
from antiphon.translation.from_messages_api.answer import MessagesAnswer
from antiphon.translation.ollama.answer import NativeAnswer
from antiphon.translation.wire import EventDecoder
from tests.fuzz.targets import Target, cut
from tests.support.native import pass_on
from tests.support.translate import Translation, translate

FUNCTIONS = ("tide", "tide_at", "wind_at")


def _chunk(**delta: Any) -> bytes:
    return b"data: %s\n\n" % json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode()


CHAT = b"".join(
    (
        _chunk(role="assistant", content=""),
        _chunk(reasoning_content="Hm. "),
        _chunk(content="<think>a</think>Hel"),
        _chunk(content="lo <tool_call>"),
        _chunk(content='{"name": "tide", "arguments": {"at": 1}}</tool_call>'),
        _chunk(
            tool_calls=[{"index": 0, "id": "c", "function": {"name": "tide", "arguments": "{"}}]
        ),
        _chunk(tool_calls=[{"index": 0, "function": {"arguments": '"at": "\\u00e9"}'}}]),
        b'data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,'
        b'"completion_tokens":2,"total_tokens":3}}\n\n',
        b"data: [DONE]\n\n",
    )
)

CHAT_WORDS = (
    b"data: ", b"\n\n", b'"choices"', b'"delta"', b'"content"', b'"reasoning_content"', b'"index"',
    b'"tool_calls"', b'"function"', b'"arguments"', b'"name"', b'"finish_reason"', b'"stop"',
    b'"length"', b'"usage"', b'"error"', b"<think>", b"</think>", b"<tool_call>", b"</tool_call>",
    b"[TOOL_CALLS]", b"<|python_tag|>", b"<function=tide>", b"</function>", b"tide", b"\\ud83c",
    b"\\udf0a", b'"refusal"', b'"annotations"', b'"logprobs"', b'"reasoning_details"', b"[DONE]",
    b"<|channel|>", b"<|message|>", b"```json", b'"message"', b": ping\n", b"\r\n", b"null",
)  # fmt: skip


def events(data: bytes) -> None:
    """Server-sent events: the same however they are cut."""
    whole, pieces = cut(data)
    assert _events([whole]) == _events(pieces)


def _events(pieces: Iterable[bytes]) -> list[bytes] | None:
    decoder = EventDecoder()
    try:
        return [event for piece in pieces for event in decoder.feed(piece)] + decoder.finish()
    except BackendError:
        return None


def chat(data: bytes) -> None:
    """Chat Completions, as a stream or plain."""
    whole, pieces = cut(data)
    _compare(lambda parts: translate(parts, names=FUNCTIONS), whole, pieces)


def native(data: bytes) -> None:
    """Ollama's own API."""
    whole, pieces = cut(data)
    _compare(lambda parts: _by(NativeAnswer("c", 1, 100), parts), whole, pieces)


def messages(data: bytes) -> None:
    """The Messages API."""
    whole, pieces = cut(data)
    _compare(lambda parts: _by(MessagesAnswer("c", 1), parts), whole, pieces)


def _by(answer: Any, parts: Iterable[bytes]) -> Translation:
    chunks: list[bytes] = []
    with suppress(BackendError):  # it ends the answer, as a lost connection does
        for part in parts:
            chunks.extend(answer.feed(part))
        chunks.extend(answer.finish())
    return translate(chunks, names=FUNCTIONS)


def responses(data: bytes) -> None:
    """The Responses API of a backend."""
    whole, pieces = cut(data)
    _compare(pass_on, whole, pieces)


def _compare(read: Callable[[list[bytes]], Any], whole: bytes, pieces: list[bytes]) -> None:
    one = read([whole])
    other = read(pieces)
    for each in (one, other):
        assert_event_stream(each.events)
        assert fold(each.events) == each.response
    assert one.response == other.response


def _line(**message: Any) -> bytes:
    return json.dumps({"model": "m", "message": message, "done": False}).encode() + b"\n"


NATIVE = (
    _line(role="assistant", content="", thinking="Hm")
    + _line(role="assistant", content="Hello")
    + _line(content="", tool_calls=[{"function": {"name": "tide", "arguments": {"at": 1}}}])
    + b'{"model":"m","message":{"content":""},"done":true,"done_reason":"stop","eval_count":3}\n'
)


def _frame(kind: str, **fields: Any) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (
        kind.encode(), json.dumps({"type": kind, **fields}).encode(),
    )  # fmt: skip


_USAGE = {"input_tokens": 3, "output_tokens": 1}

MESSAGES = b"".join(
    (
        _frame("message_start", message={"id": "m", "type": "message", "role": "assistant",
                                         "content": [], "model": "m", "usage": _USAGE}),
        _frame("content_block_start", index=0, content_block={"type": "thinking", "thinking": ""}),
        _frame("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "Hm"}),
        _frame("content_block_delta", index=0, delta={"type": "signature_delta", "signature": "s"}),
        _frame("content_block_stop", index=0),
        _frame("content_block_start", index=1, content_block={"type": "text", "text": ""}),
        _frame("content_block_delta", index=1, delta={"type": "text_delta", "text": "Hello"}),
        _frame("content_block_stop", index=1),
        _frame("content_block_start", index=2,
               content_block={"type": "tool_use", "id": "t", "name": "tide", "input": {}}),
        _frame("content_block_delta", index=2,
               delta={"type": "input_json_delta", "partial_json": '{"at": 1}'}),
        _frame("content_block_stop", index=2),
        _frame("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 9}),
        _frame("message_stop"),
    )
)  # fmt: skip

_ITEM = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress",
         "content": []}  # fmt: skip
_PART = {"type": "output_text", "text": "", "annotations": []}
_RESPONSE = {"id": "resp_1", "object": "response", "created_at": 1, "status": "in_progress",
             "model": "m", "output": []}  # fmt: skip

RESPONSES = b"".join(
    (
        _frame("response.created", sequence_number=0, response=_RESPONSE),
        _frame("response.output_item.added", sequence_number=1, output_index=0, item=_ITEM),
        _frame("response.content_part.added", sequence_number=2, output_index=0, content_index=0,
               item_id="msg_1", part=_PART),
        _frame("response.output_text.delta", sequence_number=3, output_index=0, content_index=0,
               item_id="msg_1", delta="Hello"),
        _frame("response.output_text.done", sequence_number=4, output_index=0, content_index=0,
               item_id="msg_1", text="Hello"),
        _frame("response.content_part.done", sequence_number=5, output_index=0, content_index=0,
               item_id="msg_1", part={**_PART, "text": "Hello"}),
        _frame("response.output_item.done", sequence_number=6, output_index=0,
               item={**_ITEM, "status": "completed", "content": [{**_PART, "text": "Hello"}]}),
        _frame("response.completed", sequence_number=7,
               response={**_RESPONSE, "status": "completed"}),
    )
)  # fmt: skip


def _words(stream: bytes) -> list[bytes]:
    """The names and texts of a stream, in quotation marks."""
    return sorted({b'"%b"' % word for word in stream.split(b'"')[1::2] if len(word) > 2})


def _seeds(stream: bytes) -> list[bytes]:
    return [b"\0" + stream, b"\5" + stream]


TARGETS = (
    Target("events", events, [*_seeds(CHAT), b"\1data: a\r\ndata: b\r\r: c\n{\n}\n\n"],
           (b"data: ", b"data:", b"\n\n", b"\r\n", b"\r", b"{", b"event: a\n", b"\xef\xbb\xbf")),
    Target("chat", chat, _seeds(CHAT), CHAT_WORDS),
    Target("ollama", native, _seeds(NATIVE), _words(NATIVE)),
    Target("messages-backend", messages, _seeds(MESSAGES), _words(MESSAGES)),
    Target("responses-backend", responses, _seeds(RESPONSES), _words(RESPONSES)),
)  # fmt: skip
