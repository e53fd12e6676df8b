"""Image generation by `demo`, through `/images/generations` and `/images/edits`, and when it
requests an image.
"""

import base64
import json
import re
from typing import Any

from antiphon.errors import ClientError
from antiphon.protocol.validation import refusals
from antiphon.upstream.demo.checks import Fields
from antiphon.upstream.demo.painting import MOST, SIDE, paint

TOOL = "image_generation"

PATHS = ("/images/generations", "/images/edits")

MOST_PARTIAL = 3

DRAW = re.compile(
    r"^\s*(?:please\s+)?(?:draw|paint|(?:make|generate|create)\s+(?:an?|the)\s+(?:image|picture|drawing))\b",
    re.IGNORECASE,
)
CHANGE = re.compile(r"^\s*(?:please\s+)?(?:change|edit|recolou?r|turn|make\s+it)\b", re.IGNORECASE)

_SIZE = re.compile(r"(\d{1,5})x(\d{1,5})")
_PART = re.compile(rb'name="([\w\[\]]+)"(;[^\r]*)?\r\n(?:[^\r]+\r\n)*\r\n(.*?)\r\n--', re.DOTALL)


def image_for(text: str, functions: Fields) -> list[tuple[str, str]]:
    """Return the call that draws the described picture, or edits the newest image; none without the
    tool.
    """
    if "prompt" not in functions.get(TOOL, {}).get("properties", {}):
        return []
    action = "generate" if DRAW.match(text) else "edit" if CHANGE.match(text) else ""
    return (
        [(TOOL, json.dumps({"prompt": text, "action": action}, ensure_ascii=False))]
        if action
        else []
    )


def fields_of(path: str, body: bytes) -> Fields:
    """Return the fields of a form; for an uploaded image, only its size in bytes."""
    found: Fields = {}
    for name, about, content in _PART.findall(body):
        found[name.decode()] = len(content) if about else content.decode("utf-8", "replace")
    if path == "/images/edits" and not (found.get("image") or found.get("image[]")):
        raise refusals.missing("image")
    for name in ("partial_images", "stream", "n"):
        if name in found:
            found[name] = json.loads(found[name])
    return found


def drawn(path: str, request: Fields) -> Fields | list[bytes]:
    """Return a reply with a picture, or the events of a stream.

    Raises `ClientError` for a request without a prompt.
    """
    prompt = request.get("prompt")
    if not isinstance(prompt, str) or not prompt:
        raise refusals.missing("prompt")
    if request.get("output_format") not in (None, "png"):
        raise ClientError("demo draws only PNG.", code="unsupported_value", param="output_format")
    width, height = _size_of(request.get("size"))
    about = {
        "size": f"{width}x{height}",
        "quality": "low",
        "background": "opaque",
        "output_format": "png",
    }
    usage = _usage(prompt)
    if not request.get("stream"):
        return {
            "created": 0,
            "data": [{"b64_json": _encoded(prompt, width, height)}],
            **about,
            "usage": usage,
        }
    kind = "image_edit" if path == "/images/edits" else "image_generation"
    count = min(int(request.get("partial_images") or 0), MOST_PARTIAL)
    events: list[Fields] = [
        {
            "type": f"{kind}.partial_image",
            "partial_image_index": index,
            "b64_json": _encoded(prompt, width, height, (index + 1) / (count + 1)),
            **about,
        }
        for index in range(count)
    ]
    last = {
        "type": f"{kind}.completed",
        "b64_json": _encoded(prompt, width, height),
        **about,
        "usage": usage,
    }
    return [_event(one) for one in [*events, last]]


def _event(value: Fields) -> bytes:
    return f"event: {value['type']}\ndata: {json.dumps(value)}\n\n".encode()


def _encoded(prompt: str, width: int, height: int, part: float = 1.0) -> str:
    return base64.b64encode(paint(prompt, width, height, part)).decode()


def _size_of(text: Any) -> tuple[int, int]:
    found = _SIZE.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return SIDE, SIDE
    width, height = (min(max(int(one), 1), MOST) for one in found.groups())
    return width, height


def _usage(prompt: str) -> Fields:
    words = len(prompt.split())
    details = {"image_tokens": 0, "text_tokens": words}
    return {
        "input_tokens": words,
        "input_tokens_details": details,
        "output_tokens": 64,
        "total_tokens": words + 64,
    }
