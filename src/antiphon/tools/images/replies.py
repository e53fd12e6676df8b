"""Reads the replies of an image server as untrusted input: with bounded memory, whatever it
sends.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Mapping
from typing import Any

from antiphon.protocol import json_slices
from antiphon.tools.images.content import MOST_BYTES

MOST_EVENT = 4 * MOST_BYTES // 3 + 64 * 1024
"""Bytes of a reply, or of an event of a stream: an image in base64, and the JSON around it."""

MOST_EVENTS = 64
"""Events of a stream; three partial images and the last one are usual."""

MOST_STREAM = 5 * MOST_EVENT
"""Bytes of a stream."""


class BadReplyError(Exception):
    """A server's answer is not an image; the message is a predicate, for the server's name."""


async def whole(body: AsyncIterable[bytes], most: int = MOST_EVENT) -> bytes:
    """Return a body. Raises `BadReplyError` as soon as it is too large."""
    parts = []
    size = 0
    async for part in body:
        parts.append(part)
        size += len(part)
        if size > most:
            raise BadReplyError(f"returned more than {most} bytes")
    return b"".join(parts)


def decoded(data: bytes) -> dict[str, Any]:
    """Return a JSON object. Raises `BadReplyError` for anything else."""
    try:
        value = json_slices.decoded(data)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise BadReplyError("did not return a JSON object")
    return value


async def events_of(body: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield the data of each event of a stream.

    Raises `BadReplyError` for one that is too large, or has no end.
    """
    line = bytearray()
    size = 0
    count = 0
    async for part in body:
        size += len(part)
        if size > MOST_STREAM:
            raise BadReplyError(f"sent a stream of more than {MOST_STREAM} bytes")
        line += part
        if part.find(b"\n") >= 0:
            *ended, rest = line.split(b"\n")
            line = rest
            for data in filter(None, map(_data_of, ended)):
                count += 1
                if count > MOST_EVENTS:
                    raise BadReplyError(f"sent a stream of more than {MOST_EVENTS} events")
                yield data
        if len(line) > MOST_EVENT:
            raise BadReplyError(f"sent an event of more than {MOST_EVENT} bytes")
    if data := _data_of(line):
        yield data


def _data_of(line: bytearray) -> bytes:
    """Return the data of a line, empty if it has none; each event has one line at all servers."""
    return bytes(line[5:].strip()) if line.startswith(b"data:") else b""


def first_image(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the first image of a plain reply.

    Raises `BadReplyError` for a reply without an image.
    """
    data = reply.get("data")
    if not isinstance(data, list) or not data or not isinstance(data[0], dict):
        raise BadReplyError("did not return an image")
    return data[0]


def error_of(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the error of a reply, empty if it has none."""
    error = reply.get("error")
    return (
        error if isinstance(error, dict) else {"message": error} if isinstance(error, str) else {}
    )
