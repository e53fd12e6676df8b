"""What came of a call: text for the item, text and images for the model."""

from binascii import Error, a2b_base64
from collections.abc import Mapping, Sequence
from typing import Any

from antiphon.protocol.items.content import InputImage, InputText
from antiphon.tools.base import Outcome
from antiphon.tools.mcp.errors import ServerError, shortened

MAX_OUTPUT = 100_000
"""Characters of a result that are kept, and shown to the model."""

MAX_IMAGES = 4
MAX_IMAGE_BYTES = 5_000_000
"""Of a result's images that the model is shown, all together."""

_SHOWN = {"image/png", "image/jpeg", "image/gif", "image/webp"}

Content = Sequence[Mapping[str, Any]]


def came(result: Mapping[str, Any]) -> Outcome:
    """Return what a sound result of `tools/call` is to the item and to the model."""
    content: Content = result["content"]
    text = _whole(content)
    if result["isError"]:
        error = {"type": "mcp_tool_execution_error", "content": _told(content)}
        return Outcome(f"The tool failed: {text}", {"output": None, "error": error}, is_failed=True)
    images = _images(content)
    said: list[InputText | InputImage] = [InputText(text=text), *images]
    return Outcome(said if images else text, {"output": text, "error": None})


def failed(failure: ServerError) -> Outcome:
    """Return what a call is that has no result."""
    said = f"The tool could not be used: {failure.message}"
    return Outcome(said, {"output": None, "error": failure.error()}, is_failed=True)


def _whole(content: Content) -> str:
    text = "\n".join(_line(block) for block in content)
    if len(text) <= MAX_OUTPUT:
        return text
    return f"{text[:MAX_OUTPUT]}\n[{len(text) - MAX_OUTPUT:,} more characters are left out]"


def _line(block: Mapping[str, Any]) -> str:
    match block:
        case {"type": "text", "text": text}:
            return str(text)
        case {"type": "resource", "resource": {"text": str() as text}}:
            return text
        case {"type": "resource", "resource": {"uri": uri, "blob": data, **rest}}:
            return f"[{uri}, {rest.get('mimeType') or 'binary'}, {_bytes(data)} bytes]"
        case {"type": "resource_link", "name": name, "uri": uri}:
            return f"{name}: {uri}"
        case {"mimeType": kind, "data": data}:
            return f"[{kind}, {_bytes(data)} bytes]"
    return "[a resource]"


def _bytes(data: str) -> int:
    """Return how many bytes stand in base64."""
    return len(data) * 3 // 4 - data[-2:].count("=")


def _told(content: Content) -> list[Mapping[str, Any]]:
    """Return the content of an error: its words, and not what is heavy."""
    told: list[Mapping[str, Any]] = []
    left = MAX_OUTPUT
    for block in content:
        text = shortened(_line(block), max(left, 1))
        told.append({"type": "text", "text": text})
        left -= len(text)
        if left <= 0:
            break
    return told


def _images(content: Content) -> list[InputImage]:
    found: list[InputImage] = []
    left = MAX_IMAGE_BYTES
    for block in content:
        if block["type"] != "image" or block["mimeType"] not in _SHOWN or not _is_base64(block["data"]):
            continue
        left -= _bytes(block["data"])
        if left < 0 or len(found) == MAX_IMAGES:
            break
        found.append(InputImage(image_url=f"data:{block['mimeType']};base64,{block['data']}", detail="auto"))
    return found


def _is_base64(data: str) -> bool:
    try:
        a2b_base64(data, strict_mode=True)
    except (Error, ValueError):
        return False
    return bool(data)
