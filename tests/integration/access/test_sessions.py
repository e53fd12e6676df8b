"""Sessions of the console over time."""

import pytest

from antiphon.access.sessions import CODE_LASTS, IDLE, LONGEST, TOUCH_EVERY, ConsoleSessions
from antiphon.storage.operations import sessions as stored_sessions
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.storage.store import Store
from tests.support.changed_stores import replace_operation


class Time:
    """A clock that the test sets."""

    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
async def store(time: Time):
    opened = SqliteStore.open("sqlite://", now=time)
    yield opened
    await opened.close()


async def test_a_session_ends_twelve_hours_after_its_last_use(store: Store, time: Time) -> None:
    sessions = ConsoleSessions(store, time)
    token, _ = await sessions.begin(None)
    for _ in range(2):
        time.now += IDLE - 1
        assert await sessions.find(token.encode()) is not None
    time.now += IDLE
    assert await sessions.find(token.encode()) is None


async def test_a_session_ends_after_a_week_however_much_it_is_used(
    store: Store, time: Time
) -> None:
    sessions = ConsoleSessions(store, time)
    token, _ = await sessions.begin(None)
    began = time.now
    while time.now < began + LONGEST - IDLE / 2:
        time.now += IDLE / 2
        assert await sessions.find(token.encode()) is not None
    time.now = began + LONGEST
    assert await sessions.find(token.encode()) is None


async def test_the_use_of_a_session_is_written_once_a_minute(store: Store, time: Time) -> None:
    sessions = ConsoleSessions(store, time)
    touched = []
    token, _ = await sessions.begin(None)

    async def counted(digest: bytes, used_at: int, expires_at: int) -> None:
        touched.append(used_at)
        await touch(digest, used_at, expires_at)

    touch = replace_operation(store, stored_sessions.touch, counted)
    for _ in range(4 * TOUCH_EVERY):
        await sessions.find(token.encode())
        time.now += 1
    assert len(touched) == 3


async def test_the_store_has_neither_token_nor_code(store: Store, time: Time) -> None:
    sessions = ConsoleSessions(store, time)
    token, session = await sessions.begin(None)
    code = await sessions.issue_code()

    assert token.encode() not in (session.digest, session.key_digest)
    assert await sessions.find(session.digest.hex().encode()) is None
    assert not await sessions.redeem(token)
    assert await sessions.find(code.encode()) is None
    assert await sessions.redeem(code)


async def test_a_code_ends_after_a_minute(store: Store, time: Time) -> None:
    sessions = ConsoleSessions(store, time)
    early = await sessions.issue_code()
    late = await sessions.issue_code()
    time.now += CODE_LASTS - 1
    assert await sessions.redeem(early)
    time.now += 1
    assert not await sessions.redeem(late)
