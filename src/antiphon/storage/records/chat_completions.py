"""A stored chat completion and pages of chat completions, as plain values."""

from collections.abc import Mapping, Sequence

from msgspec import Struct


class StoredCompletion(Struct, frozen=True):
    """One chat completion.

    `body` is the completion's JSON without its metadata; `metadata` is a JSON object. `models` are
    two names: the backend's and the one that the client requested. `messages` are the JSON objects
    of the request's messages. They are empty when a completion is read, because messages have their
    own pages.
    """

    id: str
    body: bytes
    models: tuple[str, str]
    metadata: bytes = b"{}"
    messages: Sequence[bytes] = ()
    tenant: str = ""
    expires_at: int = 0
    """When it expires, in seconds since the epoch."""


class CompletionQuery(Struct, frozen=True):
    """Which completions to list: up to `limit` and `most_bytes`, but at least one, in the order of
    storage.

    `after` is the id of the completion before the page. `model` matches either name of a
    completion. `metadata` matches a completion that has all of these pairs.
    """

    limit: int
    after: str | None = None
    descending: bool = False
    model: str | None = None
    metadata: Mapping[str, str] = {}
    most_bytes: int = 8 * 1024 * 1024
