"""One image from a server: the request, a retry without a parameter that the server rejects, and
the reply.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon.protocol.stored_images import USAGE, as_base64
from antiphon.sharing.offload import Offload
from antiphon.tools.images.content import MOST_BYTES, NotAnImageError, Picture, inspect
from antiphon.tools.images.contract import FetchImage, ImagesReply, ImagesServer
from antiphon.tools.images.form import as_form, as_json
from antiphon.tools.images.options import EDITS_ONLY, MOST_PARTIAL, ImageOptions
from antiphon.tools.images.replies import (
    BadReplyError,
    decoded,
    error_of,
    events_of,
    first_image,
    whole,
)

MOST_REPEATS = 3
"""Retries without a parameter that the server rejected."""

NEEDED = frozenset({"model", "prompt"})

NO_FORMAT = "gpt-image"
"""Prefix of models that reject `response_format`: they always answer with base64."""

MOST_ERROR = 64 * 1024
"""Bytes of an error that are read."""

LONGEST_MESSAGE = 1_000

_STREAM = ("stream", "partial_images")


@dataclass(frozen=True, slots=True)
class Order:
    """The request for an image."""

    prompt: str
    options: ImageOptions
    images: Sequence[Picture] = ()
    """The image to edit; None generates a new one."""
    mask: Picture | None = None
    tenant: str = ""
    report: Callable[[Mapping[str, Any]], None] = lambda fields: None


@dataclass(frozen=True, slots=True)
class CreatedImage:
    """An image, and the server's data about it."""

    picture: Picture
    base64: str
    stated: Mapping[str, Any] = field(default_factory=dict)
    """`revised_prompt`, `size`, `quality` and `background`, as far as the server reports them."""
    usage: Sequence[int] = (0,) * len(USAGE)


class ImageError(Exception):
    """No image was generated; `error` is the item's.

    `cause` is for the log, and empty if the operator cannot fix it. It contains no text of the
    image server, which can repeat the prompt.
    """

    def __init__(
        self, message: str, type: str = "server_error", *, cause: str = "", **more: Any
    ) -> None:
        super().__init__(message)
        self.cause = cause
        self.error = {
            "type": type,
            "message": message,
            **{name: value for name, value in more.items() if value},
        }


class Maker:
    """Generates images at one server.

    It remembers the parameters that the server rejected, while it runs.
    """

    def __init__(self, server: ImagesServer, fetch: FetchImage, offload: Offload) -> None:
        self._server = server
        self._fetch = fetch
        self._offload = offload
        self._refused: dict[str, set[str]] = {}
        """By path."""

    async def make(self, order: Order) -> CreatedImage:
        """Return an image. Raises `ImageError`, and `AntiphonError` if no server can be reached."""
        path = "/images/edits" if order.images else "/images/generations"
        refused = self._refused.setdefault(path, set())
        for _ in range(MOST_REPEATS):
            reply = await self._server.post(
                path, lambda model: _request(order, model, refused), order.tenant
            )
            try:
                if reply.status < 400:
                    created = await self._read(reply, order)
                    reply.charge(order.prompt, *_tokens(created))
                    return created
                error = await _error_of(reply)
            finally:
                await reply.close()
            name = (
                _named(error, _fields(order, "any", refused)) if reply.status in (400, 422) else ""
            )
            if not name:
                break
            refused.update(_STREAM if name in _STREAM else (name,))
        raise _failure(self._server.name, path, reply.status, error)

    async def _read(self, reply: ImagesReply, order: Order) -> CreatedImage:
        try:
            if reply.content_type == "text/event-stream":
                return await self._streamed(reply, order)
            body = await whole(reply.body)
            stated = await self._offload.run(order.tenant, len(body), decoded, body)
            return await self._created({**stated, **first_image(stated)}, order.tenant)
        except (BadReplyError, NotAnImageError) as error:
            words = (
                str(error) if isinstance(error, BadReplyError) else f"sent something that {error}"
            )
            raise ImageError(f"The images server '{self._server.name}' {words}.") from error

    async def _streamed(self, reply: ImagesReply, order: Order) -> CreatedImage:
        partial = 0
        async for data in events_of(reply.body):
            if data == b"[DONE]":
                break
            event = await self._offload.run(order.tenant, len(data), decoded, data)
            kind = str(event.get("type"))
            if error := error_of(event):
                raise _failure(self._server.name, "", 500, error)
            if kind.endswith(".partial_image") and partial < MOST_PARTIAL:
                picture, text = await self._offload.in_thread(
                    order.tenant, _picture_of, event.get("b64_json")
                )
                order.report(_partial(event, picture, text, partial))
                partial += 1
            elif kind.endswith(".completed"):
                return await self._created(event, order.tenant)
        raise BadReplyError("ended its stream without an image")

    async def _created(self, fields: Mapping[str, Any], tenant: str) -> CreatedImage:
        if fields.get("b64_json") is None and isinstance(fields.get("url"), str):
            url = fields["url"]
            server = self._server
            try:
                is_own = server.has(url)
                data = await (
                    server.get(url, MOST_BYTES) if is_own else self._fetch(url, MOST_BYTES, tenant)
                )
            except (OSError, ValueError) as error:
                raise BadReplyError(f"returned a URL that could not be fetched: {error}") from error
            picture, text = await self._offload.run(tenant, len(data), _encoded, data)
        else:
            picture, text = await self._offload.in_thread(
                tenant, _picture_of, fields.get("b64_json")
            )
        details = {
            name: fields[name]
            for name in ("revised_prompt", "size", "quality", "background")
            if isinstance(fields.get(name), str) and fields[name] and len(fields[name]) <= 32_000
        }
        return CreatedImage(picture, text, details, _usage(fields.get("usage")))


