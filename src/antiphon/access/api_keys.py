"""Validates API keys against the store, and caches the result for a moment.

Until a first key exists, requests need no key and query nothing in the store. The cache is indexed
by the digest of the whole key, and without the store's secret an attacker cannot choose a digest:
so the time of a lookup reveals nothing about existing keys.

Once a key existed, requests need one for as long as the server lives, even if the store is lost
with its keys: deleting a file must not open the server to everyone.
"""

import asyncio
import hmac
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from msgspec.structs import replace

from antiphon.errors import ConfigError, StoreError, log
from antiphon.ids import TENANT_RULE, Clock, is_tenant_name
from antiphon.storage.operations import api_keys
from antiphon.storage.operations import secrets as stored_secrets
from antiphon.storage.records.tenants import ApiKey, KeyLimits
from antiphon.storage.store import Store

PREFIX = "sk-antiphon-"

SECRET = "api_keys"  # noqa: S105 - a name, not a secret
"""The name of the store's secret with which keys are digested."""

DISPLAYED = 4
"""Characters of a key's end that lists show."""


@dataclass(frozen=True, slots=True)
class Mint:
    """Creates keys for one store, and digests them.

    A key has 256 random bits, and the store has its HMAC-SHA-256: a reader of the database cannot
    send requests.
    """

    secret: bytes

    @classmethod
    async def of(cls, store: Store) -> "Mint":
        """Return the mint of a store; its servers share one secret."""
        return cls(await store.write(stored_secrets.agree, SECRET, secrets.token_bytes(32)))

    def digest(self, key: bytes) -> bytes:
        """Return the digest of the whole key."""
        return hmac.digest(self.secret, key, "sha256")

    def issue(
        self,
        key_id: str,
        tenant: str,
        name: str,
        limits: KeyLimits,
        now: int,
        expires_at: int | None,
    ) -> tuple[str, ApiKey]:
        """Return a new key, to be shown once, and its stored form.

        Raises `ConfigError` for an invalid tenant.
        """
        if not is_tenant_name(tenant):
            raise ConfigError(TENANT_RULE)
        key = _new()
        return key, ApiKey(
            key_id, tenant, name, self._digest(key), _displayed(key), now, expires_at, limits=limits
        )

    def rotate(self, old: ApiKey, old_until: int) -> tuple[str, ApiKey]:
        """Return a new key that replaces an old one, valid until `old_until`; its id and limits
        stay.
        """
        key = _new()
        stored = replace(
            old,
            digest=self._digest(key),
            displayed=_displayed(key),
            old_digest=old.digest,
            old_until=old_until,
        )
        return key, stored

    def _digest(self, key: str) -> bytes:
        return self.digest(key.encode())


def _new() -> str:
    return PREFIX + secrets.token_urlsafe(32)


def _displayed(key: str) -> str:
    return f"{PREFIX}…{key[-DISPLAYED:]}"


FRESH = 2.0
"""Seconds for which a result is cached: a key that is revoked is rejected everywhere soon after."""

MOST = 10_000
"""Digests that are remembered."""


LOST = (
    "Every request is rejected: this server requires API keys, and its store has none. "
    "Restore the store, or create a key with `antiphon keys create`."
)

COMPLAIN_EVERY = 60.0
"""Seconds between two log lines about a store that has lost its keys."""


class KeyMemory(Protocol):
    """Remembers whether keys existed; it outlives the process and the store."""

    had_keys: bool
    """Whether a key ever existed: then requests need one."""


class KnownKeys:
    """The keys of one store. `clock` is monotonic, in seconds."""

    def __init__(self, store: Store, clock: Clock = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._mint: Mint | None = None
        self._memory: KeyMemory | None = None
        self._has_any: bool | None = None
        self._are_readable = False
        """Whether the store is known to have keys; until then the secret behind their digests is
        not created in it.
        """
        self._complained = float("-inf")
        self._polled = float("-inf")
        self.open_until = float("-inf")
        """The time until which no request needs a key: the store was queried, and has no keys."""
        self._known: dict[bytes, tuple[float, ApiKey | None]] = {}
        self._requested: dict[bytes, asyncio.Future[ApiKey | None]] = {}

    async def remember_in(self, memory: KeyMemory) -> None:
        """Read whether keys existed from `memory`, and write it there.

        Logs an error if the store has lost its keys.
        """
        self._memory = memory
        if memory.had_keys:
            with suppress(StoreError):
                await self._check_readable()

    async def are_usable(self) -> bool:
        """Whether requests can be authenticated: they need no key, or the store has keys."""
        try:
            if await self.are_needed():
                await self._check_readable()
        except StoreError:
            return False
        return True

    async def are_needed(self) -> bool:
        """Whether a key was ever created. Raises `StoreError` if that was never known."""
        if self._has_any or (self._has_any is not None and self._clock() - self._polled < FRESH):
            return self._has_any
        return await self._poll()

    async def digest(self, key: bytes) -> bytes:
        """Return the digest by which the store finds a key.

        Raises `StoreError` if the store has lost its keys.
        """
        if self._mint is None:
            await self._check_readable()
            self._mint = await Mint.of(self._store)
        return self._mint.digest(key)

    async def find(self, digest: bytes) -> ApiKey | None:
        """Return the valid key with this digest, or None."""
        known = self._known.get(digest)
        if known is not None and self._clock() - known[0] < FRESH:
            return known[1]
        return await self._send_request(digest)

    def forget(self) -> None:
        """Query the store again: this process has changed a key, or a client sent one."""
        self._known.clear()
        self._polled = self.open_until = float("-inf")

    async def _poll(self) -> bool:
        is_known = self._has_any is not None
        self._polled = self._clock()
        if self._memory is not None and self._memory.had_keys:  # another process has seen a key
            self._has_any, self.open_until = True, float("-inf")
            return True
        try:
            self._has_any = self._are_readable = await self._store.read(api_keys.any_at_all)
        except StoreError:
            # While the store is unavailable, no key can be created either, or this process could
            # not know of it.
            if not is_known:
                raise
        if self._has_any and self._memory is not None:
            self._memory.had_keys = True
        self.open_until = float("-inf") if self._has_any else self._polled + FRESH
        return bool(self._has_any)

    async def _check_readable(self) -> None:
        """Raise `StoreError` if the store has no key: it is not the store in which the keys were
        created.
        """
        if not self._are_readable:
            self._are_readable = await self._store.read(api_keys.any_at_all)
        if not self._are_readable:
            if self._clock() - self._complained >= COMPLAIN_EVERY:
                self._complained = self._clock()
                log.error(LOST)
            raise StoreError("The server cannot check API keys: they are no longer in its store.")

    async def _send_request(self, digest: bytes) -> ApiKey | None:
        """Query the store; concurrent callers share the answer."""
        pending = self._requested.get(digest)
        if pending is None:
            pending = self._requested[digest] = asyncio.ensure_future(self._read(digest))
            pending.add_done_callback(lambda done: self._forget(digest, done))
        return await asyncio.shield(pending)

    async def _read(self, digest: bytes) -> ApiKey | None:
        now = self._clock()
        found = await self._store.read(api_keys.find, digest)
        self._known.pop(digest, None)
        if len(self._known) >= MOST:
            del self._known[next(iter(self._known))]
        self._known[digest] = now, found
        return found

    def _forget(self, digest: bytes, done: "asyncio.Future[ApiKey | None]") -> None:
        del self._requested[digest]
        if not done.cancelled():
            done.exception()  # the caller has it
