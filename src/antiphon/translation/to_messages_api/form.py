"""In which form a model at a Messages backend accepts a request: by its name, then by its errors.

Models since Claude 4.6 think `adaptive` with an effort; older ones, and those of other gateways,
with a budget of tokens. Each rejects the other form, so the form follows the first rejection.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

DEFAULT_CAP = 32_000
"""Tokens that an answer can have if the request sets no limit: the API requires one."""

_CLAUDE = re.compile(r"claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_ADAPTIVE_SINCE = (4, 6)

_TOO_MANY = re.compile(r"max_tokens: \d+ > (\d+)")
"""Anthropic, for a limit above that of the model."""

_NO_ROOM = re.compile(r"exceed context limit: (\d+) \+ \d+ > (\d+)")
"""Anthropic: the input, the limit of the answer, and the window."""

_LEAST = 1_024
"""Tokens of an answer that are worth a request."""

_OF_THINKING = re.compile(r"thinking|output_config\.effort|adaptive|budget_tokens")
_OF_SCHEMAS = re.compile(r"output_(?:config\.)?format\.schema|schema is too complex", re.IGNORECASE)
"""The backend cannot compile the schema of the answer."""

_SUPPORTED_EFFORTS = re.compile(r"effort level '\w+'\. supported levels: ([\w, ]+)", re.IGNORECASE)
_OF_SIGNATURES = re.compile(r"signature|thinking(?:`|'|\")? (?:or|blocks?)\b", re.IGNORECASE)


_OF_ADDITIONS = re.compile(
    r"(?:(?:system|messages|tools)\.(?!.*input_schema)[\w.]*|thinking\.(?:adaptive\.)?)"
    r"(cache_control|display)(?:\.ttl|\.type)?: "
)
"""What this server adds to requests, and some gateways do not know: markers of the prompt cache,
and how thinking is displayed. The place at the beginning of the message names it.
"""


class MessagesForm(Struct, frozen=True):
    """The form of the requests to one model."""

    thinking: Literal["adaptive", "budget"]
    cap: int = DEFAULT_CAP
    """Tokens of an answer without a limit, if the window has room for them."""
    efforts: frozenset[str] = frozenset()
    """Efforts that the model accepts; any if empty."""
    omitted: frozenset[str] = frozenset()
    """Additions of this server that the backend rejects: `cache_control`, `display`."""
    with_thinking: bool = True
    """Whether the thinking of earlier answers is sent back."""
    with_schema: bool = True
    """Whether the schema of the answer is sent as its format; otherwise it is an instruction."""
    disables: bool = True
    """Whether thinking can be disabled; otherwise the model decides."""
    room: int | None = None
    """Tokens that the window leaves to the answer of this request."""
    is_taught: bool = False
    """Whether the form of `thinking` follows from a rejection of this request."""

    @property
    def limit(self) -> int:
        """Tokens of an answer without a limit."""
        return self.cap if self.room is None else min(self.cap, self.room)

    @property
    def lasting(self) -> "MessagesForm":
        """The form of the model's later requests, without what follows from this one's content."""
        return replace(self, with_thinking=True, with_schema=True, room=None, is_taught=False)


def form_of(model: str, listed: Mapping[str, Any]) -> MessagesForm:
    """Return the form for a model that nothing was learned about; `listed` is its object in the
    backend's list.
    """
    found = _CLAUDE.search(model)
    version = (int(found[1]), int(found[2] or 0)) if found else (0, 0)
    most = listed.get("max_tokens")
    return MessagesForm(
        "adaptive" if version >= _ADAPTIVE_SINCE else "budget",
        min(DEFAULT_CAP, most) if type(most) is int and most > 0 else DEFAULT_CAP,
    )


def after_rejection(
    form: MessagesForm, message: str, chat: Mapping[str, Any], sent: Mapping[str, Any]
) -> MessagesForm | None:
    """Return the form in which to send a request again that the backend rejected with 400 and this
    message; None if the form is not the reason.

    `chat` is the Chat request, `sent` the one that was sent.
    """
    if not ({"max_tokens", "max_completion_tokens"} & chat.keys()):
        if (found := _TOO_MANY.search(message)) and _LEAST <= int(found[1]) < form.cap:
            return replace(form, cap=int(found[1]))
        if (found := _NO_ROOM.search(message)) and form.room is None:
            room = int(found[2]) - int(found[1])
            return replace(form, room=room) if room >= _LEAST else None
    if (found := _OF_ADDITIONS.match(message)) and found[1] not in form.omitted:
        return replace(form, omitted=form.omitted | {found[1]})
    settings = sent.get("output_config", {})
    if form.with_schema and "format" in settings and _OF_SCHEMAS.search(message):
        return replace(form, with_schema=False)
    if "effort" in settings and (found := _SUPPORTED_EFFORTS.search(message)) and not form.efforts:
        return replace(form, efforts=frozenset(found[1].replace(" ", "").split(",")))
    if form.with_thinking and _OF_SIGNATURES.search(message) and _has_thoughts(sent):
        return replace(form, with_thinking=False)
    is_derived = "thinking" in sent and sent["thinking"] != chat.get("thinking")
    if not (is_derived and _OF_THINKING.search(message)):
        return None
    if sent["thinking"] == {"type": "disabled"}:
        return replace(form, disables=False)
    if not form.is_taught:
        other: Any = "budget" if form.thinking == "adaptive" else "adaptive"
        return replace(form, thinking=other, is_taught=True)
    return None


def _has_thoughts(sent: Mapping[str, Any]) -> bool:
    kinds = ("thinking", "redacted_thinking")
    return any(block["type"] in kinds for one in sent["messages"] for block in one["content"])
