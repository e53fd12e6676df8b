"""Sessions of the console: a browser presents an API key or a one-time code, and receives an opaque
token.

The token has 256 random bits, and the store has its SHA-256: a reader of the database cannot sign
in. A session has no rights of its own. The rights of its key count, looked up with each request as
for the key itself, so revoking, rotating or restricting a key takes effect for its sessions when it
does for other requests. An operator's session, which begins with a code that `antiphon console`
wrote into the store, has no key and administrator rights.
"""

import secrets
from hashlib import sha256
from math import inf

from antiphon.ids import Clock
from antiphon.storage.operations import sessions
from antiphon.storage.records.sessions import ConsoleSession
from antiphon.storage.records.tenants import ApiKey
from antiphon.storage.store import Store

IDLE = 12 * 3_600
"""Seconds without a request after which a session ends."""

LONGEST = 7 * 86_400
"""Seconds after which a session ends in any case."""

TOUCH_EVERY = 60
"""Seconds within which a second use of a session is not recorded."""

CODE_LASTS = 60
"""Seconds in which a one-time code can be used."""


class ConsoleSessions:
    """The sessions of one store. `now` is the time in seconds since the epoch."""

    def __init__(self, store: Store, now: Clock) -> None:
        self._store = store
        self._now = now

    async def begin(
        self, key: ApiKey | None, key_digest: bytes = b""
    ) -> tuple[str, ConsoleSession]:
        """Begin a session of this key, or of an operator; return its token, which is not kept, and
        the session.

        `key_digest` is that of the key as the client sent it: a key that is being rotated has two.
        """
        token = secrets.token_urlsafe(32)
        now = int(self._now())
        key_id = "" if key is None else key.id
        session = ConsoleSession(_digest(token.encode()), key_id, key_digest, now, now, now + IDLE)
        await self._store.write(sessions.put, session)
        return token, session

    async def find(self, token: bytes) -> ConsoleSession | None:
        """Return the session of this token, and count this as its use; None if it has ended or is
        unknown.
        """
        session = await self._store.read(sessions.find, _digest(token))
        now = int(self._now())
        if session is not None and now - session.used_at >= TOUCH_EVERY:
            await self._store.write(
                sessions.touch, session.digest, now, min(now + IDLE, session.created_at + LONGEST)
            )
        return session

    async def end(self, session: ConsoleSession) -> None:
        """End a session."""
        await self._store.write(sessions.delete, session.digest)

    async def issue_code(self) -> str:
        """Return a new one-time code, which begins an operator's session within `CODE_LASTS`
        seconds.
        """
        code = secrets.token_urlsafe(32)
        await self._store.write(
            sessions.put_code, _digest(code.encode()), int(self._now()) + CODE_LASTS
        )
        return code

    async def redeem(self, code: str) -> bool:
        """Use up a code; return whether it was valid."""
        return await self._store.write(sessions.redeem_code, _digest(code.encode()))


def _digest(secret: bytes) -> bytes:
    """Return the stored digest of a token or a code; a token is too long to guess."""
    return sha256(b"antiphon console\0" + secret).digest()


FAILURES = 10
"""Failed attempts to sign in that one address has at once."""

FORGIVEN_EVERY = 30.0
"""Seconds after which one failure is forgiven."""

MOST_ADDRESSES = 1_000
"""Addresses that are remembered, at most."""


class FailedAttempts:
    """Limits how often an address may fail to sign in. `clock` never goes back, in seconds.

    An address is remembered by one number: the time at which all of its failures are forgiven.
    Beyond `MOST_ADDRESSES`, the address that is forgiven first is removed.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def __len__(self) -> int:
        """Return how many addresses are remembered."""
        return len(self._until)

    def wait(self, address: str) -> float:
        """Return the seconds until this address may try again; 0 or less if it may now."""
        return self._until.get(address, -inf) - self._clock() - (FAILURES - 1) * FORGIVEN_EVERY

    def add(self, address: str) -> None:
        """Count a failure of this address."""
        now = self._clock()
        if address not in self._until and len(self._until) >= MOST_ADDRESSES:
            self._until = {one: until for one, until in self._until.items() if until > now}
            while len(self._until) >= MOST_ADDRESSES:
                del self._until[min(self._until, key=self._until.__getitem__)]
        self._until[address] = max(now, self._until.get(address, now)) + FORGIVEN_EVERY
