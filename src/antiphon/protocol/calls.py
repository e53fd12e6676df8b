"""Function calls and their outputs: each belongs to the other (specification section 13)."""

from collections.abc import Iterable, Sequence
from typing import Any

from antiphon.errors import ClientError
from antiphon.protocol.items import FunctionCall, FunctionCallOutput, InputItem


def call_ids(items: Iterable[InputItem]) -> frozenset[str]:
    """Return the ids of the calls in a conversation: a new call must have another."""
    return frozenset(item.call_id for item in items if isinstance(item, FunctionCall))


def check_calls(items: Iterable[Any]) -> None:
    """Raise `ClientError` (400, param `input`) unless calls and outputs pair off in what the model is to see.

    `items` is the whole list, history and new input together, in order: no `call_id` names two calls or two outputs,
    every output stands after its call, and every call has its output.
    """
    calls: dict[str, None] = {}  # in order, so that the first call left open is the one named
    outputs: dict[str, None] = {}
    for item in items:
        if isinstance(item, FunctionCall):
            _add_once(calls, item.call_id, "function call")
        elif isinstance(item, FunctionCallOutput):
            _add_once(outputs, item.call_id, "function call output")
            if item.call_id not in calls:
                raise _wrong(f"No tool call found for function call output with call_id {item.call_id}.")
    for call_id in calls:
        if call_id not in outputs:
            raise _wrong(f"No tool output found for function call {call_id}.")


def _add_once(seen: dict[str, None], call_id: str, what: str) -> None:
    if call_id in seen:
        raise _wrong(f"Duplicate {what} found with call_id {call_id}.", "invalid_value")
    seen[call_id] = None


def _wrong(message: str, code: str | None = None) -> ClientError:
    return ClientError(message, code=code, param="input")


def awaited(items: Sequence[Any]) -> list[bool]:
    """Return for each place in `items` whether a call before it has its output there or later: no place to cut."""
    answered_at = {item.call_id: place for place, item in enumerate(items) if isinstance(item, FunctionCallOutput)}
    last, places = -1, []
    for place, item in enumerate(items):
        places.append(last >= place)
        if isinstance(item, FunctionCall):
            last = max(last, answered_at.get(item.call_id, -1))
    return places
