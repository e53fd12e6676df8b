"""Streamed responses of Chat Completions, chunk by chunk."""

from dataclasses import replace
from typing import Any

from antiphon_verify.areas.chat.answer import REASONS, is_thinking, is_usage
from antiphon_verify.case import case
from antiphon_verify.exchange import Exchange
from antiphon_verify.reading import MISSING, at, is_integer, is_text, listed, preview
from antiphon_verify.replies import changed, chunks
from antiphon_verify.replies.chat import stream as replies
from antiphon_verify.replies.completions import CHUNKS, END, ROLE, USAGE, chunk
from antiphon_verify.requirement import Stop, may, must, should
from antiphon_verify.trial import Steps, Trial

Chunks = list[dict[str, Any]]

LONG = 20
"""Characters of a text that no model sends in one delta."""


def choices_of(chunks: Chunks) -> list[Any]:
    """Return the choices of all chunks."""
    return [choice for chunk in chunks for choice in listed(chunk, "choices")]


def text_of(chunks: Chunks) -> str:
    """Return the text of all deltas."""
    contents = (at(choice, "delta", "content") for choice in choices_of(chunks))
    return "".join(content for content in contents if isinstance(content, str))


def chunks_of(trial: Trial, exchange: Exchange) -> Chunks:
    """Return the chunks of a stream.

    Ends the case without chunks, or if one of them is an error.
    """
    chunks = trial.streamed(exchange)
    if wrong := [chunk for chunk in chunks if chunk.get("error")]:
        raise Stop("failed", f"The stream has an error: {preview(wrong[0])}")
    return chunks


def has_text(choice: Any) -> bool:
    """Whether the delta of a choice has content."""
    delta = at(choice, "delta")
    return bool(at(delta, "content") or at(delta, "tool_calls") or at(delta, "refusal"))


