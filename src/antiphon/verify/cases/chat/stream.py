"""Streamed answers of Chat Completions, chunk by chunk."""

from typing import Any

from antiphon.verify.case import case
from antiphon.verify.cases.chat.answer import REASONS, is_usage
from antiphon.verify.exchange import Exchange
from antiphon.verify.reading import MISSING, at, is_integer, is_text, listed, shown
from antiphon.verify.trial import Steps, Trial

Chunks = list[dict[str, Any]]


def choices_of(chunks: Chunks) -> list[Any]:
    """Return the choices of all chunks."""
    return [choice for chunk in chunks for choice in listed(chunk, "choices")]


def text_of(chunks: Chunks) -> str:
    """Return the text of all deltas."""
    contents = (at(choice, "delta", "content") for choice in choices_of(chunks))
    return "".join(content for content in contents if isinstance(content, str))


def has_said(choice: Any) -> bool:
    """Whether a choice's delta says anything."""
    delta = at(choice, "delta")
    return bool(at(delta, "content") or at(delta, "tool_calls") or at(delta, "refusal"))


@case(
    "chat:stream:content-type",
    "chat:stream:object",
    "chat:stream:one-id",
    "chat:stream:created",
    "chat:stream:model",
    "chat:stream:choices",
    "chat:stream:role-first",
    "chat:stream:content",
    "chat:stream:finish-reason",
    "chat:stream:finish-last",
    "chat:stream:done",
    "chat:stream:some-text",
    "chat:stream:several-deltas",
    "chat:stream:usage-null",
)
def an_answer_is_streamed(trial: Trial) -> Steps:
    """Stream a short text."""
    exchange = yield from trial.chat("Count from one to ten in words.", stream=True)
    chunks = trial.streamed(exchange)
    judge_frames(trial, exchange)
    judge_heads(trial, chunks)
    judge_choices(trial, chunks)
    trial.expect("chat:stream:usage-null", not any(chunk.get("usage") for chunk in chunks), shown(chunks[-1]))


def judge_frames(trial: Trial, exchange: Exchange) -> None:
    """Judge the stream as one of events."""
    kind = exchange.headers.get("content-type", "")
    trial.expect("chat:stream:content-type", kind.startswith("text/event-stream"), kind or "no content type")
    data = [frame.data for frame in exchange.frames if frame.data is not None]
    is_done = data[-1:] == ["[DONE]"] and data.count("[DONE]") == 1
    trial.expect("chat:stream:done", is_done, f"The last data is {shown(data[-1] if data else None)}.")


def judge_heads(trial: Trial, chunks: Chunks) -> None:
    """Judge what every chunk has."""
    kinds, ids, times = ([chunk.get(key) for chunk in chunks] for key in ("object", "id", "created"))
    trial.expect("chat:stream:object", all(kind == "chat.completion.chunk" for kind in kinds), kinds[0])
    trial.expect("chat:stream:one-id", is_text(ids[0]) and all(one == ids[0] for one in ids), ids)
    trial.expect("chat:stream:created", is_integer(times[0]) and all(one == times[0] for one in times), times)
    trial.expect("chat:stream:model", all(is_text(chunk.get("model")) for chunk in chunks), chunks[0])


def judge_choices(trial: Trial, chunks: Chunks) -> None:
    """Judge the deltas, and how they end."""
    choices = choices_of(chunks)
    are_lists = all(isinstance(chunk.get("choices"), list) for chunk in chunks)
    are_right = all(is_integer(at(one, "index")) and isinstance(at(one, "delta"), dict) for one in choices)
    trial.expect("chat:stream:choices", are_lists and are_right, chunks)
    role = at(choices, 0, "delta", "role")
    trial.expect("chat:stream:role-first", role == "assistant", shown(at(choices, 0)))
    contents = [content for one in choices if (content := at(one, "delta", "content")) is not MISSING]
    trial.expect("chat:stream:content", all(one is None or isinstance(one, str) for one in contents), contents)
    reasons = [(place, at(one, "finish_reason")) for place, one in enumerate(choices) if at(one, "finish_reason")]
    is_one = len(reasons) == 1 and isinstance(reasons[0][1], str) and reasons[0][1] in REASONS
    if trial.expect("chat:stream:finish-reason", is_one, [reason for _, reason in reasons]):
        after = [one for one in choices[reasons[0][0] + 1 :] if has_said(one)]
        trial.expect("chat:stream:finish-last", not after, after)
    deltas = [one for one in contents if one]
    if not any(at(one, "delta", "tool_calls") or at(one, "delta", "refusal") for one in choices):
        trial.expect("chat:stream:some-text", bool(deltas), chunks)
    if len(text_of(chunks)) > 20:
        trial.expect("chat:stream:several-deltas", len(deltas) > 1, deltas)


@case("chat:stream:usage", "chat:stream:usage-last")
def usage_is_streamed(trial: Trial) -> Steps:
    """Stream a text with its usage."""
    chunks = trial.streamed((yield from trial.chat("Say hello.", stream=True, stream_options={"include_usage": True})))
    told = [chunk for chunk in chunks if chunk.get("usage")]
    if trial.expect("chat:stream:usage", bool(told) and is_usage(told[-1]["usage"]), shown(chunks[-1])):
        is_last = told[-1] is chunks[-1] and len(told) == 1 and chunks[-1].get("choices") == []
        trial.expect("chat:stream:usage-last", is_last, shown(chunks[-1]))


@case("chat:stream:plain")
def no_stream_is_one_answer(trial: Trial) -> Steps:
    """Say that no stream is wanted."""
    exchange = yield from trial.chat("Say hello.", stream=False)
    trial.succeed(exchange)
    trial.expect("chat:stream:plain", at(exchange.json, "object") == "chat.completion", exchange.came)
