"""Who is woken by a change, and what tasks that wait for the same change share."""

import asyncio
from typing import Any

import pytest

from antiphon.storage.notifications import STALE, Notifier
from tests.support.waiting import LoopClock, let_others_run

LONG = 60.0
"""Seconds that no test waits."""

TURNS = 4
"""Turns of the loop after which a task that was woken has gone on."""


async def woken_by(notifier: Notifier, what: str, *changes: str) -> bool:
    """Whether these changes end a wait for `what` that began before them."""
    with notifier.expect(what) as change:
        wait = asyncio.create_task(change.wait(LONG))
        await let_others_run()
        for one in changes:
            notifier.wake(one)
        await let_others_run(TURNS)
        is_woken = wait.done()
        wait.cancel()
        await asyncio.wait([wait])
    return is_woken


async def test_a_wait_ends_with_a_change_of_its_topic_or_of_an_unknown_topic() -> None:
    notifier = Notifier()

    assert await woken_by(notifier, "resp_1", "resp_1")
    assert await woken_by(notifier, "resp_1", "")
    assert await woken_by(notifier, "resp_1", "resp_1", "resp_1")


async def test_a_wait_without_a_change_goes_on() -> None:
    notifier = Notifier()

    assert not await woken_by(notifier, "resp_1")
    assert not await woken_by(notifier, "resp_1", "resp_2")


async def test_every_waiter_for_a_change_is_woken() -> None:
    notifier = Notifier()
    with notifier.expect("resp_1") as one, notifier.expect("resp_1") as other:
        waits = [asyncio.create_task(each.wait(LONG)) for each in (one, other)]
        await let_others_run()
        notifier.wake("resp_1")
        await asyncio.wait_for(asyncio.gather(*waits), LONG)


async def test_a_change_before_the_wait_ends_it_at_once_and_one_wait_only() -> None:
    notifier = Notifier()
    with notifier.expect("resp_1") as change:
        notifier.wake("resp_1")
        await change.wait(LONG)
        again = asyncio.create_task(change.wait(LONG))
        await let_others_run(TURNS)
        assert not again.done()
        notifier.wake("resp_1")
        await again


async def test_a_wait_ends_after_its_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = LoopClock(monkeypatch)
    notifier = Notifier()
    with notifier.expect("resp_1") as change:
        wait = asyncio.create_task(change.wait(LONG))
        await let_others_run()
        clock.advance(LONG)
        await asyncio.wait_for(wait, LONG)


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_a_wait_that_ends_leaves_no_timer(
    monkeypatch: pytest.MonkeyPatch, is_cancelled: bool
) -> None:
    loop = asyncio.get_running_loop()
    timers = list[asyncio.TimerHandle]()
    notifier = Notifier()
    call_later = loop.call_later

    def noted(*how: Any) -> asyncio.TimerHandle:
        timers.append(call_later(*how))
        return timers[-1]

    monkeypatch.setattr(loop, "call_later", noted)
    with notifier.expect("resp_1") as change:
        wait = asyncio.create_task(change.wait(LONG))
        await let_others_run()
        if is_cancelled:
            wait.cancel()
        notifier.wake("resp_1")
        await asyncio.wait([wait])

    assert (wait.cancelled(), [timer.cancelled() for timer in timers]) == (is_cancelled, [True])


async def test_a_subscription_that_ended_takes_nothing_from_the_others() -> None:
    notifier = Notifier()
    with notifier.expect("resp_1") as change:
        with notifier.expect("resp_1"):
            pass
        wait = asyncio.create_task(change.wait(LONG))
        await let_others_run()
        notifier.wake("resp_1")
        await wait
    notifier.wake("resp_1")


async def test_an_ended_subscription_receives_no_changes_and_retains_no_lookup() -> None:
    notifier = Notifier()
    polls = 0

    async def poll() -> int:
        nonlocal polls
        polls += 1
        return polls

    with notifier.expect("resp_1") as last:
        with notifier.expect("resp_1") as ended:
            assert await ended.shared_read("key", poll) == 1
        assert await last.shared_read("key", poll) == 1, "the lookup belongs to all who wait"
        notifier.wake("resp_1")
        assert (ended.is_changed, last.is_changed) == (False, True)
        assert await last.shared_read("key", poll) == 2
    with notifier.expect("resp_1") as later:
        assert await later.shared_read("key", poll) == 3


async def test_tasks_that_wait_for_the_same_change_share_a_lookup_until_it_comes_or_the_lookup_is_old(  # noqa: E501 - one text, or a row of a table
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = LoopClock(monkeypatch)
    notifier = Notifier()
    polls = 0

    async def poll() -> int:
        nonlocal polls
        polls += 1
        found = polls
        await let_others_run()
        return found

    with notifier.expect("resp_1") as one, notifier.expect("resp_1") as other:
        assert await asyncio.gather(
            one.shared_read("key", poll), other.shared_read("key", poll)
        ) == [1, 1]
        assert (await other.shared_read("key", poll), await other.shared_read("another", poll)) == (
            1,
            2,
        )
        notifier.wake("resp_1")
        assert await one.shared_read("key", poll) == 3
        clock.advance(2 * STALE)
        assert await one.shared_read("key", poll) == 4


async def test_a_cancelled_waiter_does_not_end_the_lookup_of_the_others() -> None:
    notifier = Notifier()
    may_end = asyncio.Event()

    async def poll() -> str:
        await may_end.wait()
        return "found"

    with notifier.expect("resp_1") as one, notifier.expect("resp_1") as other:
        tasks = [asyncio.create_task(each.shared_read("key", poll)) for each in (one, other)]
        await let_others_run(TURNS)
        tasks[0].cancel()
        await let_others_run(TURNS)
        may_end.set()

        assert await tasks[1] == "found"
        assert tasks[0].cancelled()


async def test_a_failed_lookup_fails_for_all_that_share_it() -> None:
    notifier = Notifier()

    async def poll() -> None:
        await let_others_run()
        raise LookupError("gone")

    with notifier.expect("resp_1") as one, notifier.expect("resp_1") as other:
        found = await asyncio.gather(
            one.shared_read("k", poll), other.shared_read("k", poll), return_exceptions=True
        )

    assert [type(each) for each in found] == [LookupError, LookupError]
