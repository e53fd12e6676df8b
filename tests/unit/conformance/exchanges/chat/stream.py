"""Streamed answers."""

from dataclasses import replace
from typing import Any

from antiphon_verify.areas.chat import stream
from tests.unit.conformance.exchanges import Answer, Shown, changed, chunks, says, shown, spoiled
from tests.unit.conformance.exchanges.completions import CHUNKS, COMPLETION, END, ROLE, USAGE, chunk

WORDS = (ROLE, chunk({"content": "One two three "}), chunk({"content": "four five six."}), END)

GOOD = chunks(*WORDS)

STREAMED = chunks(*(one | {"usage": None} for one in CHUNKS), USAGE)

PLAIN = says(COMPLETION)


def each(**fields: Any) -> Answer:
    """All chunks, with other fields."""
    return chunks(*(one | fields for one in WORDS))


EXCHANGES: dict[str, Shown] = {
    **shown(
        stream.an_answer_is_streamed,
        [GOOD],
        {
            "chat:stream:streams": [chunks(ROLE, {"error": {"message": "It broke.", "type": "server_error"}})],
            "chat:stream:content-type": [replace(GOOD, headers={"content-type": "application/json"})],
            "chat:stream:object": [each(object="chat.completion")],
            "chat:stream:one-id": [chunks(ROLE, *(one | {"id": "chatcmpl-2"} for one in WORDS[1:]))],
            "chat:stream:created": [each(created="now")],
            "chat:stream:one-created": [chunks(*WORDS[:3], END | {"created": 1763000001})],
            "chat:stream:model": [each(model=None)],
            "chat:stream:choices": [chunks(*WORDS[:3], changed(END, "choices", 0, "index", to=None))],
            "chat:stream:role-first": [chunks(*WORDS[1:])],
            "chat:stream:content": [chunks(ROLE, chunk({"content": ["One"]}), *WORDS[1:])],
            "chat:stream:finish-reason": [chunks(*WORDS[:3])],
            "chat:stream:finish-null": [chunks(chunk({"role": "assistant"}, ""), *WORDS)],
            "chat:stream:finish-last": [chunks(*WORDS, chunk({"content": " seven"}))],
            "chat:stream:done": [chunks(*WORDS, done=False)],
            "chat:stream:some-text": [chunks(ROLE, END)],
            "chat:stream:several-deltas": [chunks(ROLE, chunk({"content": "One two three four five."}), END)],
            "chat:stream:usage-null": [chunks(*WORDS, USAGE)],
        },
    ),
    **shown(
        stream.usage_is_streamed,
        [STREAMED, PLAIN],
        {
            "chat:stream:usage": [chunks(*CHUNKS)],
            "chat:stream:usage-last": [chunks(*CHUNKS[:3], END | {"usage": USAGE["usage"]}), PLAIN],
            "chat:stream:usage-same": [STREAMED, PLAIN.patched("usage", "prompt_tokens", to=99)],
        },
    ),
    **spoiled(stream.no_stream_is_one_answer, [PLAIN], [GOOD]),
}
