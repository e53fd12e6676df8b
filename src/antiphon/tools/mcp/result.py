"""The result of a call: text for the item, text and images for the model."""

import re
from binascii import Error, a2b_base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import msgspec

from antiphon.protocol.items.content import InputImage, InputText
from antiphon.tools.base import ToolOutcome

MAX_WORDS = 2_000
"""Characters of a server's own error text that are repeated."""


class ServerError(Exception):
    """A server could not be called (`http_error`, its `code` the HTTP status or 0), or it returned
    a protocol error.

    The specification's section 5 has both forms. `may_repeat`: the server has certainly not
    executed anything. `is_slow`: the request timed out. `gist` is for the log, instead of the
    message.
    """

    def __init__(
        self,
        message: str,
        *,
        type: Literal["http_error", "mcp_protocol_error"] = "http_error",
        code: int = 0,
        may_repeat: bool = False,
        is_slow: bool = False,
        gist: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.type = type
        self.code = code
        self.may_repeat = may_repeat
        self.is_slow = is_slow
        self._gist = gist

    @property
    def gist(self) -> str:
        """The text for the log, without external text except the last line of a program of the
        settings.
        """
        if self.type == "mcp_protocol_error":
            return f"it returned a protocol error with the code {self.code}."
        return self._gist or self.message

    def error(self) -> Mapping[str, Any]:
        """The `error` of the call's item."""
        return {"type": self.type, "code": self.code, "message": self.message}


def refused(code: int, message: str) -> ServerError:
    """Return the error for a server's own protocol error."""
    return ServerError(
        shortened(message) or "It returned no reason.", type="mcp_protocol_error", code=code
    )


def shortened(text: str, most: int = MAX_WORDS) -> str:
    """Return a text shortened to this many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


SHORTEST = 6
"""Characters; a shorter value is not a secret, and would be found in any text."""

_IS_SECRET = re.compile(r"auth|key|token|secret|pass|credential|cookie|signature", re.IGNORECASE)
"""Names of headers and variables that contain credentials; other values can legitimately occur in
results.
"""

_SCHEME = re.compile(r"(?:bearer|basic|token)\s+", re.IGNORECASE)
HIDDEN = "[removed]"

T = TypeVar("T")


def secrets_of(*named: Mapping[str, str]) -> tuple[str, ...]:
    """Return the credentials among named values, the longest first, so that none leaves a part of
    another.
    """
    found = {value for values in named for value in _values(values.items())}
    return tuple(sorted(found, key=len, reverse=True))


def without(secrets: Iterable[str], value: T) -> T:
    """Return JSON with the secrets in its texts and names removed."""
    # Secrets hardly ever occur, and lists have hundreds of thousands of texts.
    encoded = msgspec.json.encode(value)
    found = [secret for secret in secrets if msgspec.json.encode(secret)[1:-1] in encoded]
    cleaned: T = _cleaned(found, value) if found else value
    return cleaned


def _cleaned(secrets: Iterable[str], value: Any) -> Any:
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, HIDDEN)
        return value
    if isinstance(value, Mapping):
        return {_cleaned(secrets, name): _cleaned(secrets, inner) for name, inner in value.items()}
    return [_cleaned(secrets, inner) for inner in value] if isinstance(value, list) else value


def _values(named: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, value in named:
        bare = _SCHEME.sub("", value, count=1).strip()
        if _IS_SECRET.search(name) and len(bare) >= SHORTEST:
            yield bare


@dataclass(frozen=True, slots=True)
class ListedTools:
    """The tools of a server."""

    tools: Sequence[Mapping[str, Any]]
    left_out: Mapping[str, int]
    """How many more listed tools are unusable, by reason: see `sound.Flaw`."""
    is_circular: bool = False
    """Whether the list ends at a cursor that the server returned before."""


MAX_OUTPUT = 100_000
"""Characters of a result that are stored, and shown to the model."""

MAX_IMAGES = 4
MAX_IMAGE_BYTES = 5_000_000
"""Bytes of a result's images that the model is shown, all together."""

_DISPLAYED = {"image/png", "image/jpeg", "image/gif", "image/webp"}

Content = Sequence[Mapping[str, Any]]


def came(result: Mapping[str, Any]) -> ToolOutcome:
    """Convert a valid result of `tools/call` for the item and the model."""
    content: Content = result["content"]
    text = _whole(content)
    if result["isError"]:
        error = {"type": "mcp_tool_execution_error", "content": _error_content(content)}
        return ToolOutcome(
            f"The tool failed: {text}", {"output": None, "error": error}, is_failed=True
        )
    images = _images(content)
    stated: list[InputText | InputImage] = [InputText(text=text), *images]
    return ToolOutcome(stated if images else text, {"output": text, "error": None})


def failed(failure: ServerError) -> ToolOutcome:
    """Return the result of a call that failed."""
    text = f"The tool could not be used: {failure.message}"
    return ToolOutcome(text, {"output": None, "error": failure.error()}, is_failed=True)


def _whole(content: Content) -> str:
    text = "\n".join(_line(block) for block in content)
    if len(text) <= MAX_OUTPUT:
        return text
    return f"{text[:MAX_OUTPUT]}\n[{len(text) - MAX_OUTPUT:,} more characters are omitted]"


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
    """Return the number of bytes in base64."""
    return len(data) * 3 // 4 - data[-2:].count("=")


def _error_content(content: Content) -> list[Mapping[str, Any]]:
    """Return the content of an error: its text, without large data."""
    reported: list[Mapping[str, Any]] = []
    left = MAX_OUTPUT
    for block in content:
        text = shortened(_line(block), max(left, 1))
        reported.append({"type": "text", "text": text})
        left -= len(text)
        if left <= 0:
            break
    return reported


def _images(content: Content) -> list[InputImage]:
    found: list[InputImage] = []
    left = MAX_IMAGE_BYTES
    for block in content:
        if (
            block["type"] != "image"
            or block["mimeType"] not in _DISPLAYED
            or not _is_base64(block["data"])
        ):
            continue
        left -= _bytes(block["data"])
        if left < 0 or len(found) == MAX_IMAGES:
            break
        found.append(
            InputImage(image_url=f"data:{block['mimeType']};base64,{block['data']}", detail="auto")
        )
    return found


def _is_base64(data: str) -> bool:
    try:
        a2b_base64(data, strict_mode=True)
    except (Error, ValueError):
        return False
    return bool(data)
