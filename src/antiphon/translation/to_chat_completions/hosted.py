"""Items of tools that a server ran: the model receives them as calls that were made and answered.

For a call that this server ran, the item contains in sealed form how the model wrote it and the output it received.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import UNSET

from antiphon.protocol.items.calls import ShellCallOutput
from antiphon.protocol.items.content import InputImage, InputPart, InputText, Item
from antiphon.protocol.items.hosted import (
    CodeInterpreterCall,
    FileSearchCall,
    ImageGenerationCall,
    McpApprovalRequest,
    McpApprovalResponse,
    McpCall,
    WebSearchCall,
)
from antiphon.protocol.items.messages import FunctionCall, FunctionCallOutput, InputItem
from antiphon.protocol.json_members import decode_value
from antiphon.protocol.tool_bindings import Kind
from antiphon.translation.hosted_call import APART
from antiphon.translation.to_chat_completions.reasoning import Unseal

MOST_FIGURES = 4
"""Figures of one call that a model sees."""

LARGEST = 2_000_000
"""Characters of a figure that a model sees: the size of an image above which backends reject or shrink it."""

LONGEST = 20_000
"""Characters of a result that the model reads."""


class ServedCall(FunctionCall, kw_only=True, tag="function_call"):
    """A call of a tool that a server ran, as the model wrote it."""

    kind: Kind = "function"


@dataclass(frozen=True, slots=True)
class Told:
    """A tool's name, its arguments, and its output."""

    name: str
    asked: dict[str, Any]
    said: str
    kind: Kind = "function"
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A call, its output, and whether the next call belongs to the same answer."""

    call: ServedCall
    output: FunctionCallOutput
    joins_next: bool = False


@dataclass(slots=True)
class Approvals:
    """The state of each approval request in a conversation, by id."""

    answers: dict[str, McpApprovalResponse] = field(default_factory=dict)
    settled: set[str] = field(default_factory=set)
    """Requests that another item replaces: the call that ran, or a repeated approval request."""


_OF_APPROVAL = frozenset({McpApprovalRequest, McpApprovalResponse, McpCall})


def approvals_in(items: Iterable[InputItem]) -> Approvals:
    """Return the state of each approval request."""
    found = Approvals()
    approved: dict[Any, set[str]] = {}
    asked: dict[str, Any] = {}
    for item in items:
        if type(item) not in _OF_APPROVAL:  # nearly all
            continue
        if isinstance(item, McpApprovalRequest):
            # An approved call that is requested again did not run: its tool had changed.
            asked[str(item.id)] = call = (item.server_label, item.name, item.arguments)
            found.settled |= approved.pop(call, set())
        elif isinstance(item, McpApprovalResponse):
            answer = found.answers.setdefault(item.approval_request_id, item)
            if answer.approve:
                approved.setdefault(asked.get(item.approval_request_id), set()).add(item.approval_request_id)
        elif isinstance(item, McpCall) and item.approval_request_id:
            found.settled.add(item.approval_request_id)
    return found


def shown_call(item: Item, unseal: Unseal, approvals: Approvals, *, sees_images: bool = False) -> ShownCall | None:
    """Return a hosted tool's item as a call and its output, None if the model reads nothing of it.

    Figures of code go only to models that are known to see images (`sees_images`).
    """
    if isinstance(item, McpApprovalRequest):
        told = _approval_request(item, approvals)
    else:
        tell = _TOLD.get(type(item))
        told = tell(item) if tell else None
    if told is None:
        return None
    state = state_of(item, unseal)
    made = state.get("call") or {}
    call = ServedCall(
        call_id=made.get("id") or f"call_{item.id}"[:64],
        kind=told.kind,
        name=made.get("name") or told.name,
        arguments=made.get("arguments") or msgspec.json.encode(told.asked).decode(),
    )
    if told.namespace:
        call.namespace = told.namespace
    said = _said(state) or told.said[:LONGEST] or "Done."
    if sees_images and isinstance(item, CodeInterpreterCall) and isinstance(said, str):
        said = _with_figures(said, item.outputs or _apart(item, unseal).get("outputs") or [])
    output = FunctionCallOutput(call_id=call.call_id, output=said)
    return ShownCall(call, output, joins_next=bool(made.get("joins_next")))


def state_of(item: Item, unseal: Unseal) -> dict[str, Any]:
    """Return what was sealed with the item of a call that this server ran: `{call, said, sources}`."""
    blob = getattr(item, "encrypted_content", None)
    return unseal(blob.partition(APART)[0]) if isinstance(blob, str) and blob else {}


def _apart(item: CodeInterpreterCall, unseal: Unseal) -> dict[str, Any]:
    """Return what was sealed separately with an item."""
    blob = (item.encrypted_content or "").partition(APART)[2]
    return unseal(blob) if blob else {}


def _said(state: dict[str, Any]) -> str | list[InputPart]:
    said = state.get("said") or ""
    return said if isinstance(said, str) else msgspec.convert(said, list[InputPart])


def shell_output(item: ShellCallOutput, unseal: Unseal) -> ShellCallOutput | FunctionCallOutput:
    """Return a shell output as the model reads it, the same in every turn for commands of this server."""
    said = _said(state_of(item, unseal))
    return FunctionCallOutput(call_id=item.call_id, output=said) if said else item


def _with_figures(said: str, outputs: Sequence[dict[str, Any]]) -> str | list[InputPart]:
    """Return the result of code as the model reads it, with the figures that the code showed."""
    urls = [str(each.get("url")) for each in outputs if each.get("type") == "image"]
    figures = [InputImage(image_url=url) for url in urls if url.startswith("data:image/") and len(url) <= LARGEST]
    return [InputText(text=said), *figures[:MOST_FIGURES]] if figures else said


def _approval_request(item: McpApprovalRequest, approvals: Approvals) -> Told | None:
    """A call that needs an approval; once it has run or was requested again, another item replaces it."""
    if item.id in approvals.settled:
        return None
    answer = approvals.answers.get(str(item.id))
    if answer is None:
        said = "This call was not made: the user has not approved it yet."
    else:
        reason = f" The user's reason: {answer.reason}" if answer.reason else ""
        said = f"This call was not made: the user refused it.{reason}"
    return Told(item.name, _arguments(item.arguments), said, "mcp", item.server_label)


def _web_search(item: WebSearchCall) -> Told:
    action = {name: value for name, value in (item.action or {}).items() if name not in ("sources", "type")}
    given = (item.action or {}).get("sources")
    sources = given if isinstance(given, list) else []
    said = "\n".join(_line(each) for each in [*sources, *(item.results or [])])
    return Told(_FUNCTIONS.get(str((item.action or {}).get("type")), "web_search"), action, said, "web_search")


_FUNCTIONS = {"open_page": "open_page", "find_in_page": "find_in_page"}
"""The function of each action; all others search."""


def _file_search(item: FileSearchCall) -> Told:
    said = "\n".join(_line(each) for each in item.results or [])
    return Told("file_search", {"queries": item.queries}, said, "file_search")


def _code(item: CodeInterpreterCall) -> Told:
    said = "\n".join(str(each.get("logs") or "[an image]") for each in item.outputs or [])
    return Told("code_interpreter", {"code": item.code or ""}, said, "code_interpreter")


def _image(item: ImageGenerationCall) -> Told:
    said = "The image was made." if item.result else "No image was made."
    return Told("image_generation", {"prompt": item.revised_prompt or ""}, said, "image_generation")


def _mcp(item: McpCall) -> Told:
    said = item.output if isinstance(item.output, str) else ""
    if item.error is not UNSET and item.error:
        said = f"Error: {_line(item.error)}"
    return Told(item.name, _arguments(item.arguments), said, "mcp", item.server_label)


def _arguments(text: str) -> dict[str, Any]:
    try:
        value = decode_value(text)
    except (msgspec.DecodeError, RecursionError):
        value = text
    return value if isinstance(value, dict) else {"arguments": value}


def _line(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


_TOLD: dict[type, Callable[[Any], Told]] = {
    WebSearchCall: _web_search,
    FileSearchCall: _file_search,
    CodeInterpreterCall: _code,
    ImageGenerationCall: _image,
    McpCall: _mcp,
}

RETOLD = frozenset({McpApprovalRequest, *_TOLD})
"""The items that the model reads as calls."""
