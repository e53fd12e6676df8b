"""Validates the servers' answers before they are used: content that violates the protocol is
omitted.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Raw, Struct

from antiphon.tools.mcp.result import refused, shortened, without
from antiphon.tools.mcp.structured import repeats

MAX_DESCRIPTION = 4_000
"""Characters of a tool's description that are retained."""

MAX_SCHEMA = 100_000
"""Characters of the schema of a tool's arguments; a tool with a larger one is omitted."""

MAX_NODES = 10_000
"""Values of such a schema."""

MAX_PARTS = 250_000
"""Objects of a page of tools, and values if not all of its tools are objects: counting more takes
over 20 ms.

A page of 2 MiB has some 60,000 objects.
"""

MAX_NOTES = 8 * 1024
"""Bytes of a tool's annotations."""

MAX_BLOCKS = 1_000
"""Parts of a tool's result that are read."""

MAX_VALUES = 150_000
"""Objects and arrays of a tool's result, brackets in its texts included."""

SMALL = 64 * 1024
"""Bytes that are always read, regardless of their content."""

DEEPEST = 64
"""Nesting depth of objects and arrays."""

Flaw = Literal["no_object", "name", "schema", "too_large", "too_deep"]
"""Why a tool is omitted."""

_NAME = re.compile(r"[A-Za-z0-9_./-]{1,128}")
_UNKEEPABLE = re.compile("[\x00\ud800-\udfff]")
_JUDGED = ("$schema", "properties", "required")
"""The parts of a schema that the SDK checks; the rest is for the model."""

_NOTES = {
    "title": str,
    **dict.fromkeys(("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"), bool),
}
_INVALID_REQUEST = -32600
"""JSON-RPC's."""

_INTERNAL_ERROR = -32603

_BLOCKS: Mapping[str, Mapping[str, str]] = {
    "text": {"text": "text"},
    "image": {"data": "data", "mimeType": "mime_type"},
    "audio": {"data": "data", "mimeType": "mime_type"},
    "resource": {},
    "resource_link": {"name": "name", "uri": "uri"},
}
"""The required fields of each kind of part, all of them text, and where they are in a `_Block`."""

_RESOURCE = {"uri": "uri", "mimeType": "mime_type", "text": "text", "blob": "blob"}


def clean(value: Any) -> Any:
    """Return JSON without the characters that are invalid in databases and UTF-8: NUL and unpaired
    surrogates.
    """
    if isinstance(value, str):
        return _UNKEEPABLE.sub("", value) if "\0" in value or not value.isascii() else value
    if isinstance(value, dict):
        return {clean(key): clean(inner) for key, inner in value.items()}
    return [clean(inner) for inner in value] if isinstance(value, list) else value


class FlawError(Exception):
    """A listed tool is unusable."""

    def __init__(self, flaw: Flaw) -> None:
        super().__init__(flaw)
        self.flaw: Flaw = flaw


class _Object(Struct, gc=False):
    """Any object."""


class _Objects(Struct):
    tools: list[_Object] = []


class _Page(Struct, rename="camel"):
    tools: list[Raw] = []
    next_cursor: Raw = Raw()


class _LastPage(Struct, rename="camel"):
    next_cursor: Raw = Raw()


class _Tool(Struct, rename="camel"):
    name: Raw = Raw()
    description: Raw = Raw()
    input_schema: Raw = Raw()
    annotations: Raw = Raw()


class _Result(Struct, rename="camel"):
    result_type: Raw = Raw()
    content: Raw = Raw()
    structured_content: Raw = Raw()
    is_error: Raw = Raw()


class _Block(Struct, rename="camel"):
    type: Raw = Raw()
    text: Raw = Raw()
    data: Raw = Raw()
    mime_type: Raw = Raw()
    resource: Raw = Raw()
    name: Raw = Raw()
    uri: Raw = Raw()
    blob: Raw = Raw()


