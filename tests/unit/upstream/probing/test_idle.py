"""A probe is sent while a backend is idle, and makes room at once when a user's request arrives."""

import asyncio

import pytest

from antiphon.translation.dialects.table import DIALECTS
from antiphon.upstream.backend_state import BackendState
from antiphon.upstream.options import BackendOptions
from antiphon.upstream.probing.answers import ProbeAnswer
from antiphon.upstream.probing.idle import MOST_INTERRUPTIONS, BackendBusyError, WhenIdle
from tests.support.parts import listed
from tests.support.waiting import let_others_run, until

DONE = ProbeAnswer(200)


def backend(concurrency: int = 0) -> BackendState:
    return BackendState(listed("a"), DIALECTS["generic"], BackendOptions(concurrency=concurrency))


class Probe:
    """A request that ends when it may; `sent` counts it, `cancelled` counts how often it was ended
    early.
    """

    def __init__(self) -> None:
        self.sent = self.cancelled = 0
        self.begun, self.may_end = asyncio.Event(), asyncio.Event()

    async def __call__(self) -> ProbeAnswer:
        self.sent += 1
        self.begun.set()
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return DONE


@pytest.mark.parametrize("concurrency", [0, 1, 4])
async def test_a_probe_takes_a_slot_of_an_idle_backend_and_returns_it(concurrency: int) -> None:
    state = backend(concurrency)
    probe = Probe()
    pending = asyncio.create_task(WhenIdle(state, 0.001)(probe))
    await probe.begun.wait()

    assert state.slots.in_use == 1
    probe.may_end.set()
    assert await pending == DONE
    assert state.slots.in_use == 0


async def test_a_probe_waits_until_the_users_requests_have_ended() -> None:
    state = backend()
    probe = Probe()
    state.slots.take("user")
    pending = asyncio.create_task(WhenIdle(state, 0.001)(probe))
    await let_others_run(100)
    assert probe.sent == 0

    state.slots.leave("user")
    await probe.begun.wait()
    probe.may_end.set()
    assert await pending == DONE


@pytest.mark.parametrize("concurrency", [0, 1, 4])
async def test_a_probe_makes_room_for_a_users_request_and_is_sent_again(concurrency: int) -> None:
    state = backend(concurrency)
    probe = Probe()
    pending = asyncio.create_task(WhenIdle(state, 0.001)(probe))
    await probe.begun.wait()

    await asyncio.wait_for(
        state.slots.enter("user"), 5
    )  # where one slot is all there is, the probe gives it up
    await until(lambda: probe.cancelled and state.slots.in_use == 1)

    probe.begun.clear()
    state.slots.leave("user")
    await probe.begun.wait()
    probe.may_end.set()
    assert await pending == DONE
    assert (probe.sent, probe.cancelled) == (2, 1)


async def test_probing_is_abandoned_after_repeated_interruptions() -> None:
    state = backend()
    arrivals = 0

    async def user_arrives() -> ProbeAnswer:
        nonlocal arrivals
        arrivals += 1
        state.slots.take("user")
        try:
            await asyncio.Event().wait()
        finally:
            state.slots.leave("user")
        return DONE

    with pytest.raises(BackendBusyError):
        await WhenIdle(state, 0.001)(user_arrives)
    assert arrivals == MOST_INTERRUPTIONS


async def test_probing_is_abandoned_if_the_backend_is_never_idle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("antiphon.upstream.probing.idle.LONGEST_WAIT", 0.005)
    state = backend()
    state.slots.take("user")

    with pytest.raises(BackendBusyError):
        await WhenIdle(state, 0.001)(Probe())


async def test_a_probing_that_is_cancelled_returns_its_slot() -> None:
    state = backend(1)
    probe = Probe()
    pending = asyncio.create_task(WhenIdle(state, 0.001)(probe))
    await probe.begun.wait()

    pending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pending

    assert (state.slots.in_use, probe.cancelled) == (0, 1)