def _fields(order: Order, model: str, refused: set[str]) -> dict[str, Any]:
    """Return the fields of a request that are sent to a model, except those that its server
    rejected.
    """
    fields: dict[str, Any] = {"model": model, "prompt": order.prompt}
    fields |= {
        name: value
        for name, value in order.options.sent.items()
        if order.images or name not in EDITS_ONLY
    }
    if not model.startswith(NO_FORMAT):
        fields["response_format"] = "b64_json"
    if order.options.partial_images:
        fields |= {"stream": True, "partial_images": order.options.partial_images}
    if not model:
        del fields["model"]
    return {name: value for name, value in fields.items() if name in NEEDED or name not in refused}


def _request(order: Order, model: str, refused: set[str]) -> tuple[bytes, str]:
    fields = _fields(order, model, refused)
    return as_form(fields, order.images, order.mask) if order.images else as_json(fields)


async def _error_of(reply: ImagesReply) -> Mapping[str, Any]:
    try:
        return error_of(decoded(await whole(reply.body, MOST_ERROR)))
    except BadReplyError:
        return {}


def _named(error: Mapping[str, Any], sent: Mapping[str, Any]) -> str:
    """Return the parameter that an error names, empty if it names none that can be omitted."""
    names = [name for name in sent if name not in NEEDED]
    if error.get("param") in names:
        return str(error["param"])
    text = str(error.get("message"))[:LONGEST_MESSAGE]
    return next((name for name in names if re.search(rf"\b{name}\b", text)), "")


def _failure(server: str, path: str, status: int, error: Mapping[str, Any]) -> ImageError:
    message = str(error.get("message") or "")[:LONGEST_MESSAGE]
    answered = f"The images server '{server}' answered with status {status}."
    code = error.get("code")
    details = error.get("moderation_details")
    more: dict[str, Any] = {
        "code": code if isinstance(code, str) else None,
        "moderation_details": details,
    }
    if status in (401, 403) and "moderation" not in str(code):
        cause = f"{answered} Check the key in `images_key_env`."
        return ImageError(
            f"The images server '{server}' rejected this server's key (status {status}).",
            cause=cause,
        )
    if status in (404, 405) and path == "/images/edits":
        text = f"The images server '{server}' cannot edit images (status {status})."
        return ImageError(text, cause=text)
    if status == 404 or code == "model_not_found":
        more["cause"] = f"{answered} Check `images_backend` and `images_model`."
    if 400 <= status < 500:
        words = message or f"it answered with status {status}"
        return ImageError(words, "image_generation_user_error", **more)
    more.setdefault("cause", answered)
    return ImageError(
        f"The images server '{server}' failed: {message or f'status {status}'}", **more
    )


def _picture_of(text: object) -> tuple[Picture, str]:
    if not isinstance(text, str):
        raise BadReplyError("did not return an image")
    try:
        data = base64.b64decode(
            text.partition(",")[2] if text.startswith("data:") else text, validate=True
        )
    except (binascii.Error, ValueError):
        raise BadReplyError("returned invalid base64") from None
    return _encoded(data)


def from_base64(text: str) -> Picture:
    """Return the image of base64, or of a `data:` URL. Raises `NotAnImageError`."""
    try:
        return _picture_of(text)[0]
    except BadReplyError:
        raise NotAnImageError("is not valid base64") from None


def _encoded(data: bytes) -> tuple[Picture, str]:
    return inspect(data), as_base64(data)


def _partial(event: Mapping[str, Any], picture: Picture, text: str, index: int) -> dict[str, Any]:
    details = {
        name: event[name] for name in ("quality", "background") if isinstance(event.get(name), str)
    }
    size = event.get("size")
    return {
        "partial_image_index": index,
        "partial_image_b64": text,
        "output_format": picture.format,
        "size": size if isinstance(size, str) else picture.size,
        **details,
    }


def _tokens(created: CreatedImage) -> tuple[int, int]:
    """Return the tokens of the prompt and of the image."""
    count = dict(zip(USAGE, created.usage, strict=True))
    return count["input_tokens", ""], count["output_tokens", ""]


def _usage(reported: object) -> Sequence[int]:
    """Return the tokens that a server reports (`USAGE`), 0 for missing ones; output without details
    is an image.
    """
    usage = reported if isinstance(reported, dict) else {}
    output = usage.get("output_tokens")
    details = usage.get("output_tokens_details") or {"image_tokens": output}
    found = []
    for name, detail in USAGE:
        value = details if name == "output_tokens_details" else usage.get(name)
        if detail:
            value = value.get(detail) if isinstance(value, dict) else 0
        found.append(value if isinstance(value, int) and 0 <= value < 2**53 else 0)
    return found
