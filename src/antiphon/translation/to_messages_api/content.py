"""Content parts of Chat messages as blocks of the Messages API."""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from antiphon.errors import ClientError

Block = dict[str, Any]

MARKER: Block = {"type": "ephemeral"}
"""Marks the end of what is cached, for five minutes."""

LONG_MARKER: Block = {**MARKER, "ttl": "1h"}

SHORT = (None, "5m", "in_memory")
"""Times of a breakpoint for which five minutes are enough."""

PDF = "application/pdf"

_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_DATA_URL = re.compile(r"data:([^;,]*)(?:;[^,]*)?;base64,", re.IGNORECASE)

_SIGNS: Mapping[str, str] = {
    "/9j/": "image/jpeg",
    "iVBOR": "image/png",
    "R0lGOD": "image/gif",
    "UklGR": "image/webp",
}
"""How the base64 of each accepted image begins. The API compares an image with its media type, and
clients often send a wrong one.
"""


def blocks_of(content: Any) -> list[Block]:
    """Return the blocks of a Chat message's `content`; none for text without a visible character,
    which the API rejects.

    Raises `ClientError` (400) for a part that has no block.
    """
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content.strip() else []
    parts: Sequence[Any] = content if isinstance(content, list) else ()
    return [block for part in parts if isinstance(part, dict) for block in _blocks(part)]


def text_of(content: Any) -> str:
    """Return the text of a Chat message's `content`, its parts as paragraphs."""
    if isinstance(content, str):
        return content
    parts: Sequence[Any] = content if isinstance(content, list) else ()
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n\n".join(text for text in texts if isinstance(text, str) and text)


def call_id_for(call_id: str) -> str:
    """Return the id of a call as the API allows it; the same id always becomes the same."""
    if _CALL_ID.fullmatch(call_id):
        return call_id
    return f"toolu_{hashlib.sha256(call_id.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def _blocks(part: Mapping[str, Any]) -> list[Block]:
    kind = part.get("type")
    if kind == "text":
        blocks = blocks_of(part.get("text"))
    elif isinstance(kind, str) and kind in _PARTS:
        blocks = [_PARTS[kind](part)]
    else:
        raise _unsupported(f"content of the type '{str(kind)[:40]}'")
    marker = part.get("cache_control") or _marker(part.get("prompt_cache_breakpoint"))
    return [{**block, "cache_control": marker} if marker else block for block in blocks]


def _marker(wanted: Any) -> Block | None:
    """Return the marker of the prompt cache for OpenAI's: the API has five minutes and an hour."""
    if not isinstance(wanted, dict):
        return None
    return MARKER if wanted.get("ttl") in SHORT else LONG_MARKER


def _image(part: Mapping[str, Any]) -> Block:
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else image
    if not isinstance(url, str):
        raise _unsupported("an image without a URL")
    return {"type": "image", "source": _source(url)}


def _file(part: Mapping[str, Any]) -> Block:
    file = part.get("file")
    file = file if isinstance(file, dict) else {}
    data = file.get("file_data")
    if not isinstance(data, str):
        raise _unsupported("a file without its data")
    source = _source(data)
    media_type = source.get("media_type")
    if media_type in _SIGNS.values():
        return {"type": "image", "source": source}
    if media_type not in (None, PDF):
        raise _unsupported(f"a file of the type '{media_type}'; send a PDF, an image or text")
    name = file.get("filename")
    return {"type": "document", "source": source, **({"title": name} if name else {})}


_PARTS: Mapping[str, Callable[[Mapping[str, Any]], Block]] = {"image_url": _image, "file": _file}
"""The parts that are not text."""


def _source(url: str) -> Block:
    """Return the source of an image or a document from its URL or its `data:` URL."""
    found = _DATA_URL.match(url)
    if found is None:
        return {"type": "url", "url": url}
    data = url[found.end() :]
    own = next((kind for sign, kind in _SIGNS.items() if data.startswith(sign)), None)
    return {"type": "base64", "media_type": own or found[1].lower(), "data": data}


def _unsupported(what: str) -> ClientError:
    return ClientError(
        f"This model's backend does not accept {what}.", code="unsupported_value", param="messages"
    )
