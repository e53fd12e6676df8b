"""API keys as they are given out: made, shown once, and known again by a digest."""

import hmac
import secrets
from dataclasses import dataclass, replace

from antiphon.storage.contract import ApiKey, Limits, Store

PREFIX = "sk-antiphon-"

SECRET = "api_keys"  # noqa: S105 - the name of one
"""The name of the store's secret with which keys are digested."""

SHOWN = 4
"""Characters of a key's end that lists show."""


@dataclass(frozen=True, slots=True)
class Mint:
    """Makes keys for one store, and digests them.

    A key has 256 random bits, and what is stored is its HMAC-SHA-256: who reads the database cannot ask for anything.
    """

    secret: bytes

    @classmethod
    async def of(cls, store: Store) -> "Mint":
        """Return the mint of a store; its servers share one secret."""
        return cls(await store.secret(SECRET, secrets.token_bytes(32)))

    def digest(self, key: bytes) -> bytes:
        """Return what a key is known by: all of it counts."""
        return hmac.digest(self.secret, key, "sha256")

    def issue(
        self, key_id: str, tenant: str, name: str, limits: Limits, now: int, expires_at: int | None
    ) -> tuple[str, ApiKey]:
        """Return a new key: itself, to be shown once, and what is kept of it."""
        key = _new()
        return key, ApiKey(key_id, tenant, name, self._digest(key), _shown(key), now, expires_at, limits=limits)

    def rotate(self, old: ApiKey, old_until: int) -> tuple[str, ApiKey]:
        """Return a new key in the place of an old one, which is good until `old_until`; its id and limits stay."""
        key = _new()
        kept = replace(old, digest=self._digest(key), shown=_shown(key), old_digest=old.digest, old_until=old_until)
        return key, kept

    def _digest(self, key: str) -> bytes:
        return self.digest(key.encode())


def _new() -> str:
    return PREFIX + secrets.token_urlsafe(32)


def _shown(key: str) -> str:
    return f"{PREFIX}…{key[-SHOWN:]}"
