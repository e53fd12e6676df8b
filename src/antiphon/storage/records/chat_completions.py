"""A stored chat completion, and the pages of them, as plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class StoredCompletion:
    """One chat completion.

    `body` is the completion's JSON without its metadata, which is the JSON object `metadata`. `models` are the name
    that the backend gave, and the name that the client requested. `messages` are the JSON objects of the request's
    messages; they are empty where a completion is read, since they have pages of their own.
    """

    id: str
    body: bytes
    models: tuple[str, str]
    metadata: bytes = b"{}"
    messages: Sequence[bytes] = ()
    tenant: str = ""
    expires_at: int = 0
    """From when on it is unknown, in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class CompletionQuery:
    """Which completions to list: at most `limit` and `most_bytes`, but at least one, in the order of storage.

    `after` is the id of the completion before the page. A completion matches `model` by either of its names, and
    `metadata` if its own holds each of these pairs.
    """

    limit: int
    after: str | None = None
    descending: bool = False
    model: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    most_bytes: int = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class CompletionPage:
    """A part of the list. `is_unknown` where `after` names no completion; then there is no part."""

    completions: Sequence[StoredCompletion] = ()
    has_more: bool = False
    is_unknown: bool = False