@case(
    must(
        "chat:stream:streams",
        "chat-api streaming",
        "`stream: true` returns a complete stream of JSON objects without an error.",
        fault=[chunks(ROLE, {"error": {"message": "It broke.", "type": "server_error"}})],
    ),
    asides=(  # they can be judged only if a stream arrived
        must(
            "chat:stream:content-type",
            "chat-api streaming",
            "The content type of a stream is `text/event-stream`.",
            fault=[replace(replies.GOOD, headers={"content-type": "application/json"})],
        ),
        must(
            "chat:stream:object",
            "chat-api streaming",
            "Every chunk is a `chat.completion.chunk` object.",
            fault=[replies.each(object="chat.completion")],
        ),
        must(
            "chat:stream:one-id",
            "chat-api streaming",
            "All chunks have the same `id`.",
            fault=[chunks(ROLE, *(one | {"id": "chatcmpl-2"} for one in replies.WORDS[1:]))],
        ),
        must(
            "chat:stream:created",
            "chat-api streaming",
            "Every chunk has an integer `created`.",
            fault=[replies.each(created="now")],
        ),
        should(
            "chat:stream:one-created",
            "chat-api streaming",
            "All chunks have the same `created`.",
            fault=[chunks(*replies.WORDS[:3], END | {"created": 1763000001})],
        ),
        must(
            "chat:stream:model",
            "chat-api streaming",
            "Every chunk contains the name of the model.",
            fault=[replies.each(model=None)],
        ),
        must(
            "chat:stream:choices",
            "issue langchain#34654",
            "Every chunk has a list of choices, each with an index and a `delta`.",
            fault=[chunks(*replies.WORDS[:3], changed(END, "choices", 0, "index", to=None))],
        ),
        should(
            "chat:stream:role-first",
            "chat-api streaming",
            "The first delta has the role `assistant`.",
            fault=[chunks(*replies.WORDS[1:])],
        ),
        must(
            "chat:stream:content",
            "chat-api streaming",
            "The `content` of a delta is a string or null.",
            fault=[chunks(ROLE, chunk({"content": ["One"]}), *replies.WORDS[1:])],
        ),
        must(
            "chat:stream:finish-reason",
            "issue bifrost#1821",
            "One chunk has the `finish_reason`, one of the values that the API defines.",
            fault=[chunks(*replies.WORDS[:3])],
        ),
        should(
            "chat:stream:finish-null",
            "chat-api streaming",
            "Before the last choice, `finish_reason` is null or absent.",
            fault=[chunks(chunk({"role": "assistant"}, ""), *replies.WORDS)],
        ),
        must(
            "chat:stream:finish-last",
            "issue litellm#17652",
            "No delta has content after the `finish_reason`.",
            fault=[chunks(*replies.WORDS, chunk({"content": " seven"}))],
        ),
        must(
            "chat:stream:done",
            "chat-api streaming",
            "The stream ends with `[DONE]`.",
            fault=[chunks(*replies.WORDS, done=False)],
        ),
        must(
            "chat:stream:some-text",
            "chat-api streaming",
            "A text is sent in deltas.",
            fault=[chunks(ROLE, END)],
        ),
        may(
            "chat:stream:several-deltas",
            "chat-api streaming",
            "A longer text is sent in more than one delta.",
            fault=[chunks(ROLE, chunk({"content": "One two three four five."}), END)],
        ),
        should(
            "chat:stream:usage-null",
            "chat-api streaming",
            "Without `include_usage`, no chunk has usage.",
            fault=[chunks(*replies.WORDS, USAGE)],
        ),
    ),
    good=[replies.GOOD],
)
def an_answer_is_streamed(trial: Trial) -> Steps:
    """Stream a short text."""
    exchange = yield from trial.chat("Count from one to ten in words.", stream=True)
    chunks = chunks_of(trial, exchange)
    trial.expect("chat:stream:streams", True)
    judge_frames(trial, exchange)
    judge_heads(trial, chunks)
    judge_choices(trial, chunks)
    judge_text(trial, chunks)
    trial.expect(
        "chat:stream:usage-null",
        not any(chunk.get("usage") for chunk in chunks),
        preview(chunks[-1]),
    )


def judge_frames(trial: Trial, exchange: Exchange) -> None:
    """Judge the stream as an event stream."""
    kind = exchange.headers.get("content-type", "")
    trial.expect(
        "chat:stream:content-type", kind.startswith("text/event-stream"), kind or "no content type"
    )
    data = [frame.data for frame in exchange.frames if frame.data is not None]
    is_done = data[-1:] == ["[DONE]"] and data.count("[DONE]") == 1
    trial.expect(
        "chat:stream:done", is_done, f"The last data is {preview(data[-1] if data else None)}."
    )


def judge_heads(trial: Trial, chunks: Chunks) -> None:
    """Judge what every chunk must have."""
    kinds, ids, times = (
        [chunk.get(key) for chunk in chunks] for key in ("object", "id", "created")
    )
    trial.expect(
        "chat:stream:object", all(kind == "chat.completion.chunk" for kind in kinds), kinds[0]
    )
    trial.expect("chat:stream:one-id", is_text(ids[0]) and all(one == ids[0] for one in ids), ids)
    if trial.expect("chat:stream:created", all(map(is_integer, times)), times):
        trial.expect("chat:stream:one-created", all(one == times[0] for one in times), times)
    trial.expect(
        "chat:stream:model", all(is_text(chunk.get("model")) for chunk in chunks), chunks[0]
    )


