"""Promises about sessions of the console, and the one-time codes that start them."""

import asyncio
import os
import time

from msgspec.structs import replace

from antiphon.storage.operations import sessions
from antiphon.storage.records.sessions import ConsoleSession
from antiphon.storage.store import Store
from antiphon.storage.upkeep import purge
from tests.store.making import hold


def _new(lasts: int = 600) -> ConsoleSession:
    now = int(time.time())
    return ConsoleSession(os.urandom(32), "key_1", os.urandom(32), now, now, now + lasts)


async def _are_found(store: Store) -> None:
    """A session is found by its digest until it expires or is deleted; a session that was deleted
    stays deleted.
    """
    session = _new()
    other = _new()
    operator = replace(_new(), key_id="", key_digest=b"")
    for one in (session, other, operator):
        await store.write(sessions.put, one)
        hold(
            await store.read(sessions.find, one.digest) == one,
            f"{one} is returned as {await store.read(sessions.find, one.digest)}",
        )
    hold(
        await store.read(sessions.find, os.urandom(32)) is None, "an unknown digest finds a session"
    )
    await store.write(sessions.touch, session.digest, session.used_at + 60, session.expires_at + 60)
    used = replace(session, used_at=session.used_at + 60, expires_at=session.expires_at + 60)
    hold(
        await store.read(sessions.find, session.digest) == used,
        "the last use of a session is not stored",
    )
    hold(await store.write(sessions.delete, session.digest), "a session cannot be deleted")
    hold(not await store.write(sessions.delete, session.digest), "a session is deleted twice")
    await store.write(sessions.touch, session.digest, session.used_at, session.expires_at)
    hold(
        await store.read(sessions.find, session.digest) is None,
        "a session that was deleted is found",
    )
    hold(
        await store.read(sessions.find, other.digest) == other,
        "another session was deleted or changed",
    )


async def _expire(store: Store) -> None:
    """A session or a code that has expired is not found; `purge` deletes it and nothing else."""
    await purge(store)
    ended = _new(-1)
    good = _new()
    code = os.urandom(32)
    for one in (ended, good):
        await store.write(sessions.put, one)
    await store.write(sessions.put_code, code, int(time.time()) - 1)
    hold(
        await store.read(sessions.find, ended.digest) is None, "a session that has expired is found"
    )
    hold(not await store.write(sessions.redeem_code, code), "a code that has expired is accepted")
    for dry_run in (True, False):
        removed = await purge(store, dry_run=dry_run)
        counted = removed["sessions"], removed["codes"]
        hold(
            counted == (1, 1),
            f"purge(dry_run={dry_run}) returned {counted} of sessions and codes instead of (1, 1)",
        )
    hold(
        await store.read(sessions.find, good.digest) == good,
        "a purge deleted a session that has not expired",
    )


async def _of_one_key_are_bounded(store: Store) -> None:
    """Of more than 100 sessions of one key, those used last are kept; those of other keys are
    kept.
    """
    other = replace(_new(), key_id="key_2")
    first = replace(_new(), key_id="key_3", used_at=1)
    later = [replace(_new(), key_id="key_3") for _ in range(100)]
    for one in (other, first, *later):
        await store.write(sessions.put, one)
    hold(await store.read(sessions.find, first.digest) is None, "a key has more than 100 sessions")
    for one in (other, later[0], later[-1]):
        hold(
            await store.read(sessions.find, one.digest) is not None,
            "a session was ended that is not the oldest of its key",
        )


async def _codes_are_good_once(store: Store) -> None:
    """Of many concurrent uses of a code one succeeds; an unknown code is rejected."""
    code = os.urandom(32)
    later = int(time.time()) + 60
    await store.write(sessions.put_code, code, later)
    hold(not await store.write(sessions.redeem_code, os.urandom(32)), "an unknown code is accepted")
    redeemed = await asyncio.gather(*(store.write(sessions.redeem_code, code) for _ in range(16)))
    hold(sum(redeemed) == 1, f"a code was accepted {sum(redeemed)} times")
