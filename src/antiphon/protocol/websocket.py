"""Messages of clients in WebSocket mode: `response.create` and `response.steer` (specification
section 8).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from antiphon.errors import ClientError
from antiphon.protocol.items.content import ContentPart, InputPart, Text
from antiphon.protocol.items.messages import InputItem, Message
from antiphon.protocol.requests import CreateResponse, ResponseId
from antiphon.protocol.tool_lists import ToolMemory
from antiphon.protocol.validation import refusals
from antiphon.protocol.validation.known_tools import decode_data, named
from antiphon.protocol.validation.rules import check_items
from antiphon.protocol.validation.validate import Takes, fit, read_request

TYPES = ("response.create", "response.steer")

IMPLIED = {"stream": True, "background": False}
"""Parameters that a socket determines. Codex and the Agents SDK send `stream` nevertheless."""

END = 4096
"""Bytes at each end of a message in which its lane is searched."""

_LANE = re.compile(rb'(?<!\\)"stream_id"\s*:\s*"([A-Za-z0-9_.-]{1,256})"')
_STREAM_ID = re.compile(r"[A-Za-z0-9_.-]{1,256}")


@dataclass(frozen=True, slots=True)
class Create:
    """A requested response; without `generates` it is a warm-up that generates no output."""

    request: CreateResponse
    generates: bool = True


class SteerMessage(Struct, kw_only=True, forbid_unknown_fields=True):
    """A message that steers a response in progress."""

    type: Literal["message"] = "message"
    role: Literal["user"]
    content: Text | list[InputPart]


class Steer(Struct, kw_only=True, forbid_unknown_fields=True):
    """The input with which a client steers a response in progress."""

    type: Literal["response.steer"]
    previous_response_id: ResponseId
    input: Text | list[SteerMessage]

    @property
    def messages(self) -> list[InputItem]:
        """The input as items."""
        provided = (
            [SteerMessage(role="user", content=self.input)]
            if isinstance(self.input, str)
            else self.input
        )
        return [Message(role=message.role, content=_parts(message.content)) for message in provided]


def _parts(content: str | list[InputPart]) -> str | list[ContentPart]:
    return content if isinstance(content, str) else [*content]


def decode_message(body: bytes, memory: ToolMemory, tenant: str) -> tuple[dict[str, Any], bytes]:
    """Return a message as plain data, of a known `type`, and the JSON of its tools (see
    `decode_data`).

    Raises `ClientError` (400).
    """
    data, tools = decode_data(body, memory, tenant)
    kind = data.get("type")
    if kind is None:
        raise refusals.missing("type")
    if not isinstance(kind, str):
        raise refusals.invalid_type("type", ["string"], kind)
    if kind not in TYPES:
        raise refusals.invalid_value("type", kind, TYPES)
    return data, tools


def lane_of(body: bytes) -> str | None:
    """Return the `stream_id` of a large message that is rejected undecoded, None if none is found.

    Clients write it before or after the input, which makes a message large, so only both ends are
    searched.
    """
    ends = _LANE.findall(body[:END]) + _LANE.findall(body[-END:])
    return ends[0].decode() if ends else None


def take_lane(data: dict[str, Any]) -> str | None:
    """Remove the `stream_id` from a `response.create`, None if it has none.

    Raises `ClientError` (400).
    """
    lane = data.pop("stream_id", None)
    if lane is not None and not (isinstance(lane, str) and _STREAM_ID.fullmatch(lane)):
        raise ClientError(
            "The 'stream_id' field must be a non-empty string with at most 256 characters and may "
            "only contain letters, numbers, underscores, hyphens, and periods.",
            code="invalid_stream_id",
            param="stream_id",
        )
    return lane


def read_create(data: dict[str, Any], takes: Takes | None = None, tools: bytes = b"") -> Create:
    """Return a `response.create` without its lane, fully checked. Raises `ClientError` (400).

    `tools` is the JSON of its tools, if they can be kept. `stream` can only have its implied value,
    and `stream_options` takes effect: padding concerns events, not the transport. A warm-up needs
    no input. `takes`: see `decode_request`.
    """
    body = {name: value for name, value in data.items() if name not in ("type", "generate")}
    generates = data.get("generate")
    if not isinstance(generates, bool | None):
        raise refusals.invalid_type("generate", ["boolean"], generates)
    for name, value in IMPLIED.items():
        provided = body.get(name)
        if isinstance(provided, bool) and provided is not value:
            raise refusals.unsupported_value(name, str(provided).lower(), [str(value).lower()])
        if provided is None:
            body[name] = value
    options = body.get("prompt_cache_options")
    if generates is not False or (
        isinstance(options, dict) and options.get("prewarm") is True and body.get("input")
    ):
        return Create(named(read_request(body, takes), tools))
    is_bare = not any(body.get(name) for name in ("input", "previous_response_id", "conversation"))
    request = named(read_request({**body, "input": "-"} if is_bare else body, takes), tools)
    return Create(replace(request, input=[]) if is_bare else request, generates=False)


def read_steer(data: dict[str, Any]) -> Steer:
    """Return a `response.steer`, fully checked. Raises `ClientError` (400)."""
    steer = fit(data, Steer)
    if not steer.input:
        raise refusals.empty("input", "string" if isinstance(steer.input, str) else "array")
    check_items(steer.messages)
    return steer


def with_input(request: CreateResponse, before: Sequence[InputItem]) -> CreateResponse:
    """Return the request with these items before its input."""
    request_input = request.input or []
    own = (
        [Message(role="user", content=request_input)]
        if isinstance(request_input, str)
        else request_input
    )
    return replace(request, input=[*before, *own])


def following(
    request: CreateResponse, response_id: str, items: Sequence[InputItem]
) -> CreateResponse:
    """Return the request for a response that follows one with its settings."""
    return replace(request, previous_response_id=response_id, input=list(items))