def judge_choices(trial: Trial, chunks: Chunks) -> None:
    """Judge the choices, and their end."""
    choices = choices_of(chunks)
    are_lists = all(isinstance(chunk.get("choices"), list) for chunk in chunks)
    are_right = all(
        is_integer(at(one, "index")) and isinstance(at(one, "delta"), dict) for one in choices
    )
    trial.expect("chat:stream:choices", are_lists and are_right, chunks)
    role = at(choices, 0, "delta", "role")
    trial.expect("chat:stream:role-first", role == "assistant", preview(at(choices, 0)))
    reasons = [
        (place, at(one, "finish_reason"))
        for place, one in enumerate(choices)
        if at(one, "finish_reason")
    ]
    is_one = len(reasons) == 1 and isinstance(reasons[0][1], str) and reasons[0][1] in REASONS
    others = [reason for one in choices if not (reason := at(one, "finish_reason"))]
    trial.expect(
        "chat:stream:finish-null", all(one is None or one is MISSING for one in others), others
    )
    if trial.expect("chat:stream:finish-reason", is_one, [reason for _, reason in reasons]):
        after = [one for one in choices[reasons[0][0] + 1 :] if has_text(one)]
        trial.expect("chat:stream:finish-last", not after, after)


def judge_text(trial: Trial, chunks: Chunks) -> None:
    """Judge the content of the deltas."""
    deltas = [at(one, "delta") for one in choices_of(chunks)]
    contents = [content for one in deltas if (content := at(one, "content")) is not MISSING]
    trial.expect(
        "chat:stream:content",
        all(one is None or isinstance(one, str) for one in contents),
        contents,
    )
    if not any(at(one, "tool_calls") or at(one, "refusal") or is_thinking(one) for one in deltas):
        trial.expect("chat:stream:some-text", any(contents), chunks)
    if len(text_of(chunks)) > LONG:
        trial.expect("chat:stream:several-deltas", sum(map(bool, contents)) > 1, contents)


@case(
    must(
        "chat:stream:usage",
        "chat-api streaming",
        "With `include_usage`, the stream reports its usage.",
        fault=[chunks(*CHUNKS)],
    ),
    asides=(
        should(
            "chat:stream:usage-last",
            "chat-api streaming",
            "Usage is in the last chunk, which has no choices.",
            fault=[chunks(*CHUNKS[:3], END | {"usage": USAGE["usage"]}), replies.PLAIN],
        ),
        should(
            "chat:stream:usage-same",
            "chat-api streaming",
            "A prompt counts as many tokens streamed as not streamed.",
            fault=[replies.STREAMED, replies.PLAIN.patched("usage", "prompt_tokens", to=99)],
        ),
    ),
    good=[replies.STREAMED, replies.PLAIN],
)
def usage_is_streamed(trial: Trial) -> Steps:
    """Stream a text with its usage, and send the same request without a stream."""
    options = {"stream": True, "stream_options": {"include_usage": True}}
    chunks = chunks_of(trial, (yield from trial.chat("Say hello.", **options)))
    with_usage = [chunk for chunk in chunks if chunk.get("usage")]
    if trial.expect(
        "chat:stream:usage",
        bool(with_usage) and is_usage(with_usage[-1]["usage"]),
        preview(chunks[-1]),
    ):
        is_last = (
            with_usage[-1] is chunks[-1]
            and len(with_usage) == 1
            and chunks[-1].get("choices") == []
        )
        trial.expect("chat:stream:usage-last", is_last, preview(chunks[-1]))
        plain = at((yield from trial.chat("Say hello.")).json, "usage", "prompt_tokens")
        if is_integer(plain):
            streamed = with_usage[-1]["usage"]["prompt_tokens"]
            trial.expect(
                "chat:stream:usage-same", streamed == plain, f"{streamed} streamed, {plain} plain"
            )


@case(
    must(
        "chat:stream:plain",
        "chat-api streaming",
        "`stream: false` returns one JSON object.",
        fault=[replies.GOOD],
    ),
    good=[replies.PLAIN],
)
def no_stream_is_one_answer(trial: Trial) -> Steps:
    """Send `stream: false`."""
    exchange = yield from trial.chat("Say hello.", stream=False)
    trial.succeed(exchange)
    trial.expect(
        "chat:stream:plain", at(exchange.json, "object") == "chat.completion", exchange.came
    )
