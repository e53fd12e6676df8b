"""What tools left behind that another server ran: the model is told of it as of a call that was made and answered."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET

from antiphon.protocol.content import Item
from antiphon.protocol.hosted_items import (
    CodeInterpreterCall,
    FileSearchCall,
    ImageGenerationCall,
    McpCall,
    WebSearchCall,
)
from antiphon.protocol.items import FunctionCall, FunctionCallOutput

LONGEST = 20_000
"""Characters of a result that the model is told."""


@dataclass(frozen=True, slots=True)
class Told:
    """A tool's name, what it was asked, and what it said."""

    name: str
    asked: dict[str, Any]
    said: str


def retold(item: Item) -> tuple[FunctionCall, FunctionCallOutput] | None:
    """Return a hosted tool's item as a call and its output, None where there is nothing to tell."""
    tell = _TOLD.get(type(item))
    if tell is None:
        return None
    told = tell(item)
    call_id = f"call_{item.id}"[:64]
    asked = msgspec.json.encode(told.asked).decode()
    call = FunctionCall(call_id=call_id, name=told.name, arguments=asked)
    return call, FunctionCallOutput(call_id=call_id, output=told.said[:LONGEST] or "Done.")


def _web_search(item: WebSearchCall) -> Told:
    action = {name: value for name, value in (item.action or {}).items() if name not in ("sources", "type")}
    given = (item.action or {}).get("sources")
    sources = given if isinstance(given, list) else []
    return Told("web_search", action, "\n".join(_line(each) for each in [*sources, *(item.results or [])]))


def _file_search(item: FileSearchCall) -> Told:
    return Told("file_search", {"queries": item.queries}, "\n".join(_line(each) for each in item.results or []))


def _code(item: CodeInterpreterCall) -> Told:
    said = "\n".join(str(each.get("logs") or "[an image]") for each in item.outputs or [])
    return Told("code_interpreter", {"code": item.code or ""}, said)


def _image(item: ImageGenerationCall) -> Told:
    said = "The image was made." if item.result else "No image was made."
    return Told("image_generation", {"prompt": item.revised_prompt or ""}, said)


def _mcp(item: McpCall) -> Told:
    said = item.output if isinstance(item.output, str) else ""
    if item.error is not UNSET and item.error:
        said = f"Error: {_line(item.error)}"
    return Told(f"{item.server_label}__{item.name}", _arguments(item.arguments), said)


def _arguments(text: str) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(text)
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
