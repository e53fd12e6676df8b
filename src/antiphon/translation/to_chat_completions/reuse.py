"""How much of a prompt its backend has read before, and where it differs from the prompt of the
previous turn.

A prefix cache stores what the model computed for a prompt, and computes the next prompt from the
first difference on. So a turn that repeats the tools and messages of the previous turn, byte for
byte, costs only what it adds. Chat templates write the tools before the messages: another tool
changes everything after it.

A prompt is remembered as a digest and a size of each of its parts, without its content.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct

from antiphon.protocol.json_pieces import pieces_by_size

DIGEST = 8
"""Bytes of a part's digest. Two parts with the same digest only distort a figure."""

PER_PART = DIGEST + 4
"""Bytes that a part takes in a fingerprint."""

_encode = msgspec.json.Encoder().encode


class Fingerprint(Struct, frozen=True):
    """One prompt: its tools, then its messages."""

    digests: bytes
    """`DIGEST` bytes for each part."""
    sizes: "array[int]"
    """Bytes of each part as JSON."""
    tools: int
    """How many of the parts are tools."""

    @property
    def weight(self) -> int:
        """Bytes of memory that it takes."""
        return PER_PART * len(self.sizes)


class CommonPrefix(Struct, frozen=True):
    """What a prompt has in common with an earlier one."""

    same: int
    """Parts at the beginning of both."""
    is_continued: bool
    """Whether the prompt has all parts of the earlier one."""
    reused: int
    """Bytes of these parts."""
    size: int
    """Bytes of the prompt: its tools and messages as JSON."""

    def reusable(self, tokens: int) -> int:
        """Return how many tokens of the prompt, which has so many, the earlier one had too."""
        return tokens * self.reused // max(self.size, 1)


class Reuse(Struct, frozen=True):
    """A prompt compared with that of the previous turn."""

    size: int
    """Bytes of the prompt: its tools and messages as JSON."""
    reused: int
    """Bytes at its beginning that the previous prompt had too."""
    changed: str = ""
    """The first part that differs, such as `message 2 (user, text)`; empty if the prompt continues
    the previous one.

    It names positions, roles and types, and never content.
    """


def fingerprint(body: Mapping[str, Any], size: int = 0) -> Fingerprint:
    """Return the fingerprint of a Chat request; large JSON, by its `size` in bytes, is encoded in
    pieces.
    """
    tools = body.get("tools", ())
    digests = bytearray()
    sizes = array("I")
    for kind, parts in ((b"tool", tools), (b"message", body["messages"])):
        for part in parts:
            digest = blake2b(kind, digest_size=DIGEST)
            length = 0
            for piece in pieces_by_size(part, size, _encode):
                digest.update(piece)
                length += len(piece)
            digests += digest.digest()
            sizes.append(length)
    return Fingerprint(bytes(digests), sizes, len(tools))


def reuse(before: Fingerprint | None, new: Fingerprint, body: Mapping[str, Any]) -> Reuse:
    """Return what a prompt repeats of the previous one; the first one of a session repeats nothing.

    `body` is the request with the new prompt.
    """
    if before is None:
        return Reuse(sum(new.sizes), 0)
    found = compare(before, new)
    if found.is_continued:
        return Reuse(found.size, found.reused)
    most_tools = max(before.tools, new.tools)
    changed = _name(found.same, most_tools, new.tools, body["messages"])
    return Reuse(found.size, found.reused, changed)


def compare(before: Fingerprint, new: Fingerprint) -> CommonPrefix:
    """Compare a prompt with an earlier one."""
    same = _same_parts(before, new)
    return CommonPrefix(same, same == len(before.sizes), sum(new.sizes[:same]), sum(new.sizes))


def _same_parts(one: Fingerprint, other: Fingerprint) -> int:
    """Return how many parts at the beginning of both are the same."""
    before = one.digests
    new = other.digests
    most = min(len(before), len(new))
    places: Iterable[int] = range(0, most, DIGEST) if before[:most] != new[:most] else ()
    return (
        next((at for at in places if before[at : at + DIGEST] != new[at : at + DIGEST]), most)
        // DIGEST
    )


def _name(place: int, most_tools: int, tools: int, messages: Sequence[Mapping[str, Any]]) -> str:
    """Return how the log names the part at a position."""
    if place < most_tools:
        return f"tool {place}"
    index = place - tools
    if index == len(messages):
        return f"message {index} (missing)"
    return f"message {index} ({_kind(messages[index])})"


def _kind(message: Mapping[str, Any]) -> str:
    """Return the role of a message, and the kind of its content."""
    content = message.get("content")
    retained = (
        sorted({str(part["type"]) for part in content})
        if isinstance(content, list)
        else ["text"]
        if content
        else []
    )
    calls = ["tool calls"] if message.get("tool_calls") else []
    return ", ".join([str(message["role"]), *retained, *calls])
