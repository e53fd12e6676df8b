"""Items of tools that a server ran: the model receives them as calls that were made and answered.

For a call that this server ran, the item contains in sealed form how the model wrote it and the
output it received.
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
"""Characters of a figure that a model sees: the size of an image above which backends reject or
shrink it.
"""

LONGEST = 20_000
"""Characters of a result that the model reads."""


class ServerCall(FunctionCall, kw_only=True, tag="function_call"):
    """A call of a tool that a server ran, as the model wrote it."""

    kind: Kind = "function"


@dataclass(frozen=True, slots=True)
class ReportedCall:
    """A tool's name, its arguments, and its output."""

    name: str
    requested: dict[str, Any]
    stated: str
    kind: Kind = "function"
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class RenderedCall:
    """A call, its output, and whether the next call belongs to the same answer."""

    call: ServerCall
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
    requested: dict[str, Any] = {}
    for item in items:
        if type(item) not in _OF_APPROVAL:  # nearly all
            continue
        if isinstance(item, McpApprovalRequest):
            # An approved call that is requested again did not run: its tool had changed.
            requested[str(item.id)] = call = (item.server_label, item.name, item.arguments)
            found.settled |= approved.pop(call, set())
        elif isinstance(item, McpApprovalResponse):
            answer = found.answers.setdefault(item.approval_request_id, item)
            if answer.approve:
                approved.setdefault(requested.get(item.approval_request_id), set()).add(
                    item.approval_request_id
                )
        elif isinstance(item, McpCall) and item.approval_request_id:
            found.settled.add(item.approval_request_id)
    return found


def rendered_call(
    item: Item, unseal: Unseal, approvals: Approvals, *, sees_images: bool = False
) -> RenderedCall | None:
    """Return a hosted tool's item as a call and its output, None if the model reads nothing of it.

    Figures of code go only to models that are known to see images (`sees_images`).
    """
    if isinstance(item, McpApprovalRequest):
        reported = _approval_request(item, approvals)
    else:
        report = _REPORTED.get(type(item))
        reported = report(item) if report else None
    if reported is None:
        return None
    state = state_of(item, unseal)
    created = state.get("call") or {}
    call = ServerCall(
        call_id=created.get("id") or f"call_{item.id}"[:64],
        kind=reported.kind,
        name=created.get("name") or reported.name,
        arguments=created.get("arguments") or msgspec.json.encode(reported.requested).decode(),
    )
    if reported.namespace:
        call.namespace = reported.namespace
    content = _stated(state) or reported.stated[:LONGEST] or "Done."
    if sees_images and isinstance(item, CodeInterpreterCall) and isinstance(content, str):
        content = _with_figures(content, item.outputs or _apart(item, unseal).get("outputs") or [])
    output = FunctionCallOutput(call_id=call.call_id, output=content)
    return RenderedCall(call, output, joins_next=bool(created.get("joins_next")))


def state_of(item: Item, unseal: Unseal) -> dict[str, Any]:
    """Return what was sealed with the item of a call that this server ran: `{call, said,
    sources}`.
    """
    blob = getattr(item, "encrypted_content", None)
    return unseal(blob.partition(APART)[0]) if isinstance(blob, str) and blob else {}


def _apart(item: CodeInterpreterCall, unseal: Unseal) -> dict[str, Any]:
    """Return what was sealed separately with an item."""
    blob = (item.encrypted_content or "").partition(APART)[2]
    return unseal(blob) if blob else {}


def _stated(state: dict[str, Any]) -> str | list[InputPart]:
    stated = state.get("said") or ""
    return stated if isinstance(stated, str) else msgspec.convert(stated, list[InputPart])


def shell_output(item: ShellCallOutput, unseal: Unseal) -> ShellCallOutput | FunctionCallOutput:
    """Return a shell output as the model reads it, the same in every turn for commands of this
    server.
    """
    content = _stated(state_of(item, unseal))
    return FunctionCallOutput(call_id=item.call_id, output=content) if content else item


def _with_figures(text: str, outputs: Sequence[dict[str, Any]]) -> str | list[InputPart]:
    """Return the result of code as the model reads it, with the figures that the code showed."""
    urls = [str(each.get("url")) for each in outputs if each.get("type") == "image"]
    figures = [
        InputImage(image_url=url)
        for url in urls
        if url.startswith("data:image/") and len(url) <= LARGEST
    ]
    return [InputText(text=text), *figures[:MOST_FIGURES]] if figures else text


def _approval_request(item: McpApprovalRequest, approvals: Approvals) -> ReportedCall | None:
    """A call that needs an approval; once it has run or was requested again, another item replaces
    it.
    """
    if item.id in approvals.settled:
        return None
    answer = approvals.answers.get(str(item.id))
    if answer is None:
        text = "This call was not made: the user has not approved it yet."
    elif answer.approve:  # by an agent, which shows its calls as it likes
        text = "The user approved this call."
    else:
        reason = f" The user's reason: {answer.reason}" if answer.reason else ""
        text = f"This call was not made: the user refused it.{reason}"
    return ReportedCall(item.name, _arguments(item.arguments), text, "mcp", item.server_label)


def _web_search(item: WebSearchCall) -> ReportedCall:
    action = {
        name: value
        for name, value in (item.action or {}).items()
        if name not in ("sources", "type")
    }
    provided = (item.action or {}).get("sources")
    sources = provided if isinstance(provided, list) else []
    text = "\n".join(_line(each) for each in [*sources, *(item.results or [])])
    return ReportedCall(
        _FUNCTIONS.get(str((item.action or {}).get("type")), "web_search"),
        action,
        text,
        "web_search",
    )


_FUNCTIONS = {"open_page": "open_page", "find_in_page": "find_in_page"}
"""The function of each action; all others search."""


def _file_search(item: FileSearchCall) -> ReportedCall:
    text = "\n".join(_line(each) for each in item.results or [])
    return ReportedCall("file_search", {"queries": item.queries}, text, "file_search")


def _code(item: CodeInterpreterCall) -> ReportedCall:
    text = "\n".join(str(each.get("logs") or "[an image]") for each in item.outputs or [])
    return ReportedCall("code_interpreter", {"code": item.code or ""}, text, "code_interpreter")


def _image(item: ImageGenerationCall) -> ReportedCall:
    text = "The image was made." if item.result else "No image was made."
    return ReportedCall(
        "image_generation", {"prompt": item.revised_prompt or ""}, text, "image_generation"
    )


def _mcp(item: McpCall) -> ReportedCall:
    text = item.output if isinstance(item.output, str) else ""
    if item.error is not UNSET and item.error:
        text = f"Error: {_line(item.error)}"
    return ReportedCall(item.name, _arguments(item.arguments), text, "mcp", item.server_label)


def _arguments(text: str) -> dict[str, Any]:
    try:
        value = decode_value(text)
    except (msgspec.DecodeError, RecursionError):
        value = text
    return value if isinstance(value, dict) else {"arguments": value}


def _line(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


_REPORTED: dict[type, Callable[[Any], ReportedCall]] = {
    WebSearchCall: _web_search,
    FileSearchCall: _file_search,
    CodeInterpreterCall: _code,
    ImageGenerationCall: _image,
    McpCall: _mcp,
}

RETOLD = frozenset({McpApprovalRequest, *_REPORTED})
"""The items that the model reads as calls."""
