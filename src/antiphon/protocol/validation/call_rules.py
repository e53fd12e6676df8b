"""Calls and their outputs: each must belong to the other (specification section 13)."""

from collections.abc import Iterable, Sequence
from typing import Any

from antiphon.errors import ClientError
from antiphon.protocol.items.calls import (
    ApplyPatchCall,
    ApplyPatchCallOutput,
    ComputerCall,
    ComputerCallOutput,
    CustomToolCall,
    CustomToolCallOutput,
    LocalShellCall,
    LocalShellCallOutput,
    ShellCall,
    ShellCallOutput,
    ToolSearchCall,
    ToolSearchOutput,
)
from antiphon.protocol.items.content import Item
from antiphon.protocol.items.hosted import Program, ProgramOutput
from antiphon.protocol.items.messages import FunctionCall, FunctionCallOutput, InputItem, ItemList

Call = (
    FunctionCall
    | CustomToolCall
    | ToolSearchCall
    | LocalShellCall
    | ShellCall
    | ApplyPatchCall
    | ComputerCall
    | Program
)
Output = (
    FunctionCallOutput
    | CustomToolCallOutput
    | ToolSearchOutput
    | LocalShellCallOutput
    | ShellCallOutput
    | ApplyPatchCallOutput
    | ComputerCallOutput
    | ProgramOutput
)

CALLS: dict[type[Item], str] = {
    FunctionCall: "function call",
    CustomToolCall: "custom tool call",
    ToolSearchCall: "tool search call",
    LocalShellCall: "local shell call",
    ShellCall: "shell call",
    ApplyPatchCall: "apply patch call",
    ComputerCall: "computer call",
    Program: "program",
}
"""Items that wait for an output, as errors call them."""

OUTPUTS: dict[type[Item], str] = {
    FunctionCallOutput: "function call output",
    CustomToolCallOutput: "custom tool call output",
    ToolSearchOutput: "tool search output",
    LocalShellCallOutput: "local shell call output",
    ShellCallOutput: "shell call output",
    ApplyPatchCallOutput: "apply patch call output",
    ComputerCallOutput: "computer call output",
    ProgramOutput: "program output",
}
"""Items that answer them, as errors call them."""


def tie(item: Any) -> str:
    """Return the id that connects a call with its output, empty if their positions do (a tool
    search by the server).

    Almost all have a `call_id`: where long histories pass, `item.call_id or tie(item)` is the same
    without a call.
    """
    return item.call_id or (item.id if type(item) is LocalShellCallOutput else "") or ""


def call_ids(items: Iterable[InputItem]) -> frozenset[str]:
    """Return the ids of the calls in a conversation: a new call must have a different one."""
    if isinstance(items, ItemList) and CALLS.keys().isdisjoint(items.kinds):
        return frozenset()
    return frozenset(tie(item) for item in items if type(item) in CALLS)


def open_calls(items: Iterable[Any]) -> dict[str, Any]:
    """Return the calls without an output so far, by the ids that connect them, in order."""
    calls: dict[str, Any] = {}
    for item in items:
        if type(item) in CALLS and tie(item):
            calls[tie(item)] = item
        elif type(item) in OUTPUTS:
            calls.pop(tie(item), None)
    return calls


def check_calls(items: Iterable[Any]) -> None:
    """Raise `ClientError` (400, param `input`) unless calls and outputs are paired in what the
    model receives.

    `items` is the whole list, history and new input together, in order: no `call_id` names two
    calls or two outputs, every output follows its call, and every call has its output. The output
    of an asynchronous call can be late.
    """
    calls: dict[str, Any] = {}  # in order, so that the first call left open is the one named
    outputs: dict[str, Any] = {}
    for item in items:
        kind = type(item)
        if kind in CALLS:
            _add_once(calls, item, CALLS[kind])
        elif kind in OUTPUTS:
            call_id = _add_once(outputs, item, OUTPUTS[kind])
            if call_id and call_id not in calls:
                raise _wrong(f"No tool call found for {OUTPUTS[kind]} with call_id {call_id}.")
    for call_id, call in calls.items():
        if call_id not in outputs and not getattr(call, "async_", None):
            raise _wrong(f"No tool output found for {CALLS[type(call)]} {call_id}.")


def awaited(items: Sequence[Any]) -> list[bool]:
    """Return for each position in `items` whether a call before it has its output there or later:
    no position to cut.
    """
    answered_at = {
        tie(item): place for place, item in enumerate(items) if type(item) in OUTPUTS and tie(item)
    }
    last = -1
    places = []
    for place, item in enumerate(items):
        places.append(last >= place)
        if type(item) in CALLS:
            last = max(last, answered_at.get(tie(item), -1))
    return places


def _add_once(seen: dict[str, Any], item: Any, what: str) -> str:
    call_id = tie(item)
    if call_id in seen:
        raise _wrong(f"Duplicate {what} found with call_id {call_id}.", "invalid_value")
    if call_id:
        seen[call_id] = item
    return call_id


def _wrong(message: str, code: str | None = None) -> ClientError:
    return ClientError(message, code=code, param="input")
