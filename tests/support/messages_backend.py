"""Answers of a Messages backend, read as a run reads them: as Chat Completions, then as events."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from antiphon.translation.from_messages_api.answer import MessagesAnswer
from tests.support.replay import JSON, Answer, Script
from tests.support.translate import Translation, translate


def read(parts: bytes | Iterable[bytes], **options: Any) -> Translation:
    """Translate a stream, in one read or in several."""
    answer = MessagesAnswer("chatcmpl-1", 1_700_000_000)
    pieces = [parts] if isinstance(parts, bytes) else parts
    chunks = [b"".join(events) for events in [*map(answer.feed, pieces), answer.finish()]]
    return translate([chunk for chunk in chunks if chunk], **options)


def read_plain(message: dict[str, Any], **options: Any) -> Translation:
    """Translate a non-streamed answer."""
    completion = MessagesAnswer("chatcmpl-1", 1_700_000_000).whole(json.dumps(message).encode())
    return translate(completion, is_json=True, **options)


def frames(*events: dict[str, Any]) -> bytes:
    """Events as a backend streams them."""
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (one["type"].encode(), json.dumps(one).encode())
        for one in events
    )


USAGE = {
    "input_tokens": 7,
    "cache_creation_input_tokens": 20,
    "cache_read_input_tokens": 100,
    "output_tokens": 5,
}


def message(*blocks: dict[str, Any], stop: str = "end_turn", **more: Any) -> dict[str, Any]:
    """A whole message."""
    return {
        "id": "msg_up",
        "type": "message",
        "role": "assistant",
        "model": "claude-test",
        "content": [*blocks],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": USAGE,
        **more,
    }


def opening() -> dict[str, Any]:
    """How a stream begins."""
    usage = {**USAGE, "output_tokens": 1}
    begun = message(stop_reason=None, usage=usage)
    return {"type": "message_start", "message": begun}


def block_events(block: dict[str, Any], index: int) -> list[dict[str, Any]]:
    """The events of a block, whose text comes in two deltas."""
    where = {"index": index}
    empty, deltas = _split(block)
    return [
        {"type": "content_block_start", **where, "content_block": empty},
        *({"type": "content_block_delta", **where, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", **where},
    ]


def _split(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match block["type"]:
        case "text":
            cited = [
                {"type": "citations_delta", "citation": one} for one in block.get("citations", ())
            ]
            deltas = [*cited, *_deltas("text_delta", "text", block["text"])]
            return {"type": "text", "text": ""}, deltas
        case "thinking":
            signed = {"type": "signature_delta", "signature": block["signature"]}
            deltas = [*_deltas("thinking_delta", "thinking", block["thinking"]), signed]
            return {"type": "thinking", "thinking": "", "signature": ""}, deltas
        case "tool_use":
            arguments = json.dumps(block["input"]) if block["input"] else ""
            deltas = _deltas("input_json_delta", "partial_json", arguments)
            return {**block, "input": {}}, [
                {"type": "input_json_delta", "partial_json": ""},
                *deltas,
            ]
    return block, []


def _deltas(kind: str, field: str, text: str) -> list[dict[str, Any]]:
    middle = len(text) // 2
    return [{"type": kind, field: half} for half in (text[:middle], text[middle:]) if half]


def events_of(*blocks: dict[str, Any], stop: str = "end_turn", **more: Any) -> list[dict[str, Any]]:
    """The events of a whole stream."""
    return [
        opening(),
        {"type": "ping"},
        *(event for index, block in enumerate(blocks) for event in block_events(block, index)),
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": None, **more},
            "usage": USAGE,
        },
        {"type": "message_stop"},
    ]


def streamed(*blocks: dict[str, Any], **more: Any) -> bytes:
    """A whole stream of these blocks."""
    return frames(*events_of(*blocks, **more))


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def thinking(words: str, signature: str = "sig-1") -> dict[str, Any]:
    return {"type": "thinking", "thinking": words, "signature": signature}


def tool_use(name: str, call_id: str = "toolu_1", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def answering(*answers: Sequence[dict[str, Any]] | Answer, **more: Any) -> Script:
    """A script of a Messages backend: these blocks in turn, streamed or plain as asked, the last
    again and again.
    """
    left = list(answers)

    def script(request: dict[str, Any]) -> Answer:
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, Answer):
            return answer
        has_calls = any(block["type"] == "tool_use" for block in answer)
        stop = {"stop": "tool_use" if has_calls else "end_turn", **more}
        if request["stream"]:
            return Answer([streamed(*answer, **stop)])
        return Answer([json.dumps(message(*answer, **stop)).encode()], JSON)

    return script


def refusing(status: int, kind: str, words: str, **headers: str) -> Answer:
    """An error of the API."""
    body = {"type": "error", "error": {"type": kind, "message": words}, "request_id": "req_1"}
    return Answer([json.dumps(body).encode()], JSON, status, headers)
