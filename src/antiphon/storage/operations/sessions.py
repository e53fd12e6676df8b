"""Console sessions, and the one-time codes that start them, by the digests of their secrets.

They belong to the server, not to a tenant. Callers pass and receive times of this process's clock;
the stored times are of the store's clock.
"""

from antiphon.storage.operations.step import NOW, SHIFT, Operation, first, query_rows, reads, writes
from antiphon.storage.records.sessions import ConsoleSession

MOST_OF_A_KEY = 100
"""Maximum number of sessions of one key. Anyone with the key can sign in any number of times; the
most recently used sessions are kept.
"""


@writes("put_session", is_of_all=True)
def put(session: ConsoleSession) -> Operation[None]:
    """Store a new session, and delete those beyond `MOST_OF_A_KEY`."""
    shift: int = yield SHIFT
    yield from query_rows("trim_sessions", session.key_id, MOST_OF_A_KEY - 1)
    times = (session.created_at + shift, session.used_at + shift, session.expires_at + shift)
    yield from query_rows("put_session", session.digest, session.key_id, session.key_digest, *times)


@reads("find_session", is_of_all=True)
def find(digest: bytes) -> Operation[ConsoleSession | None]:
    """Return the session with this digest, or None if it is unknown or has expired."""
    now: int = yield NOW
    shift: int = yield SHIFT
    row = yield from first("find_session", digest, now)
    if row is None:
        return None
    found, key_id, key_digest, *times = row
    return ConsoleSession(bytes(found), key_id, bytes(key_digest), *[one - shift for one in times])


@writes("touch_session", is_of_all=True)
def touch(digest: bytes, used_at: int, expires_at: int) -> Operation[None]:
    """Record that a session was used. A deleted session stays deleted."""
    shift: int = yield SHIFT
    yield from query_rows("touch_session", digest, used_at + shift, expires_at + shift)


@writes("delete_session", is_of_all=True, frees=True)
def delete(digest: bytes) -> Operation[bool]:
    """Delete a session; return False if it is unknown."""
    return bool((yield from query_rows("delete_session", digest)))


@writes("put_code", is_of_all=True)
def put_code(digest: bytes, expires_at: int) -> Operation[None]:
    """Store a one-time code until `expires_at`."""
    yield from query_rows("put_code", digest, expires_at + (yield SHIFT))


@writes("redeem_code", is_of_all=True)
def redeem_code(digest: bytes) -> Operation[bool]:
    """Delete a code; return False if it is unknown or has expired.

    Only one of concurrent callers receives True.
    """
    now: int = yield NOW
    return bool((yield from query_rows("redeem_code", digest, now)))
