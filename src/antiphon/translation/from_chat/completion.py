"""A streamed chat completion folded into the object of a non-streamed answer. No I/O.

Strings grow, lists collect, and everything else is replaced, whatever names the backend uses.
Pieces of a call belong together by `id` or `index`: some backends omit one of them, some use the
index 0 for every call.
"""

import json
from collections.abc import Mapping
from typing import Any

from antiphon.protocol.json_members import SLICE, decode_value
from antiphon.protocol.json_slices import decode_in_slices
from antiphon.translation.from_chat.finish_reasons import BREAKDOWNS
from antiphon.translation.from_chat.reader import larger
from antiphon.translation.from_chat.text_filters import repaired

REPEATED = frozenset({"id", "type", "role"})
"""Strings that backends send whole, some of them with each piece."""

CALLS = "tool_calls"

GROWING = frozenset({"text", "thinking"})
"""Types of the parts of a content that continue in the next piece."""


class _Text(list[str]):
    """The pieces of a string: appending each to a growing string would take quadratic time."""


class CompletionFold:
    """Feed it each chunk of a stream; `completion` is then the object."""

    def __init__(self) -> None:
        self._head: dict[str, Any] = {}
        self._choices: dict[int, dict[str, Any]] = {}
        self._is_broken = False

    def feed(self, chunk: Mapping[str, Any]) -> None:
        """Add the content of a chunk."""
        if chunk.get("error") or not isinstance(chunk.get("choices") or [], list):
            self._is_broken = True
            return
        usage = larger(self._head.get("usage"), chunk.get("usage"))
        self._head |= {
            name: value for name, value in chunk.items() if name != "choices" and value is not None
        }
        if usage is not None:
            self._head["usage"] = usage
        for choice in chunk.get("choices") or ():
            if isinstance(choice, dict):
                self._add(choice)

    def break_off(self) -> None:
        """Record that a chunk was unreadable: there is no completion."""
        self._is_broken = True

    def completion(self, *, is_ended: bool) -> dict[str, Any] | None:
        """Return the object, None unless it is complete: the stream `is_ended`, or each choice has
        its reason.
        """
        choices = [_plain(choice) for _, choice in sorted(self._choices.items())]
        if self._is_broken or not (is_ended or all(choice["finish_reason"] for choice in choices)):
            return None
        for choice in choices:
            calls = choice["message"].get(CALLS)
            choice["message"] |= {CALLS: [_call(call) for call in calls]} if calls else {}
        return complete({**self._head, "choices": choices})

    def _add(self, choice: Mapping[str, Any]) -> None:
        index = choice.get("index")
        number = index if isinstance(index, int) else 0
        begun = {"index": number, "message": {}, "logprobs": None, "finish_reason": None}
        known = self._choices.setdefault(number, begun)
        message = choice.get("delta") or choice.get("message")
        if isinstance(message, dict):
            _merge(known["message"], message)
        if isinstance(choice.get("logprobs"), dict):
            known["logprobs"] = known["logprobs"] or {}
            _merge(known["logprobs"], choice["logprobs"])
        others = choice.keys() - {"index", "delta", "message", "logprobs"}
        usage = larger(known.get("usage"), choice.get("usage"))
        known |= {name: choice[name] for name in sorted(others) if choice[name] is not None}
        if usage is not None:
            known["usage"] = usage


def read_completion(data: bytes) -> dict[str, Any] | None:
    """Return the completion in a non-streamed answer, None for anything else."""
    answer = read_object(data)
    choices = answer.get("choices") if answer is not None else None
    if answer is None or answer.get("error") or not isinstance(choices, list):
        return None
    is_read = all(
        isinstance(choice, dict) and isinstance(choice.get("message"), dict) for choice in choices
    )
    return complete(answer) if is_read else None


def read_object(data: bytes) -> dict[str, Any] | None:
    """Return the JSON object in these bytes, even with half a surrogate pair in it; None for
    anything else.
    """
    try:
        value = decode_value(data) if len(data) <= SLICE else decode_in_slices(data)
    except (ValueError, RecursionError):
        try:
            value = json.loads(data.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def complete(answer: dict[str, Any]) -> dict[str, Any] | None:
    """Return an answer with the fields of every completion; None if it has no choices, or one of
    them failed.
    """
    if not answer["choices"] or any(
        choice.get("finish_reason") in BREAKDOWNS for choice in answer["choices"]
    ):
        return None
    for choice in answer["choices"]:
        choice["message"] = {
            "role": "assistant",
            "content": None,
            "refusal": None,
            **choice["message"],
        }
    whole: dict[str, Any] = repaired({**answer, "object": "chat.completion"})
    return whole


def _merge(whole: dict[str, Any], piece: Mapping[str, Any]) -> None:
    for name, value in piece.items():
        known = whole.get(name)
        if value is None or (name in REPEATED and not value):
            whole.setdefault(name, value)
        elif isinstance(value, str) and name not in REPEATED:
            if type(known) is list:
                known += _parts(value)
                continue
            whole[name] = known = known if isinstance(known, _Text) else _Text()
            if (
                name != "name" or "".join(known) != value
            ):  # some backends repeat the name of a function
                known.append(value)
        elif isinstance(value, dict):
            whole[name] = known = known if isinstance(known, dict) else {}
            _merge(known, value)
        elif isinstance(value, list):
            whole[name] = known = known if type(known) is list else _parts("".join(known or ()))
            _extend(known, value, are_calls=name == CALLS)
        else:
            whole[name] = value


def _parts(text: str) -> list[Any]:
    """Return a text among the parts of a content: Mistral's models begin with a list for their
    reasoning.
    """
    return [{"type": "text", "text": text}] if text else []


def _call(call: Any) -> Any:
    """Return a call as in a non-streamed answer, even if the backend omitted fields."""
    if not isinstance(call, dict) or not isinstance(call.get("function"), dict):
        return call
    function = {**call["function"], "arguments": call["function"].get("arguments") or ""}
    return (
        {"type": "function"}
        | {name: value for name, value in call.items() if name != "index"}
        | {"function": function}
    )


def _extend(entries: list[Any], pieces: list[Any], *, are_calls: bool) -> None:
    for piece in pieces:
        if not isinstance(piece, dict):
            entries.append(piece)
            continue
        entry = _entry(entries, piece, are_calls=are_calls)
        if entry is None:
            entry = {}
            entries.append(entry)
        _merge(entry, piece)


def _entry(
    entries: list[Any], piece: Mapping[str, Any], *, are_calls: bool
) -> dict[str, Any] | None:
    """Return the entry that a piece continues, None if it begins a new one."""
    index = piece.get("index")
    key = piece.get("id")
    if index is None and not are_calls:
        kind = piece.get("type")
        before = entries[-1] if entries else None
        return (
            before
            if kind in GROWING and isinstance(before, dict) and before.get("type") == kind
            else None
        )
    known = [entry for entry in reversed(entries) if isinstance(entry, dict)]
    if key and (same := next((entry for entry in known if entry.get("id") == key), None)):
        return same
    last = next((entry for entry in known if index is None or entry.get("index") == index), None)
    return None if last is None or (key and last.get("id")) else last


def _plain(value: Any) -> Any:
    if isinstance(value, _Text):
        return "".join(value)
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    return [_plain(member) for member in value] if isinstance(value, list) else value
