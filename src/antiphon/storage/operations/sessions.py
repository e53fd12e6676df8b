"""Console sessions, and the one-time codes that start them."""

from antiphon.storage.operations.step import Operation, ask, first
from antiphon.storage.records import ConsoleSession

MOST_OF_A_KEY = 100
"""Maximum number of sessions of one key. Anyone with the key can sign in any number of times; the most recently used
sessions are kept."""


def put(session: ConsoleSession) -> Operation[None]:
    """Store a new session, and delete those beyond `MOST_OF_A_KEY`."""
    yield from ask("trim_sessions", session.key_id, MOST_OF_A_KEY - 1)
    times = (session.created_at, session.used_at, session.expires_at)
    yield from ask("put_session", session.digest, session.key_id, session.key_digest, *times)


def find(digest: bytes, now: int) -> Operation[ConsoleSession | None]:
    """Return a session that has not expired."""
    row = yield from first("find_session", digest, now)
    if row is None:
        return None
    found, key_id, key_digest, *times = row
    return ConsoleSession(bytes(found), key_id, bytes(key_digest), *times)


def touch(digest: bytes, used_at: int, expires_at: int) -> Operation[None]:
    """Record that a session was used."""
    yield from ask("touch_session", digest, used_at, expires_at)


def delete(digest: bytes) -> Operation[bool]:
    """Delete a session."""
    return bool((yield from ask("delete_session", digest)))


def put_code(digest: bytes, expires_at: int) -> Operation[None]:
    """Store a code."""
    yield from ask("put_code", digest, expires_at)


def redeem_code(digest: bytes, now: int) -> Operation[bool]:
    """Delete a code that has not expired."""
    return bool((yield from ask("redeem_code", digest, now)))