def check_page(raw: bytes) -> None:
    """Raise `ServerError` for a result of `tools/list` that takes too long to split."""
    most = raw.count(b"{")
    if most <= MAX_PARTS and len(raw) > SMALL:
        try:
            _read(raw, _Objects)  # it fails at the first tool that is not an object
        except ValueError:
            most = raw.count(b",")
    if most > MAX_PARTS:
        raise refused(_INTERNAL_ERROR, f"One page of its tools has more than {MAX_PARTS:,} values.")


def split_page(raw: bytes) -> tuple[list[bytes], str]:
    """Return the tools of a result of `tools/list`, undecoded, and the cursor of the next page,
    empty on the last.

    The page has passed `check_page`. Raises `ValueError` if it is not a page.
    """
    try:
        page = _read(raw, _Page)
    except msgspec.ValidationError:
        return [], _string(_read(raw, _LastPage).next_cursor)  # its tools are not a list
    return [bytes(tool) for tool in page.tools], _string(page.next_cursor)


def sound_tool(raw: bytes, secrets: Iterable[str] = ()) -> dict[str, Any]:
    """Return a tool with its decoded parts, without secrets.

    Raises `FlawError` if it is invalid.
    """
    try:
        tool = _read(raw, _Tool)
        name = _string(tool.name)
        schema = _read_schema(tool.input_schema)
        description = _string(tool.description)
        notes = tool.annotations
        sound: dict[str, Any] = {
            "name": name,
            "description": shortened(clean(description[: 2 * MAX_DESCRIPTION]), MAX_DESCRIPTION)
            or None,
            "input_schema": _schema(clean(schema)),
            "annotations": _notes(_read(notes, dict))
            if _is(notes, b"{") and len(bytes(notes)) <= MAX_NOTES
            else None,
        }
    except ValueError as error:
        raise FlawError("no_object") from error
    except RecursionError as error:
        raise FlawError("too_deep") from error
    if not _NAME.fullmatch(name):
        raise FlawError("name")
    return without(secrets, sound)


def sound_result(raw: bytes) -> dict[str, Any]:
    """Return a result of `tools/call` with its valid parts; structured content becomes text, unless
    a text repeats it.

    Raises `ServerError` if the server requires input from its user first (MCP 2026-07-28, input
    required), or if the result has too many values, and `ValueError` if it is not a result.
    """
    if len(raw) > SMALL and len(raw) - len(raw.translate(None, b"[{")) > MAX_VALUES:
        raise refused(_INTERNAL_ERROR, f"Its result has more than {MAX_VALUES:,} values.")
    result = _read(raw, _Result)
    if _string(result.result_type) == "input_required":
        raise refused(
            _INVALID_REQUEST,
            "The tool requires input from its user, which this server does not support.",
        )
    content = _blocks(bytes(result.content)) if _is(result.content, b"[") else []
    structured = bytes(result.structured_content)
    if structured not in (b"", b"null") and not repeats(content, structured):
        content.append(_text(_compact(structured)))
    return {"content": content, "isError": bytes(result.is_error) == b"true"}


T = TypeVar("T")


def _read(raw: Any, kind: type[T]) -> T:
    """Return JSON as this type.

    Raises `ValueError` for other JSON and invalid JSON, also if it is nested too deep.
    """
    try:
        return msgspec.json.decode(raw, type=kind)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def _is(raw: Raw, first: bytes) -> bool:
    return bytes(memoryview(raw)[:1]) == first


def _string(raw: Raw) -> str:
    """Return a string, empty if the value is not one."""
    return msgspec.json.decode(raw, type=str) if _is(raw, b'"') else ""


def _read_schema(raw: Raw) -> dict[str, Any]:
    """Return the schema of a tool's arguments. Raises `FlawError`."""
    data = bytes(raw)
    if data[:1] != b"{":
        raise FlawError("schema")
    # Before it is decoded: an escape has six bytes for a character, and text has commas too.
    if len(data) > 6 * MAX_SCHEMA or len(data) - len(data.translate(None, b"[{,")) > 4 * MAX_NODES:
        raise FlawError("too_large")
    schema: dict[str, Any] = msgspec.json.decode(data)
    _check_size(schema)
    return schema


