"""What servers answer, made sound before anybody reads it: whatever is not what the protocol says is left out."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from antiphon.tools.mcp.result import refused, shortened

MAX_DESCRIPTION = 4_000
"""Characters of a tool's description that are kept."""

MAX_SCHEMA = 100_000
"""Nodes and characters of the schema of a tool's arguments; a tool with a bigger one is left out."""

DEEPEST = 64
"""Objects and arrays inside each other."""

_NAME = re.compile(r"[A-Za-z0-9_./-]{1,128}")
_UNKEEPABLE = re.compile("[\x00\ud800-\udfff]")
_JUDGED = ("$schema", "properties", "required")
"""What of a schema the SDK judges; the rest is the model's affair."""

_NOTES = {"title": str, **dict.fromkeys(("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"), bool)}
_INVALID_REQUEST = -32600
"""JSON-RPC's."""

_COMMON = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
"""What results of 2026 must have; in those before, the SDK leaves it out."""

_BLOCKS: Mapping[str, Mapping[str, type]] = {
    "text": {"text": str},
    "image": {"data": str, "mimeType": str},
    "audio": {"data": str, "mimeType": str},
    "resource": {"resource": dict},
    "resource_link": {"name": str, "uri": str},
}


def clean(value: Any) -> Any:
    """Return JSON without the characters that no database and no UTF-8 can hold: NUL and halves of pairs."""
    if isinstance(value, str):
        return _UNKEEPABLE.sub("", value) if "\0" in value or not value.isascii() else value
    if isinstance(value, dict):
        return {clean(key): clean(inner) for key, inner in value.items()}
    return [clean(inner) for inner in value] if isinstance(value, list) else value


def sound_page(page: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result of `tools/list` with those of its tools that are tools."""
    tools = page.get("tools")
    found = [_tool(tool) for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    cursor = page.get("nextCursor")
    rest = {"nextCursor": cursor} if isinstance(cursor, str) and cursor else {}
    return {**_COMMON, "tools": [tool for tool in found if tool is not None], **rest}


def sound_result(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result of `tools/call` with those of its parts that are parts; an object alone becomes text.

    Raises `ServerError` where the server wants to ask its user something first (MCP 2026-07-28, input required).
    """
    if result.get("resultType") == "input_required":
        raise refused(_INVALID_REQUEST, "The tool asks its user something, and nobody can be asked here.")
    blocks = result.get("content")
    content = [_block(clean(block)) for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    alone = result.get("structuredContent")
    if not content and alone is not None:
        content = [_text(msgspec.json.encode(clean(alone)).decode())]
    return {**_COMMON, "content": content, "isError": result.get("isError") is True}


def _tool(tool: dict[str, Any]) -> dict[str, Any] | None:
    """Return a tool with what is read of it, None where that is none."""
    name, schema = tool.get("name"), tool.get("inputSchema")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or not isinstance(schema, dict):
        return None
    if _size(schema) > MAX_SCHEMA:
        return None
    sound = {"name": name, "inputSchema": _schema(clean(schema))}
    if isinstance(said := tool.get("description"), str):
        sound["description"] = shortened(clean(said), MAX_DESCRIPTION)
    if isinstance(notes := tool.get("annotations"), dict):
        sound["annotations"] = _notes(notes)
    return sound


def _schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of arguments: those are always an object."""
    dialect, properties, required = (schema.get(name) for name in _JUDGED)
    sound = {**{name: value for name, value in schema.items() if name not in _JUDGED}, "type": "object"}
    if isinstance(dialect, str):
        sound["$schema"] = dialect
    if isinstance(properties, dict):
        sound["properties"] = {name: one for name, one in properties.items() if isinstance(one, dict | bool)}
    if isinstance(required, list):
        sound["required"] = [name for name in required if isinstance(name, str)]
    return sound


def _notes(notes: dict[str, Any]) -> dict[str, Any]:
    kept = {name: notes[name] for name, kind in _NOTES.items() if isinstance(notes.get(name), kind)}
    return {name: shortened(clean(one), 256) if isinstance(one, str) else one for name, one in kept.items()}


def _block(block: dict[str, Any]) -> dict[str, Any]:
    """Return a part of a result, or a note where it is none that we know."""
    kind = block.get("type")
    needed = _BLOCKS.get(kind) if isinstance(kind, str) else None
    if needed is None or not all(isinstance(block.get(name), wanted) for name, wanted in needed.items()):
        return _text(f"[content of the type {shortened(repr(kind), 100)}, which cannot be shown]")
    if kind == "resource" and not _is_resource(block["resource"]):
        return _text("[a resource that is none]")
    return {"type": kind, **{name: block[name] for name in needed}}


def _is_resource(resource: dict[str, Any]) -> bool:
    held = resource.get("text", resource.get("blob"))
    return isinstance(resource.get("uri"), str) and isinstance(held, str)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _size(value: Any, depth: int = 0) -> int:
    """Return how many nodes and characters some JSON has; more than allowed where it is too deep."""
    if isinstance(value, str):
        return len(value)
    if not isinstance(value, dict | list):
        return 1
    if depth == DEEPEST:
        return MAX_SCHEMA + 1
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    return 1 + sum(_size(one, depth + 1) + (len(key) if isinstance(key, str) else 0) for key, one in inner)
