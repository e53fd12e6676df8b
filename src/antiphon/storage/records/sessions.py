"""Console sessions, as plain values."""

from msgspec import Struct


class ConsoleSession(Struct, frozen=True):
    """A signed-in browser. `digest` is the digest of its token; the token itself is not stored.

    `key_digest` is the digest of the API key that signed in, or empty for an operator's session,
    which was started with a one-time code.
    """

    digest: bytes
    key_id: str
    key_digest: bytes
    created_at: int
    used_at: int
    """When it was last used, accurate to about a minute."""
    expires_at: int
