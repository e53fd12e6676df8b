"""One answer in the two forms of Chat Completions: a completion, and the chunks that tell it piece by piece."""

from collections.abc import Iterator, Sequence
from typing import Any

Chunk = dict[str, Any]
Completion = dict[str, Any]

SAID_ONCE = frozenset({"id", "type", "role", "index", "finish_reason"})
"""Texts of a choice that a later chunk repeats or replaces; any other text grows."""


def to_chunks(completion: Completion, *, with_usage: bool = True) -> Iterator[Chunk]:
    """Give a completion as chunks, a field of the message each; `with_usage`, the last has the usage and no choice."""
    rest = {name: value for name, value in completion.items() if name not in {"choices", "usage"}}
    head = {**rest, "object": "chat.completion.chunk"}
    for number, choice in enumerate(completion["choices"]):
        for change in _changes(choice):
            yield {**head, "choices": [{"index": choice.get("index", number), "finish_reason": None, **change}]}
    if with_usage and completion.get("usage"):
        yield {**head, "choices": [], "usage": completion["usage"]}


def _changes(choice: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Give what each chunk says of a choice; the logprobs go with the text."""
    message = choice["message"]
    yield {"delta": {"role": message.get("role", "assistant")}}
    for name, value in message.items():
        if name == "tool_calls" and value:
            yield {"delta": {name: [{"index": index, **call} for index, call in enumerate(value)]}}
        elif value and name != "role":
            logprobs = choice.get("logprobs") if name == "content" else None
            yield {"delta": {name: value}} | ({"logprobs": logprobs} if logprobs else {})
    yield {"delta": {}, "finish_reason": choice.get("finish_reason")}


def to_completion(chunks: Sequence[Chunk]) -> Completion:
    """Return the completion that chunks add up to."""
    completion: Completion = {}
    choices: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        completion |= {name: value for name, value in chunk.items() if value is not None}
        for choice in chunk.get("choices") or ():
            _grow(choices.setdefault(choice.get("index") or 0, {"delta": {}}), choice)
    listed = [_choice(index, choices[index]) for index in sorted(choices)]
    return completion | {"object": "chat.completion", "choices": listed}


def _choice(index: int, grown: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": None, "refusal": None, **grown.pop("delta")}
    for call in message.get("tool_calls") or ():
        call.pop("index", None)
    return {"index": index, "message": message, "logprobs": None, "finish_reason": None, **grown}


def _grow(whole: dict[str, Any], change: dict[str, Any]) -> None:
    for name, value in change.items():
        before = whole.get(name)
        if value is None:
            continue
        if isinstance(value, dict):
            _grow(whole.setdefault(name, {}), value)
        elif isinstance(value, list):
            _extend(whole.setdefault(name, []), value)
        elif isinstance(value, str) and isinstance(before, str) and name not in SAID_ONCE:
            whole[name] = before + value
        else:
            whole[name] = value


def _extend(whole: list[Any], changes: list[Any]) -> None:
    """Add to a list; what carries the `index` of a member, such as a call's arguments, is a part of that member."""
    for change in changes:
        index = change.get("index") if isinstance(change, dict) else None
        if index is None:
            whole.append(change)
            continue
        member = next((one for one in whole if isinstance(one, dict) and one.get("index") == index), None)
        if member is None:
            whole.append(member := {})
        _grow(member, change)
