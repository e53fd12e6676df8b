"""A backend's items and parts as values of ours, whatever they lack, repeat or add (specification
section 5).
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, get_args

import msgspec
from msgspec import UNSET

from antiphon.errors import log
from antiphon.protocol.items.content import Item
from antiphon.protocol.items.messages import (
    Compaction,
    CompactionTrigger,
    ConfigurationUpdate,
    InputItem,
    ItemReference,
)
from antiphon.translation.from_chat.reader import read_usage as read_counts

FINAL = frozenset({"completed", "incomplete", "failed"})
"""Statuses that are final."""

_NEVER_CREATED = {ItemReference, Compaction, CompactionTrigger, ConfigurationUpdate}
"""Items that no backend creates: it never receives a request to compact, because only it could read
the result.
"""

KINDS: Mapping[str, type[Item]] = {
    str(kind.__struct_config__.tag): kind
    for union in get_args(InputItem)
    for kind in (get_args(union) or (union,))
    if kind not in _NEVER_CREATED
}
"""The items that a backend's answer can contain, by type."""

_MISSING: Mapping[str, Mapping[str, Any]] = {
    "function_call": {"arguments": ""},
    "custom_tool_call": {"input": ""},
    "mcp_call": {"arguments": "", "name": "", "server_label": ""},
    "mcp_list_tools": {"server_label": "", "tools": []},
    "web_search_call": {"action": {"type": "search"}},
    "file_search_call": {"queries": []},
    "code_interpreter_call": {"container_id": ""},
    "tool_search_call": {"arguments": {}},
    "program": {"fingerprint": ""},
    "shell_call": {"action": {"commands": []}},
    "shell_call_output": {"output": []},
}
"""Required fields, and their values if the backend omits them or sends null."""

_NULLABLE = frozenset(
    {"call_id", "results", "outputs", "result", "output", "error", "approval_request_id"}
)
"""Fields for which null is sent (recorded)."""


def read_item(value: Mapping[str, Any]) -> Item | None:
    """Return the backend's item, None if a client of ours could not send it back.

    Fields that the API does not have are omitted.
    """
    name = value.get("type")
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        displayed = str(name)[:64]
        log.warning(
            "Dropped an item from a backend's answer: its type %r cannot be input "
            "of a later request.",
            displayed,
        )
        return None
    fields = kind.__struct_encode_fields__
    known = {
        key: provided
        for key, provided in value.items()
        if key in fields and (provided is not None or key in _NULLABLE)
    }
    whole = dict(_MISSING.get(str(name), {})) | known
    try:
        return msgspec.convert(_OUTCOMES.get(str(name), dict)(whole), kind)
    except msgspec.ValidationError as error:
        _, at, place = str(error).rpartition(" - at `$.")
        where = f" at '{place.rstrip('`')}'" if at else ""
        log.warning("Dropped a %s from a backend's answer: it is not valid%s.", name, where)
        return None


def _list_outcome(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an `mcp_list_tools` with either tools or an error, as text; each tool has a name and a
    schema.
    """
    if item.get("error"):
        return {**item, "tools": [], "error": _words(item["error"])}
    tools = item["tools"]
    if isinstance(tools, list):
        named = [tool for tool in dicts(tools) if isinstance(tool.get("name"), str)]
        tools = [
            tool if isinstance(tool.get("input_schema"), dict) else {**tool, "input_schema": {}}
            for tool in named
        ]
    return {**item, "tools": tools, "error": None}


def _call_outcome(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an `mcp_call` that completed without an error, or failed without an output."""
    error = item.get("error")
    output = item.get("output")
    if not error and item.get("status") == "failed" and output is not None:
        error = output or "The call failed."
    if not error:
        return {**item, **({"error": None} if "error" in item else {})}
    if not _is_error(error):
        error = {
            "type": "mcp_tool_execution_error",
            "content": [{"type": "text", "text": _words(error)}],
        }
    return {**item, "status": "failed", "error": error, "output": None}


_OUTCOMES: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "mcp_list_tools": _list_outcome,
    "mcp_call": _call_outcome,
}
"""Items that state in two places how they ended, and how both are reconciled: an error outweighs
the rest.
"""

_ERRORS: Mapping[str, Collection[str]] = {
    "mcp_protocol_error": ("code", "message"),
    "mcp_tool_execution_error": ("content",),
    "http_error": ("code", "message"),
}
"""The fields of an `mcp_call` error in addition to its type, by type (specification section 5)."""


def _is_error(value: Any) -> bool:
    kind = value.get("type") if isinstance(value, dict) else None
    fields = _ERRORS.get(kind) if isinstance(kind, str) else None
    return fields is not None and all(value.get(name) is not None for name in fields)


def _words(error: Any) -> str:
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        error = error["message"]
    return error if isinstance(error, str) else msgspec.json.encode(error).decode()


def has_status(item: Item) -> bool:
    """Whether items of this kind have a status."""
    return "status" in item.__struct_fields__


def dicts(value: Any) -> list[dict[str, Any]]:
    """Return the objects in an expected list of objects."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text(value: Any) -> str:
    """Return a text, empty for any other value."""
    return value if isinstance(value, str) else ""


def optional(value: Any) -> Any:
    """Return a text, absent for any other value."""
    return value if isinstance(value, str) else UNSET


def read_usage(value: Any) -> Any:
    """Return the usage of a response, None without one (specification section 3)."""
    if not isinstance(value, dict):
        return None
    reported = {
        "prompt_tokens_details": "input_tokens_details",
        "completion_tokens_details": "output_tokens_details",
    }
    return read_counts(value | {ours: value.get(theirs) for ours, theirs in reported.items()})
