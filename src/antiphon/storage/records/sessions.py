"""Sessions of the console, as plain values."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConsoleSession:
    """A browser that signed in. `digest` is that of its token; the token itself is not kept.

    `key_digest` is the digest of the API key that signed in. It is empty for the session of an operator, which a
    one-time code began.
    """

    digest: bytes
    key_id: str
    key_digest: bytes
    created_at: int
    used_at: int
    """When it was used last, to a minute or so."""
    expires_at: int