def _check_size(schema: dict[str, Any]) -> None:
    """Raise `FlawError` for a schema with too many values or characters, or too deep nesting."""
    nodes = characters = 0
    left: list[tuple[Any, int]] = [(schema, 0)]
    while left:
        value, depth = left.pop()
        nodes += 1
        if isinstance(value, str):
            characters += len(value)
        elif isinstance(value, dict | list):
            if depth == DEEPEST:
                raise FlawError("too_deep")
            characters += sum(map(len, value)) if isinstance(value, dict) else 0
            left += [
                (inner, depth + 1)
                for inner in (value.values() if isinstance(value, dict) else value)
            ]
        if nodes > MAX_NODES or characters > MAX_SCHEMA:
            raise FlawError("too_large")


def _schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of arguments, which must be an object."""
    dialect, properties, required = (schema.get(name) for name in _JUDGED)
    sound = {
        **{name: value for name, value in schema.items() if name not in _JUDGED},
        "type": "object",
    }
    if isinstance(dialect, str):
        sound["$schema"] = dialect
    if isinstance(properties, dict):
        sound["properties"] = {
            name: one for name, one in properties.items() if isinstance(one, dict | bool)
        }
    if isinstance(required, list):
        sound["required"] = [name for name in required if isinstance(name, str)]
    return sound


def _notes(notes: dict[str, Any]) -> dict[str, Any]:
    stored = {
        name: notes[name] for name, kind in _NOTES.items() if isinstance(notes.get(name), kind)
    }
    return {
        name: shortened(clean(one), 256) if isinstance(one, str) else one
        for name, one in stored.items()
    }


def _blocks(raw: bytes) -> list[dict[str, Any]]:
    if len(raw) > SMALL:
        _read(
            raw, list[_Object]
        )  # it fails at the first that is not an object; splitting a million numbers is slow
    found = [one for one in _read(raw, list[Raw]) if _is(one, b"{")]
    blocks = [_block(_read(one, _Block)) for one in found[:MAX_BLOCKS]]
    more = len(found) - len(blocks)
    return [*blocks, _text(f"[{more:,} more parts are omitted]")] if more else blocks


def _block(block: _Block) -> dict[str, Any]:
    """Return a part of a result, or a note if its kind is unknown."""
    kind = clean(_string(block.type))
    if kind == "resource":
        retained = _resource(block.resource)
        return {"type": kind, "resource": retained} if retained else _text("[an invalid resource]")
    wanted = _BLOCKS.get(kind, {})
    values = _strings(block, wanted)
    if not wanted or len(values) < len(wanted):
        displayed = repr(kind) if _is(block.type, b'"') else "None"
        return _text(f"[content of the type {shortened(displayed, 100)}, which cannot be shown]")
    return {"type": kind, **values}


def _strings(block: _Block, wanted: Mapping[str, str]) -> dict[str, str]:
    """Return the requested values that are text."""
    raws = {name: getattr(block, place) for name, place in wanted.items()}
    return {name: clean(_string(raw)) for name, raw in raws.items() if _is(raw, b'"')}


def _resource(raw: Raw) -> dict[str, str] | None:
    """Return a resource, None if it is invalid."""
    if not _is(raw, b"{"):
        return None
    found = _strings(_read(raw, _Block), _RESOURCE)
    return found if "uri" in found and ("text" in found or "blob" in found) else None


def _compact(raw: bytes) -> str:
    """Return JSON as text, without whitespace if it is small enough to be decoded for that."""
    is_large = len(raw) > SMALL
    text: str = clean(
        raw.decode(errors="replace")
        if is_large
        else msgspec.json.encode(_read(raw, object)).decode()
    )
    return text


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
