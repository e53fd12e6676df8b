"""What a request of the Messages API says beyond the response that it asks for: how the answer is
written.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from antiphon.protocol.messages.wording import block_path, dotted
from antiphon.translation.from_messages.context_edits import ContextEdits

OLD_VERSION = "2023-06-01"
NEWEST_VERSION = "2026-10-21"

LONGEST_KEY = 64
"""Characters of a `prompt_cache_key`."""

_DATE = len("-2026-11-28")
"""The end of the name of a beta."""

DROPPED = "thinking_dropped"

REASONS = {
    "organization_mismatch": "organization_binding_mismatch",
    "model_mismatch": "model_binding_mismatch",
    "end_user_mismatch": "end_user_binding_mismatch",
    "prefix_mismatch": "prefix_binding_mismatch",
}
"""Why reasoning was removed, by the reason of the Responses API; others are no entry here."""

_REASONING_ID = re.compile(r"rs_(\d+)_(\d+)_[0-9a-f]+")
_PLACE = re.compile(r"(input|tools)\[(\d+)\](.*)", re.DOTALL)
_PARAMETERS = {
    "max_output_tokens": "max_tokens",
    "input": "messages",
    "instructions": "system",
    "reasoning.effort": "output_config.effort",
    "text.format.schema": "output_config.format.schema",
    "text.format": "output_config.format",
    "parallel_tool_calls": "tool_choice.disable_parallel_tool_use",
    "safety_identifier": "metadata.user_id",
    "max_tool_calls": "tools",
}
"""The parameter of this API for one of the Responses API."""

_FIELDS = {
    ".parameters": ".input_schema",
    ".server_url": ".mcp_server_name",
    ".server_label": ".mcp_server_name",
}
"""The field of a tool here."""


class Call(Struct, frozen=True, kw_only=True):
    """The headers of a request to the Messages API."""

    version: str = NEWEST_VERSION
    betas: frozenset[str] = frozenset()
    session: str = ""
    """`x-claude-code-session-id`."""
    agent: str = ""
    """`x-claude-code-agent-id`: a subagent has its own prompt."""

    def is_beta(self, name: str) -> bool:
        """Whether the client switched on a beta, of any date."""
        return any(beta[:-_DATE] == name for beta in self.betas)


def read_call(headers: Iterable[tuple[str, str]]) -> Call:
    """Return what the headers (names in lower case) say.

    An absent or unknown version is the newest.
    """
    known: dict[str, str] = {}
    betas: list[str] = []
    for name, value in headers:
        if name == "anthropic-beta":
            betas += filter(None, (beta.strip() for beta in value.split(",")))
        else:
            known.setdefault(name, value.strip())
    version = known.get("anthropic-version", "")
    return Call(
        version=OLD_VERSION if version == OLD_VERSION else NEWEST_VERSION,
        betas=frozenset(betas),
        session=known.get("x-claude-code-session-id", ""),
        agent=known.get("x-claude-code-agent-id", ""),
    )


class MessagesView(Struct, kw_only=True):
    """How the answer to a request of the Messages API is written, and what no field of a response
    request can say.
    """

    call: Call = Call()
    display: Literal["summarized", "omitted", "hidden"] = "omitted"
    """Whether the client sees thinking, only its signature, or no block of it at all."""
    is_warming: bool = False
    """Whether nothing is generated (`max_tokens: 0`)."""
    edits: ContextEdits | None = None
    """What `context_management` of the request removed; None if the request does not have it."""
    diagnoses: bool = False
    """Whether the request asks why the prompt cache missed."""
    previous_message: str | None = None
    """The id of the message with which the prompt of the request is compared."""
    has_system: bool = False
    """Whether the prompt begins with `system`."""
    search_tool: str = "tool_search_tool_bm25"
    """The name of the client's tool search."""
    places: list[tuple[int, int]] = field(default_factory=list)
    """Where each item of the input came from: a message and a block of it. The message is -1 for
    `system`.
    """
    tool_places: list[int] = field(default_factory=list)
    """Which of the client's tools each tool of the response request came from, -1 for those of
    messages.
    """
    dropped: list[dict[str, str]] = field(default_factory=list)
    """The blocks of thinking that are not sent to the model, as `input_transformations` reports
    them.
    """

    def place(self, param: str) -> str:
        """Return the place in the client's request for a parameter of the response request, with
        dots.
        """
        found = _PLACE.match(param)
        if found is None:
            return dotted(_PARAMETERS.get(param, param))
        name = found[1]
        index = int(found[2])
        rest = found[3]
        if name == "tools":
            place = self.tool_places[index] if index < len(self.tool_places) else -1
            begin = next((begin for begin in _FIELDS if rest.startswith(begin)), "")
            return (
                dotted(f"tools[{place}]{_FIELDS.get(begin, '')}{rest[len(begin) :]}")
                if place >= 0
                else "messages"
            )
        message, block = self.places[index] if index < len(self.places) else (-1, 0)
        return "system" if message < 0 else block_path(message, block)

    def transformations(self, removed: Iterable[Mapping[str, Any]] | None) -> list[dict[str, str]]:
        """Return `input_transformations`: blocks that were dropped, and reasoning that the run
        removed.
        """
        found = list(self.dropped)
        for one in removed or ():
            item = _REASONING_ID.fullmatch(str(one.get("id")))
            reason = REASONS.get(str(one.get("reason")))
            if item is not None and reason is not None:
                found.append(dropped(int(item[1]), int(item[2]), reason))
        return found


def dropped(message: int, block: int, reason: str) -> dict[str, str]:
    """Return an entry of `input_transformations` for a block of thinking."""
    return {"type": DROPPED, "path": block_path(message, block), "reason": reason}


def reasoning_id(message: int, block: int, signature: str) -> str:
    """Return the id of the reasoning item for a block, from which `transformations` reads its
    place.
    """
    return f"rs_{message}_{block}_{digest(signature)[:16]}"


def digest(text: str) -> str:
    """Return the SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def chain_of(call: Call, user_id: str | None) -> str | None:
    """Return the `prompt_cache_key`: the session of the client, with its agent; None if it names no
    session.
    """
    session = call.session or _session_in(user_id)
    if not session:
        return None
    key = f"{session}:{call.agent}" if call.agent else session
    return key if len(key) <= LONGEST_KEY else digest(key)


def _session_in(user_id: str | None) -> str:
    """Return the `session_id` of the JSON object that Claude Code writes into
    `metadata.user_id`.
    """
    if not user_id or not user_id.startswith("{"):
        return ""
    try:
        value = msgspec.json.decode(user_id)
    except (msgspec.DecodeError, RecursionError):
        return ""
    session = value.get("session_id") if isinstance(value, dict) else None
    return session if isinstance(session, str) else ""
